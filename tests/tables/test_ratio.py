"""Ratios of two sums: their intervals hold every quotient that the sums allow."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.errors import ContradictionError, InputError
from pbdp.release.intervals import Intervals
from pbdp.tables import Count, Ratio, verify_manifest
from pbdp.tables.query_record import query_from_record, query_record
from tests.tables.asking import query

RATIO: dict[str, Any] = {
    "of": "tip", "of_low": 0, "of_high": 10, "over": "fare", "over_low": 0, "over_high": 50, "name": "share",
}  # fmt: skip
WIDE: dict[str, Any] = {"of_within": 400, "over_within": 1500}


def intervals(low: list[float], high: list[float]) -> Intervals:
    return Intervals(low=np.array(low), high=np.array(high), confidence=0.98)


def test_the_interval_holds_every_quotient_of_the_two() -> None:
    rng = np.random.default_rng(1)
    ratio = Ratio(**RATIO | {"of_low": -10}, **WIDE)
    asked = query([ratio])
    sums, below = np.sort(rng.normal(0, 50, (40, 2))), np.sort(rng.normal(60, 60, (40, 2)))
    released = [
        (sums.mean(axis=1), Intervals(low=sums[:, 0], high=sums[:, 1], confidence=0.98)),
        (below.mean(axis=1), Intervals(low=below[:, 0], high=below[:, 1], confidence=0.98)),
    ]
    value, low, high, confidence = ratio.worst_case(asked, released)
    assert confidence == pytest.approx(0.98**2)
    for row in range(40):
        for total in np.linspace(sums[row, 0], sums[row, 1], 7):
            for under in np.linspace(below[row, 0], below[row, 1], 7):
                if under > 0:
                    assert low[row] <= total / under <= high[row]
        if not math.isnan(value[row]):
            assert low[row] <= value[row] <= high[row]


def test_nothing_is_known_where_the_lower_sum_may_be_zero() -> None:
    ratio = Ratio(**RATIO, **WIDE)
    released = [(np.array([5.0]), intervals([1.0], [9.0])), (np.array([0.0]), intervals([-3.0], [3.0]))]
    value, low, high, _ = ratio.worst_case(query([ratio]), released)
    assert math.isnan(value[0])
    assert (low[0], high[0]) == (pytest.approx(1 / 3, rel=1e-12), math.inf)


def test_a_ratio_is_released_recorded_and_verified(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    fare = np.clip(rng.normal(20, 5, 6000), 0, 50)
    data = {"who": np.arange(6000), "city": np.repeat(["a", "b", "c"], 2000), "fare": fare, "tip": fare / 10}
    asked = query([Count(within=50), Ratio(**RATIO, **WIDE)], groups_per_person=1, rows_per_group=1)
    assert query_from_record(query_record(asked)).measures == asked.measures
    table = asked.plan().release(data)
    found = table.columns["share"]
    assert np.all(np.abs(found - 0.1) < 0.05)
    table.save(tmp_path / "t.csv")
    assert verify_manifest(tmp_path / "t.csv.manifest.json").holds


def test_widths_may_be_found_for_an_epsilon() -> None:
    plan = query([Ratio(**RATIO)], epsilon=1.0).plan()
    assert plan.epsilon <= 1.0
    assert "bounded number" in plan.accuracy("share: of")


@pytest.mark.parametrize(
    ("changes", "error"),
    [({"over_low": -1}, InputError), ({"of_within": 5}, ContradictionError), ({"of": ""}, InputError)],
)
def test_other_ratios_are_refused(changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Ratio(**RATIO | changes)
