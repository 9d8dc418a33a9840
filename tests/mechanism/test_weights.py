"""Integer weights: what rounding to 2^-62 keeps and what it cannot lose."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pbdp.mechanism.weights import (
    TOTAL,
    WeightTable,
    _concave_above,
    integer_weights,
)
from tests.brute import designs, force


@pytest.mark.parametrize("family", designs.UNIMODAL)
def test_a_table_adds_up_stays_unimodal_and_keeps_the_confidence(family: designs.Maker) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        noise = family(rng)
        n = force.noise_values(noise.reach)
        below, above = (float(v[0]) for v in designs.offsets(rng, 1))
        law = np.exp(force.boosted(noise.log_masses(n), n, below, above, float(rng.uniform(0, 1))))[0]

        table = integer_weights(law.astype(np.float64), int(n[0]))

        assert sum(int(w) for w in table.weights) == TOTAL
        assert table.is_unimodal
        inside = (n >= -below) & (n <= above)
        assert table.weight_within(below, above) / TOTAL >= float(law[inside].sum()) - 2**-60
        exact = law[table.start - int(n[0]) : table.stop - int(n[0])].astype(float)
        assert np.abs(table.probabilities() - exact).max() < 1e-11


@pytest.mark.parametrize("weights", [[TOTAL + 1, -1], [TOTAL - 1], [TOTAL, 1]])
def test_weights_that_are_no_probabilities_are_refused(weights: list[int]) -> None:
    with pytest.raises(AssertionError, match="add up"):
        WeightTable(start=0, weights=np.array(weights, dtype=np.int64))


def test_the_ends_of_a_table_have_weight() -> None:
    table = integer_weights(np.array([0.0, 1e-30, 0.25, 0.5, 0.25, 0.0]), -3)

    assert table.start == -1
    assert table.stop == 2
    assert table.is_symmetric


@pytest.mark.parametrize(
    ("masses", "start", "unimodal", "symmetric"),
    [
        ((0.25, 0.5, 0.25), -1, True, True),
        ((0.125, 0.25, 0.625), -2, True, False),
        ((0.25, 0.125, 0.5, 0.125), -2, False, False),
        ((0.125, 0.5, 0.125, 0.25), -1, False, False),
        ((0.25, 0.125, 0.25, 0.125, 0.25), -2, False, True),
        # the same weights from either end, but not around zero; around zero, but not the same weights
        ((0.25, 0.5, 0.25), 0, False, False),
        ((0.125, 0.5, 0.375), -1, True, False),
    ],
)
def test_both_sides_of_a_table_count(
    masses: tuple[float, ...], start: int, unimodal: bool, symmetric: bool
) -> None:
    table = integer_weights(np.array(masses), start)
    assert table.is_unimodal is unimodal
    assert table.is_symmetric is symmetric


@pytest.mark.parametrize("start", [-3, 0, 2])
def test_the_weight_within_a_width_is_that_of_the_values_in_it(start: int) -> None:
    weights = np.array([1, 2, 4, 8, 16, 32, TOTAL - 63], dtype=np.int64)
    table = WeightTable(start=start, weights=weights)
    ends = [k / 2 for k in range(-18, 19)]
    for below in ends:
        for above in ends:
            inside = [w for n, w in enumerate(weights.tolist(), start) if -below <= n <= above]
            assert table.weight_within(below, above) == sum(inside)


def test_weights_in_multiples_are_split_evenly() -> None:
    # down to weights that are rounded to nothing
    masses = np.exp(-0.7 * np.abs(np.arange(-60, 61)))
    table = integer_weights(masses / masses.sum(), -60)

    whole = table.in_multiples(8)
    parts = whole.split(8)

    assert all(weight % 8 == 0 for weight in whole.weights.tolist())
    assert whole.is_unimodal
    assert len(whole.weights) < len(table.weights)
    assert whole.weights[[0, -1]].all()
    assert int(whole.weights.sum()) == int(parts.weights.sum()) == TOTAL
    for value, weight in zip(table.values().tolist(), table.weights.tolist(), strict=True):
        inside = whole.start <= value < whole.stop
        rounded = int(whole.weights[value - whole.start]) if inside else 0
        assert rounded >= weight if value == 0 else 0 <= weight - rounded < 8
        assert parts.weight_within(-8 * value, 8 * value + 7) == rounded


@pytest.mark.parametrize("seed", range(20))
def test_the_least_concave_curve_is_above_all_lines_between_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = np.arange(-20.0, 21.0)
    values = (-np.abs(places) * rng.uniform(0, 1) + rng.normal(0, 0.1, 41)).astype(np.longdouble)
    found = _concave_above(values)
    for at, curve in enumerate(found):
        lines = [
            values[one] + (values[two] - values[one]) * (at - one) / (two - one)
            for one in range(at)
            for two in range(at + 1, 41)
        ]
        assert curve == pytest.approx(max([values[at], *lines]), abs=1e-12)


@pytest.mark.parametrize("spike", [0.0, 0.003, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_the_error_of_a_log_concave_law_is_no_less_than_the_distance_from_one(
    seed: int, spike: float
) -> None:
    """The law is made again here, from all lines between weights, and what it takes away and adds."""
    rng = np.random.default_rng(seed)
    masses = np.exp(-((np.arange(-15.0, 16.0) / 6) ** 2)) * (1 + (seed % 2) * rng.uniform(-0.02, 0.02, 31))
    masses *= (1 - 1e-9 - spike) / masses.sum()
    masses[15] += spike
    table = integer_weights(masses, -15)
    weights = [Fraction(int(weight), TOTAL) for weight in table.weights]
    lowered = [float(weight) for weight in weights]
    center = -table.start
    tangents = [lowered[center + side] ** 2 / lowered[center + 2 * side] for side in (-1, 1)]
    lowered[center] = min(lowered[center], *tangents)
    logs = [math.log(weight) for weight in lowered]
    curve = [
        max(
            [logs[at]]
            + [
                logs[one] + (logs[two] - logs[one]) * (at - one) / (two - one)
                for one in range(at)
                for two in range(at + 1, len(logs))
            ]
        )
        for at in range(len(logs))
    ]
    law = np.exp(curve)
    law /= law.sum()
    distance = 0.5 * float(np.abs(law - table.probabilities()).sum())
    told = table.log_concave_error()
    assert told >= distance - 1e-14  # of the arithmetic here
    removed = float(weights[center]) - lowered[center]
    added = float(np.exp(curve).sum()) - sum(lowered)
    assert told == pytest.approx(removed + added, rel=1e-9, abs=1e-12)
    assert (removed > 0.1) == (spike == 0.2)


def test_a_law_with_a_gap_or_without_neighbors_of_its_center_is_near_none() -> None:
    gap = WeightTable(start=-2, weights=np.array([1, 0, TOTAL - 2, 0, 1]))
    assert gap.log_concave_error() == 1
    for masses, start in (((0.2, 0.5, 0.2), -1), ((0.1, 0.2, 0.4, 0.2), -2), ((0.2, 0.4, 0.2, 0.1), -1)):
        assert integer_weights(np.array(masses), start).log_concave_error() == 1
