"""Intervals against all outcomes in plain Python: how often they hold at any rates, and how often decide."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest

from pbdp.comparing.count_laws import bounds, count_law
from pbdp.comparing.rate_interval import Analysis
from pbdp.comparing.request import Measure
from tests.comparing.test_count_laws import table
from tests.effort import cases

WEIGHTS = (1, 3, 8, 3, 1)
NOISE = table(list(WEIGHTS), -2)
# From nobody to everybody, with rates between which hardly anybody, or hardly nobody, says yes.
RATES = (0.0, 0.001, 0.01, 0.03, 0.07, *(place / 16 for place in range(2, 15)), 0.94, 0.98, 0.999, 1.0)


@cache
def noisy(n: int, rate: float, has_noise: bool) -> dict[int, float]:
    """The law of a count, term by term."""
    found: dict[int, float] = {}
    weights = enumerate(WEIGHTS, -2) if has_noise else ((0, sum(WEIGHTS)),)
    for yes, (noise, weight) in product(range(n + 1), tuple(weights)):
        mass = math.comb(n, yes) * rate**yes * (1 - rate) ** (n - yes) * weight / sum(WEIGHTS)
        found[yes + noise] = found.get(yes + noise, 0.0) + mass
    return found


def intervals(analysis: Analysis) -> dict[tuple[int, int], tuple[float, float]]:
    """Those of all outcomes."""
    counts = [noisy(n, 0.5, analysis.noise is not None) for n in analysis.users]
    return {(y, z): analysis.interval(y, z) for y, z in product(*counts)}


# All of them, and larger groups, in long runs.
SMALL = [((5, 3), 0.8), ((2, 4), 0.95), ((3, 9), 0.95), ((14, 17), 0.8)][: 2 * cases(4)]


@pytest.mark.parametrize("measure", ["difference", "ratio"])
@pytest.mark.parametrize("has_noise", [True, False])
@pytest.mark.parametrize(("users", "confidence"), SMALL)
def test_intervals_hold_at_every_rate(
    measure: Measure, has_noise: bool, users: tuple[int, int], confidence: float
) -> None:
    analysis = Analysis(
        users=users, missed=1 - confidence, measure=measure, noise=NOISE if has_noise else None
    )
    said = intervals(analysis)
    for first, second in product(RATES, RATES):
        if measure == "ratio" and second == 0:
            continue
        truth = first - second if measure == "difference" else first / second
        laws = noisy(users[0], first, has_noise), noisy(users[1], second, has_noise)
        held = sum(
            laws[0].get(y, 0.0) * laws[1].get(z, 0.0)
            for (y, z), (low, high) in said.items()
            if low <= truth <= high
        )
        assert held >= confidence, (first, second, held)


@pytest.mark.parametrize("measure", ["difference", "ratio"])
@pytest.mark.parametrize("users", [(9, 4), (14, 17)][: cases(2)])
def test_power_is_that_of_all_outcomes(measure: Measure, users: tuple[int, int]) -> None:
    analysis = Analysis(users=users, missed=0.1, measure=measure, noise=NOISE)
    none = 0.0 if measure == "difference" else 1.0
    said = intervals(analysis)
    for rates in ((0.9, 0.2), (0.3, 0.3), (0.05, 0.6), (0.03, 0.03)):
        laws = [noisy(n, rate, True) for n, rate in zip(users, rates, strict=True)]
        found = sum(laws[0][y] * laws[1][z] for (y, z), (low, high) in said.items() if not low < none < high)
        power = analysis.power(*rates)
        assert power <= found
        assert power == pytest.approx(found, abs=1e-3)
        if rates[0] == rates[1]:
            assert found <= 0.1


@pytest.mark.parametrize("measure", ["difference", "ratio"])
def test_large_groups_lose_little_against_the_normal_law(measure: Measure) -> None:
    n, rate = 20_000, 0.1
    for step in (1, 2):
        analysis = Analysis(users=(n, n), missed=0.05, measure=measure, noise=NOISE, steps=(step, step))
        error = math.sqrt(2 * (rate * (1 - rate) / n + analysis.variance / n**2))
        # r/(1 + r) of a ratio near 1 moves by a quarter of what its logarithm does
        error /= 4 * rate if measure == "ratio" else 1
        assert 1 <= analysis.width(2000, 2000) / (1.959964 * error) < 1.012 + 0.04 * (step - 1)
        low, high = analysis.interval(2100, 2000)
        assert low < analysis.estimate(2100, 2000) < high


def test_power_without_a_difference_is_at_most_what_may_be_missed() -> None:
    analysis = Analysis(users=(2000, 500), missed=0.05, noise=NOISE)
    for rate in (0.003, 0.05, 0.5):
        assert analysis.power(rate, rate) <= 0.05
    assert analysis.power(1.0, 0.0) > 0.999
    assert analysis.power(0.0, 1.0) > 0.999


@pytest.mark.parametrize("step", [1, 3, 8])
def test_bounds_are_on_the_safe_side_of_every_law(step: int) -> None:
    rates = np.array([0.0, 0.02, 0.2, 0.31, 0.33, 0.9, 1.0])
    for up in (True, False):
        found = bounds(60, rates, NOISE, step, up=up)
        for row, rate in zip(found.masses, rates.tolist(), strict=True):
            law = count_law(60, rate, NOISE)
            for value in law.values:
                bound = float(row[found.values <= value].sum())
                exact = float(law.masses[law.values <= value].sum())
                assert bound <= exact + 1e-12 if up else bound >= exact - 1e-12
                if step == 1:
                    assert bound == pytest.approx(exact, abs=1e-12)
