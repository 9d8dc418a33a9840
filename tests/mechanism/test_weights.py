"""Integer weights: what rounding to 2^-62 keeps and what it cannot lose."""

from __future__ import annotations

import numpy as np
import pytest

from pbdp.mechanism.weights import TOTAL, integer_weights
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


def test_weights_in_multiples_are_split_evenly() -> None:
    masses = np.exp(-0.7 * np.abs(np.arange(-30, 31)))
    table = integer_weights(masses / masses.sum(), -30)

    whole = table.in_multiples(8)
    parts = whole.split(8)

    assert all(weight % 8 == 0 for weight in whole.weights.tolist())
    assert whole.is_unimodal
    assert int(whole.weights.sum()) == int(parts.weights.sum()) == TOTAL
    for value, weight in zip(table.values().tolist(), table.weights.tolist(), strict=True):
        inside = whole.start <= value < whole.stop
        rounded = int(whole.weights[value - whole.start]) if inside else 0
        assert rounded >= weight if value == 0 else 0 <= weight - rounded < 8
        assert parts.weight_within(-8 * value, 8 * value + 7) == rounded
