"""Coins: what they cost, against every pair of neighbors; how often they are right, against every score."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pbdp.choosing.permute_and_flip import Coins, best_stride, coins_for, right_often, stairs_of
from pbdp.mechanism.weights import TOTAL
from tests.choosing.brute_force import chosen
from tests.choosing.coins import coins_right


def fractions_of(coins: Coins) -> list[Fraction]:
    return [Fraction(int(weight), TOTAL) for weight in coins.weights]


def largest_loss(coins: Coins, sensitivity: int, rising: bool, options: int, furthest: int) -> float:
    """Over all scores up to `furthest` and all their neighbors, both directions."""
    known = fractions_of(coins)
    moves = range(sensitivity + 1) if rising else range(-sensitivity, sensitivity + 1)
    laws = {}

    def law(scores: tuple[int, ...]) -> list[Fraction]:
        low = min(scores)
        moved = tuple(score - low for score in scores)
        if moved not in laws:
            laws[moved] = chosen(moved, known)
        return laws[moved]

    worst = Fraction(1)
    for scores in product(range(furthest + 1), repeat=options):
        if min(scores):
            continue
        one = law(scores)
        for move in product(moves, repeat=options):
            other = law(tuple(score + step for score, step in zip(scores, move, strict=True)))
            for p, q in zip(one, other, strict=True):
                worst = max(worst, p / q, q / p)
    return math.log(worst)


@pytest.mark.parametrize(
    ("options", "sensitivity", "rising", "gap", "confidence"),
    [
        (2, 1, False, 3, 0.9),
        (3, 1, False, 2, 0.8),
        (3, 1, False, 3, 0.6),
        (3, 1, True, 2, 0.9),
        (2, 2, False, 3, 0.9),
        (3, 2, True, 3, 0.7),
        (2, 3, False, 2, 0.8),
        (4, 1, True, 2, 0.8),
    ],
)
def test_epsilon_covers_every_pair_of_neighbors_and_some_pair_comes_near(
    options: int, sensitivity: int, rising: bool, gap: int, confidence: float
) -> None:
    moved = sensitivity if rising else 2 * sensitivity
    coins = coins_right(options, confidence, gap, moved)
    loss = largest_loss(coins, sensitivity, rising, options, furthest=gap + 1)
    assert loss <= coins.epsilon(moved)
    # far options reach it: the bound is not a loose one
    assert loss >= 0.6 * coins.epsilon(moved)


def test_coins_that_fall_too_fast_are_found_out() -> None:
    """The check above can fail: one more step of sensitivity than the coins were certified for."""
    coins = coins_right(3, 0.8, 3, 2)
    assert largest_loss(coins, 2, False, 3, furthest=4) > coins.epsilon(2)


@pytest.mark.parametrize(("options", "gap", "confidence"), [(2, 2, 0.9), (3, 2, 0.8), (4, 3, 0.7)])
def test_no_scores_are_worse_than_one_best_and_all_others_losing(
    options: int, gap: int, confidence: float
) -> None:
    coins = coins_right(options, confidence, gap, 2)
    known = fractions_of(coins)
    worst = Fraction(1)
    for scores in product(range(gap + 3), repeat=options):
        best = max(scores)
        law = chosen(scores, known)
        good = (p for p, score in zip(law, scores, strict=True) if best - score < gap)
        worst = min(worst, sum(good, Fraction(0)))
    certified = coins.right(options, gap)
    assert confidence <= certified <= worst
    assert float(worst) == pytest.approx(certified, rel=1e-9)


def test_several_picks_are_right_as_often_as_said() -> None:
    """Every path of two picks from every scores: each within the gap of the best that is left."""
    coins = coins_right(3, 0.8, 2, 2, picks=2)
    known = fractions_of(coins)
    worst = Fraction(1)
    for scores in product(range(5), repeat=3):
        found = Fraction(0)
        for first, p in enumerate(chosen(scores, known)):
            if max(scores) - scores[first] >= 2:
                continue
            rest = [score for place, score in enumerate(scores) if place != first]
            law = chosen(rest, known)
            found += p * sum(q for q, score in zip(law, rest, strict=True) if max(rest) - score < 2)
        worst = min(worst, found)
    assert 0.8 <= coins.right(3, 2, picks=2) <= worst


def test_weights_are_whole_fall_and_start_at_one() -> None:
    weights = coins_for(1e-4, 51, 2).weights
    assert weights[0] == TOTAL
    assert np.all(np.diff(weights) <= 0)
    assert weights[-1] > 0


def test_figures_of_a_thousand_options() -> None:
    assert coins_right(1000, 0.95, 50, 2).epsilon(2) == pytest.approx(0.3670, abs=1e-4)
    assert coins_right(1000, 0.95, 51, 2).epsilon(2) <= 0.367
    assert coins_right(1000, 0.95, 51, 1).epsilon(1) <= 0.184


def test_stairs_are_the_largest_sum() -> None:
    for moved in range(1, 25):
        for stride in range(1, 30):
            sums = [math.ceil(h / stride) + math.ceil((moved - h) / stride) for h in range(moved + 1)]
            assert stairs_of(moved, stride) == max(sums)


def test_longer_steps_are_taken_where_they_cost_less() -> None:
    for moved, gap in [(20, 3), (20, 11), (7, 2), (2, 50), (20, 25)]:
        costs = {s: stairs_of(moved, s) / math.ceil(gap / s) for s in range(1, moved + gap + 1)}
        assert costs[best_stride(moved, gap)] == min(costs.values())


def test_more_options_make_it_harder_and_blind_choice_is_free() -> None:
    rights = [right_often(options, 1e-3) for options in range(1, 2000, 50)]
    assert rights == sorted(rights, reverse=True)
    assert coins_for(1.0, 5, 2).epsilon(2) == 0.0


def test_bounds_that_need_no_table_hold_of_it_and_are_near() -> None:
    for coin, gap, moved, picks in ((1e-4, 51, 2, 1), (0.02, 3, 7, 4), (1e-9, 5, 2, 1), (1e-17, 9, 4, 1)):
        coins = coins_for(coin, gap, moved, picks)
        weights = coins.weights.astype(np.float64)
        steepest = float(np.max(weights[gap:] / weights[: len(weights) - gap]))
        assert steepest <= coins.steepest(gap) <= steepest * (1 + 1e-2) + 1e-12
        assert weights[gap] / TOTAL <= coins.coin(gap) <= weights[gap] / TOTAL * (1 + 1e-1)
        shifted = np.concatenate([weights, np.full(moved, weights[-1])])
        falls = [float(np.max(np.log(weights / shifted[h : h + len(weights)]))) for h in range(moved + 1)]
        loss = max(falls[h] + falls[moved - h] for h in range(moved + 1))
        assert loss <= coins.epsilon(moved) <= loss * (1 + 1e-2)
