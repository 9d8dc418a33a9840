"""Bins, a group for everything else, crossed tables of keys, conditions and derived columns of a query."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import ContradictionError, InputError
from pbdp.tables import Bins, Count, Keys, People, Query, ReleasedTable, Selection, Sum, verify_manifest
from pbdp.tables.query_record import query_from_record, query_record, query_text
from tests.tables.asking import query

RIDES: dict[str, list[Any]] = {
    "who": list(range(3000)),
    "zone": (["north"] * 1000 + ["south"] * 1000 + [None, "x", "y", "z"] * 250),
    "fare": [0.0, 0.1, 0.3, 0.29, 0.7, 1.0, None, -1.0, 5.0, 0.99] * 300,
    "miles": [0.0, 2.0] * 1500,
}
ONE: dict[str, Any] = {"unit": "who", "rows_per_group": 1, "groups_per_person": 1, "delta": 1e-6}


def counts(table: ReleasedTable, name: str = "count") -> dict[tuple[Any, ...], int]:
    rows = table.to_arrow().to_pylist()
    return {tuple(row[key] for key in table.plan.query.columns): row[name] for row in rows}


def near(found: dict[tuple[Any, ...], int], expected: dict[tuple[Any, ...], int], within: int = 60) -> bool:
    return found.keys() == expected.keys() and all(abs(found[key] - expected[key]) <= within for key in found)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("0..10 by 5", ["[0, 5)", "[5, 10)"]),
        ("-1..0.5 by 0.5", ["[-1, -0.5)", "[-0.5, 0)", "[0, 0.5)"]),
        ("1e2 .. 300 by 1e2", ["[100, 200)", "[200, 300)"]),
    ],
)
def test_bins_are_called_by_their_edges(text: str, labels: list[str]) -> None:
    assert Bins(text).labels == labels
    assert Bins(Bins(text).text) == Bins(text)


@pytest.mark.parametrize(
    "text",
    [
        "0..10",
        "0..10 by 3",
        "10..0 by 1",
        "0..1 by 0",
        "0..9999 by 1",
        "a..b by c",
        "",
        "2024-01-01..2024-12-31 by day",
        "2024-12-01..2024-01-01 by week",
        "0..10 by week",
        "1000-01-01..2024-01-01 by week",
        "2024-01-01..9999-12-31 by year",
    ],
)
def test_other_bins_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="bins"):
        Bins(text)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2024-01-01..2024-01-14 by week", ["2024-01-01", "2024-01-08"]),
        ("2024-01-07..2024-01-08 by week", ["2024-01-01", "2024-01-08"]),
        ("2023-12-31..2024-02-01 by month", ["2023-12-01", "2024-01-01", "2024-02-01"]),
        ("2024-05-05..2024-07-01 by Quarter", ["2024-04-01", "2024-07-01"]),
        ("2023-06-01..2024-06-01 by year", ["2023-01-01", "2024-01-01"]),
    ],
)
def test_bins_of_dates_are_called_by_their_first_days(text: str, days: list[str]) -> None:
    assert Bins(text).labels == [datetime.date.fromisoformat(day) for day in days]
    assert Bins(Bins(text).text) == Bins(text)


@pytest.mark.parametrize("period", ["week", "month", "quarter", "year"])
def test_every_day_is_in_the_bin_that_sql_has_it_in(period: str) -> None:
    days = [datetime.date(2023, 12, 1) + datetime.timedelta(day) for day in range(500)]
    bins = Bins(f"2023-12-01..2025-04-13 by {period}")
    edges = [edge for edge in bins.edges if isinstance(edge, datetime.date)]
    starts = [max(edge for edge in edges if edge <= day) for day in days]
    rows = {"who": list(range(500)), "day": days}
    for column in (days, [datetime.datetime(day.year, day.month, day.day, 23, 59) for day in days]):
        asked = Query(by={"day": bins}, measures=[Count(within=1)], **ONE)
        assert query_text(query_from_record(query_record(asked))) == query_text(asked)
        found = counts(asked.plan().release(rows | {"day": column}))
        assert near(found, {(edge,): starts.count(edge) for edge in edges[:-1]}, 15)


def test_a_histogram_has_decimal_edges() -> None:
    plan = Query(by={"fare": Bins("0..1 by 0.1")}, measures=[Count(within=20)], **ONE).plan()
    found = counts(plan.release(RIDES))
    expected = dict.fromkeys(Bins("0..1 by 0.1").labels, 0)
    expected |= {"[0, 0.1)": 300, "[0.1, 0.2)": 300, "[0.2, 0.3)": 300, "[0.3, 0.4)": 300, "[0.7, 0.8)": 300}
    expected["[0.9, 1)"] = 300
    assert near(found, {(label,): count for label, count in expected.items()})


def test_everything_else_is_a_group_with_rows_without_a_key() -> None:
    by = {"zone": Keys(["north", "west"], rest="elsewhere")}
    found = counts(Query(by=by, measures=[Count(within=20)], **ONE).plan().release(RIDES))
    assert near(found, {("north",): 1000, ("west",): 0, ("elsewhere",): 2000})


def test_tables_of_keys_are_crossed_with_lists() -> None:
    asked = Query(
        by={"zone": None, "kind": None, "fare": Bins("0..2 by 1")},
        keys={"zone": ["a", "b"], "kind": [1, 2]},
        measures=[Count(within=20)],
        **ONE,
    )
    assert asked.groups is not None
    listed = [column.values.tolist() for column in asked.groups.columns.values()]
    assert listed == [["a", "a", "b", "b"], [1, 1, 2, 2], ["[0, 1)", "[1, 2)"] * 2]


def test_selected_groups_may_be_bins() -> None:
    asked = Query(
        by={"zone": None, "fare": Bins("0..2 by 1")},
        select=Selection(people=100),
        measures=[People(within=20)],
        **ONE,
    )
    found = counts(asked.plan().release(RIDES), "people")
    assert found.keys() <= {
        (zone, label) for zone in ("north", "south") for label in ("[0, 1)", "[1, 2)")
    } | {(zone, "[0, 1)") for zone in "xyz"}
    assert ("north", "[0, 1)") in found


def test_conditions_and_derived_columns_are_kept_in_the_record_and_verified(tmp_path: Path) -> None:
    asked = Query(
        by={"zone": Keys(["north"], rest="other"), "band": Bins("0..10 by 5")},
        measures=[Count(within=20), Sum(column="band", low=0, high=10, within=200.0, name="sum")],
        where="fare >= 0 and not (zone = 'x')",
        derive={"rate": "fare / miles", "band": "rate * 2 + 1"},
        bounds_touched=True,
        **ONE,
    )
    record = query_record(asked)
    again = query_from_record(record)
    assert query_text(again) == query_text(asked) == query_text(replace(asked))
    assert again.aggregation.derived == asked.aggregation.derived
    assert again.aggregation.where == asked.aggregation.where
    table = asked.plan().release(RIDES)
    table.save(tmp_path / "t.csv")
    assert verify_manifest(tmp_path / "t.csv.manifest.json").holds
    # miles are 0 in every other row, and fares are even places of ten there
    assert near(counts(table), {("north", "[0, 5)"): 400, ("north", "[5, 10)"): 0,
                                ("other", "[0, 5)"): 800 - 100, ("other", "[5, 10)"): 0}, 120)  # fmt: skip


def test_queries_without_them_have_the_record_of_before() -> None:
    record = query_record(query([Count(within=5)], bounds_touched=None))
    assert not record.keys() & {"where", "derive", "bins", "rest", "bounds_touched"}


@pytest.mark.parametrize(
    "changes",
    [
        {"where": "fare > 'x'"},
        {"where": "a == b"},
        {"where": "fare > 0; drop table x"},
        {"where": "sleep(5) > 1"},
        {"where": "zone < 'a'"},
        {"where": "fare > "},
        {"where": "x in [y]"},
        {"where": "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a > 1"},
        {"derive": {"x": "zone"}},
        {"derive": {"x": "hour(at)", "y": "time(at)"}},
        {"derive": "x = 1"},
        {"derive": {"who": "1"}},
    ],
)
def test_what_is_no_expression_is_refused_before_any_data_is_read(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        query([Count(within=5)], **changes)


def test_the_rest_goes_with_texts_alone() -> None:
    with pytest.raises(ContradictionError, match="texts"):
        Query(by={"n": Keys([1, 2], rest="other")}, measures=[Count(within=5)], **ONE)  # type: ignore[list-item]
    with pytest.raises(InputError, match="no key"):
        Query(by={"n": Keys(["a"], rest="a")}, measures=[Count(within=5)], **ONE)
