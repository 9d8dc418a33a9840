"""Regions from earlier outputs against a sum over both outputs; coins against their definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reproduction.discussion_section import binomial_kernel as binomial
from reproduction.discussion_section import extensions, online_releases
from reproduction.discussion_section.online_releases import SENSITIVITY, Following
from reproduction.experiment import Row
from reproduction.tests.boosted_reference import density, gaussian_delta, hockey_stick

FOLLOWING = Following(sigma=6.0, half_width=4.0, boost=0.9)


@pytest.mark.parametrize("distance", [-20.0, -3.5, 0.0, 11.0])
@pytest.mark.parametrize("shift", [1.0, -1.0])
def test_given_the_first_output_delta_is_that_of_brute_force(distance: float, shift: float) -> None:
    ends = (-4.0, 4.0)
    for epsilon in (0.0, 0.4):
        found = FOLLOWING.delta(np.array([distance]), shift, np.array([epsilon]))[0]
        law = {"sigma": 6.0, "boost": 0.9, "epsilon": epsilon}
        assert found == pytest.approx(hockey_stick(distance, distance + shift, ends, ends, **law), abs=1e-9)


@pytest.mark.parametrize("from_truth", [False, True])
def test_both_releases_together_by_a_sum_over_both_outputs(from_truth: bool) -> None:
    gap, shift, epsilon = 3.0, SENSITIVITY, 0.5
    first = np.linspace(-48, 49, 701)
    second = np.arange(-52.0, 56.0, 0.025) + 0.0125  # no point on an edge
    total = 0.0
    for y1 in first:
        center, other = (0.0, shift) if from_truth else (y1, y1)
        here = density(second, gap, (center - 4, center + 4), 6.0, 0.9)
        there = density(second, gap + shift, (other - 4, other + 4), 6.0, 0.9)
        bells = (math.exp(-((y1 - at) ** 2) / 72) / math.sqrt(72 * math.pi) for at in (0.0, shift))
        p, q = bells
        total += float(np.sum(np.maximum(p * here - math.exp(epsilon) * q * there, 0.0)))
    total *= (first[1] - first[0]) * (second[1] - second[0])
    found = (FOLLOWING.together_from_truth if from_truth else FOLLOWING.together)(gap, shift, shift, epsilon)
    assert found == pytest.approx(total, rel=5e-3)


def test_without_a_boost_two_releases_are_one_gaussian() -> None:
    plain = Following(sigma=6.0, half_width=4.0, boost=0.0)
    for delta_of in (plain.together, plain.together_from_truth):
        found = delta_of(2.0, 1.0, 1.0, 0.5)
        assert found == pytest.approx(gaussian_delta(0.5, math.sqrt(2.0), 6.0), rel=5e-5)


def test_coins_are_counted() -> None:
    exact = [math.comb(30, heads) / 2**30 for heads in range(31)]
    assert binomial.coins(30) == pytest.approx(exact, rel=1e-12)
    count = binomial.plain_coins(4, 0.9)
    held = [sum(math.comb(n, n // 2 + k) for k in range(-4, 5)) / 2**n for n in (count, count + 2)]
    assert held[0] >= 0.9 > held[1]
    law = binomial.boosted(binomial.coins(count + 40), 4, 0.9)
    middle = len(law) // 2
    assert float(np.sum(law[middle - 4 : middle + 5])) == pytest.approx(0.9)
    assert float(np.sum(law)) == pytest.approx(1)


def test_the_supplement_from_a_few_of_its_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online_releases, "GAPS", online_releases.GAPS[::4])
    cases = [
        case
        for case in extensions.cases(True)
        if case.get("boost", 0.9) in (0.0, 0.9)
        and (case.get("releases", 10), case.get("reach", 4)) == (10, 4)
    ]
    rows: list[Row] = [row for case in cases for row in extensions.compute(case)]
    online, given, kernel = extensions.findings(rows)
    assert online.holds
    assert online.figures["plain"] < online.figures["online"] < online.figures["from_truth"]
    assert online.figures["confidence"] > online.figures["plain_confidence"]
    assert given.figures["largest_given"] > given.figures["remark_3"]
    assert kernel.figures["least_ratio_to_planner"] > 1
    assert kernel.figures["proved"] == kernel.figures["requirements"] == 2
    assert len(extensions.draw(rows).axes) == 3
