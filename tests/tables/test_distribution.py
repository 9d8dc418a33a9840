"""Distributions in tables, and quantiles that are read off them."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pbdp.errors import PbdpError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.tables import Count, Distribution, Median, Quantile, Selection
from pbdp.tables.quantiles import RankChoice
from pbdp.tables.rank_noise import RankNoise
from tests.tables.test_quantiles import FARES, ZONES, asked, faults, saved, trips

TENS: dict[str, Any] = {"column": "fare", "low": 0, "high": 100, "step": 10}
THOUSAND: dict[str, Any] = {"column": "fare", "low": 0, "high": 1023, "step": 1}
DECILES = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]


# ------------------------------------------------------------------------------------------ cost


def test_all_ranks_of_a_thousand_values_within_one_percent() -> None:
    plan = asked(Distribution(**THOUSAND, within="1%", at_least=100_000)).plan()
    assert plan.epsilon <= 0.045
    (noise,) = plan.choices
    assert isinstance(noise, RankNoise)
    assert noise.confidence >= 0.95


@pytest.mark.parametrize("within", [50, 1000])
def test_ten_quantiles_are_never_dearer_than_the_distribution(within: int) -> None:
    deciles = asked(Quantile(**FARES, q=DECILES, within=within)).plan()
    whole = asked(Distribution(**FARES, within=within)).plan()
    assert deciles.epsilon <= whole.epsilon * (1 + 1e-9)
    assert [type(one) for one in deciles.choices] == [RankNoise]


def test_a_few_quantiles_are_chosen_one_by_one_where_that_costs_less() -> None:
    two = asked(Quantile(**FARES, q=[0.25, 0.75], within=50)).plan()
    assert {type(one) for one in two.choices} == {RankChoice}
    assert two.epsilon < 0.6 * asked(Distribution(**FARES, within=50)).plan().epsilon


def test_few_values_get_noise_on_their_counts() -> None:
    few, many = (asked(Distribution(**TENS | {"step": step}, within=50)).plan() for step in (10, 1))
    kinds = [one.choices[0].design.kernel.joint for one in (few, many)]
    assert kinds == [False, True]
    assert few.epsilon < many.epsilon


def test_an_epsilon_finds_the_width() -> None:
    plan = asked(Distribution(**TENS), epsilon=0.5).plan()
    assert 0.45 < plan.epsilon <= 0.5
    within = plan.choices[0].within
    assert asked(Distribution(**TENS, within=within - 1)).plan().epsilon > 0.5


# ------------------------------------------------------------------------------------------ privacy


@pytest.mark.parametrize("relation", ["add/remove", "replace"])
def test_noise_on_counts_hides_all_rows_of_a_person(relation: str) -> None:
    """Two values, two rows a person: every move of both counts, by the product of the tables drawn from."""
    query = asked(
        Distribution(column="fare", low=0, high=1, step=1, within=4, confidence=0.6),
        unit="who",
        groups_per_person=1,
        rows_per_group=2,
        by={"zone": ["a"]},
        neighbors=relation,
    )
    plan = query.plan()
    table = plan.choices[0].design.table_at(0.0)
    masses, places = table.probabilities(), table.values().astype(np.int64)
    reach = int(np.abs(places).max()) + 4
    law = np.zeros(2 * reach + 1)
    law[places + reach] = masses
    own = [(a, b) for a, b in itertools.product(range(3), repeat=2) if a + b <= 2]
    moves = own if relation == "add/remove" else [(a - c, b - d) for a, b in own for c, d in own]
    worst = [0.0, 0.0]
    first = np.multiply.outer(law, law)
    for a, b in moves:
        second = np.multiply.outer(np.roll(law, a), np.roll(law, b))
        for at, epsilon in enumerate((plan.epsilon, plan.epsilon / 2)):
            worst[at] = max(worst[at], float(np.maximum(first - math.exp(epsilon) * second, 0).sum()))
    assert worst[0] <= 1e-6 * (1 + 1e-9)
    assert worst[1] > 1e-6


def test_one_who_is_in_two_cells_of_a_group_is_accounted_there() -> None:
    changes: dict[str, Any] = {"unit": "who", "groups_per_person": 2, "rows_per_group": 1}
    measure = Distribution(**THOUSAND, within=100)
    cells = asked(measure, **changes).plan()
    total = asked(measure, **changes, tables=[["zone"], []]).plan()
    lengths = [one.requirement.sensitivity for one in total.choices]
    assert lengths[0] == cells.choices[0].requirement.sensitivity
    # twice the length in one group, and the root of two times that in two
    assert lengths[1] == pytest.approx(math.sqrt(2) * lengths[0], rel=1e-3)


# ------------------------------------------------------------------------------------------ accuracy

SPREADS: dict[str, list[float]] = {
    "skewed": [float(round(math.exp(at / 40), 0)) for at in range(200)],
    "ties": [0.0] * 30 + [50.0] * 40 + [100.0] * 30,
    "far clusters": [3.0] * 80 + [97.0] * 80,
    "tiny": [50.0],
    "empty": [],
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("step", [10.0, 1.0])
def test_all_published_ranks_are_within_the_width_as_often_as_promised(spread: str, step: float) -> None:
    fares, groups = SPREADS[spread], 300
    zones = np.repeat(np.arange(groups), len(fares))
    data = trips(fares * groups, [str(one) for one in zones]).with_columns(pl.col("zone").cast(pl.Int64))
    measure = Distribution(column="fare", low=0, high=100, step=step, within=20, confidence=0.8)
    table = asked(measure, by={"zone": range(groups)}).plan().release(data)
    counts = np.column_stack([table.columns[name] for name in measure.value_columns])
    kept = np.sort(np.floor(np.clip(fares, 0, 100) / step + 0.5) * step)
    true = np.searchsorted(kept, np.array(measure.grid_values()) + step / 4)
    above = (counts[:, -1:] - counts) - (true[-1] - true)
    good = (np.abs(counts - true).max(axis=1) <= 20) & (np.abs(above).max(axis=1) <= 20)
    assert good.mean() >= 0.8 - 5 * math.sqrt(0.16 / groups)
    assert np.all(np.diff(counts, axis=1) >= 0)
    # whatever is read off holds where all ranks do
    for level in (0.1, 0.5, 0.99):
        found, right = table.quantile(measure.name, level), level * len(fares)
        below = np.searchsorted(kept, found - step / 4)
        up_to = np.searchsorted(kept, found + step / 4)
        assert np.all((below[good] <= right + 20 + 1e-9) & (up_to[good] >= right - 20 - 1e-9))


def test_quantiles_read_off_come_out_sorted_and_near() -> None:
    data = trips([float(at % 200) for at in range(3000)])
    measure = Quantile(**FARES, q=DECILES, within=100)
    frame = asked(measure, by={"zone": ["a"]}).plan().release(data).to_polars()
    values = [frame[name][0] for name in measure.value_columns]
    assert values == sorted(values)
    assert all(abs(value - 200 * level) < 20 for value, level in zip(values, DECILES, strict=True))
    assert frame["quantiles_fare_rank_within"][0] == 100


# ------------------------------------------------------------------------------------------ files, money

SHAPES: list[dict[str, Any]] = [
    {},
    {"neighbors": "replace"},
    {"by": {"zone": ZONES, "who": range(3)}, "tables": [["zone", "who"], ["zone"], []]},
    {"unit": "who", "groups_per_person": 2, "rows_per_group": 2},
    {"where": "fare >= 0", "by": {"zone": ["a"]}, "rest": {"zone": "others"}},
    {"epsilon": 2.0},
]


@pytest.mark.parametrize("changes", SHAPES)
@pytest.mark.parametrize("step", [10, 1])
def test_a_published_distribution_is_verified_and_a_changed_one_is_caught(
    tmp_path: Path, changes: dict[str, Any], step: int
) -> None:
    within = None if "epsilon" in changes else 60
    measures = [
        Distribution(**TENS | {"step": step}, within=within),
        Quantile(**TENS | {"step": 1}, q=DECILES, within=within),
        Count(within=None if within is None else 20),
    ]
    data = trips(
        [float(at % 150) for at in range(600)],
        [ZONES[at % 3] for at in range(600)],
        [at % 3 for at in range(600)],
    )
    place, record = saved(asked(*measures, **changes).plan().release(data), tmp_path)
    assert faults(place) == []
    for label, one in record["plan"]["choices"].items():
        if "coins" in one:
            continue
        for change in (
            {"within": one["within"] - 1},
            {"weights": [1] * len(one.get("weights", [1]))},
            {"total": one.get("total", 1) * 2},
        ):
            if change.keys() <= one.keys():
                other = json.loads(json.dumps(record))
                other["plan"]["choices"][label] |= change
                place.write_text(json.dumps(other))
                assert faults(place), (label, change)
    for setting, other_value in (("confidence", 0.999), ("within", 20)):
        if within is not None:
            stricter = json.loads(json.dumps(record))
            stricter["query"]["measures"][0][setting] = other_value
            place.write_text(json.dumps(stricter))
            assert faults(place), setting


def test_a_budget_pays_once_and_keeps_what_was_drawn(tmp_path: Path) -> None:
    plan = asked(Distribution(**TENS, within=30)).plan()
    data = trips([float(at % 100) for at in range(600)])
    with Ledger.create(str(tmp_path / "l.db")) as ledger:
        budget = Budget.create(ledger, "trips", epsilon=3, delta=1e-5)
        first = plan.release(data, budget=budget, key="x")
        spent = budget.spent
        again = plan.release(data, budget=budget, key="x")
        assert budget.spent == spent > 0
        name = "distribution_fare_at_most_50"
        assert again.columns[name].tolist() == first.columns[name].tolist()
        assert (
            again.quantile("distribution_fare", 0.5).tolist()
            == first.quantile("distribution_fare", 0.5).tolist()
        )


def test_a_few_counts_are_shown_to_people() -> None:
    from pbdp.report.words.tables import table_words

    measure = Distribution(**THOUSAND, within=50)
    table = asked(measure).plan().release(trips([float(at % 200) for at in range(600)]))
    assert len(measure.value_columns) == 1024
    assert len(measure.shown_columns) <= 9
    assert measure.shown_columns[-1] == measure.value_columns[-1]
    words = table_words(table, 10)
    assert "distribution_fare_at_most_1023" in words
    assert "off by at most so many ranks" in words
    assert len(table.numbers) <= 9


# ------------------------------------------------------------------------------------------ what is refused


def test_what_makes_no_sense_is_refused_with_a_sentence() -> None:
    with pytest.raises(
        PbdpError, match=r"at most 2,048 values for a distribution; got 0.02, which makes 5,001"
    ):
        Distribution(column="fare", low=0, high=100, step=0.02, within=50)
    with pytest.raises(PbdpError, match="distribution must be used with public groups"):
        asked(Distribution(**TENS, within=50), by=["zone"], select=Selection(people=20))
    with pytest.raises(PbdpError, match="counts and sums"):
        asked(Distribution(**TENS, within=50), by={"zone": [1, 2]}, running="zone")
    table = asked(Median(**FARES, within=50)).plan().release(trips([1.0]))
    with pytest.raises(PbdpError, match="measure must be a distribution"):
        table.quantile("median_fare", 0.5)
    table = asked(Distribution(**TENS, within=50)).plan().release(trips([1.0]))
    with pytest.raises(PbdpError, match="q must be strictly between 0 and 1"):
        table.quantile("distribution_fare", 2)
    with pytest.raises(PbdpError, match=r"All ranks of 11 values cannot be within 0.5 at once"):
        asked(Distribution(**TENS, within=0.5)).plan()
