"""The largest confidence that privacy leaves, as a linear program: its dual proves limits, its law is drawn.

**The program.** Laws p_a, one for each answer a (or one for all, of noise that is added), have masses in
columns; a column may stand for several outputs. For neighbors a, b and every output

    p_a(y) - e^eps p_b(y) <= slack,     the slacks of a pair add up to at most delta,

and what is asked for is the largest confidence that every law keeps in its region.

**The proof.** Take weights l_ab(y) >= 0 on these constraints and w_a >= 0 on the laws, which add up to 1. Put

    n_a = max over y of  w_a · 1[y is acceptable for a] - sum_b l_ab(y) + e^eps · sum_b l_ba(y).

Then the least confidence of all laws is at most sum_a n_a + delta · sum_ab max over y of l_ab(y). For it is
at most sum_a w_a · p_a(acceptable for a), and for each pair sum_y l_ab(y) (p_a(y) - e^eps p_b(y)) is at most
delta · max_y l_ab(y), as l_ab over its largest value lies in [0, 1]. Take the second from the first for all
pairs: what is left is a sum over a and y of p_a(y) times the terms in n_a, and p_a adds up to 1. A bound
below the confidence that is asked for proves that epsilon impossible, and all below it, where the bound is
smaller still.

So the solver is not believed: `Weights.bound` does these sums, whatever the weights are.

**Noise** has one law, symmetric about the middle of the region (see `closed_form`, also for why its limit
holds for every mechanism). Columns are the points of a window around the region, folded about its middle, and
the mass of each endless tail (n - D, n - 2D, ... beyond the window's end n, one column a residue; D is the
sensitivity). A tail of mass T behind p(n) obeys the sum of its constraints, p(n) - (e^eps - 1) T <= slack.
Fewer constraints give a weaker bound, never a wrong one: shifts other than D come in when a solution breaks
them. A law that is to be drawn has no such tail but ends, and outputs without a neighbor count in full.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.weights import WeightTable, integer_weights
from pbdp.noise.kernel import Array, Index
from pbdp.planning.limit.closed_form import RESERVE, ULP, Question, provable_epsilon
from pbdp.planning.limit.cut_staircase import cut_epsilon, cut_masses

# The solver keeps constraints to this; it is the least that HiGHS takes.
TOLERANCE = 1e-10
# How closely an epsilon is found, relatively: the solver's tolerance is this part of what is missed, 1e-5.
CLOSE = 1e-5
# Steps of Newton's method; three are usual.
MOST_STEPS = 8
# Beyond it e^epsilon is no double.
LARGEST_EPSILON = 700.0
# Points of a window times the binary digits of the sensitivity, about as many as the shifts that come in: a
# program of this size takes a tenth of a second.
LARGEST_PROGRAM = 2500
# Levels beyond the region before endless tails begin. More of them change the fifth digit.
LEVELS = 3
# A law that ends has as many levels beyond the cut staircase as fall by e^-4, or these.
TAIL, MOST_LEVELS = 4.0, 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """Columns with their law, how many outputs they stand for and how many of these are acceptable.

    Each row is a constraint: column `here` is at most (grows·e^(group·eps) - less) times column `there`, and
    a slack. The slacks of a pair add up to delta times (e^(group·eps) - 1) / (e^eps - 1) at most. With a
    `group` above one the answers of neighboring laws are so many sensitivities apart.
    """

    law: Index
    outputs: Array
    acceptable: Array
    here: Index
    there: Index
    grows: Array
    less: Array
    pair: Index
    delta: float
    group: int = 1

    def solve(self, epsilon: float) -> Solution:
        """The masses of largest confidence, and dual weights; refused if the solver gave up."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, csc_array

        columns, rows, laws, pairs = len(self.law), len(self.here), int(self.law.max()) + 1, self.pairs
        row, column = np.arange(rows), np.arange(columns)
        growth = self.grows * math.exp(self.group * epsilon) - self.less
        slacks = rows if laws == 1 else 0
        # masses, slacks, and the confidence; rows: privacy, what slacks add up to, confidence of each law
        entries = (
            (row, self.here, np.ones(rows)),
            (row, self.there, -growth),
            (row[:slacks], columns + row[:slacks], -np.ones(slacks)),
            (rows + self.pair[:slacks], columns + row[:slacks], np.ones(slacks)),
            (rows + pairs + self.law, column, -self.acceptable),
            (rows + pairs + np.arange(laws), np.full(laws, columns + slacks), np.ones(laws)),
        )
        places = [np.concatenate(part) for part in zip(*entries, strict=True)]
        shape = (rows + pairs + laws, columns + slacks + 1)
        limits = np.repeat([0.0, self.delta * self.deltas(epsilon), 0.0], [rows, pairs, laws])
        result = linprog(
            -np.eye(1, shape[1], shape[1] - 1)[0],
            A_ub=cast(Any, csc_array(coo_array((places[2], (places[0], places[1])), shape=shape))),
            b_ub=limits,
            A_eq=cast(Any, csc_array(coo_array((self.outputs, (self.law, column)), shape=(laws, shape[1])))),
            b_eq=np.ones(laws),
            method="highs" if laws == 1 else "highs-ipm",
            options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
        )
        if result.status != 0 or result.x is None:
            raise CannotCertifyError(f"A linear program could not be solved: {result.message}")
        prices = np.maximum(-np.asarray(result.ineqlin.marginals, dtype=np.float64), 0.0)
        masses = np.maximum(np.asarray(result.x[:columns], dtype=np.float64), 0.0)
        return Solution(
            # what one more unit of growth is worth, by the prices of the rows that it is in
            slope=self.group * float((prices[:rows] * (growth + self.less)) @ masses[self.there]),
            masses=masses,
            weights=Weights(program=self, laws=prices[rows + pairs :], rows=prices[:rows]),
        )

    @property
    def pairs(self) -> int:
        """How many pairs of laws, or shifts, share slacks."""
        return int(self.pair.max()) + 1

    def deltas(self, epsilon: float) -> float:
        """How many times delta the answers of a group are worth."""
        return 1.0 if self.group == 1 else math.expm1(self.group * epsilon) / math.expm1(epsilon)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """What the solver found, how fast the confidence grows with epsilon, and the weights that prove it."""

    slope: float
    masses: Array
    weights: Weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """Weights of the laws and of the rows of a program: whatever they are, they prove."""

    program: Program
    laws: Array
    rows: Array

    def bound(self, epsilon: float) -> float:
        """No laws that are private at epsilon all have a larger confidence; rounded up."""
        asked, columns, total = self.program, len(self.program.law), math.fsum(self.laws)
        if total <= 0:
            return math.inf
        # both grow with rounding, and a larger epsilon or delta only weakens the bound
        exponent = asked.group * epsilon
        growth = math.exp(exponent) * (1 + 8 * (1 + exponent) * ULP)
        spread = asked.delta * asked.deltas(epsilon) * (1 + 16 * (1 + exponent) * ULP)
        gains = self.laws[asked.law] * asked.acceptable
        sent = np.bincount(asked.here, self.rows, columns)
        got = growth * np.bincount(asked.there, self.rows * asked.grows, columns)
        less = np.bincount(asked.there, self.rows * asked.less, columns)
        # a sum of so many terms is off by less than as many units of its size
        terms = np.bincount(asked.here, minlength=columns) + 2 * np.bincount(asked.there, minlength=columns)
        rounding = (gains + sent + got + less) * (terms + 8) * ULP
        most = np.full(len(self.laws), -math.inf)
        np.maximum.at(most, asked.law, (gains - sent + got - less + rounding) / asked.outputs)
        largest = np.zeros(asked.pairs)
        np.maximum.at(largest, asked.pair, self.rows)
        parts = (*most.tolist(), spread * math.fsum(largest))
        size = math.fsum(abs(part) for part in parts)
        return (math.fsum(parts) + 8 * ULP * size) / total * (1 + 4 * ULP)


def solutions(
    solve: Callable[[float], Solution], missed: float, start: float, side: float
) -> Iterator[tuple[float, Solution]]:
    """Epsilons ever nearer to where so much is missed, with their solutions; the last lies to its `side`.

    Newton's method on the logarithm of what is missed, nearly a straight line in epsilon. A `side` below 1 is
    for proofs, one above for laws.
    """
    epsilon = min(start, LARGEST_EPSILON)
    for _ in range(MOST_STEPS):
        try:
            solution = solve(epsilon)
        except CannotCertifyError:
            return
        yield epsilon, solution
        if solution.slope <= 0:
            return
        known = max(1 - solution.weights.bound(epsilon), ULP)
        step = math.log(known / missed) * known / solution.slope
        if 0 <= step / (1 - side) <= 2 * epsilon:
            return
        epsilon = min(max(epsilon + step, epsilon / 2) * side, LARGEST_EPSILON)


def largest_impossible(solve: Callable[[float], Solution], confidence: float, reached: float) -> float:
    """The largest epsilon that weights prove impossible, below one that is reached; 0 if they prove none."""
    found = solutions(solve, 1 - confidence, reached, 1 - CLOSE)
    return max((loss for loss, one in found if one.weights.bound(loss) < confidence), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoiseLaw:
    """Masses of noise start, start + 1, ..., and the epsilon that the search saw for them (no guarantee)."""

    start: int
    masses: Array
    epsilon: float

    def table(self) -> WeightTable:
        """The law in integer weights, ready to be certified."""
        return integer_weights(self.masses, self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The points of a question that a program looks at: so many more on each side of the region."""

    question: Question
    more: int
    endless: bool

    @property
    def size(self) -> int:
        """How many points there are."""
        return self.question.points + 2 * self.more

    @property
    def fits(self) -> bool:
        """Whether a program is small enough."""
        return self.size * (2 * self.question.sensitivity).bit_length() <= LARGEST_PROGRAM

    def program(self, shifts: list[int]) -> Program:
        """The program with the constraints of these shifts."""
        place, half, width = np.arange(self.size), (self.size + 1) // 2, self.question.sensitivity
        fold = np.minimum(place, self.size - 1 - place)
        inside = (place >= self.more) & (place < self.size - self.more)
        tails = width if self.endless else 0
        columns = half + tails
        outputs = np.bincount(fold, minlength=columns).astype(np.float64)
        outputs[half:] = 2.0
        # a neighbor beyond the window has no mass where the law ends, and is the tail for the shift D
        rows = [place[shift if self.endless and shift < width else 0 :] for shift in shifts]
        here, moved = np.concatenate(rows), np.concatenate([r - s for r, s in zip(rows, shifts, strict=True)])
        outside = moved < 0
        return Program(
            law=np.zeros(columns, dtype=np.int64),
            outputs=outputs,
            acceptable=np.bincount(fold, weights=inside, minlength=columns).astype(np.float64),
            here=fold[here],
            there=np.where(outside, half + here if self.endless else 0, fold[np.maximum(moved, 0)]),
            grows=np.where(outside & (not self.endless), 0.0, 1.0),
            less=np.where(outside & self.endless, 1.0, 0.0),
            pair=np.repeat(np.arange(len(shifts)), [len(row) for row in rows]),
            delta=self.question.delta,
        )

    def solve(self, shifts: list[int], epsilon: float) -> Solution:
        """The solution at epsilon; `shifts` grows by those that one breaks."""
        while True:
            solution = self.program(shifts).solve(epsilon)
            broken = self._broken_shift(self.law(solution.masses), epsilon, shifts)
            if broken is None:
                return solution
            shifts.append(broken)

    def law(self, masses: Array) -> Array:
        """The masses of the points, from those of the columns."""
        place = np.arange(self.size)
        return masses[np.minimum(place, self.size - 1 - place)]

    def _broken_shift(self, law: Array, epsilon: float, shifts: list[int]) -> int | None:
        """The shift whose constraints a law breaks most, as far as the window tells."""
        worst, most = None, self.question.delta * (1 + CLOSE) + TOLERANCE
        for shift in set(range(1, self.question.sensitivity)) - set(shifts):
            spent = float(np.maximum(law[shift:] - math.exp(epsilon) * law[:-shift], 0.0).sum())
            spent += 0.0 if self.endless else float(law[:shift].sum())
            if spent > most:
                worst, most = shift, spent
        return worst


def least_epsilon(question: Question, reached: float) -> float:
    """A proved lower limit, where noise with epsilon `reached` is known; 0 where a program proves nothing."""
    window = Window(question=question, more=LEVELS * question.sensitivity, endless=True)
    if not window.fits or question.needs_no_epsilon or reached <= 0:
        return 0.0
    return largest_impossible(partial(window.solve, [question.sensitivity]), question.confidence, reached)


def best_table(below: int, above: int, confidence: float, sensitivity: int, delta: float) -> NoiseLaw:
    """The noise with the least epsilon that was found: mirror-symmetric about the middle of the region.

    It is the cut staircase where that is near the limit, or the program large. The guarantee is the one
    that `accounting.exact.tables` certifies for the integer weights.
    """
    if delta <= 0:
        raise CannotCertifyError("A finite table has no epsilon at delta 0. Use a delta above 0.")
    raised = min(confidence + RESERVE, (1 + confidence) / 2)
    question = Question.about(below, above, raised, sensitivity, delta)
    epsilon = cut_epsilon(question)
    masses = cut_masses(question, epsilon)
    levels = min(math.ceil(TAIL / epsilon), MOST_LEVELS)
    more = (len(masses) - question.points) // 2 + levels * sensitivity
    window = Window(question=question, more=more, endless=False)
    if window.fits and 0 < provable_epsilon(question) < epsilon * (1 - CLOSE):
        found = solutions(partial(window.solve, [sensitivity]), 1 - raised, epsilon, 1 + CLOSE)
        for loss, solution in found:
            law = window.law(solution.masses)
            law = np.asarray(law / math.fsum(law))
            if loss < epsilon and 2 * math.fsum(law[:more]) <= 1 - raised:
                epsilon, masses = loss, law
    start = -below - (len(masses) - question.points) // 2
    return NoiseLaw(start=start, masses=masses, epsilon=epsilon)
