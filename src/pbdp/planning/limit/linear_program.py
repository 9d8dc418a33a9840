"""The largest confidence that privacy leaves, as a linear program: its dual proves limits.

**The program.** Laws p_a, one for each answer a, have masses in columns; a column may stand for several
outputs. For neighbors a, b and every output

    p_a(y) <= e^eps p_b(y),

and what is asked for is the largest confidence that every law keeps in its region. It has no delta: a small
one hardly helps the laws, and what they have of it is found when they are certified. The proof has one.

**The proof.** Take weights l_ab(y) >= 0 on these constraints and w_a >= 0 on the laws, which add up to 1. Put

    n_a = max over y of  w_a · 1[y is acceptable for a] - sum_b l_ab(y) + e^eps · sum_b l_ba(y).

Then the least confidence of all laws is at most sum_a n_a + delta · sum_ab max over y of l_ab(y). For it is
at most sum_a w_a · p_a(acceptable for a), and for each pair sum_y l_ab(y) (p_a(y) - e^eps p_b(y)) is at most
delta · max_y l_ab(y), as l_ab over its largest value lies in [0, 1]. Take the second from the first for all
pairs: what is left is a sum over a and y of p_a(y) times the terms in n_a, and p_a adds up to 1. A bound
below the confidence that is asked for proves that epsilon impossible, and all below it, where the bound is
smaller still.

So the solver is not believed: `Weights.bound` does these sums, whatever the weights are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from pbdp.errors import CannotCertifyError
from pbdp.noise.kernel import Array, Index
from pbdp.planning.limit.closed_form import ULP

# The solver keeps constraints to this; it is the least that HiGHS takes.
TOLERANCE = 1e-10
# How closely an epsilon is found, relatively: the solver's tolerance is this part of what is missed, 1e-5.
CLOSE = 1e-5
# Steps of Newton's method; three are usual.
MOST_STEPS = 8
# Beyond it e^epsilon is no double.
LARGEST_EPSILON = 700.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """Columns with their law, how many outputs they stand for and how many of these are acceptable.

    Each row is a constraint of a pair of neighbors: column `here` is at most e^(group·eps) times column
    `there`. With a `group` above one the answers of neighboring laws are so many sensitivities apart.
    """

    law: Index
    outputs: Array
    acceptable: Array
    here: Index
    there: Index
    pair: Index
    delta: float
    group: int = 1

    def solve(self, epsilon: float) -> Solution:
        """The masses of largest confidence, and dual weights; refused if the solver gave up."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, csc_array

        columns, rows, laws = len(self.law), len(self.here), int(self.law.max()) + 1
        row, column, growth = np.arange(rows), np.arange(columns), math.exp(self.group * epsilon)
        # columns: masses, then the confidence; rows: privacy, then the confidence of each law
        entries = (
            (row, self.here, np.ones(rows)),
            (row, self.there, np.full(rows, -growth)),
            (rows + self.law, column, -self.acceptable),
            (rows + np.arange(laws), np.full(laws, columns), np.ones(laws)),
        )
        places = [np.concatenate(part) for part in zip(*entries, strict=True)]
        shape = (rows + laws, columns + 1)
        result = linprog(
            -np.eye(1, shape[1], shape[1] - 1)[0],
            A_ub=cast(Any, csc_array(coo_array((places[2], (places[0], places[1])), shape=shape))),
            b_ub=np.zeros(shape[0]),
            A_eq=cast(Any, csc_array(coo_array((self.outputs, (self.law, column)), shape=(laws, shape[1])))),
            b_eq=np.ones(laws),
            method="highs-ipm",
            options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
        )
        if result.status != 0 or result.x is None:
            raise CannotCertifyError(f"A linear program could not be solved: {result.message}")
        prices = np.maximum(-np.asarray(result.ineqlin.marginals, dtype=np.float64), 0.0)
        masses = np.maximum(np.asarray(result.x[:columns], dtype=np.float64), 0.0)
        return Solution(
            # what one more unit of growth is worth, by the prices of the rows that it is in
            slope=self.group * growth * float(prices[:rows] @ masses[self.there]),
            masses=masses,
            weights=Weights(program=self, laws=prices[rows:], rows=prices[:rows]),
        )

    @property
    def pairs(self) -> int:
        """How many pairs of laws there are."""
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
        got = growth * np.bincount(asked.there, self.rows, columns)
        # a sum of so many terms is off by less than as many units of its size
        terms = np.bincount(asked.here, minlength=columns) + 2 * np.bincount(asked.there, minlength=columns)
        rounding = (gains + sent + got) * (terms + 8) * ULP
        most = np.full(len(self.laws), -math.inf)
        np.maximum.at(most, asked.law, (gains - sent + got + rounding) / asked.outputs)
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
