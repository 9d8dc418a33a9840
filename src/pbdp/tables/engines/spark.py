"""A Spark DataFrame, aggregated by its own session on the cluster; only aggregates reach the driver.

The query of `pbdp.tables.engines.sql` runs over temporary views with names that nobody guesses, which are
dropped after it. The session's settings are never changed, and the result does not depend on them: a sum that
does not fit fails with ANSI mode and without, columns are found by place, and no time zone is involved
but that of the query.

**Retries.** A task that is lost is run again, perhaps in another place and with its rows in another order.
Every row-level expression is a function of the row, the choice of a person's groups is a function of
(choice key, person, group), and sums are of whole numbers. So it gives the same part again, provided that the
frame itself has the same rows whenever it is computed: one with `rand()` or a `limit` without an order in it
is to be saved first.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pbdp.errors import InputError
from pbdp.tables.bounded import Aggregates, BoundedAggregation
from pbdp.tables.engines.dialects import SPARK
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
    import pyarrow as pa
    from pyspark.sql import DataFrame

Found = TypeVar("Found")
# Key tables up to this size are sent to every executor, so that the rows stay where they are.
_BROADCAST_BYTES = 32 << 20
# What Spark calls the failure of a sum that does not fit, in `pbdp.tables.engines.dialects`.
_OVERFLOW = "USER_RAISED_EXCEPTION"
# Types by Spark's own names for them, without what stands in parentheses
_KINDS: dict[str, ColumnKind] = {
    "string": "text", "char": "text", "varchar": "text",
    "tinyint": "integer", "smallint": "integer", "int": "integer", "bigint": "integer",
    "float": "number", "double": "number", "decimal": "number",
    "boolean": "boolean", "date": "date",
    "timestamp": "zoned", "timestamp_ntz": "time",
    "void": "untyped",  # a column of nothing but null can be read as anything
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SparkSource:
    """A DataFrame of a Spark session (or of Spark Connect) that the caller has."""

    frame: DataFrame
    _kinds: Mapping[str, ColumnKind] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not hasattr(self.frame, "createTempView"):
            remedy = "Of pandas on Spark, give frame.to_spark()."
            raise InputError("data", "a Spark DataFrame", type(self.frame).__name__, remedy)
        if self.frame.isStreaming:
            remedy = "Save the rows that came in so far as a table, and ask that."
            raise InputError("data", "a DataFrame of a fixed set of rows", "a stream", remedy)
        columns = self.frame.schema.fields
        names = [column.name for column in columns]
        if doubles := sorted({name for name in names if names.count(name) > 1}):
            raise InputError("data", "columns of different names", ", ".join(doubles))
        kinds = {column.name: _kind(column.dataType.simpleString()) for column in columns}
        object.__setattr__(self, "_kinds", kinds)

    @property
    def engine(self) -> str:
        return f"Spark {self.frame.sparkSession.version}"

    @property
    def place(self) -> None:
        return None

    def kinds(self) -> Mapping[str, ColumnKind]:
        return self._kinds

    @property
    def dates(self) -> Mapping[str, str]:
        return {}

    def check_whole(self) -> None:
        """A table of a database is as it is."""

    def digest(self, asked: BoundedAggregation) -> bytes:
        used = self._used(asked)
        found = self._told(lambda: self._hashed(used, asked.by))
        return row_digest(found["n"][0], found["h"][0])

    def unreadable(self, asked: BoundedAggregation) -> Mapping[str, int]:
        wrong = unreadable_sql(asked, SPARK, kinds=self._kinds)
        if not wrong:
            return {}

        def counted() -> dict[str, Any]:
            with _views([self._data(self._used(asked), ())]) as (data,):
                named = [f"{one} AS n{place}" for place, one in enumerate(wrong.values())]
                text = f"SELECT {', '.join(named)} FROM {data} AS d"  # noqa: S608  # names are quoted
                (row,) = self.frame.sparkSession.sql(text).toArrow().to_pylist()
                return dict(zip(wrong, row.values(), strict=True))

        return {name: int(count) for name, count in self._told(counted).items()}

    def aggregate(self, asked: BoundedAggregation, choice_key: int) -> Aggregates:
        used = self._used(asked)
        columns, *histograms = self._told(lambda: self._results(asked, choice_key, used))
        return aggregates_from(columns, asked, self._kinds, histograms)

    def _told(self, query: Callable[[], Found]) -> Found:
        """What a query finds; errors are told without their message."""
        try:
            return query()
        except Exception as error:  # noqa: BLE001 - whatever fails in here may quote a row of the data
            failure = _failure(error)
        # raised here, so that Spark's own message does not hang on to this one
        remedy = "There are more rows than most_rows says." if failure == _OVERFLOW else ""
        raise EngineError(self.engine, failure, remedy)

    def _used(self, asked: BoundedAggregation) -> list[str]:
        """The columns that the query reads; Spark must be able to tell them apart."""
        used = list(asked.columns)
        if asked.unit is not None:
            collation = getattr(self.frame.schema[asked.unit].dataType, "collation", "UTF8_BINARY")
            if collation != "UTF8_BINARY":
                remedy = (
                    "Give a column of lower(...), trim(...) or the like, which says who is the same person."
                )
                rule = "text that is compared byte by byte"
                raise InputError(f"column {asked.unit}", rule, f"collation {collation}", remedy)
        sensitive = self.frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
        if not sensitive and len({name.lower() for name in used}) < len(used):
            remedy = "Rename one, or set spark.sql.caseSensitive to true."
            raise InputError(
                "columns", "different in more than upper and lower case", ", ".join(used), remedy
            )
        return used

    def _results(
        self, asked: BoundedAggregation, choice_key: int, used: Sequence[str]
    ) -> list[dict[str, Any]]:
        """The columns of every query as numpy arrays."""
        session = self.frame.sparkSession
        keys = [
            table.arrow() if asked.keys is None else key_arrow(table, asked) for table in key_tables(asked)
        ]
        with ExitStack() as stack:

            def held(query: str) -> str:
                """What is used twice is computed once, and kept by the executors until the end."""
                frame = session.sql(query).persist()
                stack.callback(frame.unpersist)
                frame.count()
                return stack.enter_context(_views([frame]))[0]

            frames = [self._data(used, asked.by), *map(self._keys, keys)]
            data, *names = stack.enter_context(_views(frames))
            queries = queries_of(
                asked, SPARK, choice_key=choice_key, data=data, keys=names, kinds=self._kinds, hold=held
            )
            tables = [session.sql(query).toArrow() for query in queries]
        return [{name: table.column(name).to_numpy() for name in table.column_names} for table in tables]

    def _hashed(self, used: Sequence[str], by: Sequence[str]) -> dict[str, Any]:
        """The digest of the rows, as columns of one entry."""
        with _views([self._data(used, by)]) as (data,):
            found = self.frame.sparkSession.sql(digest_sql(used, SPARK, data=data)).toArrow()
        return {name: found.column(name).to_pylist() for name in found.column_names}

    def _data(self, used: Sequence[str], by: Sequence[str]) -> DataFrame:
        """The columns that are used, found by place: the names of others may differ in case alone.

        One more column, of a constant, makes the view like nothing else: dropping a view also drops what the
        session has cached of the same rows, which would be the caller's frame.
        """
        fields = self.frame.schema.fields
        names = [column.name for column in fields]
        placed = self.frame.toDF(*(f"c{place}" for place in range(len(names))))
        columns = []
        for name in used:
            column = f"c{names.index(name)}"
            if name in by and fields[names.index(name)].dataType.simpleString() in ("float", "double"):
                # Spark's cast takes 2^63 for the largest BIGINT, 2^63 - 1, which may be a key
                column = f"CASE WHEN {column} < {2**63}D THEN {column} END"
            columns.append(f"{column} AS {SPARK.name(name)}")
        only_here = _new_name()
        return placed.selectExpr(*columns, f"'{only_here}' AS {only_here}")

    def _keys(self, table: pa.Table) -> DataFrame:
        made = self.frame.sparkSession.createDataFrame(table)
        return made.hint("broadcast") if table.nbytes <= _BROADCAST_BYTES else made


def _kind(spark_type: str) -> ColumnKind:
    return _KINDS.get(spark_type.partition("(")[0].partition(" ")[0], "other")


@contextmanager
def _views(frames: Sequence[DataFrame]) -> Iterator[list[str]]:
    """Temporary views of the frames, until the end."""
    made: list[str] = []
    session = frames[0].sparkSession
    try:
        for frame in frames:
            name = _new_name()
            frame.createTempView(name)
            made.append(name)
        yield made
    finally:
        for name in made:
            session.catalog.dropTempView(name)


def _new_name() -> str:
    """A name that nobody has."""
    return f"pbdp_{secrets.token_hex(16)}"


def _failure(error: Exception) -> str:
    """Spark's name for the kind of error, which is never made from data, or Python's."""
    from pyspark.errors import PySparkException

    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return condition or type(error).__name__
