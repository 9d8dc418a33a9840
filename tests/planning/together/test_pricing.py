"""What a joint plan costs of a budget, and in a ledger."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import pytest

import pbdp
from pbdp.accounting.filters.rule import PROBABILITIES
from pbdp.errors import InputError
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError
from pbdp.ledger.ledger import Ledger
from pbdp.mechanism.custom import CustomRegion
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.pricing import Claim, Price, Terms, fingerprint, price
from pbdp.planning.pricing.priced import compose_plans, losses_of, name_of
from pbdp.planning.together.search import plan_together
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


def one(joint: Plan, terms: Terms) -> Price:
    return price(terms, ((joint, 1),))


# ------------------------------------------------------------------------------------------------ costs


def test_what_is_set_aside_comes_from_the_reserve() -> None:
    terms = Terms(epsilon=3, delta=1e-6, reserve=0.01)
    none, some = one(visits(0.0), terms).cost, one(visits(1e-9), terms).cost
    assert none is not None
    assert some is not None
    aside = Fraction(1e-9) * PROBABILITIES
    assert some["reserve"] >= aside
    assert some["reserve"] - none["reserve"] <= aside * (1 + Fraction(1, 1000))
    assert not one(visits(9e-7), terms).fits
    assert "--reserve" in one(visits(9e-7), terms).describe()
    assert one(visits(9e-7), replace(terms, reserve=0.91)).fits


def test_all_tables_that_fit_compose_to_less() -> None:
    terms = Terms(epsilon=3, delta=1e-6, reserve=0.05)
    spent, times = dict.fromkeys(terms.limits(), 0), 0
    while (cost := price(terms, ((visits(), 1),), spent).cost) is not None:
        spent = {name: amount + cost[name] for name, amount in spent.items()}
        times += 1
    assert times > 0
    assert compose_plans([(visits(), times)]).epsilon_at(1e-6).upper <= 3


@pytest.mark.parametrize("missing", [0.0, 3e-7])
def test_a_table_fits_a_budget_of_little_more_than_its_own_epsilon(missing: float) -> None:
    """Its noise may take all of delta but the reserve, and what it sets aside all of that."""
    share = 1.1 * missing / 1e-6 + 0.001
    parts = [[(part.requirement, number_design(part.design))] for part in visits(missing).parts]
    noise = compose_plans([(plan_together((), given=parts), 1)])
    epsilon = noise.epsilon_at(1e-6 * (1 - share)).upper
    assert one(visits(missing), Terms(epsilon=epsilon * (1 + 1e-3), delta=1e-6, reserve=share)).fits
    assert not one(visits(missing), Terms(epsilon=epsilon * 0.999, delta=1e-6, reserve=share)).fits


@pytest.mark.parametrize("missing", [0.0, 5e-3])
def test_what_fits_holds_for_all_combinations_of_outputs(missing: float) -> None:
    """The least epsilon at which the plan fits, against delta from enumeration."""
    low, high = 0.01, 20.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        fits = one(small(missing), Terms(epsilon=middle, delta=2e-2, reserve=0.6)).fits
        low, high = (low, middle) if fits else (middle, high)
    assert missing + (1 - missing) * worst(small(missing), high) <= 2e-2


def test_a_budget_without_delta_refuses_tables() -> None:
    with pytest.raises(InputError, match="Give the budget a delta"):
        one(small(0.0), Terms(epsilon=50, delta=0))


# ------------------------------------------------------------------------------------------- composition


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


def test_joint_plans_and_others_are_reserved_together() -> None:
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-9, integer=True)
    terms = Terms(epsilon=5, delta=1e-6, reserve=0.05)
    found = price(terms, ((visits(), 2), (plan, 1), (Claim(epsilon=0.1), 1)))
    less = price(terms, ((visits(), 2), (plan, 1)))
    assert found.cost is not None
    assert less.cost is not None
    assert found.cost["variance"] > less.cost["variance"]
    assert found.cost["reserve"] >= 2 * Fraction(1e-9) * PROBABILITIES


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
    with pytest.raises(InputError, match="neighbors must be 'add/remove'"):
        one(visits(neighbors="replace"), Terms(epsilon=3, delta=1e-5))


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


def test_a_ledger_keeps_the_spend_of_joint_plans(tmp_path: Path) -> None:
    answers = [[1, 2, 3]] * 3
    with Ledger.create(tmp_path / "budget.db") as ledger:
        Budget.create(ledger, "visits", epsilon=2.5, delta=1e-6, reserve=0.05)
        budget = Budget.of(ledger, "visits")
        told, _ = budget.price(visits()).times
        assert budget.price(visits()).describe().startswith("joint plan of 3")
        paid, spent = 0, budget.state.spent
        while (cost := budget.price(visits()).cost) is not None:
            budget.release(visits(), answers, again=True)
            spent = {name: amount + cost[name] for name, amount in spent.items()}
            paid += 1
        assert paid == told
        assert budget.state.spent == spent
        assert "does not fit" in budget.price(visits()).describe()
        with pytest.raises(BudgetExceededError, match="too little is left"):
            budget.release(visits(), answers, again=True)
        assert compose_plans([(visits(), paid)]).epsilon_at(1e-6).upper <= 2.5


def test_what_several_plans_set_aside_is_added_up_and_rounded_up() -> None:
    """In fractions; a sum of floats may fall below."""
    plain = losses_of(((small(0.0), 1), (small(0.0), 2)), 0.0).laws
    for missing in (5e-3, 1e-9, 0.01 / 3):
        plan = replace(small(0.0), missing=missing)
        laws = losses_of(((plan, 1), (plan, 2)), 0.0).laws
        for law, without in zip(laws, plain, strict=True):
            exact = Fraction(without.infinite) + 3 * Fraction(missing)
            assert exact <= Fraction(law.infinite) <= exact * (1 + Fraction(1, 10**14))
