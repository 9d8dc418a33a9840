"""Queries as flags: the same questions as in a file, keys as people write them, and every mistake."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from pbdp.cli.main import parser
from pbdp.cli.tables.asked import asked_of
from pbdp.cli.tables.flags import settings_of
from pbdp.cli.tables.query_file import settings_in
from pbdp.tables.query import Query
from pbdp.tables.query_record import query_text
from tests.cli.commands import assert_refused, run
from tests.cli.visits import COUNT, FLAGS, write_query

Capture = pytest.CaptureFixture[str]


def options(*flags: str) -> argparse.Namespace:
    return parser().parse_args(["tables", "visits.csv", *flags])


def query(*flags: str) -> Query:
    return asked_of(settings_of(options(*flags)), Path()).query


def test_flags_say_the_same_as_a_file(tmp_path: Path) -> None:
    flags = [*FLAGS, "--by", "city=Paris,Rome", "--by", "month=1..12", "--by", "day=2024-01-01..2024-01-03"]
    flags += ["--count", "50", "name=visits", "--people", "5%+20", "confidence=0.9", "--confidence", "0.8"]
    flags += ["--sum", "spend", "-5", "1e2", "5%+500", "per=person", "whole=true"]
    flags += ["--mean", "age", "0", "100", "2", "1000", "--mean", "size", "-.5", "1", "count_within=60"]
    path = write_query(
        tmp_path,
        by={"city": ["Paris", "Rome"], "month": "1..12", "day": "2024-01-01..2024-01-03"},
        confidence=0.8,
        people={"kind": "people", "within": "5%+20", "confidence": 0.9},
        sum_spend={
            "kind": "sum",
            "column": "spend",
            "low": -5,
            "high": 100,
            "within": "5%+500",
            "per": "person",
            "whole": True,
        },
        mean_age={"kind": "mean", "column": "age", "low": 0, "high": 100, "within": 2, "at_least": 1000},
        mean_size={"kind": "mean", "column": "size", "low": -0.5, "high": 1, "count_within": 60},
    )
    in_file = asked_of(settings_in(path), tmp_path).query
    assert query_text(query(*flags)) == query_text(in_file)


def test_a_selection_in_flags() -> None:
    made = query(*FLAGS, "--by", "city=?", "--by", "month=1..3", "--select", "50", "--people", "20")
    assert made.select is not None
    assert (made.select.people, made.select.confidence) == (50, 0.95)
    assert [list(table.columns) for table in made.only] == [["month"]]
    surer = query(*FLAGS, "--by", "city", "--select", "50", "confidence=0.99", "--people", "20")
    assert surer.select is not None
    assert surer.select.confidence == 0.99


@pytest.mark.parametrize("width", [["--people"], ["--people", "?"], ["--people", "name=n"]])
def test_widths_may_be_left_open_with_an_epsilon(width: list[str]) -> None:
    assert query(*FLAGS, "--by", "city=Paris", *width, "--epsilon", "1").measures[0].within is None


def test_keys_of_flags_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("keys.csv").write_text("city,zip\nParis,75001\n", encoding="utf-8")
    made = query(*FLAGS, "--keys", "keys.csv", "--text-keys", "zip", "--people", "20")
    assert made.groups is not None
    assert made.groups.columns["zip"].values.tolist() == ["75001"]


def test_keys_can_be_said_to_be_text() -> None:
    made = query(*FLAGS, "--by", 'zip="75001",118', "--people", "5")
    assert made.groups is not None
    assert made.groups.columns["zip"].kind == "text"


def test_repeated_columns_add_keys() -> None:
    made = query(
        *FLAGS, "--by", 'city="Washington, DC"', "--by", "month=1", "--by", "city=Rome", "--people", "5"
    )
    assert made.groups is not None
    assert made.groups.columns["city"].values.tolist() == ["Washington, DC", "Rome"]
    assert made.columns == ("city", "month")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], ["measures must be at least one"]),
        (FLAGS, ["measures must be at least one", "--count 50"]),
        ([*FLAGS, "--count", "50", "visits.csv"], ["followed by WITHIN", "Put the data before the flags"]),
        ([*FLAGS, "--sum", "spend", "0"], ["followed by COLUMN LOW HIGH WITHIN"]),
        ([*FLAGS, "--sum", "spend", "0", "ten", "5"], ["high of --sum", "'ten'"]),
        ([*FLAGS, "--sum", "spend", "5", "5", "5"], ["low must be below high"]),
        ([*FLAGS, "--sum", "spend", "0", "5", "5", "per=group"], ["row or person"]),
        ([*FLAGS, "--sum", "spend", "0", "5", "5", "whole=1"], ["whole of --sum"]),
        ([*FLAGS, "--count", "50", "color=red"], ["color=red"]),
        ([*FLAGS, "--count", "50", "name=a", "color=red"], ["color=red"]),
        ([*FLAGS, "--count", "50", "within=5"], ["given once"]),
        ([*FLAGS, "--count", "name=a", "50"], ["settings of --count"]),
        ([*FLAGS, "--count", "5", "low=1"], ["low=1"]),
        ([*FLAGS, "--count", "50", "at_least=5"], ["settings of --count", "at-least"]),
        ([*FLAGS, "--count", "lots"], ["within", "'lots'"]),
        ([*FLAGS, "--count", "50%"], ["At an answer of 0"]),
        ([*FLAGS, "--count", "nan"], ["within"]),
        ([*FLAGS, "--mean", "age", "0", "100", "2"], ["at_least of mean", "count_within"]),
        ([*FLAGS, "--mean", "age", "0", "100", "2", "1.5"], ["at_least"]),
        ([*COUNT, "--epsilon", "1"], ["left out where all widths are given"]),
        ([*COUNT, "--count", "50", "name=visits"], ["different for every column"]),
        ([*COUNT, "--by", "month=?"], ["Which groups appear in the data is private too"]),
        ([*COUNT, "--by", "city"], ["listed, bins or left open"]),
        ([*COUNT, "--by", "=a"], ["name of a column"]),
        ([*COUNT, "--select", "100"], ["keys for all of them"]),
        ([*COUNT, "--text-keys", "zip"], ["a file of keys"]),
        ([*COUNT, "--keys", "keys.csv"], ["keys.csv"]),
        ([*COUNT, "--one-row-per-person"], ["one at a time"]),
        ([*COUNT, "--groups-per-person", "two"], ["--groups-per-person must be a number; got 'two'"]),
        ([*COUNT, "--neighbors", "swap"], ["add/remove or replace"]),
    ],
    ids=lambda part: " ".join(part)[-50:],
)
def test_every_mistake_is_refused_in_words(flags: list[str], words: list[str], capsys: Capture) -> None:
    if "--by" not in flags:
        flags = [*flags, "--by", "city=Paris"]
    assert_refused(run(capsys, "tables", "visits.csv", *flags), *words)
