"""Ranges: every output lies inside, and intervals hold with the plan's own confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.mechanism.custom import CustomRegion

RANGES: dict[str, dict[str, Any]] = {
    "much noise": {"range": (3, 10), "scale": 70.4},
    "little noise": {"range": (0, 40), "scale": 3},
    "real": {"range": (3.3, 10.1), "scale": 5.0, "integer": False},
    "real, fine": {"range": (-0.2, 0.7), "scale": 0.3, "integer": False, "sensitivity": 0.1},
    "Rényi": {"range": (0, 20), "scale": 30, "rdp_order": 10, "delta": None},
    "one law": {"range": (3, 10), "scale": 20, "families": ("laplace",)},
    "a width": {"range": (0, 20), "within": 3},
    "a real width": {"range": (0.3, 4.1), "within": 1.5, "integer": False},
    "a wide width": {"range": (0, 20), "within": 30},
    "a percentage": {"range": (0, 60), "within": "20%+4", "nonnegative": True},
    "a width without exception": {"range": (0, 20), "within": 3, "confidence": 1},
}
REGIONS = {
    "step": lambda q: (q - 2, q + 3 + q // 4),
    "alike": lambda q: (q - q % 5 - 1, q - q % 5 + 5),
    "wide": lambda q: (q - q // 2, q + 9),
}


@pytest.mark.parametrize("name", RANGES)
def test_every_output_is_inside(name: str) -> None:
    plan = _plan(**RANGES[name])
    low, high = RANGES[name]["range"]
    for share in (0.0, 0.3, 0.5, 1.0, 1.7, -2.0):
        answer = low + share * (high - low)
        answer = float(round(answer)) if plan.requirement.integer else answer
        outputs = plan.law_at(answer).output
        assert low <= outputs.min()
        assert outputs.max() <= high
    drawn = np.asarray(plan.release(np.full(2000, low), disjoint=True))
    assert low <= drawn.min()
    assert drawn.max() <= high


@pytest.mark.parametrize("scale", [2.0, 10.0, 70.4])
def test_a_scale_takes_the_cheaper_of_clamping_and_cutting_off(scale: float) -> None:
    plan = _plan(range=(3, 10), scale=scale)
    losses = {other.design.name: other.certificate.epsilon for other in (plan.chosen, *plan.others)}
    assert min(losses.values()) == plan.epsilon
    assert {"laplace, clamped", "truncated laplace", "truncated gaussian"} <= set(losses)
    assert not any(name.startswith("boosted") for name in losses)


def test_the_soft_boundary_is_asked_for_by_name() -> None:
    made = pbdp.boosted(pbdp.DiscreteLaplace(70.4), range=(3, 10), confidence=0.9, sensitivity=1)
    assert 0 < made.boost < 1
    outputs = made.plan(delta=1e-6).law_at(5)
    inside = (outputs.output >= 3) & (outputs.output <= 10)
    assert 0.9 <= outputs.probability[inside].sum() < 0.91


@pytest.mark.parametrize("name", [*RANGES, *REGIONS])
@pytest.mark.parametrize("confidence", [0.999, 0.8])
def test_intervals_hold_with_the_plans_own_confidence(name: str, confidence: float) -> None:
    """Over every output of an answer: the mass of those whose interval holds it."""
    if name in REGIONS:
        plan = _plan(region=CustomRegion(interval=REGIONS[name], low=0, high=30), confidence=confidence)
        low, high = 0.0, 30.0
    else:
        plan = _plan(**{"confidence": confidence, **RANGES[name]})
        low, high = RANGES[name]["range"]
    for share in (0.0, 0.2, 0.5, 0.9, 1.0):
        answer = low + share * (high - low)
        answer = float(round(answer)) if plan.requirement.integer else answer
        law = plan.law_at(answer)
        ends = plan.releaser.intervals(law.output, None)
        held = (ends.low <= answer + 1e-9) & (answer - 1e-9 <= ends.high)
        assert ends.confidence >= min(plan.confidence, confidence)
        # a Rényi plan lists an ideal law, and its table is a little off
        assert law.probability[held].sum() >= plan.confidence - 1e-9


def _plan(**asked: Any) -> pbdp.Plan:
    defaults: dict[str, Any] = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}
    return pbdp.plan(**{**defaults, **asked})
