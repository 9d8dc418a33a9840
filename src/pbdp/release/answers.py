"""Answers as they come (numbers, lists, numpy arrays, pandas or polars columns), and results likewise."""

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

from pbdp.errors import InputError
from pbdp.mechanism.grid import not_whole
from pbdp.noise.kernel import Array
from pbdp.release.publisher import Index, Publisher, not_a_number

# A float and the exact number it came from are this close, relative, with room to spare.
FLOAT_ERROR = 2.0**-50

FORMS = "a number, a list, a numpy array, or a pandas or polars column"


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
    whole = publisher.grid.whole_outputs
    if isinstance(answers, list | tuple):
        values, exact = _array_of(list(answers))
        steps = _steps(values, publisher, exact)
        kind = type(answers)
        typed = _restorers(answers, whole)
        return Answers(
            steps=steps,
            restored=lambda out: kind(put(y) for put, y in zip(typed, out.tolist(), strict=True)),
        )
    module = type(answers).__module__.partition(".")[0]
    if isinstance(answers, np.ndarray):
        return _from_numpy(answers, publisher)
    if module == "pandas":
        return _from_pandas(answers, publisher)
    if module == "polars":
        return _from_polars(answers, publisher)
    raise InputError("answer", FORMS, f"a {type(answers).__name__}")


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


def _restorers(answers: list[object] | tuple[object, ...], whole: bool) -> list[Callable[[float], Any]]:
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


def _from_numpy(answers: npt.NDArray[Any], publisher: Publisher) -> Answers:
    if answers.dtype == object:
        values, exact = _array_of(answers.ravel().tolist())
        typed = _restorers(answers.ravel().tolist(), publisher.grid.whole_outputs)
        shape = answers.shape

        def objects(out: Array | Index) -> npt.NDArray[Any]:
            made = np.empty(len(out), dtype=object)
            made[:] = [put(y) for put, y in zip(typed, out.tolist(), strict=True)]
            return made.reshape(shape)

        return Answers(steps=_steps(values, publisher, exact), restored=objects)
    whole = np.issubdtype(answers.dtype, np.integer) and publisher.grid.whole_outputs

    def shaped(out: Array | Index) -> npt.NDArray[Any]:
        ended = whole and (out.dtype == np.int64 or bool(np.all(np.isfinite(out))))
        return (_as_int64(out) if ended else out.astype(np.float64, copy=False)).reshape(answers.shape)

    return Answers(steps=publisher.steps_of(_numbers(answers).ravel()), restored=shaped)


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


def _from_pandas(answers: Any, publisher: Publisher) -> Answers:
    import pandas as pd

    if not isinstance(answers, pd.Series):
        raise InputError("answer", FORMS, f"a pandas {type(answers).__name__}", "Choose one column.")
    if answers.hasnans:
        raise not_a_number()
    kind: Any = answers.dtype
    numeric = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
    values = answers.to_numpy(dtype=kind.numpy_dtype if hasattr(kind, "numpy_dtype") else None)
    read = _from_numpy(values if numeric else values.astype(object), publisher)

    def column(out: Array | Index) -> Any:
        made = read.restored(out)
        nullable = isinstance(kind, pd.api.extensions.ExtensionDtype) and numeric
        wide = ("Int64" if made.dtype == np.int64 else "Float64") if nullable else None
        return pd.Series(made, index=answers.index, name=answers.name, dtype=wide)

    return Answers(steps=read.steps, restored=column)


def _from_polars(answers: Any, publisher: Publisher) -> Answers:
    import polars as pl

    if not isinstance(answers, pl.Series):
        raise InputError("answer", FORMS, f"a polars {type(answers).__name__}", "Choose one column.")
    if answers.null_count():
        raise not_a_number()
    if not answers.dtype.is_numeric():
        raise InputError("answer", "numbers", f"a column of {answers.dtype}")
    if not answers.dtype.is_decimal():
        read = _from_numpy(answers.to_numpy(), publisher)
        return Answers(steps=read.steps, restored=lambda out: pl.Series(answers.name, read.restored(out)))
    exact = read_answers(answers.to_list(), publisher)
    return Answers(steps=exact.steps, restored=lambda out: pl.Series(answers.name, exact.restored(out)))
