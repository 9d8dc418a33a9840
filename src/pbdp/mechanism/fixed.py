"""A fixed range: outputs inside lo..hi, whatever the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.domains import finite
from pbdp.errors import InputError
from pbdp.mechanism.region import Array, OffsetRange, Region


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRegion(Region):
    """low <= y <= high; true answers are clamped into the range before anything else."""

    low: float
    high: float

    def __post_init__(self) -> None:
        finite("range low", self.low)
        finite("range high", self.high)
        if self.low >= self.high:
            raise InputError("range", "low end first, then a higher one", f"{self.low:g} {self.high:g}")

    @property
    def answers(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def mirror_symmetric(self) -> bool:
        return self.low == -self.high

    def offsets(self, answer: npt.ArrayLike) -> tuple[Array, Array]:
        clamped = np.clip(np.asarray(answer, dtype=np.float64), self.low, self.high)
        return clamped - self.low, self.high - clamped

    def offset_range(self, low: Array, high: Array) -> OffsetRange:
        below_least, above_most = self.offsets(low)
        below_most, above_least = self.offsets(high)
        return OffsetRange(
            below_least=below_least, below_most=below_most, above_least=above_least, above_most=above_most
        )

    def on_grid(self, step: float, rounded: bool) -> FixedRegion:
        del rounded  # a rounded answer is clamped to the grid points inside the range, which costs nothing
        low, high = float(np.ceil(self.low / step)), float(np.floor(self.high / step))
        if low >= high:
            raise InputError(
                "range",
                f"at least two steps of {step:g} wide",
                f"{self.low:g} {self.high:g}",
                "Use a finer step.",
            )
        return FixedRegion(low=low, high=high)

    def describe(self) -> str:
        return f"inside {self.low:g}..{self.high:g}"
