"""What a plan claims of one number, and what two probabilities prove against it."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from pbdp.audit.claim import Claim, claim_of
from tests.audit.plans import plan_named


def claim(delta: float | None = None, order: float | None = None, table_error: float = 0.0) -> Claim:
    return Claim(epsilon=1.0, total=1.0, delta=delta, order=order, table_error=table_error, releases=1)


@pytest.mark.parametrize(("p", "q", "delta"), [(0.6, 0.4, 1e-6), (0.01, 0.002, 1e-3), (0.9, 0.899, 1e-9)])
def test_loss_at_a_delta(p: float, q: float, delta: float) -> None:
    assert float(claim(delta=delta).loss_at_least(p, q)) == pytest.approx(math.log((p - delta) / q))


@pytest.mark.parametrize(("p", "q"), [(0.4, 0.6), (0.5, 0.5), (0.1, 0.0999), (0.0, 0.2)])
def test_nothing_is_proved_where_the_first_is_not_likelier(p: float, q: float) -> None:
    assert float(claim(delta=1e-3).loss_at_least(p, q)) == 0
    assert float(claim(order=3.0, table_error=1e-3).loss_at_least(p, q)) == 0


@pytest.mark.parametrize("order", [1.5, 2.0, 10.0, 300.0])
@pytest.mark.parametrize(("p", "q"), [(0.6, 0.4), (0.01, 0.002), (1.0, 0.25)])
def test_renyi_loss_of_two_outcomes(p: float, q: float, order: float) -> None:
    with mp.workdps(40):
        a, x, y = mp.mpf(order), mp.mpf(p), mp.mpf(q)
        total = x**a * y ** (1 - a) + (1 - x) ** a * (1 - y) ** (1 - a)
        exact = mp.log(total) / (a - 1)

    assert float(claim(order=order).loss_at_least(p, q)) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("measure", [claim(delta=1e-3), claim(order=2.5), claim(order=40.0)])
def test_weaker_bounds_prove_less(measure: Claim) -> None:
    shares = np.linspace(0.02, 0.98, 25)
    for p, q in itertools.product(shares, shares):
        here = float(measure.loss_at_least(p, q))
        assert float(measure.loss_at_least(p - 0.01, q)) <= here
        assert float(measure.loss_at_least(p, q + 0.01)) <= here


def test_the_tables_error_is_taken_off() -> None:
    assert float(claim(order=4.0, table_error=0.01).loss_at_least(0.61, 0.39)) == pytest.approx(
        float(claim(order=4.0).loss_at_least(0.6, 0.4)), rel=1e-12
    )


def test_one_release_is_claimed_as_a_whole() -> None:
    plan = plan_named("whole")

    made = claim_of(plan)

    assert (made.epsilon, made.delta, made.order) == (plan.epsilon, 1e-6, None)


def test_one_of_several_loses_what_its_table_says() -> None:
    """Independently: the least epsilon at which the hockey-stick of the shifted law is at most delta."""
    plan = plan_named("ten")
    p = plan.law_at(0).probability
    first, second = np.append(p, 0.0), np.append(0.0, p)

    made = claim_of(plan)

    def delta_at(epsilon: float) -> float:
        return max(
            float(np.sum(np.maximum(a - math.exp(epsilon) * b, 0.0)))
            for a, b in ((first, second), (second, first))
        )

    assert delta_at(made.epsilon) <= 1e-6 * (1 + 1e-9)
    assert delta_at(made.epsilon * (1 - 1e-6)) > 1e-6
    assert made.epsilon < made.total == plan.epsilon


def test_one_of_several_has_its_share_of_a_renyi_loss() -> None:
    plan = plan_named("ten renyi")

    assert claim_of(plan).epsilon == plan.epsilon / 10
