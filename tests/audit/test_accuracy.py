"""The interval for the confidence, against the claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pbdp.audit.audit import audit_plan
from tests.audit.plans import NAMES, plan_named
from tests.audit.samplers import altered, scaled_plan, true_sampler


@pytest.mark.parametrize("name", NAMES)
def test_the_interval_holds_the_confidence_of_the_law(name: str) -> None:
    plan = plan_named(name)

    found = audit_plan(plan, true_sampler(plan, 21), draws=50_000).only.accuracy

    assert found.passed
    asked = plan.requirement
    assert found.claimed == (asked.confidence_each if asked.simultaneous else plan.confidence)
    for interval in found.intervals:
        law = plan.law_at(interval.answer)
        below, above = plan.requirement.region.offsets(float(interval.answer))
        met = (law.output >= interval.answer - below) & (law.output <= interval.answer + above)
        assert interval.low <= float(np.sum(law.probability[met])) + 1e-12
        assert interval.high >= float(np.sum(law.probability[met])) - 1e-12
        assert interval.high - interval.low < 0.02


def test_intervals_miss_with_at_most_the_error() -> None:
    plan, draw = plan_named("whole"), true_sampler(plan_named("whole"), 22)
    truth = float(np.sum(plan.law_at(0).probability[np.abs(plan.law_at(0).output) <= 5]))

    found = [audit_plan(plan, draw, draws=1000, confidence=0.1).only.accuracy for _ in range(200)]

    missed = sum(any(not i.low <= truth <= i.high for i in one.intervals) for one in found)
    assert 10 <= missed <= 0.3 * 200


def test_noise_that_is_too_wide_fails() -> None:
    plan = plan_named("whole")

    audit = audit_plan(plan, true_sampler(scaled_plan(plan, 1.05), 23), draws=200_000)

    assert "accuracy" in audit.failures
    assert audit.only.accuracy.worst.high < plan.confidence
    assert "90 %: CONTRADICTED" in audit.describe()


def test_noise_that_is_too_narrow_is_accurate_enough() -> None:
    plan = plan_named("whole")

    assert audit_plan(plan, true_sampler(scaled_plan(plan, 0.9), 24), draws=100_000).only.accuracy.passed


def test_a_promise_without_exception_bears_none() -> None:
    """Outputs in a range, always: one outside is enough."""
    plan = plan_named("range")
    assert plan.chosen.certificate.confidence == 1

    def spoil(_: int | float, numbers: Any) -> Any:
        numbers[0] = 100.125
        return numbers

    audit = audit_plan(plan, altered(true_sampler(plan, 25), spoil), draws=20_000)

    assert not audit.only.accuracy.passed


def test_the_hardest_answer_is_looked_at() -> None:
    """Noise of a relative plan that is too wide for some answers is still fine far from 0."""
    plan = plan_named("relative")

    found = audit_plan(plan, true_sampler(scaled_plan(plan, 1.2), 26), draws=50_000).only.accuracy

    hard = found.hardest
    assert hard < 200
    assert {i.answer: i.high >= found.claimed for i in found.intervals} == {
        1000: True,
        1001: True,
        hard: False,
    }


def test_a_joint_confidence_is_audited_for_each_number() -> None:
    plan = plan_named("joint")

    claimed = audit_plan(plan, true_sampler(plan, 27), draws=1000).only.accuracy.claimed

    assert claimed**5 == pytest.approx(plan.confidence)
