"""The discrete Laplace law: its own corners; digits are in test_lattice_golden."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise.discrete_laplace import DiscreteLaplace
from pbdp.noise.laplace import Laplace


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
    assert (kernel.family, kernel.is_log_concave, kernel.is_symmetric, kernel.is_unimodal) == (
        "laplace",
        True,
        True,
        True,
    )


def test_scale_must_be_positive() -> None:
    with pytest.raises(InputError, match="scale must be a finite number above 0; got 0"):
        DiscreteLaplace(scale=0.0)
