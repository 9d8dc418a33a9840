"""Relative error: a tolerance that grows with the answer, theta·|Q| + tau."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.domains import fraction, non_negative
from pbdp.errors import InputError
from pbdp.mechanism.region import Array, OffsetRange, Region


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeRegion(Region):
    """abs(y - Q) <= theta·abs(Q) + tau (paper, "Mechanisms with data dependent preferred regions")."""

    theta: float
    tau: float
    nonnegative: bool = False

    def __post_init__(self) -> None:
        fraction("theta", self.theta, "A relative error of 100 % or more is met by publishing 0.")
        non_negative("tau", self.tau)

    @property
    def answers(self) -> tuple[float, float]:
        return (0.0 if self.nonnegative else -math.inf), math.inf

    @property
    def follows_answer(self) -> bool:
        return self.theta == 0

    @property
    def mirror_symmetric(self) -> bool:
        return True

    def offsets(self, answer: npt.ArrayLike) -> tuple[Array, Array]:
        with np.errstate(invalid="ignore"):
            grown = (
                self.theta * np.abs(np.asarray(answer, dtype=np.float64))
                if self.theta
                else np.zeros(np.shape(answer))
            )
        reach = grown + self.tau
        return reach, reach

    def offset_range(self, low: Array, high: Array) -> OffsetRange:
        nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        least, _ = self.offsets(nearest)
        most, _ = self.offsets(np.maximum(np.abs(low), np.abs(high)))
        return OffsetRange(below_least=least, below_most=most, above_least=least, above_most=most)

    def on_grid(self, step: float, rounded: bool) -> RelativeRegion:
        lost = (1 + self.theta) / 2 if rounded else 0.0
        tau = self.tau / step - lost
        if tau < 0:
            raise InputError(
                "within",
                f"at least {lost * step:g} at an answer of 0",
                f"{self.tau:g}",
                "Rounding to the grid alone is worse than the requirement; use a finer step.",
            )
        return RelativeRegion(theta=self.theta, tau=tau, nonnegative=self.nonnegative)

    def describe(self) -> str:
        sign = ", answers of 0 or more" if self.nonnegative else ""
        return f"within {self.theta * 100:g} % plus {self.tau:g} of the truth{sign}"
