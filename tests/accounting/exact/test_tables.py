"""Tables of integer weights: their delta and epsilon against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest

from pbdp.accounting.exact import tables
from pbdp.accounting.exact.tables import table_delta, table_epsilon
from pbdp.mechanism.weights import TOTAL, WeightTable
from tests.accounting.exact.laws import exact_delta, unimodal
from tests.brute import designs


def scaled(weights: list[int], start: int) -> WeightTable:
    """A table proportional to small weights but for what brings its total to 2^62, which the largest gets."""
    unit = TOTAL // sum(weights)
    grown = np.array(weights, dtype=np.int64) * unit
    grown[int(np.argmax(grown))] += TOTAL - int(grown.sum())
    return WeightTable(start=start, weights=grown)


def table_truth(table: WeightTable, sensitivity: int, epsilon: float) -> mp.mpf:
    """Largest delta over all shifts with 50-digit growth."""
    weights: npt.NDArray[np.int64] = table.weights
    with mp.workdps(50):
        growth = Fraction(str(mp.exp(mp.mpf(epsilon))))
        shifts = [s for size in range(1, sensitivity + 1) for s in (size, -size)]
        worst = max(exact_delta([int(w) for w in weights], s, growth) for s in shifts)
        return mp.mpf(worst.numerator) / worst.denominator


def random_table(rng: designs.Random) -> WeightTable:
    if rng.random() < 0.5:
        weights, mode = unimodal(rng)
        return scaled(weights, -mode)
    weights = rng.integers(0, 9, int(rng.integers(2, 12))).tolist()
    weights[0] += 1
    weights[-1] += 1
    return scaled(weights, -int(rng.integers(0, len(weights))))


def test_delta_of_integer_tables() -> None:
    rng = np.random.default_rng(43)
    for _ in range(500):
        table, sensitivity = random_table(rng), int(rng.integers(1, 6))
        epsilon = float(rng.choice([0.0, rng.uniform(0, 3), math.log(2)]))
        exact = table_truth(table, sensitivity, epsilon)

        claim = table_delta(table, sensitivity, epsilon)

        assert claim.lower <= exact <= claim.upper, (table, sensitivity, epsilon)
        assert claim.upper == pytest.approx(float(exact), rel=1e-12, abs=1e-15)
        assert claim.lower == pytest.approx(float(exact), rel=1e-12, abs=1e-15)


def test_bounds_hold_where_almost_all_of_two_sums_cancels() -> None:
    """Weights that double, at an epsilon near ln 2: of sums of 0.7, 1e-10 is left, or only rounding."""
    side = [1 << i for i in range(30)]
    table = scaled([*side, 1 << 30, *side[::-1]], -30)
    near = math.log(2)
    below = [near - 10.0**-k for k in range(8, 16)]
    for epsilon in [*below, math.nextafter(near, 0), near, math.nextafter(near, 1)]:
        exact = table_truth(table, 1, epsilon)
        claim = table_delta(table, 1, epsilon)
        assert claim.lower <= exact <= claim.upper, (epsilon, claim)
        assert claim.upper - claim.lower < 2e-15


def test_epsilon_of_integer_tables() -> None:
    rng = np.random.default_rng(44)
    for _ in range(500):
        table, sensitivity = random_table(rng), int(rng.integers(1, 4))
        delta = float(rng.choice([rng.uniform(0, 1), 10.0 ** -rng.uniform(1, 15), 1 / 8]))

        claim = table_epsilon(table, sensitivity, delta)

        if math.isinf(claim.upper):
            assert table_truth(table, sensitivity, 60.0) >= delta * (1 - 1e-12), (table, sensitivity, delta)
            continue
        assert table_truth(table, sensitivity, claim.upper) <= delta, (table, sensitivity, delta, claim)
        if claim.upper > 1e-9:
            assert claim.lower >= claim.upper * (1 - 1e-9), (table, sensitivity, delta, claim)
            assert table_truth(table, sensitivity, claim.upper * (1 - 1e-6)) > delta, (
                table,
                sensitivity,
                delta,
                claim,
            )
        if claim.lower > 0:
            assert table_truth(table, sensitivity, claim.lower) > delta, (table, sensitivity, delta, claim)


def test_delta_of_long_tables_whose_steps_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LONG", 0)
    rng = np.random.default_rng(45)
    for _ in range(100):
        table, sensitivity, epsilon = random_table(rng), int(rng.integers(1, 8)), float(rng.uniform(0, 2))
        weights = np.repeat(table.weights // 4, 4)
        weights[-4 * table.start] += TOTAL - int(weights.sum())
        steps = WeightTable(start=4 * table.start, weights=weights)
        exact = table_truth(steps, sensitivity, epsilon)

        claim = table_delta(steps, sensitivity, epsilon)

        assert claim.lower <= exact <= claim.upper, (steps, sensitivity, epsilon)
        assert claim.upper == pytest.approx(float(exact), rel=1e-12, abs=1e-15)
