"""The top groups: their promise and their price against enumerations written here."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pbdp.choosing.permute_and_flip import PermuteAndFlip, right_often
from pbdp.digits import rounded_up
from pbdp.errors import PbdpError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.mechanism.weights import WeightTable
from pbdp.release.keystream import keystream_from
from pbdp.tables import Count, Mean, People, Query, Selection, Sum, TablePlan, Top, verify_manifest
from pbdp.tables.picks import reveals_a_pick
from pbdp.tables.query_record import query_from_record, query_record
from pbdp.tables.top import (
    PICKS,
    SCORES,
    TOP,
    Choosing,
    pick_plan,
    picks_with,
    ranked_right,
    ways_of,
)
from tests.effort import FULL

CITIES = [f"city {number:02}" for number in range(20)]


def asked(**changes: Any) -> Query:
    settings: dict[str, Any] = {
        "unit": "who",
        "by": {"city": CITIES},
        "measures": [People(within=20)],
        "groups_per_person": 1,
        "delta": 1e-6,
        "top": 3,
        "bounds_touched": False,
    }
    return Query(**(settings | changes))


def people(sizes: list[int]) -> pl.DataFrame:
    """So many people in each city."""
    cities = [city for city, size in zip(CITIES, sizes, strict=False) for _ in range(size)]
    return pl.DataFrame({"who": range(len(cities)), "city": cities, "spend": [1.5] * len(cities)})


def law(table: WeightTable) -> dict[int, float]:
    return dict(zip(table.values().tolist(), table.probabilities().tolist(), strict=True))


def small_table() -> WeightTable:
    weights = np.array([1, 2, 3, 4, 3, 2, 1], dtype=np.int64) << 58
    return WeightTable(start=-3, weights=weights)


# ------------------------------------------------------------------------------------------ the promise


@pytest.mark.parametrize(("options", "listed", "gap"), [(4, 1, 2), (4, 2, 3), (3, 2, 1), (4, 3, 2)])
def test_the_promise_of_noisy_scores_is_the_worst_case_over_all_scores(
    options: int, listed: int, gap: int
) -> None:
    noise = law(small_table())
    promised = ranked_right(small_table(), options, listed, gap)
    worst = 1.0
    outcomes = [
        (np.array(xs), math.prod(noise[x] for x in xs)) for xs in itertools.product(noise, repeat=options)
    ]
    for scores in itertools.combinations_with_replacement(range(gap + 2), options):
        right = 0.0
        for xs, chance in outcomes:
            # ties go to the lower score, which is the worst that an order can do
            order = sorted(range(options), key=lambda at: (-(scores[at] + xs[at]), scores[at]))
            inside, outside = order[:listed], order[listed:]
            best = max(scores[at] for at in outside)
            right += chance * (best - min(scores[at] for at in inside) < gap)
        worst = min(worst, right)
    # the bound holds, and some scores attain it
    assert promised <= worst + 1e-12
    assert promised == pytest.approx(worst, abs=2e-9)


@pytest.mark.filterwarnings("ignore::pbdp.release.keystream.InsecureTestSeedWarning")
@pytest.mark.parametrize("groups_per_person", [1, 20])
def test_both_ways_list_the_right_groups_as_often_as_they_say(groups_per_person: int) -> None:
    """Three groups are 21 above all others: the worst that can be. A third less noise-proof would fail."""
    query = asked(groups_per_person=groups_per_person, top=Top(groups=3, confidence=0.8))
    scores = np.array([0] * 8 + [21, 21, 21] + [0] * 9)
    for way in ways_of(query):
        assert way.confidence >= 0.8
        part = _part(way)
        trials = 1500
        right = sum(
            way.places(scores, part, keystream_from(seed)).tolist() == [8, 9, 10] for seed in range(trials)
        )
        spread = 5 * math.sqrt(0.8 * 0.2 / trials)
        # picks are promised to be right one by one as well, which is more than is counted here
        assert right / trials >= 0.8 - spread
        if way.way == SCORES:
            assert right / trials <= way.confidence + spread


def _part(way: Choosing) -> Any:
    from pbdp.planning.together.search import plan_together

    return plan_together({}, given={TOP: [(way.requirement, way.design)]}).part(TOP)


# ------------------------------------------------------------------------------------------ the price


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
def test_a_count_stands_for_a_pick_only_if_it_reveals_as_much(epsilon: float) -> None:
    ways = {way.way: way for way in ways_of(asked(top=Top(groups=2, within=10)))}
    coins = ways[PICKS].coins
    assert coins is not None
    each = coins.epsilon(ways[PICKS].scale.moved)
    table = ways[PICKS].design.table_at(0.0)
    assert reveals_a_pick(table, each)
    assert not reveals_a_pick(table, each * (1 + 1e-5))
    # randomized response by the pair of shifted tables, at every epsilon
    p, q = np.append(0.0, table.probabilities()), np.append(table.probabilities(), 0.0)
    heads = 1 / (1 + math.exp(-each))
    response = np.array([heads, 1 - heads])
    for at in np.linspace(-epsilon, epsilon, 9):
        assert hockey_stick(p, q, at) >= hockey_stick(response, response[::-1], at) - 1e-15


def test_the_certificate_holds_for_all_that_is_published() -> None:
    """One person in two of three groups, the best of which is listed with its number: both ways, exactly."""
    for forced in (SCORES, PICKS):
        plan = _plan_by(forced)
        worst = 0.0
        for sizes in itertools.product(range(3), repeat=3):
            for own in itertools.combinations(range(3), 2):
                more = tuple(size + (at in own) for at, size in enumerate(sizes))
                with_them, without = _published(plan, more), _published(plan, sizes)
                for p, q in ((with_them, without), (without, with_them)):
                    worst = max(worst, hockey_stick(p, q, plan.epsilon))
        assert worst <= plan.delta


def _plan_by(way: str) -> TablePlan:
    """The plan for three groups with the way that is named."""
    from dataclasses import replace

    from pbdp.planning.together.search import plan_together
    from pbdp.tables.numbers import numbers_of

    query = asked(
        by={"city": CITIES[:3]},
        measures=[People(within=3, confidence=0.8)],
        groups_per_person=2,
        top=Top(groups=1, within=3, confidence=0.8),
        delta=1e-4,
    )
    chosen = next(one for one in ways_of(query) if one.way == way)
    numbers = numbers_of(query)
    asked_for = {number.label: number.requirement for number in numbers}
    noise = plan_together(asked_for, given={TOP: [(chosen.requirement, chosen.design)]})
    return replace(query.plan(), noise=noise, top=chosen)


def _published(plan: TablePlan, sizes: tuple[int, ...]) -> np.ndarray:
    """The probability of every group with every number, from the tables that are drawn from."""
    top = plan.top
    assert top is not None
    picked = np.zeros(3)
    if top.coins is None:
        noise = law(top.design.table_at(0.0))
        values = np.array(list(noise))
        masses = np.array(list(noise.values()))
        for at in range(3):
            below = [
                # ties go to the first
                np.array([masses[values + sizes[other] < y + (other > at)].sum() for y in sizes[at] + values])
                for other in range(3)
                if other != at
            ]
            picked[at] = np.sum(masses * below[0] * below[1])
    else:
        coins = [top.coins.weights[min(max(sizes) - size, top.coins.last)] / 2.0**62 for size in sizes]
        for order in itertools.permutations(range(3)):
            left = 1.0
            for at in order:
                picked[at] += left * coins[at] / 6
                left *= 1 - coins[at]
    assert picked.sum() == pytest.approx(1, abs=1e-12)
    table = plan.part("people").design.table_at(0.0)
    numbers = np.zeros((3, len(table.weights) + 4))
    for at, size in enumerate(sizes):
        numbers[at, size : size + len(table.weights)] = picked[at] * table.probabilities()
    return numbers.ravel()


def test_the_cheaper_way_is_taken() -> None:
    few, many = asked(groups_per_person=1).plan(), asked(groups_per_person=20).plan()
    assert few.top is not None
    assert many.top is not None
    assert (few.top.way, many.top.way) == (SCORES, PICKS)
    assert few.epsilon < many.epsilon
    # a person in twenty groups moves three numbers of the table, not twenty
    assert many.part("people").releases == 3


def test_several_picks_are_right_together() -> None:
    query = asked(groups_per_person=20, top=Top(groups=3))
    plan = pick_plan(query)
    assert isinstance(plan.way, PermuteAndFlip)
    made = picks_with(query, plan, plan.way.coins)
    assert made is not None
    coins = plan.way.coins
    # not each as if it had the worst scores
    each = right_often(made.options, coins.coin(made.scale.gap), 3)
    assert made.confidence >= 0.95 > each


def test_the_figures_of_the_page_are_those_of_the_code() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\d+) \| (\d+) \| ([\d.]+) \| (picks|noise on every number) \|$", page, re.MULTILINE
    )
    assert len(rows) == 6
    for mine, listed, epsilon, way in rows if FULL else rows[:4]:
        plan = asked(
            by={"city": range(1000)},
            measures=[Count(within=50)],
            groups_per_person=int(mine),
            rows_per_group=1,
            top=int(listed),
        ).plan()
        assert plan.top is not None
        assert (rounded_up(plan.epsilon), plan.top.way == PICKS) == (epsilon, way == "picks")


# ------------------------------------------------------------------------------------------ tables


def test_no_group_at_all_is_a_table_too() -> None:
    plan = asked(by=["city"], select=Selection(people=60), top=Top(groups=2, within=30)).plan()
    assert "the top 2 of those selected" in plan.describe()
    assert len(plan.release(people([1, 2]))) == 0


def test_the_highest_groups_are_published_and_checked(tmp_path: Path) -> None:
    query = asked(
        measures=[Count(within=20), Sum(column="spend", low=0, high=2, within=30)],
        rows_per_group=1,
        top=Top(groups=2, by="sum_spend", within=25),
    )
    data = people([10, 400, 30, 800, 200])
    table = query.plan().release(data)
    frame = table.to_polars()
    # the noise would have to be twenty times its scale
    assert frame["city"].to_list() == ["city 03", "city 01"]
    assert frame["sum_spend"][0] == pytest.approx(1200, abs=250)
    table.save(tmp_path / "top.csv")
    found = verify_manifest(tmp_path / "top.csv.manifest.json")
    assert [check.name for check in found.checks if check.holds is False] == []
    assert "top" in [check.name for check in found.checks]


@pytest.mark.parametrize("way", [SCORES, PICKS])
def test_a_changed_manifest_is_caught(tmp_path: Path, way: str) -> None:
    query = asked(groups_per_person=1 if way == SCORES else 20, top=Top(groups=2, within=20))
    table = query.plan().release(people([100, 10, 50]))
    assert table.plan.top is not None
    assert table.plan.top.way == way
    table.save(tmp_path / "top.parquet")
    place = tmp_path / "top.parquet.manifest.json"
    record = json.loads(place.read_text())

    def faults(changed: dict[str, Any]) -> list[str]:
        place.write_text(json.dumps(changed))
        return [check.name for check in verify_manifest(place).checks if check.holds is False]

    assert faults(record) == []
    surer = json.loads(json.dumps(record))
    surer["query"]["top"]["confidence"] = 0.99
    assert "top" in faults(surer)
    closer = json.loads(json.dumps(record))
    closer["query"]["top"]["within"] = 10.0
    assert "top" in faults(closer)
    other = json.loads(json.dumps(record))
    other["plan"]["top"] = {"way": PICKS, "coins": {"fall": 3.0, "stride": 1, "last": 12}}
    assert "top" in faults(other)
    missing = json.loads(json.dumps(record))
    del missing["plan"]["top"]
    assert faults(missing) == ["plan"]


def test_groups_of_the_data_are_chosen_after_the_selection(tmp_path: Path) -> None:
    query = asked(
        by=["city"],
        select=Selection(people=60),
        measures=[People(within=20)],
        top=Top(groups=2, within=30, among=100),
    )
    plan = query.plan()
    table = plan.release(people([500, 5, 1200, 200, 1]))
    assert table.to_polars()["city"].to_list() == ["city 02", "city 00"]
    few = plan.release(people([1, 300, 2]))
    assert few.to_polars()["city"].to_list() == ["city 01"]
    few.save(tmp_path / "top.csv")
    found = verify_manifest(tmp_path / "top.csv.manifest.json")
    assert [check.name for check in found.checks if check.holds is False] == []
    # of more groups than it may be chosen from, those with the most people are left
    narrow = (
        asked(by=["city"], select=Selection(people=60), top=Top(groups=2, within=30, among=3))
        .plan()
        .release(people([100 * (at + 1) for at in range(20)]))
    )
    assert set(narrow.to_polars()["city"]) <= {"city 17", "city 18", "city 19"}


def test_a_ledger_pays_once_and_brings_the_same_groups_back(tmp_path: Path) -> None:
    plan = asked(groups_per_person=20).plan()
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-5)
        first = plan.release(people([100, 10, 50, 70]), budget=budget, key="top")
        spent = budget.spent
        again = plan.release(people([100, 10, 50, 70]), budget=budget, key="top")
        assert again.to_polars().equals(first.to_polars())
        assert budget.spent == spent > 0
        first.save(tmp_path / "top.csv")
        found = verify_manifest(tmp_path / "top.csv.manifest.json", ledger=str(tmp_path / "ledger.db"))
    assert all(check.holds is not False for check in found.checks)


def test_an_epsilon_buys_the_width_of_the_numbers_beside_the_choice() -> None:
    plan = asked(measures=[People()], epsilon=1.0, top=Top(groups=3, within=30)).plan()
    # widths of people are whole
    assert 0.8 < plan.epsilon <= 1
    assert plan.top is not None


def test_a_query_with_a_top_is_read_back() -> None:
    for query in (asked(top={"groups": 2, "within": 7}), asked(by=["city"], select=Selection(people=50))):
        again = query_from_record(json.loads(json.dumps(query_record(query))))
        assert again.listed == query.listed
        assert query.listed is not None
        assert query.listed.by == "people"
    assert asked().listed == Top(groups=3, by="people", within=20, confidence=0.95)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"top": 20}, "top must be below 20"),
        ({"top": 0}, "at least 1"),
        ({"top": 2.5}, "whole"),
        ({"top": {"group": 3}}, "groups"),
        ({"top": {"by": "people"}}, "groups of top must be given"),
        ({"top": Top(groups=3, by="visits")}, "people"),
        ({"top": Top(groups=3, among=100)}, "selection"),
        ({"measures": [People(within="5%+10")]}, "within of top"),
        ({"measures": [People()], "epsilon": 1.0}, "within of top"),
        ({"measures": [Mean(column="spend", low=0, high=1, count_within=9)], "rows_per_group": 1}, "sum"),
        ({"tables": [["city"], []]}, "tables"),
        ({"minimum_size": 50, "withhold": True}, "withhold"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PbdpError, match=words):
        asked(**changes)
