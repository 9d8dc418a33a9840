"""Uniform noise of a random width: every order's probability, between all neighbors, by enumeration."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from pbdp.choosing.draw import evenly_below
from pbdp.choosing.request import Asked
from pbdp.choosing.scores import Scale
from pbdp.choosing.search import plan_by
from pbdp.choosing.uniform import UniformNoise, _last, pairs_of, wrong
from pbdp.errors import CannotCertifyError, PlanFileError
from pbdp.mechanism.weights import TOTAL
from pbdp.release.keystream import InsecureTestKeystream
from tests.choosing import brute_force

THREE = UniformNoise(options=3, fall=2.5, last=_last(3, 2.5) or 0)
# Far beyond the table, where next to nothing is left
MORE = 12


@cache
def law(way: UniformNoise, scores: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The probability of every order, summed over all widths and all noise."""
    heads = way.coin / TOTAL
    widths = [weight / TOTAL for weight in way.weights[:-1].tolist()]
    widths += [int(way.weights[-1]) / TOTAL * (1 - heads) * heads**more for more in range(MORE)]
    found = dict.fromkeys(permutations(range(len(scores))), 0.0)
    for width, likely in enumerate(widths):
        if likely:
            noise = brute_force.vectors(range(width + 1), len(scores))
            even = np.full(len(noise), likely / len(noise))
            for order, chance in brute_force.order_law(scores, noise, even).items():
                found[order] += chance
    return found


@pytest.mark.parametrize(("changes", "moved"), [((-1, 0, 1), 2), ((0, 1), 1)])
def test_no_neighbor_makes_an_order_likelier_than_that(changes: tuple[int, ...], moved: int) -> None:
    claimed, largest = THREE.loss(moved), 0.0
    for scores in ((0, 0, 0), (0, 2, 1), (6, 3, 0)):
        one = law(THREE, scores)
        for other in brute_force.neighbors(scores, changes):
            two = law(THREE, other)
            for order, chance in one.items():
                # orders that take more than the widths that are summed up have next to no chance
                if min(chance, two[order]) > 1e-14:
                    largest = max(largest, abs(math.log(chance / two[order])))
    assert 0.97 * claimed < largest <= claimed


def test_the_loss_is_that_of_the_ideal_law() -> None:
    for options, fall in ((2, 0.03), (20, 0.48), (150, 3.0)):
        way = UniformNoise(options=options, fall=fall, last=_last(options, fall) or 0)
        for moved in (1, 2, 30):
            assert moved * fall <= way.loss(moved) < moved * fall * (1 + 1e-5)


def test_tables_that_end_too_early_are_refused_or_cost_more() -> None:
    with pytest.raises(CannotCertifyError):
        _ = UniformNoise(options=20, fall=0.5, last=30).coin
    short = UniformNoise(options=20, fall=0.5, last=50)
    assert short.loss(2) >= 1.0


@pytest.mark.parametrize(("options", "top", "gap"), [(2, 2, 3), (3, 1, 3), (3, 3, 2), (4, 2, 2), (4, 4, 2)])
def test_no_scores_are_wrong_more_often(options: int, top: int, gap: int) -> None:
    for width in range(gap, 2 * gap + 2):
        noise = brute_force.vectors(range(width + 1), options)
        even = np.full(len(noise), 1 / len(noise))
        most = 0.0
        for rest in combinations_with_replacement(range(3 * gap), options - 1):
            # the order in which they stand decides ties, so both ways round
            for scores in ((0, *rest), (0, *rest)[::-1]):
                orders = brute_force.order_law(scores, noise, even).items()
                most = max(
                    most, sum(p for order, p in orders if not brute_force.is_right(scores, order, top, gap))
                )
        (bound,) = wrong(np.array([float(width)]), options, top, gap).tolist()
        assert 0.3 * bound < most <= bound + 1e-12


def test_the_widest_noise_that_is_right_often_enough() -> None:
    asked = Asked(options=20, sensitivity=1, integer=True, top=20)
    plan = plan_by(UniformNoise, asked, 50, 0.9)
    assert plan is not None
    way = plan.way
    scale = way.scale(50, asked)
    assert 0.9 <= way.right(asked, scale) < 0.9001
    assert way.epsilon(asked, scale) < 0.965
    # a thousand options within two steps: no
    assert plan_by(UniformNoise, Asked(options=1000, sensitivity=1, integer=True, top=9), 1, 0.9) is None
    # far apart for sure, with hardly any noise
    few = Asked(options=2, sensitivity=1, integer=True, top=2)
    narrow = UniformNoise(options=2, fall=30.0, last=_last(2, 30.0) or 0)
    assert narrow.right(few, Scale(step=1.0, moved=2, gap=100)) > 1 - 1e-9


def test_it_is_right_as_often_as_promised() -> None:
    """The promise is a bound: it holds for the worst scores known, and is not far off there."""
    asked = Asked(options=20, sensitivity=1, integer=True, top=20)
    plan = plan_by(UniformNoise, asked, 50, 0.9)
    assert plan is not None
    way = plan.way
    scale = way.scale(50, asked)
    stream = InsecureTestKeystream(5)
    three = np.repeat([102, 51, 0], [5, 10, 5])
    rounds = 4000
    right = sum(
        brute_force.is_right(three.tolist(), way.places(three, asked, scale, stream).tolist(), 20, 51)
        for _ in range(rounds)
    )
    assert 0.9 - 4 * math.sqrt(0.09 / rounds) < right / rounds < 0.96


def test_what_is_drawn_is_what_was_enumerated() -> None:
    asked = Asked(options=3, sensitivity=1, integer=True, top=3)
    scale = Scale(step=1.0, moved=2, gap=1)
    scores, rounds, stream = (0, 1, 0), 20_000, InsecureTestKeystream(11)
    steps = np.array(scores)
    drawn = [tuple(THREE.places(steps, asked, scale, stream).tolist()) for _ in range(rounds)]
    counts = [drawn.count(order) for order in permutations(range(3))]

    def fits(way: UniformNoise) -> float:
        expected = np.array([law(way, scores)[order] for order in permutations(range(3))])
        return float(chisquare(counts, expected / expected.sum() * rounds).pvalue)

    assert fits(THREE) > 1e-4
    assert fits(UniformNoise(options=3, fall=1.9, last=_last(3, 1.9) or 0)) < 1e-6


class _Words(InsecureTestKeystream):
    """Words that were written down."""

    def word(self) -> int:
        return next(WORDS)


WORDS = iter([2**64 - 1, 0, 0, 0, 2**64 - 1])


def test_widths_go_on_beyond_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last weight, then heads three times: three steps beyond it."""
    monkeypatch.setattr("pbdp.choosing.uniform.alias_table", lambda table: _Last(len(table.weights) - 1))
    assert THREE.width(_Words(1)) == THREE.last + 4


class _Last:
    def __init__(self, value: int) -> None:
        self.value = value

    def value_of(self, word: int) -> int:
        assert word == 2**64 - 1
        return self.value


def test_even_numbers_are_even() -> None:
    found = evenly_below(np.full(30_000, 3, dtype=np.uint64), InsecureTestKeystream(2).stream())
    assert float(chisquare(np.bincount(found, minlength=3)).pvalue) > 1e-4
    assert evenly_below(np.ones(5, dtype=np.uint64), InsecureTestKeystream(2).stream()).tolist() == [0] * 5


def test_records_are_not_believed() -> None:
    asked = Asked(options=3, sensitivity=1, integer=True, top=3)
    again = UniformNoise.read(THREE.record(), asked)
    assert np.array_equal(again.weights, THREE.weights)
    with pytest.raises(PlanFileError):
        UniformNoise.read(THREE.record() | {"last": 10**9}, asked)


@pytest.mark.parametrize("options", [2, 3, 4, 5, 6])
def test_no_arrangement_has_more_near_pairs(options: int) -> None:
    gap, most = 2, dict.fromkeys(range(1, options + 1), 0)
    for rising in combinations_with_replacement(range(3 * gap + 3), options):
        scores = rising[::-1]
        apart = [(i, scores[i] - scores[j]) for i in range(options) for j in range(i + 1, options)]
        for top in range(1, options + 1):
            near = sum(i < top and gap <= distance < 2 * gap for i, distance in apart)
            far = sum(i < top and distance >= 2 * gap for i, distance in apart)
            pairs = pairs_of(options, top)
            assert near <= pairs.near
            assert near + far <= pairs.near + pairs.far
            most[top] = max(most[top], near)
    # and some arrangement has as many
    assert most == {top: pairs_of(options, top).near for top in most}


def test_of_equal_scores_the_first_comes_first() -> None:
    none = UniformNoise(options=5, fall=200.0, last=1)
    asked, scale = Asked(options=5, sensitivity=1, integer=True, top=4), Scale(step=1.0, moved=2, gap=2)
    scores = np.array([3, 9, 9, 1, 3])
    assert none.places(scores, asked, scale, InsecureTestKeystream(1)).tolist() == [1, 2, 0, 4]
