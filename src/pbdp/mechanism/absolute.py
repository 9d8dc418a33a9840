"""Absolute error: the same offsets around every answer, even, lopsided or one-sided."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.domains import at_least_zero_or_infinite
from pbdp.errors import InputError
from pbdp.mechanism.region import Array, OffsetRange, Region


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsoluteRegion(Region):
    """[Q - below, Q + above]; an infinite offset makes the region one-sided."""

    below: float
    above: float

    def __post_init__(self) -> None:
        at_least_zero_or_infinite("below", self.below)
        at_least_zero_or_infinite("above", self.above)
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

    def offsets(self, answer: npt.ArrayLike) -> tuple[Array, Array]:
        shape = np.shape(answer)
        return np.full(shape, self.below), np.full(shape, self.above)

    def offset_range(self, low: Array, high: Array) -> OffsetRange:
        below, above = self.offsets(np.broadcast_arrays(low, high)[0])
        return OffsetRange(below_least=below, below_most=below, above_least=above, above_most=above)

    def on_grid(self, step: float, rounded: bool) -> AbsoluteRegion:
        lost = 0.5 if rounded else 0.0
        below, above = self.below / step - lost, self.above / step - lost
        if min(below, above) < 0:
            raise InputError(
                "within",
                f"at least half a step ({step / 2:g})",
                f"{min(self.below, self.above):g}",
                "Rounding to the grid alone is worse than the requirement; use a finer step.",
            )
        return AbsoluteRegion(below=float(np.floor(below)), above=float(np.floor(above)))

    def describe(self) -> str:
        if self.below == self.above:
            return f"within {self.below:g} of the truth"
        if math.isinf(self.below):
            return f"at most {self.above:g} above the truth"
        if math.isinf(self.above):
            return f"at most {self.below:g} below the truth"
        return f"at most {self.below:g} below and {self.above:g} above the truth"
