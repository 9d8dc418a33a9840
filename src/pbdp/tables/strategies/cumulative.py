"""Whole numbers that add up in any tables of a grid of keys: cumulative sums are rounded, not the numbers.

**Rounding.** The keys of every column have an order. C_T(i), for a table T and one key of each of its
columns, is the sum of its numbers whose keys come no later than these. At the last key of a column it is the
cumulative sum of the table without that column. So every cumulative sum is rounded to the nearest whole
number once, and numbers are made of those at the m = 2^|T| *corners* of a group, its keys or the ones before:

    X_T(i) = sum over corners of (-1)^(number of keys before)·C_T(corner),    0 where nothing comes before.

They are whole, and add up: sums over a column are those at its last key.

**Error.** The truth is whole and drops out. What is left of C at a corner is Gaussian noise c and something p
that is at most π in size. With s the signs, g = sum of s·c and w a whole width, rounding never falls, so that

    sum of s·round(c + p) <= sum of s·round(c + s·π) = round(g + Π + W),    Π the sum of the π,

where W is the sum of s·r, r = round(c + s·π) - (c + s·π), over all corners but the first, whose own number is
what is rounded on the right. If given g these r were independent and uniform on [-1/2, 1/2], a number would
be off by more than w with a probability of at most P(|g + W| >= w + 1/2 - Π): half a step is gained, and
m - 1 uniform numbers are paid for it. (Downward it is the same.)

**They nearly are.** Let λ be at most the least eigenvalue of the covariance of the c. Given g, the law of the
r has Fourier coefficients of the size exp(-2π²·v_k), for whole k that are not all 0, with 0 at the first
corner, and v_k the variance of k·c given g: the least over θ of that of (k - θ·s)·c, at least λ·|k - θ·s|².
Take t so that n = k - t·s has |n·s| <= m/2; n is not 0, and says which k it is of. Then

    |k - θ·s|² >= |n|² - (n·s)²/m >= |n|² - |n·s|/2 >= |n|²/2,

as |n·s| is at most the sum of the |n_i|, and that at most |n|². So the distance in total variation is at most

    (q^m - 1)/2,    q = sum over whole j of exp(-π²·λ·j²).

**λ.** The noise of a table is the sum over B within T of independent ones, with the covariance e_B·(P x P x
...) along the columns of B, P = I - J/n, and J/n² along the others. So is that at the corners, with
A = L·P·L' and E = L·J·L'/n² instead, L the two rows that add up the keys so far. Let x_j be the least ratio
of an e_B with the column j to that without it: e_B is at least e_{}·(product of the x_j over B), so that the
covariance is no smaller than e_{}·(x_1·A_1 + E_1) x (x_2·A_2 + E_2) x ..., the least eigenvalue of which is a
product.

**The probability.** P(|g + u| >= b) is convex for |u| <= b. A uniform number is replaced by one on multiples
of 1/8 that it is a mean of, half as often at either end: the chance can only grow, by next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from pbdp import special
from pbdp.errors import CannotCertifyError
from pbdp.noise.kernel import Array, Index

Columns = frozenset[int]
# Corners that a number may have, and cells of a uniform number.
MOST_CORNERS, CELLS = 64, 8
# The chance that rounding of the rows adds up to more than is said at one of the corners.
DOUBT = 1e-6
# Noise of so many steps has uniform fractions: its density is that but for 3·exp(-2π²σ²) < 1e-33.
LEAST_SIGMA = 2.0
# What a few hundred operations on doubles may be off by.
SAFE = 1 + 1e-11


def whole_numbers(sums: Mapping[Columns, Index]) -> dict[Columns, Index]:
    """The numbers of tables from rounded cumulative sums of them, and of all with fewer of their columns."""
    shared: dict[Columns, Index] = {}
    for columns in sorted(sums, key=len):
        own = np.array(sums[columns])
        for axis, column in enumerate(sorted(columns)):
            np.moveaxis(own, axis, 0)[-1] = shared[columns - {column}]
        shared[columns] = own
    found = {}
    for columns, numbers in shared.items():
        found[columns] = numbers
        for axis in range(len(columns)):
            found[columns] = np.diff(found[columns], axis=axis, prepend=0)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Corners:
    """The noise that numbers of one table are made of, for rows with noise of σ = 1.

    `spread` is the standard deviation of g, `widest` the largest of a c, both rounded up; `least` is λ,
    rounded down.
    """

    count: int
    spread: float
    widest: float
    least: float

    def half_width(self, sigma: float, chance: float, off: float) -> float:
        """The least w + 1/2 with which a number is off by more than w with this chance at most; rounded up.

        p is what is left of the rounding of rows, at most 1/2 each and independent, and `off`. Uniform
        numbers have E exp(t·u) <= exp(t²/24), so that a weighted sum of them, c the sum of the squares of the
        weights, is beyond sqrt(ln(2m/h)·c/6) with a probability of at most h/m.
        """
        chance -= DOUBT + 2 * self.unevenness(sigma)
        if chance <= 0 or sigma < LEAST_SIGMA:
            raise CannotCertifyError(
                "Whole numbers that add up would not be near enough. Ask for wider ones."
            )
        return self._reach(sigma, chance) + self._shifted(off)

    def variance(self, half_width: float, chance: float, off: float) -> float:
        """About the largest variance of g with this half-width; 0 if there is none."""
        far = max(half_width - self._shifted(off), 0.0) / -float(special.ndtri(chance / 2))
        return max(far**2 - (self.count - 1) / 12, 0.0)

    def _shifted(self, off: float) -> float:
        """Π."""
        each = math.sqrt(math.log(2 * self.count / DOUBT) / 6) * self.widest
        return self.count * (each + off) * SAFE

    def unevenness(self, sigma: float) -> float:
        """(q^m - 1)/2, how far fractions are from uniform; rounded up."""
        near = math.exp(-(math.pi**2) * self.least * sigma**2)
        if near > 0.1:
            return 1.0
        return math.expm1(self.count * math.log1p(2 * near / (1 - near))) / 2 * SAFE

    def _reach(self, sigma: float, chance: float) -> float:
        """The least b with P(|g + W| >= b) <= chance, no less than W can be; rounded up."""
        values, shares = _uniforms(self.count - 1)
        spread = self.spread * sigma

        def outside(far: float) -> float:
            tails = special.ndtr((values - far) / spread) + special.ndtr((-values - far) / spread)
            return float(shares @ tails) * SAFE

        low = high = float(values[-1])
        while outside(high) > chance:
            low, high = high, 2 * high + 1
        while high - low > 1e-8 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if outside(middle) > chance else (low, middle)
        return high


@lru_cache(maxsize=4096)
def corners_of(
    columns: Columns, lengths: tuple[int, ...], variances: tuple[tuple[Columns, float], ...]
) -> Corners:
    """The noise at the corners of a table, from the e_B of all parts of it."""
    known, axes = dict(variances), sorted(columns)
    single, least = 0.0, known[frozenset()]
    sums = np.zeros([lengths[i] for i in axes])
    for part in _subsets(columns):
        own, one = np.asarray(known[part]), known[part]
        for i in axes:
            share = np.arange(1, lengths[i] + 1) / lengths[i]
            own = own[..., None] * (lengths[i] * share * (1 - share) if i in part else share**2)
            one *= 1 - 1 / lengths[i] if i in part else 1 / lengths[i] ** 2
        sums += own
        single += one
    for i in axes:
        ratio = min(known[one | {i}] / known[one] for one in _subsets(columns - {i}))
        least *= _least_along(lengths[i], ratio)
    return Corners(
        count=1 << len(axes),
        spread=math.sqrt(single) * SAFE,
        widest=math.sqrt(float(np.max(sums))) * SAFE,
        least=least / SAFE,
    )


@lru_cache(maxsize=4096)
def _least_along(keys: int, ratio: float) -> float:
    """The least eigenvalue of x·A + E along a column, over all of its keys."""
    ends = np.arange(1, keys + 1, dtype=np.float64)
    before = ends - 1
    one = ratio * (ends - ends**2 / keys) + ends**2 / keys**2
    other = ratio * (before - before**2 / keys) + before**2 / keys**2
    both = ratio * (before - before * ends / keys) + before * ends / keys**2
    largest = (one + other) / 2 + np.hypot((one - other) / 2, both)
    # the determinant, so written that nothing cancels; at the first key there is no other corner
    product = ratio * before * (ratio * (keys - ends) / keys + ends / keys**2)
    return float(np.min(np.where(before > 0, product / largest, one)))


@lru_cache(maxsize=64)
def _uniforms(count: int) -> tuple[Array, Array]:
    """The values and shares of a sum of numbers that stand for uniform ones."""
    one = np.full(CELLS + 1, 1 / CELLS)
    one[[0, -1]] /= 2
    shares = np.ones(1)
    for _ in range(count):
        shares = np.convolve(shares, one)
    return (np.arange(len(shares)) - (len(shares) - 1) / 2) / CELLS, shares


def _subsets(columns: Columns) -> list[Columns]:
    named = sorted(columns)
    return [frozenset(one) for size in range(len(named) + 1) for one in combinations(named, size)]
