from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import bernoulli, factorial

from pbdp.errors import InputError
from pbdp.noise.gaussian import _EULER_MACLAURIN, DiscreteGaussian, Gaussian


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
    value = Gaussian(sigma=2.5).log_moment(-np.inf, np.inf, shift, order)
    assert value == pytest.approx(order * (order - 1) * shift**2 / (2 * 2.5**2), rel=1e-14)


def test_log_moment_far_from_its_center_keeps_its_digits() -> None:
    # At order 1000 the center is at -3996: an interval near zero is in a tail of exp(-8e6).
    low, high, shift, order = 1.0, 1.0 + 2.0**-30, 4.0, 1000.0
    value = Gaussian(sigma=1.0).log_moment(low, high, shift, order)
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


def test_masses_are_proportional_to_the_density() -> None:
    masses = DiscreteGaussian(sigma=3.0).masses(5)

    expected = np.exp(-(np.arange(-5, 6.0) ** 2) / 18)
    np.testing.assert_allclose(masses / masses[5], expected, rtol=1e-14)


@pytest.mark.parametrize("sigma", [0.49999, 0.5, 0.7, 1.0, 5.0])
def test_masses_add_up_to_one_on_both_sides_of_the_change_of_series(sigma: float) -> None:
    assert DiscreteGaussian(sigma=sigma).masses(60).sum() == pytest.approx(1, abs=2e-15)


@pytest.mark.parametrize("n", [1, 40, 500, 1000])
def test_tails_do_not_jump_where_the_table_gives_way_to_the_series(n: int) -> None:
    table, series = DiscreteGaussian(sigma=math.nextafter(32.0, 0)), DiscreteGaussian(sigma=32.0)

    assert float(table.survival(n)) == pytest.approx(float(series.survival(n)), rel=1e-12)
    assert float(table.mass(n, n + 2)) == pytest.approx(float(series.mass(n, n + 2)), rel=1e-12)


def test_the_coefficients_of_the_series_are_bernoulli_numbers() -> None:
    expected = [float(bernoulli(2 * j) / factorial(2 * j)) for j in range(1, 11)]

    np.testing.assert_allclose(_EULER_MACLAURIN, expected, rtol=1e-15)


def test_a_billion_steps_are_as_good_as_continuous() -> None:
    wide, smooth = DiscreteGaussian(sigma=1e9), Gaussian(sigma=1e9)

    assert float(wide.survival(3e9)) == pytest.approx(float(smooth.survival(3e9 + 0.5)), rel=1e-12)
    assert float(wide.mass(-1e9, 1e9)) == pytest.approx(float(smooth.mass(-1e9 - 0.5, 1e9 + 0.5)), rel=1e-12)
    assert wide.reach(1e-12) == pytest.approx(smooth.reach(1e-12), abs=1)


def test_a_run_beyond_the_last_noticeable_mass_is_nil() -> None:
    assert DiscreteGaussian(sigma=100.0).mass(1e6, 1e6 + 5) == 0


def test_it_says_what_it_is() -> None:
    kernel = DiscreteGaussian(sigma=2)

    assert kernel == Gaussian(sigma=2.0).on_grid()
    assert kernel.loss_law == Gaussian(sigma=2.0)
    assert (kernel.family, kernel.is_symmetric, kernel.is_unimodal) == ("gaussian", True, True)
    assert kernel.support == (-math.inf, math.inf)
    assert kernel.largest_loss(1) == math.inf


@pytest.mark.parametrize("sigma", [0, -1.0, math.inf, math.nan, "2", True])
def test_sigma_must_be_a_positive_number(sigma: object) -> None:
    with pytest.raises(InputError, match="sigma must be a finite number above 0"):
        DiscreteGaussian(sigma=sigma)  # type: ignore[arg-type]


def test_a_sigma_beyond_exact_whole_numbers_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"sigma must be between 2\*\*-40 and 2\*\*40 steps; got 1e\+13\. Use another step"
    ):
        DiscreteGaussian(sigma=1e13)
