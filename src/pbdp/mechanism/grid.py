"""The grid of outputs: whole numbers, or multiples of a step to which answers are rounded.

A step is m·2^k with a whole m of a few bits, so that its multiples are exact doubles, and so is the rounding.

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

from pbdp.errors import InputError
from pbdp.mechanism.region import Region
from pbdp.noise.kernel import Array
from pbdp.parameters import positive

# A real-valued width is cut into about this many steps: rounding then costs about 0.1 % of it.
STEPS_IN_WIDTH = 512
# A coarser grid is used rather than let a sensitivity grow past this many steps, or, where so narrow a width
# would be less than a few steps, past so many; and rather than let a width do so.
MOST_STEPS = 1 << 16
FEWEST_IN_WIDTH = 8
MOST_OF_ALL = 1 << 20
# Whole numbers are not rounded up to this width: a table at a confidence of 50 % has 124 values for each, and
# all of them together are half of the largest.
MOST_WHOLE = 1 << 17
# A power of two is halved until the sensitivity in steps is this close to it, or so many make up a width.
DEAREST = 1.01
MOST_IN_WIDTH = 1 << 14
# Numbers of steps to a sensitivity that are compared: as many leave less than 2^-16 of it.
MOST_TRIED = 64
# m of a step has fewer bits than this: a sensitivity is then a whole number of steps but for 2^-12 of it,
# and 2^39 steps and more are exact in floating point.
MOST_BITS = 13
LARGEST_FACTOR = 1 << MOST_BITS
# Answers further out count as this far: with noise added, their outputs would no longer be exact doubles.
FURTHEST_STEP = 1 << 52
# As arrays: numpy would convert a number of Python's anew in every operation, which counts for one answer.
_ONE = np.array(1, dtype=np.int64)
_ZERO = np.array(0.0)
# The bits of a float without its sign are those of infinity at most, unless it is NaN.
_LARGEST, _INFINITE = np.array(2**63 - 1), np.array(0x7FF << 52)
_NOTHING, _HALF, _ALL = Fraction(0), Fraction(1, 2), Fraction(1)
# Widths and steps outside leave no room in a double for the steps around them.
SMALLEST, LARGEST = 1e-100, 1e100


class Grid(ABC):
    """From an answer to a whole number of steps, and from steps to the number that is published."""

    __slots__ = ()

    step: float

    @property
    @abstractmethod
    def around(self) -> tuple[Fraction, Fraction]:
        """How far below and above its grid point an answer may be, in steps, at most."""

    @property
    def lost(self) -> Fraction:
        """What rounding an answer to its grid point takes of a width on either side, in steps, at most."""
        return max(self.around)

    @abstractmethod
    def sensitivity_in_steps(self, sensitivity: float) -> int:
        """The most steps that one person can move the answer."""

    @abstractmethod
    def region_in_steps(self, region: Region) -> Region:
        """A region of steps inside which every published number meets the requirement."""

    @abstractmethod
    def steps_of(self, answer: Fraction) -> int:
        """The grid point of an answer; those too far out for the grid count as the last one."""

    def last_of_range(self, high: Fraction) -> int:
        """The grid point of the highest answer of a range; a cell that holds only its end is left out."""
        return self.steps_of(high)

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

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """What is needed to build it again, for JSON; part of every fingerprint (`planning.plan_file`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearGrid(Grid):
    """Outputs are multiples of `step`; `rounded` says that answers are rounded to them first.

    They are rounded to the nearest, or `down`: then the cells of a range lie flush with its ends, and a
    width of W steps holds 2W outputs, where rounding to the nearest leaves 2W - 1.
    `whole` says that whole answers are rounded to multiples of a whole number, as noise over millions of them
    needs no single ones.
    """

    step: float
    rounded: bool
    down: bool = False
    whole: bool = False
    # m and k of the step, the last grid point, the answers that are furthest out on either side, and what
    # `steps_of_floats` adds and multiplies by
    _factor: int = field(init=False, repr=False, compare=False)
    _power: int = field(init=False, repr=False, compare=False)
    _last: int = field(init=False, repr=False, compare=False)
    _ends: tuple[Array, Array] = field(init=False, repr=False, compare=False)
    _nudge: Array = field(init=False, repr=False, compare=False)
    _doubled: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positive("step", self.step)
        if not SMALLEST * 2.0**-30 <= self.step <= LARGEST:
            raise InputError(
                "step", f"{SMALLEST:g} to {LARGEST:g}", f"{self.step:g}", "Count in another unit."
            )
        factor, power = parts_of_step(self.step)
        if factor >= LARGEST_FACTOR:
            raise InputError(
                "step",
                f"a power of two, or a whole number below {LARGEST_FACTOR} times one, such as 0.25, 1 or 10",
                f"{self.step:.17g}",
                "Multiples of it are then exact in floating point.",
            )
        if self.whole and not (self.rounded and power >= 0):
            raise InputError("step", "a whole number to round whole answers to", f"{self.step:.17g}")
        object.__setattr__(self, "_factor", factor)
        object.__setattr__(self, "_power", power)
        object.__setattr__(self, "_last", FURTHEST_STEP // factor)
        furthest = self._last * self.step
        object.__setattr__(self, "_ends", (np.array(-furthest), np.array(furthest)))
        object.__setattr__(self, "_nudge", np.array(self.step * 2.0**-60))
        object.__setattr__(self, "_doubled", np.array(math.ldexp(1.0, 1 - power)))

    @property
    def around(self) -> tuple[Fraction, Fraction]:
        """Half a step either way, or a step above where answers are rounded down."""
        if self.down:
            return _NOTHING, _ALL
        return (_HALF, _HALF) if self.rounded else (_NOTHING, _NOTHING)

    def sensitivity_in_steps(self, sensitivity: float) -> int:
        """ceil(sensitivity / step): what rounding floor(x/step + 1/2) can make of it."""
        return math.ceil(Fraction(sensitivity) / Fraction(self.step))

    def region_in_steps(self, region: Region) -> Region:
        return region.on_grid(self.step, self.around)

    def steps_of(self, answer: Fraction) -> int:
        """floor(x/step + 1/2), or floor(x/step), exactly."""
        steps = math.floor(answer / Fraction(self.step) + (0 if self.down else Fraction(1, 2)))
        return min(max(steps, -self._last), self._last)

    def last_of_range(self, high: Fraction) -> int:
        return math.ceil(high / Fraction(self.step)) - 1 if self.down else self.steps_of(high)

    def steps_of_floats(self, answers: Array) -> npt.NDArray[np.int64]:
        """The same in floating point, as floor((floor(2x/step) + 1) / 2), or without that one.

        floor(2x/step) is floor(floor(2x/2^k) / m). Everything is exact but for the tiny number that is added
        first. It changes no answer of a quarter of a step or more, as it is below half a unit in their last
        place, and all that are smaller are rounded to 0 with it too; those that are rounded down stay on
        their side of 0 (where -0 is 0). With it no product is so small that a processor takes longer for it.
        """
        kept = between(answers, *self._ends)
        nudge = np.copysign(self._nudge, kept + _ZERO) if self.down else self._nudge
        return self._from_halves(np.floor((kept + nudge) * self._doubled).astype(np.int64))

    def steps_of_integers(self, answers: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        if self._power < 0:
            return self.steps_of_floats(answers.astype(np.float64))
        # floats would round answers beyond 2^53
        halves = answers >> min(self._power - 1, 64) if self._power else answers
        far = 2 * FURTHEST_STEP
        if halves.dtype == np.uint64:
            near = np.minimum(halves, np.uint64(far)).astype(np.int64)
        else:
            near = np.minimum(np.maximum(halves, -far), far)
        steps = self._from_halves(near if self._power else 2 * near)
        return np.asarray(np.minimum(np.maximum(steps, -self._last), self._last))

    def _from_halves(self, halves: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """floor((floor(halves / m) + 1) / 2), or without that one."""
        if self._factor > 1:
            halves = halves // self._factor
        return np.asarray((halves if self.down else halves + _ONE) >> _ONE)

    @property
    def whole_outputs(self) -> bool:
        return self.whole or not self.rounded

    def values_of(self, steps: npt.NDArray[np.int64]) -> Array:
        return np.asarray(steps.astype(np.float64) * self.step)

    def answers_around(self, first: int, last: int) -> tuple[float, float]:
        below, above = (float(part) * self.step for part in self.around)
        return first * self.step - below, last * self.step + above

    def nearest_step(self, output: float) -> int:
        # outputs lie further out than answers may, and need not be whole to be looked for
        return round(Fraction(output) / Fraction(self.step))

    def describe(self) -> str:
        return f"multiples of {self.step:g}" if self.rounded else "whole numbers"

    def record(self) -> dict[str, Any]:
        names = ("step", "rounded", "down", "whole")
        return {"kind": "linear"} | {name: getattr(self, name) for name in names}


def between(answers: Array, lowest: Array, highest: Array) -> Array:
    """Answers moved into a range around 0, and NaN to 0.

    NaN is found by its bits: with it, operations on floats take longer (fmax by 130 ns).
    """
    bits = answers.view(np.int64)
    numbers = (bits * ((bits & _LARGEST) <= _INFINITE)).view(np.float64)
    return np.asarray(np.minimum(np.maximum(numbers, lowest), highest))


def whole_numbers() -> LinearGrid:
    """Whole-number answers, used as they are."""
    return LinearGrid(step=1.0, rounded=False)


def grid_of_step(step: float, integer: bool) -> LinearGrid:
    """Multiples of a step that is given, to which answers are rounded; a step of 1 leaves whole ones."""
    return whole_numbers() if integer and step == 1 else LinearGrid(step=step, rounded=True, whole=integer)


def whole_grid_for(width: float, sensitivity: float) -> LinearGrid:
    """A grid for whole answers: all of them, or multiples of a whole number where that does as well.

    Noise over millions of values would take minutes; on these a width is as many steps as for real answers.
    """
    if width <= MOST_WHOLE and sensitivity <= MOST_OF_ALL:
        return whole_numbers()
    return multiples_for(width, sensitivity)


def multiples_for(width: float, sensitivity: float) -> LinearGrid:
    """Multiples of a whole number that is fine against the width."""
    step = grid_for(width, sensitivity).step
    # below this the last bits of a step may be fractions; a whole number as small is one with few bits
    return grid_of_step(step if step >= LARGEST_FACTOR else float(math.ceil(step)), integer=True)


def coarse_whole_grid_for(width: float, sensitivity: float) -> LinearGrid:
    """Multiples of the largest whole number that divides the sensitivity and is fine against the width."""
    steps = math.floor(sensitivity)
    most = min(math.floor(width / (2 * STEPS_IN_WIDTH)), steps, LARGEST_FACTOR - 1)
    return grid_of_step(float(next((m for m in range(most, 1, -1) if steps % m == 0), 1)), integer=True)


def grid_for(width: float, sensitivity: float, steps_in_width: int = STEPS_IN_WIDTH) -> LinearGrid:
    """A grid for real answers: so many steps to the width, with a whole number of steps to the sensitivity.

    Rounded answers of neighbors differ by ceil(sensitivity / step) steps, so a step just above a whole part
    of the sensitivity costs least. Where the width is many sensitivities one step to each is fine enough;
    beyond a million of them steps are larger than the sensitivity, as epsilon is next to nothing anyway.
    """
    if not SMALLEST <= width <= LARGEST:
        raise InputError(
            "within", f"a width of {SMALLEST:g} to {LARGEST:g}", f"{width:g}", "Count in another unit."
        )
    narrow = min(FEWEST_IN_WIDTH * sensitivity / width, MOST_OF_ALL)
    steps = math.ceil(min(steps_in_width * sensitivity / width, max(MOST_STEPS, narrow)))
    numbers = np.arange(steps, min(steps + min(steps, MOST_TRIED), MOST_OF_ALL + 1))
    # one of few bits is a little too long, and leaves room for large answers
    tried = np.concatenate([_of_bits(sensitivity / numbers, bits) for bits in range(1, MOST_BITS + 1)])
    changed = np.ceil(sensitivity / tried)
    # Laplace noise has an epsilon of the steps in the sensitivity over those in the width and one half
    lost = tried * (changed / sensitivity - (np.floor(width / tried - 0.5) + 0.5) / width)
    enough = np.flatnonzero((lost <= 0.5 / steps_in_width) & (changed >= steps))
    step = float(tried[enough[0] if len(enough) else np.argmin(lost)])
    return LinearGrid(step=max(step, power_of_two_below(width / MOST_OF_ALL)), rounded=True)


def _of_bits(steps: Array, bits: int) -> Array:
    """Steps rounded up to so many bits."""
    mantissa, power = np.frexp(steps)
    return np.asarray(np.ldexp(np.ceil(np.ldexp(mantissa, bits)), power - bits))


def binary_grid_for(width: float, sensitivity: float) -> LinearGrid:
    """The same with a power of two, on which the ends of ranges lie too; finer where that costs much."""
    step = power_of_two_below(grid_for(width, sensitivity).step)
    coarse = min(width * MOST_STEPS / sensitivity, width) / MOST_IN_WIDTH
    while math.ceil(sensitivity / step) * step > DEAREST * sensitivity and step > coarse:
        step /= 2
    return LinearGrid(step=step, rounded=True)


def step_of_at_least(sensitivity: float, steps: int) -> float:
    """The smallest step of which `steps` make up the sensitivity."""
    exact = Fraction(sensitivity) / steps
    power = math.frexp(float(exact))[1] - MOST_BITS
    return math.ldexp(math.ceil(exact / Fraction(2) ** power), power)


def parts_of_step(step: float) -> tuple[int, int]:
    """m and k of a step m·2^k, m odd."""
    numerator, denominator = step.as_integer_ratio()
    zeros = (numerator & -numerator).bit_length() - 1
    return numerator >> zeros, zeros - denominator.bit_length() + 1


def power_of_two_below(x: float) -> float:
    """The largest power of two that is at most x."""
    return 2.0 ** math.floor(math.log2(x))
