from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import exp, mp, mpf, quad

from pbdp.noise.gaussian_integral import falling_integral, log_integral


@pytest.mark.parametrize("curvature", [-40.0, -1.0, -1e-6, 0.0])
@pytest.mark.parametrize("fall", [0.6, 3.0, 1e4])
@pytest.mark.parametrize("width", [1e-9, 0.03, 0.999, 1.2])
def test_falling_integral_agrees_with_quadrature(width: float, fall: float, curvature: float) -> None:
    with mp.workdps(30):
        end = min(mpf(width), 80 / mpf(fall))
        exact = quad(lambda t: exp(-fall * t + curvature * t * t / 2), [0, end / 16, end / 4, end])
    assert float(falling_integral(width, fall, curvature)) == pytest.approx(float(exact), rel=1e-14)


def test_falling_integral_takes_infinite_widths() -> None:
    assert falling_integral(np.inf, 0.0, -1.0) == pytest.approx(math.sqrt(math.pi / 2), rel=1e-15)
    assert falling_integral(np.inf, 4.0, 0.0) == 0.25


def test_log_integral_does_not_overflow() -> None:
    value = log_integral(
        -np.inf, np.inf, 3.0, exponent=lambda y: 1e5 - (y - 3) ** 2 / 2, slope=lambda y: 3 - y, curvature=-1.0
    )
    assert value == pytest.approx(1e5 + math.log(2 * math.pi) / 2, rel=1e-15)


def test_log_integral_of_an_empty_interval_is_minus_infinity() -> None:
    value = log_integral(
        [1.0, np.inf, 0.0],
        [0.0, np.inf, 1.0],
        -np.inf,
        exponent=lambda y: -y,
        slope=lambda y: 0 * y - 1,
        curvature=0.0,
    )
    np.testing.assert_allclose(value, [-np.inf, -np.inf, math.log(1 - math.exp(-1))], rtol=1e-14)
