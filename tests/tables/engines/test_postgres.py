from __future__ import annotations

import datetime
import math
import os
from decimal import Decimal
from itertools import count
from typing import Any

import numpy as np
import psycopg
import pytest

from pbdp.errors import InputError
from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.tables.bounded import BoundedAggregation, Value
from pbdp.tables.engines.dialects import POSTGRES
from pbdp.tables.engines.interface import EngineError, Source
from pbdp.tables.engines.postgres import PostgresSource
from pbdp.tables.engines.sources import source_of
from tests.tables.engines.asking import (
    CHOICE_KEY,
    SECRET,
    answered,
    asking,
    hides,
    one_by_one,
    people,
    sums,
    value,
)
from tests.tables.engines.changes import ASKED, COLUMNS, OTHERS, ROWS
from tests.tables.random_tables import Case, random_case
from tests.tables.reference import reference

TYPES = {"text": "text", "integer": "bigint", "number": "float8", "boolean": "boolean", "date": "date"}
_numbers = count()


@pytest.fixture(scope="module")
def url(postgres: str) -> str:
    """The URL of a database, in which tables have names of their own."""
    return postgres


def _made(url: str, columns: dict[str, str], rows: list[tuple[Any, ...]], name: str | None = None) -> Source:
    """A table of these columns and rows."""
    name = name or f"the table {os.getpid()}.{next(_numbers)}"
    with psycopg.connect(url) as connection:
        written = ", ".join(f"{POSTGRES.name(column)} {kind}" for column, kind in columns.items())
        connection.execute(f"CREATE TABLE {POSTGRES.name(name)} ({written})".encode())
        with connection.cursor().copy(f"COPY {POSTGRES.name(name)} FROM STDIN".encode()) as copy:
            for row in rows:
                copy.write_row(row)
    return source_of(url, POSTGRES.name(name))


def _of_case(url: str, case: Case) -> Source:
    columns = {name: TYPES[held] for name, held in case.held.items()}
    return _made(url, columns, [tuple(row[name] for name in case.held) for row in case.rows])


def test_results_are_those_of_the_definition(url: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        case = random_case(rng)
        assert answered(_of_case(url, case), case.asked) == reference(case.rows, case.asked)


@pytest.mark.parametrize("seed", range(3))
def test_who_is_in_too_many_groups_keeps_as_many_as_allowed(url: str, seed: int) -> None:
    one_by_one(lambda case: _of_case(url, case), seed)


def test_order_and_partitions_change_nothing(url: str) -> None:
    rng = np.random.default_rng(2)
    case = random_case(rng, exceeding=True, unit=True, public=True, most_rows=400)
    expected = answered(_of_case(url, case), case.asked)
    assert expected
    for _ in range(3):
        assert answered(_of_case(url, case.shuffled(rng)), case.asked) == expected
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE whole (part int, x bigint) PARTITION BY LIST (part)")
        connection.execute("CREATE TABLE part1 PARTITION OF whole FOR VALUES IN (1)")
        connection.execute("CREATE TABLE part2 PARTITION OF whole DEFAULT")
        connection.execute("INSERT INTO whole SELECT i % 4, i FROM generate_series(1, 100) AS i")
    assert people(answered(source_of(url, "whole"), asking({"part": [1, 2, 3]}))) == {
        (1,): 25,
        (2,): 25,
        (3,): 25,
    }


def test_kinds_come_from_the_catalog(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA \"My Shop\"; CREATE TYPE color AS ENUM ('red', 'blue')")
        connection.execute("CREATE DOMAIN age AS int2 CHECK (VALUE >= 0); CREATE DOMAIN old AS age")
        connection.execute(
            'CREATE TABLE "My Shop"."Visits" (a int2, b int4, c int8, d numeric(9, 2), e float4, f float8, '
            "g text, h varchar(9), i char(9), j bool, k date, l timestamp, m timestamptz, n time, o color, "
            "p uuid, q old, r json, s int[], gone int)"
        )
        connection.execute('ALTER TABLE "My Shop"."Visits" DROP COLUMN gone')
        connection.execute('CREATE VIEW "My Shop".seen AS SELECT a, o FROM "My Shop"."Visits"')
    kinds = source_of(url, '"My Shop"."Visits"').kinds()
    assert "".join(kinds) == "abcdefghijklmnopqrs"
    expected = "iiinnntttbdTZotoioo"
    told = {
        "i": "integer",
        "n": "number",
        "t": "text",
        "b": "boolean",
        "d": "date",
        "T": "time",
        "Z": "zoned",
        "o": "other",
    }
    assert list(kinds.values()) == [told[letter] for letter in expected]
    assert source_of(url, "My Shop.seen").kinds() == {"a": "integer", "o": "text"}


def test_keys_and_units_of_every_type(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TYPE size AS ENUM ('small', 'large')")
        connection.execute("CREATE TABLE typed (unit uuid, size size, padded char(9), day date, flag bool)")
        connection.execute(
            "INSERT INTO typed VALUES (gen_random_uuid(), 'small', 'Rome', '2024-02-29', true), "
            "(gen_random_uuid(), 'small', 'Rome', 'infinity', false), "
            "(NULL, 'large', NULL, '-infinity', true), "
            "(gen_random_uuid(), NULL, 'rome', '0044-03-15 BC', NULL)"
        )
    source = source_of(url, "typed")
    assert people(answered(source, asking({"size": ["small", "large"]}, unit="unit", groups=1))) == {
        ("small",): 2
    }
    assert people(answered(source, asking({"padded": ["Rome"]}, unit="unit"))) == {("Rome",): 2}
    day = datetime.date(2024, 2, 29)
    assert people(answered(source, asking({"day": [day], "flag": [True, False]}, unit="unit"))) == {
        (day, True): 1
    }
    selection = BoundedAggregation(unit="unit", by=("day",), keys=None, rows_per_group=1)
    found = source.aggregate(selection, CHOICE_KEY).found
    assert found is not None
    assert sorted(found.columns["day"].values.astype(str).tolist()) == ["-043-03-15", "2024-02-29"]


def test_numeric_values_of_any_size(url: str) -> None:
    written = [
        "1e400",
        "-1e400",
        "1e-400",
        "-1e-400",
        "NaN",
        "Infinity",
        "-Infinity",
        None,
        "0.1",
        "1e-16000",
    ]
    numbers = [Decimal(x) if x not in (None, "NaN") else None for x in written]
    source = _made(url, {"x": "numeric"}, [(x,) for x in written])
    for low, high in ((-3.7, 8.1), (-1e280, 1e270), (1e-280, 2e-280)):
        asked = asking({}, values=[value("x", low, high), value("x", low, high, per="person")])
        rows = [{"x": None if x is None else _double(x)} for x in numbers]
        assert answered(source, asked) == reference(rows, asked)


def _double(number: Decimal) -> float:
    return (
        math.copysign(math.inf, number)
        if number.is_infinite() or abs(number) > Decimal("1e308")
        else float(number)
    )


def test_doubles_that_vanish_beside_the_step_are_no_error(url: str) -> None:
    """A product of two doubles that underflows is an error in PostgreSQL."""
    tiny = [5e-324, -5e-324, 1e-300, -0.0, 0.0, math.nan, math.inf, -math.inf, 1.7976931348623157e308, 3e249]
    source = _made(url, {"x": "float8", "user": "int"}, [(x, n % 4) for n, x in enumerate(tiny)])
    for unit in ("user", None):
        asked = asking(
            {}, unit=unit, values=[value("x", -1e250, 1e260), value("x", -1e250, 1e260, per="person")]
        )
        assert asked.values[0].fixed.per_unit < 1e-200
        rows = [{"x": x, "user": n % 4} for n, x in enumerate(tiny)]
        assert answered(source, asked) == reference(rows, asked)


def test_whole_keys_meet_numbers_exactly(url: str) -> None:
    big = 2**53
    keys = [big, big + 1, 1, 2, -(2**63), 2**63 - 1]
    floats = [float(big), 1.0, 1.5, math.nan, math.inf, -(2.0**63), 2.0**63, None, 1e300]
    source = _made(url, {"n": "float8"}, [(x,) for x in floats])
    assert people(answered(source, asking({"n": keys}))) == {(big,): 1, (1,): 1, (-(2**63),): 1}
    decimals = [
        "1.0",
        "1.00000000000000000001",
        str(big + 1),
        str(2**63 - 1),
        str(2**63),
        "NaN",
        "1e400",
        None,
    ]
    source = _made(url, {"n": "numeric"}, [(x,) for x in decimals])
    assert people(answered(source, asking({"n": keys}))) == {(1,): 1, (big + 1,): 1, (2**63 - 1,): 1}


def test_nan_and_null_are_nobody(url: str) -> None:
    users = [1.0, math.nan, None, 1.0, -0.0, 0.0]
    for kind in ("float8", "numeric", "float4"):
        source = _made(url, {"user": kind}, [(user,) for user in users])
        assert people(answered(source, asking({}, unit="user"))) == {(): 2}


def test_text_keys_may_hold_anything(url: str) -> None:
    keys = [
        "",
        " ",
        "'; DROP TABLE x; --",
        '"',
        "two\nlines",
        "\r\n",
        "tab\t",
        "🙂",
        "a\\",
        "\\N",
        "\\.",
        "%s",
        "NULL",
        "t",
    ]
    source = _made(url, {"city": "text"}, [(key,) for key in [*keys, None, "other"]])
    assert people(answered(source, asking({"city": keys}))) == {(key,): 1 for key in keys}
    selection = BoundedAggregation(unit=None, by=("city",), keys=None)
    assert set(answered(source, selection)) == {(key,) for key in [*keys, "other"]}
    with pytest.raises(InputError, match="NUL"):
        answered(source, asking({"city": ["\0"]}))


def test_columns_may_have_any_name(url: str) -> None:
    names = [
        "g",
        "p",
        "h",
        "d",
        "k0",
        "v0",
        "t0",
        "keys0",
        "select",
        'a"b',
        "it's",
        "☃",
        "a.b",
        " ",
        "%s",
        "x;--",
    ]
    source = _made(url, dict.fromkeys(names, "int"), [(n,) * len(names) for n in (1, 2, 2)], name="keys0")
    for name in names:
        asked = asking({name: [1, 2]}, unit=name, values=[value(name, 0, 10, whole=True)], groups=2)
        assert sums(answered(source, asked)) == {(1,): (1,), (2,): (4,)}


def test_functions_in_the_way_are_not_called(url: str) -> None:
    """Somebody may have put functions of their own before the system's."""
    source = _made(url, {"x": "float8"}, [(1.0,), (2.0,)], name="shadowed")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA trap")
        connection.execute(
            "CREATE FUNCTION trap.floor(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 1e9::float8'"
        )
    url_with_trap = f"{url}?options=-csearch_path%3Dtrap,pg_catalog,public"
    asked = asking({}, values=[value("x", 0, 10, whole=True)])
    assert (
        sums(answered(source_of(url_with_trap, "shadowed"), asked))
        == sums(answered(source, asked))
        == {(): (3,)}
    )


def test_sums_that_do_not_fit_are_refused(url: str) -> None:
    one = Value(column="x", fixed=FixedPoint(low=0.0, high=1.0, most_rows=1))
    source = _made(url, {"x": "float8"}, [(1.0,)] * 40_000)
    assert one.fixed.high_steps * 40_000 > 2**63
    with pytest.raises(EngineError, match="NumericValueOutOfRange"):
        answered(source, asking({}, values=[one]))


def test_many_groups(url: str) -> None:
    number = 50_000
    with psycopg.connect(url) as connection:
        connection.execute(
            f"CREATE TABLE many AS SELECT i AS id FROM generate_series(0, {number - 1}) AS i".encode()  # noqa: S608
        )
    asked = asking({"id": range(number)}, unit="id", groups=1, values=[value("id", 0, 2**20, whole=True)])
    found = source_of(url, "many").aggregate(asked, CHOICE_KEY)
    assert np.array_equal(np.sort(found.group), np.arange(number))
    assert np.array_equal(found.sums[0], found.group)


def test_nothing_is_left_or_changed(url: str) -> None:
    source = _made(url, {"city": "text"}, [("Rome",)])
    before = _objects(url)
    answered(source, asking({"city": ["Rome"]}))
    assert _objects(url) == before


def _objects(url: str) -> set[tuple[str, ...]]:
    with psycopg.connect(url) as connection:
        query = "SELECT relname, relkind::text FROM pg_class WHERE relname !~ '^pg_toast'"
        return {tuple(row) for row in connection.execute(query)}


def test_a_view_that_fails_is_told_without_its_values(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE raw (x text)")
        connection.execute("INSERT INTO raw VALUES ('1'), (%s)", (SECRET,))
        connection.execute("CREATE VIEW cast_rows AS SELECT x::int AS x FROM raw")
    with pytest.raises(EngineError, match="InvalidTextRepresentation") as refused:
        answered(source_of(url, "cast_rows"), asking({}, values=[value("x", 0, 1)]))
    hides(refused.value)


@pytest.mark.parametrize("table", ["nothing", "nowhere.visits", "Visits", "pg_class_oid_index"])
def test_a_missing_table_is_told(url: str, table: str) -> None:
    with pytest.raises(InputError, match="a table or view of the database"):
        source_of(url, table).kinds()


def test_passwords_are_never_told(url: str) -> None:
    refused = []
    for wrong in (
        f"postgresql://ann:{SECRET}@127.0.0.1:1/shop",
        f"postgresql://ann:{SECRET}@host:x y/shop",
        f"postgresql://127.0.0.1:1/shop?password={SECRET}",
    ):
        source = PostgresSource(url=wrong, table="visits")
        assert SECRET not in repr(source)
        for ask in (source.kinds, lambda source=source: source.engine, lambda source=source: source.place):
            try:
                refused.append(str(ask()))
            except (EngineError, InputError) as error:
                refused.append(f"{error} {error.__context__}")
    assert len(refused) == 9
    assert not any(SECRET in text for text in refused)
    assert "Check the URL" in refused[0]
    assert source_of(url, "x").engine.startswith("PostgreSQL 1")


def test_a_user_without_temporary_tables_is_told(url: str) -> None:
    _made(url, {"city": "text"}, [("Rome",)], name="limited")
    with psycopg.connect(url) as connection:
        connection.execute("REVOKE TEMP ON DATABASE postgres FROM PUBLIC")
        connection.execute("CREATE ROLE reader LOGIN; GRANT SELECT ON limited TO reader")
    source = source_of(url.replace("pbdp@", "reader@"), "limited")
    assert source.kinds() == {"city": "text"}
    with pytest.raises(EngineError, match="TEMP on the database"):
        answered(source, asking({"city": ["Rome"]}))


def test_rows_have_one_digest_in_any_order_and_other_rows_another(url: str) -> None:
    digest = _made(url, COLUMNS, list(ROWS)).digest(ASKED)
    assert _made(url, COLUMNS, list(ROWS[::-1])).digest(ASKED) == digest
    for change, rows in OTHERS.items():
        assert _made(url, COLUMNS, list(rows)).digest(ASKED) != digest, change
