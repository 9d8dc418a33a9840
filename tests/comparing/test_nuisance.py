"""Plausible rates, and the largest chance over them, against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.comparing.count_laws import count_law
from pbdp.comparing.nuisance import Noise, Total, cumulant_of, largest_over, variance_of
from tests.comparing.test_count_laws import table

NOISE = table([1, 3, 8, 3, 1], -2)


@pytest.mark.parametrize("people", [20, 400])
@pytest.mark.parametrize("missed", [0.2, 1e-3])
def test_the_true_rate_is_seldom_left_out(people: int, missed: float) -> None:
    for rate in (0.01, 0.2, 0.5, 0.97):
        law = count_law(people, rate, NOISE).added(count_law(1, 0.0, NOISE))
        left_out = 0.0
        for count, mass in zip(law.values.tolist(), law.masses.tolist(), strict=True):
            low, high = Total(count=count, people=people, noise=Noise(NOISE), copies=2).plausible(missed)
            left_out += mass * (not low <= rate <= high)
        assert left_out <= missed
    # and not all rates are plausible
    low, high = Total(count=people / 2, people=people, noise=Noise(NOISE), copies=2).plausible(missed)
    assert high - low < 7 * math.sqrt(-math.log(missed / 2) / people)


def test_counts_beyond_what_is_possible_have_plausible_rates() -> None:
    for count in (-30.0, 0.0, 50.0, 90.0):
        low, high = Total(count=count, people=50, noise=Noise(NOISE), copies=2).plausible(1e-6)
        assert 0 <= low < high <= 1


@pytest.mark.parametrize("people", [3, 30, 2000])
@pytest.mark.parametrize(("low", "high"), [(0.0, 0.02), (0.04, 0.06), (0.3, 0.5)])
def test_the_bound_is_above_every_chance_and_close(people: int, low: float, high: float) -> None:
    """Sets of counts that are as jagged as can be: the bound may assume nothing of them."""
    rng = np.random.default_rng(people)
    yes = np.arange(people + 1)
    logs = [math.lgamma(people + 1) - math.lgamma(k + 1) - math.lgamma(people - k + 1) for k in yes.tolist()]
    for _ in range(3):
        kept = rng.random(people + 1) < 0.4

        def chance(rate: float, kept: np.ndarray = kept) -> float:
            if rate <= 0:
                return float(kept[0])
            masses = np.exp(np.array(logs) + yes * math.log(rate) + (people - yes) * math.log1p(-rate))
            return float(masses[kept].sum())

        bound = largest_over(chance, low, high, people, 1e-6)
        largest = max(chance(rate) for rate in np.linspace(low, high, 2001).tolist())
        assert largest <= bound + 1e-12
        assert bound <= largest + 1e-4


def test_too_few_nodes_would_miss_it() -> None:
    """The bound of the error is needed: three nodes do not see a peak between them."""
    people, rate = 2000, 0.1

    def chance(p: float) -> float:
        law = count_law(people, p, None)
        return float(law.masses[(law.values > 195) & (law.values < 205)].sum())

    blind = max(chance(p) for p in (0.06, 0.08, 0.12, 0.14))
    assert blind < 0.1 < chance(rate) <= largest_over(chance, 0.06, 0.14, people, 1e-6)


def test_moments_of_noise() -> None:
    assert variance_of(NOISE) == pytest.approx(2 * (4 + 3) / 16)
    assert variance_of(None) == 0
    slopes = np.array([0.0, 0.5, 2.0])
    exact = [
        math.log(sum(w * math.exp(s * n) for n, w in zip(range(-2, 3), (1, 3, 8, 3, 1), strict=True)) / 16)
        for s in slopes
    ]
    assert cumulant_of(NOISE, slopes) == pytest.approx(exact, abs=1e-12)
    wide = table([1] * 65536, -32768)
    found = cumulant_of(wide, np.array([1e-4]))[0]
    mean = np.mean(np.cosh(1e-4 * np.abs(wide.values())))
    assert math.log(mean) <= found <= math.log(mean) + 1e-2
