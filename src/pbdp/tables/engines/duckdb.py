"""DuckDB, the engine that runs in this process: files, tables in memory, DuckDB relations and databases.

Every query has a connection of its own, which is closed after it. What does not fit into memory is written
to a folder that only this user may enter, made for the query in the system's place for temporary files
(TMPDIR) and removed after it; DuckDB's own habit is a folder `.tmp` where the program was started, which
stays. Extensions are never fetched from the network.

A relation belongs to the user's connection and is read from there as a stream of Arrow batches.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from pbdp.tables.bounded import Aggregates, BoundedAggregation
from pbdp.tables.engines.dialects import DUCKDB, Dialect
from pbdp.tables.engines.duckdb_scans import FileScan, Scan, missing_package
from pbdp.tables.engines.interface import ColumnKind, EngineError
from pbdp.tables.engines.sql import (
    aggregates_from,
    digest_sql,
    key_arrow,
    key_tables,
    queries_of,
    row_digest,
    unreadable_sql,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    from duckdb import DuckDBPyConnection

    from pbdp.tables.engines.duckdb_scans import Connect

P = ParamSpec("P")
R = TypeVar("R")

_KINDS: dict[str, ColumnKind] = {
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "FLOAT": "number",
    "DOUBLE": "number",
    '"NULL"': "untyped",  # a column of nothing but null can be read as anything
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "integer"),
}
# Decimals of more digits, which do not fit into 64 bits, are made doubles by way of text.
_DIGITS_IN_64_BITS = 18


def _failures_told(method: Callable[P, R]) -> Callable[P, R]:
    """A method whose DuckDB errors are turned into ours: its messages quote rows of the data."""

    @wraps(method)
    def told(*given: P.args, **named: P.kwargs) -> R:
        try:
            import duckdb
            import pyarrow as pa
        except ImportError as missing:
            raise missing_package(str(missing.name)) from None
        try:
            return method(*given, **named)
        except (duckdb.Error, pa.ArrowException) as error:
            failed = _told(error)
        # raised here rather than where it was caught, so that the original does not hang on to it
        raise failed

    return told


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckDBSource:
    """A table that DuckDB reads. `memory_limit` ("2GB") and `threads` are passed on to it."""

    scan: Scan
    memory_limit: str | None = None
    threads: int | None = None

    @property
    def engine(self) -> str:
        return _engine()

    @property
    def place(self) -> str | None:
        return self.scan.place

    @_failures_told
    def kinds(self) -> Mapping[str, ColumnKind]:
        with _connecting() as connect:
            return {name: kind_of(written) for name, written in self.scan.types(connect).items()}

    @property
    def dates(self) -> Mapping[str, str]:
        return self.scan.files.reading.dates if isinstance(self.scan, FileScan) else {}

    def check_whole(self) -> None:
        if isinstance(self.scan, FileScan):
            self.scan.files.check_lines()

    @_failures_told
    def digest(self, asked: BoundedAggregation) -> bytes:
        if isinstance(self.scan, FileScan):
            return self.scan.files.digest()
        with _connecting(self.memory_limit, self.threads) as connect:
            connection = connect()
            data = self.scan.opened(connection, asked.columns)
            found = connection.execute(digest_sql(asked.columns, DUCKDB, data=data)).fetchone()
        return row_digest(*(found or ()))

    @property
    def _dialect(self) -> Dialect:
        return self.scan.files.reading.dialect if isinstance(self.scan, FileScan) else DUCKDB

    @_failures_told
    def unreadable(self, asked: BoundedAggregation) -> Mapping[str, int]:
        if isinstance(self.scan, FileScan) and self.scan.files.reading.unreadable == "null":
            return {}
        with _connecting(self.memory_limit, self.threads) as connect:
            types = self.scan.types(connect, asked.columns)
            kinds = {name: kind_of(written) for name, written in types.items()}
            wrong = unreadable_sql(asked, self._dialect, kinds=kinds)
            if not wrong:
                return {}
            connection = connect()
            data = self.scan.opened(connection, asked.columns)
            query = f"SELECT {', '.join(wrong.values())} FROM {data} AS d"  # noqa: S608  # names are quoted
            found = connection.execute(query).fetchone() or ()
        return dict(zip(wrong, map(int, found), strict=True))

    @_failures_told
    def aggregate(self, asked: BoundedAggregation, choice_key: int) -> Aggregates:
        with _connecting(self.memory_limit, self.threads) as connect:
            connection = connect()
            types = self.scan.types(connect, asked.columns)
            kinds = {name: kind_of(written) for name, written in types.items()}
            doubles = {
                name: f"CAST(CAST(d.{DUCKDB.name(name)} AS VARCHAR) AS DOUBLE)"
                for name in asked.columns
                if not _plain_cast_is_nearest(types[name])
            }
            queries = queries_of(
                asked,
                self._dialect,
                choice_key=choice_key,
                data=self.scan.opened(connection, asked.columns),
                keys=_keys(connection, asked),
                kinds=kinds,
                doubles=doubles,
            )
            found, *histograms = [
                cast("dict[str, npt.NDArray[Any]]", connection.execute(query).fetchnumpy())
                for query in queries
            ]
        return aggregates_from(found, asked, kinds, histograms)


def kind_of(written: str) -> ColumnKind:
    """The kind of a DuckDB type, from how it is written."""
    if decimal := re.fullmatch(r"DECIMAL\(\d+,(\d+)\)", written):
        return "integer" if decimal[1] == "0" else "number"
    if written.startswith("ENUM("):
        return "text"
    if written.startswith("TIMESTAMP"):
        return "zoned" if "ZONE" in written else "time"
    return "untyped" if written == "CSV" else _KINDS.get(written, "other")


def _plain_cast_is_nearest(written: str) -> bool:
    """Whether DuckDB's cast of the type to DOUBLE is correctly rounded; by way of text it always is.

    Numbers of 128 bits are sometimes one digit off, in the last place, because they are cast in two halves.
    """
    if decimal := re.fullmatch(r"DECIMAL\((\d+),\d+\)", written):
        return int(decimal[1]) <= _DIGITS_IN_64_BITS
    return written not in ("HUGEINT", "UHUGEINT")


def _engine() -> str:
    import duckdb

    return f"DuckDB {duckdb.__version__}"


@contextmanager
def _connecting(memory_limit: str | None = None, threads: int | None = None) -> Iterator[Connect]:
    """A fresh DuckDB for whoever asks for it, the same each time: starting one takes milliseconds."""
    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(_connection(memory_limit, threads)))


@contextmanager
def _connection(memory_limit: str | None = None, threads: int | None = None) -> Iterator[DuckDBPyConnection]:
    """A fresh DuckDB that leaves nothing behind."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "preserve_insertion_order": "false",
        "autoinstall_known_extensions": "false",
        "python_enable_replacements": "false",
    }
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    if threads is not None:
        config["threads"] = threads
    with tempfile.TemporaryDirectory(prefix="pbdp-duckdb-") as folder:
        connection = duckdb.connect(config={**config, "temp_directory": folder})
        try:
            yield connection
        finally:
            connection.close()


def _keys(connection: DuckDBPyConnection, asked: BoundedAggregation) -> list[str]:
    names = []
    for number, table in enumerate(key_tables(asked)):
        connection.register("listed", key_arrow(table, asked))
        connection.execute(f"CREATE TEMP TABLE keys{number} AS SELECT * FROM listed")  # noqa: S608
        connection.unregister("listed")
        names.append(f"keys{number}")
    return names


_TOLD = (
    ("Expected Number of Columns", "a CSV line with more or fewer fields than the header"),
    ("unterminated quote", "a CSV field with a quote that does not end"),
    ("Maximum line size", "a CSV line that is too long"),
    ("not utf-8 encoded", "text that is not UTF-8"),
    ("reached an invalid state", "CSV that is not as RFC 4180 has it"),
)
_REMEDIES = {
    "OutOfMemoryException": "Give it more memory, or a TMPDIR with more space.",
    "IOException": "Is the file there, readable, whole, and not open for writing elsewhere?",
    "CatalogException": "Is the table in this database?",
}


def _told(error: Exception) -> EngineError:
    message, kind = str(error), type(error).__name__
    for phrase, failure in _TOLD:
        if phrase in message:
            remedy = (
                "Clean the file, or write it as Parquet: a row that is left out would be missed silently."
            )
            return EngineError(_engine(), failure, remedy)
    return EngineError(_engine(), kind, _REMEDIES.get(kind, ""))
