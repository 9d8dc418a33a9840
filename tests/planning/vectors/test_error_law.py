"""The error of a vector whose coordinates have one table: against sums over all combinations of noise."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.coordinates import Coordinates
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable, integer_weights
from pbdp.planning.vectors import error_law
from pbdp.planning.vectors.error_law import Sizes


def table(*masses: float) -> WeightTable:
    row = np.array(masses) / sum(masses) * (1 - 1e-12)
    return integer_weights(row, -(len(masses) // 2))


TABLES = [table(1, 3, 5, 3, 1), table(2, 1, 4, 1, 2), table(1, 0, 3, 7, 1, 1, 1)]


def exact(noise: WeightTable, sizes: Sizes) -> Fraction:
    """Every combination of noise, in whole weights."""
    values, weights = noise.values().tolist(), noise.weights.tolist()
    total = 0
    for chosen in itertools.product(range(len(values)), repeat=sizes.dimensions):
        errors = [abs(values[at]) for at in chosen]
        met = (
            max(errors) <= sizes.most
            if sizes.power == 0
            else sum(e**sizes.power for e in errors) <= sizes.most
        )
        if met:
            total += math.prod(weights[at] for at in chosen)
    return Fraction(total, TOTAL**sizes.dimensions)


@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
def test_the_mass_is_that_of_all_combinations(power: int, dimensions: int) -> None:
    for noise in TABLES:
        for most in range(5):
            sizes = Sizes(dimensions=dimensions, power=power, most=most)
            truth, found = exact(noise, sizes), sizes.mass(noise)
            assert Fraction(found) <= truth
            assert found >= float(truth) - 1e-11


def direct(noise: WeightTable, sizes: Sizes) -> float:
    """By plain convolutions, without a transform."""
    each: dict[int, float] = {}
    for value, weight in zip(noise.values().tolist(), noise.weights.tolist(), strict=True):
        size = abs(value) ** sizes.power
        if size <= sizes.most:
            each[size] = each.get(size, 0.0) + weight / TOTAL
    row = np.zeros(sizes.most + 1)
    row[0] = 1.0
    for _ in range(sizes.dimensions):
        moved = np.zeros_like(row)
        for size, mass in each.items():
            moved[size:] += mass * row[: len(row) - size]
        row = moved
    return math.fsum(row)


@pytest.mark.parametrize(("dimensions", "power", "most"), [(7, 2, 300), (40, 2, 2500), (64, 1, 500)])
def test_many_coordinates_against_plain_sums(dimensions: int, power: int, most: int) -> None:
    noise = integer_weights(np.exp(-np.abs(np.arange(-60, 61)) / 6.0) / 13, -60)
    sizes = Sizes(dimensions=dimensions, power=power, most=most)
    truth, found = direct(noise, sizes), sizes.mass(noise)
    assert truth - 1e-10 <= found <= truth
    assert sizes.estimate(*_folded(noise)) == pytest.approx(truth, abs=0.02)


def _folded(noise: WeightTable) -> tuple[np.ndarray, np.ndarray]:
    reach = -noise.start
    masses = noise.probabilities()[reach:].copy()
    masses[1:] *= 2
    return np.arange(float(reach + 1)), masses


@pytest.mark.parametrize("dimensions", [3, 50])
def test_rounded_sizes_lose_little_and_never_gain(dimensions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = integer_weights(np.exp(-np.abs(np.arange(-300, 301)) / 30.0) / 61, -300)
    sizes = Sizes(dimensions=dimensions, power=2, most=dimensions * 2400)
    monkeypatch.setattr(error_law, "CELLS_EACH", error_law.MOST_CELLS)
    truth = sizes.mass(noise)
    monkeypatch.setattr(error_law, "CELLS_EACH", 4000 // math.isqrt(dimensions))
    assert sizes.unit > 1
    assert truth - 0.05 < sizes.mass(noise) <= truth


def test_random_tables_never_gain_by_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_law, "CELLS_EACH", 16)
    chance = random.Random(5)
    for _ in range(20):
        noise = table(*[chance.random() ** 4 for _ in range(61)])
        sizes = Sizes(
            dimensions=chance.randint(1, 30), power=chance.choice([1, 2]), most=chance.randint(100, 9000)
        )
        assert sizes.unit > 1
        assert sizes.mass(noise) <= direct(noise, sizes) + 1e-12


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_what_rounding_of_answers_leaves(norm: str) -> None:
    """The largest error of the noise that is allowed, with the worst rounding, is within the width."""
    for dimensions, width in ((1, 2.0), (4, 5.3), (9, 7.75)):
        asked = Requirement(
            region=AbsoluteRegion.even(width),
            confidence=0.9,
            sensitivity=1,
            delta=1e-6,
            coordinates=Coordinates(dimensions=dimensions, norm=norm, change_norm="linf"),
        )
        grid = LinearGrid(step=0.5, rounded=True)
        sizes = Sizes.allowed(asked, grid)
        half = 0.25
        if norm == "linf":
            assert sizes.most * 0.5 + half <= width < (sizes.most + 1) * 0.5 + half
        elif norm == "l1":
            assert sizes.most * 0.5 + dimensions * half <= width < (sizes.most + 1) * 0.5 + dimensions * half
        else:
            rounding = math.sqrt(dimensions) * half
            assert math.sqrt(sizes.most) * 0.5 + rounding <= width * (1 + 1e-12)
            assert math.sqrt(sizes.most + 1) * 0.5 + rounding > width * (1 - 1e-9)
