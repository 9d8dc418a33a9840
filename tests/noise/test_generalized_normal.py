from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise import power_loss
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.generalized_normal import GeneralizedNormal
from pbdp.noise.kernel import LogConcaveKernel
from pbdp.noise.laplace import Laplace

X = np.array([-9.0, -2.0, 0.0, 0.7, 5.0])


def test_a_shape_below_one_is_refused_with_the_reason() -> None:
    with pytest.raises(
        InputError, match=r"shape must be at least 1; got 0.9.*heavier than exponential.*monotone"
    ):
        GeneralizedNormal(scale=1.0, shape=0.9)


@pytest.mark.parametrize("name", ["scale", "shape"])
@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_parameters_must_be_positive_and_finite(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} must be a finite number above 0"):
        GeneralizedNormal(**{"scale": 1.0, "shape": 2.0, name: value})


@pytest.mark.parametrize(
    ("shape", "same"),
    [(1.0, Laplace(scale=1.7)), (2.0, Gaussian(sigma=1.7 / math.sqrt(2)))],
    ids=["one", "two"],
)
def test_shapes_one_and_two_are_laplace_and_gaussian(shape: float, same: LogConcaveKernel) -> None:
    kernel = GeneralizedNormal(scale=1.7, shape=shape)
    np.testing.assert_allclose(kernel.log_density(X), same.log_density(X), rtol=1e-14)
    np.testing.assert_allclose(kernel.cdf(X), same.cdf(X), rtol=1e-13)
    np.testing.assert_allclose(kernel.score(X), same.score(X), rtol=1e-14)
    np.testing.assert_allclose(kernel.loss_crossing(X / 9, 3.0), same.loss_crossing(X / 9, 3.0), rtol=1e-13)
    assert kernel.largest_loss(3.0) == same.largest_loss(3.0)
    lower, upper = kernel.log_moment(-8.0, X[1:], 3.0, 30.0)
    exact = same.log_moment(-8.0, X[1:], 3.0, 30.0)[0]
    assert np.all(lower <= exact)
    assert np.all(exact <= upper)


@pytest.mark.parametrize("shape", [1.02, 1.5, 2.0, 2.5, 8.0])
def test_bounds_of_the_log_moment_are_close(shape: float) -> None:
    kernel = GeneralizedNormal(scale=1.0, shape=shape)
    low, high = np.array([-np.inf, -2.0, -np.inf, 1.0]), np.array([np.inf, 2.0, -1.0, np.inf])
    for order in (1.1, 4.0, 200.0):
        lower, upper = kernel.log_moment(low, high, 0.8, order)
        assert np.all(lower <= upper)
        assert np.all(upper - lower < 1e-4 + 1e-12 * np.abs(upper))


def test_a_log_moment_beyond_floats_is_bounded_by_infinities() -> None:
    lower, upper = GeneralizedNormal(scale=1.0, shape=80.0).log_moment(-np.inf, np.inf, 4.0, 1e4)
    assert lower == -np.inf
    assert upper == np.inf


def test_many_log_moments_at_once_are_those_one_by_one() -> None:
    kernel, high = GeneralizedNormal(scale=1.0, shape=1.5), np.linspace(-1.0, 3.0, 70).reshape(35, 2)
    lower, upper = kernel.log_moment(-1.0, high, 1.0, 6.0)
    assert lower.shape == (35, 2)
    assert lower[0, 0] == upper[0, 0] == -np.inf
    one = kernel.log_moment(-1.0, high[34, 1], 1.0, 6.0)
    assert (lower[34, 1], upper[34, 1]) == one


def test_the_loss_far_out_does_not_cancel() -> None:
    y, s = 10**8 + 1, 3
    far = power_loss.loss(np.array([-float(y), float(y)]), np.array(float(s)), 3.0)
    np.testing.assert_allclose(far, [float((y + s) ** 3 - y**3), float((y - s) ** 3 - y**3)], rtol=1e-15)


def test_a_crossing_beyond_floats_is_infinite() -> None:
    kernel = GeneralizedNormal(scale=1.0, shape=1.0001)
    np.testing.assert_array_equal(kernel.loss_crossing([5.0, -5.0], 1.0), [-np.inf, np.inf])
