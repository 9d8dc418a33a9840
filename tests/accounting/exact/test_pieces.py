"""Pairs of laws piece by piece: intervals in either tail, and laws in the same place whose regions differ."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from pbdp.accounting.exact.pairs import Pairs
from pbdp.accounting.exact.pieces import hockey_stick, interval_mass
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.laplace import Laplace


@pytest.mark.parametrize(
    ("left", "right"),
    [(-9.0, -8.0), (8.0, 9.0), (3.0, math.inf), (-math.inf, -20.0), (-2.0, 0.5), (-1.0, 6.0)],
)
def test_the_mass_of_an_interval_keeps_its_digits_on_either_side(left: float, right: float) -> None:
    with mp.workdps(40):
        exact = mp.ncdf(-min(abs(left), abs(right))) - mp.ncdf(-max(abs(left), abs(right)))
        if left < 0 < right:
            exact = mp.ncdf(right) - mp.ncdf(left)
    mass, size = interval_mass(Gaussian(sigma=1.0), np.array([left]), np.array([right]))
    assert float(mass[0]) == pytest.approx(float(exact), rel=1e-12, abs=0)
    assert abs(float(mass[0]) - exact) <= 4e-12 * float(size[0])


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 0.31, 0.9, 1.4])
def test_laws_in_the_same_place_differ_by_their_regions_alone(epsilon: float) -> None:
    """A shift of zero, as an envelope may have: the density is weighed with e^0.2 and with e^-0.1."""
    one = np.ones(1)
    pairs = Pairs(
        shift=0 * one,
        log_scale1=0.2 * one,
        below1=3 * one,
        above1=3 * one,
        log_scale2=-0.1 * one,
        below2=one,
        above2=one,
        low=-np.inf * one,
        high=np.inf * one,
    )
    lower, upper = hockey_stick(Laplace(scale=1.5), pairs, 1.0, np.array([epsilon]))
    # inside both regions, in the first one only, in none; the first law then has 1/e of its weight
    masses = [1 - math.exp(-2 / 3), math.exp(-2 / 3) - math.exp(-2), math.exp(-2)]
    weights = [(0.2, -0.1), (0.2, -1.1), (-0.8, -1.1)]
    exact = sum(
        mass * max(math.exp(first) - math.exp(epsilon + second), 0.0)
        for mass, (first, second) in zip(masses, weights, strict=True)
    )
    assert float(lower[0, 0]) - 1e-15 <= exact <= float(upper[0, 0]) + 1e-15
    assert float(upper[0, 0]) == pytest.approx(exact, rel=1e-10, abs=1e-11)
