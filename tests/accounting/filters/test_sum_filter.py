"""The sum filter on laws small enough to be counted out, and the claims that stand for unknown mechanisms."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.filters.amounts import NATS, PROBABILITIES, allowed, charged, not_below_written, written
from pbdp.accounting.filters.claimed import claimed_loss, claimed_release
from pbdp.accounting.filters.sum_filter import SumFilter
from pbdp.errors import InputError
from tests.accounting.filters.brute import History, Law, Pair, as_fraction, delta_at, least_renyi, transcripts


def response(epsilon: float, delta: float) -> Pair:
    """Randomized response, from its definition."""
    grown = as_fraction(mpmath.exp(mpmath.mpf(epsilon)))
    rest = 1 - Fraction(delta)
    first: Law = {0: Fraction(delta), 1: rest * grown / (1 + grown), 2: rest / (1 + grown)}
    second: Law = {3: Fraction(delta), 2: rest * grown / (1 + grown), 1: rest / (1 + grown)}
    return first, second


@pytest.mark.parametrize("seed", range(8))
def test_epsilons_and_deltas_add_up_on_every_path(seed: int) -> None:
    rng = np.random.default_rng(seed)
    book = SumFilter(epsilon=2.0, delta=0.1)
    options = [(0.9, 0.01), (0.4, 0.05), (0.25, 0.0), (1.1, 0.03)]
    choices: dict[History, tuple[float, float]] = {}

    def strategy(history: History) -> Pair | None:
        used = [book.cost(*choices[history[:i]]) for i in range(len(history))]
        fitting = [
            option
            for option in options
            if all(
                sum(cost[name] for cost in (*used, book.cost(*option))) <= limit
                for name, limit in book.limits().items()
            )
        ]
        if len(history) == 5 or not fitting:
            return None
        choices.setdefault(history, fitting[int(rng.integers(len(fitting)))])
        return response(*choices[history])

    joint = transcripts(strategy)
    assert max(len(history) for history in joint) >= 3
    assert delta_at(joint, book.epsilon) <= book.delta


def test_the_sum_is_reached() -> None:
    """Two rounds of randomized response that fit exactly lose all of epsilon and of delta."""
    joint = transcripts(lambda history: response(1.0, 0.0) if len(history) < 2 else None)
    assert delta_at(joint, 2.0) == 0 < delta_at(joint, 2.0 - 1e-6)


def test_a_pure_budget_has_room_for_pure_mechanisms_only() -> None:
    book = SumFilter(epsilon=1.0, delta=0.0)
    assert book.limits() == {"epsilon": 10**12, "delta": 0}
    assert book.cost(0.5, 1e-300)["delta"] == 1
    assert book.cost(0.5, 0.0)["delta"] == 0
    assert "Pure" in book.describe()


def test_decimals_are_read_as_they_are_written() -> None:
    assert 10 * charged(written(0.1), NATS) == allowed(written(1.0), NATS)
    assert 3 * charged(written(1e-7), PROBABILITIES) == allowed(written(3e-7), PROBABILITIES)
    assert charged(0.1, NATS) == 10**11 + 1  # the float itself is a little more than a tenth


@pytest.mark.parametrize("value", [0.1, 0.3, 1e-5, 1e-6, 2.5, 0.0])
def test_the_float_above_what_is_written(value: float) -> None:
    above = not_below_written(value)
    assert Fraction(above) >= written(value)
    assert above == value or Fraction(value) < written(value)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (-1.0, 0.1), (1.0, 1.0), (1.0, -0.1)])
def test_nonsense_is_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(InputError):
        SumFilter(epsilon=epsilon, delta=delta)


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
