"""The grid of outputs: whole numbers, or multiples of a power of two to which answers are rounded.

What is published is always a function of a whole number of steps, so the accounting sees whole numbers only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.domains import positive
from pbdp.errors import InputError
from pbdp.mechanism.region import Region
from pbdp.noise.kernel import Array

# A real-valued width is cut into about this many steps: rounding then costs about 0.1 % of it.
STEPS_IN_WIDTH = 512
# A coarser grid is used rather than let a sensitivity, or a width, grow past this many steps.
MOST_STEPS = 1 << 20
WIDEST = 1 << 17
# Answers further out count as this far: with noise added, their outputs would no longer be exact doubles.
FURTHEST_STEP = 1 << 52
# As arrays: numpy would convert a number of Python's anew in every operation, which counts for one answer.
_FIRST, _LAST, _ONE = (np.array(number, dtype=np.int64) for number in (-FURTHEST_STEP, FURTHEST_STEP, 1))
_ZERO = np.array(0.0)
# Widths and steps outside leave no room in a double for the steps around them.
SMALLEST, LARGEST = 1e-100, 1e100


class Grid(ABC):
    """From an answer to a whole number of steps, and from steps to the number that is published."""

    __slots__ = ()

    step: float

    @abstractmethod
    def sensitivity_in_steps(self, sensitivity: float) -> int:
        """The most steps that one person can move the answer."""

    @abstractmethod
    def region_in_steps(self, region: Region) -> Region:
        """A region of steps inside which every published number meets the requirement."""

    @abstractmethod
    def steps_of(self, answer: Fraction) -> int:
        """The grid point of an answer; those too far out for the grid count as the last one."""

    @abstractmethod
    def steps_of_floats(self, answers: Array) -> npt.NDArray[np.int64]:
        """The grid points of many floats, each taken at its exact value; NaN counts as 0."""

    @abstractmethod
    def steps_of_integers(self, answers: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """The grid points of many whole numbers, of the type int64 or uint64."""

    @property
    @abstractmethod
    def whole_outputs(self) -> bool:
        """Whether only whole numbers are published."""

    @abstractmethod
    def values_of(self, steps: npt.NDArray[np.int64]) -> Array:
        """The numbers published for grid points."""

    @abstractmethod
    def answers_around(self, first: int, last: int) -> tuple[float, float]:
        """An interval that holds every answer whose grid point is one of these."""

    def nearest_step(self, output: float) -> int:
        """The grid point whose output is nearest, or one beside it."""
        return int(self.steps_of_floats(np.array([output]))[0])

    @abstractmethod
    def describe(self) -> str:
        """The grid in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearGrid(Grid):
    """Outputs are multiples of `step`; `rounded` says that answers are rounded to them first."""

    step: float
    rounded: bool
    # the answers that are furthest out on either side, and what `steps_of_floats` adds and multiplies by
    _ends: tuple[Array, Array] = field(init=False, repr=False, compare=False)
    _nudge: Array = field(init=False, repr=False, compare=False)
    _doubled: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positive("step", self.step)
        if not SMALLEST * 2.0**-30 <= self.step <= LARGEST:
            raise InputError(
                "step", f"{SMALLEST:g} to {LARGEST:g}", f"{self.step:g}", "Count in another unit."
            )
        if math.frexp(self.step)[0] != 0.5:
            raise InputError(
                "step",
                "a power of two, such as 0.25, 1 or 8",
                f"{self.step:g}",
                "Multiples of it are then exact in floating point.",
            )
        furthest = FURTHEST_STEP * self.step
        object.__setattr__(self, "_ends", (np.array(-furthest), np.array(furthest)))
        object.__setattr__(self, "_nudge", np.array(self.step * 2.0**-60))
        object.__setattr__(self, "_doubled", np.array(2.0 / self.step))

    def sensitivity_in_steps(self, sensitivity: float) -> int:
        """ceil(sensitivity / step): what rounding floor(x/step + 1/2) can make of it."""
        return math.ceil(Fraction(sensitivity) / Fraction(self.step))

    def region_in_steps(self, region: Region) -> Region:
        return region.on_grid(self.step, self.rounded)

    def steps_of(self, answer: Fraction) -> int:
        """floor(x/step + 1/2), exactly."""
        steps = math.floor(answer / Fraction(self.step) + Fraction(1, 2))
        return min(max(steps, -FURTHEST_STEP), FURTHEST_STEP)

    def steps_of_floats(self, answers: Array) -> npt.NDArray[np.int64]:
        """The same in floating point, as floor((floor(2x/step) + 1) / 2).

        Everything is exact, as the step is a power of two, but for the tiny number that is added first. It
        changes no answer of a quarter of a step or more, as it is below half a unit in their last place, and
        all that are smaller are rounded to 0 with it too. With it no product is so small that a processor
        takes longer for it.
        """
        kept = between(answers, *self._ends)
        halves = np.floor((kept + self._nudge) * self._doubled).astype(np.int64)
        return np.asarray((halves + _ONE) >> _ONE)

    def steps_of_integers(self, answers: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        if self.step < 1:
            return self.steps_of_floats(answers.astype(np.float64))
        power = math.frexp(self.step)[1] - 1
        if power > 64:
            # every machine word is less than half a step from 0
            return np.zeros(answers.shape, dtype=np.int64)
        if power:
            # floats would round answers beyond 2^53; the last bit that is shifted out is the half
            answers = (answers >> power) + ((answers >> (power - 1)) & 1)
        if answers.dtype == np.uint64:
            return np.asarray(np.minimum(answers, np.uint64(FURTHEST_STEP)).astype(np.int64))
        return np.asarray(np.minimum(np.maximum(answers, _FIRST), _LAST))

    @property
    def whole_outputs(self) -> bool:
        return not self.rounded

    def values_of(self, steps: npt.NDArray[np.int64]) -> Array:
        return np.asarray(steps.astype(np.float64) * self.step)

    def answers_around(self, first: int, last: int) -> tuple[float, float]:
        half = 0.5 * self.step if self.rounded else 0.0
        return first * self.step - half, last * self.step + half

    def nearest_step(self, output: float) -> int:
        # outputs lie further out than answers may, and need not be whole to be looked for
        return round(Fraction(output) / Fraction(self.step))

    def describe(self) -> str:
        return f"multiples of {self.step:g}" if self.rounded else "whole numbers"


def between(answers: Array, lowest: Array, highest: Array) -> Array:
    """Answers moved into a range around 0, and NaN to 0.

    The positive and the negative part are clamped one by one, as of NaN and 0 fmax and fmin give 0.
    """
    above = np.fmin(np.fmax(answers, _ZERO), highest)
    return np.asarray(above + np.fmax(np.fmin(answers, _ZERO), lowest))


def whole_numbers() -> LinearGrid:
    """Whole-number answers, used as they are."""
    return LinearGrid(step=1.0, rounded=False)


def grid_for(width: float, sensitivity: float) -> LinearGrid:
    """A grid for real answers: fine against the width, and at least one step to the sensitivity."""
    if not SMALLEST <= width <= LARGEST:
        raise InputError(
            "within", f"a width of {SMALLEST:g} to {LARGEST:g}", f"{width:g}", "Count in another unit."
        )
    step = power_of_two_below(width / STEPS_IN_WIDTH)
    finest = power_of_two_below(sensitivity / MOST_STEPS)
    coarsest = max(power_of_two_below(sensitivity), power_of_two_below(width / WIDEST))
    return LinearGrid(step=max(min(step, coarsest), finest), rounded=True)


def power_of_two_below(x: float) -> float:
    """The largest power of two that is at most x."""
    return 2.0 ** math.floor(math.log2(x))
