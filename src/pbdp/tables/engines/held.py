"""Where the rows that DuckDB reads may be: in files, in memory, in a relation, in a database file.

DuckDB takes names that differ in case alone for one. A column that is asked for is found by its exact name,
and refused where another one could be taken for it.

Of a table in memory only the columns of a query are converted, to the types that they have. Only a pandas
column of Python objects, and a column given as a list, has none; what it holds is then told from its entries,
and a mixture is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pbdp.columns.given import comes_from
from pbdp.errors import InputError
from pbdp.tables.engines.dialects import DUCKDB
from pbdp.tables.engines.files import TableFiles
from pbdp.tables.engines.sql import name_parts

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


class Held(Protocol):
    """Where the rows are."""

    @property
    def place(self) -> str | None:
        """What the data is called, if it has a name."""

    def types(
        self, connection: DuckDBPyConnection, columns: Sequence[str] | None = None
    ) -> Mapping[str, str]:
        """The columns (at least these, if given) and their types in DuckDB."""

    def opened(self, connection: DuckDBPyConnection, columns: Sequence[str]) -> str:
        """Something that the connection can select these columns from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFiles:
    """Parquet or CSV files."""

    files: TableFiles

    @property
    def place(self) -> str:
        return self.files.place

    def types(
        self,
        connection: DuckDBPyConnection,
        columns: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Mapping[str, str]:
        header = self.files.header()
        if header is not None:
            return dict.fromkeys((name for name in header.names if name), "CSV")
        return _described(connection, self.files.scan())

    def opened(self, connection: DuckDBPyConnection, columns: Sequence[str]) -> str:  # noqa: ARG002
        return self.files.scan()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldFrame:
    """A table in memory: Arrow table or data set, pandas, or a mapping of columns."""

    frame: Any
    place: None = None

    def types(
        self, connection: DuckDBPyConnection, columns: Sequence[str] | None = None
    ) -> Mapping[str, str]:
        wanted = column_names(self.frame) if columns is None else columns
        return {name: _type_of(connection, type_of(self.frame, name)) for name in wanted}

    def opened(self, connection: DuckDBPyConnection, columns: Sequence[str]) -> str:
        _check_apart(columns, column_names(self.frame) if is_dataset(self.frame) else columns)
        wanted = columns or column_names(self.frame)[:1]
        connection.register("data", arrow_table(self.frame, wanted))
        return "data"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldRelation:
    """A relation of a DuckDB connection that the user has."""

    relation: DuckDBPyRelation
    place: None = None

    def types(
        self,
        connection: DuckDBPyConnection,  # noqa: ARG002
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
class HeldDatabase:
    """A table or view in a DuckDB database file, which is opened for reading only."""

    path: Path
    table: str

    @property
    def place(self) -> str:
        return f"{self.path.resolve()}:{self.table}"

    def types(
        self,
        connection: DuckDBPyConnection,
        columns: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Mapping[str, str]:
        return _described(connection, self.opened(connection, ()))

    def opened(self, connection: DuckDBPyConnection, columns: Sequence[str]) -> str:  # noqa: ARG002
        path = str(self.path.absolute()).replace("'", "''")
        connection.execute(f"ATTACH IF NOT EXISTS '{path}' AS held (READ_ONLY)")
        return ".".join(map(DUCKDB.name, ("held", *name_parts(self.table))))


def _check_apart(columns: Sequence[str], among: Sequence[str]) -> None:
    """Refuse a column that DuckDB could mistake for another."""
    folded = [name.casefold() for name in among]
    if alike := sorted(name for name in columns if folded.count(name.casefold()) > 1):
        remedy = "Rename one of them."
        raise InputError("columns", "different in more than upper and lower case", ", ".join(alike), remedy)


def _described(connection: DuckDBPyConnection, data: str) -> dict[str, str]:
    described = connection.execute(f"SELECT * FROM {data} LIMIT 0").description or []  # noqa: S608
    return {str(column[0]): str(column[1]) for column in described}


def _type_of(connection: DuckDBPyConnection, kind: pa.DataType | None) -> str:
    """DuckDB's type for an Arrow type; "other" if it cannot read it."""
    import duckdb
    import pyarrow as pa

    if kind is None:
        return "other"
    try:
        connection.register("empty", pa.schema([("c", kind)]).empty_table())
        return _described(connection, "empty")["c"]
    except duckdb.Error:
        return "other"


# ------------------------------------------------------------------------------- tables in memory as Arrow


def missing_package(package: str) -> InputError:
    """What to install."""
    remedy = "Run pip install 'pbdp[tables]'."
    return InputError("this kind of data", f"read with {package}", "no such package here", remedy)


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
        return _array(column).type
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
        array = _array(_column(frame, name))
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


def _array(column: Any) -> pa.Array:
    import pyarrow as pa

    try:
        array = pa.array(column, from_pandas=True)
    except OverflowError:
        remedy = "Convert larger ones to text, or to decimals."
        raise InputError("whole numbers in lists", "of 64 bits", "a larger one", remedy) from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
