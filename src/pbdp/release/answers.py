"""Answers to be mapped to the grid of a plan, exactly; and published numbers in the types of the answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.columns.given import objects, read_column
from pbdp.errors import InputError
from pbdp.noise.kernel import Array, Index
from pbdp.release.publisher import SCALARS, Publisher, is_number, no_number

# The types of whole numbers, and of floats that float64 holds exactly.
WHOLE = (int, np.integer)
FLOATS = (float, np.float16, np.float32)
# A float and the exact number it came from are this close, relative, with room to spare.
FLOAT_ERROR = 2.0**-50
# Whole numbers that are published further out (log scale, far tails) end here, where int64 still holds them.
_LARGEST_WHOLE = 2.0**62


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
        return np.array([_float(number) for number in column])
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
    values = np.array([_float(answer) for answer in answers])
    if all(issubclass(kind, FLOATS) for kind in kinds):
        return publisher.steps_of(values)
    with np.errstate(all="ignore"):
        spread = np.where(np.isfinite(values), np.abs(values) * FLOAT_ERROR, 0.0)
    lower, upper = publisher.steps_of(values - spread), publisher.steps_of(values + spread)
    for place in np.flatnonzero(lower != upper):
        lower[place] = publisher.exact_steps(answers[place])
    return lower


def _float(answer: Any) -> float:
    """The nearest float; infinite for what is larger than all of them."""
    if isinstance(answer, Decimal) and answer.is_nan():
        return math.nan
    try:
        return float(answer)
    except OverflowError:
        return math.inf if answer > 0 else -math.inf


def _as_int64(values: Array | Index) -> Index:
    """Published whole numbers; those that int64 cannot hold are moved to its ends."""
    if values.dtype == np.int64:
        return values.astype(np.int64, copy=False)
    return np.clip(values, -_LARGEST_WHOLE, _LARGEST_WHOLE).astype(np.int64)
