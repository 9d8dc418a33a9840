"""The loss of a table: every shift and direction, against exact sums; rounding; what is given up."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.rdp import RdpAccountant

from pbdp.accounting.filters.design_loss import approximate_renyi
from pbdp.errors import InputError
from pbdp.mechanism.weights import TOTAL
from tests.accounting.composition.laws import gaussian_table, laplace_table
from tests.accounting.filters.brute import least_renyi, moved, number, random_table, table_of

ORDERS = (1.01, 1.5, 2.0, 7.3, 40.0, 900.0)


@pytest.mark.parametrize("seed", range(24))
def test_every_neighbor_has_a_measure_with_this_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    unimodal = bool(seed % 2)
    table = random_table(rng, int(rng.integers(3, 9)), unimodal)
    assert table.is_unimodal or not unimodal
    sensitivity, order = int(rng.integers(1, 4)), ORDERS[seed % len(ORDERS)]
    exchange = [math.inf, 1e6, 1e2][seed % 3]
    loss = approximate_renyi(table, sensitivity, order, exchange)
    for shift in (*range(-sensitivity, 0), *range(1, sensitivity + 1)):
        least = least_renyi((moved(table), moved(table, shift)), order, loss.missing_upper)
        assert least <= mpmath.mpf(loss.renyi_upper)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("make", [lambda: gaussian_table(20.0), lambda: laplace_table(8.0)])
def test_the_sum_agrees_with_fifty_digits_and_lies_above(make, order: float) -> None:  # type: ignore[no-untyped-def]
    table = make()
    loss = approximate_renyi(table, 2, order)
    first, second = table.weights[2:], table.weights[:-2]
    a = mpmath.mpf(order)
    pairs = zip((int(w) for w in first), (int(w) for w in second), strict=True)
    moment = mpmath.fsum(mpmath.mpf(p) ** a * mpmath.mpf(q) ** (1 - a) for p, q in pairs) / TOTAL
    exact = max(mpmath.log(moment) / (a - 1), mpmath.mpf(0))
    assert exact <= loss.renyi_upper <= float(exact) * (1 + 1e-9) + 1e-14
    assert loss.missing_upper == Fraction(int(table.weights[:2].sum()), TOTAL)


def test_losses_far_beyond_the_floats_are_summed() -> None:
    table = laplace_table(0.2)  # a loss of 5 a step
    loss = approximate_renyi(table, 1, 4000.0)
    first, second = table.weights[1:], table.weights[:-1]
    pairs = zip((int(w) for w in first), (int(w) for w in second), strict=True)
    moment = mpmath.fsum(mpmath.mpf(p) ** 4000 * mpmath.mpf(q) ** -3999 for p, q in pairs) / TOTAL
    exact = mpmath.log(moment) / 3999
    assert exact <= loss.renyi_upper <= float(exact) * (1 + 1e-12)


def test_a_tiny_loss_keeps_its_digits() -> None:
    loss = approximate_renyi(gaussian_table(2000.0), 1, 2.0, exchange=1e7)
    assert loss.renyi_upper == pytest.approx(2 / (2 * 2000.0**2), rel=1e-6)


@pytest.mark.parametrize("order", [2.0, 8.0, 32.0])
def test_gaussian_noise_agrees_with_dp_accounting(order: float) -> None:
    accountant = RdpAccountant(orders=[order])
    accountant.compose(GaussianDpEvent(10.0))
    (theirs,) = accountant._rdp
    ours = approximate_renyi(gaussian_table(10.0), 1, order, exchange=1e8)
    assert ours.renyi_upper == pytest.approx(float(theirs), rel=1e-9)
    assert ours.missing_upper < 1e-17


def test_rounded_ends_are_given_up_where_that_pays() -> None:
    table = gaussian_table(200.0)
    all_kept = approximate_renyi(table, 1, 300.0)
    worth_it = approximate_renyi(table, 1, 300.0, exchange=1e6)
    ideal = 300 / (2 * 200.0**2)
    assert all_kept.renyi_upper > 10 * ideal  # weights of 2 beside 1 have a loss of log 2
    assert worth_it.renyi_upper == pytest.approx(ideal, rel=1e-6)
    assert all_kept.missing_upper < worth_it.missing_upper < 1e-12


@pytest.mark.parametrize("exchange", [1.0, 1e3, 1e9])
def test_no_other_cut_is_cheaper(exchange: float) -> None:
    table, order = random_table(np.random.default_rng(5), 8, unimodal=True), 20.0

    def price(kept: Fraction) -> float:
        """The price when outputs with a ratio above `kept` are missing, the larger of both directions."""
        found = []
        for shift in (1, -1):
            first, second = moved(table), moved(table, shift)
            pairs = [(p, second[y]) for y, p in first.items() if y in second and p / second[y] <= kept]
            a = mpmath.mpf(order)
            moment = mpmath.fsum(number(p) ** a * number(q) ** (1 - a) for p, q in pairs)
            missing = 1 - sum(p for p, _ in pairs)
            renyi = float(max(mpmath.log(moment), 0) / (order - 1)) if pairs else 0.0
            found.append((renyi, float(missing)))
        return max(r for r, _ in found) + exchange * max(m for _, m in found)

    ratios = {
        p / moved(table, s)[y] for s in (1, -1) for y, p in moved(table).items() if y in moved(table, s)
    }
    loss = approximate_renyi(table, 1, order, exchange)
    ours = loss.renyi_upper + exchange * float(loss.missing_upper)
    assert ours <= 2 * min(price(ratio) for ratio in ratios)  # each direction is cut for itself


def test_nothing_shared_is_all_missing() -> None:
    loss = approximate_renyi(table_of([1, 2, 1], -1), 3, 2.0)
    assert (loss.renyi_upper, loss.missing_upper) == (0.0, Fraction(1))


@pytest.mark.parametrize("order", [1.0, 0.5, math.inf, math.nan])
def test_orders_are_above_one(order: float) -> None:
    with pytest.raises(InputError, match="order"):
        approximate_renyi(gaussian_table(3.0), 1, order)
