"""Variances and standard deviations: intervals that hold, numbers that are shared, how they are checked."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pbdp.errors import PbdpError
from pbdp.release.intervals import Intervals
from pbdp.tables import Count, Mean, StandardDeviation, Sum, Variance
from tests.tables.test_quantiles import ZONES, asked, faults, saved, trips

FARE: dict[str, Any] = {"column": "fare", "low": 0, "high": 100}
SHAPES: dict[str, list[float]] = {
    "even": [float(at % 101) for at in range(400)],
    "two ends": [0.0] * 200 + [100.0] * 200,
    "one value": [70.0] * 300,
    "beyond the bounds": [-1e9, 1e9, 50.0] * 100,
    "tiny": [30.0, 60.0],
    "empty": [],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [Variance, StandardDeviation])
def test_intervals_hold_as_often_as_promised(shape: str, kind: Any) -> None:
    fares, groups = SHAPES[shape], 300
    zones = np.repeat(np.arange(groups), len(fares))
    data = trips(fares * groups, [str(one) for one in zones]).with_columns(pl.col("zone").cast(pl.Int64))
    measure = kind(**FARE, count_within=10, confidence=0.8, name="x")
    frame = asked(measure, by={"zone": range(groups)}).plan().release(data).to_polars()
    low, high = frame["x_bounded_low"].to_numpy(), frame["x_bounded_high"].to_numpy()
    assert np.all((low >= 0) & (high <= (2500 if kind is Variance else 50)))
    if not fares:
        return
    kept = np.clip(fares, 0, 100)
    true = float(np.var(kept) if kind is Variance else np.std(kept))
    # five standard deviations of 300 draws
    holds = (low <= true + 1e-9) & (true <= high + 1e-9)
    assert holds.mean() >= 0.8 - 5 * math.sqrt(0.16 / groups)
    if shape == "even":
        # and says something
        assert np.median(high - low) < (1000 if kind is Variance else 20)


def test_an_interval_has_every_variance_of_numbers_in_theirs() -> None:
    """Against all numbers of a fine grid in the three intervals."""
    rng = np.random.default_rng(3)
    query = asked(Variance(**FARE, count_within=10))
    (measure,) = query.measures
    plan = query.plan()
    for _ in range(60):
        count = float(rng.integers(2, 60))
        total, squares = rng.uniform(-50, 50) * count, rng.uniform(0, 2500) * count
        far = rng.uniform(0.1, 1.2, 3) * (count, 50 * count**0.7, 2500 * count**0.7)
        ends = {
            label: (np.array([one - off]), np.array([one + off]))
            for label, one, off in zip("scq", (total, count, squares), far[[1, 0, 2]], strict=True)
        }
        found = [Intervals(low=low, high=high, confidence=0.98) for low, high in ends.values()]
        released = [(np.array([one]), own) for one, own in zip((total, count, squares), found, strict=True)]
        told = _with_intervals(measure, plan, released, found)
        grid = [np.linspace(low[0], high[0], 25) for low, high in ends.values()]
        every = [q / n - (s / n) ** 2 for s, n, q in itertools.product(*grid) if n >= 1 and q >= 0]
        possible = [one for one in every if 0 <= one <= 2500]
        if possible:
            assert told.low[0] <= min(possible) + 1e-6
            assert told.high[0] >= max(possible) - 1e-6


def _with_intervals(measure: Any, plan: Any, released: Any, found: list[Intervals]) -> Any:
    """What is published for these intervals of the three numbers."""
    kind = type("Given", (), {"_intervals": lambda *_: found})
    made = type("Told", (kind, type(measure)), {})
    own: Any = object.__new__(made)
    for name in measure.settings():
        object.__setattr__(own, name, getattr(measure, name))
    return own.estimate(plan, released)


def test_a_mean_that_is_asked_for_anyway_shares_its_numbers() -> None:
    mean = Mean(**FARE, within=2, at_least=1000)
    alone, both = asked(mean).plan(), asked(mean, Variance(**FARE), StandardDeviation(**FARE)).plan()
    names = [part.name for part in both.noise.parts]
    assert names == ["mean_fare: sum", "mean_fare: count", "variance_fare: squares"]
    own = asked(mean, Variance(**FARE, count_within=9, name="x")).plan()
    assert alone.epsilon < both.epsilon < own.epsilon * 1.01
    # with other bounds nothing is shared
    other = asked(mean, Variance(column="fare", low=0, high=50, count_within=9)).plan()
    assert len(other.noise.parts) == 5


def test_one_after_another_measures_of_spread_share_all() -> None:
    one = asked(Variance(**FARE, count_within=20)).plan()
    two = asked(Variance(**FARE, count_within=20), StandardDeviation(**FARE)).plan()
    assert two.epsilon == one.epsilon
    assert len(two.noise.parts) == 3


UNIT = {"unit": "who", "groups_per_person": 2, "rows_per_group": 2}
MEAN = Mean(**FARE, within=5, at_least=300)
PLANS: list[tuple[list[Any], dict[str, Any]]] = [
    ([Variance(**FARE, count_within=10)], {}),
    ([StandardDeviation(**FARE, count_within=10)], {"neighbors": "replace"}),
    ([MEAN, Variance(**FARE), StandardDeviation(**FARE)], {}),
    ([Variance(**FARE), Count()], {"epsilon": 1.0}),
    (
        [
            Sum(**FARE, within=2000),
            Count(column="fare", within=30),
            Mean(**FARE, within=5, at_least=300),
            Variance(**FARE),
        ],
        {},
    ),
    ([StandardDeviation(**FARE, count_within=10)], {"tables": [["zone"], []]}),
    (
        [StandardDeviation(**FARE, count_within=10, whole=True)],
        {"unit": "who", "groups_per_person": 2, "rows_per_group": 2},
    ),
]


@pytest.mark.parametrize("case", PLANS)
def test_a_published_spread_is_verified(tmp_path: Path, case: Any) -> None:
    measures, changes = case
    data = trips(
        [float(at % 100) for at in range(900)],
        [ZONES[at % 3] for at in range(900)],
        [at % 300 for at in range(900)],
    )
    table = asked(*measures, **changes).plan().release(data)
    place, _ = saved(table, tmp_path)
    assert faults(place) == []
    spread = next(one for one in measures if one.kind in ("variance", "standard-deviation"))
    assert table.columns[f"{spread.name}_confidence"][0] >= (0.92 if "tables" in changes else 0.95)


def test_without_a_mean_or_an_epsilon_it_says_what_is_missing() -> None:
    with pytest.raises(PbdpError, match="within of variance_fare must be given, or an epsilon"):
        asked(Variance(**FARE))
