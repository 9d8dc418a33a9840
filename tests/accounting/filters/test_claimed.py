"""Claims of (epsilon, delta): randomized response stands for them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.filters.claimed import claimed_loss, claimed_release
from tests.accounting.filters.brute import delta_at, least_renyi, response, transcripts


@pytest.mark.parametrize(
    ("epsilon", "delta", "order"),
    list(itertools.product([0.0, 1e-6, 0.7, 40.0], [0.0, 1e-9, 0.2], [1.2, 9.0, 400.0])),
)
def test_a_claim_costs_what_randomized_response_costs(epsilon: float, delta: float, order: float) -> None:
    loss = claimed_loss(epsilon, delta, order)
    first, second = response(epsilon, delta)
    kept = {y: p for y, p in first.items() if y}  # output 0 is missing
    exact = least_renyi((kept, second), order, Fraction(0))
    assert loss.missing_upper == Fraction(delta)
    assert max(float(exact), 0.0) <= loss.renyi_upper * (1 + 1e-15) + 1e-300
    assert loss.renyi_upper <= max(float(exact), 0.0) * (1 + 1e-12) + 2e-14 / (order - 1)


@pytest.mark.parametrize("seed", range(10))
def test_a_mechanism_costs_no_more_than_its_claim(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 30, size=(2, 5)) + np.array([[1], [1]])
    pair = tuple(
        {y: Fraction(int(w), int(row.sum())) for y, w in enumerate(row)} for row in weights.astype(object)
    )
    epsilon, order = float(rng.uniform(0.1, 1.5)), float(rng.uniform(1.2, 30))
    joint = {y: (pair[0][y], pair[1][y]) for y in range(5)}
    delta = delta_at(joint, epsilon) * (1 + 1e-12)
    loss = claimed_loss(epsilon, delta, order)
    assert least_renyi((pair[0], pair[1]), order, loss.missing_upper) <= mpmath.mpf(loss.renyi_upper)


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
