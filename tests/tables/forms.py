"""The rows of a random table as what engines take: Arrow, pandas and polars tables, CSV and Parquet files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.tables.random_tables import Case

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def as_arrow(case: Case) -> pa.Table:
    """An Arrow table with the types that the columns hold."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
    }
    return pa.table(
        {name: pa.array(_column(case, name), type=types[held]) for name, held in case.held.items()}
    )


def as_polars(case: Case) -> pl.DataFrame:
    """A polars frame; null and NaN stay apart."""
    import polars as pl

    types: dict[str, Any] = {
        "text": pl.String,
        "integer": pl.Int64,
        "number": pl.Float64,
        "boolean": pl.Boolean,
        "date": pl.Date,
    }
    schema = {name: types[held] for name, held in case.held.items()}
    return pl.DataFrame({name: _column(case, name) for name in case.held}, schema=schema, strict=True)


def as_pandas(case: Case) -> pd.DataFrame:
    """A pandas frame with nullable columns; null numbers are NaN, and dates are Python's."""
    import pandas as pd

    types = {
        "text": "object",
        "integer": "Int64",
        "number": "float64",
        "boolean": "boolean",
        "date": "object",
    }
    return pd.DataFrame(
        {name: pd.Series(_column(case, name), dtype=types[held]) for name, held in case.held.items()}
    )


def as_parquet(case: Case, path: Path, rows_in_group: int = 7) -> Path:
    """A Parquet file of several row groups."""
    import pyarrow.parquet as pq

    pq.write_table(as_arrow(case), path, row_group_size=rows_in_group)
    return path


def as_csv(case: Case, path: Path) -> Path:
    """A CSV file; null is an empty field."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(case.held)
        writer.writerows([_text(row[name]) for name in case.held] for row in case.rows)
    return path


def _column(case: Case, name: str) -> list[Any]:
    return [row[name] for row in case.rows]


def _text(entry: object) -> str:
    match entry:
        case None:
            return ""
        case bool():
            return str(entry).lower()
        case float():
            return repr(entry)
        case _:
            return str(entry)
