"""Tables for laws that change with the answer: one base table, whose cells are reweighted in whole numbers.

The base table holds the plain kernel, with cumulative weights P(0) = 0, ..., P(n) = T = 2^62. For an answer
whose region covers the cells lo..hi-1 of it, weights L = P(lo) to the left of the region and R = T - P(hi) to
the right, the boosted law has C = 1 - q (L + R)/T and the slopes 1/C inside and (1 - q)/C outside. Tails are
scaled one by one and rounded down,

    G(j) = tail(P(j)) left of the center,    G(j) = T - tail(T - P(j)) right of it,

so that the weights of the cells G(j+1) - G(j) are whole numbers with total T, and everything lost to rounding
goes to the truth itself. G can be evaluated at any j without the rest of the table: a draw is a binary
search with the same number of rounds for every answer.

Two facts make the confidence over all answers exact. The slopes are monotone functions of L + R, in floating
point too, because every operation that leads to them rounds monotonically. And the weight outside the
region is two rounded-down products with the same slope, so it differs from a monotone function of L + R by
less than two units: an answer with a smaller L + R has at most one unit more outside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.weights import BITS, TOTAL, WeightTable
from pbdp.noise.kernel import Index, Words

# Taken off the slopes, so that the errors of the divisions cannot make the tails add up to more than one.
SLOPE_MARGIN = 2.0**-50
# A region with less than this share of the kernel leaves too few digits for the slopes.
LEAST_CONSTANT = 2.0**-20
# Up to this many cells, looking at all of them at once is faster than a second round.
ONE_ROUND = 1024
_HALF = np.uint64(31)
_LOW = np.uint64((1 << 31) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pieces:
    """For every answer: where its region ends among the cells, what is beyond, and the slopes."""

    low: Index
    high: Index
    left: Words
    right: Words
    left_scaled: Words
    right_scaled: Words
    inside: Words
    outside: Words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReweightedTable:
    """`base` with the cells outside a region weighted by 1 - boost, for every region.

    `least_constant` is a lower bound for C over all answers.
    """

    base: WeightTable
    boost: float
    least_constant: float
    _sums: Words = field(init=False, repr=False)
    _tails: Words = field(init=False, repr=False)
    _from_left: npt.NDArray[np.bool_] = field(init=False, repr=False)
    _spare: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.least_constant >= LEAST_CONSTANT:
            raise CannotCertifyError(
                "The region holds less than a millionth of the noise for some answer. Use a smaller scale."
            )
        sums = np.zeros(len(self.base.weights) + 1, dtype=np.uint64)
        np.cumsum(self.base.weights.astype(np.uint64), out=sums[1:])
        from_left = np.arange(len(sums)) <= self._center
        object.__setattr__(self, "_sums", sums)
        object.__setattr__(self, "_from_left", from_left)
        object.__setattr__(self, "_tails", np.where(from_left, sums, np.uint64(TOTAL) - sums))
        # slopes are below 2^spare, so as multiples of 2^(spare - 62) they fit into 62 bits
        object.__setattr__(self, "_spare", math.ceil(-math.log2(self.least_constant)) + 1)

    @property
    def cells(self) -> int:
        """How many noise values the base table has."""
        return len(self.base.weights)

    @property
    def least_noise(self) -> int:
        """The smallest noise value of the base table."""
        return self.base.start

    @property
    def _center(self) -> int:
        return -self.base.start

    def _pieces(self, below: npt.ArrayLike, above: npt.ArrayLike) -> _Pieces:
        """Regions [-below, above] as cells and slopes."""
        reach = 2.0 * self.cells
        # rows even for one region: numpy warns of wrapping in its scalars, on which the products rely
        first = np.ceil(-np.minimum(np.array(below, dtype=np.float64, ndmin=1), reach)).astype(np.int64)
        last = np.floor(np.minimum(np.array(above, dtype=np.float64, ndmin=1), reach)).astype(np.int64)
        # np.clip does the same in three times the time, which counts for a single release
        low = np.minimum(np.maximum(first - self.base.start, 0), self._center)
        high = np.minimum(np.maximum(last + 1 - self.base.start, self._center + 1), self.cells)
        left, right = self._sums[low], np.uint64(TOTAL) - self._sums[high]
        constant = 1.0 - self.boost * ((left + right).astype(np.float64) / TOTAL)
        unit = 2.0 ** (BITS - self._spare) * (1 - SLOPE_MARGIN)
        outside = np.floor(unit * ((1.0 - self.boost) / constant)).astype(np.uint64)
        left_scaled, right_scaled = self._scaled(np.stack((left, right)), outside)
        return _Pieces(
            low=low,
            high=high,
            left=left,
            right=right,
            left_scaled=left_scaled,
            right_scaled=right_scaled,
            inside=np.floor(unit / constant).astype(np.uint64),
            outside=outside,
        )

    def _scaled(self, weight: Words, slope: Words) -> Words:
        """floor(weight · slope / 2^(62 - spare)), exactly, from products of 31-bit halves."""
        upper, lower = weight >> _HALF, weight & _LOW
        slope_upper, slope_lower = slope >> _HALF, slope & _LOW
        middle = upper * slope_lower + lower * slope_upper + ((lower * slope_lower) >> _HALF)
        high = upper * slope_upper + (middle >> _HALF)
        low = (weight * slope) & np.uint64(TOTAL - 1)
        return np.asarray((high << np.uint64(self._spare)) + (low >> np.uint64(BITS - self._spare)))

    def _weight_before(self, cell: Index, pieces: _Pieces) -> Words:
        """G: the new weight of all cells before this one."""
        from_left, tail = self._from_left[cell], self._tails[cell]
        beyond = np.where(from_left, pieces.left, pieces.right)
        # a tail that ends outside the region is scaled as a whole; else its part outside is scaled apart
        ends_outside = tail <= beyond
        apart = np.where(ends_outside, np.uint64(0), beyond)
        slope = np.where(ends_outside, pieces.outside, pieces.inside)
        outer = np.where(from_left, pieces.left_scaled, pieces.right_scaled)
        scaled = self._scaled(tail - apart, slope) + np.where(ends_outside, np.uint64(0), outer)
        return np.asarray(np.where(from_left, scaled, np.uint64(TOTAL) - scaled))

    def table(self, below: float, above: float) -> WeightTable:
        """All weights for a region [-below, above] around the answer."""
        ends = self._weight_before(np.arange(self.cells + 1), self._pieces(below, above)).astype(np.int64)
        return WeightTable(start=self.base.start, weights=ends[1:] - ends[:-1])

    def weight_within(
        self, below: npt.ArrayLike, above: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike
    ) -> Index:
        """Weight of the noise values in [-low, high] when the region is [-below, above], for many at once."""
        pieces = self._pieces(below, above)
        asked = self._pieces(low, high)
        inside = self._weight_before(asked.high, pieces) - self._weight_before(asked.low, pieces)
        return inside.astype(np.int64)

    def weight_up_to(self, below: npt.ArrayLike, above: npt.ArrayLike, noise: npt.ArrayLike) -> Index:
        """Weight of the noise values up to and including `noise`, for many regions at once."""
        cell = np.clip(np.asarray(noise, dtype=np.int64) + 1 - self.base.start, 0, self.cells)
        return self._weight_before(cell, self._pieces(below, above)).astype(np.int64)

    def noise_at(self, words: Words, below: npt.ArrayLike, above: npt.ArrayLike) -> Index:
        """The noise for uniform 64-bit words: the cell j with G(j) <= word / 4 < G(j + 1).

        The rounds are those of a binary search over all cells, the same for every answer and every word.
        """
        target = words >> np.uint64(64 - BITS)
        pieces = self._pieces(below, above)
        cell = np.zeros(np.shape(words), dtype=np.int64)
        step = 1 << (self.cells.bit_length() - 1)
        while step:
            next_cell = cell + step
            fits = self._weight_before(np.minimum(next_cell, self.cells), pieces) <= target
            cell += np.where(fits & (next_cell < self.cells), step, 0)
            step >>= 1
        return cell + self.base.start

    def one_noise_at(self, word: int, below: float, above: float) -> int:
        """`noise_at` for a single word: few rounds that look at many cells each.

        Rows of machine words take the same time whatever they hold; Python's own integers do not.
        """
        target, pieces = np.uint64(word >> (64 - BITS)), self._pieces(below, above)
        small = self.cells <= ONE_ROUND
        cell, rows = 0, self.cells if small else math.isqrt(self.cells) + 1
        for step in (1,) if small else (rows, 1):
            looked_at = cell + step * np.arange(rows)
            fits = self._weight_before(np.minimum(looked_at, self.cells), pieces) <= target
            # G never falls, so those that fit come first
            cell += step * (int(np.count_nonzero(fits & (looked_at < self.cells))) - 1)
        return cell + self.base.start
