"""Cosine noise against 30-digit integrals of its own definition."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import pbdp
from pbdp.accounting.exact.accountant import plain_accountant
from pbdp.noise.cosine import Cosine
from pbdp.noise.grid_kernel import GridKernel

LAWS = [(20.0, 1.0), (3.0, 0.2), (1.0, 1.5)]


def shape(knee: float, angle: float, x: mpmath.mpf) -> mpmath.mpf:
    """cos² up to the knee, then the exponential with the same value and slope there."""
    size, bend = abs(x), mpmath.mpf(angle)
    if size <= knee:
        return mpmath.cos(bend * size / knee) ** 2
    slope = 2 * bend / knee * mpmath.tan(bend)
    return mpmath.cos(bend) ** 2 * mpmath.exp(-slope * (size - knee))


@pytest.mark.parametrize(("knee", "angle"), LAWS)
def test_density_matches_the_definition(knee: float, angle: float) -> None:
    law = Cosine(knee=knee, angle=angle)
    with mpmath.workdps(30):
        slope = 2 * mpmath.mpf(angle) / knee * mpmath.tan(mpmath.mpf(angle))
        beyond = mpmath.cos(mpmath.mpf(angle)) ** 2 / slope
        total = 2 * (mpmath.quad(lambda x: shape(knee, angle, x), [0, knee]) + beyond)
        for x in (0.0, 0.3 * knee, knee, 1.5 * knee, 20 * knee):
            exact = float(mpmath.log(shape(knee, angle, mpmath.mpf(x)) / total))
            assert float(law.log_density(x)) == pytest.approx(exact, rel=1e-13, abs=1e-13)
            assert float(law.log_density(-x)) == float(law.log_density(x))


@pytest.mark.parametrize(("knee", "angle"), LAWS)
@pytest.mark.parametrize("shift", [0.1, 1.0, 30.0])
def test_the_crossing_is_where_the_loss_passes_the_level(knee: float, angle: float, shift: float) -> None:
    law = Cosine(knee=knee, angle=angle)
    most = law.largest_loss(shift)
    level = most * np.array([-0.9, -0.3, 0.0, 0.4, 0.95])
    at = law.loss_crossing(level, shift)
    loss = law.log_density(at) - law.log_density(at - shift)
    assert np.allclose(loss, level, atol=1e-9 * (1 + most))
    assert np.array_equal(law.loss_crossing(np.array([1.1, -1.1]) * most, shift), [-np.inf, np.inf])


def test_value_and_slope_meet_at_the_knee() -> None:
    law = Cosine(knee=7.0, angle=1.2)
    assert float(law.score(7.0 - 1e-9)) == pytest.approx(law.slope, rel=1e-8)
    assert float(law.log_density(7.0 - 1e-9)) == pytest.approx(float(law.log_density(7.0 + 1e-9)), rel=1e-8)


def test_grid_law_is_accounted_like_any_other() -> None:
    grid = Cosine(knee=5.0, angle=1.0).on_grid()
    assert isinstance(grid, GridKernel)
    accountant = plain_accountant(grid, 2.0)
    n = np.arange(-400, 401)
    p, q = grid.density(n), grid.density(n - 2)
    truth = float(np.sum(np.maximum(p - math.exp(0.3) * q, 0.0)))
    claim = accountant.delta_at(0.3)
    assert claim.lower - 1e-15 <= truth <= claim.upper
    terms = 4 * grid.log_density(n) - 3 * grid.log_density(n - 2)
    moment = float(np.log(np.sum(np.exp(terms))) / 3)
    renyi = accountant.renyi_at(4.0)
    assert renyi.lower - 1e-12 <= moment <= renyi.upper + 1e-12


@pytest.mark.parametrize("angle", [0.0, -1.0, math.pi / 2, 2.0, math.nan])
def test_an_angle_outside_its_range_is_refused(angle: float) -> None:
    with pytest.raises(pbdp.InputError, match="angle"):
        Cosine(knee=1.0, angle=angle)
