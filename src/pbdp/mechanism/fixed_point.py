"""Values as whole numbers of a step, so that a sum is the same on every engine and in every order.

A value x of a column with bounds [low, high] counts as floor(min(max(x, low), high) / step + 1/2) steps.
The step is a power of two, so the quotient is exact, and every engine with IEEE doubles gets the same number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from pbdp.errors import InputError
from pbdp.parameters import finite, whole

# Sums of steps stay below this in size, so that 64-bit integers never wrap.
LARGEST_SUM = 1 << 62
# A table of more rows than this needs to say so (`most_rows`).
USUAL_ROWS = 1 << 36
# What is to be said at least where data is released. Beyond `most_rows`, sums may not fit and fail, and that
# tells that there are more rows: with a small number, whoever asks could count them exactly.
LEAST_ROWS = 1 << 32
# Sums are rounded to this many value steps (a power of two) before noise: doubles hold them exactly then.
STEPS_IN_SUM_STEP = 1 << 10
# Bounds further out, in steps, would make the rounding of x / step + 1/2 depend on more than 53 digits.
_FURTHEST = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoint:
    """Bounds of a column, and the step that its values are counted in.

    `whole` values have step 1. Others get the finest step for which `most_rows` values cannot overflow:
    most_rows * max(high - low, |low|, |high|) / step <= 2^62, which bounds sums of values, of values counted
    from `low`, and of what people add up to, once that is clamped.
    """

    low: float
    high: float
    whole: bool = False
    most_rows: int = USUAL_ROWS
    step: float = field(init=False)

    def __post_init__(self) -> None:
        low, high = finite("low", self.low), finite("high", self.high)
        whole("most_rows", self.most_rows)
        if not low < high:
            raise InputError("low", f"below high, which is {high:g}", f"{low:g}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "step", 1.0 if self.whole else self._finest())
        furthest = max(abs(self.low_steps), abs(self.high_steps))
        if furthest > _FURTHEST or max(self.width, furthest) * self.most_rows > LARGEST_SUM:
            raise InputError(
                "low and high",
                f"near enough for sums over {self.most_rows:,} rows to fit into 62 bits",
                f"{low:g} and {high:g}",
                "Narrow the bounds, count in a larger unit, or say how many rows there are (most_rows).",
            )
        if self.width == 0:
            remedy = "Sum up what is above the lower bound instead, in a column of its own."
            raise InputError("high", f"further above low than {self.step:g}", f"{high - low:g}", remedy)
        if self.whole and (low != math.floor(low) or high != math.floor(high)):
            raise InputError("low and high", "whole numbers for a whole column", f"{low:g} and {high:g}")

    def _finest(self) -> float:
        furthest = max(abs(self.low), abs(self.high))
        most = max(self.high - self.low, furthest) * self.most_rows
        spread = max(most / LARGEST_SUM, furthest / _FURTHEST)
        # twice the spread, because rounding to steps may add one to the number of them
        exponent = math.frexp(2 * spread)[1]
        if not 0 < spread < math.inf or not -1000 < exponent < 900:
            raise InputError("low and high", "numbers of a usual size", f"{self.low:g} and {self.high:g}")
        return math.ldexp(1.0, exponent)

    @property
    def per_unit(self) -> float:
        """Steps in a unit, exactly: engines multiply by it."""
        return 1 / self.step

    @property
    def low_steps(self) -> int:
        """The least value in steps."""
        return self.steps_of(self.low)

    @property
    def high_steps(self) -> int:
        """The largest value in steps."""
        return self.steps_of(self.high)

    @property
    def width(self) -> int:
        """high - low in steps."""
        return self.high_steps - self.low_steps

    @property
    def middle_steps(self) -> int:
        """The middle of the bounds, which means are counted from, in steps."""
        return (self.low_steps + self.high_steps) // 2

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        return self.middle_steps * self.step

    @property
    def furthest(self) -> float:
        """How far a value, and so a mean, can be from the middle."""
        return max(self.high_steps - self.middle_steps, self.middle_steps - self.low_steps) * self.step

    def steps_of(self, value: float) -> int:
        """floor(value / step + 1/2) of a clamped value, in the doubles that engines use."""
        return math.floor(min(max(value, self.low), self.high) * self.per_unit + 0.5)

    @property
    def steps_in_sum_step(self) -> int:
        """Value steps in one step of a sum, a power of two: sums are rounded to it before noise is added."""
        return 1 if self.whole else STEPS_IN_SUM_STEP
