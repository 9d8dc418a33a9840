"""Pictures of audits: the facts in them, not the pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pbdp
from pbdp.audit.audit import Audit, audit_plan
from pbdp.digits import rounded_down, rounded_up
from pbdp.report.pictures.audit_figure import draw_audit
from pbdp.report.pictures.canvas import save
from tests.audit.plans import plan_named
from tests.audit.samplers import scaled_plan, true_sampler


def text_of(audit: Audit, plan: pbdp.Plan, folder: Path) -> str:
    path = folder / "audit.svg"
    save(draw_audit(audit, plan), path)
    return path.read_text(encoding="utf-8")


def test_a_passed_audit_says_so(tmp_path: Path) -> None:
    plan = plan_named("whole")
    audit = audit_plan(plan, true_sampler(plan, 1), draws=50_000)

    text = text_of(audit, plan, tmp_path)

    for words in (
        "Audit: PASS, 50,000 draws at each answer, 99.9 % confidence",
        "within 5 of the truth, laplace noise",
        "meets the requirement",
        rounded_down(audit.only.loss.epsilon_lower),
        rounded_up(plan.epsilon),
        "claimed 90 %",
        "Deviation from the law",
    ):
        assert words in text


def test_a_failed_audit_says_what_failed(tmp_path: Path) -> None:
    plan = plan_named("whole")
    audit = audit_plan(plan, true_sampler(scaled_plan(plan, 0.7), 2), draws=50_000)

    assert "FAIL (privacy, fit)" in text_of(audit, plan, tmp_path)


def test_what_is_drawn_is_what_was_counted() -> None:
    plan = plan_named("whole")
    audit = audit_plan(plan, true_sampler(plan, 3), draws=50_000)

    frequencies, loss, deviations, accuracy = draw_audit(audit, plan).axes

    sample = next(s for s in audit.only.samples if s.answer == audit.only.loss.best.first)
    law, points = frequencies.lines[:2]
    at = np.searchsorted(sample.law.output, np.asarray(points.get_xdata()))
    assert np.allclose(np.asarray(points.get_ydata()), sample.counts[at] / audit.only.draws)
    at = np.searchsorted(sample.law.output, np.asarray(law.get_xdata()))
    assert np.allclose(np.asarray(law.get_ydata()), sample.law.probability[at])
    assert max(bar.get_width() for bar in loss.patches) == audit.only.loss.epsilon_lower  # type: ignore[attr-defined]
    assert all(np.abs(np.asarray(line.get_ydata())).max() < 5 for line in deviations.lines)
    worst = audit.only.accuracy.worst
    assert np.asarray(accuracy.lines[0].get_xdata()).tolist() == [worst.low, worst.high]


@pytest.mark.parametrize("name", ["real", "range", "one-sided", "log", "ten renyi", "per answer"])
def test_every_kind_of_plan_can_be_drawn(name: str, tmp_path: Path) -> None:
    plan = plan_named(name)

    text = text_of(audit_plan(plan, true_sampler(plan, 4), draws=2000), plan, tmp_path)

    assert "Privacy loss is at least" in text


@pytest.mark.parametrize("nonsense", [np.nan, 1000.0])
def test_nonsense_can_be_drawn(nonsense: float, tmp_path: Path) -> None:
    plan = plan_named("whole")

    audit = audit_plan(plan, lambda _, count: np.full(count, nonsense), draws=2000)

    assert "FAIL" in text_of(audit, plan, tmp_path)
