"""Wide widths of whole numbers: noise on multiples of a whole number, as private and accurate as it says."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.errors import ContradictionError, PlanFileError
from pbdp.mechanism.grid import LinearGrid, whole_grid_for, whole_numbers
from pbdp.planning.certificate import is_payable
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.report.explanation import better_step

WIDE: dict[str, Any] = {"confidence": 0.9, "delta": 1e-6, "integer": True}


def law(plan: Plan, answer: int) -> dict[int, float]:
    """Published numbers and their probabilities, from the noise alone: rounded, then moved by it."""
    step = round(plan.grid.step)
    place = (2 * answer + step) // (2 * step)
    noise = plan.law_at(0)
    return {
        round(output) + place * step: probability
        for output, probability in zip(noise.output.tolist(), noise.probability.tolist(), strict=True)
    }


@pytest.fixture
def small() -> Plan:
    """A plan on multiples of 5, small enough to look at every pair of neighbors."""
    plan = pbdp.plan(within=600, sensitivity=67, step=5, families=("laplace", "staircase"), **WIDE)
    assert plan.grid == LinearGrid(step=5.0, rounded=True, whole=True)
    return plan


def test_what_it_claims_holds_for_every_pair_of_answers(small: Plan) -> None:
    growth, worst = math.exp(small.epsilon), 0.0
    for answer in range(5):
        first = law(small, answer)
        for moved in range(-67, 68):
            second = law(small, answer + moved)
            lost = math.fsum(max(p - growth * second.get(y, 0.0), 0.0) for y, p in first.items())
            worst = max(worst, lost)
    assert 0 < worst <= 1e-6 * (1 + 1e-9)


def test_every_answer_is_met_with_the_confidence(small: Plan) -> None:
    for answer in range(-7, 8):
        outputs = law(small, answer)
        assert outputs == pytest.approx(dict(zip(*_listed(small, answer), strict=True)))
        assert math.fsum(p for y, p in outputs.items() if abs(y - answer) <= 600) >= 0.9
        low, high = small.interval(np.array(list(outputs)))
        held = (low <= answer) & (answer <= high)
        assert float(np.sum(np.array(list(outputs.values()))[held])) >= 0.9


def _listed(plan: Plan, answer: int) -> tuple[list[int], list[float]]:
    found = plan.law_at(answer)
    return [round(output) for output in found.output.tolist()], found.probability.tolist()


@pytest.mark.parametrize(
    ("within", "sensitivity"),
    [(5e6, 1e6), (1e6, 1e5), (1e6, 1e4), (450_000, 100_000), (100, 1e7), (1e9, 1e7), (140_000, 300)],
)
def test_wide_widths_come_near_the_limit_with_noise_that_budgets_pay(
    within: float, sensitivity: float
) -> None:
    plan = pbdp.plan(within=within, sensitivity=sensitivity, **WIDE)
    assert plan.limit is not None
    most = 1.01 if within >= sensitivity else 1.02
    assert plan.limit.epsilon <= plan.epsilon <= most * plan.limit.epsilon
    assert plan.grid.whole_outputs
    assert plan.grid.step > 1
    assert within < 1000 or is_payable(plan.requirement, plan.mechanism)


def test_the_limit_of_very_wide_widths_is_near_too() -> None:
    """On lattices that the sensitivity is no whole number of steps of, it was 7 % too low."""
    plan = pbdp.plan(
        within=374_547 * 106_532, sensitivity=106_532, confidence=1 - 3.8e-9, delta=8.2e-11, integer=True
    )
    assert plan.limit is not None
    assert plan.limit.epsilon <= plan.epsilon <= 1.003 * plan.limit.epsilon


def test_whole_numbers_are_published_and_kept(tmp_path: Path) -> None:
    plan = pbdp.plan(within=1e6, sensitivity=10_000, families=("laplace",), **WIDE)
    step = round(plan.grid.step)
    one, many = (
        plan.release(12_345_678),
        pbdp.plan(within=1e6, sensitivity=10_000, families=("laplace",), releases=3, **WIDE).release(
            np.array([1, 2, 2**53 + 1])
        ),
    )
    assert isinstance(one, int)
    assert one % step == 0
    assert many.dtype == np.int64
    assert abs(int(many[2]) - 2**53) < 10**8
    plan.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == plan


def test_a_file_cannot_call_real_answers_whole() -> None:
    plan = pbdp.plan(within=1e6, sensitivity=10_000, families=("laplace",), **WIDE)
    record = plan_record(plan)
    for wrong in ({"whole": False}, {"whole": 1}, {"rounded": False}, {"step": 1667.5}):
        forged = _changed(record, wrong)
        with pytest.raises((PlanFileError, pbdp.InputError)):
            plan_from_record(forged)


def _changed(record: Any, wrong: dict[str, Any]) -> Any:
    """The record with other marks of its grid."""
    match record:
        case dict():
            if record.get("kind") == "linear":
                return record | wrong
            return {name: _changed(value, wrong) for name, value in record.items()}
        case list():
            return [_changed(entry, wrong) for entry in record]
    return record


@pytest.mark.parametrize(
    ("width", "sensitivity", "step"),
    [(2**17, 2**20, 1), (2**17 + 1, 1, 1), (140_000, 3, 3), (140_000, 2**17, 256)],
)
def test_single_numbers_are_used_where_they_do(width: float, sensitivity: float, step: int) -> None:
    assert whole_grid_for(width, sensitivity).step == step
    assert (whole_grid_for(width, sensitivity) == whole_numbers()) == (step == 1)


def test_answers_are_rounded_to_the_nearest_multiple() -> None:
    coarse = LinearGrid(step=1668.0, rounded=True, whole=True)
    answers = np.array([0, 833, 834, -834, -835, 2**62 + 1])
    exact = [math.floor(Fraction(int(answer), 1668) + Fraction(1, 2)) for answer in answers]
    assert coarse.steps_of_integers(answers[:-1]).tolist() == exact[:-1]
    assert [coarse.steps_of(Fraction(int(answer))) for answer in answers[:-1]] == exact[:-1]


def test_a_step_for_whole_numbers_is_whole_and_told_where_it_costs() -> None:
    asked = {"within": 500, "sensitivity": 7, "families": ("laplace",), **WIDE}
    coarse = pbdp.plan(**asked, step=100)
    better = better_step(coarse)
    assert coarse.release(7) % 100 == 0
    assert better is not None
    assert better.grid == whole_numbers()
    assert better_step(pbdp.plan(**asked, step=1)) is None
    with pytest.raises(ContradictionError, match="a whole number"):
        pbdp.plan(**asked, step=0.5)
    with pytest.raises(ContradictionError, match="vectors of whole numbers"):
        pbdp.plan(within=500, error_norm="l1", sensitivity=7, dimensions=3, step=2, **WIDE)
