"""The interval for a difference or a ratio of two rates from noisy counts, and how far counts are apart.

With noisy counts y of n people each the rates are y/n, and the difference has the standard error

    se² = sum over both groups of q(1 - q)/n + v/n²,    q = (y + 1)/(n + 2), from 1/(n + 2) to 1 - 1/(n + 2),

v being the variance of the group's noise. The interval is the difference plus and minus c standard errors.
For the ratio all of this is done on logarithms, with se² the sum of (q(1 - q)/n + v/n²)/q². All of it is
computed from published numbers: it costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from pbdp.noise.kernel import Array

Measure = Literal["difference", "ratio"]
# Logarithms of ratios are held to it, so that they are ratios.
_LARGEST = 700.0
# Distances this near to each other are the same one, which counts itself.
SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Two groups of so many people, the variances of noise on their counts, and how wide intervals are."""

    users: tuple[int, int]
    variances: tuple[float, float]
    factor: float = 1.0
    measure: Measure = "difference"

    def part(self, count: Array, group: int) -> tuple[Array, Array]:
        """A group's part of the estimate, the first's less the second's, and of its squared error."""
        users = self.users[group]
        rate = _rate(count, users)
        square = rate * (1 - rate) / users + self.variances[group] / users**2
        if self.measure == "difference":
            return count / users, square
        return np.log(rate), square / rate**2

    def estimate(self, first: Array, second: Array) -> Array:
        """The difference of the rates, or the logarithm of their ratio."""
        return self.part(first, 0)[0] - self.part(second, 1)[0]

    def error(self, first: Array, second: Array) -> Array:
        """Its standard error."""
        found: Array = np.sqrt(self.part(first, 0)[1] + self.part(second, 1)[1])
        return found

    def distance(self, first: Array, second: Array, truth: float = 0.0) -> Array:
        """How many standard errors the estimate is from a truth; of a ratio, from its logarithm."""
        (one, square), (two, other) = self.part(first, 0), self.part(second, 1)
        found: Array = np.abs(one - two - truth) / np.sqrt(square + other)
        return found

    def is_within(self, first: Array, second: Array, truth: float, factor: float) -> npt.NDArray[np.bool_]:
        """Whether a truth is within `factor` standard errors: the same without a root of every pair."""
        (one, square), (two, other) = self.part(first, 0), self.part(second, 1)
        off = (one - truth) - two
        found: npt.NDArray[np.bool_] = off * off <= factor**2 * square + factor**2 * other
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


def _rate(count: Array, users: int) -> Array:
    found: Array = np.clip((count + 1) / (users + 2), 1 / (users + 2), 1 - 1 / (users + 2))
    return found
