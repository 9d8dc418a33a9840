"""Engines that hold the rows of a random table."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from pbdp.tables.engines.dialects import POSTGRES
from pbdp.tables.engines.interface import Source
from pbdp.tables.engines.sources import source_of
from tests.tables.forms import as_arrow
from tests.tables.random_tables import Case

Holding = Callable[[Case], Source]
_TYPES = {"text": "text", "integer": "bigint", "number": "float8", "boolean": "boolean", "date": "date"}
_numbers = count()


def in_duckdb(case: Case) -> Source:
    """The rows in an Arrow table, which DuckDB reads."""
    return source_of(as_arrow(case))


def in_postgres(url: str) -> Holding:
    """The rows in a new table of a PostgreSQL server."""
    import psycopg

    def held(case: Case) -> Source:
        name = POSTGRES.name(f"agreeing {next(_numbers)}")
        columns = ", ".join(f"{POSTGRES.name(column)} {_TYPES[kind]}" for column, kind in case.held.items())
        with psycopg.connect(url) as connection:
            connection.execute(f"CREATE TABLE {name} ({columns})".encode())
            with connection.cursor().copy(f"COPY {name} FROM STDIN".encode()) as copy:
                for row in case.rows:
                    copy.write_row(tuple(row[column] for column in case.held))
        return source_of(url, name)

    return held
