"""The noise law that reaches the limit: the linear program's own solution, or the cut staircase beside it.

Here the program is not relaxed: the law is confined to a window, outputs without a neighbor count in full,
and a shift that the solution violates is added until none is left. What comes back is still only a proposal:
its guarantee is the one that `accounting.exact.tables` certifies for its integer weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.weights import WeightTable, integer_weights
from pbdp.noise.kernel import Array
from pbdp.planning.limit.closed_form import strongest_closed_form
from pbdp.planning.limit.cut_staircase import cut_epsilon, cut_masses
from pbdp.planning.limit.question import RESERVE, Question
from pbdp.planning.limit.search import MOST_ITERATIONS, Effort, maximize

# The window and the number of constraints that are worth a program (about a tenth of a second each).
LARGEST_PROGRAM = 4000
# The window goes on beyond the cut staircase until levels have fallen by e^-TAIL, or for so many levels.
TAIL = 4.0
MOST_LEVELS = 12
# A cut staircase this close (relative) to the limit is taken as it is.
NEAR_LIMIT = 2e-5
# Preference, among laws of equal confidence, for noise near the middle.
TIE_BREAK = 1e-9
CLOSE = 1e-6
SOLVES = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoiseLaw:
    """Masses of noise start, start + 1, ..., and the epsilon that the search saw for them (no guarantee)."""

    start: int
    masses: Array
    epsilon: float

    def table(self) -> WeightTable:
        """The law in integer weights, ready to be certified."""
        return integer_weights(self.masses, self.start)


def best_table(
    below: int,
    above: int,
    confidence: float,
    sensitivity: int,
    delta: float,
    *,
    iterations: int = MOST_ITERATIONS,
) -> NoiseLaw:
    """The noise with the least epsilon that was found: mirror-symmetric about the middle of the region.

    The cut staircase takes no time to find; `iterations` are for programs that may improve on it.
    """
    effort = Effort(iterations)
    question = Question.about(below, above, confidence, sensitivity, delta)
    if delta <= 0:
        raise CannotCertifyError("A finite table has no epsilon at delta 0. Use a delta above 0.")
    raised = min(confidence + RESERVE, (1 + confidence) / 2)
    reserved = Question.about(below, above, raised, sensitivity, delta)
    epsilon = cut_epsilon(reserved)
    masses = cut_masses(reserved, epsilon)
    proved = strongest_closed_form(question)
    if proved is None or proved.epsilon < epsilon * (1 - NEAR_LIMIT):
        found = _by_programs(reserved, epsilon, (len(masses) - question.points) // 2, effort)
        if found is not None and found[0] < epsilon:
            epsilon, masses = found
    reach = (len(masses) - question.points) // 2
    return NoiseLaw(start=-below - reach, masses=masses, epsilon=epsilon)


def _by_programs(
    question: Question, reached: float, reach: int, effort: Effort
) -> tuple[float, Array] | None:
    """Newton's method on epsilon from above, each step a program on a window wider than the cut staircase."""
    extra = min(math.ceil(TAIL / reached), MOST_LEVELS) if reached > 0 else MOST_LEVELS
    size = question.points + 2 * (reach + extra * question.sensitivity)
    if size * math.log2(2 * question.sensitivity) > LARGEST_PROGRAM:
        return None
    shifts = [question.sensitivity]
    best: tuple[float, Array] | None = None
    low, high, epsilon = 0.0, reached, reached
    for _ in range(SOLVES):
        solved = _largest_confidence(question, size, epsilon, shifts, effort)
        if solved is None:
            break
        confidence, slope, masses = solved
        if confidence >= question.confidence:
            best, high = (epsilon, masses), epsilon
        else:
            low = epsilon
        if high - low <= CLOSE * high:
            break
        step = (question.confidence - confidence) / slope if slope > 0 else math.inf
        if abs(step) <= CLOSE * epsilon and best is not None and best[0] == epsilon:
            break
        epsilon = (epsilon + step) * (1 + CLOSE / 2)
        if not low < epsilon < high:
            epsilon = (low + high) / 2
    return best


def _largest_confidence(
    question: Question, size: int, epsilon: float, shifts: list[int], effort: Effort
) -> tuple[float, float, Array] | None:
    """Confidence, its slope in epsilon, and the law; `shifts` grows by those found violated."""
    while True:
        solved = _solve(question, size, epsilon, shifts, effort)
        if solved is None:
            return None
        masses = solved[2]
        spent = {
            shift: _hockey_stick(masses, shift, epsilon)
            for shift in range(1, question.sensitivity + 1)
            if shift not in shifts
        }
        worst = max(spent, key=lambda shift: spent[shift], default=0)
        if not spent or spent[worst] <= question.delta * (1 + 1e-7):
            return solved
        shifts.append(worst)


def _hockey_stick(masses: Array, shift: int, epsilon: float) -> float:
    moved = np.concatenate([np.zeros(shift), masses])[: len(masses)]
    return float(np.maximum(masses - math.exp(epsilon) * moved, 0.0).sum())


def _solve(
    question: Question, size: int, epsilon: float, shifts: list[int], effort: Effort
) -> tuple[float, float, Array] | None:
    """The program with these shifts, folded about the middle of the window."""
    growth, place = math.exp(epsilon), np.arange(size)
    fold, half = np.minimum(place, size - 1 - place), (size + 1) // 2
    margin = (size - question.points) // 2
    inside = np.bincount(fold, weights=(place >= margin) & (place < size - margin), minlength=half)
    mass = np.bincount(fold, minlength=half).astype(np.float64)
    nearness = mass * np.arange(half) / size
    count = size * len(shifts)
    row = np.arange(count)
    has = np.concatenate([place >= shift for shift in shifts])
    there = np.concatenate([fold[np.maximum(place - shift, 0)] for shift in shifts])[has]
    optimum = maximize(
        np.concatenate([inside + TIE_BREAK * nearness, np.zeros(count)]),
        [
            (row, np.tile(fold, len(shifts)), np.ones(count)),
            (row[has], there, np.full(len(there), -growth)),
            (row, half + row, -np.ones(count)),
            (count + row // size, half + row, np.ones(count)),
            (np.full(half, count + len(shifts)), np.arange(half), mass),
        ],
        np.concatenate([np.zeros(count), np.full(len(shifts), question.delta), [1.0]]),
        effort,
    )
    if optimum is None:
        return None
    law = optimum.variables[:half][fold]
    masses = np.asarray(law / math.fsum(law))
    slope = growth * float(optimum.prices[:count][has] @ optimum.variables[there])
    return float(masses[margin : size - margin].sum()), slope, masses
