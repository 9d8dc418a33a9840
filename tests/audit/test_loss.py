"""The lower bound for epsilon: seldom above the truth, near it, and above a claim that is not kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pbdp.audit.audit import audit_plan
from tests.audit.plans import NAMES, plan_named
from tests.audit.samplers import Numbers, altered, scaled_plan, true_sampler

# How far below the truth the bound is at 100,000 draws, as a share of the truth, at most.
NEAR = {"ten": 0.7, "ten renyi": 0.9, "joint": 0.6, "renyi": 0.25, "log in range": 0.6}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "constant"])
def test_the_bound_is_below_the_truth_and_near_it(name: str) -> None:
    plan = plan_named(name)

    found = audit_plan(plan, true_sampler(plan, 1), draws=100_000).only.loss

    # for the true sampler the bound tends to `reachable`
    assert found.reachable is not None
    assert found.reachable * (1 - NEAR.get(name, 0.2)) < found.epsilon_lower <= found.reachable
    assert found.reachable <= found.claim.epsilon * (1 + 1e-12)
    assert found.passed


@pytest.mark.parametrize("name", ["table", "uneven"])
def test_the_bound_exceeds_the_truth_with_at_most_the_error(name: str) -> None:
    """Of a hundred audits whose bound may be wrong in 30 % of all cases."""
    plan, draw = plan_named(name), true_sampler(plan_named(name), 2)

    found = [audit_plan(plan, draw, draws=3000, confidence=0.1).only.loss for _ in range(100)]

    assert found[0].error == pytest.approx(0.3)
    assert sum(one.epsilon_lower > (one.reachable or 0.0) for one in found) <= 30


def test_a_sampler_that_ignores_the_answer_is_seldom_accused() -> None:
    """It loses nothing, so every bound above nil is wrong: that happens, but not more often than stated."""
    plan = plan_named("bounded")
    rng = np.random.default_rng(3)

    def draw(_: int | float, count: int) -> Numbers:
        return rng.integers(0, 101, size=count)

    found = [audit_plan(plan, draw, draws=2000, confidence=0.01).only.loss for _ in range(150)]

    share = np.mean([one.epsilon_lower > 0 for one in found])
    assert 0 < share < found[0].error


def test_the_bound_is_not_held_below_the_claim() -> None:
    plan = plan_named("whole")
    narrower = scaled_plan(plan, 0.5)

    found = audit_plan(plan, true_sampler(narrower, 4), draws=200_000).only.loss

    assert not found.passed
    # half the scale is twice the loss
    assert 0.95 * 2 * plan.epsilon < found.epsilon_lower < 2 * plan.epsilon


def leaks_parity(answer: int | float, numbers: Any) -> Any:
    """The last bit of the answer in the last bit of the output."""
    return numbers - (numbers + math.floor(answer)) % 2


def leaks_lowest_bit(answer: int | float, numbers: Any) -> Any:
    """The same on a grid of 1/256, answers one apart."""
    steps = np.rint(numbers * 256)
    return (steps - (steps + math.floor(answer)) % 2) / 256


@pytest.mark.parametrize(
    ("name", "leak"), [("whole", leaks_parity), ("renyi", leaks_parity), ("real", leaks_lowest_bit)]
)
def test_an_answer_in_the_lowest_bit_is_found(name: str, leak: Any) -> None:
    plan = plan_named(name)

    audit = audit_plan(plan, altered(true_sampler(plan, 5), leak), draws=100_000)

    # every output tells the two answers apart: the bound grows as far as the draws carry it
    assert audit.only.loss.epsilon_lower > 6
    assert not audit.only.loss.passed


def test_numbers_off_the_grid_are_found_where_only_one_answer_has_them() -> None:
    plan = plan_named("whole")

    def leak(answer: int | float, numbers: Any) -> Any:
        return numbers + (0.25 if answer == 1001 else 0.0)

    audit = audit_plan(plan, altered(true_sampler(plan, 6), leak), draws=50_000)

    assert audit.only.loss.epsilon_lower > 6
    assert set(audit.failures) >= {"privacy", "outputs"}


def test_a_rare_leak_at_one_answer_counts_against_delta() -> None:
    """One draw in a hundred gives answer 1001 away, at a delta of a millionth."""
    plan = plan_named("whole")
    rng = np.random.default_rng(7)

    def leak(answer: int | float, numbers: Any) -> Any:
        return np.where((answer == 1001) & (rng.random(len(numbers)) < 0.01), 1098.0, numbers)

    found = audit_plan(plan, altered(true_sampler(plan, 8), leak), draws=200_000).only.loss

    assert found.epsilon_lower > 4
    assert found.best.first == 1001


def test_only_the_last_part_of_the_draws_is_counted() -> None:
    """A sampler that publishes the answer itself in the first parts, and 5 more afterwards."""
    plan, drawn = plan_named("whole"), 0

    def draw(answer: int | float, count: int) -> Numbers:
        nonlocal drawn
        drawn += count
        return np.full(count, answer if drawn % 10_000 in {1500, 3000} else answer + 5)

    found = audit_plan(plan, draw, draws=10_000).only.loss

    first, second = (bound for bound in found.bounds if bound.kind == "half-line")
    assert first.draws == second.draws == 7000
    assert (first.hits_first, first.hits_second) == (0, 0)
    assert (second.hits_first, second.hits_second) == (7000, 7000)


def test_more_pairs_share_the_error() -> None:
    plan = plan_named("whole")

    one, three = (
        audit_plan(plan, true_sampler(plan, 9), draws=20_000, answers=answers).only.loss
        for answers in ([0], [0, 10, 20])
    )

    assert len(three.bounds) == 3 * len(one.bounds) == 18
    assert {(b.first, b.second) for b in three.bounds} >= {(0, three.bounds[0].second)}
    same = next(b for b in three.bounds if b.hits_first == one.bounds[0].hits_first)
    assert same.p_low < one.bounds[0].p_low
