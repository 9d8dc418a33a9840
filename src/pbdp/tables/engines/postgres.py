"""A table or view in PostgreSQL (14 or later), aggregated by the server.

A query is one transaction, REPEATABLE READ, so it sees one state of the table. The public keys are copied
into temporary tables that end with it (the user needs the TEMP privilege); then it is made READ ONLY,
and only aggregates leave the server. Names are resolved once, and from there on the search path is the
system's catalog alone, so that functions and operators mean what they say.

Text keys are the same if their bytes are; persons are the same if the column's own type and collation say so.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from pbdp.errors import InputError, shown
from pbdp.tables.bounded import Aggregates, BoundedAggregation
from pbdp.tables.engines.dialects import POSTGRES
from pbdp.tables.engines.interface import ColumnKind, EngineError
from pbdp.tables.engines.sql import (
    aggregates_from,
    digest_sql,
    found_kinds,
    key_arrow,
    key_tables,
    name_parts,
    queries_of,
    row_digest,
    unreadable_sql,
)
from pbdp.tables.keys import KeyTable

if TYPE_CHECKING:
    import numpy.typing as npt
    import psycopg

P = ParamSpec("P")
R = TypeVar("R")

CONNECT_SECONDS = 10
_KINDS: dict[str, ColumnKind] = {
    "int2": "integer", "int4": "integer", "int8": "integer",
    "numeric": "number", "float4": "number", "float8": "number",
    "text": "text", "varchar": "text", "bpchar": "text", "char": "text", "name": "text", "citext": "text",
    "bool": "boolean", "date": "date",
    "timestamp": "time", "timestamptz": "zoned",
}  # fmt: skip
_TYPES = {"text": 'text COLLATE "C"', "integer": "bigint", "boolean": "boolean", "date": "date"}
# Domains are followed to the type that they restrict.
_COLUMNS = b"""
WITH RECURSIVE columns AS (
    SELECT attnum, attname, atttypid AS type FROM pg_catalog.pg_attribute
    WHERE attrelid = %(oid)s AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT attnum, attname, typbasetype FROM columns JOIN pg_catalog.pg_type ON oid = type AND typtype = 'd'
)
SELECT attname, typname, typtype FROM columns JOIN pg_catalog.pg_type ON oid = type
WHERE typtype <> 'd' ORDER BY attnum
"""
_TABLE = b"""
SELECT class.oid, nspname, relname FROM pg_catalog.pg_class AS class
JOIN pg_catalog.pg_namespace AS space ON space.oid = relnamespace
WHERE class.oid = pg_catalog.to_regclass(%(name)s) AND relkind IN ('r', 'v', 'm', 'f', 'p')
"""
# A cast to float8 fails beyond its range and below its smallest number; bounds are never near either.
# `greatest` skips null.
_NUMERIC = (
    "CASE WHEN {x} IS NULL OR {x} = 'NaN' THEN NULL WHEN abs({x}) < 1e-305 THEN 0 "
    "ELSE CAST(least(greatest({x}, -1e300), 1e300) AS float8) END"
)
_REMEDIES = {
    "OperationalError": "Check the URL, the password, and that the server runs.",
    "InsufficientPrivilege": "The user needs SELECT on the table and TEMP on the database.",
    "UndefinedFunction": "PostgreSQL 14 or later is needed, and a unit whose type has a hash.",
    "ReadOnlySqlTransaction": "The server must let the user make temporary tables; a standby does not.",
}


def _failures_told(method: Callable[P, R]) -> Callable[P, R]:
    """A method whose database errors are turned into ours: messages quote values, and URLs hold passwords."""

    @wraps(method)
    def told(*given: P.args, **named: P.kwargs) -> R:
        try:
            import psycopg
            import pyarrow as pa
        except ImportError as missing:
            remedy = "Run pip install 'pbdp[tables,postgres]'."
            rule = f"read with {missing.name}"
            raise InputError("a PostgreSQL table", rule, "no such package here", remedy) from None
        try:
            return method(*given, **named)
        except (psycopg.Error, pa.ArrowException) as error:
            failure = type(error).__name__
        # raised here rather than where it was caught, so that the original does not hang on to it
        raise EngineError("PostgreSQL", failure, _REMEDIES.get(failure, ""))

    return told


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSource:
    """A table or view at `postgresql://user@host/database`; `table` may have its schema before it."""

    url: str = field(repr=False)
    table: str

    def __post_init__(self) -> None:
        if len(name_parts(self.table)) > 2:
            raise InputError("table", "a name, with its schema perhaps", shown(self.table))

    @property
    def engine(self) -> str:
        version = self._version()
        return f"PostgreSQL {version // 10000}.{version % 10000}"

    @property
    def place(self) -> str:
        settings = self._settings()
        at = f"{settings.get('host', 'localhost')}:{settings.get('port', 5432)}"
        return f"postgresql://{at}/{settings.get('dbname', '')} {self.table}"

    @_failures_told
    def kinds(self) -> Mapping[str, ColumnKind]:
        with self._transaction() as connection:
            return _kinds(self._types(connection, self._found(connection)[0]))

    @property
    def dates(self) -> Mapping[str, str]:
        return {}

    def check_whole(self) -> None:
        """A table of a database is as it is."""

    @_failures_told
    def digest(self, asked: BoundedAggregation) -> bytes:
        with self._transaction() as connection:
            _, data = self._found(connection)
            connection.execute("SET TRANSACTION READ ONLY")
            connection.execute("SET LOCAL search_path = pg_catalog")
            found = connection.execute(digest_sql(asked.columns, POSTGRES, data=data).encode()).fetchone()
        return row_digest(*(found or ()))

    @_failures_told
    def unreadable(self, asked: BoundedAggregation) -> Mapping[str, int]:
        with self._transaction() as connection:
            oid, data = self._found(connection)
            wrong = unreadable_sql(asked, POSTGRES, kinds=_kinds(self._types(connection, oid)))
            if not wrong:
                return {}
            connection.execute("SET TRANSACTION READ ONLY")
            connection.execute("SET LOCAL search_path = pg_catalog")
            query = f"SELECT {', '.join(wrong.values())} FROM {data} AS d"  # noqa: S608  # names are quoted
            found = connection.execute(query.encode()).fetchone() or ()
        return dict(zip(wrong, map(int, found), strict=True))

    @_failures_told
    def aggregate(self, asked: BoundedAggregation, choice_key: int) -> Aggregates:
        with self._transaction() as connection:
            oid, data = self._found(connection)
            types = self._types(connection, oid)
            kinds = _kinds(types)
            connection.execute("SET LOCAL search_path = pg_catalog")
            keys = [
                _copied(connection, number, table, asked) for number, table in enumerate(key_tables(asked))
            ]
            connection.execute("SET TRANSACTION READ ONLY")
            columns = {name: f"d.{POSTGRES.name(name)}" for name in types}
            queries = queries_of(
                asked,
                POSTGRES,
                choice_key=choice_key,
                data=data,
                keys=keys,
                kinds=kinds,
                doubles={
                    name: _NUMERIC.format(x=columns[name])
                    for name, held in types.items()
                    if held == "numeric"
                },
            )
            values = range(len(asked.values))
            numbers = ["people", "rows", *(f"{letter}{j}" for j in values for letter in "cs")]
            if asked.cuts and asked.unit is None:
                numbers.append("o")
            if asked.parts:
                numbers.append("part")
            first, *others = queries
            found = _fetched(connection, first, asked, kinds, numbers)
            histograms = [_fetched(connection, query, asked, kinds, ["b", "n"]) for query in others]
        return aggregates_from(found, asked, kinds, histograms)

    @_failures_told
    def _version(self) -> int:
        with self._transaction() as connection:
            return connection.info.server_version

    def _settings(self) -> dict[str, Any]:
        """The parts of the URL; the password is among them."""
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        try:
            return {"connect_timeout": CONNECT_SECONDS, **conninfo_to_dict(self.url)}
        except ProgrammingError:
            pass
        # raised here, so that the message, which quotes the URL, does not hang on to it
        raise InputError("data", "a URL as in postgresql://user@host:5432/database", "one with a mistake")

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A connection inside a transaction that is given up at the end."""
        import psycopg

        settings = {**self._settings(), "client_encoding": "UTF8", "application_name": "pbdp"}
        connection = psycopg.connect(**settings, autocommit=True)
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            yield connection
        finally:
            connection.close()

    def _found(self, connection: psycopg.Connection[tuple[Any, ...]]) -> tuple[int, str]:
        """The table's number in the catalog and its full name, quoted."""
        name = ".".join(map(POSTGRES.name, name_parts(self.table)))
        found = connection.execute(_TABLE, {"name": name}).fetchone()
        if found is None:
            raise InputError(
                "table", "a table or view of the database", shown(self.table), "It is not there."
            )
        oid, *names = found
        return oid, ".".join(map(POSTGRES.name, names))

    @staticmethod
    def _types(connection: psycopg.Connection[tuple[Any, ...]], oid: int) -> dict[str, str]:
        rows = connection.execute(_COLUMNS, {"oid": oid}).fetchall()
        return {name: "text" if sort == "e" else held for name, held, sort in rows}


def _kinds(types: Mapping[str, str]) -> dict[str, ColumnKind]:
    return {name: _KINDS.get(held, "other") for name, held in types.items()}


def _copied(
    connection: psycopg.Connection[tuple[Any, ...]], number: int, table: KeyTable, asked: BoundedAggregation
) -> str:
    """The name of a temporary table with these keys."""
    import pyarrow as pa
    from pyarrow import csv

    if any(column.kind == "text" and "\0" in "".join(column.values) for column in table.columns.values()):
        raise InputError("keys", "texts that PostgreSQL can hold", "one with the character NUL")
    columns = ", ".join(f"{name} {_TYPES[column.kind]}" for name, column in table.columns.items())
    name = f"pg_temp.keys{number}"
    listed = key_arrow(table, asked)
    numbers = {pa.int32(): "int", pa.int64(): "bigint"}
    others = listed.column_names[len(table.columns) :]
    columns += "".join(f", {other} {numbers[listed.schema.field(other).type]}" for other in others)
    connection.execute(f"CREATE TEMPORARY TABLE keys{number} ({columns}) ON COMMIT DROP".encode())
    # everything is quoted, because an empty field without quotes would be null
    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    written = pa.BufferOutputStream()
    csv.write_csv(listed, written, options)
    with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)".encode()) as copy:
        copy.write(memoryview(written.getvalue()))
    connection.execute(f"ANALYZE {name}".encode())
    return name


def _fetched(
    connection: psycopg.Connection[tuple[Any, ...]],
    query: str,
    asked: BoundedAggregation,
    kinds: Mapping[str, ColumnKind],
    numbers: Sequence[str],
) -> dict[str, npt.NDArray[Any]]:
    """The groups of the result and these columns, without a Python object for each number."""
    import pyarrow as pa
    from pyarrow import csv

    read = found_kinds(asked, kinds) if asked.keys is None else {}
    keys = {f"k{place}": kind for place, kind in enumerate(read.values())}
    # days since 1970: dates are written in ways that depend on settings and on the century
    written = [f"{name} - DATE '1970-01-01'" if kind == "date" else name for name, kind in keys.items()]
    selected = ", ".join([*(written or ["g"]), *map(POSTGRES.name, numbers)])
    text = [name for name, kind in keys.items() if kind == "text"]
    quoted = f", FORCE_QUOTE ({', '.join(text)})" if text else ""
    output = f"COPY (SELECT {selected} FROM ({query}) AS result) TO STDOUT (FORMAT csv{quoted})"  # noqa: S608
    with connection.cursor().copy(output.encode()) as copy:
        received = b"".join(copy)
    names = [*(keys or ["g"]), *numbers]
    if not received:
        return {name: np.empty(0, dtype=np.int64) for name in names}
    types = {"text": pa.string(), "integer": pa.int64(), "boolean": pa.bool_(), "date": pa.int64()}
    table = csv.read_csv(
        io.BytesIO(received),
        read_options=csv.ReadOptions(column_names=names),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types={name: types[keys[name]] if name in keys else pa.int64() for name in names},
            null_values=[],
            true_values=["t"],
            false_values=["f"],
        ),
    )
    return {name: table.column(name).to_numpy() for name in names}
