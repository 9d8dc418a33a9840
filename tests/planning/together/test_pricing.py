"""What a joint plan costs under every rule, and in a ledger."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import pytest

import pbdp
from pbdp.accounting.filters.design_loss import approximate_renyi
from pbdp.errors import CannotCertifyError, InputError
from pbdp.ledger.budget import Budget
from pbdp.ledger.ledger import Ledger
from pbdp.ledger.request import Request
from pbdp.mechanism.custom import CustomRegion
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.pricing import Claim, fingerprint, make_rule, price
from pbdp.planning.pricing.batch_rule import batch_rule, compose_plans
from pbdp.planning.pricing.priced import name_of
from pbdp.planning.pricing.renyi_rule import RenyiRule
from pbdp.planning.pricing.sum_rule import SumRule
from pbdp.planning.together import plan_together
from tests.planning.together.enumeration import worst
from tests.planning.together.requirements import FEW, count


@lru_cache(maxsize=8)
def visits(missing: float = 1e-9, delta: float = 1e-6, neighbors: str = "add/remove") -> Plan:
    """A table with three measures."""
    asked = [
        count(30, releases=3, delta=delta, neighbors=neighbors),
        count(50, sensitivity=2, releases=3, delta=delta, neighbors=neighbors),
        count(30, releases=3, delta=delta, neighbors=neighbors),
    ]
    return plan_together(asked, FEW, missing=missing)


@lru_cache(maxsize=8)
def small(missing: float) -> Plan:
    """Two numbers with short tables."""
    asked = [count(1, confidence=0.8, delta=1e-2), count(2, confidence=0.7, sensitivity=2, delta=1e-2)]
    return plan_together(asked, FEW, missing=missing)


# ----------------------------------------------------------------------------------------------- renyi


@pytest.mark.parametrize("missing", [0.0, 1e-9])
def test_renyi_losses_add_up_and_what_is_set_aside_is_missing(missing: float) -> None:
    rule, joint = RenyiRule(epsilon=3, delta=1e-6), visits(missing)
    limits = rule.limits()
    exchange = (limits["renyi"] / 1e12) / (limits["missing"] / 1e30)
    exact = {"renyi": Fraction(0), "missing": Fraction(missing) * 10**30}
    for part, steps in zip(joint.parts, (1, 2, 1), strict=True):
        assert rule.order is not None
        loss = approximate_renyi(part.design.table_at(0.0), steps, rule.order, exchange)
        exact["renyi"] += 3 * Fraction(loss.renyi_upper) * 10**12
        exact["missing"] += 3 * loss.missing_upper * 10**30
    cost = rule.cost(joint)
    for name, amount in exact.items():
        # each part is rounded up once
        assert amount <= cost[name] < amount + 4


def test_all_tables_that_fit_a_renyi_budget_compose_to_less() -> None:
    rule = make_rule(epsilon=3, delta=1e-6)
    times = price(rule, visits()).times
    assert times is not None
    assert times > 0
    assert compose_plans([(visits(), times)]).epsilon_at(1e-6).upper <= 3


# ------------------------------------------------------------------------------------------------- sum


@pytest.mark.parametrize("missing", [0.0, 1e-9, 9e-7])
def test_the_sum_charges_a_point_of_the_curve(missing: float) -> None:
    joint = visits(missing)
    rule = SumRule(epsilon=3, delta=1e-5)
    cost = rule.cost(joint)
    epsilon, delta = Fraction(cost["epsilon"], 10**12), Fraction(cost["delta"], 10**30)
    assert delta > Fraction(missing)
    noise = float(delta - Fraction(missing))
    parts = plan_together(
        (),
        given=[
            [(replace(part.requirement, delta=noise), number_design(part.design))] for part in joint.parts
        ],
    )
    assert parts.certificate.epsilon_lower * (1 - 1e-6) <= epsilon <= parts.epsilon * (1 + 1e-6)


@pytest.mark.parametrize("missing", [0.0, 5e-3])
def test_what_the_sum_charges_holds_for_all_combinations_of_outputs(missing: float) -> None:
    cost = SumRule(epsilon=5, delta=2e-2).cost(small(missing))
    delta = cost["delta"] / 1e30
    assert worst(small(missing), cost["epsilon"] / 1e12) <= (delta - missing) * (1 + 1e-9)


@pytest.mark.parametrize("missing", [0.0, 3e-7])
def test_a_table_fits_a_budget_of_its_own_delta(missing: float) -> None:
    """A smaller delta would take a smaller share of both limits, but more epsilon than there is."""
    whole = SumRule(epsilon=visits(missing).epsilon * (1 + 1e-9), delta=1e-6)
    assert price(whole, visits(missing)).times == 1
    assert price(SumRule(epsilon=2 * visits(missing).epsilon, delta=1e-6), visits(missing)).fits
    assert not price(SumRule(epsilon=visits(missing).epsilon * 0.999, delta=1e-6), visits(missing)).fits


def test_more_set_aside_than_the_budget_has_does_not_fit() -> None:
    assert not price(SumRule(epsilon=50, delta=1e-7), visits(9e-7)).fits
    assert not price(RenyiRule(epsilon=50, delta=1e-5), visits(9e-7)).fits


def test_noise_without_an_epsilon_that_small_is_refused() -> None:
    with pytest.raises(CannotCertifyError, match="smaller delta"):
        SumRule(epsilon=50, delta=1e-19).cost(replace_delta(small(0.0), 1e-19))
    with pytest.raises(InputError, match="Give the budget a delta"):
        SumRule(epsilon=50, delta=0).cost(small(0.0))


def replace_delta(joint: Plan, delta: float) -> Plan:
    parts = tuple(replace(part, requirement=replace(part.requirement, delta=delta)) for part in joint.parts)
    return replace(joint, parts=parts, certificate=replace(joint.certificate, delta=delta))


# ----------------------------------------------------------------------------------------------- batch


@pytest.mark.parametrize("missing", [0.0, 1e-9, 5e-7])
def test_one_package_composes_to_the_joint_epsilon(missing: float) -> None:
    found = compose_plans([(visits(missing), 1)]).epsilon_at(1e-6)
    assert found.upper == pytest.approx(visits(missing).epsilon, rel=2e-4)
    assert found.upper >= visits(missing).certificate.epsilon_lower


def test_a_batch_takes_what_is_set_aside_from_delta() -> None:
    exact = [compose_plans([(visits(missing), 2)]).epsilon_at(1e-6).upper for missing in (0.0, 4e-7)]
    parts = visits(4e-7).parts
    designs = plan_together((), given=[[(part.requirement, number_design(part.design))] for part in parts])
    noise = compose_plans([(designs, 2)])
    assert exact[0] < exact[1] == pytest.approx(noise.epsilon_at(1e-6 - 8e-7).upper, rel=1e-4)
    assert math.isinf(compose_plans([(visits(4e-7), 3)]).epsilon_at(1e-6).upper)


@pytest.mark.parametrize("missing", [0.0, 2e-3])
def test_a_composition_is_no_less_than_all_combinations_of_outputs(missing: float) -> None:
    """delta_at: what the theorem says, m + (1-m)·d, from enumeration."""
    for epsilon in (0.5, 1.5, 2.5):
        exact = missing + (1 - missing) * worst(small(missing), epsilon)
        found = compose_plans([(small(missing), 1)]).delta_at(epsilon).upper
        assert exact * (1 - 1e-9) <= found <= exact * (1 + 5e-3)


def test_joint_plans_and_others_make_a_batch() -> None:
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-9, integer=True)
    rule = batch_rule([(visits(), 2), (plan, 1), (Claim(epsilon=0.1), 1)], epsilon=5, delta=1e-6)
    assert rule.limits()[fingerprint(visits())] == 2
    assert rule.cost(visits())[fingerprint(visits())] == 1
    assert rule.found.upper > compose_plans([(visits(), 2), (plan, 1)]).epsilon_at(1e-6).upper
    with pytest.raises(InputError, match=r"another \(joint plan of 3"):
        rule.cost(visits(0.0))


# ------------------------------------------------------------------------------------- names and relations


def test_names_and_relations() -> None:
    names = [part.design.name for part in visits().parts]
    assert len(set(names)) == 1
    assert name_of(visits()) == f"joint plan of 3 (3 x {names[0]})"
    two = plan_together(
        [count(9)], FEW, given=[[(part.requirement, number_design(part.design))] for part in visits().parts]
    )
    first = two.parts[0].design.name
    alike = f"4 x {first}" if first == names[0] else f"{first}, 3 x {names[0]}"
    assert name_of(two) == f"joint plan of 4 ({alike})"
    assert visits(neighbors="replace").neighbors == "replace"
    for kind in ("renyi", "sum"):
        with pytest.raises(InputError, match="neighbors must be 'add/remove'"):
            make_rule(kind, epsilon=3, delta=1e-5).cost(visits(neighbors="replace"))
    with pytest.raises(InputError, match="neighbors must be 'add/remove'"):
        batch_rule([(visits(neighbors="replace"), 1)], epsilon=3, delta=1e-5)


def test_fingerprints_tell_joint_plans_apart() -> None:
    joint = visits()
    others = [
        visits(0.0),
        visits(neighbors="replace"),
        visits(delta=2e-6),
        replace(joint, parts=joint.parts[:2]),
        replace(joint, parts=(joint.parts[1], joint.parts[0], joint.parts[2])),
        replace(joint, parts=(*joint.parts[:2], replace(joint.parts[2], design=joint.parts[1].design))),
        replace(joint, parts=(*joint.parts[:2], replace(joint.parts[2], requirement=count(31, releases=3)))),
        replace(joint, parts=(*joint.parts[:2], replace(joint.parts[2], requirement=count(30, releases=4)))),
    ]
    digests = {fingerprint(plan) for plan in (joint, *others)}
    assert len(digests) == 1 + len(others)
    larger = replace(joint.certificate, epsilon=joint.epsilon * (1 + 1e-12))
    # certified figures follow from the rest, and may differ between machines
    assert fingerprint(replace(joint, certificate=larger)) == fingerprint(joint)


def test_a_region_given_as_a_function_has_no_fingerprint() -> None:
    region = CustomRegion(interval=lambda answer: (answer - 9, answer + 9), low=0, high=9)
    joint = plan_together([replace(count(), region=region)], ("laplace",))
    with pytest.raises(InputError, match="free of functions"):
        fingerprint(joint)


# ------------------------------------------------------------------------------------------------ ledger

RULES: dict[str, Callable[[], dict[str, object]]] = {
    "renyi": dict,
    "sum": dict,
    "batch": lambda: {"plans": [(visits(), 2)]},
}


@pytest.mark.parametrize("rule", RULES)
def test_a_ledger_keeps_the_spend_of_joint_plans(rule: str, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "budget.db") as ledger:
        Budget.create(ledger, "visits", epsilon=2.5, delta=1e-6, rule=rule, **RULES[rule]())  # type: ignore[arg-type]
        budget = Budget.of(ledger, "visits")
        found = budget.price(visits())
        assert found.fits
        assert found.describe().startswith("joint plan of 3")
        assert found.times is not None
        for _ in range(found.times):
            request = Request(
                dataset="visits",
                plan=fingerprint(visits()),
                plan_label=name_of(visits()),
                cost=budget.rule.cost(visits()),
                package=visits().releases,
                values=visits().releases,
                neighbors=visits().neighbors,
                again=True,
            )
            ledger.settle(ledger.reserve(request), b"[]")
        assert budget.state.spent == {name: found.times * cost for name, cost in found.cost.items()}
        assert not budget.price(visits()).fits
        assert "does not fit" in budget.price(visits()).describe()
        assert compose_plans([(visits(), found.times)]).epsilon_at(1e-6).upper <= 2.5
