"""Where a falling curve of delta crosses a given value, with a checked point on either side."""

from __future__ import annotations

import math
from collections.abc import Callable

# How close (relative) the two points come.
CLOSE = 1e-9
_LARGEST = 1e9
_STEPS = 200


def crossing(
    curve: Callable[[float], float], delta: float, guess: float, start: float, slope: float
) -> tuple[float, float]:
    """Points low <= high with curve(low) > delta (unless low is `start`) and curve(high) <= delta.

    `high` is infinite if no such point was found. ln(curve) is taken to fall at about `slope`, which
    only makes the search shorter: false position on ln(curve), halving where that stalls.
    """
    target = math.log(delta)

    def excess(epsilon: float) -> float:
        value = curve(epsilon)
        return math.log(value) - target if value > 0 else -math.inf

    low = high = max(guess, start)
    at_low = at_high = excess(low)
    stride = max(abs(at_low) / slope if math.isfinite(at_low) else 0.0, CLOSE * low, 1e-12) * 1.05
    while at_high > 0:
        low, at_low = high, at_high
        high, stride = high + stride, 2 * stride
        if high > _LARGEST:
            return low, math.inf
        at_high = excess(high)
    while at_low <= 0:
        if low <= start:
            return start, start
        high, at_high = low, at_low
        low, stride = max(low - stride, start), 2 * stride
        at_low = excess(low)
    for step in range(_STEPS):
        if high - low <= CLOSE * high:
            break
        middle = (low + high) / 2
        if step % 3 < 2 and math.isfinite(at_low) and math.isfinite(at_high):
            share = at_low / (at_low - at_high)
            # Pushed past the straight line by a little, so that the far end moves as well.
            middle = low + (high - low) * min(max(share + (0.02 if step % 2 else -0.02) * share, 1e-3), 0.999)
        value = excess(middle)
        if value > 0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return low, high
