"""The one root search: the least number that is enough for what falls, without derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable

# How far from the start is looked, by factors that grow up to this one.
_FURTHEST, _LARGEST_STEP = 2.0**60, 2.0**8
# As close as doubles allow: the steps beside a root are an eighth of it, and a double has 53 bits.
CLOSEST = 2.0**-44

Point = tuple[float, float]


def least_enough(
    short: Callable[[float], float],
    start: float,
    *,
    close: float = 1e-6,
    beside: float = 1.02,
    most: float = math.inf,
    spare: float = 0.0,
) -> float:
    """The least x > 0 with short(x) <= 0, rounded up by a factor of 1 + `close` at most.

    `short` falls. Infinite if no x up to `most` is enough, and the least that was looked at if all are. One
    with short(x) of at least -`spare` is taken as it is.
    """
    return between(short, start, close=close, beside=beside, most=most, spare=spare)[1]


def least_whole(short: Callable[[int], float], start: float, most: float) -> int | None:
    """The least whole number from 1 on with short(x) <= 0; None if none up to `most` is enough.

    The search over all numbers, of which each stands for the next whole one; none is looked at twice.
    """
    if most < 1:
        return None
    most = math.floor(most)
    known: dict[int, float] = {}

    def next_whole(x: float) -> float:
        number = min(math.ceil(x), most)
        if number not in known:
            known[number] = short(number)
        return known[number]

    # two numbers as close as that have no more than one whole one between them
    found = between(next_whole, min(max(start, 1.0), most), close=1 / (4 * most), most=most)[1]
    return min(math.ceil(found), most) if math.isfinite(found) else None


def between(
    short: Callable[[float], float],
    start: float,
    *,
    close: float = 1e-6,
    beside: float = 1.02,
    most: float = math.inf,
    spare: float = 0.0,
) -> tuple[float, float]:
    """low < high with short(low) > 0 >= short(high), a factor of 1 + `close` apart at most; `short` falls.

    `low` is 0 if every x > 0 that was looked at is enough, `high` infinite if none is. From `start` on steps
    grow until the root lies between two of them; on the logarithm of x Chandrupatla's rule (1997) closes in:
    inverse quadratic interpolation where three points allow it, halves elsewhere. That ends as soon as
    short(high) is at least -`spare`.
    """
    low, high = (0.0, math.inf), (math.inf, -math.inf)
    x, factor, edge = start, beside, math.sqrt(1 + close / 8)
    while True:
        found = short(x)
        if found <= 0:
            high, third = (x, found), high
        else:
            low, third = (x, found), low
        if -spare <= high[1] < 0 or high[0] <= low[0] * (1 + close):
            return low[0], high[0]
        if low[0] > 0 and high[0] < math.inf:
            newer, older = (high, low) if found <= 0 else (low, high)
            x *= (older[0] / x) ** _share(newer, older, third)
            x = min(max(x, low[0] * edge), high[0] / edge)
        elif low[0] < most:
            x = x / factor if low[0] == 0 else min(x * factor, most)
            factor = min(factor * factor, _LARGEST_STEP)
        if low[0] >= most or not start / _FURTHEST <= x <= start * _FURTHEST:
            return low[0], high[0]


def _share(newer: Point, older: Point, third: Point) -> float:
    """How far from the newer toward the older end to look next, on the logarithm of x."""
    (x1, f1), (x2, f2), (x3, f3) = newer, older, third
    if math.isinf(f1) or math.isinf(f2):
        return 0.5
    if not 0 < x3 < math.inf or math.isinf(f3):
        return f1 / (f1 - f2)
    place, level = math.log(x1 / x2) / math.log(x3 / x2), (f1 - f2) / (f3 - f2)
    if not (level**2 < place and (1 - level) ** 2 < 1 - place):
        return 0.5
    towards_third = f1 / (f3 - f1) * f2 / (f3 - f2) * math.log(x3 / x1) / math.log(x2 / x1)
    return f1 / (f2 - f1) * f3 / (f2 - f3) + towards_third
