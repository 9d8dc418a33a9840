"""The lines that a certificate prints agree with pbdp, and find claims that are too good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_within
from pbdp.noise.family import known_families
from pbdp.planning.certificate import certified
from pbdp.planning.plan import plan_of as plan_of_design
from pbdp.report.certificates.checker import data_text, lines_for
from tests.effort import FULL
from tests.planning.kinds import plan_of
from tests.report.certificates.printed import run_lines


def found(plan: pbdp.Plan, folder: Path, **forged: object) -> str:
    made = lines_for(plan)
    assert made is not None
    lines, data = made
    page = folder / "page.html"
    page.write_text(f'<script id="numbers">{data_text(data | forged)}</script>', encoding="utf-8")
    return run_lines(lines, page)


@pytest.mark.parametrize("kind", ["whole", "real", "relative", "range", "rdp"])
def test_one_number_is_checked_exactly(kind: str, tmp_path: Path) -> None:
    assert found(plan_of(kind), tmp_path).endswith("\nHOLDS\n")


def test_claims_that_are_a_little_too_good_do_not_hold(tmp_path: Path) -> None:
    plan = plan_of("whole")
    assert plan.delta is not None
    for forged in (
        {"epsilon": plan.epsilon * (1 - 1e-9)},
        {"delta": plan.delta * (1 - 1e-6)},
        {"guessed_right": plan.risk() - 1e-9},
        {"confidence": plan.confidence + 1e-9},
    ):
        assert "DOES NOT HOLD" in found(plan, tmp_path, **forged), forged


def test_several_numbers_are_bracketed(tmp_path: Path) -> None:
    plan = plan_of("joint")
    told = found(plan, tmp_path)
    assert told.endswith("\nAGREES\n")
    least, most = (float(word) for word in told.split("; ")[0].removeprefix("epsilon is from ").split(" to "))
    assert least <= plan.epsilon <= most <= 1.02 * least
    assert "DOES NOT HOLD" in found(plan, tmp_path, epsilon=plan.epsilon * 0.99)


def test_very_many_numbers_are_bracketed(tmp_path: Path) -> None:
    plan = pbdp.plan(
        within=50,
        confidence=0.9,
        sensitivity=1,
        delta=1e-6,
        integer=True,
        releases=500 if FULL else 100,
        families=("gaussian",),
    )
    told = found(plan, tmp_path)
    assert told.endswith("\nAGREES\n")
    least, most = (float(word) for word in told.split("; ")[0].removeprefix("epsilon is from ").split(" to "))
    assert least <= plan.epsilon * 1.0001 <= 1.0001 * most <= 1.1 * least
    assert "DOES NOT HOLD" in found(plan, tmp_path, epsilon=least * 0.999)


@pytest.mark.parametrize("asked", [{"within": "50%+10", "nonnegative": True}, {"within": "20%+8"}])
def test_noise_that_changes_with_the_answer_is_computed_for_many_pairs(
    asked: dict[str, Any], tmp_path: Path
) -> None:
    plan = changing_plan(**asked)
    told = found(plan, tmp_path)
    assert told.endswith("\nAGREES\n")
    reached = float(told.split()[2])
    assert plan.delta is not None
    assert 0.5 * plan.delta <= reached <= plan.delta  # the worst pair is nearly among them
    assert "DOES NOT HOLD" in found(plan, tmp_path, delta=reached * 0.999)


def changing_plan(**asked: Any) -> pbdp.Plan:
    """Gaussian noise that is boosted where each answer wants it."""
    region = region_within(**asked)
    requirement = Requirement(region=region, confidence=0.8, sensitivity=2, delta=1e-5, integer=True)
    kernel = known_families()["gaussian"].kernel(sigma=8.0)
    design = Design(grid=LinearGrid(step=1.0, rounded=False), kernel=kernel, region=region, boost=0.6)
    chosen = certified(requirement, design)
    assert chosen is not None
    return plan_of_design(requirement, chosen)


def test_changes_in_the_sum_of_absolute_values_are_checked(tmp_path: Path) -> None:
    plan = pbdp.plan(within=30, confidence=0.9, dimensions=3, sensitivity=1, delta=1e-6, norm="l1", step=0.25)
    told = found(plan, tmp_path)
    assert told.endswith("\nHOLDS\n"), told
    assert "DOES NOT HOLD" in found(plan, tmp_path, epsilon=plan.epsilon * 0.98)
