"""What an engine can do: tell the columns of a table from its schema, and aggregate it once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, cast, get_args

from pbdp.errors import InputError, PbdpError, did_you_mean
from pbdp.tables.bounded import Aggregates, BoundedAggregation
from pbdp.tables.expressions.tree import Type

# `untyped`: text of a CSV file, to be read as what is asked for. `number`: floats and decimals.
# `time`: a date with the time of the day, in no time zone. `zoned`: moments, which a time zone makes such of.
ColumnKind = Literal["text", "integer", "number", "boolean", "date", "time", "zoned", "untyped", "other"]
NUMERIC: tuple[ColumnKind, ...] = ("integer", "number", "boolean", "untyped")
# What an expression may read as what.
READ_AS: Mapping[Type, tuple[ColumnKind, ...]] = {
    "number": NUMERIC,
    "text": ("text", "untyped"),
    "boolean": ("boolean", "untyped"),
    "date": ("date", "time", "untyped"),
    "time": ("time", "untyped"),
    "any": get_args(ColumnKind),
}
# What an entry under whole-number keys must be.
WHOLE = "whole numbers"
GROUPABLE: tuple[ColumnKind, ...] = ("text", "integer", "boolean", "date", "untyped")


class Source(Protocol):
    """A table in the engine that holds it."""

    @property
    def engine(self) -> str:
        """Name and version of the engine."""

    @property
    def place(self) -> str | None:
        """What the data is called: a path, a table; without secrets. Part of what makes a request itself.

        None for what has no name, as a table in memory: nothing tells one such table from another.
        """

    @property
    def dates(self) -> Mapping[str, str]:
        """By column, the format that dates were said to have."""

    def kinds(self) -> Mapping[str, ColumnKind]:
        """The columns and what they hold, from the schema alone: no row is read."""

    def check_whole(self) -> None:
        """Refuse data that the engine would fail on, before anything is paid; no value is told."""

    def digest(self, asked: BoundedAggregation) -> bytes:
        """A digest of the data now, or of the rows in the columns that are asked for, in any order.

        It is secret: with it, anyone could tell whether a guess at the data is right.
        """

    def unreadable(self, asked: BoundedAggregation) -> Mapping[str, int]:
        """By column, how many rows hold something there that cannot be read as what is asked for.

        Fractions in a column with whole-number keys, text that is no number in a CSV file. Columns of types
        that can hold no such thing are not looked at, and no data is read if there are no others.
        """

    def aggregate(self, asked: BoundedAggregation, choice_key: int) -> Aggregates:
        """The bounded aggregates; `choice_key` (63 bits) keys the choice of a person's groups.

        Raises an `EngineError` without any value of the data if the engine fails.
        """


class EngineError(PbdpError):
    """The engine could not run the query; the message names the kind of failure and no value of the data."""

    def __init__(self, engine: str, failure: str, remedy: str = "") -> None:
        self.engine = engine
        self.failure = failure
        text = (
            f"{engine} could not run the query ({failure}). Its own message is not repeated, as it may hold "
            "values of the data."
        )
        super().__init__(f"{text} {remedy}" if remedy else text)


def check_columns(source: Source, asked: BoundedAggregation) -> None:
    """Refuse columns that are not there or hold something else, by the schema alone."""
    kinds = source.kinds()
    if missing := sorted({name for name in asked.columns if name not in kinds}):
        rule = f"among those of the table ({', '.join(kinds)})"
        raise InputError("columns", rule, ", ".join(missing), did_you_mean(missing[0], kinds))
    for expression in asked.expressions:
        for column in expression.columns():
            if kinds[column.name] == "zoned" and column.type in ("date", "time"):
                if asked.time_zone is not None:
                    continue
                remedy = 'Say whose days and hours count: time_zone="Europe/Paris".'
                raise InputError(
                    f"column {column.name}", "times without a zone, or in one", "times with a zone", remedy
                )
            if kinds[column.name] not in READ_AS[column.type]:
                rule = f"{column.type}, as an expression reads it"
                raise InputError(f"column {column.name}", rule, kinds[column.name])
    kinds = with_derived(asked, kinds)
    summed = {value.column for value in asked.values}
    for name in asked.numeric:
        if kinds[name] not in NUMERIC:
            why = "to be summed up" if name in summed else "to have quantiles"
            raise InputError(f"column {name}", f"numbers, {why}", kinds[name])
    tables = [*([asked.keys] if asked.keys is not None else []), *asked.only]
    public = {name: column.kind for table in tables for name, column in table.columns.items()}
    for name in asked.by:
        _check_key(name, kinds[name], public.get(name))


def with_derived(asked: BoundedAggregation, kinds: Mapping[str, ColumnKind]) -> dict[str, ColumnKind]:
    """The kinds of the columns, derived ones too."""
    return {**kinds, **{name: cast(ColumnKind, made.type) for name, made in asked.derived}}


class UnreadableError(InputError):
    """Rows hold something that cannot be read; told to whoever holds the data, as counts alone."""

    def __init__(self, counts: Mapping[str, tuple[str, int]]) -> None:
        self.counts = dict(counts)
        found = ", ".join(f"{count:,} row{'s'[: count > 1]} of {name}" for name, (_, count) in counts.items())
        wanted = ", ".join(f"{name}: {rule}" for name, (rule, _) in counts.items())
        whole = any(rule == WHOLE for rule, _ in counts.values())
        remedy = "Group a column with fractions by bins instead of whole numbers. " if whole else ""
        remedy += (
            'For a CSV file say how it is written, in [csv] (decimal = ",", null = ["NA"], dates.day = '
            '"%d.%m.%Y"), or leave such entries out (unreadable = "null").'
        )
        super().__init__("entries of the data", f"readable ({wanted})", f"others in {found}", remedy)


def check_readable(source: Source, asked: BoundedAggregation) -> None:
    """Refuse data in which entries would be left out silently, because they cannot be read."""
    found = {name: count for name, count in source.unreadable(asked).items() if count}
    if not found:
        return
    tables = [*([asked.keys] if asked.keys is not None else []), *asked.only]
    kinds = {name: column.kind for table in tables for name, column in table.columns.items()}
    rules = {"integer": WHOLE, "boolean": "true or false", "date": "dates such as 2024-12-31"}
    formats = {name: f"dates written {form}" for name, form in source.dates.items()}
    read = {column.name: column.type for one in asked.expressions for column in one.columns()}
    raise UnreadableError(
        {
            name: (formats.get(name) or rules.get(str(kinds.get(name) or read.get(name)), "numbers"), count)
            for name, count in found.items()
        }
    )


def _check_key(name: str, held: ColumnKind, wanted: str | None) -> None:
    """Keys and column must hold the same; whole-number keys may meet floats, as pandas has them."""
    if held in ("untyped", wanted) or (wanted == "integer" and held == "number"):
        return
    if wanted is not None:
        remedy = f"Give keys of the kind that the column has, or a column of {wanted}."
        raise InputError(f"column {name}", f"{wanted}, as its keys are", held, remedy)
    if held not in GROUPABLE:
        remedy = "Cut it into ranges in a column of its own first."
        raise InputError(
            f"column {name}", "text, whole numbers, dates or true/false to group by", held, remedy
        )
