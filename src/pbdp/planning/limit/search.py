"""The least epsilon that any noise can have, proved: closed form first, then a few linear programs.

**The program** behind a limit gives the largest confidence that noise can have at one epsilon.

Variables: the probabilities of a window around the region, folded about its middle; the mass of each endless
tail (n - D, n - 2D, ... beyond the window's end n, one variable a residue; D is the sensitivity); a slack for
each constraint p(n) - e^eps p(n - s) <= slack, whose sum over n is at most delta for each shift s. A tail of
mass T behind p(n) obeys the sum of its constraints, p(n) - (e^eps - 1) T <= slack.

Each program is a relaxation, so its value bounds the confidence from above; its dual solution is the proof,
which `certificate` checks without trust in this file or in the solver. Fewer constraints (a `Scope`) give a
weaker bound, never a wrong one. The work is counted in iterations of the simplex method, not in seconds, so
that every machine, idle or busy, proves the same limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pbdp.noise.kernel import Array
from pbdp.parameters import non_negative, whole
from pbdp.planning.limit.certificate import DualCertificate, Strip
from pbdp.planning.limit.closed_form import strongest_closed_form
from pbdp.planning.limit.cut_staircase import cut_epsilon
from pbdp.planning.limit.question import Question

Index = npt.NDArray[np.int64]
# Rows, columns and values of some entries of a matrix.
Entries = tuple[Index, Index, Array]

TOLERANCE = 1e-10
# About a second of one core for the programs here.
MOST_ITERATIONS = 10_000


@dataclass(slots=True)
class Effort:
    """Iterations of the simplex method that are left for a search."""

    iterations: int = MOST_ITERATIONS

    def __post_init__(self) -> None:
        self.iterations = whole("iterations", self.iterations, least=0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Optimum:
    """The variables, and the price of each row: what one more unit on its right-hand side is worth."""

    variables: Array
    prices: Array


def maximize(gain: Array, entries: Sequence[Entries], ceiling: Array, effort: Effort) -> Optimum | None:
    """The largest gain · x with A x <= ceiling and x >= 0, or None if the solver did not finish."""
    if effort.iterations == 0:
        return None
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csc_array

    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    matrix = csc_array(coo_array((values, (rows, columns)), shape=(len(ceiling), len(gain))))
    result = linprog(
        -gain,
        A_ub=cast(Any, matrix),  # the annotations know dense matrices only
        b_ub=ceiling,
        method="highs-ds",
        options={
            "maxiter": effort.iterations,
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        },
    )
    effort.iterations = max(effort.iterations - int(result.nit), 0)
    if result.status != 0:
        effort.iterations = 0
        return None
    return Optimum(
        variables=np.maximum(np.asarray(result.x, dtype=np.float64), 0.0),
        prices=np.maximum(-np.asarray(result.ineqlin.marginals, dtype=np.float64), 0.0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which constraints a program has.

    The largest shift is constrained everywhere, endless tails included. `depth` is the width of the window
    beyond the region in units of the sensitivity. With `inner` the other shifts are constrained
    only at points of the region, and all only where the neighbor lies farther from the middle.
    """

    shifts: tuple[int, ...]
    depth: int
    inner: bool

    def rows(self, question: Question) -> int:
        """Number of constraints: what the time goes with."""
        window = question.points + 2 * self.depth * question.sensitivity
        if not self.inner:
            return (len(self.shifts) + 1) * window
        inside = sum((question.points + shift + 1) // 2 for shift in self.shifts)
        return inside + (self.depth + 2) * question.sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The value at one epsilon, its derivative, and the dual weights."""

    confidence: float
    slope: float
    strips: tuple[Strip, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Constraints of one shift: p at column `here` against e^eps times p at column `there`."""

    shift: int
    points: Index
    here: Index
    there: Index
    tails: int


class Program:
    """The program for one question and one scope; solved again for each epsilon."""

    def __init__(self, question: Question, scope: Scope) -> None:
        self.question = question
        width, self._reach = question.sensitivity, scope.depth * question.sensitivity
        size = question.points + 2 * self._reach
        place = np.arange(size)
        fold = np.minimum(place, size - 1 - place)
        inside = (place >= self._reach) & (place < self._reach + question.points)
        half = (size + 1) // 2
        self._columns = half + width
        self._region = np.bincount(fold, weights=inside, minlength=self._columns)
        self._mass = np.bincount(fold, minlength=self._columns).astype(np.float64)
        self._mass[half:] = 2.0
        self._rows = [self._constraints(shift, scope, fold, half) for shift in scope.shifts]

    def _constraints(self, shift: int, scope: Scope, fold: Index, half: int) -> _Rows:
        size, width = len(fold), self.question.sensitivity
        place = np.arange(shift, size)
        if scope.inner:
            place = place[2 * place - shift <= size - 1]
            if shift < width:
                place = place[place >= self._reach]
        tails = width if shift == width else 0
        ends = np.arange(tails)
        return _Rows(
            shift=shift,
            points=np.concatenate([ends, place]) - self._reach,
            here=fold[np.concatenate([ends, place])],
            there=np.concatenate([half + ends, fold[place - shift]]),
            tails=tails,
        )

    def solve(self, epsilon: float, effort: Effort) -> Solution | None:
        """The program's value at epsilon, or None if the solver did not finish."""
        growth = float(np.exp(epsilon))
        count = sum(len(rows.points) for rows in self._rows)
        optimum = maximize(
            np.concatenate([self._region, np.zeros(count)]),
            self._entries(growth, count),
            np.concatenate([np.zeros(count), np.full(len(self._rows), self.question.delta), [1.0]]),
            effort,
        )
        if optimum is None:
            return None
        weights = optimum.prices[:count]
        there = np.concatenate([rows.there for rows in self._rows])
        return Solution(
            confidence=float(self._region @ optimum.variables[: self._columns]),
            slope=growth * float(weights @ optimum.variables[there]),
            strips=self._strips(weights),
        )

    def _entries(self, growth: float, count: int) -> list[Entries]:
        row, columns = np.arange(count), np.arange(self._columns)
        factor = np.concatenate(
            [np.where(np.arange(len(rows.points)) < rows.tails, growth - 1, growth) for rows in self._rows]
        )
        group = np.repeat(np.arange(len(self._rows)), [len(rows.points) for rows in self._rows])
        return [
            (row, np.concatenate([rows.here for rows in self._rows]), np.ones(count)),
            (row, np.concatenate([rows.there for rows in self._rows]), -factor),
            (row, self._columns + row, -np.ones(count)),
            (count + group, self._columns + row, np.ones(count)),
            (np.full(self._columns, count + len(self._rows)), columns, self._mass),
        ]

    def _strips(self, weights: Array) -> tuple[Strip, ...]:
        strips, start = [], 0
        for rows in self._rows:
            part, start = weights[start : start + len(rows.points)], start + len(rows.points)
            if not part.any():
                continue
            first = int(rows.points[0])
            line = np.zeros(int(rows.points.max()) - first + 1)
            line[rows.points - first] = part
            strips.append(Strip(shift=rows.shift, first=first, weights=line, endless=rows.tails > 0))
        return tuple(strips)


# A bound this close (relative) to what can be proved, or to what is known to be reached, is good enough.
CLOSE = 5e-5
# How far below the estimate the next program is solved, so that its weights prove something.
STEP_BACK = 1e-5
SOLVES = 12
# About a tenth of a second a solve.
LARGEST_PROGRAM = 2000
# Lattices of more points to a block are not looked at.
COARSEST = 1 << 12

CLOSED_FORM = "weights in closed form"
EVERY_SHIFT = "linear program, every shift"
SOME_CONSTRAINTS = "linear program, some of the constraints"
COARSER = ", on a coarser lattice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """No mechanism for whole-number answers, any of which may occur, has a smaller epsilon. Proved."""

    epsilon: float
    kind: str
    certificate: DualCertificate

    def ratio(self, epsilon: float) -> float:
        """How many times the limit an epsilon is."""
        return epsilon / self.epsilon


def least_epsilon(
    below: int,
    above: int,
    confidence: float,
    sensitivity: int,
    delta: float,
    *,
    start: float | None = None,
    iterations: int = MOST_ITERATIONS,
) -> Limit | None:
    """A proved lower limit for epsilon, rounded down, or None if nothing above zero is proved.

    `start` is an epsilon known to be reached, a certified plan's; it saves programs. The limit holds for
    every (epsilon, delta)-DP mechanism that keeps the confidence at every answer; see `certificate`.
    """
    effort = Effort(iterations)
    question = Question.about(below, above, confidence, sensitivity, delta)
    reached = cut_epsilon(question)
    if start is not None:
        reached = min(reached, non_negative("start", start))
    best = strongest_closed_form(question)
    if best is not None and best.epsilon >= reached * (1 - CLOSE):
        return _limit(best, CLOSED_FORM)
    found = _by_programs(question, reached, 0.0 if best is None else best.epsilon, effort)
    if found is not None and (best is None or found[0].epsilon > best.epsilon):
        return _limit(*found)
    return None if best is None else _limit(best, CLOSED_FORM)


def limit_in_closed_form(question: Question) -> Limit | None:
    """What weights in closed form prove by themselves."""
    best = strongest_closed_form(question)
    return None if best is None else _limit(best, CLOSED_FORM)


def _limit(certificate: DualCertificate, kind: str) -> Limit:
    how = kind + (COARSER if certificate.block > 1 else "")
    return Limit(epsilon=certificate.epsilon, kind=how, certificate=certificate)


def _by_programs(
    question: Question, reached: float, proved: float, effort: Effort
) -> tuple[DualCertificate, str] | None:
    """Newton's method on the logarithm of the missing confidence, nearly a straight line in epsilon.

    A program at an epsilon below the root proves that epsilon; one above it only moves the next step. The
    first is a little above what is proved already, and ends the search if there is no more to prove.
    """
    setting = _setting(question)
    if setting is None or reached <= 0:
        return None
    block, scope, kind = setting
    coarse = question.coarsened(block)
    if block > 1 and cut_epsilon(coarse) <= proved * (1 + CLOSE):
        return None  # noise on the coarser lattice already needs less than what is proved
    program = Program(coarse, scope)
    best: DualCertificate | None = None
    low, high = proved, reached
    epsilon = proved * (1 + CLOSE) if proved > 0 else reached * (1 - STEP_BACK)
    target = math.log1p(-question.confidence)
    for _ in range(SOLVES):
        solution = program.solve(epsilon, effort)
        if solution is None:
            break
        certificate = DualCertificate(question=question, epsilon=epsilon, strips=solution.strips, block=block)
        if certificate.proves(epsilon):
            best, low = certificate, epsilon
        else:
            high = min(high, epsilon)
        miss = max(1 - solution.confidence, 1e-300)
        step = (math.log(miss) - target) * miss / solution.slope if solution.slope > 0 else math.inf
        if high - low <= CLOSE * high or (low == epsilon and step <= CLOSE * epsilon):
            break
        epsilon = (epsilon + step) * (1 - STEP_BACK)
        if not low < epsilon < high:
            epsilon = (low + high) / 2
    return None if best is None else (best, kind)


def _setting(question: Question) -> tuple[int, Scope, str] | None:
    """The finest lattice and the most constraints that a program has room for."""
    block = 1
    while block <= min(question.sensitivity, COARSEST):
        coarse = question.coarsened(block)
        # no lattice is fine enough on which the window alone would be too long
        if coarse.points + 2 * coarse.sensitivity <= LARGEST_PROGRAM:
            for scope, kind in _scopes(coarse.sensitivity):
                if scope.rows(coarse) <= LARGEST_PROGRAM:
                    return block, scope, kind
            block += 1
        else:
            block = max(block + 1, (question.points + 2 * question.sensitivity) // LARGEST_PROGRAM)
    return None


def _scopes(width: int) -> Iterator[tuple[Scope, str]]:
    """From every constraint to a few of them, at sensitivity `width`."""
    every = tuple(range(1, width + 1))
    spread = {width - (1 << power) for power in range(width.bit_length())}
    some = tuple(sorted({width, *(shift for shift in spread if shift > 0)}))
    yield Scope(shifts=every, depth=3, inner=False), EVERY_SHIFT
    yield Scope(shifts=every, depth=1, inner=True), SOME_CONSTRAINTS
    yield Scope(shifts=some, depth=1, inner=True), SOME_CONSTRAINTS
