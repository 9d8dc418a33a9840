"""Several picks: how often all are right, against every path of picks from every scores."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pbdp.choosing.peeling import all_right, passings
from pbdp.choosing.permute_and_flip import Coins, coins_for
from pbdp.mechanism.weights import TOTAL
from tests.choosing.brute_force import chosen


def by_weight(scores: list[int], known: list[Fraction]) -> list[Fraction]:
    best = max(scores)
    each = [known[min(best - score, len(known) - 1)] for score in scores]
    return [weight / sum(each) for weight in each]


def least_right(coins: Coins, options: int, gap: int, picks: int, flips: bool) -> float:
    """The least probability, over all scores, that no pick is `gap` or more below what is left."""
    known = [Fraction(int(weight), TOTAL) for weight in coins.weights]
    laws: dict[tuple[int, ...], Fraction] = {}

    def right(scores: tuple[int, ...], left: int) -> Fraction:
        if not left:
            return Fraction(1)
        best = max(scores)
        alike = tuple(sorted(best - score for score in scores))
        place = (*alike, left)
        if place not in laws:
            below = [-one for one in alike]
            law = chosen(below, known) if flips else by_weight(below, known)
            laws[place] = sum(
                (
                    p * right((*below[:which], *below[which + 1 :]), left - 1)
                    for which, p in enumerate(law)
                    if alike[which] < gap
                ),
                Fraction(0),
            )
        return laws[place]

    every = product(range(2 * gap + 2), repeat=options - 1)
    return float(min(right((0, *scores), picks) for scores in every if list(scores) == sorted(scores)))


@pytest.mark.parametrize("flips", [True, False])
@pytest.mark.parametrize(
    ("options", "gap", "picks", "coin"), [(3, 2, 2, 0.02), (4, 2, 2, 0.01), (4, 1, 3, 0.01), (5, 2, 2, 0.05)]
)
def test_no_scores_are_wrong_more_often(options: int, gap: int, picks: int, coin: float, flips: bool) -> None:
    coins = coins_for(coin, gap, 1, picks=picks)
    worst = least_right(coins, options, gap, picks, flips)
    bound = all_right(coins, options, gap, picks, flips)
    assert bound <= worst
    # and it is no loose one, although few options have few that cannot pass
    assert 1 - bound < 2 * (1 - worst)


def test_the_bound_can_fail() -> None:
    """Coins for a wider gap are not right so often."""
    coins = coins_for(0.01, 2, 1, picks=2)
    assert least_right(coins, 4, 1, 2, flips=True) < all_right(coins, 4, 2, 2, flips=True)


def test_passings_are_those_of_the_worst_scores_by_weight() -> None:
    """All of the best alike, all others just losing: each loser passes with 1 + 1/2 + ... + 1/h."""
    assert passings(1000, 1, flips=False) == pytest.approx(999)
    harmonic = np.cumsum(1 / np.arange(1, 11))
    assert passings(1000, 10, flips=False) == pytest.approx(990 * harmonic[-1] + np.sum(harmonic[:-1]))
    # one pick by permute and flip passes the best with half of that
    assert passings(1000, 1, flips=True) == pytest.approx(999 / 2)
    assert passings(1000, 10, flips=True) == pytest.approx(2328.683, rel=1e-6)
    # very many picks are bounded without the square of their number
    assert passings(10**6, 10**5, flips=True) == passings(10**6, 10**5, flips=False)


def test_flipping_passes_less_often_than_any_adversary_could() -> None:
    """W(a, r) against a search over all p, on a fine grid."""
    grid = np.linspace(0, 1, 1201)
    most = np.zeros(5)
    for _ in range(4):
        before, most = most, most.copy()
        for a in range(1, 5):
            gains = np.minimum(grid / a, 1 / (a + 1)) + grid * before[a - 1] + (1 - grid) * before[a]
            most[a] = np.max(gains)
    expected = 6 * max(most) + sum(np.maximum.accumulate(most)[:4])
    assert passings(10, 4, flips=True) == pytest.approx(expected, abs=1e-9)
