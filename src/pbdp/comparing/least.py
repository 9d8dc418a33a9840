"""The least number that is enough, on its safe side, in few evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable

# How far from the start is looked, by factors that grow up to this one.
_FURTHEST, _LARGEST_STEP = 2.0**60, 2.0**8


def least_enough(
    short: Callable[[float], float], start: float, *, close: float = 1e-6, beside: float = 1.02
) -> float:
    """The least x > 0 with short(x) <= 0, rounded up by a factor of 1 + `close` at most.

    `short` falls. Infinite if no x is enough, and the least that was looked at if all are. From `start` on
    steps grow until x lies between two of them; false position on the logarithm of x closes in, aimed a hair
    to either side in turn, and halves the rest every third time, where the function is far from a line.
    """
    x, factor = start, beside
    low = high = 0.0
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
