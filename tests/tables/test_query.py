"""What a query refuses, and what it works out, before any data is read."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from pbdp.errors import ContradictionError, InputError
from pbdp.tables import Count, Mean, People, Query, Selection, Sum
from pbdp.tables.query_record import query_from_record, query_record, query_text

GOOD: dict[str, Any] = {
    "unit": "who",
    "by": {"city": ["a", "b"], "month": range(1, 13)},
    "measures": [Count(within=50), Sum(column="x", low=0, high=10, within="5%+10")],
    "groups_per_person": 3,
    "rows_per_group": 2,
    "delta": 1e-6,
}


def made(**changes: Any) -> Query:
    return Query(**(GOOD | changes))


def test_keys_are_crossed() -> None:
    asked = made()
    assert asked.groups is not None
    assert len(asked.groups) == 24
    assert asked.groups_touched == 3
    assert made(neighbors="replace").groups_touched == 6


def test_keys_taken_silently_from_the_data_are_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="Which groups appear in the data is private too"):
        made(by=["city"])
    with pytest.raises(InputError, match="keys of month"):
        made(by={"city": ["a"], "month": None})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"measures": []}, "measures must be a list of at least one"),
        ({"measures": ["count"]}, "must be Count, People, Sum"),
        ({"measures": [Count(within=5), Count(within=6)]}, "different for every column"),
        ({"measures": [Count(within=5, name="city")]}, "different for every column"),
        ({"measures": [Count()]}, "within of count"),
        ({"epsilon": 1.0}, "epsilon must be left out"),
        ({"measures": [Count()], "epsilon": -1.0}, "epsilon"),
        ({"groups_per_person": None}, "In how many groups"),
        ({"groups_per_person": 0}, "groups_per_person"),
        ({"groups_per_person": 1.5}, "groups_per_person"),
        ({"rows_per_group": None}, "rows_per_group must be given for count, sum_x"),
        ({"rows_per_group": 10**9}, "rows_per_group"),
        ({"unit": None}, "left out where every person has one row"),
        ({"unit": 7}, "unit must be the name of a column"),
        ({"by": "city"}, "by must be columns"),
        ({"by": 5}, "by must be columns"),
        ({"by": {"city": "Paris"}}, "keys of city must be a list"),
        ({"by": {"city": []}}, "at least one"),
        ({"by": {"city": ["a", 1]}}, "of one kind"),
        ({"by": {"city": ["a", "a"]}}, "List every group once"),
        ({"by": {"city": [None]}}, "null"),
        ({"by": {"city": [1.5]}}, "fraction"),
        ({"by": {"city": [datetime.datetime(2026, 1, 1)]}}, "a time"),
        ({"delta": 0}, "delta"),
        ({"confidence": 1.5}, "confidence"),
        ({"neighbors": "swap"}, "neighbors"),
        ({"select": Selection(people=50)}, "without keys"),
        ({"keys": {"city": ["a"], "month": [1]}}, "the only groups"),
        ({"most_rows": 0}, "most_rows"),
        ({"measures": [Sum(column="x", low=0, high=1e9, within=5, whole=True)]}, "62 bits"),
        ({"measures": [Sum(column="x", low=5, high=5, within=5)]}, "below high"),
        ({"measures": [Sum(column="x", low=0.5, high=5, within=5, whole=True)]}, "whole numbers"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        made(**changes)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"within": 1.0}, "at_least"),
        ({"within": 1.0, "at_least": 5, "count_within": 3}, "one at a time"),
        ({"within": -1.0, "at_least": 5}, "within"),
        ({"count_within": 0}, "count_within"),
        ({"count_within": 5, "confidence": 2}, "confidence"),
    ],
)
def test_a_mean_says_what_it_needs(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((InputError, ContradictionError), match=words):
        Mean(column="x", low=0, high=1, **settings)


def test_a_sum_is_of_a_column_per_row_or_person() -> None:
    with pytest.raises(InputError, match="row or person"):
        Sum(column="x", low=0, high=1, within=1, per="group")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="name of a column"):
        Sum(column="", low=0, high=1, within=1)


def test_bounds_that_nobody_can_exceed_are_not_enforced() -> None:
    assert made(groups_per_person=24).aggregation.groups_per_person is None
    assert made(groups_per_person=24).groups_touched == 24
    assert made(groups_per_person=99).groups_touched == 24
    assert made(by={}, groups_per_person=None).groups_touched == 1
    assert made(measures=[People(within=5)], rows_per_group=None).aggregation.rows_per_group is None


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"by": {}, "groups_per_person": None},
        {"by": ["city"], "keys": {"city": ["x", "y"]}},
        {"by": {"day": [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)], "known": [True, False]}},
        {"by": {"city": None, "month": [1, 2]}, "select": Selection(people=40, confidence=0.9)},
        {"measures": [Count(), Mean(column="x", low=0, high=1)], "epsilon": 2.0},
        {"unit": None, "groups_per_person": None, "rows_per_group": None},
        {"measures": [Count(within=(3, 5), confidence=0.8)], "neighbors": "replace", "most_rows": 10**6},
    ],
)
def test_a_query_comes_back_from_its_record(changes: dict[str, Any]) -> None:
    asked = made(**changes)
    assert query_text(query_from_record(query_record(asked))) == query_text(asked)


def test_the_text_for_a_ledger_stays_short_and_still_tells_queries_apart() -> None:
    names = [f"a rather long name of a shop, number {i}" for i in range(5000)]
    texts = {
        query_text(made(by={"shop": names})),
        query_text(made(by={"shop": names[::-1]})),
        query_text(made(by={"shop": names, "city": None}, select=Selection(people=50))),
        query_text(made(by={"shop": names[1:], "city": None}, select=Selection(people=50))),
    }
    assert len(texts) == 4
    assert all(len(text) < 5000 for text in texts)


def test_many_keys_are_named_by_their_digest() -> None:
    asked = made(by={"shop": range(20_000)})
    record = query_record(asked)
    assert "keys" not in record["by"]
    with pytest.raises(InputError, match="too many for the manifest"):
        query_from_record(record)
    assert query_text(query_from_record(record, asked.groups)) == query_text(asked)
    with pytest.raises(InputError, match="those of the query"):
        query_from_record(record, made(by={"shop": range(1, 20_001)}).groups)
