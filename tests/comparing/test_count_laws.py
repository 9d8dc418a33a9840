"""Laws of noisy counts, against sums in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from pbdp.comparing.count_laws import CountLaw, count_law, variance_of
from pbdp.comparing.mean_interval import cumulant_of
from pbdp.mechanism.weights import TOTAL, WeightTable


def table(weights: list[int], start: int) -> WeightTable:
    return WeightTable(start=start, weights=np.array(weights, dtype=np.int64) * (TOTAL // sum(weights)))


@pytest.mark.parametrize(("users", "rate"), [(2, 0.5), (10, 0.25), (40, 0.0625)])
def test_binomial_and_noise_are_convolved(users: int, rate: float) -> None:
    noise = table([1, 2, 4, 1], -2)
    law = count_law(users, rate, noise)
    p = Fraction(rate)
    exact: dict[int, Fraction] = {}
    for yes in range(users + 1):
        mass = comb(users, yes) * p**yes * (1 - p) ** (users - yes)
        for value, weight in zip(noise.values().tolist(), noise.weights.tolist(), strict=True):
            exact[yes + value] = exact.get(yes + value, Fraction(0)) + mass * Fraction(weight, TOTAL)
    for value, mass in zip(law.values.tolist(), law.masses.tolist(), strict=True):
        assert mass == pytest.approx(float(exact[int(value)]), abs=1e-15)
    assert float(law.masses.sum()) == pytest.approx(1)


def test_large_groups_have_the_right_mean_and_variance() -> None:
    for users in (10**5, 10**8):
        law = count_law(users, 0.05, None)
        mean = float(np.sum(law.masses * law.values))
        assert mean == pytest.approx(users * 0.05, rel=1e-9)
        spread = float(np.sum(law.masses * (law.values - mean) ** 2))
        assert spread == pytest.approx(users * 0.05 * 0.95, rel=1e-6)


def test_nobody_or_everybody() -> None:
    assert count_law(7, 0.0, None).values.tolist() == [0]
    assert count_law(7, 1.0, None).values.tolist() == [7]


def test_ends() -> None:
    law = CountLaw(start=2, masses=np.array([0.125, 0.5, 0.375]))
    assert law.trimmed(0.2).start == 3
    assert law.trimmed(0.2).masses.tolist() == [0.5, 0.375]
    assert law.trimmed(1e-9).masses.tolist() == law.masses.tolist()


def test_moments_of_noise() -> None:
    noise = table([1, 3, 8, 3, 1], -2)
    assert variance_of(noise) == pytest.approx(2 * (4 + 3) / 16)
    assert variance_of(None) == 0
    slopes = np.array([0.0, 0.5, 2.0])
    exact = [
        math.log(sum(w * math.exp(s * n) for n, w in zip(range(-2, 3), (1, 3, 8, 3, 1), strict=True)) / 16)
        for s in slopes
    ]
    assert cumulant_of(noise, slopes) == pytest.approx(exact, abs=1e-12)
    wide = table([1] * 65536, -32768)
    found = cumulant_of(wide, np.array([1e-4]))[0]
    mean = np.mean(np.cosh(1e-4 * np.abs(wide.values())))
    assert math.log(mean) <= found <= math.log(mean) + 1e-2
