"""Plans that choose, audited: true laws pass, and laws that are a little off are caught."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.audit.audit import audit_plan
from pbdp.audit.choices import first_is_picked
from pbdp.choosing.exponential_mechanism import ExponentialMechanism
from pbdp.choosing.permute_and_flip import PermuteAndFlip
from pbdp.choosing.uniform import UniformNoise
from pbdp.errors import CannotCertifyError, ContradictionError
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array
from tests.choosing import brute_force

BASE: dict[str, Any] = {"within": 5, "confidence": 0.9, "sensitivity": 1, "integer": True}
KINDS: dict[type, dict[str, Any]] = {
    PermuteAndFlip: BASE | {"options": 4},
    UniformNoise: BASE | {"options": 3, "top": 3},
    ExponentialMechanism: BASE | {"options": 100, "top": 10, "within": 40, "delta": 1e-6},
}


@pytest.mark.parametrize("kind", KINDS)
def test_true_draws_pass_and_others_are_caught(kind: type) -> None:
    plan = pbdp.plan_choice(**KINDS[kind])
    assert isinstance(plan.way, kind)
    few: dict[str, Any] = {"draws": 4000, "confidence": 0.999999}
    found = audit_plan(plan, **few)
    assert found.passed
    assert "first picks" in found.describe()
    assert found.record()["privacy"]["epsilon_lower"] <= found.only.loss.claim.epsilon
    rng = np.random.default_rng(1)

    def sharper(lead: float, count: int) -> Array:
        return (rng.random(count) < first_is_picked(plan, round(3 * lead))).astype(np.float64)

    wrong = audit_plan(plan, sharper, draws=200_000)
    assert "fit" in wrong.failures

    drawn: list[float] = []

    def telling(lead: float, count: int) -> Array:
        drawn.append(lead)
        return np.full(count, float(lead == drawn[0]))

    assert {"privacy", "accuracy", "fit"} <= set(audit_plan(plan, telling, draws=4000).failures)


def test_the_law_of_a_first_pick_is_that_of_every_order() -> None:
    plan = pbdp.plan_choice(**KINDS[PermuteAndFlip])
    assert isinstance(plan.way, PermuteAndFlip)
    coins = [Fraction(int(weight), TOTAL) for weight in plan.way.coins.weights]
    for lead in range(-7, 9):
        exact = brute_force.chosen([lead, 0, 0, 0], coins)[0]
        assert first_is_picked(plan, lead) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("lead", [-40, -3, 0, 2, 30])
def test_the_law_of_an_order_is_that_of_all_noise(lead: int) -> None:
    plan = pbdp.plan_choice(**KINDS[UniformNoise])
    assert isinstance(plan.way, UniformNoise)
    exact = 0.0
    for width, weight in enumerate(plan.way.weights[:-1].tolist()):
        below = np.clip(np.arange(width + 1) + lead + 1, 0, width + 1) / (width + 1)
        exact += weight / TOTAL * float(np.mean(below**2))
    assert first_is_picked(plan, lead) == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_what_cannot_be_audited_is_refused() -> None:
    plan = pbdp.plan_choice(**KINDS[PermuteAndFlip])
    with pytest.raises(ContradictionError, match="left out for a choice"):
        audit_plan(plan, answers=[1])
    with pytest.raises(CannotCertifyError, match="nothing to audit"):
        audit_plan(pbdp.plan_choice(**BASE | {"options": 1}))
