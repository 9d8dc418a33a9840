"""Other laws: what is claimed of them holds for every pair of neighbors and for any scores, in fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pbdp.choosing import rivals
from pbdp.choosing.coins import coins_for, largest_coin
from pbdp.choosing.rivals import Question
from pbdp.mechanism.weights import TOTAL, WeightTable
from tests.comparing.test_count_laws import table

Law = Callable[[Sequence[int]], list[Fraction]]


def by_weights(weights: Sequence[Fraction]) -> Law:
    """The exponential mechanism for a table of weights by gap."""

    def law(scores: Sequence[int]) -> list[Fraction]:
        own = [weights[min(max(scores) - score, len(weights) - 1)] for score in scores]
        return [weight / sum(own, Fraction(0)) for weight in own]

    return law


def largest_score(noise: WeightTable) -> Law:
    """All outcomes of the noise on every score; of equal ones the first wins."""
    masses = [Fraction(int(weight), TOTAL) for weight in noise.weights]
    known: dict[tuple[int, ...], list[Fraction]] = {}

    def law(scores: Sequence[int]) -> list[Fraction]:
        key = tuple(score - min(scores) for score in scores)
        if key not in known:
            found = [Fraction(0)] * len(scores)
            for drawn in product(range(len(masses)), repeat=len(scores)):
                noisy = [score + place for score, place in zip(key, drawn, strict=True)]
                found[noisy.index(max(noisy))] += math.prod(
                    (masses[place] for place in drawn), start=Fraction(1)
                )
            known[key] = found
        return known[key]

    return law


def neighbors(options: int, furthest: int, moved: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All scores up to `furthest` with all that one person makes of them."""
    moves = (0, 1) if moved == 1 else range(-moved // 2, moved // 2 + 1)
    for scores in product(range(furthest + 1), repeat=options):
        for move in product(moves, repeat=options):
            yield scores, tuple(score + step for score, step in zip(scores, move, strict=True))


def loss(law: Law, options: int, furthest: int, moved: int) -> float:
    """The largest over all neighbors and outcomes, both ways."""
    worst = Fraction(1)
    for one, two in neighbors(options, furthest, moved):
        for p, q in zip(law(one), law(two), strict=True):
            worst = max(worst, p / q, q / p)
    return math.log(worst)


def missing(law: Law, epsilon: float, options: int, furthest: int, moved: int) -> float:
    """The hockey-stick over all neighbors: the largest sum of P - e^epsilon·P', where that is positive."""
    growth, worst = Fraction(math.exp(epsilon)), Fraction(0)
    for one, two in neighbors(options, furthest, moved):
        for first, second in ((one, two), (two, one)):
            pairs = zip(law(first), law(second), strict=True)
            worst = max(worst, sum((max(p - growth * q, Fraction(0)) for p, q in pairs), Fraction(0)))
    return float(worst)


def right(law: Law, options: int, furthest: int, gap: int) -> float:
    """How often a good option is chosen, for the worst scores."""
    worst = Fraction(1)
    for scores in product(range(furthest + 1), repeat=options):
        good = (p for p, score in zip(law(scores), scores, strict=True) if max(scores) - score < gap)
        worst = min(worst, sum(good, Fraction(0)))
    return float(worst)


@pytest.mark.parametrize(("options", "gap", "moved"), [(2, 3, 2), (3, 2, 2), (3, 3, 1), (3, 2, 4)])
def test_the_exponential_mechanism_by_force(options: int, gap: int, moved: int) -> None:
    asked = Question(options=options, confidence=0.8, gap=gap, moved=moved)
    coins = coins_for(rivals._coin(asked), gap, moved, stride=1)
    law = by_weights([Fraction(int(weight), TOTAL) for weight in coins.weights[: gap + moved + 3]])
    epsilon = rivals.exponential(asked)
    assert 0.6 * epsilon <= loss(law, options, gap + 1, moved) <= epsilon
    assert 0.8 <= right(law, options, gap + 1, gap) <= 0.8 + 1e-6


@pytest.mark.parametrize(("options", "gap", "moved"), [(3, 1, 2), (3, 2, 4), (3, 2, 1)])
def test_the_boosted_exponential_mechanism_by_force(options: int, gap: int, moved: int) -> None:
    asked = Question(options=options, confidence=0.8, gap=gap, moved=moved)
    weight = Fraction(math.floor(rivals._coin(asked) * TOTAL), TOTAL)
    law = by_weights([Fraction(1)] * gap + [weight])
    epsilon = rivals.boosted_exponential(asked)
    assert loss(law, options, gap + 1, moved) <= epsilon
    assert 0.8 <= right(law, options, gap + 1, gap) <= 0.8 + 1e-6


@pytest.mark.parametrize(("options", "gap", "moved"), [(2, 2, 2), (3, 2, 1), (3, 2, 2)])
def test_noisy_scores_by_force(options: int, gap: int, moved: int) -> None:
    """A short table, so that it ends where one can see it."""
    noise = table([1, 3, 7, 10, 7, 3, 1], -3)
    law = largest_score(noise)
    asked = Question(options=options, confidence=0.8, gap=gap, moved=moved)
    for delta in (0.4, 0.6):
        epsilon = rivals.loss_of(noise, asked, delta)
        assert epsilon is not None
        assert missing(law, epsilon, options, gap + 1, moved) <= delta + 1e-9
        assert missing(law, epsilon / 3, options, gap + 1, moved) > 0
    worst = right(law, options, gap + 1, gap)
    assert rivals.right_with(noise, asked) <= worst + 1e-12


def test_what_is_never_private_has_no_epsilon() -> None:
    assert (
        rivals.loss_of(table([1, 1], -1), Question(options=2, confidence=0.8, gap=1, moved=5), 1e-9) is None
    )


def test_figures_of_a_thousand_options() -> None:
    asked = Question(options=1000, confidence=0.95, gap=50, moved=2)
    assert rivals.exponential(asked) == pytest.approx(0.394, abs=5e-4)
    laplace = rivals.noisy_maximum("laplace", asked)
    assert laplace == pytest.approx(0.407, abs=1e-3)
    gaussian = rivals.noisy_maximum("gaussian", asked)
    assert gaussian is not None
    assert gaussian > 2 * rivals.exponential(asked)
    assert rivals.boosted_exponential(asked) > rivals.exponential(asked)
    narrow = Question(options=1000, confidence=0.95, gap=3, moved=20)
    assert rivals.boosted_exponential(narrow) < rivals.exponential(narrow)


def test_permute_and_flip_needs_less_than_any_of_them() -> None:
    for options, gap, moved in [(2, 5, 2), (50, 51, 2), (10**6, 20, 1), (1000, 3, 20)]:
        asked = Question(options=options, confidence=0.9, gap=gap, moved=moved)
        ours = coins_for(largest_coin(options, 0.9), gap, moved).epsilon(moved)
        others = [rivals.exponential(asked), rivals.boosted_exponential(asked)]
        others += [
            found for family in ("laplace", "gaussian") if (found := rivals.noisy_maximum(family, asked))
        ]
        assert ours < min(others)


def test_laplace_noise_is_right_as_often_as_said() -> None:
    asked = Question(options=20, confidence=0.9, gap=10, moved=2)
    epsilon = rivals.noisy_maximum("laplace", asked)
    assert epsilon is not None
    rng = np.random.default_rng(7)
    ratio = math.exp(-epsilon / 2)
    # the difference of two geometric numbers is Laplace noise on whole numbers
    noise = rng.geometric(1 - ratio, (200_000, 20)) - rng.geometric(1 - ratio, (200_000, 20))
    noise[:, 0] += 10
    wins = (noise[:, :1] > noise[:, 1:]).all(axis=1)
    assert np.mean(wins) == pytest.approx(0.9, abs=0.004)
