"""Plans: the right mechanism, the best epsilon0, and the least epsilon that meets an accuracy."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.local import (
    Domain,
    LeastError,
    LeastMeanError,
    LocalPlan,
    ReportWithin,
    Within,
    in_blocks,
    in_categories,
    on_scale,
    plan_local,
    region_of,
    without_categories,
)
from pbdp.local.boosted_response import boosted_response
from pbdp.local.configuration import configuration, mechanism_of
from pbdp.local.goal import Goal
from pbdp.local.plan import best_epsilon0
from tests.local.setups import DOMAINS

AGES = DOMAINS["ages"]
DRINKS = in_categories({"hot": ["tea", "cocoa"], "cold": ["cola", "juice", "water"]})


def families(plan: LocalPlan) -> list[str]:
    return [entry.name for entry in (plan.chosen, *plan.others)]


def test_only_categories_matter() -> None:
    plan = plan_local(AGES, LeastError(category=1), epsilon=5)
    assert plan.chosen.name == "boosted response"
    assert plan.chosen.epsilon0 == 0
    assert plan.chosen.value_error is None
    assert families(plan)[-1] == "local hashing"
    assert plan.epsilon <= 5
    json.dumps(plan.record(), allow_nan=False)


def test_only_values_matter() -> None:
    plan = plan_local(AGES, LeastError(category=0), epsilon=5)
    assert plan.chosen.name == "plain randomized response"
    # which is what boosting is best with
    assert "boosted response" not in families(plan)


@pytest.mark.parametrize("weight", [0.1, 0.5, 0.9])
def test_a_trade_off_is_the_best_on_a_fine_grid(weight: float) -> None:
    found = best_epsilon0(AGES, 5.0, LeastError(category=weight))

    def cost(epsilon0: float) -> float:
        made = boosted_response(AGES, 5.0, epsilon0)
        category, value = (made.variances(kind).mean.max() for kind in ("category", "value"))
        return float(weight * category + (1 - weight) * value)

    grid = np.linspace(0.02, 5.0, 400)
    assert 0 < found <= 5
    assert cost(found) <= min(cost(float(at)) for at in grid) * (1 + 1e-6)


BORDERS = [(1.0, 9), (1.0, 13), (2.0, 22), (2.0, 26), (3.0, 60), (3.0, 65)]


@pytest.mark.parametrize(("epsilon", "count"), BORDERS)
def test_randomized_response_is_chosen_below_the_known_border(epsilon: float, count: int) -> None:
    """d < 3 e^eps + 2 (Wang et al. 2017), for values that hardly anyone holds."""
    domain = without_categories(range(count))
    plan = plan_local(domain, LeastError(category=0, expected=np.eye(1, count)[0]), epsilon=epsilon)
    nobody = [
        (entry.mechanism.variances("value").at(np.eye(1, count)[0])[1], entry.name)
        for entry in (plan.chosen, *plan.others)
        if entry.name != "subset selection"  # which is never worse than any of them
    ]
    best = min(nobody)[1]
    assert ("response" in best) == (count < 3 * np.exp(epsilon) + 2)


def test_large_domains_and_small_epsilon_get_another_mechanism() -> None:
    plan = plan_local(in_blocks(range(1000), 10), LeastError(category=0), epsilon=1)
    assert plan.chosen.name == "subset selection"
    assert plan.others[0].name == "local hashing"
    response = next(entry for entry in plan.others if entry.name == "plain randomized response")
    assert response.cost > 50 * plan.chosen.cost
    counts = plan.mechanism.randomize([1, 2, 999])
    assert len(counts.values) == 3


def test_many_categories_and_small_epsilon_ask_for_the_category() -> None:
    domain = in_blocks(range(1000), 10)
    plan = plan_local(domain, LeastError(category=1), epsilon=0.5)
    assert plan.chosen.name == "subset selection of categories"
    assert plan.above_limit == pytest.approx(1, abs=1e-6)
    # people put in their value, and their client knows its category
    assert plan.mechanism.randomize([0, 999]).values[0][0] == "c"
    assert plan.chosen.cost <= 4 * np.exp(0.5) / np.expm1(0.5) ** 2


@pytest.mark.parametrize("domain", ["ages", "equal", "line", "words"])
@pytest.mark.parametrize(("category", "value"), [(0.01, None), (None, 0.02), (0.01, 0.02)])
def test_the_least_epsilon_meets_the_accuracy_and_a_smaller_one_does_not(
    domain: str, category: float | None, value: float | None
) -> None:
    goal = Within(category=category, value=value, users=20_000, confidence=0.95)
    plan = plan_local(DOMAINS[domain], goal)
    assert plan.chosen.cost <= 1
    assert plan.chosen.cost > 1 - 1e-4
    assert plan.epsilon == min(entry.epsilon for entry in (plan.chosen, *plan.others))
    assert plan.record()["meets"]
    less = plan_local(DOMAINS[domain], goal, epsilon=plan.epsilon * 0.999)
    assert less.chosen.cost > 1


def test_the_planned_confidence_holds_exactly_for_every_share() -> None:
    """Reports in a category are Bin(F, always) + Bin(N - F, never): the exact chance, not the normal one."""
    users, within = 4000, 0.03
    plan = plan_local(AGES, Within(category=within, users=users), use="boosted response")
    mechanism = boosted_response(AGES, plan.epsilon, 0.0)
    shares = mechanism.shares
    for part, size in ((0, 10), (9, 1)):
        never = size * shares.far[part]
        always = never + shares.boost
        for people in (0, users // 10, users // 2, users):
            chance = np.convolve(
                stats.binom.pmf(np.arange(people + 1), people, always),
                stats.binom.pmf(np.arange(users - people + 1), users - people, never),
            )
            found = (np.arange(users + 1) - users * never) / shares.boost
            covered = chance[np.abs(found - people) <= within * users].sum()
            assert covered > 0.945


@pytest.mark.parametrize("kind", ["category", "value"])
def test_the_worst_group_with_the_worst_truth_sets_the_width(kind: str) -> None:
    domain = in_categories([[*range(12)], [12], [13, 14]])
    mechanism = boosted_response(domain, 2.0, 1.0)
    goal = Within(users=900, **{kind: 0.1})  # type: ignore[arg-type]
    # everyone holding the same value is the worst truth, as variances are sums over people
    alone = [mechanism.variances(kind).at(900 * row) for row in np.eye(domain.count)]
    by_group = np.max(alone, axis=0)
    assert by_group.max() > 1.2 * by_group.min()
    expected = stats.norm.ppf(0.975) * np.sqrt(by_group.max()) / 900
    assert goal.half_width(mechanism.variances(kind)) == pytest.approx(expected)
    assert goal.cost(mechanism) == pytest.approx(expected / 0.1)


def test_a_guaranteed_accuracy_costs_more() -> None:
    normal = plan_local(AGES, Within(category=0.02, users=20_000))
    sure = plan_local(AGES, Within(category=0.02, users=20_000, method="guaranteed"))
    joint = plan_local(AGES, Within(category=0.02, users=20_000, joint=True))
    assert normal.epsilon < joint.epsilon
    assert normal.epsilon < sure.epsilon


def test_what_is_expected_makes_a_plan_cheaper() -> None:
    shares = np.ones(91)
    worst = plan_local(AGES, Within(category=0.01, users=20_000))
    usual = plan_local(AGES, Within(category=0.01, users=20_000, expected=shares))
    assert usual.epsilon < worst.epsilon


def test_a_scale_never_gets_a_singular_matrix() -> None:
    for ring in (False, True):
        plan = plan_local(on_scale(range(1, 11), 3, ring=ring), LeastError(category=0.5), epsilon=2)
        assert np.isfinite(plan.chosen.cost)


def test_what_cannot_be_met_is_said() -> None:
    with pytest.raises(CannotCertifyError, match="Ask more users"):
        plan_local(AGES, Within(category=1e-6, users=10))


def test_questions_that_make_no_sense() -> None:
    with pytest.raises(ContradictionError, match="epsilon"):
        plan_local(AGES, LeastError(category=1))
    with pytest.raises(ContradictionError, match="neither"):
        Within(users=10)
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError):
            LeastError(category=wrong)
        with pytest.raises(InputError):
            Within(category=wrong, users=10)
    with pytest.raises(InputError):
        Within(category=0.1, users=0)
    with pytest.raises(InputError, match="method"):
        Within(category=0.1, users=10, method="hope")
    for expected in (np.ones(5), -np.ones(91), np.zeros(91), np.full(91, np.nan)):
        with pytest.raises(InputError, match="expected"):
            plan_local(AGES, LeastError(category=1, expected=expected), epsilon=1)


GOALS: dict[str, tuple[Domain, Goal]] = {
    "categories": (AGES, LeastError(category=1)),
    "both": (AGES, LeastError(category=0.5)),
    "values": (AGES, LeastError(category=0)),
    "mean": (AGES, LeastMeanError()),
    "reports": (DRINKS, ReportWithin(region=region_of(DRINKS, "category"), confidence=None)),
    "no categories": (without_categories(range(4)), LeastError(category=0)),
}


@pytest.mark.parametrize("name", GOALS)
def test_all_has_one_name_when_planned_and_when_estimated(name: str) -> None:
    domain, goal = GOALS[name]
    plan = plan_local(domain, goal, epsilon=2.0)
    compared = [plan.chosen, *plan.others]
    assert len({entry.name for entry in compared}) == len(compared)
    for entry in compared:
        read = mechanism_of(json.loads(json.dumps(configuration(entry.mechanism))))
        assert read.name == entry.name == entry.record()["mechanism"]
        assert read.domain.groups == domain.groups
        if np.isfinite(entry.cost):
            named = plan_local(domain, goal, epsilon=2.0, use=entry.name)
            assert named.mechanism.fingerprint == entry.mechanism.fingerprint
