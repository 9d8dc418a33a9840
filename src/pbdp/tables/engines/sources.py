"""Which engine serves the data that was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pbdp.columns.arrays import comes_from
from pbdp.errors import ContradictionError, InputError, shown
from pbdp.parameters import is_connection
from pbdp.tables.engines.duckdb import DuckDBSource
from pbdp.tables.engines.duckdb_scans import (
    DatabaseScan,
    FileScan,
    FrameScan,
    PolarsScan,
    RelationScan,
    Scan,
    missing_package,
)
from pbdp.tables.engines.files import TAKEN, Csv, files_at
from pbdp.tables.engines.interface import Source

_SERVERS = ("postgresql://", "postgres://")
_DATABASES = (".duckdb", ".ddb")


def source_of(data: Any, table: str | None = None, csv: Csv | None = None) -> Source:
    """The engine for this data; `table` names a table or view inside a database, `csv` how text is written.

    "postgresql://user@host/shop", table="visits"     PostgreSQL
    "shop.duckdb", table="visits"                     DuckDB
    "visits.parquet", "2024/*.csv", [several files]   DuckDB
    pandas, Polars and Arrow, DuckDB relations        DuckDB
    {"user": [...], "city": [...]}                    DuckDB
    Spark DataFrames                                  Spark
    """
    if csv is not None and not _is_files(data):
        raise ContradictionError("csv", "used for CSV files", "other data")
    if isinstance(data, str) and data.startswith(_SERVERS):
        return _in_postgres(data, table)
    if isinstance(data, str | Path) and is_connection(str(data)):
        remedy = "Write postgresql://host:port/database; a file in this folder with ./ before its name."
        raise InputError("data", "a file or a postgresql:// URL", "another way to name a database", remedy)
    if isinstance(data, str | Path) and str(data).endswith(_DATABASES):
        return DuckDBSource(scan=_in_database(Path(data).expanduser(), table))
    if table is not None:
        raise ContradictionError("table", "left out where the data is not a database", shown(table))
    if comes_from(data, "pyspark"):
        from pbdp.tables.engines.spark import SparkSource

        return SparkSource(data)
    return DuckDBSource(scan=_scan_of(data, csv))


def _is_files(data: Any) -> bool:
    if isinstance(data, str | Path):
        return "://" not in str(data) and not str(data).endswith(_DATABASES)
    return isinstance(data, Sequence)


def _in_postgres(url: str, table: str | None) -> Source:
    from pbdp.tables.engines.postgres import PostgresSource

    if table is None:
        raise InputError("table", "given for a database", "nothing", "Name a table or view: table='visits'.")
    return PostgresSource(url=url, table=table)


def _in_database(path: Path, table: str | None) -> DatabaseScan:
    if not path.is_file():
        raise InputError("data", "a DuckDB database file", str(path), "It is not there.")
    if table is None:
        raise InputError("table", "given for a database", "nothing", "Name a table or view: table='visits'.")
    return DatabaseScan(path=path, table=table)


def _scan_of(data: Any, csv: Csv | None) -> Scan:
    match data:
        case str() | Path():
            return FileScan(files=files_at(data, csv))
        case Mapping():
            return FrameScan(frame=_checked_mapping(data))
        case Sequence() if data and all(isinstance(entry, str | Path) for entry in data):
            return FileScan(files=files_at(data, csv))
    if comes_from(data, "_duckdb") or comes_from(data, "duckdb"):
        if hasattr(data, "project"):
            return RelationScan(relation=data)
        raise InputError("data", "a relation of the connection", "a connection", "Give con.table('visits').")
    if comes_from(data, "polars") and hasattr(data, "lazy"):
        return PolarsScan(frame=data)
    if comes_from(data, "pandas") and hasattr(data, "columns"):
        return FrameScan(frame=data)
    if (arrow := _as_arrow(data)) is not None:
        return FrameScan(frame=arrow)
    raise InputError(
        "data",
        f"files ({TAKEN}, .duckdb), a PostgreSQL URL, or a pandas, Polars, Arrow, DuckDB or Spark table",
        f"something of type {type(data).__name__}",
    )


def _as_arrow(data: Any) -> Any:
    """An Arrow table, record batch or data set, or what offers itself as an Arrow stream; None otherwise."""
    if comes_from(data, "pyarrow"):
        if hasattr(data, "read_next_batch"):
            remedy = "It can be read once only: give reader.read_all(), or a pyarrow data set."
            raise InputError("data", "an Arrow table or data set", "a reader", remedy)
        return data if hasattr(data, "schema") else None
    # a single column offers a stream too
    if not hasattr(data, "__arrow_c_stream__") or comes_from(data, "pandas") or comes_from(data, "polars"):
        return None
    try:
        import pyarrow as pa
    except ImportError:
        raise missing_package("pyarrow") from None
    try:
        return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError):
        return None


def _checked_mapping(data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    if strange := [str(name) for name, column in data.items() if not hasattr(column, "__len__")]:
        raise InputError("data", "columns with entries", f"none in {', '.join(strange)}")
    if not data or len({len(column) for column in data.values()}) > 1:
        raise InputError("data", "columns of one length", "others" if data else "no column")
    return data
