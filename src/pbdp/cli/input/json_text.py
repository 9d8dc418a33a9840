"""JSON: an array of numbers, or an array of objects of which one name is chosen."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, BinaryIO

import numpy as np

from pbdp.cli.input.column import MISSING, NO_NUMBER, PrivateColumn, row_place, unusable
from pbdp.errors import InputError

SINGLE = {str, int, Decimal, bool, type(None)}


def read_json(file: BinaryIO, column: str | None, keep: list[str]) -> PrivateColumn:
    """The numbers as they are written, whole or as exact decimals."""
    rows = _array(file)
    if column is None:
        if any(isinstance(row, dict) for row in rows[:1]):
            raise InputError("--column", "given for an array of objects", "nothing")
        return PrivateColumn(answers=_numbers(rows), place=row_place)
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(f"row {index + 1:,}", "an object, as --column is given", "something else")
    if rows and not any(column in row for row in rows):
        raise InputError("--column", "a name in the objects", f"{column!r} (no such name)")
    return PrivateColumn(
        answers=_numbers([row.get(column) for row in rows]),
        place=row_place,
        kept={name: _kept(rows, name) for name in keep},
    )


def _array(file: BinaryIO) -> list[Any]:
    try:
        # NaN and Infinity, which some programs write, are numbers that are refused in their row
        read = json.loads(file.read(), parse_float=Decimal, parse_constant=Decimal)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError("input", "valid JSON", f"something else at {place}") from None
    except (ValueError, ArithmeticError, RecursionError):
        raise InputError("input", "valid JSON", "something else") from None
    if not isinstance(read, list):
        raise InputError("input", "a JSON array of numbers or of objects", f"a JSON {_kind(read)}")
    return read


def _kind(value: object) -> str:
    return "object" if isinstance(value, dict) else "value"


def _numbers(values: list[Any]) -> Any:
    """An int64 array if all are whole and fit, else the exact numbers."""
    kinds = set(map(type, values))
    if kinds - {int, Decimal}:
        index = next(i for i, value in enumerate(values) if type(value) not in (int, Decimal))
        raise unusable(row_place(index), MISSING if values[index] is None else NO_NUMBER)
    if Decimal in kinds:
        unending = (
            i for i, value in enumerate(values) if isinstance(value, Decimal) and not value.is_finite()
        )
        if (index := next(unending, -1)) >= 0:
            raise unusable(row_place(index))
        return values
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return values


def _kept(rows: list[dict[str, Any]], name: str) -> list[Any]:
    values = [row.get(name) for row in rows]
    if not any(name in row for row in rows):
        raise InputError("--keep", "a name in the objects", f"{name!r} (no such name)")
    if set(map(type, values)) - SINGLE:
        raise InputError("--keep", "a name with single values", f"{name!r} (with arrays or objects)")
    return values
