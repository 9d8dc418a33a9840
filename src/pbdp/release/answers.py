"""Answers on the grid of a plan, exactly; and published numbers back in the types of the answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.columns.given import objects, read_column
from pbdp.errors import InputError
from pbdp.mechanism.grid import not_whole
from pbdp.noise.kernel import Array, Index
from pbdp.release.publisher import Publisher, not_a_number

# A float and the exact number it came from are this close, relative, with room to spare.
FLOAT_ERROR = 2.0**-50


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Grid points of the answers, and how to give results back: `restored` takes the published numbers."""

    steps: Index
    restored: Callable[[Array | Index], Any]

    @property
    def count(self) -> int:
        """How many answers there are."""
        return len(self.steps)


def read_answers(answers: object, publisher: Publisher) -> Answers:
    """The answers on the grid; refused if any is missing, infinite or no number."""
    column = read_column("answer", answers, "a number")
    whole = publisher.grid.whole_outputs
    if column.array.dtype == object:
        entries = column.array.tolist()
        values, exact = _array_of(entries)
        typed = _restorers(entries, whole)
        return Answers(
            steps=_steps(values, publisher, exact),
            restored=lambda out: column.back(
                objects([put(y) for put, y in zip(typed, out.tolist(), strict=True)])
            ),
        )
    whole = whole and np.issubdtype(column.array.dtype, np.integer)

    def restored(out: Array | Index) -> Any:
        ended = whole and (out.dtype == np.int64 or bool(np.all(np.isfinite(out))))
        return column.back(_as_int64(out) if ended else out.astype(np.float64, copy=False))

    return Answers(steps=publisher.steps_of(_numbers(column.array)), restored=restored)


def read_published(published: object) -> Array:
    """Published numbers as floats, in which every output of a plan is exact; not yet held against a plan."""
    column = read_column("published number", published, "a number").array
    try:
        numbers = _array_of(column.tolist())[0] if column.dtype == object else _numbers(column)
    except InputError:
        raise InputError("published number", "a finite number", "something else") from None
    return numbers.astype(np.float64)


def restorer(answer: object, whole: bool) -> Callable[[float], Any]:
    """What gives a published number back in the type of its answer.

    Whole numbers come back whole where the plan publishes such, else as floats; exact types stay exact. Only
    an interval without an end has none of these, and its end is a float.
    """
    match answer:
        case np.floating():
            return np.float64
        case np.integer():
            return (
                (lambda y: np.int64(int(y)) if math.isfinite(y) else np.float64(y)) if whole else np.float64
            )
        case Fraction():
            return lambda y: Fraction(y) if math.isfinite(y) else y
        case Decimal():
            return Decimal
        case Integral():
            return (lambda y: int(y) if math.isfinite(y) else y) if whole else float
        case Real():
            return float
    raise not_a_number()


def _restorers(answers: list[Any], whole: bool) -> list[Callable[[float], Any]]:
    """One for each answer; most lists hold one type, which is looked at once."""
    kinds = {type(answer): answer for answer in answers}
    known = {kind: restorer(answer, whole) for kind, answer in kinds.items()}
    return [known[type(answer)] for answer in answers]


def _array_of(answers: list[Any]) -> tuple[npt.NDArray[Any], list[Any] | None]:
    """Numbers as int64 or float64, and the exact ones themselves if floats cannot hold them."""
    kinds = {type(answer) for answer in answers}
    if bool in kinds or not all(issubclass(kind, Real | Decimal) for kind in kinds):
        raise not_a_number()
    try:
        if kinds and all(issubclass(kind, Integral) for kind in kinds):
            return np.array(answers, dtype=np.int64), None
        floats = np.array([float(answer) for answer in answers])
    except OverflowError:
        raise _too_large() from None
    return floats, None if all(issubclass(kind, float) for kind in kinds) else answers


def _steps(values: npt.NDArray[Any], publisher: Publisher, exact: list[Any] | None) -> Index:
    """Grid points; exact numbers too near a rounding boundary for floats to tell are looked at one by one."""
    if exact is None:
        return publisher.steps_of(values)
    if not np.all(np.isfinite(values)):
        raise not_a_number()
    if publisher.grid.whole_outputs:
        wholes = [int(answer) for answer in exact]
        if wholes != exact:
            raise not_whole()
        try:
            return publisher.steps_of(np.array(wholes, dtype=np.int64))
        except OverflowError:
            raise _too_large() from None
    spread = np.abs(values) * FLOAT_ERROR
    lower, upper = publisher.steps_of(values - spread), publisher.steps_of(values + spread)
    for place in np.flatnonzero(lower != upper):
        lower[place] = publisher.exact_steps(exact[place])
    return lower


def _too_large() -> InputError:
    return InputError("answer", "below 2^63 in size", "a larger one")


def _numbers(answers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array as int64 or float64; narrower types are widened, as noise may not fit into them."""
    if np.issubdtype(answers.dtype, np.integer):
        if answers.dtype == np.uint64 and answers.size and int(answers.max()) > np.iinfo(np.int64).max:
            raise _too_large()
        return answers.astype(np.int64, copy=False)
    if answers.dtype in (np.float16, np.float32, np.float64):
        return answers.astype(np.float64, copy=False)
    raise InputError("answer", "numbers", f"an array of {answers.dtype}")


def _as_int64(values: Array | Index) -> Index:
    """Published whole numbers; those that int64 cannot hold (log scale, far tails) are moved to its ends."""
    if values.dtype == np.int64:
        return values.astype(np.int64, copy=False)
    return np.clip(values, -(2.0**62), 2.0**62).astype(np.int64)
