"""Intervals of ratios, and of means that promise no width, hold as often as they say, and hardly more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pbdp.planning.plan import number_design
from pbdp.release.intervals import Intervals
from pbdp.tables import Mean, Ratio
from pbdp.tables.plan import TablePlan
from tests.tables.asking import query

DRAWS = 40_000
NOBODY = np.zeros(DRAWS)
NONE = Intervals(low=NOBODY - 1e9, high=NOBODY + 1e9, confidence=0.5)


def covered(plan: TablePlan, truths: tuple[float, float], ratio: float) -> float:
    """How often the interval of the measure holds a ratio, of so many drawn tables with these sums."""
    (measure,) = plan.query.measures
    rng = np.random.default_rng(5)
    released: list[tuple[Any, Intervals]] = []
    for label, truth in zip(plan.labels(measure), truths, strict=True):
        design = number_design(plan.part(label).design)
        table = design.table_at(0.0)
        noise = rng.choice(table.values(), DRAWS, p=table.probabilities()) * design.grid.step
        released.append((np.round(truth / design.grid.step) * design.grid.step + noise, NONE))
    _, low, high, confidence = measure.estimate(plan, released)
    assert confidence == 0.9
    return float(np.mean((low <= ratio) & (ratio <= high)))


@pytest.mark.parametrize("of_low", [0, -10])
@pytest.mark.parametrize(
    "truths", [(3000.0, 20_000.0), (400.0, 300.0), (9000.0, 90.0), (0.0, 5000.0), (50.0, 12_000.0)]
)
def test_intervals_of_ratios(truths: tuple[float, float], of_low: int) -> None:
    ratio = Ratio(of="tip", of_low=of_low, of_high=10, over="fare", over_low=0, over_high=50,
                  of_within=400, over_within=1500, confidence=0.9)  # fmt: skip
    plan = query([ratio]).plan()
    found = covered(plan, truths, truths[0] / truths[1])
    assert found >= 0.9 - 4 * math.sqrt(0.09 / DRAWS)
    # where the lower sum is lost in its noise, nothing is known
    if truths[1] > 5000:
        assert found <= 0.925


@pytest.mark.parametrize(("rows", "mean"), [(40, 3.0), (300, 45.0), (5000, -20.0), (5000, 2.0)])
def test_intervals_of_means_by_the_width_of_their_count(rows: int, mean: float) -> None:
    asked = Mean(column="x", low=-50, high=50, count_within=30, confidence=0.9)
    found = covered(query([asked]).plan(), (rows * mean, rows), mean)
    assert found >= 0.9 - 4 * math.sqrt(0.09 / DRAWS)
    if rows >= 5000:
        assert found <= 0.92
