"""Designs whose noise changes with the answer: every pair of answers, against their integer tables."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

import pbdp
from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import LossLaw, pair_release
from pbdp.accounting.exact.accountant import ExactAccountant
from pbdp.accounting.exact.tables import Bounds
from pbdp.accounting.filters.steps import answer_law, design_release
from pbdp.mechanism.design import Design
from pbdp.mechanism.weights import WeightTable
from pbdp.planning.plan import number_design
from tests.accounting.filters.brute import moved


@lru_cache(maxsize=1)
def designs() -> dict[str, Design]:
    """The designs for a fixed range that change with the answer."""
    plan = pbdp.plan(
        range=(0, 12), scale=3, confidence=0.8, sensitivity=2, delta=1e-6, integer=True,
        families=("gaussian", "laplace"),
    )  # fmt: skip
    found = [number_design(entry.design) for entry in (plan.chosen, *plan.others)]
    for kernel in (pbdp.DiscreteGaussian(3), pbdp.DiscreteLaplace(3)):
        made = pbdp.boosted(kernel, range=(0, 12), confidence=0.8, sensitivity=2)
        found.append(made.plan(delta=1e-6).design)
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


def delta_of_law(law: LossLaw, epsilon: float) -> float:
    """The same of a law of losses, from the definition."""
    return law.infinite + float(law.masses @ np.maximum(-np.expm1(epsilon - law.losses), 0.0))


def test_the_pair_rests_on_upper_bounds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    design, exact = designs()["truncated laplace"], ExactAccountant.delta_at
    expected = answer_law(design, 2)

    def only_above(accountant: ExactAccountant, epsilon: float, tolerance: float) -> Bounds:
        return Bounds(lower=0.0, upper=exact(accountant, epsilon, tolerance).upper)

    monkeypatch.setattr(ExactAccountant, "delta_at", only_above)
    found = answer_law.__wrapped__(design, 2)
    assert np.array_equal(found.masses, expected.masses)


@pytest.mark.parametrize("name", NAMES)
def test_the_pair_dominates_every_pair_of_answers(name: str) -> None:
    design = designs()[name]
    law = answer_law(design, 2)
    worst = 0.0
    for epsilon in (-1.0, -0.1, 0.0, 0.05, 0.4, 1.1, 2.3):
        exact = max(delta_of(design.table_at(a), design.table_at(b), b - a, epsilon) for a, b in answers())
        assert exact <= delta_of_law(law, epsilon) * (1 + 1e-9)
        worst = max(worst, delta_of_law(law, epsilon) - exact)
    assert worst < 0.02


@pytest.mark.parametrize("name", NAMES)
def test_the_pair_is_its_own_reverse(name: str) -> None:
    law = answer_law(designs()[name], 2)
    assert np.array_equal(law.losses, -law.losses[::-1])
    assert law.masses[::-1] == pytest.approx(law.masses * np.exp(-law.losses), rel=1e-12, abs=1e-14)
    assert float(np.sum(law.masses)) + law.infinite == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_distance_of_the_tables_from_their_laws_is_counted(name: str) -> None:
    """At any epsilon two tables may differ by twice as much more than their laws."""
    design = designs()[name]
    assert answer_law(design, 2).infinite >= 2 * design.table_error()


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
