"""Means: what one person changes, against all pairs of people; intervals, against simulated groups."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from pbdp.comparing.means import Means
from pbdp.comparing.plan import ComparisonPlan, plan_comparison
from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors
from tests.effort import cases

ASKED: dict[str, Any] = {"users": (300, 200), "bounds": (0.0, 99.0), "spread": 12.0, "mean": 40.0}


@pytest.mark.parametrize("furthest", [1, 2, 5, 8, 31])
def test_the_spread_comes_for_nothing(furthest: int) -> None:
    """|u - u'| + |v - v'| <= 2H for all pairs of numbers, and reached by the first sum alone."""
    values = range(-furthest, furthest + 1)
    squared = {u: u * u // (2 * furthest) for u in values}
    most = max(abs(u - w) + abs(squared[u] - squared[w]) for u, w in product(values, repeat=2))
    assert most == 2 * furthest
    # a larger share for the squares would cost something
    assert max(abs(u - w) + abs(u * u - w * w) // furthest for u, w in product(values, repeat=2)) >= most
    added = max(abs(u) + squared[u] for u in values)
    assert added <= furthest * 3 // 2


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("in_both", [False, True])
def test_no_person_changes_the_published_sums_by_more_than_is_hidden(neighbors: str, in_both: bool) -> None:
    asked = Means(**ASKED, wider=0.3, neighbors=neighbors, in_both=in_both)
    assert asked.bits > 5
    rng = np.random.default_rng(1)
    reached = 0
    for _ in range(2000):
        # the rest of a group may put sums anywhere
        group = rng.uniform(0, 99, size=3)
        one, two = rng.choice([0.0, 99.0, *rng.uniform(-50, 150, 2)], size=2)
        people = [one] if neighbors == "add/remove" else [one, two]
        sums = [asked.sums(np.append(group, person)) for person in people]
        if neighbors == "add/remove":
            # the sizes are public, so whoever is not there counts as nobody: nothing is added
            sums.append(asked.sums(group))
        change = sum(abs(a - b) for a, b in zip(sums[0], sums[1], strict=True))
        reached = max(reached, change)
        assert change * (2 if in_both else 1) <= asked.moved
    assert reached * (2 if in_both else 1) >= 0.9 * (asked.moved - 4)


def test_sums_are_those_of_fractions() -> None:
    asked = Means(**ASKED, wider=0.3)
    values = np.array([-3.0, 0.0, 12.345, 50.0, 98.99, 1e9])
    total, squared = asked.sums(values)
    clamped = np.clip(values, 0, 99)
    assert total * asked.unit == pytest.approx(float(np.sum(clamped - asked.middle)), abs=asked.unit)
    exact = float(np.sum((clamped - asked.middle) ** 2)) / asked.length
    assert squared * asked.unit == pytest.approx(exact, abs=asked.unit)


def draw(rng: np.random.Generator, size: int) -> np.ndarray:
    """Hours of work: many have exactly 40, some few, some many."""
    kinds = rng.random(size)
    hours = np.where(kinds < 0.5, 40.0, rng.normal(38, 17, size))
    return np.clip(hours, 0, 99)


def held(plan: ComparisonPlan, size: int, truth: float) -> float:
    rng = np.random.default_rng(4)
    table = plan.noise.mechanism.table_at(0.0)
    found = 0
    for _ in range(size):
        answers, _ = plan.asked.answers(*(draw(rng, n) for n in plan.asked.users))
        noise = rng.choice(table.values(), p=table.probabilities(), size=4)
        said = plan.say(*(int(a + b) for a, b in zip(answers, noise, strict=True)))
        interval = said.interval
        found += interval.low <= truth <= interval.high
    return found / size


@pytest.mark.parametrize("measure", ["difference", "ratio"])
def test_normal_intervals_hold_about_as_often_as_they_say(measure: str) -> None:
    plan = plan_comparison(**ASKED, wider=0.3, measure=measure)  # type: ignore[arg-type]
    size = cases(1000 if measure == "difference" else 300)
    often = held(plan, size, 0.0 if measure == "difference" else 1.0)
    assert often == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / size))


def test_guaranteed_intervals_hold_for_laws_that_are_far_from_normal() -> None:
    """Of a hundred people one has 99 and the others nothing: sums are next to Poisson."""
    rng = np.random.default_rng(3)
    made: dict[str, Any] = {"users": (150, 150), "bounds": (0.0, 99.0), "spread": 10.0, "mean": 1.0}
    plan = plan_comparison(**made, wider=0.3, guaranteed=True)
    table = plan.noise.mechanism.table_at(0.0)
    for _ in range(60):
        groups = [99.0 * (rng.random(150) < 0.01) for _ in range(2)]
        answers, _ = plan.asked.answers(*groups)
        noise = rng.choice(table.values(), p=table.probabilities(), size=4)
        interval = plan.say(*(int(a + b) for a, b in zip(answers, noise, strict=True))).interval
        assert interval.low <= 0 <= interval.high
    normal = plan_comparison(**made, wider=0.3)
    assert plan.asked.width(plan.asked.without) > 1.3 * normal.asked.width(normal.asked.without)
    assert "any law" in plan.asked.promise()


def test_upper_bounds_of_variances_are_above_them() -> None:
    asked = Means(**ASKED, wider=0.05, guaranteed=True)
    found = asked.at(2.0)
    table = asked.design(2.0).table
    rng = np.random.default_rng(9)
    for _ in range(100):
        groups = [draw(rng, n) for n in asked.users]
        answers, _ = asked.answers(*groups)
        noise = rng.choice(table.values(), p=table.probabilities(), size=4)
        squares = found.squares([a + b for a, b in zip(answers, noise, strict=True)], asked.users, 0.05)
        # the law's own variance, of which the bound misses far less than one in a hundred
        assert min(squares) > 0.5 * (40 - 38) ** 2 / 2 + 0.5 * 16.4**2


def test_power_is_how_often_a_difference_is_found() -> None:
    plan = plan_comparison(users=(4000, 4000), bounds=(0, 99), spread=12, lift=1.0, power=0.8)
    assert 0.8 <= plan.power(50.5, 49.5) <= 0.803
    assert plan.power(49.5, 49.5) == pytest.approx(0.05, abs=0.005)
    rng = np.random.default_rng(8)
    table = plan.noise.mechanism.table_at(0.0)
    found = []
    for _ in range(80):
        answers, _ = plan.asked.answers(rng.normal(50, 12, 4000), rng.normal(49, 12, 4000))
        noise = rng.choice(table.values(), p=table.probabilities(), size=4)
        said = plan.say(*(int(a + b) for a, b in zip(answers, noise, strict=True)))
        assert said.decided == (said.low > 0 or said.high < 0)
        found.append(said.decided)
    assert np.mean(found) == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / 80))


def test_epsilon_falls_with_the_groups_and_both_periods_cost_twice() -> None:
    known: dict[str, Any] = {"bounds": (0, 99), "spread": 12, "wider": 0.05}
    small, large = (plan_comparison(users=(n, n), **known).epsilon for n in (2_000, 200_000))
    assert small / large == pytest.approx(10, rel=0.1)
    both = plan_comparison(users=(2_000, 2_000), **known, in_both=True).epsilon
    assert both == pytest.approx(2 * small, rel=0.02)
    added = plan_comparison(users=(2_000, 2_000), **known, neighbors="add/remove").epsilon
    assert added == pytest.approx(0.75 * small, rel=0.05)


def test_the_plan_is_that_of_its_sums() -> None:
    plan = plan_comparison(**ASKED, wider=0.2)
    requirement, asked = plan.noise.requirement, plan.asked
    assert isinstance(asked, Means)
    assert requirement.sensitivity == asked.moved
    assert requirement.coordinates is not None
    assert (requirement.coordinates.touched, requirement.coordinates.changed_in) == (2, "l1")
    assert plan.epsilon == pytest.approx(plan.loss)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"spread": 80}, "spread must be at most half"),
        ({"spread": -1}, "spread must be"),
        ({"bounds": (5, 5)}, "the lower bound, then the higher one"),
        ({"bounds": 5}, "bounds must be two numbers"),
        ({"mean": 500}, "both means are within the bounds"),
        ({"bounds": (-5, 99), "measure": "ratio"}, "0 or more for a ratio"),
        ({"spread": None}, "spread must be given for means"),
        ({"rate": 0.5}, "one at a time"),
    ],
)
def test_bad_requests_say_what_to_do(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        plan_comparison(**(ASKED | {"wider": 0.1} | changes))
