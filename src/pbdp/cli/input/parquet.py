"""Parquet: one column of numbers, and others that are kept with their types."""

from __future__ import annotations

import io
from typing import Any, BinaryIO

import numpy as np

from pbdp.cli.input.column import MISSING, PrivateColumn, row_place, unusable
from pbdp.errors import InputError


def pyarrow_modules() -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet, which an extra installs."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            "Parquet", "asked for with pyarrow installed", "no pyarrow", 'pip install "pbdp[parquet]"'
        ) from None
    return pyarrow, pyarrow.parquet


def read_parquet(file: BinaryIO, column: str | None, keep: list[str]) -> PrivateColumn:
    """Whole numbers and floats as arrays, decimals as exact numbers."""
    pa, pq = pyarrow_modules()
    if column is None:
        raise InputError("--column", "given for Parquet", "nothing")
    try:
        source = pq.ParquetFile(io.BytesIO(file.read()))
        names = source.schema_arrow.names
        for option, name in (("--column", column), *(("--keep", kept) for kept in keep)):
            if names.count(name) != 1:
                found = "several such" if name in names else "no such name"
                raise InputError(option, "the name of one column", f"{name!r} ({found})")
        table = source.read(columns=[column, *keep])
    except (pa.ArrowException, OSError):
        raise InputError("input", "a Parquet file", "something else") from None
    return PrivateColumn(
        answers=_numbers(pa, table.column(column)),
        place=row_place,
        kept={name: table.column(name) for name in keep},
    )


def _numbers(pa: Any, values: Any) -> Any:
    kind = values.type
    exact = pa.types.is_decimal(kind)
    if not (exact or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError("--column", "a column of numbers", f"one of {kind}")
    if values.null_count:
        raise unusable(row_place(int(np.argmax(values.is_null().to_numpy()))), MISSING)
    if exact:
        return values.to_pylist()
    numbers = values.to_numpy()
    finite = np.isfinite(numbers)
    if not np.all(finite):
        raise unusable(row_place(int(np.argmin(finite))))
    return numbers
