"""Shuffled reports: the bound against exact enumeration of all reports of a few people, for every member."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from pbdp.errors import ContradictionError, InputError
from pbdp.local import (
    LeastError,
    LocalMechanism,
    Within,
    in_blocks,
    in_categories,
    plan_local,
    plan_shuffled,
    shuffled,
    without_categories,
)
from pbdp.local.boosted_response import boosted_response
from pbdp.local.shuffling import costs_at_most, delta_after
from pbdp.local.square_wave import square_wave
from pbdp.local.subset_selection import subset_selection
from pbdp.local.user_split import user_split
from tests.local.channels import MEMBERS, matrix

Floats = npt.NDArray[np.float64]
Histogram = dict[tuple[int, ...], float]

THREE = without_categories(range(3))
SMALL: dict[str, LocalMechanism] = {
    "plain, 2": boosted_response(without_categories(range(2)), 1.0, 1.0),
    "plain, 3": boosted_response(THREE, 1.0, 1.0),
    "plain, 5": boosted_response(without_categories(range(5)), 0.5, 0.5),
    "boosted": boosted_response(in_categories([[0, 1], [2]]), 2.0, 0.8),
    "subsets": subset_selection(without_categories(range(4)), 1.0, 2),
    "in categories": subset_selection(in_blocks(range(4), 2), 2.0, 1, by_category=True),
    "split": user_split(in_categories([[0, 1], [2]]), 1.0, 0.5),
    "wave": square_wave(THREE, 1.0),
    "mean": MEMBERS["mean, steps"],
    "hashing": MEMBERS["hashing"],
}


@cache
def chances(name: str) -> Floats:
    return matrix(SMALL[name])[0]


def added(law: Histogram, row: Floats) -> Histogram:
    """The histogram of reports with one more person's."""
    made: Histogram = defaultdict(float)
    for histogram, chance in law.items():
        for report, more in enumerate(row):
            grown = list(histogram)
            grown[report] += 1
            made[tuple(grown)] += chance * more
    return made


def worst_delta(rows: Floats, users: int, epsilon: float) -> float:
    """delta over all answers of all people, from the histograms of all reports."""
    count, reports = rows.shape
    worst = 0.0
    for others in combinations_with_replacement(range(count), users - 1):
        law: Histogram = {(0,) * reports: 1.0}
        for other in others:
            law = added(law, rows[other])
        seen = [added(law, row) for row in rows]
        for one in seen:
            for two in seen:
                worst = max(
                    worst, sum(max(p - math.exp(epsilon) * two.get(h, 0.0), 0.0) for h, p in one.items())
                )
    return worst


def bound(name: str, users: int, epsilon: float) -> float:
    pairs = [side for each in SMALL[name].answer_pairs for side in (each, each.swapped())]
    return max(delta_after(pair, users, epsilon) for pair in pairs)


# Three people of more reports than these have too many histograms.
FEW = ("plain, 2", "plain, 3", "plain, 5", "boosted", "subsets", "in categories", "split", "wave")


@pytest.mark.parametrize(
    ("name", "users"), [*((name, users) for name in SMALL for users in (1, 2)), *((name, 3) for name in FEW)]
)
def test_the_bound_holds_for_all_answers_of_all_people_and_is_near(name: str, users: int) -> None:
    for epsilon in (0.05, 0.3, 0.6):
        exact = worst_delta(chances(name), users, epsilon)
        assert exact * (1 - 1e-9) <= bound(name, users, epsilon)
        if users == 1:
            assert bound(name, users, epsilon) == pytest.approx(exact, rel=0.05, abs=0.01)
        # loose where others could hide a person in more than the blanket, never far
        assert bound(name, users, epsilon) <= 2 * exact + 0.02


def test_among_more_people_the_exact_value_is_nearly_reached() -> None:
    for name, users in (("plain, 2", 9), ("plain, 3", 6), ("plain, 5", 3)):
        exact = worst_delta(chances(name), users, 0.3)
        assert exact <= bound(name, users, 0.3) <= 1.2 * exact


def clones(rows: Floats, users: int, epsilon: float) -> float:
    """The formula with clones of both sides and people who send neither, as it is sometimes given."""
    one, two = rows[0], rows[1]
    ratio = float(max((one / two).max(), (two / one).max()))
    beta = float(np.maximum(one - two, 0).sum())
    share = beta / (ratio - 1)
    apart = np.abs(one - two)
    clone = beta * min(float(rows[:, y].min() / apart[y]) for y in range(len(one)) if apart[y] > 1e-12)
    laws: list[dict[tuple[int, int], float]] = [defaultdict(float), defaultdict(float)]
    for law, (up, down) in zip(laws, ((ratio * share, share), (share, ratio * share)), strict=True):
        for both in range(users):
            for first in range(both + 1):
                often = stats.binom.pmf(both, users - 1, 2 * clone) * stats.binom.pmf(first, both, 0.5)
                law[first + 1, both - first] += often * up
                law[first, both - first + 1] += often * down
                law[first, both - first] += often * (1 - up - down)
    return sum(max(laws[0][h] - math.exp(epsilon) * laws[1][h], 0.0) for h in {*laws[0], *laws[1]})


def test_the_formula_with_clones_is_no_bound() -> None:
    exact = worst_delta(chances("plain, 5"), 3, 0.4)
    assert clones(chances("plain, 5"), 3, 0.4) < 0.5 * exact
    assert bound("plain, 5", 3, 0.4) >= exact


def direct(rows: Floats, users: int, epsilon: float) -> float:
    """The theorem's sum for plain response of two answers, by binomials and with no grid."""
    e, grown = rows[0, 0] / rows[0, 1], math.exp(epsilon)
    blanket = 2 * rows[0, 1]
    total = 0.0
    for many in range(1, users + 1):
        if (often := stats.binom.pmf(many, users, blanket)) < 1e-18:
            continue
        ones = np.arange(many + 1)
        losses = ones * (e - grown) + (many - ones) * (1 - grown * e)
        total += often * float(stats.binom.pmf(ones, many, 0.5) @ np.maximum(losses, 0.0))
    return total / users


@pytest.mark.parametrize(("users", "epsilon"), [(50, 0.4), (400, 0.2), (2000, 0.08), (2000, 0.12)])
def test_the_grid_and_the_transform_lose_next_to_nothing(users: int, epsilon: float) -> None:
    exact = direct(chances("plain, 2"), users, epsilon)
    assert exact * (1 - 1e-9) <= bound("plain, 2", users, epsilon) <= exact * 1.01


def test_epsilon_falls_with_people_and_is_never_above_the_local_one() -> None:
    made = boosted_response(without_categories(range(5)), 1.0, 1.0)
    found = [shuffled(made, users, 1e-6).epsilon for users in (1, 100, 10_000, 1_000_000)]
    assert found[0] <= made.epsilon
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.003
    for users, epsilon in zip((100, 10_000), found[1:3], strict=True):
        assert costs_at_most(made, users, 1e-6, epsilon)
        assert not costs_at_most(made, users, 1e-6, 0.99 * epsilon)


def test_two_answers_of_many_people() -> None:
    """45,222 people at local epsilon 1: 0.0192 at delta 1e-6, far below the closed form's 0.106."""
    found = shuffled(SMALL["plain, 2"], 45_222, 1e-6).epsilon
    assert 0.0190 < found < 0.0192
    # near the normal law: losses of standard deviation (e - 1)/(e + 1)·2/sqrt(clones)
    e = math.e
    deviation = 2 * (e - 1) / (e + 1) / math.sqrt(45_222 * 2 / (e + 1))
    z = found / deviation
    assert deviation * (stats.norm.pdf(z) - z * stats.norm.sf(z)) == pytest.approx(1e-6, rel=0.05)


def test_plans_for_a_central_epsilon() -> None:
    domain = without_categories(range(6))
    goal = LeastError(category=0)
    plan = plan_shuffled(domain, goal, epsilon=0.1, delta=1e-6, users=5_000)
    after = shuffled(plan.mechanism, 5_000, 1e-6).epsilon
    assert 0.098 < after <= 0.1
    assert plan.epsilon > 1
    # the same epsilon after shuffling is more before where reports tell less one by one
    assert len({round(entry.epsilon, 2) for entry in (plan.chosen, *plan.others)}) > 1
    assert plan.chosen.cost <= plan_local(domain, goal, epsilon=plan.epsilon * 0.9).chosen.cost
    with pytest.raises(ContradictionError, match="least error"):
        plan_shuffled(domain, Within(users=9, value=0.1), epsilon=0.1, delta=1e-6, users=9)
    with pytest.raises(InputError, match="delta"):
        shuffled(plan.mechanism, 10, 1e-15)


def test_an_accuracy_is_met_at_the_least_cost_after_shuffling() -> None:
    """Two groups of values where the least epsilon for a report is not the least after shuffling."""
    domain, goal = in_blocks(range(10), 2), Within(users=200, value=0.1, category=0.1)
    before = plan_local(domain, goal)
    after = plan_shuffled(domain, goal, delta=1e-6, users=200)
    costs = {
        entry.name: shuffled(entry.mechanism, 200, 1e-6).epsilon for entry in (before.chosen, *before.others)
    }
    assert after.chosen.cost <= 1
    assert after.chosen.central is not None
    assert after.chosen.central.epsilon == min(costs.values()) < 0.95 * costs[before.chosen.name]
    assert after.epsilon > before.epsilon
    ranked = [entry.central.epsilon for entry in after.others if entry.central is not None]
    assert ranked == sorted(ranked)
    assert len(ranked) == len(costs) - 1
    assert after.record()["chosen"]["central_epsilon"] == after.chosen.central.epsilon
    assert before.record()["chosen"]["central_epsilon"] is None


def test_without_an_accuracy_or_an_epsilon_there_is_nothing_to_plan_for() -> None:
    with pytest.raises(ContradictionError, match="epsilon"):
        plan_shuffled(THREE, LeastError(category=0), delta=1e-6, users=100)
