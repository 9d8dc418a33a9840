"""A preferred region: from a true answer to the interval of outputs that meet the requirement.

The region of an answer Q is the closed interval [Q - below(Q), Q + above(Q)] with below, above >= 0: the
truth itself always meets the requirement. The accountant needs three things of a region: its offsets at an
answer, their range over an interval of answers (so that a search over all answers can be cut short with
proof), and which answers occur at all. Whatever differs between kinds of regions is a method here, so that a
new kind is one new file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError
from pbdp.noise.kernel import Array, Kernel, LatticeKernel

if TYPE_CHECKING:
    from pbdp.mechanism.absolute import AbsoluteRegion


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRange:
    """Smallest and largest offsets over an interval of answers."""

    below_least: Array
    below_most: Array
    above_least: Array
    above_most: Array


class Region(ABC):
    """An interval of outputs around every answer."""

    __slots__ = ()

    kind: ClassVar[str]
    # the outputs that meet it are the same for every answer, and answers are clamped into them first
    stands_still: ClassVar[bool] = False
    # nothing is known of it between two whole answers
    only_whole_answers: ClassVar[bool] = False

    @property
    @abstractmethod
    def answers(self) -> tuple[float, float]:
        """The interval of answers that may occur; infinite ends where any answer may."""

    @property
    def follows_answer(self) -> bool:
        """Whether the offsets are the same for every answer, so that the law only moves with it."""
        return False

    @property
    def per_answer(self) -> bool:
        """Whether outputs and offsets change with the answer, so that a law for each is worth a search."""
        return not (self.follows_answer or self.stands_still)

    @property
    def mirror_symmetric(self) -> bool:
        """Whether the region of -Q is the mirror image of the region of Q, for all answers."""
        return False

    @property
    def growth(self) -> float | None:
        """About how much further it reaches per unit of |answer|; None where it does not grow so."""
        return None

    @property
    @abstractmethod
    def width(self) -> float:
        """The width that a grid has to be fine against."""

    @property
    def within(self) -> float | str | list[float] | None:
        """The width as users write it, and as it is written in a plan file; None where there is none."""
        return None

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What it takes for granted of true answers, in sentences."""
        return ()

    @abstractmethod
    def offsets(self, answer: npt.ArrayLike) -> tuple[Array, Array]:
        """How far the region reaches (below, above) each answer."""

    @abstractmethod
    def offset_range(self, low: Array, high: Array) -> OffsetRange:
        """Ranges of the offsets over the answers in [low, high]; they must hold every offset that occurs."""

    @abstractmethod
    def on_grid(self, step: float, around: tuple[Fraction, Fraction]) -> Region:
        """The same requirement in steps of a grid, met for all answers that share a grid point.

        These may be so far below and above it, in steps (`Grid.around`).
        """

    @abstractmethod
    def tightest(self) -> AbsoluteRegion:
        """The absolute region inside the region of every answer: meeting it meets the requirement.

        For a region in steps of a grid; offsets are rounded down to whole steps.
        """

    def scaled(self, factor: float, whole: bool) -> Region | None:
        """The same requirement with all widths `factor` times as large, rounded where they are `whole`.

        None where there is none like it.
        """
        del factor, whole
        return None

    @abstractmethod
    def settled_from(self, reach: float) -> float:
        """From this |answer| on, noise of at most `reach` has a law that only moves with the answer.

        Infinite where answers without end have laws of their own.
        """

    def hardest_answers(self, kernel: Kernel) -> Array:
        """Answers among which the one with the least kernel mass in its region is sure to be; here, all."""
        low, high = self.answers
        whole = isinstance(kernel, LatticeKernel) or self.only_whole_answers
        if whole and np.isfinite(high - low):
            return np.arange(low, high + 1)
        raise CannotCertifyError(
            f"The least confidence over all answers cannot be found for this region ({self.describe()}) and "
            "a continuous kernel. Use noise on a grid."
        )

    def inverse(self, outputs: Array) -> tuple[Array, Array] | None:
        """For each output y, an interval of all answers Q with Q - below(Q) <= y <= Q + above(Q).

        Ends are rounded outwards. None where it has no closed form that tells anything.
        """
        del outputs
        return None

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """The region as JSON, to be saved and told apart by; refused where it cannot say all of it."""

    @abstractmethod
    def describe(self) -> str:
        """The region in words."""
