"""What plans cost on a dataset: rules, their limits, costs and records, and the words for them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import pytest

import pbdp
from pbdp.accounting import Bounds
from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.release import table_release
from pbdp.accounting.exact.tables import table_delta
from pbdp.accounting.filters.design_loss import approximate_renyi
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.mechanism.custom import CustomRegion
from pbdp.planning.certification import plan_of
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Claim, Priced, Rule, fingerprint, make_rule, price, rule_from_record
from pbdp.planning.pricing.batch_rule import BatchRule, batch_rule, compose_plans
from pbdp.planning.pricing.renyi_rule import RenyiRule
from pbdp.planning.pricing.sum_rule import SumRule
from pbdp.planning.store import plan_from_record, plan_record
from pbdp.planning.vectors.ask import plan_vector


@lru_cache(maxsize=32)
def count(**asked: object) -> Plan:
    """A plan for a count."""
    given = {"within": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-9, "integer": True} | asked
    return pbdp.plan(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def per_answer() -> Plan:
    """A plan whose noise changes with the answer."""
    plan = count(within=None, range=(0, 30), scale=3, delta=1e-6, families=("gaussian",))
    (entry,) = [entry for entry in plan.others if entry.design.name == "boosted gaussian"]
    return plan_of(plan.requirement, entry)


@lru_cache(maxsize=4)
def vector(norm: str) -> Plan:
    return plan_vector(
        within=20, confidence=0.9, dimensions=3, norm=norm, sensitivity=1, delta=1e-9, integer=norm == "linf"
    )


def table_of(plan: Plan) -> tuple[object, int]:
    return plan.mechanism.table_at(0.0), plan.grid.sensitivity_in_steps(plan.requirement.sensitivity)


EVERY: dict[str, Callable[[], Priced]] = {
    "a count": count,
    "ten counts": lambda: count(within=20, releases=10, delta=1e-6),
    "a real number": lambda: count(within=50, integer=False),
    "a relative width": lambda: count(within="5%+10", nonnegative=True),
    "a Rényi plan": lambda: count(within=50, delta=None, rdp_order=9),
    "noise that changes": per_answer,
    "a vector of counts": lambda: vector("linf"),
    "a ball": lambda: vector("l2"),
    "a claim": lambda: Claim(epsilon=0.1, delta=1e-10),
}
RULES: dict[str, Callable[[], Rule]] = {
    "renyi": lambda: make_rule(epsilon=3, delta=1e-6),
    "sum": lambda: make_rule("sum", epsilon=3, delta=1e-6),
    "batch": lambda: make_rule("batch", epsilon=9, delta=1e-6, plans=[(m(), 2) for m in EVERY.values()]),
}


@lru_cache(maxsize=3)
def rule_called(kind: str) -> Rule:
    return RULES[kind]()


# ------------------------------------------------------------------------------------------- all rules


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("what", EVERY)
def test_every_rule_prices_everything_in_the_names_of_its_limits(kind: str, what: str) -> None:
    rule = rule_called(kind)
    cost = rule.cost(EVERY[what]())
    assert cost.keys() == rule.limits().keys()
    assert all(type(amount) is int and amount >= 0 for amount in cost.values())
    assert any(cost.values())


@pytest.mark.parametrize("kind", RULES)
def test_a_rule_comes_back_from_its_record(kind: str) -> None:
    rule = rule_called(kind)
    back = rule_from_record(json.loads(json.dumps(rule.record())))
    assert back == rule
    assert back.limits() == rule.limits()
    assert back.cost(count()) == rule.cost(count())
    assert back.describe() == rule.describe()


@pytest.mark.parametrize("kind", RULES)
def test_another_neighboring_relation_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match="neighbors must be 'add/remove'"):
        rule_called(kind).cost(count(neighbors="replace"))


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"rule": "renyi", "epsilon": "3", "delta": "1e-6", "neighbors": "add/remove"},
        {"rule": "sum", "epsilon": 3, "delta": "1e-6", "neighbors": "add/remove"},
        {"rule": "sum", "epsilon": "3", "delta": "1e-6", "neighbors": "nobody"},
        {"rule": "later", "epsilon": "3", "delta": "1e-6", "neighbors": "add/remove"},
        {"rule": "batch", "epsilon": "3", "delta": "1e-6", "neighbors": "add/remove", "plans": 3},
        {
            "rule": "batch",
            "epsilon": "3",
            "delta": "1e-6",
            "neighbors": "add/remove",
            "epsilon_lower": "2",
            "epsilon_upper": "3.0000001",
            "plans": {"0" * 64: 1},
        },
    ],
)
def test_broken_records_are_refused(record: dict[str, object]) -> None:
    with pytest.raises(InputError):
        rule_from_record(record)


def test_options_of_other_rules_are_refused() -> None:
    with pytest.raises(ContradictionError, match="order"):
        make_rule("sum", epsilon=1, delta=1e-6, order=3)
    with pytest.raises(ContradictionError, match="plans"):
        make_rule("renyi", epsilon=1, delta=1e-6, plans=[])
    with pytest.raises(ContradictionError, match="plans"):
        make_rule("batch", epsilon=1, delta=1e-6)
    with pytest.raises(InputError, match="rule"):
        make_rule("best", epsilon=1, delta=1e-6)


# ----------------------------------------------------------------------------------------------- renyi


@pytest.mark.parametrize("what", ["a count", "ten counts", "a real number", "a Rényi plan"])
def test_a_table_costs_its_own_loss_for_every_number(what: str) -> None:
    rule, plan = RenyiRule(epsilon=3, delta=1e-6), EVERY[what]()
    assert isinstance(plan, Plan)
    assert rule.order is not None
    table, steps = table_of(plan)
    limits = rule.limits()
    exchange = (limits["renyi"] / 1e12) / (limits["missing"] / 1e30)
    loss = approximate_renyi(table, steps, rule.order, exchange)  # type: ignore[arg-type]
    times = plan.requirement.releases
    exact = Fraction(loss.renyi_upper) * times * 10**12, loss.missing_upper * times * 10**30
    cost = rule.cost(plan)
    assert exact[0] <= cost["renyi"] < exact[0] + 1
    assert exact[1] <= cost["missing"] < exact[1] + 1


def test_noise_planned_for_the_order_costs_least() -> None:
    rule = RenyiRule(epsilon=3, delta=1e-6)
    planned = rule.cost(count(delta=None, rdp_order=rule.order))
    assert planned["renyi"] < rule.cost(count())["renyi"]
    assert f"rdp_order={rule.order:g}" in rule.advice()


def test_what_fits_composes_to_less_than_epsilon() -> None:
    rule = make_rule(epsilon=2, delta=1e-6)
    for plan in (count(within=50), count(within=50, delta=1e-6, families=("gaussian",)), per_answer()):
        times = price(rule, plan).times
        assert times is not None
        if times:
            assert compose_plans([(plan, times)]).epsilon_at(1e-6).upper <= 2


def test_noise_that_changes_is_charged_for_the_distance_of_its_tables() -> None:
    cost = make_rule(epsilon=3, delta=1e-6).cost(per_answer())
    distance = per_answer().design.table_error()
    assert cost["missing"] == pytest.approx(math.exp(3) * distance * 1e30, rel=1e-9)


def test_a_plan_that_uses_delta_up_does_not_fit_and_the_remedy_is_named() -> None:
    found = price(make_rule(epsilon=3, delta=1e-6), count(delta=1e-2, families=("cut staircase",)))
    assert not found.fits
    assert found.remaining_after is None
    assert "missing probability left" in found.describe()
    assert "rdp_order=" in found.describe()


def test_a_useless_order_is_refused() -> None:
    with pytest.raises(InputError, match="use 22"):
        make_rule(epsilon=1, delta=1e-6, order=2)


# ------------------------------------------------------------------------------------------------- sum


def test_a_plan_costs_a_point_of_its_curve() -> None:
    rule, plan = SumRule(epsilon=3, delta=1e-6), count(delta=1e-6)
    cost = rule.cost(plan)
    table, steps = table_of(plan)
    epsilon = float(Fraction(cost["epsilon"], 10**12))
    assert table_delta(table, steps, epsilon).upper <= cost["delta"] / 1e30 * (1 + 1e-9)  # type: ignore[arg-type]
    assert cost["delta"] < 10**22  # far less than the plan's own: a Laplace table hardly needs any
    assert epsilon == pytest.approx(plan.epsilon, rel=1e-4)


def test_several_releases_cost_what_their_composition_costs() -> None:
    plan = EVERY["ten counts"]()
    assert isinstance(plan, Plan)
    cost = SumRule(epsilon=3, delta=1e-6).cost(plan)
    table, steps = table_of(plan)
    delta = float(Fraction(cost["delta"], 10**30))
    exact = compose([(table_release(table, steps), 10)]).epsilon_at(delta)  # type: ignore[arg-type]
    assert exact.lower <= cost["epsilon"] / 1e12 <= exact.upper * (1 + 1e-9)


@pytest.mark.parametrize("delta", [1e-5, 1e-6, 3e-6])
def test_a_plan_fits_a_budget_of_its_own_delta(delta: float) -> None:
    """Its delta is what the budget has, to the last digit, and it needs nearly all of it."""
    plan = count(within=50, delta=delta, families=("cut staircase",))
    rule = SumRule(epsilon=1, delta=delta)
    assert rule.cost(plan)["delta"] > 0.9 * rule.limits()["delta"]
    assert price(rule, plan).times == 1


def test_a_budget_without_delta_is_for_pure_mechanisms() -> None:
    rule = make_rule("sum", epsilon=1, delta=0)
    assert price(rule, Claim(epsilon=0.1)).times == 10
    assert not price(rule, Claim(epsilon=0.1, delta=1e-20)).fits
    with pytest.raises(InputError, match="Give the budget a delta"):
        rule.cost(count())


def test_a_plan_without_an_epsilon_that_small_is_refused() -> None:
    with pytest.raises(CannotCertifyError, match="smaller delta"):
        # the ball's certificate is its own; a cut table has no epsilon below the mass that is cut off
        SumRule(epsilon=1, delta=1e-20).cost(count(delta=None, rdp_order=9))


# ----------------------------------------------------------------------------------------------- batch


def test_a_batch_is_composed_exactly() -> None:
    one, ten = count(), EVERY["ten counts"]()
    assert isinstance(ten, Plan)
    rule = batch_rule([(one, 3), (ten, 2)], epsilon=5, delta=1e-6)
    parts = [(table_release(*table_of(plan)), times) for plan, times in ((one, 3), (ten, 20))]  # type: ignore[arg-type]
    exact = compose(parts).epsilon_at(1e-6)
    assert rule.found.upper == pytest.approx(exact.upper, rel=1e-6)
    assert rule.found.lower == pytest.approx(exact.lower, rel=1e-6)
    assert rule.limits() == {fingerprint(one): 3, fingerprint(ten): 2}
    assert rule.cost(one) == {fingerprint(one): 1, fingerprint(ten): 0}
    tightest = batch_rule([(one, 3), (ten, 2)], epsilon=rule.found.upper * (1 + 1e-12), delta=1e-6)
    assert tightest.limits() == rule.limits()
    with pytest.raises(InputError, match="which the batch takes"):
        batch_rule([(one, 3), (ten, 2)], epsilon=rule.found.upper * (1 - 1e-9), delta=1e-6)


def test_one_plan_named_twice_is_one_limit() -> None:
    rule = batch_rule([(count(), 3), (count(), 2)], epsilon=5, delta=1e-6)
    assert rule.limits() == {fingerprint(count()): 5}
    assert rule.found.upper == pytest.approx(compose_plans([(count(), 5)]).epsilon_at(1e-6).upper)


def test_a_plan_outside_the_batch_is_refused() -> None:
    with pytest.raises(InputError, match="one of the batch"):
        batch_rule([(count(), 3)], epsilon=5, delta=1e-6).cost(count(within=6))


def test_a_batch_without_a_finite_epsilon_is_refused() -> None:
    with pytest.raises(InputError, match="delta must be one at which"):
        batch_rule([(count(delta=1e-2, families=("cut staircase",)), 3)], epsilon=50, delta=1e-6)


def test_a_batch_of_pure_claims_may_have_delta_zero() -> None:
    rule = batch_rule([(Claim(epsilon=0.5), 3)], epsilon=1.51, delta=0.0)
    assert rule.found.upper == pytest.approx(1.5)


def test_a_batch_names_plans() -> None:
    found = Bounds(lower=0.0, upper=0.5)
    with pytest.raises(InputError, match="plans"):
        BatchRule(epsilon=1, delta=1e-6, times=(), found=found)
    with pytest.raises(InputError, match="fingerprint"):
        BatchRule(epsilon=1, delta=1e-6, times=(("a", 1),), found=found)
    with pytest.raises(InputError, match="times"):
        BatchRule(epsilon=1, delta=1e-6, times=(("0" * 64, 0),), found=found)


# ------------------------------------------------------------------------------------------ composition


def test_different_plans_compose_between_the_largest_and_the_sum() -> None:
    plans = [count(), count(within=7), count(within=9)]
    found = compose_plans([(plan, 1) for plan in plans]).epsilon_at(1e-6)
    assert max(plan.epsilon for plan in plans) < found.lower <= found.upper
    assert found.upper < sum(plan.epsilon for plan in plans) * (1 + 1e-4)
    assert found.upper / found.lower < 1 + 1e-3


def test_a_claim_has_no_lower_bound() -> None:
    found = compose_plans([(count(), 1), (Claim(epsilon=0.5, delta=1e-8), 2)]).epsilon_at(1e-6)
    assert found.lower == 0 < found.upper < (count().epsilon + 1.0) * (1 + 1e-4)


def test_noise_that_changes_composes_better_than_its_claim() -> None:
    plan = per_answer()
    own = compose_plans([(plan, 4)]).epsilon_at(1e-5)
    claim = compose_plans([(Claim(epsilon=plan.epsilon, delta=1e-6), 4)]).epsilon_at(1e-5)
    assert 0 < own.lower <= own.upper < 0.8 * claim.upper


def test_a_vector_of_counts_composes_as_its_coordinates() -> None:
    plan = vector("linf")
    assert compose_plans([(plan, 1)]).epsilon_at(1e-9).upper == pytest.approx(plan.epsilon, rel=1e-6)


# ------------------------------------------------------------------------------------------ fingerprint


def test_a_saved_plan_keeps_its_fingerprint(tmp_path: Path) -> None:
    for plan in (count(), EVERY["ten counts"](), EVERY["a relative width"]()):
        assert isinstance(plan, Plan)
        plan.save(tmp_path / "plan.json")
        assert fingerprint(Plan.load(tmp_path / "plan.json")) == fingerprint(plan)


def test_a_vector_from_its_record_keeps_its_fingerprint() -> None:
    for norm in ("linf", "l2"):
        plan = vector(norm)
        record = json.loads(json.dumps(plan_record(plan)))
        assert fingerprint(plan_from_record(record)) == fingerprint(plan)


def test_different_plans_have_different_fingerprints() -> None:
    plans: list[Priced] = [
        *(make() for make in EVERY.values()),
        count(within=6),
        count(confidence=0.91),
        count(delta=1e-8),
        count(neighbors="replace"),
        count(releases=2),
        count(families=("gaussian",)),
        Claim(epsilon=0.1),
        Claim(epsilon=0.1, label="other"),
    ]
    digests = [fingerprint(plan) for plan in plans]
    assert len(set(digests)) == len(digests)
    assert all(len(digest) == 64 for digest in digests)


def test_what_else_was_compared_does_not_change_the_fingerprint() -> None:
    assert fingerprint(plan_of(count().requirement, count().chosen)) == fingerprint(count())


def test_a_region_given_as_a_function_has_no_fingerprint_but_a_price() -> None:
    region = CustomRegion(interval=lambda answer: (answer - 3, answer + 4), low=0, high=20)
    plan = count(within=None, region=region, families=("gaussian",), delta=1e-6)
    with pytest.raises(InputError, match="free of functions"):
        fingerprint(plan)
    assert make_rule(epsilon=3, delta=1e-6).cost(plan)["renyi"] > 0


# ------------------------------------------------------------------------------------------------ price


def test_a_price_says_what_is_left_and_how_many_more_fit() -> None:
    rule = make_rule("sum", epsilon=1, delta=0)
    claim = Claim(epsilon=0.3, label="survey")
    found = price(rule, claim, {"epsilon": 2 * 10**11, "delta": 0})
    assert (found.fits, found.times) == (True, 2)
    assert found.remaining_after == {"epsilon": 5 * 10**11, "delta": 0}
    assert found.describe().splitlines() == [
        "survey costs epsilon 0.3.",
        "After it epsilon 0.5 would be left.",
        "1 more of the same would fit then.",
    ]
    assert json.loads(json.dumps(found.record()))["times"] == 2


def test_the_last_unit_counts() -> None:
    rule = make_rule("sum", epsilon=1, delta=0)
    claim = Claim(epsilon=0.5)
    assert price(rule, claim, {"epsilon": 5 * 10**11, "delta": 0}).times == 1
    assert price(rule, claim, {"epsilon": 5 * 10**11 + 1, "delta": 0}).times == 0


def test_nothing_fits_an_overspent_budget() -> None:
    rule = make_rule("sum", epsilon=1, delta=0)
    over = {"epsilon": 10**12 + 1, "delta": 0}
    assert price(rule, Claim(epsilon=0.0), over).times == 0
    assert price(rule, Claim(epsilon=0.0)).times is None
    assert "Any number" in price(rule, Claim(epsilon=0.0)).describe()


def test_a_price_in_a_batch_tells_of_its_plan_only() -> None:
    rule = batch_rule([(count(), 1), (count(within=7), 2)], epsilon=5, delta=1e-6)
    words = price(rule, count(within=7)).describe()
    assert fingerprint(count(within=7))[:8] in words
    assert fingerprint(count())[:8] not in words
    used = rule.cost(count())
    assert not price(rule, count(), used).fits


def test_other_amounts_are_refused() -> None:
    with pytest.raises(InputError, match="spent"):
        price(rule_called("sum"), count(), {"epsilon": 1})


def test_each_rule_says_which_guarantee_applies_and_why() -> None:
    assert "Feldman" in rule_called("renyi").describe()
    assert "Rogers" in rule_called("sum").describe()
    assert "fixed before the first answer" in rule_called("batch").describe()
