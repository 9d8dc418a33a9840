"""A preferred region: from a true answer to the interval of outputs that meet the requirement.

The region of an answer Q is the closed interval [Q - below(Q), Q + above(Q)] with below, above >= 0: the
truth itself always meets the requirement. The accountant needs three things of a region: its offsets at an
answer, their range over an interval of answers (so that a search over all answers can be cut short with
proof), and which answers occur at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


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

    @property
    @abstractmethod
    def answers(self) -> tuple[float, float]:
        """The interval of answers that may occur; infinite ends where any answer may."""

    @property
    def follows_answer(self) -> bool:
        """Whether the offsets are the same for every answer, so that the law only moves with it."""
        return False

    @property
    def mirror_symmetric(self) -> bool:
        """Whether the region of -Q is the mirror image of the region of Q, for all answers."""
        return False

    @abstractmethod
    def offsets(self, answer: npt.ArrayLike) -> tuple[Array, Array]:
        """How far the region reaches (below, above) each answer."""

    @abstractmethod
    def offset_range(self, low: Array, high: Array) -> OffsetRange:
        """Ranges of the offsets over the answers in [low, high]; they must hold every offset that occurs."""

    @abstractmethod
    def on_grid(self, step: float, rounded: bool) -> Region:
        """The same requirement counted in steps of a grid.

        `rounded` says that the true answer is rounded to the grid first, which costs up to half a step.
        """

    @abstractmethod
    def describe(self) -> str:
        """The region in words."""
