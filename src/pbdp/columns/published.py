"""Columns of published numbers, and of what is kept beside them, as CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np

from pbdp.columns.files import pyarrow_modules
from pbdp.digits import plain, plain_column
from pbdp.errors import InputError

# Whole numbers beyond stay doubles, as int64 cannot hold them.
LARGEST_WHOLE = 2.0**62

# Names to columns: numpy arrays of published numbers, and columns that were made ready.
Table = dict[str, Any]


def ready_columns(kept: Table, written: str) -> Table:
    """Kept columns as the format has them. Done before anything is drawn, as it is what may fail."""
    made = {}
    for name, column in kept.items():
        try:
            made[name] = READY[written](column)
        except (ValueError, TypeError, ArithmeticError):
            raise InputError(
                "--keep", f"a column that {written} can hold", f"{name!r} (of mixed or other types)"
            ) from None
    return made


def table_bytes(table: Table, written: str) -> bytes:
    """The table in a format."""
    return WRITERS[written](table)


def _csv(table: Table) -> bytes:
    """A row of names, then the rows; an interval without an end has `inf` there."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    columns = [_texts(column) if isinstance(column, np.ndarray) else column for column in table.values()]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()


def _json(table: Table) -> bytes:
    """An array with an object a row; an interval without an end has null there."""
    columns = [json_values(column) if isinstance(column, np.ndarray) else column for column in table.values()]
    rows = [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]
    return (json.dumps(rows, allow_nan=False) + "\n").encode()


def _parquet(table: Table) -> bytes:
    """Whole numbers as int64, others as doubles; kept columns with the types that they have."""
    pa, pq = pyarrow_modules()
    sink = io.BytesIO()
    pq.write_table(pa.table(table), sink)
    return sink.getvalue()


def typed_numbers(numbers: Any, whole: bool) -> Any:
    """An array with whole numbers as such, where they are whole and fit."""
    fits = whole and bool(np.all(np.abs(numbers) <= LARGEST_WHOLE))
    return numbers.astype(np.int64) if fits else numbers


def json_values(column: Any) -> list[Any]:
    """A column as values that JSON has."""
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else _values(column)
    if isinstance(column, np.ndarray) and np.all(np.isfinite(column)):
        return values
    return [json_value(value) for value in values]


def json_value(value: object) -> object:
    """A value as JSON has it: no number for what is none, texts for dates and the like."""
    match value:
        case Decimal():
            return float(value)
        case float() if not math.isfinite(value):
            return None
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def _texts(column: Any) -> list[str]:
    if not isinstance(column, np.ndarray):
        return [_text(value) for value in _values(column)]
    if column.size > 1 and np.all(column == column[0]):
        return _texts(column[:1]) * len(column)
    return plain_column(column.tolist()) if column.dtype.kind == "f" else list(map(str, column.tolist()))


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return plain(value)
    return str(value)


def _arrow(column: Any) -> Any:
    pa, _ = pyarrow_modules()
    return pa.array(column) if isinstance(column, list) else column


def _values(column: Any) -> list[Any]:
    """What a kept column holds: a list, or a column of a Parquet file."""
    return column if isinstance(column, list) else column.to_pylist()


READY = {"csv": _texts, "json": json_values, "parquet": _arrow}
WRITERS = {"csv": _csv, "json": _json, "parquet": _parquet}
