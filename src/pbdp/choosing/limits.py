"""What no mechanism can go below, whatever it does: two proofs for any number of options, a program for few.

Let any epsilon-DP mechanism choose a good option with probability c, whatever the scores. n is the gap of a
loser, D by how much gaps move together from one neighbor to the next, and m = ceil(n/D) is how many neighbors
it takes for a loser to become one of the best, or the other way round. By symmetry (averaging over the order
of the options) nothing is lost if options are treated alike.

**From all alike to one best.** When all scores are equal some option is chosen with probability 1/k at most.
After m neighbors it is the only good one, and chosen with probability c at least. But from one neighbor to
the next a probability p gets at most to min(e^epsilon·p, 1 - e^-epsilon·(1 - p)).

**Several at once.** If `top` are chosen, best first, let h be at most `top`. When h options are n above all
others, the first h that are listed have to be these. So of all sets of h options, C(k, h) in number, each is
listed first with probability c at least once its own are raised, and some set is with 1/C(k, h) at most when
all scores are equal, m neighbors away: the same with so many sets in place of k options.

**From two best to one.** Let i and j be best and all others lose: one of the two is chosen with probability c
at least. After m neighbors j loses too, and is still chosen with e^(-m·epsilon) times the probability it had.
Added up over all ordered pairs, with k(k - 1)/2 pairs that are best together, and at most 1 - c for all
losers of each of the k options:

    k·(1 - c) >= e^(-m·epsilon)·c·k(k - 1)/2,   that is   epsilon >= ln((k - 1)·c/(2(1 - c)))/m.

**A linear program**, for few options and small gaps: the largest confidence of a mechanism for scores whose
gaps are at most n, at one epsilon. Mechanisms for all scores are mechanisms for these. Variables are the
chances of an option with each gap in each multiset of gaps (options are alike). Any multipliers l >= 0 of the
constraints p <= e^epsilon·p' and t <= P(good), the latter adding up to 1, prove that t is at most the sum
over all scores of the largest coefficient that one option has there. The solver proposes multipliers, and
that sum is computed from them here: its word is not taken for it.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product
from typing import Any, cast

import numpy as np

from pbdp.noise.kernel import Array

# Sizes of programs that take about a second in all.
_MOST_STATES, _MOST_OPTIONS = 60, 4
# Searches end this near; what sums of floats may be off by.
_CLOSE, _ROUNDING = 1e-4, 1e-9

Gaps = tuple[int, ...]


def limit(options: int, confidence: float, gap: int, moved: int) -> float:
    """An epsilon below which no mechanism is right often enough, rounded down."""
    found = max(_growing(math.log(options), confidence, gap, moved), _pairs(options, confidence, gap, moved))
    return max(found, _program(options, confidence, gap, moved, found))


def limit_of_several(options: int, top: int, confidence: float, gap: int, moved: int) -> float:
    """The same where so many are chosen; what holds of the first of them holds of all."""
    half = min(top, options // 2)
    every = math.lgamma(options + 1)
    sets = every - math.lgamma(half + 1) - math.lgamma(options - half + 1)
    # a hair less, as logarithms of factorials are off by a few units
    found = _growing(sets - every * 2.0**-48, confidence, gap, moved) * (1 - _ROUNDING)
    return max(found, limit(options, confidence, gap, moved))


def _growing(kinds: float, confidence: float, gap: int, moved: int) -> float:
    """From all alike to one best; `kinds` is the logarithm of how many can be it."""
    steps = -(-gap // moved)

    def gets_there(epsilon: float) -> bool:
        # up to where both ways of growing are equal by powers, then the rest by powers as well
        turn = 1 / (1 + math.exp(epsilon))
        p = math.exp(-kinds)
        growing = 0
        if p < turn:
            room = math.log(turn) + kinds
            growing = min(math.floor(room / epsilon) if epsilon > 0 else steps, steps)
            p = math.exp(min(growing * epsilon - kinds, 0.0))
            if growing < steps:
                p, growing = min(p * math.exp(epsilon), 1 - math.exp(-epsilon) * (1 - p)), growing + 1
        return 1 - math.exp(-(steps - growing) * epsilon) * (1 - p) >= confidence * (1 - 1e-12)

    if gets_there(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not gets_there(high):
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if gets_there(middle) else (middle, high)
    return low * (1 - 1e-12)


def _pairs(options: int, confidence: float, gap: int, moved: int) -> float:
    """From two best to one."""
    odds = (options - 1) * confidence / (2 * (1 - confidence))
    return max(math.log(odds) / -(-gap // moved), 0.0) * (1 - 1e-12) if odds > 1 else 0.0


def _program(options: int, confidence: float, gap: int, moved: int, known: float) -> float:
    """The same from linear programs, if they are small; 0 if not."""
    if not 2 <= options <= _MOST_OPTIONS or moved > 2:
        return 0.0
    states = math.comb(gap + options - 1, options - 1)
    # where D divides n the proof by pairs is as strong, but for two options
    proved = gap % moved == 0 and options > 2
    if states > _MOST_STATES or proved:
        return 0.0
    program = _Program(options, gap, moved)
    low, high = known, 2 * known + 1.0
    if program.largest(low) >= confidence:
        return 0.0
    while program.largest(high) < confidence:
        low, high = high, 2 * high
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if program.largest(middle) < confidence else (low, middle)
    return low


class _Program:
    """The program for so many options with gaps of at most n, and its bound from multipliers."""

    def __init__(self, options: int, gap: int, moved: int) -> None:
        states = [(0, *rest) for rest in combinations_with_replacement(range(gap + 1), options - 1)]
        self.places = {
            place: index
            for index, place in enumerate((state, own) for state in states for own in sorted(set(state)))
        }
        self.states = {state: index for index, state in enumerate(states)}
        # people move every score by -1, 0 or 1; where they only raise scores, by 0 or 1
        changes = (0, 1) if moved == 1 else (-1, 0, 1)
        pairs: set[tuple[int, int]] = set()
        for state in states:
            for change in product(changes, repeat=options):
                scores = [step - own for own, step in zip(state, change, strict=True)]
                best = max(scores)
                other: Gaps = tuple(sorted(best - score for score in scores))
                if other not in self.states:
                    continue
                for own, score in zip(state, scores, strict=True):
                    one, two = self.places[state, own], self.places[other, best - score]
                    pairs |= {(one, two), (two, one)} if one != two else set()
        self.near, self.far = (np.array(column) for column in zip(*sorted(pairs), strict=True))
        # of every variable: how many options it stands for, which scores it is of, whether it is good
        self.counts = np.array([state.count(own) for state, own in self.places], dtype=np.float64)
        self.homes = np.array([self.states[state] for state, _ in self.places])
        self.good = np.array([own < gap for _, own in self.places])

    def largest(self, epsilon: float) -> float:
        """An upper bound for the confidence of any mechanism at this epsilon."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array, csr_array

        size, rows = len(self.places), len(self.near)
        counts, homes, good = self.counts, self.homes, self.good
        growth = math.exp(epsilon)
        row, each = np.arange(rows), np.ones(rows)
        entries: list[tuple[Any, Any, Any]] = [
            (row, self.near, each),
            (row, self.far, -growth * each),
            (rows + homes[good], np.flatnonzero(good), -counts[good]),
            (rows + np.arange(len(self.states)), np.full(len(self.states), size), np.ones(len(self.states))),
        ]
        above = csr_array(coo_array(_joined(entries), shape=(rows + len(self.states), size + 1)))
        sums = csr_array(coo_array((counts, (homes, np.arange(size))), shape=(len(self.states), size + 1)))
        gain = np.zeros(size + 1)
        gain[-1] = -1
        result = linprog(
            gain,
            A_ub=cast(Any, above),
            b_ub=np.zeros(rows + len(self.states)),
            A_eq=cast(Any, sums),
            b_eq=np.ones(len(self.states)),
            method="highs",
        )
        if result.status != 0:
            return 1.0
        multipliers = np.maximum(-np.asarray(result.ineqlin.marginals, dtype=np.float64), 0.0)
        shares = multipliers[rows:]
        if not shares.sum() > 0:
            return 1.0
        return self._bound(multipliers[:rows] / shares.sum(), shares / shares.sum(), growth)

    def _bound(self, pairs: Array, shares: Array, growth: float) -> float:
        """What multipliers prove: the largest coefficient of an option in each of the scores, added up."""
        coefficients = np.where(self.good, self.counts * shares[self.homes], 0.0)
        np.subtract.at(coefficients, self.near, pairs)
        np.add.at(coefficients, self.far, growth * pairs)
        largest = np.full(len(self.states), -np.inf)
        np.maximum.at(largest, self.homes, coefficients / self.counts)
        return float(largest.sum()) + _ROUNDING


def _joined(entries: list[tuple[Any, Any, Any]]) -> tuple[Any, tuple[Any, Any]]:
    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    return values, (rows, columns)
