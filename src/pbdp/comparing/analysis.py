"""The interval for a difference or a ratio of two rates from noisy counts, and a test, exactly.

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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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
        below = second.below()
        values = first.values
        # from the first count of the other group whose interval's lower end is not above the truth ...
        start = self._first(values, second, lambda center, reach: center - reach <= truth)
        # ... to the last whose upper end is not below it
        stop = self._first(values, second, lambda center, reach: center + reach < truth)
        inside = np.maximum(below[stop] - below[start], 0.0)
        return max(float(np.sum(first.masses * inside)) - 1e-12, 0.0)

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
        return max(found - 1e-12, 0.0)

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
