"""The interval for a difference or a ratio of two rates from noisy counts, and how far counts go, exactly.

With noisy counts y of n people each the rates are y/n, and the difference has the standard error

    se² = sum over both groups of q(1 - q)/n + v/n²,    q = (y + 1)/(n + 2), from 1/(n + 2) to 1 - 1/(n + 2),

v being the variance of the group's noise. The interval is the difference plus and minus c standard errors.
For the ratio all of this is done on logarithms, with se² the sum of (q(1 - q)/n + v/n²)/q². All of it is
computed from published numbers: it costs no privacy.

**Exact probabilities.** For given rates, how often the interval holds a number d is a sum over both laws of
noisy counts. Where both ends of the interval fall with the second count, those counts for which it holds d
are from one number to another, for any first count; they are found by halving, for all first counts at once,
so that n may be large. Whether the ends fall is looked at for the first counts at which their group's part of
se² is least, the ends of its law: c·sqrt(a + b) changes the less with b the larger a is. Where they do not
(few people, rare answers, extreme statistics) all pairs of counts are gone through.

**Pairs of counts by distance.** A test asks how far the estimate is from "no difference", in factors of c
standard errors. The pairs whose distance is from one number to another are found in the same way: for any
first count they are the second counts between two such ends, on either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from pbdp.comparing.count_laws import CountLaw
from pbdp.noise.kernel import Array, Index

Measure = Literal["difference", "ratio"]
# Of estimates and the reach of their intervals.
Reached = Callable[[Array, Array], npt.NDArray[np.bool_]]
# Logarithms of ratios are held to it, so that they are ratios.
_LARGEST = 700.0
# So few pairs are gone through sooner than halved.
_FEW = 1 << 16
# What sums of masses may be off by.
ROUNDING = 1e-12
# Distances this near to each other are the same one, which counts itself.
SAME = 1e-9
# How far around a guess a critical distance is looked for at first; beyond these ends it is none at all.
_AROUND, _NEAREST, _FURTHEST = 1.001, 1e-6, 1e4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Pairs of counts whose distance is between two numbers; `inside` and `beyond` are the chances of others.

    `away` are the distances in factors, `totals` the two counts added up, `masses` their chances.
    """

    inside: float
    beyond: float
    away: Array
    totals: Array
    masses: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Two groups of so many people, the variances of noise on their counts, and how wide intervals are."""

    users: tuple[int, int]
    variances: tuple[float, float]
    factor: float = 1.0
    measure: Measure = "difference"

    def estimate(self, first: Array, second: Array) -> Array:
        """The difference of the rates, or the logarithm of their ratio."""
        if self.measure == "difference":
            return first / self.users[0] - second / self.users[1]
        found: Array = np.log(_rate(first, self.users[0])) - np.log(_rate(second, self.users[1]))
        return found

    def error(self, first: Array, second: Array) -> Array:
        """Its standard error."""
        parts = []
        for count, users, variance in zip((first, second), self.users, self.variances, strict=True):
            rate = _rate(count, users)
            part = rate * (1 - rate) / users + variance / users**2
            parts.append(part if self.measure == "difference" else part / rate**2)
        found: Array = np.sqrt(parts[0] + parts[1])
        return found

    def distance(self, first: Array, second: Array, truth: float = 0.0) -> Array:
        """How many standard errors the estimate is from a truth; of a ratio, from its logarithm."""
        found: Array = np.abs(self.estimate(first, second) - truth) / self.error(first, second)
        return found

    def interval(self, first: float, second: float) -> tuple[float, float]:
        """From two noisy counts; of a ratio, as a ratio."""
        one, two = np.array([float(first)]), np.array([float(second)])
        center, reach = float(self.estimate(one, two)[0]), self.width(first, second)
        if self.measure == "difference":
            return center - reach, center + reach
        return math.exp(center - reach), math.exp(min(center + reach, _LARGEST))

    def width(self, first: float, second: float) -> float:
        """Half the width of the interval, of a ratio on logarithms."""
        return self.factor * float(self.error(np.array([float(first)]), np.array([float(second)]))[0])

    def holds(self, laws: tuple[CountLaw, CountLaw], truth: float) -> float:
        """How often the interval holds `truth` (of a ratio its logarithm), rounded down."""
        first, second = laws
        if not self._falls(first, second):
            return self._holds_by_pairs(first, second, truth)
        start, stop = self._ends(first, second, truth)
        below = second.below()
        inside = np.maximum(below[stop] - below[start], 0.0)
        return max(float(np.sum(first.masses * inside)) - ROUNDING, 0.0)

    def pairs(self, laws: tuple[CountLaw, CountLaw], low: float, high: float) -> Pairs:
        """Those that are `low` to `high` factors away from no difference."""
        first, second = laws
        near, far = (replace(self, factor=self.factor * scale) for scale in (low, high))
        if len(first.masses) * len(second.masses) > _FEW and far._falls(first, second):
            (begin, end), (start, stop) = (one._ends(first, second, 0.0) for one in (far, near))
            rows, columns = _spans([(begin, start), (stop, end)])
            below = second.below()
            inside = float(np.sum(first.masses * (below[stop] - below[start])))
            beyond = float(np.sum(first.masses * (below[begin] + below[-1] - below[end])))
        else:
            away = self.distance(first.values[:, None], second.values[None, :]) / self.factor
            rows, columns = np.nonzero((away > low) & (away <= high))
            inside = float(first.masses @ (away <= low) @ second.masses)
            beyond = float(first.masses @ (away > high) @ second.masses)
        one, two = first.values[rows], second.values[columns]
        return Pairs(
            inside=inside,
            beyond=beyond,
            away=self.distance(one, two) / self.factor,
            totals=one + two,
            masses=first.masses[rows] * second.masses[columns],
        )

    def critical(
        self, laws: tuple[CountLaw, CountLaw], levels: tuple[float, float], start: float
    ) -> tuple[float, float]:
        """The least distance as rare as the first level, and the largest that is not as rare as the second.

        Rare is how often counts are as far away or further; what laws leave out counts as further. Distances
        are in factors, and looked for around `start`.
        """
        around = _AROUND
        low, high = start / around, start * around
        while True:
            found = self.pairs(laws, low, high)
            order = np.argsort(found.away)
            away = found.away[order]
            nearer = np.concatenate([[0.0], np.cumsum(found.masses[order])])
            chances = 1 + ROUNDING - found.inside - nearer[np.searchsorted(away, away * (1 - SAME))]
            rare, common = np.flatnonzero(chances <= levels[0]), np.flatnonzero(chances > levels[1])
            around *= around
            if not len(common) and low > _NEAREST:
                low /= around
            elif not len(rare) and high < _FURTHEST:
                high *= around
            else:
                largest = float(away[common[-1]]) if len(common) else 0.0
                # beyond all that can be there is only what laws leave out
                return float(away[rare[0]]) if len(rare) else largest * (1 + 2 * SAME), largest

    def _ends(self, first: CountLaw, second: CountLaw, truth: float) -> tuple[Index, Index]:
        """For every first count the places of second counts whose intervals hold the truth: from, up to."""
        values = first.values
        # from the first count of the other group whose interval's lower end is not above the truth ...
        start = self._first(values, second, lambda center, reach: center - reach <= truth)
        # ... to the last whose upper end is not below it
        stop = self._first(values, second, lambda center, reach: center + reach < truth)
        return start, stop

    def _falls(self, first: CountLaw, second: CountLaw) -> bool:
        """Whether the ends of intervals fall with the count of the second group."""
        ends = np.array([[first.values[0]], [first.values[-1]]])
        center = self.estimate(ends, second.values[None, :])
        reach = self.factor * self.error(ends, second.values[None, :])
        return all(bool(np.all(np.diff(side, axis=1) <= 0)) for side in (center - reach, center + reach))

    def _holds_by_pairs(self, first: CountLaw, second: CountLaw, truth: float) -> float:
        others, found = second.values[None, :], 0.0
        rows = max(1, (1 << 22) // len(second.masses))
        for start in range(0, len(first.masses), rows):
            values = first.values[start : start + rows, None]
            inside = (self.distance(values, others, truth) <= self.factor) @ second.masses
            found += float(np.sum(first.masses[start : start + rows] * inside))
        return max(found - ROUNDING, 0.0)

    def _first(self, values: Array, second: CountLaw, reached: Reached) -> Index:
        """For every count of one group the first place of the other's law from which on `reached` holds."""
        low = np.full(len(values), 0)
        high = np.full(len(values), len(second.masses))
        while np.any(low < high):
            middle = (low + high) // 2
            other = (second.start + middle.astype(np.float64)) * second.step
            yes = reached(self.estimate(values, other), self.factor * self.error(values, other))
            open_ = low < high
            high = np.where(open_ & yes, middle, high)
            low = np.where(open_ & ~yes, middle + 1, low)
        return low


def _rate(count: Array, users: int) -> Array:
    found: Array = np.clip((count + 1) / (users + 2), 1 / (users + 2), 1 - 1 / (users + 2))
    return found


def _spans(ends: list[tuple[Index, Index]]) -> tuple[Index, Index]:
    """The rows and columns of all places from one end up to the other, in every row."""
    rows, columns = [], []
    for start, stop in ends:
        sizes = stop - start
        row = np.repeat(np.arange(len(sizes)), sizes)
        rows.append(row)
        columns.append(np.arange(len(row)) + (start - np.cumsum(sizes) + sizes)[row])
    return np.concatenate(rows), np.concatenate(columns)
