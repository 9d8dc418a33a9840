from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.generalized_normal import GeneralizedNormal, _loss
from pbdp.noise.kernel import LogConcave
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
def test_shapes_one_and_two_are_laplace_and_gaussian(shape: float, same: LogConcave) -> None:
    kernel = GeneralizedNormal(scale=1.7, shape=shape)
    np.testing.assert_allclose(kernel.log_density(X), same.log_density(X), rtol=1e-14)
    np.testing.assert_allclose(kernel.score(X), same.score(X), rtol=1e-14)
    np.testing.assert_allclose(kernel.loss_crossing(X / 9, 3.0), same.loss_crossing(X / 9, 3.0), rtol=1e-13)
    assert kernel.largest_loss(3.0) == same.largest_loss(3.0)


def test_the_loss_far_out_does_not_cancel() -> None:
    y, s = 10**8 + 1, 3
    far = _loss(np.array([-float(y), float(y)]), np.array(float(s)), 3.0)
    np.testing.assert_allclose(far, [float((y + s) ** 3 - y**3), float((y - s) ** 3 - y**3)], rtol=1e-15)


def test_a_crossing_beyond_floats_is_infinite() -> None:
    kernel = GeneralizedNormal(scale=1.0, shape=1.0001)
    np.testing.assert_array_equal(kernel.loss_crossing([5.0, -5.0], 1.0), [-np.inf, np.inf])
