"""A fixed range: outputs inside lo..hi, whatever the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.region import OffsetRange, Region
from pbdp.noise.kernel import Array, Kernel
from pbdp.parameters import finite


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRegion(Region):
    """low <= y <= high; true answers are clamped into the range before anything else."""

    kind: ClassVar[str] = "fixed"
    stands_still: ClassVar[bool] = True

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

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def assumptions(self) -> tuple[str, ...]:
        return ("The true answer is clamped into the range first.",)

    def offsets(self, answer: npt.ArrayLike) -> tuple[Array, Array]:
        clamped = np.clip(np.asarray(answer, dtype=np.float64), self.low, self.high)
        return clamped - self.low, self.high - clamped

    def offset_range(self, low: Array, high: Array) -> OffsetRange:
        below_least, above_most = self.offsets(low)
        below_most, above_least = self.offsets(high)
        return OffsetRange(
            below_least=below_least, below_most=below_most, above_least=above_least, above_most=above_most
        )

    def on_grid(self, step: float, around: tuple[Fraction, Fraction]) -> FixedRegion:
        del around  # a rounded answer is clamped to the grid points inside the range, which costs nothing
        low, high = float(np.ceil(self.low / step)), float(np.floor(self.high / step))
        if low >= high:
            raise InputError(
                "range",
                f"at least two steps of {step:g} wide",
                f"{self.low:g} {self.high:g}",
                "Use a finer step.",
            )
        return FixedRegion(low=low, high=high)

    def tightest(self) -> AbsoluteRegion:
        """The truth alone: at the low end no error below is allowed, and at the high end none above."""
        return AbsoluteRegion.even(0.0)

    def settled_from(self, reach: float) -> float:
        del reach  # each answer of the range has a law of its own
        return math.inf

    def hardest_answers(self, kernel: Kernel) -> Array:
        """The two ends for a symmetric unimodal law: the mass of [low - Q, high - Q] rises inwards."""
        if kernel.is_symmetric and kernel.is_unimodal:
            return np.array([self.low, self.high])
        return Region.hardest_answers(self, kernel)

    def record(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": self.low, "high": self.high}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> FixedRegion:
        """The region of its record."""
        return cls(low=record["low"], high=record["high"])

    def describe(self) -> str:
        return f"inside {self.low:g}..{self.high:g}"
