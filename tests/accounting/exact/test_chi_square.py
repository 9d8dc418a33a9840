"""Chi-square laws: the errors of their functions, and the derivative of what is integrated."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.special import gammainc, gammaincc, gammaincinv

from pbdp.accounting.exact.chi_square import cdf_error, orders


@pytest.mark.parametrize(
    "shape", [0.5, 1.0, 2.5, 60.0, 199.5, 250.0, 499.5, 5000.0, 20_000.5, 50_000.0, 100_000.0]
)
def test_the_gamma_functions_are_as_exact_as_is_assumed(shape: float) -> None:
    for z in (-6.0, -0.3, 0.7, 9.0):
        x = max(shape + z * math.sqrt(shape), 0.05 * shape)
        with mpmath.workdps(30):
            lower, upper = _gamma_integrals(shape, x)

        for found, truth in ((gammainc(shape, x), lower), (gammaincc(shape, x), upper)):
            assert abs(mpmath.mpf(float(found)) / truth - 1) < cdf_error(found) / 2


@pytest.mark.parametrize("shape", [0.5, 1.5, 20.0, 199.5, 1403.0, 4381.0, 50_000.0])
def test_the_lower_gamma_function_is_as_exact_far_out(shape: float) -> None:
    """P = x^a e^-x / Γ(a+1) · Σ x^n / ((a+1)...(a+n)), at values down to 1e-240."""
    for exponent in (10, 100, 240):
        x = float(gammaincinv(shape, 10.0**-exponent))
        if x < 1e-300:
            continue
        with mpmath.workdps(40):
            at, term, total, n = mpmath.mpf(x), mpmath.mpf(1), mpmath.mpf(1), 0
            while term > total * mpmath.mpf(10) ** -25:
                n += 1
                term *= at / (shape + n)
                total += term
            truth = mpmath.exp(shape * mpmath.log(at) - at - mpmath.loggamma(shape + 1)) * total

        found = gammainc(shape, x)
        assert abs(mpmath.mpf(float(found)) / truth - 1) < cdf_error(found) / 2


def _gamma_integrals(shape: float, x: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """P and Q by quadrature of the density, or by series for small shapes."""
    if shape < 100:
        return (
            mpmath.gammainc(shape, 0, x, regularized=True),
            mpmath.gammainc(shape, x, mpmath.inf, regularized=True),
        )
    constant = mpmath.loggamma(shape)

    def density(t: mpmath.mpf) -> mpmath.mpf:
        return mpmath.exp((shape - 1) * mpmath.log(t) - t - constant)

    width = math.sqrt(shape)
    below = [max(x - j * width, 0) for j in (18, 12, 8, 5, 3, 2, 1, 0)]
    above = [x + j * width for j in (0, 0.2, 0.5, 1, 2, 3, 5, 8, 12, 20)]
    return mpmath.quad(density, sorted(set(below))), mpmath.quad(density, above)


@pytest.mark.parametrize("nu", range(8))
@pytest.mark.parametrize("tilt", [0.0, 0.7, -0.7])
def test_the_second_derivative_is_the_one_that_the_midpoint_rule_uses(nu: int, tilt: float) -> None:
    radius, y = 1.9, 1.1

    def term(at: mpmath.mpf) -> mpmath.mpf:
        room = radius**2 - at * at
        inside = 1 if nu == 0 else mpmath.gammainc(mpmath.mpf(nu) / 2, 0, room / 2, regularized=True)
        return mpmath.npdf(at - tilt) * inside

    with mpmath.workdps(40):
        truth = float(mpmath.diff(term, mpmath.mpf(y), 2))
    zeroth, second, fourth, _ = (float(v[0]) for v in orders(nu, np.array([radius**2 - y * y])))
    bracket = y * y * fourth - (1 + 2 * tilt * y) * second + tilt * tilt * zeroth

    assert math.exp(-((y - tilt) ** 2) / 2) / math.sqrt(2 * math.pi) * bracket == pytest.approx(
        truth, rel=1e-10
    )
