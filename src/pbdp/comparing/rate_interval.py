"""The interval for a difference or a ratio of two rates from noisy counts, which holds at every rate.

**The interval** consists of two one-sided limits, and each may be wrong with half of what may be missed. The
upper limit is the lower one with the groups exchanged, so that only the lower one is told of.

**Order.** Noisy counts y of n people each have the parts d = y/n and

    s = q(1 - q)/n + v/n²,    q = (y + c)/(n + 2c) with y held to 0..n,    c = max(1, z²/4),

v being the variance of the noise and z the normal law's quantile. Outcomes are ordered by t, for which

    d1 - r·d2 - z·sqrt(s1 + r²·s2) = t where r = 1 (a difference), or = 0 where r = t (a ratio; d2 >= 0),

which is about the lower limit already. The left side rises with y1 and falls with y2: by a step of y the
square root changes by at most 1/(2n·sqrt(c)) <= 1/(z·n), while d changes by 1/n. So the outcomes at least as
far up as the one observed, S, have with every pair also those with a larger y1 and a smaller y2; hence

    P(S at rates p1, p2) rises with p1 and falls with p2.                                                  (1)

**Limit.** Rates are cut into cells. For p1 in [a, b] and p2 in [a', b'] it is at most P(S at b, a'); if that
is no more than may be missed, all of this rectangle is rejected. The limit is the least difference (or
ratio) in the rectangles that are left. It is wrong only if the true rates' rectangle is rejected, and then S
is among the outcomes that are so far up that the true rates give all of them no more than that. So

    P(the limit is above the truth) <= missed/2    at every two rates and for every size of groups:

nothing is planned for some rates here. The widths of cells are a hundredth of a standard error.

**Which cells.** A rate at which so large, or so small, a count is hardly possible is left out from the
start, for either group and end (Berger and Boos 1994); these four chances are taken off what may be missed.

**Large groups** are looked at in multiples of a step, by laws that bound the probability in (1) from above
(`count_laws.bounds`): people of up to some thousands are counted one by one, and a billion take no longer.

**Power.** Whether the lower limit is above "no difference" is asked of the rectangles with p1 <= p2, where by
(1) those on the diagonal are the worst. It is, for all outcomes that are far enough up; how likely these are
at two rates is added up over both laws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from pbdp import special
from pbdp.comparing.count_laws import Bounds, bounds, count_law, variance_of
from pbdp.comparing.request import Measure
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array, Index

Pair = tuple[int, int]
# The width of a cell of rates in standard errors.
_CELL = 0.01
# The chance that a rate was left out from the start, of what may be missed, for each group and end.
_LEFT_OUT = 2.0**-12
# What sums of masses may be off by, and bounds from an inverse beta function, relative.
_ROUNDING, _INVERSE = 1e-12, 2.0**-36
# Planned outcomes that are less likely count as no difference found.
_RARE = 1e-6
# Of the cells so many are left out until the end of a search.
_FEW = 16
_LARGEST_RATIO = 1e12


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: what is asked for is found once
class Analysis:
    """Two groups of so many people, the noise on both counts, and how often intervals may be wrong.

    Counts are looked at in multiples of `steps`.
    """

    users: Pair
    missed: float
    measure: Measure = "difference"
    noise: WeightTable | None = None
    steps: Pair = (1, 1)

    def interval(self, first: float, second: float) -> tuple[float, float]:
        """The limits for two noisy counts."""
        low, high = self._lower((first, second)), self._exchanged._lower((second, first))
        if self.measure == "difference":
            return low, -high
        return low, 1 / high if high > 0 else math.inf

    def width(self, first: float, second: float) -> float:
        """Half the width of the interval; of a ratio r that of r/(1 + r), which always has ends."""
        low, high = self.interval(first, second)
        if self.measure == "ratio":
            low, high = low / (1 + low), 1 - 1 / (1 + high)
        return (high - low) / 2

    def power(self, first: float, second: float) -> float:
        """How often the interval leaves "no difference" out at these rates, rounded down."""
        found = self._above(first, second) + self._exchanged._above(second, first)
        return max(found - _ROUNDING, 0.0)

    def estimate(self, first: float, second: float) -> float:
        """The difference of the rates, or their ratio."""
        one, two = first / self.users[0], second / self.users[1]
        if self.measure == "difference":
            return one - two
        return max(one, 0.0) / two if two > 0 else math.inf

    # ------------------------------------------------------------------------------------- the lower limit

    @cached_property
    def _exchanged(self) -> Analysis:
        return replace(self, users=self.users[::-1], steps=self.steps[::-1])

    @property
    def _wrong(self) -> float:
        """What a rectangle's probability may be at most if it is rejected."""
        return self.missed * (0.5 - 2 * _LEFT_OUT) - _ROUNDING

    def _lower(self, seen: tuple[float, float]) -> float:
        one, two = (self._possible(count, group) for group, count in enumerate(seen))
        first, second = self.cells.rates(*one), self.cells.rates(*two)
        laws = self._bounds(0, first[1:]), self._bounds(1, second[:-1])
        chances = laws[0].masses @ self._up_set(laws, self._order(seen)).T
        left = chances + (1 - laws[0].up_to[:, -1:]) > self._wrong
        # the chance rises with the first rate, so these are the first cells that are left
        lowest, kept = left.argmax(axis=0), np.asarray(left.any(axis=0))
        if not kept.any():
            # no rates are likely to give so extreme a pair: the most extreme ones are as good as any
            lowest, kept = np.full(len(kept), len(left) - 1), np.arange(len(kept)) == 0
        ends = first[lowest[kept]], second[1:][kept]
        return float(np.min(ends[0] - ends[1] if self.measure == "difference" else ends[0] / ends[1]))

    def _above(self, first: float, second: float) -> float:
        """How often the lower limit is above "no difference"."""
        exact = [
            count_law(n, rate, self.noise).trimmed(_RARE)
            for n, rate in zip(self.users, (first, second), strict=True)
        ]
        ends = [
            (self._possible(int(law.values[0]), group)[0], self._possible(int(law.values[-1]), group)[1])
            for group, law in enumerate(exact)
        ]
        low, high = max(low for low, _ in ends), min(high for _, high in ends)
        if low < high:
            rates = self.cells.rates(low, high)
            enough = self._enough((self._bounds(0, rates[1:]), self._bounds(1, rates[:-1])))
        else:
            # no rate is possible for both: one is above the other for sure
            enough = -math.inf if ends[0][0] >= ends[1][1] else math.inf
        up_to = np.concatenate([[0.0], np.cumsum(exact[1].masses)])
        return float(exact[0].masses @ up_to[self._last(exact[0].values, exact[1].values, enough)])

    def _enough(self, laws: tuple[Bounds, Bounds]) -> float:
        """How far up outcomes are that are as unlikely where there is no difference, up to a hair."""

        def is_enough(order: float, every: int) -> bool:
            first, second = (law.some(every) for law in laws)
            inside = np.einsum("ij,ij->i", first.masses, self._up_set((first, second), order))
            return bool(np.max(inside + 1 - first.up_to[:, -1]) <= self._wrong - _ROUNDING)

        low, high = (-1.0, 1.0) if self.measure == "difference" else (0.0, 1.0)
        while not is_enough(high, _FEW):
            low, high = high, 2 * high
            if high > _LARGEST_RATIO:
                return math.inf
        close = _CELL / 16 * self.cells.width
        while high - low > close * max(high, 1.0):
            middle = (low + high) / 2
            low, high = (low, middle) if is_enough(middle, _FEW) else (middle, high)
        # all of the rates are hardly worse than some of them
        more = close * max(high, 1.0)
        while not is_enough(high, 1):
            high, more = high + more, 2 * more
        return high

    def _up_set(self, laws: tuple[Bounds, Bounds], order: float) -> Array:
        """For every rate of the second group and every first count, the chance that the second is in S."""
        up_to = laws[1].up_to
        found: Array = up_to[:, self._last(laws[0].values, laws[1].values, order)]
        # what laws leave out far away may be in it
        return found + (1 - up_to[:, -1:])

    def _bounds(self, group: int, rates: Array) -> Bounds:
        return bounds(self.users[group], rates, self.noise, self.steps[group], up=not group)

    # ----------------------------------------------------------------------------------------------- order

    @cached_property
    def _quantile(self) -> float:
        return NormalDist().inv_cdf(1 - self.missed / 2)

    @cached_property
    def variance(self) -> float:
        """That of the noise on a count."""
        return variance_of(self.noise)

    def _part(self, counts: Array, group: int) -> tuple[Array, Array]:
        """d and s of the page."""
        users, more = self.users[group], max(1.0, self._quantile**2 / 4)
        rate = (np.clip(counts, 0, users) + more) / (users + 2 * more)
        if self.measure == "ratio":
            counts = np.maximum(counts, 0.0)
        return counts / users, rate * (1 - rate) / users + self.variance / users**2

    def _order(self, seen: tuple[float, float]) -> float:
        """t of the page, rounded down, so that what was seen is in its own set."""
        (one, square), (two, more) = (
            (float(part[0]) for part in self._part(np.array([count]), group))
            for group, count in enumerate(seen)
        )
        z = self._quantile
        if self.measure == "difference":
            return one - two - z * math.sqrt(square + more) - _ROUNDING
        if one <= z * math.sqrt(square):
            return 0.0
        # (d1 - r·d2)² = z²(s1 + r²·s2) with d1 >= r·d2
        a, b, c = two * two - z * z * more, one * two, one * one - z * z * square
        return c / (b + math.sqrt(max(b * b - a * c, 0.0))) * (1 - _ROUNDING)

    def _last(self, first: Array, second: Array, order: float) -> Index:
        """For every first count, how many of the second ones, from the least on, are in S."""
        if math.isinf(order) or (self.measure == "ratio" and order <= 0):
            return np.full(len(first), len(second) if order <= 0 else 0)
        times, least = (1.0, order) if self.measure == "difference" else (order, 0.0)
        (one, square), (two, more) = self._part(first, 0), self._part(second, 1)
        low, high = np.zeros(len(first), dtype=np.int64), np.full(len(first), len(second))
        last = len(second) - 1
        while (is_open := low < high).any():
            middle = (low + high) >> 1
            at = np.minimum(middle, last)
            error = self._quantile * np.sqrt(square + times * times * more[at])
            yes = one - times * two[at] - error >= least
            low = np.where(is_open & yes, middle + 1, low)
            high = np.where(is_open & ~yes, middle, high)
        return low

    # ----------------------------------------------------------------------------------------------- cells

    @cached_property
    def cells(self) -> Cells:
        """The cells of rates of both groups."""
        return Cells(
            sampling=sum(1 / n for n in self.users), noise=sum(self.variance / n**2 for n in self.users)
        )

    @cached_property
    def _furthest_noise(self) -> tuple[int, int]:
        """How far up, and how far down, noise hardly ever goes."""
        if self.noise is None:
            return 0, 0
        masses, chance = self.noise.probabilities(), self.missed * _LEFT_OUT / 2
        up, down = (int(np.searchsorted(np.cumsum(law), chance)) for law in (masses[::-1], masses))
        return self.noise.start + len(masses) - 1 - up, -(self.noise.start + down)

    def _possible(self, seen: float, group: int) -> tuple[int, int]:
        """The first cell of rates at which such a count is possible, and the end of the last one."""
        users, chance = self.users[group], self.missed * _LEFT_OUT / 2
        up, down = self._furthest_noise
        # Clopper and Pearson 1934, of so many people at least, and at most
        least, most = min(seen - up, users), max(seen + down, 0)
        low, high = 0.0, 1.0
        if least > 0:
            low = float(special.betaincinv(least, users - least + 1, chance)) * (1 - _INVERSE)
        if most < users:
            high = float(special.betainccinv(most + 1, users - most, chance)) * (1 + _INVERSE)
        return self.cells.around(low, min(high, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Rates p_0 < p_1 < ... from 0 to 1, next to each other by about a hundredth of a standard error.

    The square of the error at p is sampling·p(1 - p) + noise; p_i solves dp/di = a hundredth of its root.
    """

    sampling: float
    noise: float

    @property
    def _reach(self) -> float:
        return math.sqrt(1 + 4 * self.noise / self.sampling)

    @property
    def _angle(self) -> float:
        return _CELL * math.sqrt(self.sampling)

    @property
    def width(self) -> float:
        """The standard error where it is largest."""
        return math.sqrt(self.sampling / 4 + self.noise)

    @property
    def count(self) -> int:
        """How many there are."""
        return math.ceil(2 * math.asin(1 / self._reach) / self._angle)

    def rates(self, first: int, last: int) -> Array:
        """p_first to p_last."""
        angles = self._angle * np.arange(first, last + 1) - math.asin(1 / self._reach)
        found: Array = np.clip(0.5 + 0.5 * self._reach * np.sin(np.minimum(angles, math.pi / 2)), 0.0, 1.0)
        found[0] = 0.0 if first == 0 else found[0]
        found[-1] = 1.0 if last == self.count else found[-1]
        return found

    def around(self, low: float, high: float) -> tuple[int, int]:
        """The first and the last of them around two rates."""
        start = math.asin(1 / self._reach)
        first, last = (
            (math.asin(max(min((2 * rate - 1) / self._reach, 1.0), -1.0)) + start) / self._angle
            for rate in (low, high)
        )
        # one more on each side, as sines are rounded
        return max(math.floor(first) - 1, 0), min(math.ceil(last) + 1, self.count)
