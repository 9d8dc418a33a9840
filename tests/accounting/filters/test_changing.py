"""Designs whose noise changes with the answer: every pair of answers, against their integer tables."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
import pytest

import pbdp
from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.release import pair_release
from pbdp.accounting.filters.changing import answer_profile, design_release, profile_loss
from pbdp.accounting.filters.design_loss import approximate_renyi, design_loss
from pbdp.mechanism.design import Design
from pbdp.mechanism.weights import WeightTable
from pbdp.planning.plan import number_design
from tests.accounting.filters.brute import least_renyi, moved


@lru_cache(maxsize=1)
def designs() -> dict[str, Design]:
    """The designs for a fixed range that change with the answer."""
    plan = pbdp.plan(
        range=(0, 12), scale=3, confidence=0.8, sensitivity=2, delta=1e-6, integer=True,
        families=("gaussian", "laplace"),
    )  # fmt: skip
    found = [number_design(entry.design) for entry in (plan.chosen, *plan.others)]
    return {design.name: design for design in found if not design.follows_answer}


def answers() -> list[tuple[int, int]]:
    return [(a, b) for a in range(13) for b in range(13) if 0 < abs(a - b) <= 2]


NAMES = ("boosted gaussian", "boosted laplace", "truncated gaussian", "truncated laplace")


def delta_of(first: WeightTable, second: WeightTable, shift: int, epsilon: float) -> float:
    """The hockey-stick of two tables, summed in floats."""
    p, q = moved(first), moved(second, shift)
    grown = math.exp(epsilon)
    return math.fsum(max(float(mass) - grown * float(q.get(y, 0)), 0.0) for y, mass in p.items())


def moved_rows(first: WeightTable, second: WeightTable, shift: int) -> tuple[list[float], list[float]]:
    """The probabilities of both tables on the same outputs."""
    p, q = moved(first), moved(second, shift)
    outputs = sorted(p.keys() | q.keys())
    return [float(p.get(y, 0)) for y in outputs], [float(q.get(y, 0)) for y in outputs]


def test_these_designs_change_with_the_answer() -> None:
    assert sorted(designs()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_profile_dominates_every_pair_of_answers(name: str) -> None:
    design = designs()[name]
    profile = answer_profile(design, 2)
    worst = 0.0
    for epsilon in (-1.0, -0.1, 0.0, 0.05, 0.4, 1.1, 2.3):
        exact = max(delta_of(design.table_at(a), design.table_at(b), b - a, epsilon) for a, b in answers())
        assert exact <= profile.delta_at(epsilon) * (1 + 1e-9)
        worst = max(worst, profile.delta_at(epsilon) - exact)
    assert worst < 0.02


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", [2.0, 12.0])
def test_every_pair_of_answers_has_a_measure_with_this_loss(name: str, order: float) -> None:
    design = designs()[name]
    loss = design_loss(design, 2, order, 1e8)
    # what is drawn lies within the distance of the law that the loss is for, on either side
    slack = 1e-9 if loss.distance else 0.0
    missing = loss.missing_upper + 4 * Fraction(loss.distance)
    assert missing < 1e-9
    least = max(
        least_renyi((moved(design.table_at(a)), moved(design.table_at(b), b - a)), order, missing)
        for a, b in answers()
    )
    assert least <= mpmath.mpf(loss.renyi_upper) * (1 + slack) + slack
    assert loss.renyi_upper <= float(least) * 1.25  # one pair for all answers costs a little


@pytest.mark.parametrize("exchange", [math.inf, 1e3])
def test_the_profile_of_a_moving_table_costs_what_the_table_costs(exchange: float) -> None:
    """A profile may be priced for any pair; here one whose price is known."""
    from pbdp.accounting.composition.loss_distribution import dominating

    release = design_release(_moving(), 1)
    profile = dominating(release.covered, 1e-3)
    table = approximate_renyi(_moving().table_at(0.0), 1, 6.0, exchange)
    loss = profile_loss(profile, 6.0, exchange)
    assert table.renyi_upper <= loss.renyi_upper <= table.renyi_upper * (1 + 1e-3)


@lru_cache(maxsize=1)
def _moving() -> Design:
    return pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, releases=9).design


def test_a_composition_is_bounded_from_both_sides() -> None:
    design = designs()["boosted gaussian"]
    found = compose([(design_release(design, 2), 5)]).epsilon_at(1e-6)
    assert 0 < found.lower <= found.upper < 1.15 * found.lower
    pairs = (moved_rows(design.table_at(a), design.table_at(b), b - a) for a, b in answers())
    each = [compose([(pair_release(p, q, one_way=True), 5)]).epsilon_at(1e-6) for p, q in pairs]
    assert found.lower <= max(bounds.upper for bounds in each)  # some pair reaches the lower bound
    assert found.upper >= max(bounds.lower for bounds in each)  # and none exceeds the upper one


def test_a_release_of_one_table_is_the_table() -> None:
    release = design_release(_moving(), 1)
    assert np.isfinite(compose([(release, 3)]).epsilon_at(1e-6).upper)
    assert release.actual == release.covered
