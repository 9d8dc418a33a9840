"""Rivals: variances against Wang et al. (2017), certificates by enumeration, weights as drawn."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.local import in_blocks, without_categories
from pbdp.local.boosted_response import boosted_response
from pbdp.local.local_hashing import LocalHashing, best_prime, hashing_variance, local_hashing

EPSILONS = [0.1, 0.5, 1.0, 2.0, 4.0, 7.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", [2, 10, 91])
def test_plain_randomized_response(epsilon: float, count: int) -> None:
    """Their equation 4: n (d - 2 + e^eps)/(e^eps - 1)^2 for values that nobody holds."""
    spread = boosted_response(without_categories(range(count)), epsilon, epsilon).variances("value")
    nobody = np.zeros(count)
    nobody[0] = 1000
    formula = 1000 * (count - 2 + np.exp(epsilon)) / np.expm1(epsilon) ** 2
    assert spread.at(nobody)[1:] == pytest.approx(np.full(count - 1, formula), rel=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_local_hashing(epsilon: float) -> None:
    """Their equation 12: n (e^eps - 1 + g)^2/((e^eps - 1)^2 (g - 1)), which is least at g = e^eps + 1."""
    mechanism = local_hashing(in_blocks(range(20), 5), epsilon)
    nobody = np.zeros(20)
    nobody[0] = 1000
    e, g = np.exp(epsilon), mechanism.g
    formula = 1000 * (e - 1 + g) ** 2 / ((e - 1) ** 2 * (g - 1))
    assert mechanism.variances("value").at(nobody)[1:] == pytest.approx(np.full(19, formula), rel=1e-9)
    assert 1 <= formula / (4000 * e / np.expm1(epsilon) ** 2) < 1.09
    primes = (2, 3, 5, 7, 11, 53, 59, g)
    assert hashing_variance(epsilon, g) == min(hashing_variance(epsilon, p) for p in primes)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_variance_with_people_who_hold_the_value(epsilon: float) -> None:
    """Their theorem 2: n q (1 - q)/(p - q)^2 + n f (1 - p - q)/(p - q)."""
    truth = np.array([700.0, 200.0, 100.0, 0.0])
    domain = without_categories(range(4))
    e = np.exp(epsilon)
    g = best_prime(epsilon)
    for mechanism, p, q in (
        (local_hashing(domain, epsilon), e / (e + g - 1), 1 / g),
        (boosted_response(domain, epsilon, epsilon), e / (e + 3), 1 / (e + 3)),
    ):
        expected = 1000 * q * (1 - q) / (p - q) ** 2 + truth * (1 - p - q) / (p - q)
        assert mechanism.variances("value").at(truth) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS[:5])
def test_the_certificate_of_local_hashing_is_the_largest_ratio_over_all_reports(epsilon: float) -> None:
    mechanism = local_hashing(without_categories(range(8)), epsilon)
    g, digits = mechanism.g, mechanism.digits
    own, other = Fraction(mechanism.own, 2**62), Fraction(mechanism.other, 2**62)
    collisions = 0
    ratio = Fraction(1)
    for coefficients in product(range(g), repeat=digits):
        hashes = [sum(a * (v // g**i % g) for i, a in enumerate(coefficients)) % g for v in range(8)]
        collisions += hashes[0] == hashes[5]
        for r in range(g):
            column = [own if h == r else other for h in hashes]
            ratio = max(ratio, max(column) / min(column))
    assert own + (g - 1) * other == 1
    assert Fraction(collisions, g**digits) == Fraction(1, g)
    check_certificate(ratio, mechanism.epsilon, epsilon)


def check_certificate(ratio: Fraction, certified: float, asked: float) -> None:
    with mpmath.workdps(40):
        truth = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
        assert truth <= mpmath.mpf(certified) <= mpmath.mpf(asked)
        assert certified > asked - 1e-6
        assert mpmath.mpf(certified) < truth * (1 + mpmath.mpf(10) ** -15)


def test_hashed_reports_are_drawn_with_their_weights() -> None:
    mechanism = local_hashing(without_categories(range(5)), 1.0)
    g, other = mechanism.g, mechanism.other
    words = [1] * mechanism.digits
    edges = [k * other for k in range(g + 1)] + [2**62]
    hashed = sum(4 // g**i % g for i in range(mechanism.digits)) % g
    expected = [*range(g), hashed]
    for low, high, report in zip(edges, edges[1:], expected, strict=False):
        for u in (low, high - 1):
            assert mechanism.report_of(4, [4 * u + 3, *words]) % g == report


def test_rivals_outside_their_range() -> None:
    domain = without_categories(range(4))
    for epsilon in (0.0, 13.0):
        with pytest.raises(InputError, match="epsilon"):
            local_hashing(domain, epsilon)
    with pytest.raises(InputError, match="prime"):
        LocalHashing(domain=domain, g=4, other=5)
    with pytest.raises(InputError, match="other"):
        LocalHashing(domain=domain, g=5, other=2**62)
    with pytest.raises(InputError, match="words"):
        local_hashing(domain, 1.0).report_of(1, [1])
