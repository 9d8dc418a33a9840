"""Chi-square laws, of the squared length of a Gaussian vector: values, errors, and ranges on panels.

Given one coordinate y of a Gaussian vector, the others leave it in a ball of radius R with probability
F(R² - y²), F the chi-square CDF of their number. What `ball` integrates is made of that; its ranges are kept
in interval arithmetic, one interval a panel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp import special
from pbdp.noise.kernel import Array

# Relative error of what a derivative is made of; the log-density with 10^5 degrees is exact to 1e-9.
DERIVATIVE_ERROR = 1e-8
# What underflow may have taken away.
UNDERFLOW = 1e-290

Flags = npt.NDArray[np.bool_]
# Lower and upper values, one a panel.
Range = tuple[Array, Array]


def cdf_error(value: npt.ArrayLike) -> Array:
    """Relative error of SciPy's incomplete gamma functions where they have this value.

    It grows with the logarithm: the largest seen were 2e-15 above 0.1, 2e-13 at 1e-10 and 1e-11 at 1e-240.
    """
    return 1e-13 - 5e-14 * np.log(np.maximum(np.asarray(value, dtype=np.float64), 1e-300))


def cdf(nu: int, t: Array) -> Array:
    """F_ν(t), zero below zero."""
    if nu == 0:
        return np.where(t >= 0, 1.0, 0.0)
    return np.asarray(special.gammainc(nu / 2, np.maximum(t, 0.0) / 2))


def survival(nu: int, t: Array) -> Array:
    """1 - F_ν(t), with its own digits."""
    return 1 - cdf(0, t) if nu == 0 else np.asarray(special.gammaincc(nu / 2, np.maximum(t, 0.0) / 2))


def density(nu: int, t: Array) -> Array:
    """F_ν'(t) for t > 0."""
    if nu == 0:
        return np.zeros_like(t)
    return np.asarray(np.exp(special.xlogy(nu / 2 - 1, t / 2) - t / 2 - special.gammaln(nu / 2)) / 2)


def orders(nu: int, t: Array) -> tuple[Array, Array, Array, Array]:
    """F_ν, F_(ν-2), F_(ν-4) for t > 0, each monotone in t, and the size of what they were added up from.

    F_(ν-2) = F_ν + 2 F_ν', and F_(ν-2)' = F_ν' (ν-2)/t, of one sign.
    """
    rate = density(nu, t)
    lower_rate = rate * (nu - 2) / t
    zeroth = cdf(nu, t)
    second = zeroth + 2 * rate
    return zeroth, second, second + 2 * lower_rate, second + 2 * np.abs(lower_rate)


def ordered(one: Array, two: Array) -> Range:
    """The range between two values, in either order."""
    return np.minimum(one, two), np.maximum(one, two)


def widened(values: Range, by: Array) -> Range:
    """Both ends moved outwards."""
    return values[0] - by, values[1] + by


def times(one: Range, two: Range) -> Range:
    """Interval product."""
    products = [a * b for a in one for b in two]
    return (
        np.minimum(np.minimum(products[0], products[1]), np.minimum(products[2], products[3])),
        np.maximum(np.maximum(products[0], products[1]), np.maximum(products[2], products[3])),
    )


def room(radius: float, y: Array) -> Array:
    """R² - y², without cancellation."""
    return np.asarray((radius - np.abs(y)) * (radius + np.abs(y)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BallOnPanels:
    """F on every panel: its range, F and 1 - F in the middle with their errors, and what its bend needs."""

    nu: int
    rooms: Range
    squares: Range
    places: Range
    inside: Range
    middle: Array
    error: Array
    beyond: Array
    beyond_error: Array
    smooth: Flags
    outside: Flags

    @classmethod
    def around(cls, nu: int, radius: float, left: Array, right: Array, middle: Array) -> BallOnPanels:
        """The ball of this radius on panels, whose places are relative to its center."""
        ends, center = (room(radius, left), room(radius, right)), room(radius, middle)
        rounding = 2.0**-49 * (radius * radius + np.maximum(left * left, right * right))
        nearest, farthest = np.maximum(*ends) + rounding, np.minimum(*ends) - rounding
        smooth = (farthest > 0) & (rounding * (nu + 1) < 0.01 * farthest)
        outside = nearest <= 0
        least, most = cdf(nu, farthest), cdf(nu, nearest)
        rate = density(nu, np.where(smooth, center, 1.0))
        value, beyond = cdf(nu, center), survival(nu, center)
        moved = 1.2 * rounding * rate + UNDERFLOW
        return cls(
            nu=nu,
            rooms=(np.where(smooth, farthest, 1.0), np.where(smooth, nearest, 2.0)),
            squares=ordered(left * left, right * right),
            places=(left, right),
            inside=(
                least * (1 - cdf_error(least)),
                np.where(outside, 0.0, most * (1 + cdf_error(most)) + UNDERFLOW),
            ),
            middle=value,
            error=np.where(outside, 0.0, cdf_error(value) * value + moved),
            beyond=beyond,
            beyond_error=cdf_error(beyond) * beyond + moved,
            smooth=smooth | outside,
            outside=outside,
        )

    def bend(self, tilt: float) -> Range:
        """The bracket of (3) in `ball`, zero on panels outside the ball."""
        ends = [orders(self.nu, room) for room in self.rooms]
        rounding = DERIVATIVE_ERROR * np.maximum(ends[0][3], ends[1][3])
        zeroth, second, fourth = (widened(ordered(ends[0][i], ends[1][i]), rounding) for i in range(3))
        rounding = 2.0**-50 * (1 + 2 * abs(tilt) * np.sqrt(self.squares[1]))
        slope = ordered(*(-(1 + 2 * tilt * y) for y in self.places))
        slope = (slope[0] - rounding, slope[1] + rounding)
        parts = (
            times(self.squares, fourth),
            times(slope, second),
            (tilt * tilt * zeroth[0], tilt * tilt * zeroth[1]),
        )
        return (
            np.where(self.outside, 0.0, sum(part[0] for part in parts)),
            np.where(self.outside, 0.0, sum(part[1] for part in parts)),
        )
