"""What SQL engines write differently: names, numbers, hashes, casts that must not fail, and sums.

Whatever a row holds, no expression here fails on it: text is cast with TRY_CAST or guarded by CASE, and null
and NaN are told before `least` and `greatest`, which skip nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from pbdp.tables.engines.interface import ColumnKind
from pbdp.tables.expressions.tree import LARGEST_WHOLE
from pbdp.tables.keys import Kind

# Any number does; it must stay as it is, for digests are compared with earlier ones.
_DIGEST_KEY = 4_611_686_018_427_388_039


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How an engine writes what engines write differently; this class is DuckDB's way.

    Types of the key kinds come in `types`; `quote` is the quotation mark of identifiers, `decimal` the mark
    before the fraction of numbers that are text.
    """

    engine: str
    quote: str = '"'
    double: str = "DOUBLE"
    divided: str = "//"
    types: tuple[tuple[Kind, str], ...] = (
        ("text", "VARCHAR"),
        ("integer", "BIGINT"),
        ("boolean", "BOOLEAN"),
        ("date", "DATE"),
    )
    decimal: str = "."

    def name(self, identifier: str) -> str:
        """A quoted identifier."""
        return f"{self.quote}{identifier.replace(self.quote, 2 * self.quote)}{self.quote}"

    def literal(self, number: float) -> str:
        """A double, with all its digits."""
        return f"CAST('{number!r}' AS {self.double})"

    def text_literal(self, text: str) -> str:
        """A text, compared byte by byte."""
        doubled = text.replace("'", "''")
        return f"('{doubled}' COLLATE C)"

    def nothing(self, kind: Kind) -> str:
        """Some key of a kind, where none is meant."""
        written = {"text": "''", "integer": "'0'", "boolean": "'false'", "date": "'2000-01-01'"}[kind]
        return f"CAST({written} AS {dict(self.types)[kind]})"

    def null(self, kind: str) -> str:
        """Null of a type of expressions."""
        return f"CAST(NULL AS {self.double if kind == 'number' else dict(self.types)[cast(Kind, kind)]})"

    def once(self, value: str, name: str, write: Callable[[str], str]) -> str:
        """SQL of a value that is written, and computed, once; `write` makes it of the value's name."""
        return f"list_transform([{value}], lambda {name}: {write(name)})[1]"

    def floor(self, number: str) -> str:
        """The whole number at or below a double, as a double."""
        return f"floor({number})"

    @property
    def floors_whole(self) -> bool:
        """Whether `floor` holds for numbers of 64 bits only, and `floor_of_any` for all."""
        return False

    def floor_of_any(self, number: str) -> str:
        """The whole number at or below any double; it writes the number more than once."""
        return self.floor(number)

    def quotient(self, number: str, divisor: str, *, is_long: bool) -> str:
        """One double by another, null by 0; of a long divisor there is one."""
        if not is_long:
            return f"{number} / nullif({divisor}, {self.literal(0.0)})"
        written = self.once(divisor, "y", lambda y: f"CASE WHEN {y} <> {self.literal(0.0)} THEN {y} END")
        return f"{number} / {written}"

    def remainder(self, number: str, divisor: str) -> str:
        """The remainder of whole numbers below 2^53, with the sign of the first; null of others and by 0."""
        most, zero = self.literal(LARGEST_WHOLE), self.literal(0.0)
        whole = [
            f"abs({x}) < {most} AND {self.floor(f'least(greatest({x}, -{most}), {most})')} = {x}"
            for x in (number, divisor)
        ]
        parts = [f"CAST(least(greatest({x}, -{most}), {most}) AS BIGINT)" for x in (number, divisor)]
        found = f"CAST({parts[0]} % {parts[1]} AS {self.double})"
        return f"CASE WHEN {' AND '.join(whole)} AND {divisor} <> {zero} THEN {found} END"

    def first(self, text: str, characters: int) -> str:
        """A text, cut off."""
        return f"left({text}, {characters})"

    def days(self, day: str, before: str) -> str:
        """How many days there are between two."""
        return f"{day} - {before}"

    def period(self, period: str, day: str) -> str:
        """The first day of the year, quarter, month or week."""
        return f"CAST(date_trunc('{period}', CAST({day} AS timestamp)) AS DATE)"

    def day(self, column: str, held: ColumnKind) -> str:
        """A column as a date, null where it is none."""
        return column if held == "date" else f"TRY_CAST({column} AS DATE)"

    def moment(self, column: str, held: ColumnKind) -> str:
        """A column as a date with the time of the day, null where it is none."""
        found = f"TRY_CAST({column} AS TIMESTAMP)" if held == "untyped" else column
        return f"CASE WHEN isfinite({found}) THEN {found} END"

    def local(self, moment: str, zone: str) -> str:
        """The date and the time of the day that it was in a time zone; null beyond the years that have four
        digits.
        """
        first, last = (f"TIMESTAMPTZ '{day} 00:00:00+00'" for day in ("0001-01-02", "9999-12-30"))
        return f"CASE WHEN {moment} BETWEEN {first} AND {last} THEN timezone('{zone}', {moment}) END"

    def date_part(self, part: str, moment: str) -> str:
        """The year, quarter, month, ISO week, day, isodow (Monday is 1) or hour."""
        return f"extract({part} FROM {moment})"

    def hash(self, choice_key: int, columns: Sequence[str]) -> str:
        """A 64-bit hash of the key and the columns: each of a person's groups is as likely to have the least.

        DuckDB joins hashes of several columns by exclusive or, so that the group's own hash would decide how
        often it is first; the hash of the hash does away with that.
        """
        return f"hash(hash(CAST({choice_key} AS BIGINT), {', '.join(columns)}))"

    def digest(self, columns: Sequence[str]) -> str:
        """The sum of the hashes of all rows, as text: the same for the same rows in any order.

        Other rows have the same one with a chance of 2^-64. Some engines skip nulls when they hash.
        """
        parts = [*columns, *(f"{column} IS NULL" for column in columns)] or ["0"]
        hashed = f"CAST({self.hash(_DIGEST_KEY, parts)} AS DECIMAL(38, 0))"
        return f"CAST(coalesce(sum({hashed}), 0) AS {dict(self.types)['text']})"

    def number(self, column: str, held: ColumnKind) -> str:
        """A value as a double, null where it is none; true is 1 and false is 0."""
        if held == "untyped":
            flag = f"CASE lower({column}) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END"
            return f"coalesce({self._read(column)}, {flag})"
        return f"CAST({column} AS DOUBLE)"

    def _read(self, column: str) -> str:
        """A number that is written as text, null if it is none."""
        if self.decimal == ".":
            return f"TRY_CAST({column} AS DOUBLE)"
        # 1.234,5 is 1234.5, but 1.5 is no number where fractions have a comma
        pointed = f"replace({column}, '{self.decimal}', '.')"
        grouped = f"regexp_full_match({column}, '[+-]?[0-9]{{1,3}}([.][0-9]{{3}})+({self.decimal}[0-9]*)?')"
        plain = f"TRY_CAST(replace(replace({column}, '.', ''), '{self.decimal}', '.') AS DOUBLE)"
        return (
            f"CASE WHEN {grouped} THEN {plain} WHEN NOT contains({column}, '.') "
            f"THEN TRY_CAST({pointed} AS DOUBLE) END"
        )

    def is_number(self, expression: str) -> str:
        """Whether a double is neither null nor NaN; `isnan` of null is false on some engines."""
        return f"{expression} IS NOT NULL AND NOT isnan({expression})"

    def person(self, column: str, held: ColumnKind) -> str:
        """Whose row it is; NaN, which pandas writes for null, is nobody."""
        return (
            f"CASE WHEN NOT isnan(CAST({column} AS DOUBLE)) THEN {column} END" if held == "number" else column
        )

    def key(self, column: str, held: ColumnKind, wanted: Kind) -> str:
        """A key column as `wanted`, null where it is no such thing.

        A cast to whole numbers rounds fractions: only a number that is the same after it is a key. So no
        row has two keys, even where doubles cannot tell the keys apart.
        """
        written = self.tried(column, wanted)
        if wanted == "integer" and held in ("number", "untyped"):
            return f"CASE WHEN CAST({written} AS DOUBLE) = TRY_CAST({column} AS DOUBLE) THEN {written} END"
        return written

    def tried(self, column: str, wanted: Kind) -> str:
        """A column as a kind of key, null where it cannot be; no two keys may be equal to it."""
        written = f"TRY_CAST({column} AS {dict(self.types)[wanted]})"
        match wanted:
            case "text":
                # a column may be declared to ignore case, and a row must not match "Paris" and "paris" both
                return f"({written} COLLATE C)"
            case "date":
                return f"CASE WHEN isfinite({written}) THEN {written} END"
            case _:
                return written

    def steps(self, number: str, low: float, high: float, per_unit: float) -> str:
        """floor(min(max(x, low), high) * per_unit + 1/2), still a double."""
        clamped = f"least(greatest({number}, {self.literal(low)}), {self.literal(high)})"
        return f"floor({clamped} * {self.literal(per_unit)} + {self.literal(0.5)})"

    def total(self, expression: str) -> str:
        """A sum as BIGINT, 0 of nothing; it must fail where 64 bits do not hold it."""
        return f"coalesce(CAST(sum({expression}) AS BIGINT), 0)"

    def wide_total(self, expression: str) -> str:
        """A sum of BIGINTs, 0 of nothing, in a type that holds it whatever they are."""
        return f"coalesce(sum({expression}), 0)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _PostgresDialect(Dialect):
    """PostgreSQL: no TRY_CAST, but a typed table; casts that can fail are guarded by CASE."""

    def text_literal(self, text: str) -> str:
        # whatever the server takes a backslash for
        return f"(convert_from(decode('{text.encode().hex()}', 'hex'), 'UTF8') COLLATE \"C\")"

    def once(self, value: str, name: str, write: Callable[[str], str]) -> str:
        # OFFSET keeps the planner from writing the value wherever its name stands
        return f"(SELECT {write(name)} FROM (SELECT {value} AS {name} OFFSET 0) AS once)"  # noqa: S608  # ours

    def quotient(self, number: str, divisor: str, *, is_long: bool) -> str:  # noqa: ARG002
        return Dialect.quotient(self, number, divisor, is_long=False)

    def day(self, column: str, held: ColumnKind) -> str:
        return column if held == "date" else f"CASE WHEN isfinite({column}) THEN CAST({column} AS date) END"

    def hash(self, choice_key: int, columns: Sequence[str]) -> str:
        # hashes of columns are added up, so all persons would have the groups in one order, only turned
        return (
            f"hashint8extended(hash_record_extended(ROW({', '.join(columns)}), {choice_key}), {choice_key})"
        )

    def number(self, column: str, held: ColumnKind) -> str:
        whole = f"CAST({column} AS int)" if held == "boolean" else column
        return f"CAST({whole} AS {self.double})"

    def is_number(self, expression: str) -> str:
        return f"{expression} <> 'NaN'"

    def person(self, column: str, held: ColumnKind) -> str:
        return f"nullif({column}, 'NaN')" if held == "number" else column

    def key(self, column: str, held: ColumnKind, wanted: Kind) -> str:
        match wanted:
            case "text":
                # one meaning of equality for all tables: the same bytes
                return f'(CAST({column} AS text) COLLATE "C")'
            case "date":
                return f"CASE WHEN isfinite({column}) THEN {column} END"
            case "integer" if held == "number":
                inside = f"{column} >= -9223372036854775808 AND {column} < 9223372036854775808"
                # NaN is above every number here
                return f"CASE WHEN {inside} AND {column} = floor({column}) THEN CAST({column} AS bigint) END"
            case _:
                return f"CAST({column} AS {dict(self.types)[wanted]})"

    def steps(self, number: str, low: float, high: float, per_unit: float) -> str:
        written = Dialect.steps(self, number, low, high, per_unit)
        if per_unit >= 1:
            return written
        # a product that underflows is an error in PostgreSQL; less than a quarter of a step counts as 0
        tiny, none = self.literal(0.25 / per_unit), self.literal(0.0)
        return f"CASE WHEN abs({number}) < {tiny} THEN {none} ELSE {written} END"


@dataclass(frozen=True, slots=True, kw_only=True)
class _SparkDialect(Dialect):
    """Spark SQL, with or without ANSI mode."""

    def text_literal(self, text: str) -> str:
        # whatever the session takes a backslash for
        return f"decode(unhex('{text.encode().hex()}'), 'UTF-8')"

    def once(self, value: str, name: str, write: Callable[[str], str]) -> str:
        return f"transform(array({value}), {name} -> {write(name)})[0]"

    def floor(self, number: str) -> str:
        return f"CAST(floor({number}) AS DOUBLE)"

    @property
    def floors_whole(self) -> bool:
        return True

    def floor_of_any(self, number: str) -> str:
        # doubles from 2^52 on are whole
        return f"CASE WHEN abs({number}) < {2**52}D THEN {self.floor(number)} ELSE {number} END"

    def quotient(self, number: str, divisor: str, *, is_long: bool) -> str:  # noqa: ARG002
        return f"try_divide({number}, {divisor})"

    def days(self, day: str, before: str) -> str:
        return f"datediff({day}, {before})"

    def period(self, period: str, day: str) -> str:
        return f"trunc({day}, '{period.upper()}')"

    def moment(self, column: str, held: ColumnKind) -> str:  # noqa: ARG002
        return column

    def local(self, moment: str, zone: str) -> str:
        # by microseconds, as a cast would take the times of the session's own zone
        first, last = (f"TIMESTAMP '{day} 00:00:00Z'" for day in ("0001-01-02", "9999-12-30"))
        shifted = f"unix_micros(from_utc_timestamp({moment}, '{zone}'))"
        read = f"timestampadd(MICROSECOND, {shifted}, TIMESTAMP_NTZ '1970-01-01 00:00:00')"
        return f"CASE WHEN {moment} BETWEEN {first} AND {last} THEN {read} END"

    def date_part(self, part: str, moment: str) -> str:
        return f"weekday({moment}) + 1" if part == "isodow" else f"extract({part} FROM {moment})"

    def tried(self, column: str, wanted: Kind) -> str:
        return f"TRY_CAST({column} AS {dict(self.types)[wanted]})"

    def hash(self, choice_key: int, columns: Sequence[str]) -> str:
        return f"xxhash64({choice_key}L, {', '.join(columns)})"

    def total(self, expression: str) -> str:
        # `sum` wraps around without ANSI mode; `try_sum` is null where it would, and for no numbers
        whole = f"coalesce(try_sum({expression}), CAST(raise_error('overflow') AS BIGINT))"
        return f"CASE WHEN count({expression}) = 0 THEN 0L ELSE {whole} END"

    def wide_total(self, expression: str) -> str:
        return f"coalesce(sum(CAST({expression} AS DECIMAL(28, 0))), 0)"


DUCKDB = Dialect(engine="DuckDB")
POSTGRES = _PostgresDialect(
    engine="PostgreSQL",
    double="float8",
    divided="/",
    types=(("text", "text"), ("integer", "bigint"), ("boolean", "boolean"), ("date", "date")),
)
SPARK = _SparkDialect(
    engine="Spark",
    quote="`",
    divided="div",
    types=(("text", "STRING"), ("integer", "BIGINT"), ("boolean", "BOOLEAN"), ("date", "DATE")),
)
