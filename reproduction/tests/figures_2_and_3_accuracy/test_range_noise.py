from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from pbdp.accounting.exact.accountant import ExactAccountant, plain_accountant
from pbdp.errors import InputError
from pbdp.mechanism.design import Boosted
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.noise.gaussian import Gaussian
from reproduction.figures_2_and_3_accuracy.range_noise import RangeNoise, clamped, truncated
from reproduction.published.measure import AtDelta, AtOrder

SIGMA, HALF, SHIFT = 2.0, 4.0, 1.5
CELLS = 20_000


def masses(answer: float, is_clamped: bool) -> np.ndarray:
    """The law of the output on fine cells of the range, and on its two ends if it is clamped."""
    edges = np.linspace(-HALF, HALF, CELLS + 1)
    inside = np.diff(norm.cdf(edges, answer, SIGMA))
    if not is_clamped:
        return np.asarray(inside / inside.sum())
    ends = norm.cdf(-HALF, answer, SIGMA), norm.sf(HALF, answer, SIGMA)
    return np.concatenate([[ends[0]], inside, [ends[1]]])


def brute(is_clamped: bool, figure: str, at: float) -> float:
    found = []
    for answer in np.linspace(-HALF, HALF - SHIFT, 56):
        one, two = masses(answer, is_clamped), masses(answer + SHIFT, is_clamped)
        for p, q in ((one, two), (two, one)):
            if figure == "delta":
                found.append(np.maximum(p - np.exp(at) * q, 0).sum())
            else:
                found.append(np.log(np.sum(p**at * q ** (1 - at))) / (at - 1))
    return float(max(found))


@pytest.mark.parametrize("is_clamped", [True, False])
@pytest.mark.parametrize("epsilon", [0.2, 0.8])
def test_delta_is_the_largest_over_all_answers(is_clamped: bool, epsilon: float) -> None:
    noise = RangeNoise(sigma=SIGMA, half_width=HALF, sensitivity=SHIFT, clamped=is_clamped)
    bounds = noise.delta_at(epsilon)
    slow = brute(is_clamped, "delta", epsilon)

    assert slow <= bounds.upper * (1 + 1e-6)
    assert bounds.lower == pytest.approx(slow, rel=5e-3)
    assert bounds.upper <= bounds.lower * 1.01


@pytest.mark.parametrize("is_clamped", [True, False])
@pytest.mark.parametrize("order", [2.0, 10.0])
def test_renyi_is_the_largest_over_all_answers(is_clamped: bool, order: float) -> None:
    noise = RangeNoise(sigma=SIGMA, half_width=HALF, sensitivity=SHIFT, clamped=is_clamped)
    bounds = noise.epsilon(AtOrder(order=order))
    slow = brute(is_clamped, "renyi", order)

    assert slow <= bounds.upper * (1 + 1e-5)
    assert bounds.lower == pytest.approx(slow, rel=1e-3)
    assert bounds.upper <= bounds.lower * 1.005


def test_epsilon_and_delta_agree_and_clamping_costs_no_more_than_the_plain_kernel() -> None:
    measure = AtDelta(delta=1e-5)
    plain = plain_accountant(Gaussian(sigma=SIGMA), SHIFT).epsilon_at(1e-5).upper
    for make in (clamped, truncated):
        noise = make(SIGMA, HALF, SHIFT)
        bounds = noise.epsilon(measure)

        assert noise.delta_at(bounds.upper).upper <= 1e-5
        assert bounds.lower <= bounds.upper <= bounds.lower * 1.001
        assert bounds.upper <= plain


def test_truncation_is_the_boosted_mechanism_with_boost_one() -> None:
    region = FixedRegion(low=-HALF, high=HALF)
    mechanism = Boosted(kernel=Gaussian(sigma=SIGMA), region=region, boost=1.0)
    exact = ExactAccountant(mechanism=mechanism, sensitivity=SHIFT).epsilon_at(1e-5)

    assert truncated(SIGMA, HALF, SHIFT).epsilon(AtDelta(delta=1e-5)).upper == pytest.approx(
        exact.upper, rel=1e-3
    )


def test_a_shift_as_wide_as_the_range_is_refused() -> None:
    with pytest.raises(InputError, match="smaller than the range"):
        clamped(1.0, 2.0, 4.0)
