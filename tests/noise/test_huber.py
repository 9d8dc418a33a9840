from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.huber import Huber
from pbdp.noise.laplace import Laplace

X = np.array([-9.0, -2.0, 0.0, 0.7, 5.0])


@pytest.mark.parametrize("name", ["sigma", "knee"])
@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_parameters_must_be_positive_and_finite(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} must be a finite number above 0"):
        Huber(**{"sigma": 1.0, "knee": 1.0, name: value})


def test_log_density_is_quadratic_up_to_the_knee_and_straight_beyond() -> None:
    kernel = Huber(sigma=2.0, knee=3.0)
    fall = kernel.log_density(0.0) - kernel.log_density([1.0, 3.0, -3.0, 5.0, -7.0])
    np.testing.assert_allclose(fall, [1 / 8, 9 / 8, 9 / 8, 9 / 8 + 2 * 3 / 4, 9 / 8 + 4 * 3 / 4], rtol=1e-14)


def test_a_far_knee_is_gaussian() -> None:
    huber, gaussian = Huber(sigma=1.3, knee=60.0), Gaussian(sigma=1.3)
    np.testing.assert_allclose(huber.log_density(X), gaussian.log_density(X), rtol=1e-13)
    np.testing.assert_allclose(huber.loss_crossing(X, 2.0), gaussian.loss_crossing(X, 2.0), rtol=1e-13)


def test_a_knee_at_zero_is_laplace() -> None:
    knee = 1e-9
    huber, laplace = Huber(sigma=math.sqrt(1.3 * knee), knee=knee), Laplace(scale=1.3)
    np.testing.assert_allclose(huber.log_density(X), laplace.log_density(X), rtol=1e-7)
    np.testing.assert_allclose(huber.score(X), laplace.score(X), rtol=1e-7)


@pytest.mark.parametrize("shift", [0.5, 2.0, 7.9, 8.1, 30.0])
def test_loss_crossing_inverts_the_loss_on_every_piece(shift: float) -> None:
    kernel = Huber(sigma=2.0, knee=4.0)
    y = np.linspace(-3.9, shift + 3.9, 60)
    level = kernel.log_density(y) - kernel.log_density(y - shift)
    np.testing.assert_allclose(kernel.loss_crossing(level, shift), y, atol=1e-12)


def test_largest_loss_is_the_shift_times_the_slope_of_the_tails() -> None:
    assert Huber(sigma=2.0, knee=3.0).largest_loss(4.0) == 3.0
