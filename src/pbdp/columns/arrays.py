"""Columns as they are given in Python: as one numpy array, and results back in the form of what was given."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError

SEVERAL = "a list, a numpy array, or a pandas, polars or Arrow column"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Column:
    """An array of what was given, and what gives an array of the same length back in that form.

    Numbers without gaps have their own type. Everything else is an array of Python's objects, with exact
    numbers as they are, and None, NaN or pandas' NA where nothing is.
    """

    array: npt.NDArray[Any]
    back: Callable[[npt.NDArray[Any]], Any]


def read_column(name: str, given: object, single: str, *, filled: bool = False) -> Column:
    """The column that was given; `single` is what may stand in its place, for the refusal of others.

    With `filled`, columns of numbers have 0 where nothing is, so that their form does not tell of gaps.
    """
    if isinstance(given, list | tuple):
        kind = type(given)
        return Column(array=objects(list(given)), back=lambda out: kind(out.tolist()))
    if isinstance(given, np.ma.MaskedArray) and filled:
        given = given.filled(0)
    if isinstance(given, np.ndarray):
        return Column(array=given.ravel(), back=lambda out: out.reshape(given.shape))
    for package, read in _PACKAGES.items():
        if comes_from(given, package):
            if (column := read(given, filled)) is not None:
                return column
            raise InputError(
                name, f"{single}, {SEVERAL}", f"a {package} {type(given).__name__}", "Choose one column."
            )
    word = type(given).__name__
    got = "None" if given is None else f"a{'n'[: word[0] in 'aeio']} {word}"
    remedy = "Turn text into a number first: int(...) or float(...)." if isinstance(given, str) else ""
    raise InputError(name, f"{single}, {SEVERAL}", got, remedy)


def comes_from(data: object, package: str) -> bool:
    """Whether the object's class, or one it is made from, is of this package; the package is not imported."""
    return any(kind.__module__.partition(".")[0] == package for kind in type(data).__mro__)


def objects(values: list[Any]) -> npt.NDArray[Any]:
    """An array of these objects; numpy itself would look into lists and make numbers of others."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def nearest_float(value: Any) -> float:
    """The nearest float to a number of any type; infinite for what is larger than all, NaN where nothing is.

    What is no number by its type raises a TypeError; no number does, whatever its value is.
    """
    if isinstance(value, str | bytes | bytearray):
        raise TypeError(type(value).__name__)
    if value is None or type(value).__name__ == "NAType" or (isinstance(value, Decimal) and value.is_nan()):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _from_pandas(given: Any, filled: bool) -> Column | None:
    import pandas as pd

    if not isinstance(given, pd.Series):
        return None
    kind: Any = given.dtype
    nullable = hasattr(kind, "numpy_dtype")
    held = kind.numpy_dtype if nullable else kind
    column = given
    if filled and nullable and pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
        column = given.fillna(0)
    numbers = isinstance(held, np.dtype) and held.kind in "iuf" and not (nullable and column.hasnans)
    array = column.to_numpy(dtype=held) if numbers else np.asarray(column, dtype=object)

    def back(out: npt.NDArray[Any]) -> Any:
        dtype = None
        if nullable and out.dtype.kind in "iuf":
            # as wide as the array: results may not fit into the type of what was given
            arrow = isinstance(kind, pd.ArrowDtype)
            dtype = pd.ArrowDtype(_arrow_type(out)) if arrow else pd.array(out[:0]).dtype
        return pd.Series(out, index=given.index, name=given.name, dtype=dtype)

    return Column(array=array, back=back)


def _arrow_type(array: npt.NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.from_numpy_dtype(array.dtype)


def _from_polars(given: Any, filled: bool) -> Column | None:
    import polars as pl

    if not isinstance(given, pl.Series):
        return None
    kind = given.dtype
    column = given.fill_null(0) if filled and kind.is_numeric() else given
    # numpy has no whole numbers of 128 bits
    numbers = (kind.is_integer() and "128" not in str(kind)) or kind.is_float()
    return Column(
        array=column.to_numpy() if numbers and not column.null_count() else objects(column.to_list()),
        back=lambda out: _fitting(lambda values: pl.Series(given.name, values), out),
    )


def _from_arrow(given: Any, filled: bool) -> Column | None:
    import pyarrow as pa

    if not isinstance(given, pa.Array | pa.ChunkedArray):
        return None
    chunked = isinstance(given, pa.ChunkedArray)
    column = given.combine_chunks() if chunked else given
    if filled and any(
        check(column.type) for check in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    ):
        column = column.fill_null(0)
    return Column(
        array=arrow_array(column),
        back=lambda out: _fitting(
            lambda values: pa.chunked_array([pa.array(values)]) if chunked else pa.array(values), out
        ),
    )


def _fitting(made: Callable[[Any], Any], out: npt.NDArray[Any]) -> Any:
    """A column of the results; of floats where no type of the column holds all their digits."""
    if out.dtype != object:
        return made(out)
    values = out.tolist()
    try:
        return made(values)
    except (ArithmeticError, RuntimeError, TypeError, ValueError):
        if not all(isinstance(value, int | float | Decimal | Fraction) for value in values):
            raise
    return made([float(value) for value in values])


def arrow_array(column: Any) -> npt.NDArray[Any]:
    """An Arrow array as what a `Column` holds."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        # None stands behind the last entry, where the index of a null leads
        entries = objects([*arrow_array(column.dictionary).tolist(), None])
        places = column.indices.cast(pa.int64()).fill_null(len(entries) - 1)
        return np.asarray(entries[places.to_numpy(zero_copy_only=False)])
    if (pa.types.is_integer(kind) or pa.types.is_floating(kind)) and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return objects(column.to_pylist())


_PACKAGES: dict[str, Callable[[Any, bool], Column | None]] = {
    "pandas": _from_pandas,
    "polars": _from_polars,
    "pyarrow": _from_arrow,
}
