"""Differences of published numbers: intervals that hold, and that are no wider than need be."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pbdp.errors import PbdpError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.tables import Count, Mean, Median, ReleasedTable, Sum
from tests.tables.test_quantiles import FARES, asked, trips

GROUPS = 400


def groups_of(sizes: list[int], fare: float = 30.0) -> pl.DataFrame:
    """Pairs of groups with so many rows in turn."""
    zones = [str(at) for at in range(GROUPS) for _ in range(sizes[at % len(sizes)])]
    return trips([fare + at % 7 for at in range(len(zones))], zones).with_columns(
        pl.col("zone").cast(pl.Int64)
    )


def held(table: ReleasedTable, measure: str, true: float, other: ReleasedTable | None = None) -> list[bool]:
    """Whether the interval of each pair of groups has the true difference."""
    found = []
    for at in range(0, GROUPS, 2):
        beside = {"zone": at + 1 if other is None else at}
        one = table.difference(measure, {"zone": at}, beside, table=other)
        assert one.low <= one.value <= one.high
        found.append(one.low <= true <= one.high)
    return found


MEASURES: list[tuple[Any, float]] = [
    (Count(within=8, confidence=0.8, name="x"), 20.0),
    (Sum(column="fare", low=0, high=100, within=90.5, confidence=0.8, name="x"), math.nan),
    (Count(within="10%+5", confidence=0.8, name="x"), 20.0),
    (Mean(column="fare", low=0, high=100, within=5, at_least=60, confidence=0.8, name="x"), math.nan),
]


@pytest.mark.parametrize(("measure", "true"), MEASURES)
def test_intervals_of_differences_hold_as_often_as_they_say(measure: Any, true: float) -> None:
    data = groups_of([80, 60])
    table = asked(measure, by={"zone": range(GROUPS)}).plan().release(data)
    if math.isnan(true):
        grouped = data.group_by("zone").agg(
            pl.col("fare").sum().alias("sum"), pl.col("fare").mean().alias("mean")
        )
        own = dict(zip(grouped["zone"], grouped["sum" if measure.kind == "sum" else "mean"], strict=True))
        every = []
        for at in range(0, GROUPS, 2):
            one = table.difference("x", {"zone": at}, {"zone": at + 1})
            every.append(one.low - 1e-9 <= own[at] - own[at + 1] <= one.high + 1e-9)
    else:
        every = held(table, "x", true)
    confidence = table.difference("x", {"zone": 0}, {"zone": 1}).confidence
    assert np.mean(every) >= confidence - 5 * math.sqrt(0.16 / len(every))


def test_the_width_is_that_of_both_noises_together() -> None:
    """Against the convolution of the table that is drawn from, written here."""
    plan = asked(Count(within=20)).plan()
    table = plan.release(trips([1.0] * 50))
    found = table.difference("count", {"zone": "a"}, {"zone": "b"})
    noise = plan.design("count").table_at(0.0)
    both = np.convolve(noise.probabilities(), noise.probabilities()[::-1])
    middle = len(both) // 2
    width = (found.high - found.low) / 2

    def inside(far: int) -> float:
        return float(both[middle - far : middle + far + 1].sum())

    assert width == pytest.approx(round(width), abs=1e-6)
    assert inside(round(width)) >= 0.95 > inside(round(width) - 1)
    assert width < 0.8 * 40
    assert found.confidence == 0.95


def test_two_releases_have_noise_of_their_own() -> None:
    plan = asked(Count(within=8, confidence=0.8, name="x"), by={"zone": range(GROUPS)}).plan()
    march, april = plan.release(groups_of([60])), plan.release(groups_of([80]))
    found = held(april, "x", 20.0, march)
    assert np.mean(found) >= 0.8 - 5 * math.sqrt(0.16 / len(found))
    narrower = asked(Count(within=4, confidence=0.8, name="x"), by={"zone": range(GROUPS)}).plan()
    other = narrower.release(groups_of([60]))
    found = held(april, "x", 20.0, other)
    assert np.mean(found) >= 0.8 - 5 * math.sqrt(0.16 / len(found))


def test_tables_that_add_up_may_share_their_noise() -> None:
    query = asked(
        Count(within=20), by={"zone": ["a", "b"], "hour": range(3)}, tables=[["zone", "hour"], ["zone"]]
    )
    data = trips([1.0] * 60, ["a"] * 40 + ["b"] * 20).with_columns(hour=pl.lit(1))
    table = query.plan().release(data)
    zones = table.tables["zone"]
    one = zones.difference("count", {"zone": "a"}, {"zone": "b"})
    assert 0.89 < one.confidence <= 0.9
    ends = [zones.columns[f"count_bounded_{end}"] for end in ("low", "high")]
    assert one.low <= ends[0][0] - ends[1][1]
    assert one.high >= ends[1][0] - ends[0][1]
    beside = zones.difference("count", {"zone": "a"}, {"zone": "a", "hour": 1}, table=table)
    assert 0.89 < beside.confidence <= 0.9


def test_a_release_that_comes_again_has_the_same_noise(tmp_path: Path) -> None:
    plan, data = asked(Count(within=20)).plan(), trips([1.0] * 60)
    with Ledger.create(str(tmp_path / "l.db")) as ledger:
        budget = Budget.create(ledger, "trips", epsilon=3, delta=1e-5)
        first, again = (plan.release(data, budget=budget, key="x") for _ in range(2))
        other = plan.release(data, budget=budget, key="y")
    with pytest.raises(PbdpError, match="the same one twice"):
        first.difference("count", {"zone": "a"}, {"zone": "a"}, table=again)
    assert first.difference("count", {"zone": "a"}, {"zone": "a"}, table=other).confidence == 0.95


WRONG: list[tuple[tuple[Any, ...], str]] = [
    (("count", {"zone": "a"}, {"zone": "a"}), "the same one twice"),
    (("cuont", {"zone": "a"}, {"zone": "b"}), "Did you mean count"),
    (("count", {"zone": "a"}, {"zone": "q"}), "a group of the table"),
    (("count", {"zone": "a"}, {}), "a key for each column"),
    (("count", "a", "b"), "a key for each column"),
    (("median_fare", {"zone": "a"}, {"zone": "b"}), "measure must be one with intervals"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_what_makes_no_sense_is_refused_with_a_sentence(given: tuple[Any, ...], words: str) -> None:
    table = asked(Count(within=20), Median(**FARES, within=50)).plan().release(trips([1.0]))
    with pytest.raises(PbdpError, match=words):
        table.difference(*given)
