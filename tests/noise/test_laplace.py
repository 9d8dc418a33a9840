from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise.laplace import DiscreteLaplace, Laplace


@pytest.mark.parametrize("scale", [0, -1, math.inf, math.nan, None])
def test_scale_must_be_positive_and_finite(scale: object) -> None:
    with pytest.raises(InputError, match="scale must be a finite number above 0"):
        Laplace(scale=scale)  # type: ignore[arg-type]


def test_largest_loss_is_shift_over_scale() -> None:
    assert Laplace(scale=4.0).largest_loss(3.0) == 0.75


def test_loss_crossing_lies_between_zero_and_the_shift() -> None:
    crossing = Laplace(scale=2.0).loss_crossing([0.74, 0.25, -0.5, -0.75, -0.76, 0.76], 1.5)
    np.testing.assert_allclose(crossing, [0.01, 0.5, 1.25, 1.5, np.inf, -np.inf], rtol=1e-13)


@pytest.mark.parametrize(("order", "ratio"), [(1.01, 0.1), (2.0, 3.0), (64.0, 0.5), (1000.0, 4.0)])
def test_log_moment_over_the_line_is_the_known_renyi_divergence(order: float, ratio: float) -> None:
    first = math.log(order / (2 * order - 1)) + (order - 1) * ratio
    second = math.log((order - 1) / (2 * order - 1)) - order * ratio
    value = Laplace(scale=3.0).log_moment(-np.inf, np.inf, 3.0 * ratio, order)
    assert value == pytest.approx(np.logaddexp(first, second), rel=1e-13, abs=1e-15)


def test_on_the_grid_it_is_the_discrete_laplace_law() -> None:
    assert Laplace(scale=3.0).on_grid() == DiscreteLaplace(scale=3.0)


def test_halving_masses() -> None:
    kernel = DiscreteLaplace(scale=1 / math.log(2))

    np.testing.assert_allclose(kernel.masses(2), np.array([1, 2, 4, 2, 1]) / 12, rtol=1e-15)
    np.testing.assert_allclose(kernel.survival([-1, 0, 1]), [2 / 3, 1 / 3, 1 / 6], rtol=1e-15)


def test_the_largest_loss_is_reached() -> None:
    kernel = DiscreteLaplace(scale=2.5)
    y = np.arange(-20, 21.0)

    losses = kernel.log_density(y) - kernel.log_density(y - 3)

    assert losses.max() == pytest.approx(kernel.largest_loss(3), rel=1e-14)
    assert kernel.largest_loss(3) == 3 / 2.5


def test_a_shift_off_the_lattice_has_an_unbounded_loss() -> None:
    assert DiscreteLaplace(scale=2.5).largest_loss(0.5) == math.inf


def test_a_narrow_run_of_a_wide_law_keeps_its_digits() -> None:
    kernel = DiscreteLaplace(scale=1e11)

    assert float(kernel.mass(7, 9)) == pytest.approx(3 / 2e11 * (1 - 8e-11), rel=1e-14)


def test_a_narrow_law_is_zero_almost_always() -> None:
    assert DiscreteLaplace(scale=0.01).masses(1).tolist() == pytest.approx(
        [math.exp(-100), 1, math.exp(-100)]
    )


def test_it_says_what_it_is() -> None:
    kernel = DiscreteLaplace(scale=2)

    assert kernel == Laplace(scale=2.0).on_grid()
    assert kernel.loss_law == Laplace(scale=2.0)
    assert (kernel.family, kernel.is_symmetric, kernel.is_unimodal) == ("laplace", True, True)


def test_scale_must_be_positive() -> None:
    with pytest.raises(InputError, match="scale must be a finite number above 0; got 0"):
        DiscreteLaplace(scale=0.0)
