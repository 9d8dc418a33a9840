"""How often intervals hold, against all pairs of counts in plain Python; and against simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from pbdp.comparing.analysis import Analysis, Measure
from pbdp.comparing.count_laws import count_law
from pbdp.comparing.pairs import Plane
from tests.comparing.test_count_laws import table

NOISE = table([1, 3, 8, 3, 1], -2)
VARIANCE = 2 * (1 * 4 + 3) / 16


def held(analysis: Analysis, rates: tuple[float, float], truth: float) -> float:
    """The sum over all pairs, by the formulas of the page."""
    laws = [count_law(n, p, NOISE) for n, p in zip(analysis.users, rates, strict=True)]
    found = 0.0
    for (y, p), (z, q) in product(*(zip(law.values, law.masses, strict=True) for law in laws)):
        inside = []
        for count, n in ((y, analysis.users[0]), (z, analysis.users[1])):
            rate = min(max((count + 1) / (n + 2), 1 / (n + 2)), 1 - 1 / (n + 2))
            variance = rate * (1 - rate) / n + VARIANCE / n**2
            inside.append((count / n, rate, variance))
        if analysis.measure == "difference":
            center, error = inside[0][0] - inside[1][0], math.sqrt(inside[0][2] + inside[1][2])
        else:
            center = math.log(inside[0][1] / inside[1][1])
            error = math.sqrt(sum(variance / rate**2 for _, rate, variance in inside))
        if abs(center - truth) <= analysis.factor * error:
            found += p * q
    return found


@pytest.mark.parametrize("measure", ["difference", "ratio"])
@pytest.mark.parametrize("users", [(30, 30), (20, 50), (200, 150)])
@pytest.mark.parametrize("factor", [0.5, 2.0, 6.0])
def test_exact_probabilities_are_those_of_all_pairs(
    measure: Measure, users: tuple[int, int], factor: float
) -> None:
    for rates in ((0.3, 0.2), (0.02, 0.05)):
        analysis = Analysis(users=users, variances=(VARIANCE, VARIANCE), factor=factor, measure=measure)
        laws = (count_law(users[0], rates[0], NOISE), count_law(users[1], rates[1], NOISE))
        for truth in (0.0, 0.1):
            found = Plane(analysis=analysis, laws=laws, truth=truth).holds(factor)
            assert found == pytest.approx(held(analysis, rates, truth), abs=2e-12)


def test_both_ways_of_adding_up_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = Analysis(users=(5000, 4000), variances=(VARIANCE, VARIANCE), factor=2.0)
    laws = (count_law(5000, 0.1, NOISE), count_law(4000, 0.12, NOISE))
    by_halves = Plane(analysis=analysis, laws=laws, truth=-0.02).holds(2.0)
    monkeypatch.setattr(Plane, "_parts", lambda *_: [(0, len(laws[1].masses), False)])
    assert Plane(analysis=analysis, laws=laws, truth=-0.02).holds(2.0) == pytest.approx(by_halves, abs=1e-12)


@pytest.mark.parametrize("measure", ["difference", "ratio"])
def test_what_is_known_of_other_factors_changes_nothing(measure: Measure) -> None:
    """Ends that are looked for between those of other factors; small counts of a ratio are gone through."""
    analysis = Analysis(users=(300, 200), variances=(VARIANCE, VARIANCE), measure=measure)
    laws = (count_law(300, 0.02, NOISE), count_law(200, 0.03, NOISE))
    asked = Plane(analysis=analysis, laws=laws)
    for factor in (2.0, 1.0, 3.0, 1.5, 1.75, 1.0):
        assert asked.holds(factor) == Plane(analysis=analysis, laws=laws).holds(factor)


@pytest.mark.parametrize("measure", ["difference", "ratio"])
def test_ends_that_are_known_of_more_counts_change_nothing(measure: Measure) -> None:
    analysis = Analysis(users=(3000, 2000), variances=(VARIANCE, VARIANCE), measure=measure)
    more = Plane(analysis=analysis, laws=(count_law(3000, 0.3, NOISE), count_law(2000, 0.3, NOISE)))
    for rates in ((0.3, 0.3), (0.31, 0.29), (0.5, 0.3)):
        first, second = (count_law(n, rate, NOISE) for n, rate in zip((3000, 2000), rates, strict=True))
        laws = first.trimmed(1e-10), second.trimmed(1e-10)
        assert more.covers(laws, 1.7) == (rates[0] < 0.5)
        alone = Plane(analysis=analysis, laws=laws)
        for factor in (1.7, 2.5):
            assert replace(alone, beyond=more).holds(factor) == alone.holds(factor)


def test_coverage_is_that_of_simulated_experiments() -> None:
    analysis = Analysis(users=(2000, 2000), variances=(VARIANCE, VARIANCE), factor=1.8)
    laws = (count_law(2000, 0.1, NOISE), count_law(2000, 0.1, NOISE))
    rng = np.random.default_rng(5)
    size = 100_000
    noise = rng.choice(NOISE.values(), p=NOISE.probabilities(), size=(2, size))
    counts = rng.binomial(2000, 0.1, size=(2, size)) + noise
    off = np.abs(analysis.estimate(counts[0], counts[1]))
    often = np.mean(off <= 1.8 * analysis.error(counts[0], counts[1]))
    exact = Plane(analysis=analysis, laws=laws).holds(1.8)
    assert often == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / size))
