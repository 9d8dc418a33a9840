"""Medians and other quantiles in tables: what they cost and promise, against enumerations written here."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from pbdp.choosing.quantile import QuantileChoice
from pbdp.errors import PbdpError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.mechanism.weights import TOTAL
from pbdp.tables import Count, Mean, Median, Quantile, Query, Selection, TablePlan, verify_manifest
from pbdp.tables.quantiles import RankChoice
from pbdp.tables.query_record import query_from_record, query_record
from tests.altered import altered, leaves
from tests.choosing.brute_force import chosen

Array = npt.NDArray[np.float64]
# What one person adds: for each cell the places of their values.
Person = tuple[tuple[int, ...], ...]
FARES: dict[str, Any] = {"column": "fare", "low": 0, "high": 199.8, "step": 0.2}
ZONES = ["a", "b", "c"]


def asked(*measures: Any, **changes: Any) -> Query:
    settings: dict[str, Any] = {
        "one_row_per_person": True,
        "by": {"zone": ZONES},
        "delta": 1e-6,
        "bounds_touched": False,
    }
    settings |= {"one_row_per_person": False} if "unit" in changes else {}
    return Query(measures=list(measures), **(settings | changes))


def trips(fares: list[float], zones: list[str] | None = None, who: list[int] | None = None) -> pl.DataFrame:
    zones = ["a"] * len(fares) if zones is None else zones
    who = list(range(len(fares))) if who is None else who
    return pl.DataFrame({"fare": [float(one) for one in fares], "zone": zones, "who": who})


# ------------------------------------------------------------------------------------------ privacy


@cache
def law(choice: QuantileChoice, counts: tuple[int, ...]) -> Array:
    """The probability of each value of a group, by the book, from how many rows are at each."""
    rows = [value for value, count in enumerate(counts) for _ in range(count)]
    scores = []
    for value in range(len(counts)):
        right = choice.level * len(rows)
        below, up_to = sum(row < value for row in rows), sum(row <= value for row in rows)
        scores.append(int(min(right - below, up_to - right) * choice.level.denominator))
    found = chosen(scores, [Fraction(int(weight), TOTAL) for weight in choice.coins.weights])
    return np.array([float(one) for one in found])


def table_law(plan: TablePlan, people: tuple[Person, ...], groups: list[list[int]]) -> Array:
    """The probability of every table: all of its choices, each of some of the cells."""
    every = np.ones(1)
    for choice, cells in zip(plan.choices, groups, strict=True):
        assert isinstance(choice, RankChoice)
        for group in sorted(set(cells)):
            counts = [0] * choice.choice.candidates
            for person in people:
                for cell, values in enumerate(person):
                    for value in values if cells[cell] == group else ():
                        counts[value] += 1
            every = np.multiply.outer(every, law(choice.choice, tuple(counts))).ravel()
    return every


def contributions(cells: int, most_cells: int, rows: int, values: int) -> list[Person]:
    """All that one person may add: up to so many rows in up to so many of the cells."""
    own = [
        list(one) for count in range(rows + 1) for one in combinations_with_replacement(range(values), count)
    ]
    every = product([tuple(one) for one in own], repeat=cells)
    return [person for person in every if 0 < sum(map(bool, person)) <= most_cells]


def pairs(people: list[Person], most: int, relation: str) -> Iterator[tuple[tuple[Person, ...], ...]]:
    """All neighbors with up to so many others."""
    for others in (
        rest for count in range(most + 1) for rest in combinations_with_replacement(people, count)
    ):
        for person in people:
            if relation == "add/remove":
                yield (*others, person), others
            else:
                yield from (((*others, person), (*others, other)) for other in people if other < person)


LOW_HIGH: dict[str, Any] = {"column": "fare", "low": 0, "step": 1, "confidence": 0.7}
BRUTE = [
    # measures, cells, groups of a person, rows, values, others, changes
    (Median(**LOW_HIGH, high=2, within=1), 2, 1, 1, 3, 3, {}),
    (Median(**LOW_HIGH, high=2, within=1), 2, 2, 1, 3, 2, {"unit": "who"}),
    (Median(**LOW_HIGH, high=1, within=1), 1, 1, 3, 2, 2, {"unit": "who", "by": {}}),
    (Quantile(**LOW_HIGH, high=2, within=1, q=0.8), 2, 1, 1, 3, 3, {}),
    (Quantile(**LOW_HIGH, high=1, within=2, q=[0.25, 0.5]), 2, 1, 2, 2, 2, {"unit": "who"}),
    (Median(**LOW_HIGH, high=1, within=1), 2, 2, 1, 2, 3, {"unit": "who", "tables": [["zone"], []]}),
    (Quantile(**LOW_HIGH, high=2, within=1, q=0.8), 1, 1, 1, 3, 3, {"by": {}}),
]


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
@pytest.mark.parametrize("case", BRUTE)
def test_no_person_changes_a_table_more_than_is_certified(case: Any, relation: str) -> None:
    measure, cells, mine, rows, values, most, changes = case
    bounds = {"groups_per_person": mine, "rows_per_group": rows} if "unit" in changes else {}
    by = {"zone": ZONES[:cells]}
    plan = asked(measure, **({"by": by} | bounds | changes | {"neighbors": relation})).plan()
    tables = [list(range(cells)), [0] * cells] if "tables" in changes else [list(range(cells))]
    groups = [tables[choice.table] for choice in plan.choices]
    most -= relation == "replace"
    found = [0.0, 0.0]
    for one, two in pairs(contributions(cells, mine, rows, values), most, relation):
        laws = table_law(plan, one, groups), table_law(plan, two, groups)
        for at, epsilon in enumerate((plan.epsilon, plan.epsilon / 3)):
            sticks = [np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in (laws, laws[::-1])]
            found[at] = max(found[at], *map(float, sticks))
    assert found[0] <= 1e-6 * (1 + 1e-9)
    # nor is it claimed far too high
    assert found[1] > 1e-6


# ------------------------------------------------------------------------------------------ accuracy and cost


def test_what_a_median_costs_and_that_disjoint_groups_cost_the_same() -> None:
    median = Median(**FARES, within=50)
    alone, table = asked(median, by={}).plan(), asked(median, by={"zone": range(1000)}).plan()
    assert alone.epsilon < 0.176
    assert table.epsilon == pytest.approx(alone.epsilon, rel=1e-12)
    replaced = asked(median, neighbors="replace").plan()
    assert replaced.epsilon == pytest.approx(2 * alone.epsilon, rel=1e-3)
    assert replaced.epsilon <= 0.352


@pytest.mark.parametrize("spread", ["skewed", "ties", "far clusters", "one value", "tiny", "empty"])
def test_published_ranks_are_within_the_width_as_often_as_promised(spread: str) -> None:
    """Drawn end to end: by the engine, from the table of coins, to the published value."""
    rng = np.random.default_rng(7)
    fares = {
        "skewed": np.round(rng.lognormal(2, 1, 400), 1),
        "ties": rng.choice([0.0, 10.0, 199.8], 400),
        "far clusters": np.repeat([3.0, 190.0], 200),
        "one value": np.full(100, 42.0),
        "tiny": np.array([5.0, 150.0]),
        "empty": np.array([]),
    }[spread]
    by = {"zone": range(300)}
    data = trips(np.tile(fares, 300).tolist(), np.repeat(np.arange(300), len(fares)).astype(str).tolist())
    data = data.with_columns(pl.col("zone").cast(pl.Int64)) if len(data) else data.cast({"zone": pl.Int64})
    measure = Quantile(**FARES, within=4, confidence=0.8, q=[0.25, 0.9])
    frame = asked(measure, by=by).plan().release(data).to_polars()
    values = np.clip(np.sort(fares), 0, 199.8)
    good = np.ones(300, dtype=bool)
    for name, level in (("quantiles_fare_q25", 0.25), ("quantiles_fare_q90", 0.9)):
        published = frame[name].to_numpy()
        right = level * len(fares)
        good &= np.searchsorted(values, published - 0.05, "left") <= right + 4
        good &= np.searchsorted(values, published + 0.05, "right") >= right - 4
    # both at once; five standard deviations of 300 draws
    assert good.mean() >= 0.8 - 5 * math.sqrt(0.16 / 300)
    assert np.all(frame["quantiles_fare_q25"].to_numpy() <= frame["quantiles_fare_q90"].to_numpy())
    assert frame["quantiles_fare_rank_within"].to_list() == [4] * 300
    assert frame["quantiles_fare_confidence"].to_list() == [0.8] * 300


def test_a_share_of_the_rows_is_a_width_for_groups_that_are_large_enough() -> None:
    share = asked(Median(**FARES, within="1%", at_least=5000)).plan()
    ranks = asked(Median(**FARES, within=50)).plan()
    assert share.epsilon == ranks.epsilon


def test_an_epsilon_finds_the_width() -> None:
    plan = asked(Median(**FARES), Count(), epsilon=0.5).plan()
    assert 0.45 < plan.epsilon <= 0.5
    (choice,) = plan.choices
    within = choice.within
    # one rank less, and one row less, would cost more
    dearer = asked(Median(**FARES, within=within - 1), Count(within=within - 1)).plan()
    assert dearer.epsilon > 0.5


def test_means_and_counts_beside_a_median_are_what_they_were() -> None:
    others = Count(within=50), Mean(column="fare", low=0, high=100, within=2, at_least=500)
    data = trips([12.0] * 800)
    frame = asked(Median(**FARES, within=50), *others).plan().release(data).to_polars()
    assert frame["median_fare"][0] == pytest.approx(12, abs=0.11)
    assert abs(frame["count"][0] - 800) < 500
    assert frame.columns[1:4] == ["median_fare", "median_fare_rank_within", "median_fare_confidence"]


def test_rows_beyond_the_bound_count_at_evenly_spaced_ranks() -> None:
    """Whoever has a hundred rows counts as three of them, so others decide."""
    fares, who = [150.0] * 100 + [10.0] * 40, [0] * 100 + list(range(1, 41))
    query = asked(Median(**FARES, within=15), unit="who", groups_per_person=1, rows_per_group=3)
    frame = query.plan().release(trips(fares, who=who)).to_polars()
    assert frame["median_fare"][0] == pytest.approx(10, abs=0.11)


# ------------------------------------------------------------------------------------------ files, money


def saved(table: Any, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    table.save(tmp_path / "t.csv", replace=True)
    place = tmp_path / "t.csv.manifest.json"
    return place, json.loads(place.read_text())


def faults(place: Path) -> list[str]:
    return [check.name for check in verify_manifest(place).checks if check.holds is False]


SHAPES: list[tuple[str, dict[str, Any]]] = [
    ("one table", {}),
    ("replace", {"neighbors": "replace"}),
    ("several tables", {"by": {"zone": ZONES, "who": range(3)}, "tables": [["zone", "who"], ["zone"], []]}),
    ("selection", {"by": ["zone"], "select": Selection(people=20)}),
    ("expressions", {"where": "who >= 0", "derive": {"half": "fare / 2"}}),
    ("rest", {"by": {"zone": ["a"]}, "rest": {"zone": "others"}}),
]


@pytest.mark.parametrize(("shape", "changes"), SHAPES, ids=[name for name, _ in SHAPES])
def test_a_published_table_is_verified_and_a_changed_one_is_caught(
    tmp_path: Path, shape: str, changes: dict[str, Any]
) -> None:
    measure = Quantile(
        **(FARES | {"column": "half" if shape == "expressions" else "fare"}), within=9, q=[0.5, 0.9]
    )
    plan = asked(measure, Count(within=20), **changes).plan()
    data = trips(
        [float(at % 150) for at in range(600)],
        [ZONES[at % 3] for at in range(600)],
        [at % 3 for at in range(600)],
    )
    place, record = saved(plan.release(data), tmp_path)
    assert faults(place) == []
    # every leaf of what a manifest says of the choices
    every = leaves(record["plan"]["choices"], ("plan", "choices")) if shape == "one table" else ()
    for leaf in every:
        place.write_text(json.dumps(altered(record, leaf)))
        with suppress(PbdpError):
            assert faults(place), leaf
    for setting, other in (("within", 8.0), ("confidence", 0.99), ("q", [0.4, 0.9])):
        stricter = json.loads(json.dumps(record))
        stricter["query"]["measures"][0][setting] = other
        place.write_text(json.dumps(stricter))
        assert faults(place), setting
    place.write_text(json.dumps(record))
    # a value between two of the grid, and two that are out of order
    content = (tmp_path / "t.csv").read_text()
    assert "plan" not in faults(place)
    row = next(line for line in content.splitlines()[1:] if line)
    cells = row.split(",")
    at = content.splitlines()[0].split(",").index(f'"{measure.value_columns[0]}"')
    cells[at] = f"{float(cells[at]) + 0.1:.2f}"
    (tmp_path / "t.csv").write_text(content.replace(row, ",".join(cells)))
    record["table"]["sha256"] = hashlib.sha256((tmp_path / "t.csv").read_bytes()).hexdigest()
    place.write_text(json.dumps(record))
    assert "numbers in the table" in faults(place)


def test_a_budget_pays_once_and_keeps_what_was_chosen(tmp_path: Path) -> None:
    plan = asked(Median(**FARES, within=9)).plan()
    data = trips([float(at % 150) for at in range(600)])
    with Ledger.create(str(tmp_path / "l.db")) as ledger:
        budget = Budget.create(ledger, "trips", epsilon=3, delta=1e-5)
        first = plan.release(data, budget=budget, key="x")
        spent = budget.spent
        again = plan.release(data, budget=budget, key="x")
        assert budget.spent == spent > 0
        assert again.columns["median_fare"].tolist() == first.columns["median_fare"].tolist()
        place, record = saved(first, tmp_path)
        checks = {
            check.name: check.holds for check in verify_manifest(place, ledger=str(tmp_path / "l.db")).checks
        }
        assert checks["ledger"] is True
        assert record["plan"]["choices"]["median_fare"]["within"] == 9


def test_a_query_comes_back_from_its_record() -> None:
    query = asked(Quantile(**FARES, within="2%", at_least=1000, q=[0.9, 0.1]), Median(**FARES, within=9))
    again = query_from_record(json.loads(json.dumps(query_record(query))))
    assert again.measures == query.measures
    assert query.measures[0].columns[:2] == ["quantiles_fare_q10", "quantiles_fare_q90"]


# ------------------------------------------------------------------------------------------ what is refused

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"high": -1}, "high must be above low, 0; got -1"),
    ({"step": 0.001}, "at most 10,000 values; got 0.001, which makes 199,801. Take 0.02 or more"),
    ({"step": 0.7}, "step must be one that leads from low to high; got 0.7"),
    ({"within": "1%"}, "at_least must be given with a width in percent"),
    ({"within": "100%", "at_least": 5}, "share of the rows such as 1%"),
    ({"within": 0}, "within must be a finite number above 0"),
    ({"at_least": 5}, "at_least must be given with a width in percent"),
    ({"q": 0.123456}, "q must be a number of at most four digits"),
    ({"q": 1}, "q must be strictly between 0 and 1"),
    ({"q": []}, "q must be different numbers between 0 and 1; got none"),
]


@pytest.mark.parametrize(("changes", "words"), WRONG)
def test_what_makes_no_sense_is_refused_with_a_sentence(changes: dict[str, Any], words: str) -> None:
    kind: Any = Quantile if "q" in changes else Median
    with pytest.raises(PbdpError) as refusal:
        kind(**(FARES | {"within": 50} | changes))
    assert words in str(refusal.value)


def test_a_text_column_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    plan = asked(Median(**(FARES | {"column": "kind"}), within=9)).plan()
    data = trips([1.0, 2.0]).with_columns(kind=pl.lit("x"))
    with Ledger.create(str(tmp_path / "l.db")) as ledger:
        budget = Budget.create(ledger, "trips", epsilon=3, delta=1e-5)
        with pytest.raises(PbdpError, match="column kind must be"):
            plan.release(data, budget=budget, key="x")
        assert budget.spent == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"top": 2}, "a count, people or a sum"),
        ({"by": {"zone": [1, 2]}, "running": "zone"}, "counts and sums"),
        ({"by": {"zone": range(200_000)}}, "makes at most 671 values for 200,000 groups"),
    ],
)
def test_medians_go_with_what_they_can(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PbdpError, match=words):
        asked(Median(**FARES, within=50), **changes)
