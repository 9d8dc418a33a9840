"""Bounds that cut few people: the promise on data of all shapes, what they cost, and how they are paid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import pbdp
from pbdp.cli.main import main
from pbdp.errors import PbdpError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.tables import Bounds, Count, TablePlan
from pbdp.tables.bounds import CANDIDATES
from pbdp.tables.quantiles import RankChoice
from tests.tables.test_quantiles import ZONES, Array, asked, faults, law, saved, trips

Values = tuple[float, ...]


def test_candidates_are_near_each_other_and_of_both_signs() -> None:
    assert list(CANDIDATES) == sorted({-one for one in CANDIDATES})
    positive = [one for one in CANDIDATES if one > 0]
    assert (positive[0], positive[-1]) == (1e-6, 1e12)
    assert max(high / low for low, high in itertools.pairwise(positive)) <= 1.2801


@pytest.mark.parametrize(
    "values",
    [
        [math.exp(at / 60) for at in range(600)],
        [0.0] * 590 + [7e5] * 10,
        [-3.0] * 300 + [4000.0] * 300,
        [12.34] * 600,
        [1e13, -1e13] * 2 + [5.0] * 596,
    ],
    ids=["skewed", "zeros", "far clusters", "one value", "beyond the grid"],
)
def test_few_people_are_cut_as_often_as_promised(values: list[float]) -> None:
    """Several rows a person, in a hundred groups: each person's largest and smallest decide."""
    groups, people = 100, len(values)
    data = pl.DataFrame(
        {
            "fare": np.tile(np.repeat(values, 2) * np.tile([1.0, 0.5], people), groups),
            "zone": np.repeat(np.arange(groups), 2 * people),
            "who": np.repeat(np.arange(groups * people), 2),
        }
    )
    measure = Bounds(column="fare", people=600, cut="5%", confidence=0.8)
    query = asked(measure, by={"zone": range(groups)}, unit="who", groups_per_person=1)
    frame = query.plan().release(data).to_polars()
    largest = np.maximum(values, np.array(values) / 2)
    smallest = np.minimum(values, np.array(values) / 2)
    inside = [
        (largest > high).mean() <= 0.05 and (smallest < low).mean() <= 0.05
        for low, high in zip(frame["fare_low"], frame["fare_high"], strict=True)
    ]
    assert np.mean(inside) >= 0.8 - 5 * math.sqrt(0.16 / groups)
    assert (frame["fare_low"] <= frame["fare_high"]).all()
    assert frame["fare_cut"].to_list() == [0.05] * groups
    assert frame["fare_people"].to_list() == [600] * groups


# ------------------------------------------------------------------------------------------ privacy

GRID = (-1.0, 0.0, 1.0)


class Small(Bounds):
    """The same over three candidates, so that all data can be gone through."""

    def grids(self, query: Any) -> Any:
        from dataclasses import replace

        made = Bounds.grids(self, query)
        return tuple(replace(one, low=GRID[0], candidates=len(GRID), values=GRID) for one in made)


@cache
def both(plan: TablePlan, people: tuple[Values, ...]) -> Array:
    """The probabilities of both bounds, from what each person has, by the book."""
    every = np.ones(1)
    for choice, end in zip(plan.choices, (min, max), strict=True):
        assert isinstance(choice, RankChoice)
        counts = [0] * len(GRID)
        for values in people:
            counts[GRID.index(end(values))] += 1
        every = np.multiply.outer(every, law(choice.choice, tuple(counts))).ravel()
    return every


def neighbors(relation: str, most: int) -> Iterator[tuple[tuple[Values, ...], ...]]:
    own = [one for count in (1, 2) for one in itertools.combinations(GRID, count)]
    for others in (
        rest for count in range(most + 1) for rest in itertools.combinations_with_replacement(own, count)
    ):
        for person in own:
            if relation == "add/remove":
                yield (*others, person), others
            else:
                yield from (((*others, person), (*others, other)) for other in own)


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
def test_no_person_changes_both_bounds_more_than_is_certified(relation: str) -> None:
    measure = Small(column="fare", people=20, cut="10%", confidence=0.6)
    plan = asked(measure, by={}, unit="who", neighbors=relation).plan()
    found = [0.0, 0.0]
    for one, two in neighbors(relation, 3):
        laws = both(plan, one), both(plan, two)
        for at, epsilon in enumerate((plan.epsilon, plan.epsilon / 3)):
            sticks = [np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in (laws, laws[::-1])]
            found[at] = max(found[at], *map(float, sticks))
    assert found[0] <= 1e-6 * (1 + 1e-9)
    # nor is it claimed far too high
    assert found[1] > 1e-6


def test_what_bounds_cost() -> None:
    few, many = (asked(Bounds(column="fare", people=people), by={}).plan() for people in (10_000, 100_000))
    # 50 ranks of 361 candidates, twice
    assert few.epsilon < 0.7
    assert many.epsilon == pytest.approx(few.epsilon / 10, rel=0.05)
    rows = asked(Bounds(column="fare", people=10_000), by={}, unit="who", rows_per_group=50)
    assert rows.plan().epsilon == few.epsilon


# ------------------------------------------------------------------------------------------ files, money


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"neighbors": "replace"},
        {"by": {"zone": ZONES, "who": range(3)}, "tables": [["zone", "who"], ["zone"], []]},
        {"where": "fare > 1", "derive": {"half": "fare / 2"}},
    ],
)
def test_published_bounds_are_verified(tmp_path: Path, changes: dict[str, Any]) -> None:
    measure = Bounds(column="half" if "derive" in changes else "fare", people=200, cut="10%")
    data = trips(
        [float(at % 90) for at in range(600)],
        [ZONES[at % 3] for at in range(600)],
        [at % 3 for at in range(600)],
    )
    place, _ = saved(asked(measure, Count(within=20), **changes).plan().release(data), tmp_path)
    assert faults(place) == []


def test_bounds_alone_are_paid_once(tmp_path: Path) -> None:
    data = trips([float(at % 90) for at in range(2000)], who=[at // 2 for at in range(2000)])
    settings: dict[str, Any] = {"column": "fare", "unit": "who", "people": 1000, "cut": "10%", "delta": 1e-6}
    with Ledger.create(str(tmp_path / "l.db")) as ledger:
        budget = Budget.create(ledger, "trips", epsilon=3, delta=1e-5)
        first = pbdp.bounds(data, budget=budget, key="x", **settings)
        spent = budget.spent
        again = pbdp.bounds(data, budget=budget, key="x", **settings)
        assert budget.spent == spent > 0
    assert (first.low, first.high) == (again.low, again.high)
    assert first.low <= 4
    assert 80 <= first.high <= 1e12
    assert "at most 10% of the people" in first.describe()
    assert len(first.table) == 1


def test_the_command_publishes_bounds_with_a_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "trips.csv"
    trips([float(at % 90) for at in range(2000)]).write_csv(data)
    asks = [
        str(data),
        "--column",
        "fare",
        "--unit",
        "who",
        "--people",
        "1000",
        "--cut",
        "10%",
        "--delta",
        "1e-6",
    ]
    assert main(["bounds", *asks, "--dry-run"]) == 0
    assert "fare_high" in capsys.readouterr().out
    assert main(["bounds", *asks, "-o", str(tmp_path / "b.csv")]) == 0
    assert (tmp_path / "b.csv").read_text().startswith('"fare_low","fare_high"')
    capsys.readouterr()
    from pbdp.report.words.tables import table_words

    data_frame = trips([float(at % 90) for at in range(2000)])
    found = pbdp.bounds(data_frame, column="fare", unit="who", people=1000, cut="10%", delta=1e-6)
    assert "At most 10% of the people are beyond each bound" in table_words(found.table, 10)
    assert main(["verify", str(tmp_path / "b.csv.manifest.json")]) in (0, 4)
    assert main(["bounds", *asks[:-2]]) == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cut": "20%"}, "a share of the people of at most 10%"),
        ({"cut": 0.01}, "a share of the people of at most 10%"),
        ({"cut": "0%"}, "such as 1%"),
        ({"people": 0}, "people must be"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(changes: dict[str, Any], words: str) -> None:
    settings: dict[str, Any] = {"column": "fare", "people": 1000}
    with pytest.raises(PbdpError) as refusal:
        Bounds(**(settings | changes))
    assert words in str(refusal.value)


def test_so_few_people_that_nobody_may_be_cut_are_refused() -> None:
    with pytest.raises(PbdpError):
        asked(Bounds(column="fare", people=1, cut="1%", confidence=0.9999999), by={}).plan()
