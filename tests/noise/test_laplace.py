from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise.discrete_laplace import DiscreteLaplace
from pbdp.noise.laplace import Laplace


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
    lower, upper = Laplace(scale=3.0).log_moment(-np.inf, np.inf, 3.0 * ratio, order)
    assert lower == upper == pytest.approx(np.logaddexp(first, second), rel=1e-13, abs=1e-15)


def test_on_the_grid_it_is_the_discrete_laplace_law() -> None:
    assert Laplace(scale=3.0).on_grid() == DiscreteLaplace(scale=3.0)
