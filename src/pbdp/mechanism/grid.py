"""The grid of outputs: whole numbers, or multiples of a power of two to which answers are rounded.

What is published is always a function of a whole number of steps, so the accounting sees whole numbers only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

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
# Answers further out are refused: with noise added, their outputs would no longer be exact doubles.
FURTHEST_STEP = 1 << 52
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
        """The grid point of an answer."""

    @abstractmethod
    def steps_of_floats(self, answers: Array) -> npt.NDArray[np.int64]:
        """The grid points of many finite floats, each taken at its exact value."""

    @abstractmethod
    def steps_of_integers(self, answers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The grid points of many whole numbers."""

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

    def sensitivity_in_steps(self, sensitivity: float) -> int:
        """ceil(sensitivity / step): what rounding floor(x/step + 1/2) can make of it."""
        return math.ceil(Fraction(sensitivity) / Fraction(self.step))

    def region_in_steps(self, region: Region) -> Region:
        return region.on_grid(self.step, self.rounded)

    def steps_of(self, answer: Fraction) -> int:
        """floor(x/step + 1/2), exactly."""
        if abs(answer) > FURTHEST_STEP * Fraction(self.step):
            raise self._too_far()
        if self.rounded:
            return math.floor(answer / Fraction(self.step) + Fraction(1, 2))
        if answer.denominator != 1:
            raise not_whole()
        return int(answer)

    def steps_of_floats(self, answers: Array) -> npt.NDArray[np.int64]:
        """The same in floating point: dividing by a power of two is exact, and so is taking the floor off.

        Where the quotient underflows it is far below one half all the same.
        """
        with np.errstate(over="ignore", under="ignore"):
            steps = answers / self.step
        if steps.size and float(np.max(np.abs(steps))) > FURTHEST_STEP:
            raise self._too_far()
        floor = np.floor(steps)
        rest = steps - floor
        if not self.rounded and np.any(rest):
            raise not_whole()
        return (floor + (rest >= 0.5)).astype(np.int64)

    def steps_of_integers(self, answers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if self.step < 1:
            return self.steps_of_floats(answers.astype(np.float64))
        # floats would round answers beyond 2^53
        power = min(math.frexp(self.step)[1] - 1, 62)
        furthest = min(FURTHEST_STEP << power, (1 << 62) - 1)
        if answers.size and not (-furthest <= int(answers.min()) and int(answers.max()) <= furthest):
            raise self._too_far()
        return (answers + ((1 << power) >> 1)) >> power if power else answers

    @property
    def whole_outputs(self) -> bool:
        return not self.rounded

    def _too_far(self) -> InputError:
        return InputError("answer", f"at most 2^52 steps of {self.step:g} from 0", "a larger one")

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


def not_whole() -> InputError:
    """The refusal of a fraction by a plan for whole numbers."""
    return InputError(
        "answer",
        "a whole number for this plan",
        "a fraction",
        "Plan without `integer` for real-valued answers.",
    )


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
