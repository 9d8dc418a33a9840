"""Gaussian noise on every score, sorted: every order's probability by enumeration of all noise."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.stats import chisquare

from pbdp.choosing.independent import IndependentNoise, independent_for, independent_from, ordered
from pbdp.choosing.law import Asked
from pbdp.choosing.ranking import pairs_of
from pbdp.choosing.scores import Scale
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array, Index
from pbdp.release.keystream import InsecureTestKeystream
from tests.choosing import brute_force

DELTA = 1e-4


def all_noise(table: WeightTable, options: int) -> tuple[Index, Array]:
    """Every vector of noise that is likely at all, and its probability."""
    likely = table.probabilities() > 1e-9
    noise = brute_force.vectors(table.values()[likely].tolist(), options)
    masses = dict(zip(table.values().tolist(), table.probabilities().tolist(), strict=True))
    return noise, np.prod(np.vectorize(masses.__getitem__)(noise), axis=1)


@pytest.mark.parametrize(
    ("rising", "changes", "moved", "sigma"), [(False, (-1, 0, 1), 2, 1.5), (True, (0, 1), 1, 3.0)]
)
def test_no_neighbors_lose_more(rising: bool, changes: tuple[int, ...], moved: int, sigma: float) -> None:
    asked = Asked(options=3, sensitivity=1, integer=True, rising=rising, top=3, delta=DELTA)
    way, scale = IndependentNoise(sigma=sigma), Scale(step=1.0, moved=moved, gap=9)
    claimed = way.epsilon(asked, scale)
    parts = 2 if rising else 1
    noise, chances = all_noise(way.design.table_at(0.0), 3)
    largest, half = 0.0, 0.0
    for scores in ((0, 0, 0), (0, 2, 1), (3, 6, 0)):
        one = brute_force.order_law([parts * score for score in scores], noise, chances)
        for other in brute_force.neighbors(scores, changes):
            two = brute_force.order_law([parts * score for score in other], noise, chances)
            largest = max(largest, brute_force.hockey_stick(one, two, claimed))
            half = max(half, brute_force.hockey_stick(one, two, claimed / 2))
    # what is not enumerated is less than that
    assert largest <= DELTA + 1e-7
    assert half > DELTA


@pytest.mark.parametrize("top", [1, 2, 3])
def test_no_scores_are_wrong_more_often(top: int) -> None:
    table = IndependentNoise(sigma=1.0).design.table_at(0.0)
    noise, chances = all_noise(table, 3)
    for gap in (3, 5):
        least = 1.0
        for rest in combinations_with_replacement(range(3 * gap), 2):
            for scores in ((0, *rest), (*rest[::-1], 0)):
                law = brute_force.order_law(scores, noise, chances)
                right = sum(p for order, p in law.items() if brute_force.is_right(scores, order, top, gap))
                least = min(least, right)
        bound = ordered(table, 3, top, gap)
        assert bound <= least + 1e-7
        assert 1 - bound < 2.5 * (1 - least)


def test_bounds_are_those_of_pairs_and_of_the_range() -> None:
    """With much noise the range says more than a sum over pairs."""
    table = IndependentNoise(sigma=2.0).design.table_at(0.0)
    noise, chances = all_noise(table, 3)
    inside = float(np.sum(chances[np.ptp(noise, axis=1) < 1]))
    assert ordered(table, 3, 3, 1) == pytest.approx(inside, abs=1e-7)
    pair, both = all_noise(table, 2)
    near, far = (float(np.sum(both[pair[:, 1] - pair[:, 0] >= gap])) for gap in (9, 18))
    pairs = pairs_of(3, 3)
    assert ordered(table, 3, 3, 9) == pytest.approx(1 - pairs.near * near - pairs.far * far, abs=1e-7)


def test_the_widest_noise_that_is_right_often_enough() -> None:
    asked = Asked(options=20, sensitivity=1, integer=True, top=20, delta=1e-6)
    way = independent_for(asked, 50, 0.9)
    assert way is not None
    scale = way.scale(50, asked)
    assert 0.9 <= way.right(asked, scale) < 0.9001
    assert way.epsilon(asked, scale) == pytest.approx(1.703, abs=1e-3)
    assert independent_from(way.record()) == way
    rising = Asked(options=20, sensitivity=1, integer=True, top=20, delta=1e-6, rising=True)
    half = independent_for(rising, 50, 0.9)
    assert half is not None
    # order alone is published: half the move, with noise in half steps
    assert half.sigma == pytest.approx(2 * way.sigma, rel=0.01)
    assert half.epsilon(rising, half.scale(50, rising)) < 0.81
    # tables end: with so little delta there is no way to pay for it
    assert independent_for(Asked(options=9, sensitivity=1, integer=True, top=9, delta=1e-30), 50, 0.9) is None


def test_what_is_drawn_is_what_was_enumerated() -> None:
    asked = Asked(options=3, sensitivity=1, integer=True, top=3, rising=True)
    way, scale = IndependentNoise(sigma=3.0), Scale(step=1.0, moved=1, gap=9)
    scores, rounds, stream = np.array([0, 1, 0]), 10_000, InsecureTestKeystream(6)
    drawn = [tuple(way.places(scores, asked, scale, stream).tolist()) for _ in range(rounds)]

    def fits(sigma: float) -> float:
        noise, chances = all_noise(IndependentNoise(sigma=sigma).design.table_at(0.0), 3)
        law = brute_force.order_law((2 * scores).tolist(), noise, chances)
        expected = np.array(list(law.values()))
        counts = [drawn.count(order) for order in law]
        return float(chisquare(counts, expected / expected.sum() * rounds).pvalue)

    assert fits(3.0) > 1e-4
    assert fits(2.0) < 1e-6
