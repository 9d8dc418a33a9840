from __future__ import annotations

import datetime
import math
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from pbdp.errors import InputError, MissingPackageError
from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.tables.bounded import BoundedAggregation, Value
from pbdp.tables.engines.duckdb import DuckDBSource
from pbdp.tables.engines.interface import EngineError, Source, check_columns
from pbdp.tables.engines.sources import source_of
from pbdp.tables.keys import KeyTable, key_column
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
from tests.tables.forms import as_arrow, as_pandas, as_parquet
from tests.tables.random_tables import Case, random_case
from tests.tables.reference import as_reference, reference


def _source(data: Any, table: str | None = None) -> DuckDBSource:
    source = source_of(data, table)
    assert isinstance(source, DuckDBSource)
    return source


def _as_relation(case: Case, folder: Path) -> Source:
    connection = duckdb.connect(str(folder / "own.duckdb"))
    connection.register("arrow", as_arrow(case))
    connection.execute('CREATE OR REPLACE TABLE "a table" AS FROM arrow')
    return source_of(connection.table('"a table"'))


def _as_database(case: Case, folder: Path) -> Source:
    path = folder / "it's.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("arrow", as_arrow(case))
        connection.execute('CREATE SCHEMA shop; CREATE TABLE shop."the visits" AS FROM arrow')
    return source_of(path, 'shop."the visits"')


def _as_dataset(case: Case, folder: Path) -> Source:
    return source_of(ds.dataset(as_parquet(case, folder / "set.parquet")))


FORMS: dict[str, Callable[[Case, Path], Source]] = {
    "arrow": lambda case, _: source_of(as_arrow(case)),
    "pandas": lambda case, _: source_of(as_pandas(case)),
    "columns": lambda case, _: source_of(
        {name: as_arrow(case).column(name).combine_chunks() for name in case.held}
    ),
    "parquet": lambda case, folder: source_of(as_parquet(case, folder / "x.parquet")),
    "dataset": _as_dataset,
    "relation": _as_relation,
    "database": _as_database,
}


@pytest.mark.parametrize("form", FORMS)
def test_results_are_those_of_the_definition(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(list(FORMS).index(form))
    for _ in range(6):
        case = random_case(rng)
        assert answered(FORMS[form](case, tmp_path), case.asked) == reference(case.rows, case.asked)


@pytest.mark.parametrize("seed", range(2))
def test_who_is_in_too_many_groups_keeps_as_many_as_allowed(seed: int) -> None:
    one_by_one(lambda case: source_of(as_arrow(case)), seed)


def test_another_key_chooses_other_groups() -> None:
    cities = [f"city {number}" for number in range(50)]
    data = pa.table({"user": [1] * 50, "city": cities})
    asked = asking({"city": cities}, unit="user", groups=1)
    chosen = {next(iter(answered(source_of(data), asked, key))) for key in range(6)}
    assert len(chosen) > 2


def test_order_threads_and_partitions_change_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    case = random_case(rng, exceeding=True, unit=True, public=True, most_rows=400)
    expected = answered(source_of(as_arrow(case)), case.asked)
    assert expected
    for number in range(4):
        shuffled = case.shuffled(rng)
        as_parquet(shuffled, tmp_path / f"{number}.parquet", rows_in_group=1 + 50 * number)
        source = replace(_source(tmp_path / f"{number}.parquet"), threads=1 + number)
        assert answered(source, case.asked) == expected
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(5):
        as_parquet(replace(case, rows=case.rows[part::5]), folder / f"{part}.parquet")
    assert answered(source_of(folder), case.asked) == expected
    assert answered(source_of(folder / "*.parquet"), case.asked) == expected
    assert answered(source_of(sorted(folder.iterdir())), case.asked) == expected


@pytest.mark.parametrize("unit", ["person", None])
@pytest.mark.parametrize("by", [{}, {"g": ["x"]}])
def test_a_table_without_rows_has_no_groups(unit: str | None, by: dict[str, list[str]]) -> None:
    data = pa.table({"person": pa.array([], pa.int64()), "g": pa.array([], pa.string())})
    assert answered(source_of(data), asking(by, unit=unit, groups=1)) == {}
    selection = BoundedAggregation(unit=unit, by=tuple(by), keys=None, rows_per_group=1)
    assert answered(source_of(data), selection) == {}


def test_rows_outside_the_keys_make_no_group_and_use_up_no_bound() -> None:
    data = pa.table({"user": [1] * 100, "city": [f"elsewhere {n}" for n in range(99)] + ["Rome"]})
    assert answered(source_of(data), asking({"city": ["Paris"]}, unit="user", groups=1)) == {}
    assert people(answered(source_of(data), asking({"city": ["Rome"]}, unit="user", groups=1))) == {
        ("Rome",): 1
    }


def test_nan_and_null_are_nobody() -> None:
    user = pa.array([1.0, math.nan, None, 1.0, -0.0, 0.0])
    data = pa.table({"user": user, "city": ["Rome"] * 6})
    assert people(answered(source_of(data), asking({"city": ["Rome"]}, unit="user"))) == {("Rome",): 2}
    frame = pd.DataFrame({"user": user.to_pandas(), "city": ["Rome"] * 6})
    assert people(answered(source_of(frame), asking({"city": ["Rome"]}, unit="user"))) == {("Rome",): 2}


def test_whole_keys_meet_floats_exactly() -> None:
    big = 2**53
    numbers = pa.array([float(big), float(big + 2), 1.0, 1.5, math.nan, math.inf, -(2.0**63), 2.0**63, None])
    keys = [big, big + 1, big + 2, 1, 2, -(2**63), 2**63 - 1]
    expected = {(big,): 1, (big + 2,): 1, (1,): 1, (-(2**63),): 1}
    assert people(answered(source_of(pa.table({"n": numbers})), asking({"n": keys}))) == expected


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([2**64 - 1, 3, None], pa.uint64()), {(3,): 1}),
        (pa.array([-128, 3, 3], pa.int8()), {(3,): 2}),
        (pa.array([3.0, 3.5, 0.1], pa.float32()), {(3,): 1}),
        (pa.array([Decimal("3.00"), Decimal("3.01")], pa.decimal128(5, 2)), {(3,): 1}),
        (pa.array([Decimal(3), Decimal(10) ** 37], pa.decimal128(38, 0)), {(3,): 1}),
        (pa.array([Decimal("3") + Decimal(10) ** -30, Decimal("7.5")], pa.decimal128(38, 30)), {(3,): 1}),
    ],
)
def test_whole_keys_meet_numbers_of_every_type(array: pa.Array, expected: dict[tuple[int], int]) -> None:
    found = answered(source_of(pa.table({"n": array})), asking({"n": [3, 4, -(2**63), 2**63 - 1]}))
    assert people(found) == expected


def test_values_of_every_type_count_in_the_same_steps() -> None:
    digits = [Decimal("12.345"), Decimal("-1e9"), Decimal("99999999.999"), Decimal("0.125"), None]
    columns = {
        "decimal": pa.array(digits, pa.decimal128(15, 3)),
        "wide": pa.array(digits, pa.decimal128(38, 20)),
        "float": pa.array([None if x is None else float(x) for x in digits], pa.float64()),
    }
    asked = asking({}, values=[value("x", -50, 100)])
    expected = reference([{"x": x} for x in digits], asked)
    for column in columns.values():
        assert answered(source_of(pa.table({"x": column})), asked) == expected
    floats = [0.1, 1e30, -3.25, math.nan]
    single = pa.table({"x": pa.array(floats, pa.float32())})
    rows = [{"x": float(np.float32(x))} for x in floats]
    assert answered(source_of(single), asked) == reference(rows, asked)


@pytest.mark.parametrize(
    ("kind", "digits"), [("DECIMAL(38,0)", 37), ("DECIMAL(38,7)", 30), ("DECIMAL(18,2)", 16), ("HUGEINT", 38)]
)
def test_wide_numbers_become_the_nearest_doubles(kind: str, digits: int) -> None:
    """The steps are nearly as fine as the last digit of a double."""
    rng = random.Random(0)
    fraction = "" if kind in ("HUGEINT", "DECIMAL(38,0)") else ".37"
    written = [f"{rng.choice('+-')}{rng.randrange(10**digits)}{fraction}" for _ in range(3000)]
    numbers = [float(Decimal(text)) for text in written]
    bounds = FixedPoint(low=min(numbers), high=max(numbers), most_rows=3000)
    asked = asking({}, values=[Value(column="x", fixed=bounds)])
    with duckdb.connect() as connection:
        relation = connection.from_arrow(pa.table({"x": written})).project(f"CAST(x AS {kind}) AS x")
        assert answered(source_of(relation), asked) == reference([{"x": x} for x in numbers], asked)


def test_days_without_end_are_no_group(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits (day DATE)")
        connection.execute("INSERT INTO visits VALUES ('infinity'), ('-infinity'), ('2024-02-29')")
    selection = BoundedAggregation(unit=None, by=("day",), keys=None, rows_per_group=1)
    assert set(answered(source_of(path, "visits"), selection)) == {(datetime.date(2024, 2, 29),)}


def test_a_column_that_ignores_case_does_not_count_rows_twice(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits (user INTEGER, city VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO visits VALUES (1, 'Paris'), (2, 'paris'), (3, 'PARIS')")
    found = answered(source_of(path, "visits"), asking({"city": ["Paris", "paris"]}, unit="user"))
    assert people(found) == {("Paris",): 1, ("paris",): 1}
    selection = BoundedAggregation(unit="user", by=("city",), keys=None, rows_per_group=1)
    assert len(answered(source_of(path, "visits"), selection)) == 3


def test_text_keys_may_hold_anything() -> None:
    keys = [
        "",
        " ",
        "'; DROP TABLE data; --",
        '"',
        "two\nlines",
        "tab\t",
        "🙂",
        "a\\",
        "%s",
        "{x}",
        "\0",
        "NULL",
    ]
    data = pa.table({"city": [*keys, None, "other"]})
    assert people(answered(source_of(data), asking({"city": keys}))) == {(key,): 1 for key in keys}
    selection = BoundedAggregation(unit=None, by=("city",), keys=None)
    assert set(answered(source_of(data), selection)) == {(key,) for key in [*keys, "other"]}


def test_columns_may_have_any_name() -> None:
    names = [
        "g",
        "p",
        "h",
        "d",
        "k0",
        "v0",
        "t0",
        "data",
        "keys0",
        "select",
        'a"b',
        "it's",
        "☃",
        "a.b",
        " ",
        "n",
        "source",
        "x;--",
    ]
    source = source_of(pa.table({name: [1, 2, 2] for name in names}))
    for name in names:
        asked = asking({name: [1, 2]}, unit=name, values=[value(name, 0, 10, whole=True)], groups=2)
        assert sums(as_reference(source.aggregate(asked, CHOICE_KEY), asked)) == {(1,): (1,), (2,): (4,)}


def test_columns_that_differ_in_case_alone_are_told_apart_or_refused(tmp_path: Path) -> None:
    data = pa.table({"City": ["Rome"], "city": ["Paris"], "user": [1]})
    assert people(answered(source_of(data), asking({"city": ["Paris"]}))) == {("Paris",): 1}
    assert people(answered(source_of(data), asking({"City": ["Rome"]}))) == {("Rome",): 1}
    with pytest.raises(InputError, match="different in more than upper and lower case; got City, city"):
        answered(source_of(data), asking({"city": ["Paris"], "City": ["Rome"]}))
    pq.write_table(data, tmp_path / "x.parquet")
    for other in (ds.dataset(data), ds.dataset(tmp_path / "x.parquet"), duckdb.from_arrow(data)):
        assert people(answered(source_of(other), asking({}, unit="user"))) == {(): 1}
        with pytest.raises(InputError):
            answered(source_of(other), asking({"city": ["Paris"]}))
    # DuckDB gives one of them another name, and that one is not taken for it
    with pytest.raises(InputError, match="columns must be among"):
        answered(source_of(tmp_path / "x.parquet"), asking({"city": ["Paris"]}))
    assert people(answered(source_of(tmp_path / "x.parquet"), asking({"City": ["Rome"]}))) == {("Rome",): 1}


def test_sums_that_do_not_fit_are_refused() -> None:
    one = Value(column="x", fixed=FixedPoint(low=0.0, high=1.0, most_rows=1))
    data = pa.table({"x": np.ones(40_000), "user": np.arange(40_000)})
    assert one.fixed.high_steps * 40_000 > 2**63
    for unit in ("user", None):
        with pytest.raises(EngineError, match="ConversionException"):
            answered(source_of(data), asking({}, unit=unit, values=[one]))


def test_kinds_come_from_the_schema() -> None:
    data = pa.table(
        {
            "text": pa.array([], pa.large_string()),
            "category": pa.array([], pa.dictionary(pa.int8(), pa.string())),
            "whole": pa.array([], pa.uint16()),
            "number": pa.array([], pa.float32()),
            "decimal": pa.array([], pa.decimal128(9, 2)),
            "whole decimal": pa.array([], pa.decimal128(9, 0)),
            "flag": pa.array([], pa.bool_()),
            "day": pa.array([], pa.date32()),
            "time": pa.array([], pa.timestamp("us", tz="UTC")),
            "nothing": pa.array([], pa.null()),
            "list": pa.array([], pa.list_(pa.int8())),
            "huge": pa.array([], pa.decimal256(60, 2)),
        }
    )
    assert source_of(data).kinds() == {
        "text": "text",
        "category": "text",
        "whole": "integer",
        "number": "number",
        "decimal": "number",
        "whole decimal": "integer",
        "flag": "boolean",
        "day": "date",
        "time": "zoned",
        "nothing": "untyped",
        "list": "other",
        "huge": "other",
    }


def test_pandas_columns_of_objects_are_told_by_what_they_hold() -> None:
    frame = pd.DataFrame(
        {
            "text": pd.Series(["a", None], dtype=object),
            "day": pd.Series([datetime.date(2024, 2, 29), None], dtype=object),
            "category": pd.Categorical(["x", "y"]),
            "money": pd.Series([Decimal("1.50"), None], dtype=object),
            "mixed": pd.Series([1, SECRET], dtype=object),
            "nothing": pd.Series([None, None], dtype=object),
            7: [1, 2],
        }
    )
    kinds = source_of(frame).kinds()
    assert kinds == {
        "text": "text",
        "day": "date",
        "category": "text",
        "money": "number",
        "mixed": "other",
        "nothing": "untyped",
        "7": "integer",
    }
    day = datetime.date(2024, 2, 29)
    assert people(answered(source_of(frame), asking({"day": [day], "category": ["x"]}))) == {(day, "x"): 1}
    assert people(answered(source_of(frame), asking({"7": [1, 2]}, values=[value("nothing", 0, 1)]))) == {
        (1,): 1,
        (2,): 1,
    }
    with pytest.raises(InputError, match="column mixed") as refused:
        answered(source_of(frame), asking({}, unit="mixed"))
    hides(refused.value)


def test_whole_numbers_beyond_doubles_stay_apart() -> None:
    keys = [2**53, 2**53 + 1, 2**63 - 1]
    data = pa.table({"id": pa.array([*keys, 2**53 + 2, None], pa.int64())})
    assert people(answered(source_of(data), asking({"id": keys}, unit="id"))) == {(key,): 1 for key in keys}


def test_what_does_not_fit_into_memory_goes_where_nobody_looks_and_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    count = 1_000_000
    columns = {"user": rng.integers(0, 100_000, count), "city": rng.integers(0, 50, count)}
    frame = pa.table({**columns, "x": rng.random(count)})
    path = tmp_path / "x.parquet"
    pq.write_table(frame, path)
    asked = asking({"city": range(50)}, unit="user", groups=3, values=[value("x", 0, 1)])
    expected = answered(source_of(frame), asked)
    spills = tmp_path / "spills"
    spills.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(spills))
    seen = []
    connect = duckdb.connect

    def connected(*, config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        folder = Path(config["temp_directory"])
        seen.append((folder.parent, folder.stat().st_mode & 0o777))
        return connect(config=config)

    def nowhere_to_spill(*, config: dict[str, Any]) -> duckdb.DuckDBPyConnection:
        return connect(config={**config, "temp_directory": ""})

    limited = replace(_source(path), memory_limit="25MB", threads=1)
    monkeypatch.setattr(duckdb, "connect", connected)
    assert answered(limited, asked) == expected
    assert set(seen) == {(spills, 0o700)}
    assert list(spills.iterdir()) == []
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["spills", "x.parquet"]
    # it did have to write
    monkeypatch.setattr(duckdb, "connect", nowhere_to_spill)
    with pytest.raises(EngineError, match="OutOfMemoryException"):
        answered(limited, asked)


def test_too_little_memory_is_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": np.arange(500_000)}), tmp_path / "x.parquet")
    limited = replace(_source(tmp_path / "x.parquet"), memory_limit="1MB")
    with pytest.raises(EngineError, match=r"OutOfMemoryException.*more memory"):
        answered(limited, asking({}, unit="user"))


def test_many_groups(tmp_path: Path) -> None:
    count = 300_000
    ids = np.random.default_rng(0).permutation(count)
    pq.write_table(pa.table({"id": ids}), tmp_path / "x.parquet")
    asked = asking({"id": range(count)}, unit="id", groups=1, values=[value("id", 0, 2**20, whole=True)])
    found = source_of(tmp_path / "x.parquet").aggregate(asked, CHOICE_KEY)
    assert np.array_equal(np.sort(found.group), np.arange(count))
    assert np.array_equal(found.sums[0], found.group)
    assert found.people.sum() == count


def test_a_broken_file_is_told_without_its_content(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1" + SECRET.encode() + b"PAR1")
    with pytest.raises(EngineError, match="DuckDB") as refused:
        source_of(path).kinds()
    hides(refused.value)


def test_a_relation_that_fails_is_told_without_its_values() -> None:
    with duckdb.connect() as connection:
        relation = connection.sql(
            f"SELECT CAST(x AS INTEGER) AS user FROM (VALUES ('1'), ('{SECRET}')) AS t(x)"  # noqa: S608
        )
        with pytest.raises(EngineError) as refused:
            answered(source_of(relation), asking({}, unit="user"))
    hides(refused.value)


def test_a_database_is_opened_for_reading_only(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 1 AS user; CREATE VIEW seen AS FROM visits")
    before = path.read_bytes()
    assert people(answered(source_of(path, "main.seen"), asking({}, unit="user"))) == {(): 1}
    assert path.read_bytes() == before
    with pytest.raises(EngineError, match=r"CatalogException.*Is the table in this database"):
        source_of(path, "nothing").kinds()


def test_columns_that_are_missing_are_refused_by_the_schema() -> None:
    source = source_of(pa.table({"city": ["Rome"]}))
    with pytest.raises(InputError, match="columns must be among"):
        check_columns(source, asking({"City": ["Rome"]}))


def test_a_selection_restricted_to_public_values() -> None:
    data = pa.table({"year": [2023.0, 2024.0, 2024.0, 2024.5], "city": ["Rome", "Rome", "Paris", "Rome"]})
    only = KeyTable(columns={"year": key_column("year", [2024, 2025])})
    asked = BoundedAggregation(unit=None, by=("city", "year"), keys=None, only=(only,))
    source = source_of(data)
    check_columns(source, asked)
    found = source.aggregate(asked, CHOICE_KEY).found
    assert found is not None
    assert {name: column.kind for name, column in found.columns.items()} == {
        "city": "text",
        "year": "integer",
    }
    assert sorted(answered(source, asked)) == [("Paris", 2024), ("Rome", 2024)]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(pa.table({"city": ["Rome"]}))
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingPackageError, match=r"duckdb.*pip install 'pbdp\[tables\]'"):
        source.kinds()
