from __future__ import annotations

import math
from typing import Any

import pytest

import pbdp
from pbdp.errors import PlanFileError
from pbdp.mechanism.grid import grid_for
from pbdp.planning.grids import FINE
from pbdp.planning.plan_file import plan_from_record, plan_record
from tests.effort import FULL


@pytest.mark.parametrize(
    ("width", "sensitivity"),
    [(30_000, 1500), (40_000, 2000), (50_020, 2501), (65_500, 3275)][:: 1 if FULL else 3],
)
def test_several_wide_whole_numbers_cost_what_narrower_ones_do(width: int, sensitivity: int) -> None:
    """Over so many whole numbers only Gaussian noise was tried, which costs 14 % more."""
    usual: dict[str, Any] = {"confidence": 0.95, "delta": 1e-6, "releases": 6, "integer": True}
    narrow = pbdp.plan(within=400, sensitivity=20, **usual)
    wide = pbdp.plan(within=width, sensitivity=sensitivity, **usual)
    assert wide.epsilon < 1.01 * narrow.epsilon
    answer, law = 12_345, wide.law_at(12_345)
    assert law.probability[abs(law.output - answer) <= width].sum() >= 0.95
    # whole, and multiples of one that is nothing against the width
    assert wide.grid.step == math.floor(wide.grid.step)
    assert 1 < wide.grid.step < width / 400


@pytest.mark.parametrize(("width", "sensitivity"), [(5.0, 1.0), (1.0, 1.0), (0.7, 1.0), (20.003, 1.0)])
def test_other_widths_have_the_usual_grid(width: float, sensitivity: float) -> None:
    plan = pbdp.plan(
        within=width, sensitivity=sensitivity, confidence=0.9, delta=1e-6, families=("staircase",)
    )
    assert plan.grid == grid_for(width, sensitivity, FINE)


@pytest.mark.parametrize("within", [(1.0001, math.inf), (math.inf, 2.0005)])
def test_a_width_with_an_open_side_has_the_usual_grid(within: tuple[float, float]) -> None:
    plan = pbdp.plan(within=within, sensitivity=1.0, confidence=0.9, delta=1e-6, families=("laplace",))
    assert plan.grid == grid_for(min(within), 1.0, FINE)


@pytest.mark.parametrize("confidence", [0.99, 0.9999])
def test_the_limit_of_a_width_of_one_sensitivity_is_close(confidence: float) -> None:
    """On the usual lattice, which adds a point to the region, it was 2 and 16 % too low."""
    plan = pbdp.plan(within=1.0, sensitivity=1.0, confidence=confidence, delta=1e-12)
    assert plan.limit is not None
    assert plan.epsilon <= 1.005 * plan.limit.epsilon


def test_a_width_far_below_the_sensitivity_has_a_limit() -> None:
    plan = pbdp.plan(within=1e-3, sensitivity=1.0, confidence=0.99, delta=1e-8, families=("staircase",))
    assert plan.limit is not None
    assert plan.limit.epsilon <= plan.epsilon


def test_noise_on_multiples_that_are_not_exact_is_refused_in_files() -> None:
    record: dict[str, Any] = plan_record(
        pbdp.plan(within=0.25, confidence=0.9, sensitivity=1.0, delta=1e-6, range=(0, 2))
    )
    record["mechanism"]["grid"]["step"] = record["step"] = 0.1
    with pytest.raises(PlanFileError):
        plan_from_record(record)
