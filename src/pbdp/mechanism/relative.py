"""Relative error: a tolerance that grows with the answer, theta·|Q| + tau; its text is `5%+10`.

What is read and written of that text anywhere is read and written here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.region import OffsetRange, Region
from pbdp.noise.kernel import Array, Kernel
from pbdp.parameters import fraction, non_negative

# Float arithmetic on the ends of an inverse is a few units in the last place off.
OUTWARDS = 1e-14

UNKNOWN = "?"

_NUMBER = r"[0-9.]+(?:[eE][+-]?[0-9]+)?"
_PART = rf"({_NUMBER}|\?)"
_PERCENT_FIRST = re.compile(rf"\s*{_PART}\s*%\s*(?:\+\s*{_PART})?\s*")
_PLUS_FIRST = re.compile(rf"\s*({_NUMBER})\s*\+\s*({_NUMBER})\s*%\s*")


class WidthText(NamedTuple):
    """A percentage and what is added to it, as they are written: `?` is to be found, no `plus` is none.

    What looks like a number need not be one: `1.2.3`.
    """

    percent: str
    plus: str

    @classmethod
    def read(cls, given: object) -> WidthText | None:
        """The parts of a text such as `5%+10`, `10+5%`, `5%` or `?%+10`; None of anything else."""
        if not isinstance(given, str):
            return None
        if match := _PERCENT_FIRST.fullmatch(given):
            return cls(percent=match[1], plus=match[2] or "")
        if match := _PLUS_FIRST.fullmatch(given):
            return cls(percent=match[2], plus=match[1])
        return None

    @classmethod
    def of(cls, theta: float, tau: float) -> WidthText:
        """The shortest text that is read as just these numbers: 7, not 7.000000000000001."""
        short = f"{theta * 100:.12g}"
        return cls(percent=short if float(short) / 100 == theta else _plain(theta * 100), plus=_plain(tau))

    def __str__(self) -> str:
        return f"{self.percent}%+{self.plus}" if self.plus else f"{self.percent}%"


def _plain(number: float) -> str:
    """A number as people write it: 10, not 10.0."""
    return repr(number).removesuffix(".0")


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeRegion(Region):
    """abs(y - Q) <= theta·abs(Q) + tau (paper, "Mechanisms with data dependent preferred regions")."""

    kind: ClassVar[str] = "relative"

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

    @property
    def growth(self) -> float:
        return self.theta

    @property
    def width(self) -> float:
        return self.tau

    @property
    def within(self) -> str:
        return str(WidthText.of(self.theta, self.tau))

    @property
    def assumptions(self) -> tuple[str, ...]:
        return ("The true answer is 0 or more in every dataset.",) if self.nonnegative else ()

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

    def on_grid(self, step: float, around: tuple[Fraction, Fraction]) -> RelativeRegion:
        # the answer is so far off, and what it allows is theta times that less
        lost = (1 + self.theta) * float(max(around))
        exact = Fraction(self.tau) / Fraction(step) - Fraction(lost)
        tau = float(exact)
        if Fraction(tau) > exact:
            tau = math.nextafter(tau, -math.inf)
        if tau < 0:
            raise InputError(
                "within",
                f"at least {lost * step:g} at an answer of 0",
                f"{self.tau:g}",
                "Rounding to the grid alone is worse than the requirement; use a finer step.",
            )
        return RelativeRegion(theta=self.theta, tau=tau, nonnegative=self.nonnegative)

    def tightest(self) -> AbsoluteRegion:
        return AbsoluteRegion.even(float(math.floor(self.tau)))

    def scaled(self, factor: float, whole: bool) -> RelativeRegion | None:
        del whole  # only what is allowed at a given answer could be rounded
        if self.theta * factor >= 1:
            return None
        return RelativeRegion(theta=self.theta * factor, tau=self.tau * factor, nonnegative=self.nonnegative)

    def settled_from(self, reach: float) -> float:
        """Where the region holds all of the noise, theta·|Q| + tau >= reach."""
        missing = max(0.0, reach - self.tau)
        return 0.0 if self.follows_answer else missing / self.theta

    def hardest_answers(self, kernel: Kernel) -> Array:
        del kernel  # the smallest |Q| has the narrowest region, and they are nested
        return np.zeros(1)

    def inverse(self, outputs: Array) -> tuple[Array, Array]:
        # y <= Q + theta|Q| + tau and y >= Q - theta|Q| - tau, each solved on its side of zero
        low, high = outputs - self.tau, outputs + self.tau
        less, more = 1 - self.theta, 1 + self.theta
        margin = OUTWARDS * (np.abs(outputs) + self.tau) / less
        return (
            np.where(low >= 0, low / more, low / less) - margin,
            np.where(high >= 0, high / less, high / more) + margin,
        )

    def record(self) -> dict[str, Any]:
        return {"kind": self.kind, "theta": self.theta, "tau": self.tau, "nonnegative": self.nonnegative}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> RelativeRegion:
        """The region of its record."""
        if not isinstance(record["nonnegative"], bool):
            raise TypeError("not a flag")
        return cls(theta=record["theta"], tau=record["tau"], nonnegative=record["nonnegative"])

    def describe(self) -> str:
        sign = ", answers of 0 or more" if self.nonnegative else ""
        return f"within {self.theta * 100:g} % plus {self.tau:g} of the truth{sign}"
