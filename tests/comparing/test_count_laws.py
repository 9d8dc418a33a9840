"""Laws of noisy counts, against sums in fractions."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from pbdp.comparing.count_laws import CountLaw, count_law, fine_step, rounded_count
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


@pytest.mark.parametrize("step", [1, 3, 7])
def test_rounded_laws_are_those_of_rounded_counts(step: int) -> None:
    law = count_law(30, 0.3, table([1, 2, 4, 1], -2))
    rounded = law.rounded(step)
    expected: dict[int, float] = {}
    for value, mass in zip(law.values.tolist(), law.masses.tolist(), strict=True):
        # to the nearest multiple; halves cannot be
        nearest = round(value / step)
        assert abs(nearest * step - value) <= step / 2
        assert rounded_count(value, step) == nearest
        expected[nearest] = expected.get(nearest, 0.0) + mass
    for place, mass in enumerate(rounded.masses.tolist()):
        assert mass == pytest.approx(expected.get(rounded.start + place, 0.0), abs=1e-15)
    assert float(rounded.masses.sum()) == pytest.approx(1)


def test_sums_and_ends() -> None:
    one, two = (
        CountLaw(start=3, masses=np.array([0.25, 0.75])),
        CountLaw(start=-1, masses=np.array([0.5, 0.5])),
    )
    both = one.added(two)
    assert both.start == 2
    assert both.masses.tolist() == [0.125, 0.5, 0.375]
    assert both.trimmed(0.2).start == 3
    assert both.trimmed(0.2).masses.tolist() == [0.5, 0.375]
    assert both.trimmed(1e-9).masses.tolist() == both.masses.tolist()


def test_steps_are_odd_and_the_same_with_a_little_noise() -> None:
    for sampling in (1.0, 100.0, 1e4, 1e8):
        step = fine_step(sampling, 0.0, 24)
        assert step % 2 == 1
        assert step <= max(np.sqrt(sampling) / 24 + 1, 1)
        assert fine_step(sampling, 0.2 * sampling, 24) == step
    assert fine_step(1e8, 4e8, 24) > fine_step(1e8, 0.0, 24)
