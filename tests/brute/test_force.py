"""The judge itself, against closed forms and 30-digit integrals."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from tests.brute import force, quadrature


def test_masses_of_the_geometric_law() -> None:
    n = force.noise_values(100)
    r = math.exp(-1 / 2)

    masses = np.exp(force.normalized(force.laplace(n, 2.0)))

    assert float(masses[100 + force.PAD + 3]) == pytest.approx((1 - r) / (1 + r) * r**3, rel=1e-14)


def test_masses_of_the_binomial_law() -> None:
    n = force.noise_values(6)

    masses = np.exp(force.normalized(force.binomial(n, 10)))

    assert np.allclose(
        masses.astype(float)[force.PAD + 1 : force.PAD + 12], [math.comb(10, k) / 2**10 for k in range(11)]
    )
    assert float(masses.sum()) == pytest.approx(1, abs=1e-17)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.49, 0.6])
def test_delta_of_the_geometric_law(epsilon: float) -> None:
    """For shift 1 all n <= 0 have loss 1/b: delta = max(0, P(n <= 0) - e^eps P(n <= -1))."""
    n = force.noise_values(110)
    laws = np.exp(force.normalized(force.laplace(n, 2.0)))[None]
    with mp.workdps(30):
        r = mp.exp(mp.mpf(-1) / 2)
        exact = max(mp.mpf(0), 1 / (1 + r) - mp.exp(mp.mpf(epsilon)) * r / (1 + r))

    assert float(force.worst_shift(laws, np.array([1]), force.hockey_stick(epsilon))[0]) == pytest.approx(
        float(exact), rel=1e-15, abs=force.ROUNDING
    )


def test_boosting_scales_what_is_outside() -> None:
    n = force.noise_values(4)
    flat = force.normalized(force.table(n, [0.25] * 4, -1))

    law = np.exp(force.boosted(flat, n, 0.0, 1.0, 0.5)).astype(float)[0]

    assert np.allclose(law[law > 0], [1 / 6, 1 / 3, 1 / 3, 1 / 6])


def test_worst_shift_is_the_worst_pair_of_equal_laws() -> None:
    n = force.noise_values(30)
    law = np.exp(force.boosted(force.normalized(force.gaussian(n, 2.0)), n, 1.0, 4.0, 0.7))
    figure = force.hockey_stick(0.2)

    both = force.worst_pair(np.repeat(law, 6, axis=0), 4, figure)

    assert both == float(force.worst_shift(law, np.array([4]), figure)[0])


def boosted_gaussian(
    sigma: float,
    first: tuple[float, float, float],
    second: tuple[float, float, float],
    boost: float,
    epsilon: float,
) -> float:
    """Delta of boosted Gaussians (answer, low, high) to 40 digits; on each piece the loss is a line."""
    with mp.workdps(40):
        s, e, kept = mp.mpf(sigma), mp.mpf(epsilon), 1 - mp.mpf(boost)

        def mass(answer: float, low: mp.mpf, high: mp.mpf) -> mp.mpf:
            return mp.ncdf((high - answer) / s) - mp.ncdf((low - answer) / s)

        def constant(answer: float, low: float, high: float) -> mp.mpf:
            return kept + boost * mass(answer, mp.mpf(low), mp.mpf(high))

        shift = mp.mpf(second[0]) - first[0]
        edges = sorted(mp.mpf(v) for v in (*first[1:], *second[1:], -60, 60))
        total = mp.mpf(0)
        for left, right in pairwise(edges):
            middle = (left + right) / 2
            w1, w2 = (
                (1 if low <= middle <= high else kept) / constant(answer, low, high)
                for answer, low, high in (first, second)
            )
            # the loss is shift (shift - 2 (y - answer)) / 2 sigma^2 + log(w1/w2), which falls
            crossing = first[0] + shift / 2 - (e - mp.log(w1 / w2)) * s**2 / shift
            stop = min(max(crossing, left), right)
            total += w1 * mass(first[0], left, stop) - mp.exp(e) * w2 * mass(second[0], left, stop)
        return float(total)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.1, 2.0])
def test_quadrature_agrees_with_forty_digits(epsilon: float) -> None:
    one, two = (0.0, -1.25, 2.0), (0.875, -0.5, 3.0)
    first, second = (
        quadrature.Law(density=quadrature.gaussian(1.3), answer=answer, low=low, high=high, boost=0.625)
        for answer, low, high in (one, two)
    )

    assert quadrature.delta(first, second, epsilon) == pytest.approx(
        boosted_gaussian(1.3, one, two, 0.625, epsilon), rel=0, abs=quadrature.ROUNDING
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_quadrature_of_laplace_is_the_closed_form(epsilon: float) -> None:
    first, second = (
        quadrature.Law(density=quadrature.laplace(0.8), answer=answer, low=answer, high=answer, boost=0.0)
        for answer in (0.0, 1.0)
    )

    assert quadrature.delta(first, second, epsilon) == pytest.approx(
        -math.expm1((epsilon - 1.25) / 2), rel=0, abs=quadrature.ROUNDING
    )
    assert quadrature.delta(second, first, epsilon) == pytest.approx(
        -math.expm1((epsilon - 1.25) / 2), rel=0, abs=quadrature.ROUNDING
    )


def test_quadrature_of_a_staircase_is_a_sum_of_cells() -> None:
    """Breaks, region ends and shift are eighths, so the densities are constant between eighths."""
    density = quadrature.staircase(1.0, 0.75, 0.5)
    first, second = (
        quadrature.Law(density=density, answer=answer, low=answer - 1.25, high=answer + 2, boost=0.625)
        for answer in (0.0, 0.875)
    )
    middles = (np.arange(-8 * 60, 8 * 60) + 0.5) / 8
    laws = []
    for answer in (0.0, 0.875):
        noise = force.real(middles - answer)
        weights = force.staircase(noise, 1.0, 0.75, 0.5)
        laws.append(np.exp(force.boosted(weights, noise, 1.25, 2.0, 0.625)))

    exact = float(force.hockey_stick(0.4)(*laws)[0])

    assert quadrature.delta(first, second, 0.4) == pytest.approx(exact, rel=0, abs=quadrature.ROUNDING)


def test_quadrature_of_renyi_is_the_closed_form() -> None:
    first, second = (
        quadrature.Law(density=quadrature.gaussian(2.0), answer=answer, low=answer, high=answer, boost=0.0)
        for answer in (0.0, 1.5)
    )

    assert quadrature.renyi(first, second, 3.0) == pytest.approx(3 * 1.5**2 / (2 * 4), rel=1e-13)
