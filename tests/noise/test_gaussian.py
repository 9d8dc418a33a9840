from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise.discrete_gaussian import DiscreteGaussian
from pbdp.noise.gaussian import Gaussian


@pytest.mark.parametrize("sigma", [0, -1, math.inf, math.nan, "1", True])
def test_sigma_must_be_positive_and_finite(sigma: object) -> None:
    with pytest.raises(InputError, match="sigma must be a finite number above 0"):
        Gaussian(sigma=sigma)  # type: ignore[arg-type]


def test_a_whole_sigma_is_kept_as_a_float() -> None:
    assert isinstance(Gaussian(sigma=2).sigma, float)
    assert Gaussian(sigma=2) == Gaussian(sigma=2.0)


def test_it_has_no_pure_epsilon() -> None:
    assert Gaussian(sigma=1.0).largest_loss(1e-3) == math.inf


@pytest.mark.parametrize(("order", "shift"), [(1.01, 0.1), (2.0, 3.0), (1000.0, 40.0), (1e5, 7.0)])
def test_log_moment_over_the_line_is_the_known_renyi_divergence(order: float, shift: float) -> None:
    lower, upper = Gaussian(sigma=2.5).log_moment(-np.inf, np.inf, shift, order)
    assert lower == upper == pytest.approx(order * (order - 1) * shift**2 / (2 * 2.5**2), rel=1e-14)


def test_log_moment_far_from_its_center_keeps_its_digits() -> None:
    # At order 1000 the center is at -3996: an interval near zero is in a tail of exp(-8e6).
    low, high, shift, order = 1.0, 1.0 + 2.0**-30, 4.0, 1000.0
    value = Gaussian(sigma=1.0).log_moment(low, high, shift, order)[0]
    # Over so short an interval the exponent is straight.
    slope = -low - (order - 1) * shift
    start = -(low**2) / 2 + (order - 1) * shift * (shift - 2 * low) / 2 - math.log(2 * math.pi) / 2
    fall = -slope * (high - low)
    assert value == pytest.approx(start + math.log((high - low) * -math.expm1(-fall) / fall), rel=1e-14)


def test_an_order_of_one_or_less_is_refused() -> None:
    with pytest.raises(InputError, match="order must be"):
        Gaussian(sigma=1.0).log_moment(-1.0, 1.0, 1.0, 1.0)


def test_on_the_grid_it_is_the_discrete_gaussian() -> None:
    assert Gaussian(sigma=3.0).on_grid() == DiscreteGaussian(sigma=3.0)
