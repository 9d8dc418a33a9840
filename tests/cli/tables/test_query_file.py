"""Query files: what they say, and every mistake in one."""

from __future__ import annotations

import copy
import datetime
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pbdp.cli.tables.asked import Asked, asked_of
from pbdp.cli.tables.query_file import settings_in
from pbdp.errors import InputError, PbdpError
from pbdp.tables.measures import Count, Sum
from pbdp.tables.numbers import numbers_of
from pbdp.tables.quotients import Mean
from tests.cli.commands import assert_refused, run
from tests.cli.toml_text import toml_text
from tests.cli.visits import QUERY, write_data, write_query

Capture = pytest.CaptureFixture[str]

FULL = """
data = "visits.parquet"          # relative to this file
unit = "user_id"
groups_per_person = 3
rows_per_group = 5
delta = 1e-6
confidence = 0.9

[by]
city = ["Paris", "Rome"]
month = "1..12"
day = [2024-01-01, 2024-01-02]
member = [true, false]

[visits]
kind = "count"
within = 50

[spend]
kind = "sum"
column = "spend"
low = -5
high = 100
within = "5%+500"
confidence = 0.99

[age]
kind = "mean"
column = "age"
low = 0
high = 100
within = 2
at_least = 1000

[heading]
kind = "people"
within = [10, 20]
name = "by"
"""


def asked(path: Path) -> Asked:
    return asked_of(settings_in(path), path.parent)


def test_everything_in_a_file_is_in_the_query(tmp_path: Path) -> None:
    path = tmp_path / "q.toml"
    path.write_text(FULL, encoding="utf-8")
    found = asked(path)
    query = found.query
    assert found.data == str(tmp_path / "visits.parquet")
    assert (query.unit, query.groups_per_person, query.rows_per_group) == ("user_id", 3, 5)
    assert query.groups is not None
    assert len(query.groups) == 2 * 12 * 2 * 2
    kinds = [column.kind for column in query.groups.columns.values()]
    assert kinds == ["text", "integer", "date", "boolean"]
    visits, spend, age, people = query.measures
    assert visits == Count(within=50.0, name="visits")
    assert spend == Sum(column="spend", low=-5.0, high=100.0, within="5%+500", confidence=0.99, name="spend")
    assert isinstance(age, Mean)
    assert (age.within, age.at_least) == (2.0, 1000)
    assert (people.name, people.within) == ("by", (10.0, 20.0))
    assert [query.confidence_of(measure) for measure in query.measures] == [0.9, 0.99, 0.9, 0.9]


def test_urls_are_left_as_they_are(tmp_path: Path) -> None:
    found = asked(write_query(tmp_path, data="postgresql://me@host/shop", table="visits"))
    assert (found.data, found.table) == ("postgresql://me@host/shop", "visits")


def test_keys_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text(
        "city,zip,code,open\nParis,75001,01,true\nRome,118,02,false\n", encoding="utf-8-sig"
    )
    found = asked(write_query(tmp_path, by=None, keys="cities.csv")).query
    assert found.columns == ("city", "zip", "code", "open")
    assert found.groups is not None
    kinds = {name: column.kind for name, column in found.groups.columns.items()}
    assert kinds == {"city": "text", "zip": "integer", "code": "text", "open": "boolean"}
    found = asked(write_query(tmp_path, by=["city", "zip"], keys="cities.csv", text_keys=["zip"])).query
    assert found.columns == ("city", "zip")
    assert found.groups is not None
    assert found.groups.columns["zip"].values.tolist() == ["75001", "118"]
    table = pa.table({"day": [datetime.date(2024, 1, 1)], "city": ["Paris"]})
    pq.write_table(table, tmp_path / "keys.parquet")
    found = asked(write_query(tmp_path, by={"day": "?", "city": "?"}, keys="keys.parquet")).query
    assert found.groups is not None
    assert [column.kind for column in found.groups.columns.values()] == ["date", "text"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a header"),
        ("city\n", "a header"),
        ("city,city\nParis,Rome\n", "each once"),
        ("city,\nParis,Rome\n", "each once"),
        ("city,zip\nParis\n", "row 2"),
        ("city\nParis\n\n\nRome,1\n", "row 3"),
        ("city,zip\nParis,\n", "an empty one"),
        ("city\nParis\nParis\n", "List every group once"),
        ('city\n"Paris\n', "CSV"),
        ("town\nParis\n", "no city"),
    ],
)
def test_broken_files_of_keys_are_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        asked(write_query(tmp_path, by=["city"], keys="cities.csv"))


@pytest.mark.parametrize(
    ("name", "words"),
    [("nowhere.csv", "readable"), ("keys.txt", ".csv or .parquet"), ("broken.parquet", "a Parquet file")],
)
def test_files_that_hold_no_keys_are_refused(name: str, words: str, tmp_path: Path) -> None:
    for made in ("keys.txt", "broken.parquet"):
        (tmp_path / made).write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=words):
        asked(write_query(tmp_path, by=["city"], keys=name))


MEASURE = {"kind": "sum", "column": "x", "low": 0, "high": 1, "within": 5}

MISTAKES: list[tuple[dict[str, Any], list[str]]] = [
    ({"unit": None}, ["unit must be given", "one_row_per_person", "a mistake breaks the guarantee"]),
    ({"one_row_per_person": True}, ["one at a time"]),
    ({"unit": None, "one_row_per_person": "yes"}, ["True or False"]),
    ({"unit": None, "one_row_per_person": True}, ["groups_per_person", "left out"]),
    ({"delta": None}, ["delta must be given"]),
    ({"delta": 5}, ["delta", "between 0 and 1"]),
    ({"groups_per_person": None}, ["In how many groups"]),
    ({"groups_per_person": "many"}, ["groups_per_person", "whole number"]),
    ({"rows_per_group": None}, ["rows_per_group must be given for visits"]),
    ({"visits": None}, ["measures must be given"]),
    ({"by": {"city": "?"}}, ["Which groups appear in the data is private too", "select"]),
    ({"by": ["city"]}, ["Which groups appear in the data is private too"]),
    ({"by": {"city": "Paris"}}, ['a list or a range; a range such as "1..12"']),
    ({"by": {"city": {"Paris": 1}}}, ["type dict"]),
    ({"by": {"city": "5..1"}}, ["ends after it starts"]),
    ({"by": {"city": "1..999999999999"}}, ["at most 50,000,000"]),
    ({"by": {"city": []}}, ["at least one"]),
    ({"by": {"city": ["Paris", 1]}}, ["of one kind"]),
    ({"by": {"city": ["Paris", "Paris"]}}, ["List every group once"]),
    ({"by": {"city": [1.5]}}, ["a fraction"]),
    ({"by": "city"}, ["columns, with their keys or without"]),
    ({"select": {"people": 100}}, ["keys for all of them"]),
    ({"select": {"persons": 100}}, ["among confidence, people"]),
    ({"select": 100}, ["a column without keys"]),
    ({"by": {"city": "?"}, "select": {"people": 1}}, ["at least 2"]),
    ({"epsilon": 1}, ["left out where all widths are given"]),
    ({"visits": {"kind": "count"}}, ["within of visits", "an epsilon"]),
    (
        {"visits": {"within": 50}},
        [
            "kind of [visits]",
            "count, people, sum, mean, ratio, variance, standard-deviation, median, quantile",
        ],
    ),
    ({"visits": {"kind": "mode", "within": 5}}, ["'mode'"]),
    ({"visits": {"kind": "count", "within": 50, "wihtin": 5}}, ["wihtin"]),
    ({"visits": {"kind": "count", "within": "5%"}}, ["At an answer of 0 a percentage alone"]),
    ({"visits": {"kind": "count", "within": -5}}, ["within", "above 0"]),
    ({"visits": {"kind": "count", "within": 50, "confidence": 95}}, ["confidence of visits"]),
    ({"visits": MEASURE | {"low": 5}}, ["low must be below high"]),
    ({"visits": MEASURE | {"low": None}}, ["low of visits", "given"]),
    ({"visits": MEASURE | {"low": "0"}}, ["low of visits", "finite number"]),
    ({"visits": MEASURE | {"column": 5}}, ["name of a column"]),
    ({"visits": MEASURE | {"per": "group"}}, ["row or person"]),
    ({"visits": MEASURE | {"whole": 1}}, ["whole of visits"]),
    ({"visits": MEASURE | {"kind": "mean"}}, ["at_least of visits"]),
    ({"visits": MEASURE | {"kind": "mean", "within": "5%+1", "at_least": 10}}, ["within of visits"]),
    ({"measures": {"visits": {"kind": "count", "within": 5}}}, ["write [visits], not [measures.visits]"]),
    ({"heads": {"kind": "people", "within": 5, "name": "visits"}}, ["different for every column"]),
    ({"city": {"kind": "people", "within": 5}}, ["different for every column", "city"]),
    ({"delta": {"kind": "count", "within": 5}}, ["delta must be given"]),
    ({"color": 5}, ["names before the first table", "color"]),
    ({"list": [{"kind": "count"}]}, ["names before the first table", "list"]),
    ({"text_keys": ["city"]}, ["used with a file of keys"]),
    ({"text_keys": "city", "keys": "c.csv"}, ["a list of columns"]),
    ({"data": 5}, ["data must be a text"]),
    ({"data": "\0"}, ["data must be a text"]),
    ({"neighbors": "swap"}, ["add/remove or replace"]),
    ({"most_rows": 2**62, "visits": MEASURE | {"high": 100, "whole": True}}, ["most_rows"]),
    ({"visits": MEASURE | {"low": -1e300, "high": 1e300}}, ["low and high"]),
]


@pytest.mark.parametrize(("changes", "words"), MISTAKES, ids=lambda part: str(part)[:60])
def test_every_mistake_is_refused_in_words(
    changes: dict[str, Any], words: list[str], tmp_path: Path, capsys: Capture
) -> None:
    cleaned: dict[str, Any] = {
        name: {key: part for key, part in value.items() if part is not None}
        if isinstance(value, dict)
        else value
        for name, value in changes.items()
    }
    path = write_query(tmp_path, **cleaned)
    write_data(tmp_path)
    assert_refused(run(capsys, "tables", str(path)), *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"delta = ", ["valid TOML"]),
        (b"\xff\xfe", ["text in UTF-8"]),
        (b"delta = 1\ndelta = 2", ["valid TOML"]),
        (b"delta = " + b"9" * 5000, ["valid TOML of a usual size"]),
        (b"delta = 0x" + b"f" * 5000, ["measures must be given"]),
        (b"delta = " + b"[" * 3000, ["TOML"]),
        (b"", ["measures must be given"]),
    ],
)
def test_files_that_are_no_toml_are_refused(
    text: bytes, words: list[str], tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "q.toml"
    path.write_bytes(text)
    assert_refused(run(capsys, "tables", str(path)), *words)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path, capsys: Capture) -> None:
    assert_refused(run(capsys, "tables", str(tmp_path / "no.toml")), "readable")
    (tmp_path / "folder.toml").mkdir()
    assert_refused(run(capsys, "tables", str(tmp_path / "folder.toml")), "readable")


def test_flags_of_the_query_beside_a_file_are_refused(tmp_path: Path, capsys: Capture) -> None:
    path = str(write_query(tmp_path))
    for flags in (["--epsilon", "1"], ["--count", "5"], ["--by", "city=Paris"], ["--one-row-per-person"]):
        assert_refused(run(capsys, "tables", path, *flags), "without flags that ask for more", flags[0])


RICH: dict[str, Any] = QUERY | {
    "by": {"city": ["Paris", "Rome"], "month": "1..12", "country": "?"},
    "select": {"people": 100, "confidence": 0.9},
    "heads": {"kind": "people", "within": "5%+10", "name": "p"},
    "spend": {**MEASURE, "within": [3, 5], "per": "row", "whole": False, "confidence": 0.9},
    "age": {"kind": "mean", "column": "age", "low": 0, "high": 100, "within": 2, "at_least": 1000},
}
ODD: list[Any] = [
    *(True, False, 0, -1, 1, 10**9, 2**62, -(2**63), 0.0, -0.0, 0.5, 5e-324, 1e308, -1e308),
    *(float("inf"), float("-inf"), float("nan"), "", " ", "\0", "x", "?", "..", "1..", "1..12", "5..1"),
    *("1..99999999999", "2024-01-01..2024-02-01", "2024-13-01..x", "5%", "100%+1", "5%+0", "1e-9%+5", "é\n"),
    *("~nobody/x", "/", "a" * 500, "replace", "person", "mean", [], [[]], [1, 2, 3], [1, "a"], ["a", "a"]),
    *([True, False], [1.5], [{}], {}, {"a": 1}, {"kind": []}, {"kind": "count", "within": {}}, ["city", 1]),
    *(datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 3), datetime.time(3)),
]
NAMES = [
    *(
        "data",
        "unit",
        "keys",
        "text_keys",
        "one_row_per_person",
        "epsilon",
        "neighbors",
        "most_rows",
        "table",
    ),
    *("by", "select", "visits", "new", "kind", "within", "name", "low", "high", "column", "per", "whole"),
    *("count_within", "at_least", "confidence", "city", "delta", "measures"),
]


def spoiled(choice: random.Random) -> dict[str, Any]:
    """A rich query with some of its values, at any depth, taken out, put in or exchanged for odd ones."""
    record = copy.deepcopy(RICH)
    for _ in range(choice.randint(1, 4)):
        inside = record
        while choice.random() < 0.6:
            tables = [value for value in inside.values() if isinstance(value, dict)]
            if not tables:
                break
            inside = choice.choice(tables)
        what = choice.random()
        if what < 0.4 or not inside:
            inside[choice.choice(NAMES)] = copy.deepcopy(choice.choice(ODD))
        elif what < 0.55:
            inside.pop(choice.choice(list(inside)))
        else:
            inside[choice.choice(list(inside))] = copy.deepcopy(choice.choice(ODD))
    return record


def test_odd_types_are_refused_and_nothing_else_happens(tmp_path: Path) -> None:
    choice, outcomes = random.Random(11), Counter[str]()
    path = tmp_path / "q.toml"
    for _ in range(1500):
        path.write_text(toml_text(spoiled(choice)), encoding="utf-8")
        try:
            numbers_of(asked(path).query.with_widths(1.0))
            outcomes["fine"] += 1
        except PbdpError:
            outcomes["refused"] += 1
    # both happen, so that neither is tested in vain
    assert min(outcomes["fine"], outcomes["refused"]) > 20


def test_top_is_a_number_or_a_table_and_a_measure_may_be_called_so(tmp_path: Path) -> None:
    by = {"city": ["Paris", "Rome", "Oslo"]}
    plain = asked(write_query(tmp_path, by=by, top=2)).query.listed
    said = asked(
        write_query(tmp_path, by=by, top={"groups": 2, "by": "visits", "within": 50, "confidence": 0.95})
    ).query.listed
    assert plain is not None
    assert plain == said
    named = asked(write_query(tmp_path, top={"kind": "count", "within": 50})).query
    assert named.listed is None
    assert [measure.name for measure in named.measures] == ["visits", "top"]
    for wrong in (0, 2.5, "2", [2], {"groups": "2"}, {"groups": 2, "within": "wide"}, {}):
        with pytest.raises(InputError, match="top"):
            asked(write_query(tmp_path, by=by, top=wrong))
