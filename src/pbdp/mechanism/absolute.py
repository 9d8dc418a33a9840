"""Absolute error: the same offsets around every answer, even, lopsided or one-sided."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.mechanism.region import OffsetRange, Region
from pbdp.noise.kernel import Array, Kernel
from pbdp.parameters import number_or_infinite


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsoluteRegion(Region):
    """[Q - below, Q + above]; an infinite offset makes the region one-sided.

    In steps of a grid that is coarse against the smaller offset, rounding may take more than there is: the
    offset is negative then, and outputs on that side of the answer do not count. No user asks for such.
    """

    kind: ClassVar[str] = "absolute"

    below: float
    above: float

    def __post_init__(self) -> None:
        number_or_infinite("below", self.below)
        number_or_infinite("above", self.above)
        if self.below + self.above < 0:
            raise InputError("within", "a region that is not empty", f"{self.below:g} and {self.above:g}")
        if math.isinf(self.below) and math.isinf(self.above):
            raise InputError(
                "within", "finite on at least one side", "inf", "Any output would do; ask for less."
            )

    @classmethod
    def even(cls, half_width: float) -> AbsoluteRegion:
        """The paper's absolute error: within `half_width` of the truth."""
        return cls(below=half_width, above=half_width)

    @property
    def answers(self) -> tuple[float, float]:
        return -math.inf, math.inf

    @property
    def follows_answer(self) -> bool:
        return True

    @property
    def mirror_symmetric(self) -> bool:
        return self.below == self.above

    @property
    def width(self) -> float:
        both = (self.below + self.above) / 2
        return both if math.isfinite(both) else min(self.below, self.above)

    @property
    def within(self) -> float | list[float]:
        return self.below if self.below == self.above else [self.below, self.above]

    def offsets(self, answer: npt.ArrayLike) -> tuple[Array, Array]:
        shape = np.shape(answer)
        return np.full(shape, self.below), np.full(shape, self.above)

    def offset_range(self, low: Array, high: Array) -> OffsetRange:
        below, above = self.offsets(np.broadcast_arrays(low, high)[0])
        return OffsetRange(below_least=below, below_most=below, above_least=above, above_most=above)

    def on_grid(self, step: float, around: tuple[Fraction, Fraction]) -> AbsoluteRegion:
        """What is below the highest of the answers, and above the lowest."""
        lowest, highest = around
        below, above = _steps_inside(self.below, step, highest), _steps_inside(self.above, step, lowest)
        if below + above < 0:
            raise InputError(
                "within",
                f"at least half a step ({step / 2:g})",
                f"{self.width:g}",
                "Rounding to the grid alone is worse than the requirement; use a finer step.",
            )
        return AbsoluteRegion(below=below, above=above)

    def tightest(self) -> AbsoluteRegion:
        return AbsoluteRegion(below=float(np.floor(self.below)), above=float(np.floor(self.above)))

    def scaled(self, factor: float, whole: bool) -> AbsoluteRegion:
        ends = (self.below * factor, self.above * factor)
        below, above = (max(1.0, float(np.rint(end))) if whole else end for end in ends)
        return AbsoluteRegion(below=below, above=above)

    def settled_from(self, reach: float) -> float:
        del reach  # all answers are alike
        return 0.0

    def hardest_answers(self, kernel: Kernel) -> Array:
        del kernel  # all answers are alike
        return np.zeros(1)

    def inverse(self, outputs: Array) -> tuple[Array, Array]:
        return moved_down(outputs, self.above), -moved_down(-outputs, self.below)

    def record(self) -> dict[str, Any]:
        # JSON has no infinity, so null stands for a side that is open
        ends = {"below": self.below, "above": self.above}
        return {"kind": self.kind} | {name: None if math.isinf(end) else end for name, end in ends.items()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> AbsoluteRegion:
        """The region of its record."""
        below, above = (math.inf if record[side] is None else record[side] for side in ("below", "above"))
        return cls(below=below, above=above)

    def describe(self) -> str:
        if self.below == self.above:
            return f"within {self.below:g} of the truth"
        if math.isinf(self.below):
            return f"at most {self.above:g} above the truth"
        if math.isinf(self.above):
            return f"at most {self.below:g} below the truth"
        return f"at most {self.below:g} below and {self.above:g} above the truth"


def _steps_inside(offset: float, step: float, lost: Fraction) -> float:
    """Whole steps that an error may have, exactly, less what rounding the answer takes of them."""
    if math.isinf(offset):
        return offset
    return float(math.floor(Fraction(offset) / Fraction(step) - lost))


def moved_down(numbers: Array, width: float | Array) -> Array:
    """numbers - width, rounded down; exact differences, the usual case on a grid, stay as they are."""
    if np.all(np.isinf(width)):
        return np.full(numbers.shape, -np.inf)
    low = numbers - width
    exact = (numbers - low == width) & (low + width == numbers)
    return np.where(exact, low, np.nextafter(low, -np.inf))
