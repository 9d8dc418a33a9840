"""The limit beside a plan."""

from __future__ import annotations

import pytest
from scipy.stats import binom

import pbdp
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.limit.of_plan import limit_of
from pbdp.planning.limit.search import least_epsilon


@pytest.mark.parametrize(
    ("confidence", "sensitivity", "within"), [(0.9, 1, 5), (0.8, 4, 1), (0.8, 4, 5), (0.9, 8, 20)]
)
def test_whole_number_plans_come_within_one_per_cent(
    confidence: float, sensitivity: int, within: int
) -> None:
    plan = pbdp.plan(within=within, confidence=confidence, sensitivity=sensitivity, delta=1e-5, integer=True)
    assert plan.limit is not None
    assert plan.limit.epsilon <= plan.epsilon <= 1.01 * plan.limit.epsilon


@pytest.mark.parametrize(("below", "above"), [(2, 7), (7, 2), (0, 5), (3, 3.5)])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_lopsided_plans_come_within_one_per_cent(below: float, above: float, delta: float) -> None:
    region = AbsoluteRegion(below=below, above=above)
    plan = pbdp.plan(region=region, confidence=0.9, sensitivity=3, delta=delta, integer=True)
    assert plan.limit is not None
    assert plan.limit.epsilon <= plan.epsilon <= 1.01 * plan.limit.epsilon


def test_real_answers_have_a_limit_that_plans_come_close_to() -> None:
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6)
    assert plan.limit is not None
    assert plan.limit.epsilon <= plan.epsilon <= 1.02 * plan.limit.epsilon


def test_the_limit_for_several_releases_is_that_of_their_median() -> None:
    requirement = Requirement(
        region=AbsoluteRegion.even(20.0), confidence=0.7, sensitivity=1, delta=1e-6, integer=True, releases=6
    )
    found = limit_of(requirement, 100.0)
    joint = float(binom.sf(2, 5, 0.7)) * (1 - 1e-9)
    expected = least_epsilon(40, 0, joint, 1, 1e-6)
    assert found is not None
    assert expected is not None
    assert found.epsilon == pytest.approx(expected.epsilon, rel=1e-9)
    assert "median of 5" in found.kind


@pytest.mark.parametrize(
    "asked",
    [
        {"within": "5%+10", "delta": 1e-6, "integer": True, "families": ("laplace",)},
        {"within": 5, "rdp_order": 3, "integer": True},
        {"within": 5, "range": (0, 100), "delta": 1e-6, "integer": True},
    ],
)
def test_where_nothing_is_proved_nothing_is_claimed(asked: dict[str, object]) -> None:
    assert pbdp.plan(confidence=0.9, sensitivity=1, **asked).limit is None  # type: ignore[arg-type]


def test_the_limit_for_several_releases_speaks_of_independent_noise_only() -> None:
    asked = {"within": 20, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}
    one, many = pbdp.plan(**asked), pbdp.plan(releases=3, **asked)  # type: ignore[arg-type]
    assert one.limit is not None
    assert many.limit is not None
    assert "independent" not in one.limit.subject
    assert "independent" in many.limit.subject


def test_a_joint_confidence_gives_the_limit_of_one_release() -> None:
    asked = {"within": 20, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}
    one, joint = pbdp.plan(**asked), pbdp.plan(releases=5, simultaneous=True, **asked)  # type: ignore[arg-type]
    assert one.limit is not None
    assert joint.limit is not None
    assert joint.limit.epsilon == pytest.approx(one.limit.epsilon, rel=1e-4)
    assert "independent" not in joint.limit.subject


def test_whole_answers_that_cannot_differ_have_no_limit() -> None:
    asked = {"within": 5, "confidence": 0.9, "delta": 1e-6, "integer": True}
    assert pbdp.plan(sensitivity=0.5, **asked).limit is None  # type: ignore[arg-type]
