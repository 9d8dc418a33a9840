"""A user's own region: any function from an answer to an interval, on a finite range of whole answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.region import OffsetRange, Region
from pbdp.noise.kernel import Array
from pbdp.parameters import finite

LARGEST_TABLE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomRegion(Region):
    """`interval(answer)` gives the lowest and highest acceptable output.

    Nothing is known of the function between two points, so it is read once at every whole answer in
    low..high and can be certified on a grid only.
    """

    kind: ClassVar[str] = "function"
    only_whole_answers: ClassVar[bool] = True

    interval: Callable[[int], tuple[float, float]]
    low: int
    high: int
    _below: Array = field(init=False, repr=False, compare=False)
    _above: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        finite("low", self.low)
        finite("high", self.high)
        if self.low >= self.high or self.low != int(self.low) or self.high != int(self.high):
            raise InputError("answers", "two whole numbers, the lower first", f"{self.low} {self.high}")
        if self.high - self.low >= LARGEST_TABLE:
            raise InputError(
                "answers", f"at most {LARGEST_TABLE} of them", self.high - self.low + 1, "Use a coarser step."
            )
        answers = range(int(self.low), int(self.high) + 1)
        ends = np.array([self.interval(answer) for answer in answers], dtype=np.float64)
        if ends.shape != (len(answers), 2) or np.isnan(ends).any():
            raise InputError("interval", "a function that returns two numbers", "something else")
        below = np.array(answers, dtype=np.float64) - ends[:, 0]
        above = ends[:, 1] - np.array(answers, dtype=np.float64)
        outside = np.flatnonzero((below < 0) | (above < 0))
        if outside.size:
            raise InputError(
                "interval", "around its own answer", f"one that misses {answers[int(outside[0])]}"
            )
        object.__setattr__(self, "_below", below)
        object.__setattr__(self, "_above", above)

    @property
    def answers(self) -> tuple[float, float]:
        return float(self.low), float(self.high)

    @property
    def width(self) -> float:
        return 1.0

    def offsets(self, answer: npt.ArrayLike) -> tuple[Array, Array]:
        index = np.clip(np.rint(np.asarray(answer, dtype=np.float64)) - self.low, 0, self.high - self.low)
        index = index.astype(np.intp)
        return self._below[index], self._above[index]

    def offset_range(self, low: Array, high: Array) -> OffsetRange:
        if not (np.array_equal(low, high) and np.array_equal(low, np.rint(low))):
            raise CannotCertifyError(
                "A region given as a function says nothing of answers between two points, so no guarantee "
                "holds for real-valued answers. Use noise on a grid of whole answers."
            )
        below, above = self.offsets(low)
        return OffsetRange(below_least=below, below_most=below, above_least=above, above_most=above)

    def on_grid(self, step: float, around: tuple[Fraction, Fraction]) -> CustomRegion:
        if step != 1 or any(around):
            raise CannotCertifyError(
                "A region given as a function is read at whole answers; use a step of 1."
            )
        return self

    def tightest(self) -> AbsoluteRegion:
        return AbsoluteRegion(
            below=float(np.floor(np.min(self._below))), above=float(np.floor(np.min(self._above)))
        )

    def settled_from(self, reach: float) -> float:
        del reach  # each answer has a law of its own
        return math.inf

    def record(self) -> dict[str, Any]:
        raise InputError(
            "plan",
            "free of functions to be saved, or told apart from others",
            self.describe(),
            "Use an absolute or relative width.",
        )

    def describe(self) -> str:
        return f"inside the interval that a function gives for each answer in {self.low}..{self.high}"
