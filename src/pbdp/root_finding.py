"""A root between two ends, and the least number that is enough, without derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable

RELATIVE = 4e-15
ABSOLUTE = 1e-14
STEPS = 200

# How far from the start is looked, by factors that grow up to this one.
_FURTHEST, _LARGEST_STEP = 2.0**60, 2.0**8

Point = tuple[float, float]


def bracketed_root(function: Callable[[float], float], low: float, high: float) -> float:
    """x in [low, high] with function(x) = 0; the two ends must differ in sign.

    Chandrupatla (1997): inverse quadratic interpolation where three points allow it, bisection otherwise.
    Stops when the bracket is `ABSOLUTE` wide, or `RELATIVE` to x. Neither side is the safe one: whoever
    promises what is found here checks it first.
    """
    older, newer = high, low
    f_older, f_newer = function(older), function(newer)
    if f_older == 0:
        return older
    if f_newer == 0:
        return newer
    fraction = 0.5
    for _ in range(STEPS):
        x = newer + fraction * (older - newer)
        f_x = function(x)
        if math.copysign(1.0, f_x) == math.copysign(1.0, f_newer):
            third, f_third = newer, f_newer
        else:
            third, f_third, older, f_older = older, f_older, newer, f_newer
        newer, f_newer = x, f_x
        nearest = newer if abs(f_newer) < abs(f_older) else older
        width = abs(older - newer)
        tolerance = 2 * RELATIVE * abs(nearest) + ABSOLUTE
        if tolerance >= width or f_newer == 0:
            return nearest
        least = tolerance / (2 * width)
        fraction = min(1 - least, max(least, _fraction((older, f_older), (newer, f_newer), (third, f_third))))
    return newer


def _fraction(older: Point, newer: Point, third: Point) -> float:
    """How far from the newer toward the older end to look next."""
    (x1, f1), (x2, f2), (x3, f3) = newer, older, third
    place = (x1 - x2) / (x3 - x2)
    level = (f1 - f2) / (f3 - f2) if f3 != f2 else math.inf
    if not (1 - math.sqrt(1 - place) < level < math.sqrt(place) and f3 != f1):
        return 0.5
    towards_older = f1 / (f2 - f1) * f3 / (f2 - f3)
    towards_third = f1 / (f3 - f1) * f2 / (f3 - f2)
    return towards_older + towards_third * (x3 - x1) / (x2 - x1)


def least_enough(
    short: Callable[[float], float], start: float, *, close: float = 1e-6, beside: float = 1.02
) -> float:
    """The least x > 0 with short(x) <= 0, rounded up by a factor of 1 + `close` at most.

    `short` falls. Infinite if no x is enough, and the least that was looked at if all are. From `start` on
    steps grow until x lies between two of them; false position on the logarithm of x closes in, aimed a hair
    to either side in turn, and halves the rest every third time, where the function is far from a line.
    """
    x, factor = start, beside
    before = after = short(x)
    is_enough = after <= 0
    low, high = (0.0, x) if is_enough else (x, math.inf)
    while low == 0.0 or high == math.inf:
        x = x / factor if is_enough else x * factor
        if not start / _FURTHEST <= x <= start * _FURTHEST:
            return high
        factor = min(factor * factor, _LARGEST_STEP)
        found = short(x)
        if found <= 0:
            high, after = x, found
        else:
            low, before = x, found
    tries = 0
    while high > low * (1 + close):
        tries += 1
        share = 0.5 if tries % 3 == 0 else before / (before - after)
        aim = 1 + close / 4 if tries % 2 else 1 - close / 4
        edge = math.sqrt(1 + close / 8)
        x = min(max(low * (high / low) ** share * aim, low * edge), high / edge)
        found = short(x)
        if found <= 0:
            high, after = x, found
        else:
            low, before = x, found
    return high
