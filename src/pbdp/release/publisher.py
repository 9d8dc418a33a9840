"""The two ends of a release: from true answers to grid points, and from outputs to numbers in their form.

**What an answer may be.** Any number. A refusal that depends on the answer would tell something of it for
nothing, so every number is mapped to a grid point, by these steps, which are public:

1. NaN, and an entry of a column where nothing is, counts as 0;
2. an answer that the plan does not cover, infinite ones included, counts as the nearest one that it does:
   inside its range, 0 where answers are 0 or more, the answers that a function was given for, and at most
   2^52 steps from 0 (on a logarithmic grid 1e300, or 1e300 times tau/theta if that is less);
3. it is rounded to the nearest grid point, halves up; or down, to the cell of a range that it lies in, where
   the range and the width are whole numbers of steps.

**Why it costs nothing.** Step 2 is a projection onto an interval: no two numbers are further apart after it.
Step 3 makes of a distance c at most ceil(c/step) steps, whole numbers being steps of 1, which is what
`Grid.sensitivity_in_steps` accounts for; on a logarithmic grid c is the distance of the logarithms, which
are taken of the answer itself, never of a rounded one. Both orders of the two steps give the same, because
rounding is monotone. A vector is mapped number by number: for changes in the maximum norm that is the same;
for changes in the sum, plans for real numbers account for what rounding adds in every coordinate, and plans
for whole numbers, which do not, take whole numbers only, by their type (see `Releaser.prepared`).

What one person changes is the answer after step 1: where it may be NaN, the sensitivity is to hold with 0 in
its place. The accuracy is that of the answer as it was mapped; on a plan for whole numbers, of whole ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.columns.arrays import nearest_float, objects, read_column
from pbdp.errors import InputError
from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array, Index

Number = int | float | Fraction | Decimal
# The types of numbers. Python counts truth values among whole numbers; here they are none.
SCALARS = (int, float, Fraction, Decimal, np.integer, np.floating)
# The types of whole numbers, and of floats that float64 holds exactly.
WHOLE = (int, np.integer)
FLOATS = (float, np.float16, np.float32)
# A float and the exact number it came from are this close, relative, with room to spare.
FLOAT_ERROR = 2.0**-50
# Whole numbers that are published further out (log scale, far tails) end here, where int64 still holds them.
_LARGEST_WHOLE = 2.0**62

# Larger than every answer that a grid tells from its neighbors.
_HUGE_EXPONENT = 400
_HUGE = Fraction(10) ** _HUGE_EXPONENT
# Ends of ranges in steps are no further out, so that noise can be added to them.
_LARGEST_STEP = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Rounding and clamping of a design, as its certificate takes them into account."""

    requirement: Requirement
    design: AnyDesign
    # what outputs are clamped to; the first and last grid point that answers may have, if any
    _limits: tuple[float, float] = field(init=False, repr=False)
    _covered: tuple[Index, Index] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        first, last = self.requirement.answers_on(self.grid)
        object.__setattr__(self, "_limits", self.requirement.output_limits(self.grid))
        covered = None
        if math.isfinite(first) or math.isfinite(last):
            ends = (max(first, -_LARGEST_STEP), min(last, _LARGEST_STEP))
            covered = tuple(np.array(int(end), dtype=np.int64) for end in ends)
        object.__setattr__(self, "_covered", covered)

    @property
    def grid(self) -> Grid:
        """The grid that answers are rounded to."""
        return self.design.grid

    @property
    def is_unclamped(self) -> bool:
        """Whether every grid point is published as it is."""
        clamped = self.design.clamp or self.requirement.bounds is not None
        return self.design.decoder is None and not clamped

    def exact_steps(self, answer: Number) -> int:
        """The grid point of one number at its exact value; what is no number by its type is refused."""
        if not is_number(type(answer)):
            raise no_number(type(answer))
        return int(self._moved(np.array([self.grid.steps_of(_exact(answer))], dtype=np.int64))[0])

    def steps_of(self, answers: npt.NDArray[Any]) -> Index:
        """The grid points of an array of float64, int64 or uint64, in the same time whatever is in it."""
        if answers.dtype.kind == "f":
            return self._moved(self.grid.steps_of_floats(answers))
        return self._moved(self.grid.steps_of_integers(answers))

    def _moved(self, steps: Index) -> Index:
        """Moved into the answers that the plan is for."""
        if self._covered is None:
            return steps
        first, last = self._covered
        return np.asarray(np.minimum(np.maximum(steps, first), last))

    def check_hypothetical(self, answer: Number) -> None:
        """Refuse an answer that is only looked at if a release would move it, but for clamping into a range.

        Nothing is promised for such an answer. A true one is never to be checked so: it would tell of it.
        """
        if isinstance(answer, float) and not math.isfinite(answer):
            raise InputError("answer", "finite to be looked at", f"{answer}")
        steps, exact, region = self.exact_steps(answer), _exact(answer), self.requirement.region
        if self.requirement.integer and exact.denominator != 1:
            raise InputError("answer", "a whole number for this plan", "another")
        if self.requirement.bounds is not None or region.stands_still:
            return
        first, last = self.grid.answers_around(steps, steps)
        low, high = region.answers
        if not max(low, first) <= exact <= min(high, last):
            rule = f"one that the plan takes as it is ({region.describe()}, on {self.grid.describe()})"
            raise InputError("answer", rule, "another")

    def values_of(self, outputs: Index) -> Array | Index:
        """The numbers published for output steps (noise and offset included); as integers on that grid.

        With a decoder these are noisy numbers, in parts.
        """
        if self.design.decoder is not None:
            outputs = self.design.decoder.output_of(outputs)
        if self.design.clamp:
            first, last = (int(end) for end in self.design.region.answers)
            outputs = np.minimum(np.maximum(outputs, first), last)
        low, high = self._limits
        unbounded = self.requirement.bounds is None
        grid = self.design.grid
        if isinstance(grid, LinearGrid) and not grid.rounded:
            return outputs if unbounded else np.minimum(np.maximum(outputs, int(low)), int(high))
        values = grid.values_of(outputs)
        return values if unbounded else _clipped(values, low, high)


def _clipped(values: Array, low: float, high: float) -> Array:
    """np.clip in a third of its time, which counts for a single release."""
    return np.minimum(np.maximum(values, low), high)


def _exact(answer: Any) -> Fraction:
    """A number at its exact value; 0 for NaN, and a huge number for those so large that it is the same."""
    match answer:
        case Decimal():
            if answer.is_nan() or not answer or answer.adjusted() < -_HUGE_EXPONENT:
                # no grid tells it from 0, and its fraction might not fit into memory
                return Fraction(0)
            if answer.is_infinite() or answer.adjusted() > _HUGE_EXPONENT:
                return -_HUGE if answer.is_signed() else _HUGE
        case float() | np.floating():
            if not np.isfinite(answer):
                return Fraction(0) if np.isnan(answer) else _HUGE if answer > 0 else -_HUGE
            return Fraction(*answer.as_integer_ratio())
        case np.integer():
            return Fraction(int(answer))
    return Fraction(answer)


def is_number(kind: type) -> bool:
    """Whether this is a type of numbers; truth values are none."""
    return issubclass(kind, SCALARS) and not issubclass(kind, bool)


def no_number(kind: type) -> InputError:
    """The refusal of what has another type than numbers have."""
    return InputError("answer", "a number", f"a {kind.__name__}")


# ---------------------------------------------------------------------- columns, and the way back


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Answers whose types were checked; their values are looked at when they are drawn for.

    `steps` gives their grid points, `restored` published numbers in the form of the answers; `whole` says
    that all are whole by their types.
    """

    count: int
    whole: bool
    steps: Callable[[], Index]
    restored: Callable[[Array | Index], Any]


def read_answers(answers: object, publisher: Publisher) -> Answers:
    """The answers to be mapped to the grid; what has another type than numbers have is refused."""
    column = read_column("answer", answers, "a number", filled=True)
    array, whole_outputs = column.array, publisher.grid.whole_outputs
    if array.dtype == object:
        entries = _filled(array.tolist())
        kinds = list(map(type, entries))
        for kind in dict.fromkeys(kinds):
            if not is_number(kind):
                raise no_number(kind)
        return Answers(
            count=len(entries),
            whole=all(issubclass(kind, WHOLE) for kind in set(kinds)),
            steps=lambda: _steps(entries, publisher),
            restored=lambda out: column.back(
                objects(
                    [restorer(kind, whole_outputs)(y) for kind, y in zip(kinds, out.tolist(), strict=True)]
                )
            ),
        )
    whole = array.dtype.kind in "iu"
    if not whole and array.dtype not in FLOATS:
        raise InputError("answer", "numbers", f"an array of {array.dtype}")

    def restored(out: Array | Index) -> Any:
        # the ends of intervals may be infinite
        ended = whole and whole_outputs and (out.dtype == np.int64 or bool(np.all(np.isfinite(out))))
        return column.back(_as_int64(out) if ended else out.astype(np.float64, copy=False))

    return Answers(
        count=len(array),
        whole=whole,
        steps=lambda: publisher.steps_of(machine_words(array)),
        restored=restored,
    )


def machine_words(answers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array of whole numbers or floats as int64, uint64 or float64; none of them changes."""
    if answers.dtype == np.uint64:
        return answers
    return answers.astype(np.int64 if answers.dtype.kind in "iu" else np.float64, copy=False)


def read_published(published: object) -> Array:
    """Published numbers as floats, in which every output of a plan is exact; not yet held against a plan."""
    column = read_column("published number", published, "a number").array
    if column.dtype == object and all(map(is_number, map(type, column))):
        return np.array([nearest_float(number) for number in column])
    if column.dtype.kind not in "iuf":
        raise InputError("published number", "a finite number", "something else")
    return column.astype(np.float64)


@lru_cache(maxsize=64)
def restorer(kind: type, whole: bool) -> Callable[[float], Any]:
    """What gives a published number back in the type of its answer.

    Whole numbers come back whole where the plan publishes such, else as floats; exact types stay exact. Only
    an interval without an end has none of these, and its end is a float.
    """
    if issubclass(kind, np.floating):
        return np.float64
    if issubclass(kind, np.integer):
        return _as_numpy if whole else np.float64
    if issubclass(kind, Fraction):
        return lambda y: Fraction(y) if math.isfinite(y) else y
    if issubclass(kind, Decimal):
        return Decimal
    if issubclass(kind, int) and whole:
        return lambda y: int(y) if math.isfinite(y) else y
    return float


def _as_numpy(y: float) -> Any:
    return np.int64(min(max(y, -_LARGEST_WHOLE), _LARGEST_WHOLE)) if math.isfinite(y) else np.float64(y)


def _filled(entries: list[Any]) -> list[Any]:
    """The entries with 0 where nothing is (None, or pandas' NA), of the type of the first that is there."""
    missing = [entry is None or type(entry).__name__ == "NAType" for entry in entries]
    if not any(missing):
        return entries
    kind = next((type(entry) for entry, gap in zip(entries, missing, strict=True) if not gap), int)
    nothing = kind(0) if issubclass(kind, SCALARS) else 0
    return [nothing if gap else entry for entry, gap in zip(entries, missing, strict=True)]


def _steps(answers: list[Any], publisher: Publisher) -> Index:
    """Grid points; exact numbers too near a rounding boundary for floats to tell are looked at one by one."""
    kinds = set(map(type, answers))
    if all(issubclass(kind, WHOLE) for kind in kinds):
        try:
            return publisher.steps_of(np.array(answers, dtype=np.int64))
        except OverflowError:
            return np.array([publisher.exact_steps(answer) for answer in answers], dtype=np.int64)
    values = np.array([nearest_float(answer) for answer in answers])
    if all(issubclass(kind, FLOATS) for kind in kinds):
        return publisher.steps_of(values)
    with np.errstate(all="ignore"):
        spread = np.where(np.isfinite(values), np.abs(values) * FLOAT_ERROR, 0.0)
    lower, upper = publisher.steps_of(values - spread), publisher.steps_of(values + spread)
    for place in np.flatnonzero(lower != upper):
        lower[place] = publisher.exact_steps(answers[place])
    return lower


def _as_int64(values: Array | Index) -> Index:
    """Published whole numbers; those that int64 cannot hold are moved to its ends."""
    if values.dtype == np.int64:
        return values.astype(np.int64, copy=False)
    return np.clip(values, -_LARGEST_WHOLE, _LARGEST_WHOLE).astype(np.int64)
