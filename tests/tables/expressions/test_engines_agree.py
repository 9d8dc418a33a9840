"""Every engine computes what the plain-Python interpreter does, for random expressions and nasty rows."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.tables.bounded import BoundedAggregation
from pbdp.tables.engines.dialects import Dialect
from pbdp.tables.engines.interface import Source, check_columns
from pbdp.tables.expressions.reading import expression_of
from pbdp.tables.expressions.tree import Call, Column, Expression, Type
from pbdp.tables.keys import crossed, key_column
from tests.effort import FULL
from tests.tables.engines.holding import Holding
from tests.tables.expressions.interpreter import binned, random_expression, value_of
from tests.tables.random_tables import DATES, INTEGERS, NUMBERS, TEXTS, Case, Held

# A share of the thousand that every engine is asked in a thorough run.
EXPRESSIONS = {"duckdb": 100, "postgres": 30}
ROWS = 60
AT_ONCE = 20
HELD: dict[str, Held] = {
    "row": "integer", "a": "number", "b": "number", "whole": "integer", "s": "text", "it's": "text",
    "d": "date", "f": "boolean",
}  # fmt: skip
TYPES: tuple[Type, ...] = ("number", "number", "boolean", "text", "date", "integer")


def rows(rng: np.random.Generator) -> list[dict[str, Any]]:
    def some(pool: tuple[Any, ...]) -> Any:
        return None if rng.random() < 0.15 else pool[int(rng.integers(len(pool)))]

    usual = tuple(round(float(x), 2) for x in rng.normal(20, 40, 30))
    return [
        {
            "row": number,
            "a": some((*NUMBERS, *usual)),
            "b": some(usual),
            "whole": some((*INTEGERS, 3, 4)),
            "s": some((*TEXTS, "")),
            "it's": some(TEXTS[:3]),
            "d": some(DATES),
            "f": some((True, False)),
        }
        for number in range(ROWS)
    ]


def drawn(rng: np.random.Generator, kind: Type) -> Expression:
    if kind == "integer":
        return binned(rng, random_expression(rng, "number", 2))
    return random_expression(rng, kind, int(rng.integers(1, 5)))


def is_comparable(value: Any) -> bool:
    """Whether a column can hold it to be compared with: numbers beyond 1e18 are null there."""
    return not isinstance(value, float) or value == 0 or 1e-18 <= abs(value) <= 1e18


def same(expression: Expression, expected: Column) -> Expression:
    """Whether the two are equal, or both null."""
    equal = Call(op="=", type="boolean", args=(expression, expected))
    none = [Call(op="is null", type="boolean", args=(one,)) for one in (expression, expected)]
    return Call(op="or", type="boolean", args=(equal, Call(op="and", type="boolean", args=tuple(none))))


def asked_of_all(rng: np.random.Generator, count: int) -> tuple[Case, BoundedAggregation, list[Expression]]:
    """Random expressions, with a condition that every row meets if each of them is what it should be."""
    data, held = rows(rng), dict(HELD)
    made: list[Expression] = []
    conditions: list[Expression] = []
    for number in range(count):
        kind = TYPES[number % len(TYPES)]
        expression, column = drawn(rng, kind), f"e{number}"
        # bins are whole numbers
        seen: Type = "number" if kind == "integer" else kind
        held[column], held[f"n{number}"] = seen, "boolean"  # type: ignore[assignment]
        for row in data:
            value = value_of(expression, row)
            told = float(value) if kind == "integer" and value is not None else value
            row[f"n{number}"] = is_comparable(told)
            row[column] = told if row[f"n{number}"] else None
        no = Call(op="not", type="boolean", args=(Column(name=f"n{number}", type="boolean"),))
        agrees = same(expression, Column(name=column, type=seen))
        made.append(expression)
        conditions.append(Call(op="or", type="boolean", args=(agrees, no)))
    keys = crossed({"row": key_column("row", range(ROWS))})
    plain = BoundedAggregation(unit=None, by=("row",), keys=keys)
    where = Call(op="and", type="boolean", args=tuple(conditions))
    return Case(rows=data, held=held, asked=plain), replace(plain, where=where), made


def check_agreement(holding: Callable[[Case], Source], rng: np.random.Generator, count: int) -> int:
    """Refuse an engine that computes something else; how many values there were."""
    there = 0
    for start in range(0, count, AT_ONCE):
        case, asked, made = asked_of_all(rng, min(AT_ONCE, count - start))
        source = holding(case)
        check_columns(source, asked)
        found = source.aggregate(asked, 1).group.tolist()
        if len(found) != ROWS and asked.where is not None:
            wrong = [
                one.text
                for one, condition in zip(made, asked.where.parts, strict=True)
                if len(source.aggregate(replace(asked, where=condition), 1)) != ROWS
            ]
            raise AssertionError(wrong)
        there += sum(row[f"e{number}"] is not None for row in case.rows for number in range(len(made)))
    return there


def test_engines_agree_with_the_interpreter(engine: tuple[str, Holding]) -> None:
    name, holding = engine
    count = 1000 if FULL else EXPRESSIONS[name]
    assert check_agreement(holding, np.random.default_rng(21), count) > 10 * count


def test_a_wrong_expression_is_found(engine: tuple[str, Holding], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dialect, "floor", lambda _, number: f"ceil({number})")
    with pytest.raises(AssertionError, match=r"floor|ceil|round"):
        check_agreement(engine[1], np.random.default_rng(3), 40)


def test_the_text_of_an_expression_is_read_as_itself() -> None:
    rng = np.random.default_rng(22)
    data = rows(rng)
    for number in range(300):
        expression = drawn(rng, TYPES[number % 5])
        read = expression_of("it", expression.text, wanted=expression.type)
        assert expression_of("it", read.text, wanted=read.type) == read
        # minus a constant is a constant
        assert [value_of(read, row) for row in data] == [value_of(expression, row) for row in data], read.text


def test_derived_columns_are_grouped_by_and_summed_up(engine: tuple[str, Holding]) -> None:
    from tests.tables.engines.asking import answered, asking, value

    case = Case(
        rows=[
            {"who": n, "fare": fare, "miles": miles, "day": datetime.date(2024, 1, n)}
            for n, fare, miles in ((1, 10.0, 4.0), (2, 9.0, 0.0), (3, 30.0, 5.0), (4, math.nan, 1.0))
        ],
        held={"who": "integer", "fare": "number", "miles": "number", "day": "date"},
        asked=asking({"weekday": [1, 2, 3, 4, 5]}, unit="who", groups=1, values=[value("rate", 0, 100)]),
    )
    derived = {text: expression_of(text, made) for text, made in
               (("weekday", "extract(isodow from day)"), ("rate", "fare / miles"))}  # fmt: skip
    asked = replace(case.asked, derived=tuple(derived.items()))
    found = answered(engine[1](case), asked)
    step = asked.values[0].fixed.step
    told = {
        group[0]: (people, counts[0], total[0] * step) for group, (people, _, counts, total) in found.items()
    }
    assert told == {1: (1, 1, 2.5), 2: (1, 0, 0.0), 3: (1, 1, 6.0), 4: (1, 0, 0.0)}


def zoned_rows(zone: str) -> list[dict[str, Any]]:
    """Moments, many of them near a change of the clocks, with the day and hour that they are in a zone."""
    rng, place = np.random.default_rng(5), ZoneInfo(zone)
    ends = [datetime.datetime(1950, 1, 1), datetime.datetime(2036, 1, 1)]
    seconds = int((ends[1] - ends[0]).total_seconds())
    some = [ends[0] + datetime.timedelta(seconds=int(one)) for one in rng.integers(0, seconds, 30)]
    near = [datetime.datetime(2024, month, day) for month, day in ((3, 31), (10, 27), (7, 1), (12, 31))]
    some += [day + datetime.timedelta(minutes=int(one)) for day in near for one in rng.integers(0, 1500, 12)]
    moments = [one.replace(tzinfo=datetime.UTC) for one in some]
    local = [one.astimezone(place) for one in moments]
    told: list[dict[str, Any]] = [
        {"at": one, "day": own.date(), "hour": own.hour} for one, own in zip(moments, local, strict=True)
    ]
    told.append(dict.fromkeys(told[0]))
    return [{"row": row, **one} for row, one in enumerate(told)]


def asked_of_zone(zone: str | None, count: int) -> BoundedAggregation:
    """The rows whose moments are read as they should be."""
    told = "extract(hour from at) = hour and date(at) = date(day) and date(at) - day = 0 or at is null"
    keys = crossed({"row": key_column("row", range(count))})
    where = expression_of("where", told)
    return BoundedAggregation(unit=None, by=("row",), keys=keys, where=where, time_zone=zone)


@pytest.mark.parametrize("zone", ["Europe/Paris", "America/St_Johns", "Asia/Kolkata", "UTC"])
def test_moments_are_read_in_the_zone_that_is_named(zone: str, postgres: str) -> None:
    import psycopg
    import pyarrow as pa

    from pbdp.tables.engines.sources import source_of

    rows, name = zoned_rows(zone), f"moments of {zone}"
    asked = asked_of_zone(zone, len(rows))
    types = {"row": pa.int64(), "at": pa.timestamp("us", "UTC"), "day": pa.date32(), "hour": pa.int64()}
    table = pa.table({key: pa.array([row[key] for row in rows], kind) for key, kind in types.items()})
    with psycopg.connect(postgres) as connection:
        connection.execute(
            f'CREATE TABLE "{name}" (row bigint, at timestamptz, day date, hour bigint)'.encode()
        )
        with connection.cursor().copy(f'COPY "{name}" FROM STDIN'.encode()) as copy:
            for row in rows:
                copy.write_row(tuple(row.values()))
    for source in (source_of(table), source_of(postgres, f'"{name}"')):
        check_columns(source, asked)
        assert sorted(source.aggregate(asked, 1).group.tolist()) == list(range(len(rows)))
        with pytest.raises(InputError, match="time_zone"):
            check_columns(source, replace(asked, time_zone=None))


def test_moments_that_no_calendar_has_are_null(postgres: str) -> None:
    import psycopg

    from pbdp.tables.engines.sources import source_of

    keys = crossed({"row": key_column("row", range(4))})
    where = expression_of("where", "date(at) is null and extract(hour from at) is null")
    asked = BoundedAggregation(unit=None, by=("row",), keys=keys, where=where, time_zone="Asia/Tokyo")
    values = (
        "(0, 'infinity'), (1, '-infinity'), (2, '0044-03-15 00:00:00+00 BC'), (3, '2024-01-01 00:00:00+00')"
    )
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE TABLE strange (row bigint, at timestamptz)")
        connection.execute(f"INSERT INTO strange VALUES {values}".encode())  # noqa: S608
    dated = values.replace("-15 00:00:00+00 BC", "-15 (BC) 00:00:00+00")
    held = duckdb.sql(f"SELECT col0 AS row, col1::TIMESTAMPTZ AS at FROM (VALUES {dated})")  # noqa: S608
    for source in (source_of(postgres, "strange"), source_of(held)):
        assert sorted(source.aggregate(asked, 1).group.tolist()) == [0, 1, 2]


def test_times_without_a_zone_are_as_they_are_written() -> None:
    import polars as pl
    import pyarrow as pa

    from pbdp.tables.engines.sources import source_of

    moments = [datetime.datetime(2024, 2, 29, 13, 5), datetime.datetime(1969, 12, 31, 23, 59)]
    table = pa.table({"row": [0, 1], "at": pa.array(moments, pa.timestamp("us"))})
    keys = crossed({"row": key_column("row", [0, 1])})
    where = expression_of(
        "where", "extract(hour from at) = 13 and date(at) = date '2024-02-29' and day(at) = 29"
    )
    asked = BoundedAggregation(unit=None, by=("row",), keys=keys, where=where, time_zone="Asia/Tokyo")
    for source in (source_of(table), source_of(pl.from_arrow(table))):
        check_columns(source, asked)
        assert source.aggregate(asked, 1).group.tolist() == [0]


@pytest.mark.parametrize("zone", ["CET", "Europe/Pari", "Mars/Crater", "../etc", "Europe/Paris'", "", 3])
def test_zones_are_named_as_everywhere(zone: Any) -> None:
    from pbdp.tables import Count, Query

    with pytest.raises(InputError, match="time_zone must be"):
        Query(one_row_per_person=True, measures=[Count(within=5)], delta=1e-6, time_zone=zone)
