"""The exponential mechanism, pick by pick: delta of all picks against enumeration and against adversaries."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from random import Random

import numpy as np
import pytest
from scipy.stats import chisquare

from pbdp.choosing.exponential_mechanism import ExponentialMechanism, composed, right_often
from pbdp.choosing.permute_and_flip import Coins, coins_for
from pbdp.choosing.request import Asked
from pbdp.choosing.scores import Scale
from pbdp.choosing.search import plan_by
from pbdp.mechanism.weights import TOTAL
from pbdp.planning.pricing.priced import Measured
from pbdp.release.keystream import InsecureTestKeystream
from tests.choosing import brute_force

COINS = coins_for(0.2, 2, 2)


def law(coins: Coins, scores: tuple[int, ...], picks: int) -> dict[tuple[int, ...], float]:
    """The probability of every list of picks, in fractions."""
    weights = coins.weights.tolist()
    found = {}
    for picked in permutations(range(len(scores)), picks):
        left, chance = list(range(len(scores))), Fraction(1)
        for one in picked:
            best = max(scores[i] for i in left)
            each = {i: weights[min(best - scores[i], coins.last)] for i in left}
            chance *= Fraction(each[one], sum(each.values()))
            left.remove(one)
        found[picked] = float(chance)
    return found


@pytest.mark.parametrize(("changes", "moved"), [((-1, 0, 1), 2), ((0, 1), 1)])
def test_no_neighbors_lose_more(changes: tuple[int, ...], moved: int) -> None:
    epsilon = COINS.epsilon(moved)
    curve = composed(epsilon, 2)
    largest = np.zeros(len(curve.deltas))
    points = range(0, len(curve.deltas), 40)
    for scores in ((0, 0, 0, 0), (0, 2, 1, 1), (0, 4, 4, 9)):
        one = law(COINS, scores, 2)
        for other in brute_force.neighbors(scores, changes):
            two = law(COINS, other, 2)
            for point in points:
                x = point * curve.step
                found = max(brute_force.hockey_stick(one, two, x), brute_force.hockey_stick(two, one, x))
                largest[point] = max(largest[point], found)
    assert all(largest[point] <= curve.deltas[point] for point in points)
    assert largest[0] > 0.5 * curve.deltas[0]


def test_adversaries_who_look_at_every_pick_lose_no_less() -> None:
    """Picks with losses at the ends of an interval, which is chosen anew after each."""
    spread, picks, random = 0.7, 4, Random(3)
    curve = composed(spread, picks)

    def outcomes(left: int) -> list[tuple[float, float]]:
        """(probability, loss) of all that can be seen, with intervals by chance."""
        if not left:
            return [(1.0, 0.0)]
        top = random.choice([0.2, 0.5, 0.8]) * spread
        upper = (math.exp(spread) - math.exp(top)) / (math.exp(spread) - 1)
        ends = ((upper, top), (1 - upper, top - spread))
        return [(p * q, loss + more) for p, loss in ends for q, more in outcomes(left - 1)]

    nearest = 0.0
    for _ in range(300):
        seen = outcomes(picks)
        assert sum(p * math.exp(-loss) for p, loss in seen) == pytest.approx(1)
        for point in range(0, len(curve.deltas), 100):
            x = point * curve.step
            delta = sum(p * -math.expm1(min(x - loss, 0.0)) for p, loss in seen)
            assert delta <= curve.deltas[point]
            nearest = max(nearest, delta / curve.deltas[point]) if delta > 1e-4 else nearest
    assert nearest > 0.9


def test_one_pick_costs_what_is_known() -> None:
    """The largest over t of p(t)·(1 - e^(x - t)), with p(t) = (e^e - e^t)/(e^e - 1)."""
    spread = 0.5
    curve = composed(spread, 1)
    for x in (0.0, 0.1, 0.3, 0.45):
        tops = np.linspace(x, spread, 20_001)
        exact = np.max((math.exp(spread) - np.exp(tops)) / math.expm1(spread) * -np.expm1(x - tops))
        found = curve.deltas[math.floor(x / curve.step)]
        assert exact <= found <= exact + 0.003
    assert spread <= curve.epsilon_at(0.0) <= spread * 1.003
    assert composed(0.0, 5).epsilon_at(0.0) == 0.0
    assert composed(1e-3, 3).epsilon_at(0.5) == 0.0


def test_many_picks_cost_about_half_of_what_randomized_response_does() -> None:
    from pbdp.choosing.permute_and_flip import together

    for picks in (100, 1000):
        found = composed(0.05, picks).epsilon_at(1e-6)
        assert 0.45 < found / together(0.05, picks, 1e-6) < 0.6


def test_no_scores_are_wrong_more_often() -> None:
    gap, (weight,) = 2, COINS.weights[2:3].tolist()
    worst = min(
        sum(p for order, p in law(COINS, (0, a, b, c), 2).items() if _right((0, a, b, c), order, gap))
        for a in range(5)
        for b in range(5)
        for c in range(5)
    )
    assert worst >= right_often(4, weight / TOTAL, 2) - 1e-12
    asked = Asked(options=4, sensitivity=1, integer=True, top=2)
    assert ExponentialMechanism(coins=COINS).right(asked, Scale(step=1.0, moved=2, gap=2)) <= worst


def _right(scores: tuple[int, ...], picked: tuple[int, ...], gap: int) -> bool:
    rest = [place for place in range(len(scores)) if place not in picked]
    return brute_force.is_right(scores, [*picked, *rest], len(picked), gap)


def test_what_is_drawn_is_what_was_enumerated() -> None:
    asked, scale = Asked(options=4, sensitivity=1, integer=True, top=2), Scale(step=1.0, moved=2, gap=2)
    scores, rounds, stream = (0, 2, 1, 1), 10_000, InsecureTestKeystream(4)
    way = ExponentialMechanism(coins=COINS)
    drawn = [tuple(way.places(np.array(scores), asked, scale, stream).tolist()) for _ in range(rounds)]

    def fits(coins: Coins) -> float:
        expected = law(coins, scores, 2)
        counts = [drawn.count(picked) for picked in expected]
        return float(chisquare(counts, np.array(list(expected.values())) * rounds).pvalue)

    assert fits(COINS) > 1e-4
    assert fits(coins_for(0.3, 2, 2)) < 1e-6


def test_very_many_options_have_sums_of_more_than_64_bits() -> None:
    asked = Asked(options=5000, sensitivity=1, integer=True, top=3)
    alike = np.zeros(5000, dtype=np.int64)
    way = ExponentialMechanism(coins=COINS)
    drawn = [
        way.places(alike, asked, way.scale(2, asked), InsecureTestKeystream(seed)) for seed in range(300)
    ]
    assert all(len(set(places.tolist())) == 3 for places in drawn)
    assert float(chisquare(np.histogram(np.concatenate(drawn), bins=10, range=(0, 5000))[0]).pvalue) > 1e-4


def test_the_least_that_is_right_often_enough() -> None:
    asked = Asked(options=1000, sensitivity=1, integer=True, top=10, delta=1e-6)
    plan = plan_by(ExponentialMechanism, asked, 50, 0.95)
    assert plan is not None
    way = plan.way
    scale = way.scale(50, asked)
    assert 0.95 <= way.right(asked, scale) < 0.950001
    assert way.epsilon(asked, scale) < 3.42
    claim, times = way.paid(asked, scale)
    assert times == 1
    assert isinstance(claim, Measured)
    assert claim.deltas[-1] < 1e-12
    most = Asked(options=10**8, sensitivity=1, integer=True, top=9)
    assert plan_by(ExponentialMechanism, most, 5, 1 - 1e-12) is None
