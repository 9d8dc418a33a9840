"""How wide the interval of two means is, from published sums: for the normal law, or for every law.

**The interval** for m1 - r·m2 (r = 1 for a difference; a ratio r is in the interval where 0 is in that of
m1 - r·m2) is the estimate plus and minus a margin.

- *Normal* (unless told): the sampling error is taken for normal and convolved with the law of the noise. Its
  variance S comes from published sums, whose own noise gives it a variance V; as the coverage is concave in
  S, that would cost some, so S is raised by (1 + z²)/4·V/S, to second order what is lost (z being the normal
  law's quantile), and S is not taken for less than sqrt(V). The coverage tends to the confidence for large
  groups of any law with bounds; for a given size nothing is proved.
- *Guaranteed*: holds for every law and every size. The cumulant of a group's mean is at most
  n·(s²/W²)·(e^(tW/n) - 1 - tW/n), s² being its variance and W the length of the bounds (Bennett 1962); that
  of the noise is computed from its table, and Chernoff's bound of their sum is the margin. Where people may
  be in both groups their means are not independent: the cumulant of a sum is at most half of both at twice
  the slope, added up (Hölder). The variances have upper bounds of their own: the mean q of u²/H² (`means`) by
  Chernoff's bound for the lower tail, P(seen <= q - x) <= e^(-n·x²/2q), the mean of u by Bernstein's, their
  noise by Chernoff's, all of them together wrong with a twentieth of what may be missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from pbdp import special
from pbdp.comparing.count_laws import convolved, variance_of
from pbdp.comparing.request import Pair
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array
from pbdp.root_finding import least_enough

# Cells of the law of noise in a standard deviation.
_CELLS = 128
# What a guaranteed interval may miss is shared: this part for the bounds of the variances.
_SIDE = 0.05
# A ratio above it has no upper end.
_LARGEST_RATIO = 1e9
# Noise is gathered into so many cells, rounded outwards, for its cumulant.
_CUMULANT_CELLS = 4096
# Slopes at which Chernoff's bounds are tried, around the one of the normal law.
_AROUND: Array = 2 ** (np.arange(-32, 33) / 8)


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class MarginOfError:
    """The noise on every sum, or none; `unit` is a step of sums, `step` one of numbers, `length` is W."""

    table: WeightTable | None
    unit: float
    step: float
    length: float
    guaranteed: bool
    in_both: bool

    def squares(self, numbers: Sequence[float], users: Pair, missed: float) -> tuple[float, float]:
        """The variances of numbers in both groups, from what was published, or upper bounds for them."""
        found = []
        for n, total, squared in zip(users, numbers[::2], numbers[1::2], strict=True):
            mean, square = total * self.unit / n, squared * self.unit * self.length / n
            if self.guaranteed:
                variance = self._largest_square(mean, square, n, missed * _SIDE / 12)
            else:
                variance = square - mean * mean
            found.append(min(max(variance, 1e-12 * self.length**2), self.length**2 / 4))
        return found[0], found[1]

    def _largest_square(self, mean: float, square: float, n: int, missed: float) -> float:
        """An upper bound for a variance; each of its six parts is wrong with a chance of `missed`."""
        half, log = self.length / 2, -math.log(missed) / n
        off = (self._most(missed) + self.unit) / n + self.step
        seen = max((square + off * self.length) / half**2, 0.0)
        most = min(seen + log + math.sqrt(log * log + 2 * seen * log), 1.0)
        margin = 2 * log / 3 + math.sqrt(4 * log * log / 9 + 2 * most * log) + off / half
        return (most - max(abs(mean) / half - margin, 0.0) ** 2) * half**2

    def of(self, squares: tuple[float, float], users: Pair, ratio: float, missed: float) -> float:
        """How far the interval for m1 - ratio·m2 reaches from its estimate."""
        weights = 1 / users[0], ratio / users[1]
        spread = self._spread(squares, users, weights, missed)
        noisy = math.hypot(spread, self._deviation * math.hypot(*weights))
        if self.guaranteed:
            return self._for_every_law(squares, users, weights, noisy, missed)
        values, masses = self._law(weights)
        start = NormalDist().inv_cdf(1 - missed / 2) * noisy

        def short(margin: float) -> float:
            return float(masses @ _outside(values, margin, spread)) - missed

        return least_enough(short, start, close=1e-7)

    def _for_every_law(
        self,
        squares: tuple[float, float],
        users: Pair,
        weights: tuple[float, float],
        noisy: float,
        missed: float,
    ) -> float:
        level = math.log(2 / (missed * (1 - _SIDE)))
        slopes = math.sqrt(2 * level) / noisy * _AROUND
        total = np.full(len(slopes), level)
        # of sums that are not independent half of each at twice the slope
        times = 2.0 if self.in_both else 1.0
        for n, weight, square in zip(users, weights, squares, strict=True):
            pulled = times * slopes * weight * self.length
            with np.errstate(over="ignore"):
                total += n * square / self.length**2 * (np.expm1(pulled) - pulled) / times
            total += self._cumulant(slopes * weight)
        # numbers are rounded by half a step, sums by half of theirs
        rounding = (self.step * (1 + weights[1] * users[1]) + self.unit * sum(weights)) / 2
        return float(np.min(total / slopes)) + rounding

    def beyond(self, apart: float, margin: float, spread: float, users: Pair) -> float:
        """How often the estimate of means so far apart is not within the margin of 0, for normal numbers."""
        values, masses = self._law((1 / users[0], 1 / users[1]))
        error = math.sqrt(sum(spread**2 / n for n in users))
        return float(masses @ _outside(values + apart, margin, error))

    # ------------------------------------------------------------------------------------------- the noise

    @cached_property
    def _deviation(self) -> float:
        """The standard deviation of the noise on a sum."""
        return self.unit * math.sqrt(variance_of(self.table))

    def _cumulant(self, slopes: Array) -> Array:
        """ln of the mean of e^(s·noise), not rounded down."""
        return cumulant_of(self.table, slopes * self.unit)

    def _most(self, missed: float) -> float:
        """What the noise exceeds with this chance at most."""
        if self.table is None:
            return 0.0
        slopes = math.sqrt(-2 * math.log(missed)) / self._deviation * _AROUND
        return float(np.min((self._cumulant(slopes) - math.log(missed)) / slopes))

    def _law(self, weights: tuple[float, float]) -> tuple[Array, Array]:
        """Values and masses of the first sum's noise times its weight minus the second's times its own."""
        if self.table is None:
            return np.zeros(1), np.ones(1)
        cell = self._deviation * math.hypot(*weights) / _CELLS
        noise, masses = self.table.values() * self.unit, self.table.probabilities()
        laws: list[Array] = []
        first = 0
        for weight in weights:
            places = np.round(noise * (weight / cell)).astype(np.int64)
            laws.append(np.bincount(places - places[0], weights=masses).astype(np.float64))
            first += int(places[0])
        both = convolved(laws[0], laws[1])
        return (first + np.arange(len(both), dtype=np.float64)) * cell, both

    def _spread(
        self, squares: tuple[float, float], users: Pair, weights: tuple[float, float], missed: float
    ) -> float:
        """The standard deviation of the sampling error; raised for its own noise, but for upper bounds."""
        parts = [n * weight**2 for n, weight in zip(users, weights, strict=True)]
        variance = sum(part * square for part, square in zip(parts, squares, strict=True))
        if self.guaranteed:
            return math.sqrt(variance)
        off = [part * self._deviation * self.length / n for part, n in zip(parts, users, strict=True)]
        variance = max(variance, math.hypot(*off))
        quantile = NormalDist().inv_cdf(1 - missed / 2)
        return math.sqrt(variance + (1 + quantile**2) / 4 * (off[0] ** 2 + off[1] ** 2) / variance)


def _outside(values: Array, margin: float, spread: float) -> Array:
    """How often a normal number of this spread, added to each value, is not within the margin of 0."""
    found: Array = special.ndtr((-margin - values) / spread) + special.ndtr((values - margin) / spread)
    return found


def cumulant_of(noise: WeightTable | None, slopes: Array) -> Array:
    """ln of the mean of e^(s·noise) for symmetric noise, not rounded down."""
    if noise is None:
        return np.zeros(len(slopes))
    sizes = np.abs(noise.values())
    # sizes are rounded up to cells, which makes the mean of cosh(s·noise) larger
    cell = int(sizes.max()) // _CUMULANT_CELLS + 1
    masses = np.bincount(-(-sizes // cell), weights=noise.probabilities())
    with np.errstate(over="ignore"):
        waves = np.cosh(np.outer(slopes, np.arange(len(masses)) * float(cell)))
        found: Array = np.log(waves @ masses)
    return found


def ratio_ends(first: float, second: float, margin: Callable[[float], float]) -> tuple[float, float]:
    """From the least to the largest r for which 0 is within the margin of m1 - r·m2."""
    if second <= 0:
        return 0.0, math.inf
    start = max(first, 1e-300) / second
    low = 0.0
    if first > margin(0.0):
        low = least_enough(lambda r: first - r * second - margin(r), start) * (1 - 1e-6)
    high = least_enough(lambda r: first + margin(r) - r * second, start)
    return low, high if high < _LARGEST_RATIO * max(start, 1.0) else math.inf
