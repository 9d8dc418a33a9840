"""Which laws a joint plan has: never dearer than separate plans, and with laws that budgets can pay for."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pbdp.accounting import RESERVE
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import unhidden
from pbdp.planning.plan import Plan
from pbdp.planning.planner import plan_for
from pbdp.planning.pricing.terms import Terms, price
from pbdp.planning.together.search import plan_together
from tests.effort import cases
from tests.planning.together.requirements import count


def separate(asked: list[Requirement], shares: list[float], families: tuple[str, ...]) -> float:
    """What separate plans cost at these shares of delta."""
    plans = [
        plan_for(replace(each, delta=share), families) for each, share in zip(asked, shares, strict=True)
    ]
    return sum(plan.epsilon for plan in plans)


def unhidden_of(plan: Plan) -> float:
    return sum(unhidden(part.requirement, part.design) for part in plan.parts)


@pytest.mark.parametrize(("releases", "most"), [(20, 0.463), (100, 0.5307)])
def test_a_tight_number_and_many_loose_ones(releases: int, most: float) -> None:
    """Laws that are good for all releases alike, 0.5825 and 0.6695, are good for neither part."""
    asked = [count(5), count(500, releases=releases)]
    joint = plan_together(asked)
    assert joint.epsilon <= most
    assert joint.epsilon < separate(asked, [5e-7, 5e-7], ("laplace", "huber"))


@pytest.mark.parametrize("seed", range(cases(30)))
def test_never_more_than_separate_plans(seed: int) -> None:
    chance = random.Random(seed)
    delta = 10 ** chance.uniform(-9, -2)
    asked = [
        count(
            int(10 ** chance.uniform(0, 2.5)),
            confidence=chance.choice([0.8, 0.9, 0.95]),
            sensitivity=chance.choice([1, 1, 2, 5]),
            releases=chance.choice([1, 1, 2, 20]),
            delta=delta,
        )
        for _ in range(chance.choice([2, 2, 3]))
    ]
    families = ("laplace", "staircase", "huber")
    joint = plan_together(asked, families)
    # nothing is lost but what the convolution is rounded by
    even, total = [delta / len(asked)] * len(asked), sum(each.releases for each in asked)
    by_releases = [delta * each.releases / total for each in asked]
    uneven = [0.9 * delta, *([0.1 * delta / (len(asked) - 1)] * (len(asked) - 1))]
    for shares in (even, by_releases, uneven, uneven[::-1]):
        assert joint.epsilon <= separate(asked, shares, families) * (1 + 2e-4)


@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_budgets_can_pay_for_what_is_planned(delta: float) -> None:
    joint = plan_together([count(5, delta=delta), count(9, delta=delta, sensitivity=2)])
    assert unhidden_of(joint) <= RESERVE * delta
    assert price(Terms(epsilon=1.1 * joint.epsilon, delta=delta), ((joint, 1),)).fits


def test_planning_knows_the_reserve_that_is_usual() -> None:
    assert Terms(epsilon=1.0, delta=1e-6).reserve == RESERVE


def test_what_saves_much_is_taken_all_the_same() -> None:
    asked = [count(5, delta=1e-2), count(50, delta=1e-2)]
    joint = plan_together(asked, ("gaussian", "cut staircase"))
    assert unhidden_of(joint) > RESERVE * 1e-2
    assert joint.epsilon < 0.99 * plan_together(asked, ("gaussian",)).epsilon
    assert any("its delta must be at least" in line for line in joint.assumptions)
