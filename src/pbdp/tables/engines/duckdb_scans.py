"""Where the rows that DuckDB reads may be: in files, in memory, in a relation, in a database file.

Polars frames are handed over as Arrow tables, text without a copy. A lazy frame is run by Polars' streaming
engine, for the columns of the query alone.

DuckDB takes names that differ in case alone for one. A column that is asked for is found by its exact name,
and refused where another one could be taken for it.

Of a table in memory only the columns of a query are converted, to the types that they have. Only a pandas
column of Python objects, and a column given as a list, has none; what it holds is then told from the types of
its entries, and a mixture is refused. What numbers they are has no say in it: decimals are numbers even if
all of them are whole, and numbers that no type of Arrow's holds together (infinite decimals, 65 bits, 50
digits) are handed over as text, each number in one way, which DuckDB reads as that number. Text that UTF-8
cannot hold counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from pbdp.columns.arrays import comes_from
from pbdp.errors import InputError, MissingPackageError
from pbdp.release.publisher import is_number
from pbdp.tables.engines.dialects import DUCKDB
from pbdp.tables.engines.files import TableFiles
from pbdp.tables.engines.interface import EngineError
from pbdp.tables.engines.sql import name_parts

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    # Gives a connection, the same one each time.
    Connect = Callable[[], DuckDBPyConnection]

R = TypeVar("R")

# DuckDB's types for those of Arrow, as far as they were asked for.
_TYPES: dict[pa.DataType, str] = {}
_ALL_DIGITS = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


class Scan(Protocol):
    """Where the rows are."""

    @property
    def place(self) -> str | None:
        """What the data is called, if it has a name."""

    def types(self, connect: Connect, columns: Sequence[str] | None = None) -> Mapping[str, str]:
        """The columns (at least these, if given) and their types in DuckDB; where it is needed, `connect`."""

    def opened(self, connection: DuckDBPyConnection, columns: Sequence[str]) -> str:
        """Something that the connection can select these columns from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileScan:
    """Parquet or CSV files."""

    files: TableFiles

    @property
    def place(self) -> str:
        return self.files.place

    def types(
        self,
        connect: Connect,
        columns: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Mapping[str, str]:
        header = self.files.header()
        if header is not None:
            return dict.fromkeys((name for name in header.names if name), "CSV")
        return _described(connect(), self.files.scan())

    def opened(self, connection: DuckDBPyConnection, columns: Sequence[str]) -> str:  # noqa: ARG002
        return self.files.scan()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrameScan:
    """A table in memory: Arrow table or data set, pandas, or a mapping of columns."""

    frame: Any
    place: None = None

    def types(self, connect: Connect, columns: Sequence[str] | None = None) -> Mapping[str, str]:
        wanted = column_names(self.frame) if columns is None else columns
        return {name: _type_of(connect, type_of(self.frame, name)) for name in wanted}

    def opened(self, connection: DuckDBPyConnection, columns: Sequence[str]) -> str:
        _check_apart(columns, column_names(self.frame) if is_dataset(self.frame) else columns)
        wanted = columns or column_names(self.frame)[:1]
        connection.register("data", arrow_table(self.frame, wanted))
        return "data"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolarsScan:
    """A Polars frame, eager or lazy; a lazy one is run for each query.

    Categories are handed over as their text, because their numbers depend on other rows, and whole numbers
    of 128 bits, which Arrow does not have, with all their digits.
    """

    frame: pl.DataFrame | pl.LazyFrame
    place: None = None

    def types(self, connect: Connect, columns: Sequence[str] | None = None) -> Mapping[str, str]:
        schema = _of_polars(self.frame.lazy().collect_schema)
        wanted = schema.names() if columns is None else columns
        return {name: _type_of(connect, _arrow_type(schema[name])) for name in wanted}

    def opened(self, connection: DuckDBPyConnection, columns: Sequence[str]) -> str:
        import polars as pl

        schema = _of_polars(self.frame.lazy().collect_schema)
        _check_apart(columns, columns)
        wanted = columns or schema.names()[:1]
        # by its place in the schema: pl.col("*") and pl.col("^a.*$") would mean other columns
        places = {name: place for place, name in enumerate(schema)}
        chosen = self.frame.lazy().select(
            pl.nth(places[name]).cast(pl.String) if _goes_as_text(schema[name]) else pl.nth(places[name])
            for name in wanted
        )
        rows = _of_polars(lambda: chosen.collect(engine="streaming"))
        connection.register("data", rows.to_arrow(compat_level=pl.CompatLevel.newest()))
        return "data"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RelationScan:
    """A relation of a DuckDB connection that the user has."""

    relation: DuckDBPyRelation
    place: None = None

    def types(
        self,
        connect: Connect,  # noqa: ARG002
        columns: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Mapping[str, str]:
        return dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))

    def opened(self, connection: DuckDBPyConnection, columns: Sequence[str]) -> str:
        _check_apart(columns, self.relation.columns)
        wanted = ", ".join(map(DUCKDB.name, columns or self.relation.columns[:1]))
        chosen = self.relation.project(wanted)
        # its name until DuckDB 1.4
        reader = chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_arrow_reader
        connection.register("data", reader())
        return "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseScan:
    """A table or view in a DuckDB database file, which is opened for reading only."""

    path: Path
    table: str

    @property
    def place(self) -> str:
        return f"{self.path.resolve()}:{self.table}"

    def types(
        self,
        connect: Connect,
        columns: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Mapping[str, str]:
        connection = connect()
        return _described(connection, self.opened(connection, ()))

    def opened(self, connection: DuckDBPyConnection, columns: Sequence[str]) -> str:  # noqa: ARG002
        path = str(self.path.absolute()).replace("'", "''")
        connection.execute(f"ATTACH IF NOT EXISTS '{path}' AS held (READ_ONLY)")
        return ".".join(map(DUCKDB.name, ("held", *name_parts(self.table))))


def _check_apart(columns: Sequence[str], among: Sequence[str]) -> None:
    """Refuse a column that DuckDB could mistake for another, or cannot name."""
    if "" in columns:
        raise InputError("columns", "named", "one with an empty name", "Rename it.")
    folded = [name.casefold() for name in among]
    if alike := sorted(name for name in columns if folded.count(name.casefold()) > 1):
        remedy = "Rename one of them."
        raise InputError("columns", "different in more than upper and lower case", ", ".join(alike), remedy)


def _described(connection: DuckDBPyConnection, data: str) -> dict[str, str]:
    described = connection.execute(f"SELECT * FROM {data} LIMIT 0").description or []  # noqa: S608
    return {str(column[0]): str(column[1]) for column in described}


def _type_of(connect: Connect, kind: pa.DataType | None) -> str:
    """DuckDB's type for an Arrow type, for which it is asked once; "other" if it cannot read it."""
    import duckdb
    import pyarrow as pa

    if kind is None:
        return "other"
    if kind not in _TYPES:
        connection = connect()
        try:
            connection.register("empty", pa.schema([("c", kind)]).empty_table())
            _TYPES[kind] = _described(connection, "empty")["c"]
        except duckdb.Error:
            return "other"
    return _TYPES[kind]


# ------------------------------------------------------------------------------------------ Polars as Arrow


def _of_polars(run: Callable[[], R]) -> R:
    """What Polars gives; errors are told without their message, which may quote the data."""
    import polars as pl

    failure = ""
    try:
        return run()
    except pl.exceptions.PanicException:
        failure = "PanicException"
    except Exception as error:  # noqa: BLE001  # a lazy frame runs the user's own functions
        failure = type(error).__name__
    # raised here rather than where it was caught, so that the original does not hang on to it
    raise EngineError(f"Polars {pl.__version__}", failure)


def _goes_as_text(held: pl.DataType) -> bool:
    import polars as pl

    return isinstance(held, pl.Categorical | pl.Enum) or _is_long(held)


def _is_long(held: pl.DataType) -> bool:
    return str(held) in ("Int128", "UInt128")  # the second is newer than the oldest Polars that is taken


def _arrow_type(held: pl.DataType) -> pa.DataType | None:
    """The Arrow type that a column counts as; None for Python objects."""
    import polars as pl
    import pyarrow as pa

    if isinstance(held, pl.Object):
        return None
    if _goes_as_text(held):
        return pa.int64() if _is_long(held) else pa.string()
    return (
        pl.DataFrame(schema={"c": held}).to_arrow(compat_level=pl.CompatLevel.newest()).schema.field(0).type
    )


# ------------------------------------------------------------------------------- tables in memory as Arrow


def missing_package(package: str) -> MissingPackageError:
    """What to install."""
    return MissingPackageError("Reading this data", package, "'pbdp[tables]'")


def column_names(frame: Any) -> tuple[str, ...]:
    """The names of the columns; all must be different."""
    if isinstance(frame, Mapping):
        names = [str(name) for name in frame]
    else:
        names = [str(name) for name in (frame.columns if comes_from(frame, "pandas") else frame.schema.names)]
    if doubles := sorted({name for name in names if names.count(name) > 1}):
        raise InputError("data", "columns of different names", ", ".join(doubles))
    return tuple(names)


def is_dataset(frame: Any) -> bool:
    """Whether it is an Arrow data set, which DuckDB reads column by column itself."""
    return hasattr(frame, "scanner")


def type_of(frame: Any, name: str) -> pa.DataType | None:
    """The Arrow type of a column; None where its entries have no common type."""
    import pyarrow as pa

    if not isinstance(frame, Mapping) and not comes_from(frame, "pandas"):
        return frame.schema.field(name).type
    column = _column(frame, name)
    if comes_from(column, "pandas") and column.dtype != object:
        column = column.iloc[:0]
    try:
        return _read(column)[1]
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        return None


def arrow_table(frame: Any, names: Iterable[str]) -> Any:
    """These columns as an Arrow table, or the data set itself if it is one."""
    import pyarrow as pa

    wanted = list(names)
    if is_dataset(frame):
        return frame
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return pa.table({name: frame.column(name) for name in wanted})
    return pa.table({name: _converted(frame, name) for name in wanted})


def _converted(frame: Any, name: str) -> pa.Array:
    import pyarrow as pa

    failed = False
    try:
        array = _read(_column(frame, name))[0]
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        failed, array = True, None
    if failed:
        # raised here, so that Arrow's own message, which may quote an entry, does not hang on to this one
        raise InputError(
            f"column {name}", "entries of one kind", "a mixture", "Convert it to one type first."
        )
    return array


def _column(frame: Any, name: str) -> Any:
    if isinstance(frame, Mapping):
        return next(column for label, column in frame.items() if str(label) == name)
    return frame[next(label for label in frame.columns if str(label) == name)]


def _read(column: Any) -> tuple[pa.Array, pa.DataType]:
    """A column as an Arrow array, and the type that it counts as."""
    import pyarrow as pa

    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return _as_text(list(column))
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if not pa.types.is_decimal(array.type) or getattr(column, "dtype", "O") != "O":
        return array, array.type
    # DuckDB has no decimals of more than 38 digits
    return (array, pa.decimal128(38, 1)) if array.type.bit_width <= 128 else _as_text(list(column))


def _as_text(entries: list[Any]) -> tuple[pa.Array, pa.DataType]:
    """Numbers, or text, that Arrow does not take; a TypeError for a mixture."""
    import pyarrow as pa

    there = {type(entry) for entry in entries if entry is not None and type(entry).__name__ != "NAType"}
    if all(issubclass(kind, str) for kind in there):
        return pa.array([_encodable(entry) for entry in entries], pa.string()), pa.string()
    if not all(is_number(kind) for kind in there):
        raise TypeError
    whole = all(issubclass(kind, int | np.integer) for kind in there)
    texts = pa.array([_digits(entry) for entry in entries], pa.string())
    return texts, pa.int64() if whole else pa.float64()


def _encodable(text: Any) -> str | None:
    if not isinstance(text, str):
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text


def _digits(number: Any) -> str | None:
    """A number with all its digits, each number in one way; None for NaN."""
    if not is_number(type(number)):
        return None
    plain = number.item() if isinstance(number, np.generic) else number
    exact = plain if isinstance(plain, Decimal) else Decimal(plain)
    if exact.is_nan():
        return None
    return str(exact.normalize(_ALL_DIGITS)) if exact else "0"
