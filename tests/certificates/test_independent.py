"""The lines that a certificate prints agree with pbdp, and find claims that are too good."""

from __future__ import annotations

from pathlib import Path

import pytest

import pbdp
from pbdp.certificates.independent import data_text, lines_for
from tests.certificates.printed import run_lines
from tests.planning.kinds import plan_of


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


def test_noise_without_a_table_and_very_many_numbers_have_no_lines() -> None:
    assert lines_for(plan_of("l2")) is None
    many = pbdp.plan(
        within=50,
        confidence=0.9,
        sensitivity=1,
        delta=1e-6,
        integer=True,
        releases=500,
        families=("gaussian",),
    )
    assert lines_for(many) is None
