"""Claims of (epsilon, delta): randomized response stands for them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import LossLaw
from pbdp.accounting.filters.steps import claimed_release
from tests.accounting.filters.brute import delta_at, response, transcripts


@pytest.mark.parametrize(
    ("epsilon", "delta"), list(itertools.product([0.0, 1e-6, 0.7, 40.0], [0.0, 1e-9, 0.2]))
)
def test_a_claim_is_the_pair_of_randomized_response(epsilon: float, delta: float) -> None:
    (law,) = claimed_release(epsilon, delta).covered
    first, second = response(epsilon, delta)
    joint = {y: (first.get(y, Fraction(0)), second.get(y, Fraction(0))) for y in range(4)}
    for at in (0.0, 0.3 * epsilon, epsilon, 1.5 * epsilon + 0.1):
        exact = delta_at(joint, at)
        assert exact <= delta_of(law, at) <= exact * (1 + 1e-12) + 1e-14


@pytest.mark.parametrize("seed", range(10))
def test_the_claim_of_a_mechanism_dominates_it_in_both_directions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 30, size=(2, 5)) + np.array([[1], [1]])
    pair = tuple(
        {y: Fraction(int(w), int(row.sum())) for y, w in enumerate(row)} for row in weights.astype(object)
    )
    epsilon = float(rng.uniform(0.1, 1.5))
    joint = {y: (pair[0][y], pair[1][y]) for y in range(5)}
    delta = delta_at(joint, epsilon) * (1 + 1e-12)
    (law,) = claimed_release(epsilon, delta).covered
    for at in (0.0, 0.2, 0.7, epsilon, 2.0):
        assert delta_at(joint, at) <= delta_of(law, at)


def delta_of(law: LossLaw, epsilon: float) -> float:
    """delta of the pair, from the definition."""
    return law.infinite + float(law.masses @ np.maximum(-np.expm1(epsilon - law.losses), 0.0))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (0.5, 1e-3), (2.0, 0.01)])
def test_claims_compose_as_randomized_response(epsilon: float, delta: float) -> None:
    joint = transcripts(lambda history: response(epsilon, delta) if len(history) < 4 else None)
    found = compose([(claimed_release(epsilon, delta), 4)])
    for at in (0.0, epsilon, 2.5 * epsilon, 3.9 * epsilon):
        exact = delta_at(joint, at)
        assert exact <= found.delta_at(at).upper <= exact * (1 + 1e-3) + 1e-10


def test_claims_at_the_ends_compose_too() -> None:
    assert compose([(claimed_release(0.0, 0.0), 9)]).epsilon_at(0.0).upper == 0
    assert compose([(claimed_release(0.0, 1e-3), 2)]).delta_at(0.0).upper == pytest.approx(2e-3, rel=1e-3)
    assert compose([(claimed_release(700.0, 0.0), 1)]).delta_at(1.0).upper == 1
    assert compose([(claimed_release(0.5, 0.0), 3)]).epsilon_at(0.0).upper == pytest.approx(1.5)
