"""Quantiles as choices: what they lose and promise, against every small set of rows and all its neighbors."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from pbdp.choosing.quantile import QuantileChoice, one_winner, quantile_choice, two_winners
from pbdp.mechanism.weights import TOTAL
from pbdp.release.keystream import InsecureTestKeystream
from tests.choosing.brute_force import chosen

Rows = tuple[int, ...]
MEDIAN = Fraction(1, 2)


def law(choice: QuantileChoice, rows: Rows) -> list[Fraction]:
    """The probability of each candidate, by the book: every order of the candidates, every coin."""
    below = [sum(row < value for row in rows) for value in range(choice.candidates)]
    up_to = [sum(row <= value for row in rows) for value in range(choice.candidates)]
    right = choice.level * len(rows)
    scores = [
        int(min(right - low, high - right) * choice.level.denominator)
        for low, high in zip(below, up_to, strict=True)
    ]
    return chosen(scores, [Fraction(int(weight), TOTAL) for weight in choice.coins.weights])


def is_within(choice: QuantileChoice, rows: Rows, value: int) -> bool:
    """Whether the rank of a value is as near as was promised: said without scores."""
    below, up_to = sum(row < value for row in rows), sum(row <= value for row in rows)
    right = choice.level * len(rows)
    return below - choice.within <= right <= up_to + choice.within


def every_rows(candidates: int, most: int) -> list[Rows]:
    """All multisets of up to so many rows: nothing, one value, ties, two far clusters are among them."""
    values = range(candidates)
    return [rows for count in range(most + 1) for rows in combinations_with_replacement(values, count)]


ASKED = [
    (2, MEDIAN, 0, 0.8, 1),
    (3, MEDIAN, 1, 0.7, 1),
    (4, MEDIAN, 1, 0.6, 1),
    (3, Fraction(1, 3), 1, 0.7, 1),
    (3, Fraction(9, 10), 1, 0.8, 1),
    (3, Fraction(1, 5), Fraction(1, 2), 0.7, 1),
    (3, MEDIAN, 1, 0.7, 2),
    (3, Fraction(2, 3), 3, 0.8, 2),
]


@pytest.mark.parametrize(("candidates", "level", "within", "confidence", "each"), ASKED)
def test_no_person_who_comes_or_goes_changes_a_choice_more_than_was_certified(
    candidates: int, level: Fraction, within: Fraction, confidence: float, each: int
) -> None:
    choice = quantile_choice(candidates, level, Fraction(within), confidence, each)
    laws = {rows: law(choice, rows) for rows in every_rows(candidates, 6)}
    worst = Fraction(1)
    for rows, one in laws.items():
        for added in every_rows(candidates, each)[1:]:
            other = laws.get(tuple(sorted(rows + added)))
            if other is not None:
                worst = max(worst, *(max(p / q, q / p) for p, q in zip(one, other, strict=True)))
    assert math.log(worst) <= choice.epsilon
    # it is not claimed far too high either: a claim for half the rows would be found out
    assert math.log(worst) > 0.5 * choice.epsilon


@pytest.mark.parametrize(("candidates", "level", "within", "confidence", "each"), ASKED)
def test_ranks_are_within_the_width_as_often_as_promised_whatever_the_rows_are(
    candidates: int, level: Fraction, within: Fraction, confidence: float, each: int
) -> None:
    choice = quantile_choice(candidates, level, Fraction(within), confidence, each)
    worst = 1.0
    for rows in every_rows(candidates, 8):
        found = law(choice, rows)
        right = sum(p for value, p in enumerate(found) if is_within(choice, rows, value))
        worst = min(worst, float(right))
    assert worst >= confidence
    assert worst >= choice.confidence


def test_the_promise_of_a_median_is_tight() -> None:
    """Two clusters that leave two candidates at 0 and all others out: nothing is given away."""
    choice = quantile_choice(4, MEDIAN, Fraction(3, 2), 0.9)
    found = law(choice, (1, 1, 2, 2))
    assert float(found[1] + found[2]) == pytest.approx(choice.confidence, abs=1e-6)


def test_small_groups_at_one_end_are_the_worst_of_an_extreme_quantile() -> None:
    """Without them a width for the 99 % quantile would be promised more often than it holds."""
    choice = quantile_choice(4, Fraction(9, 10), Fraction(26, 10), 0.9)
    found = law(choice, (3, 3, 3))
    assert float(found[3]) == pytest.approx(choice.confidence, abs=1e-6)


@pytest.mark.parametrize(
    ("candidates", "level", "within", "most"),
    [(1000, MEDIAN, 50, 0.17356), (300, Fraction(99, 100), 50, 0.30939), (1000, Fraction(9, 10), 50, 0.3149)],
)
def test_what_quantiles_cost(candidates: int, level: Fraction, within: int, most: float) -> None:
    choice = quantile_choice(candidates, level, Fraction(within), 0.95)
    assert 0.99 * most < choice.epsilon < most
    assert choice.confidence >= 0.95


@pytest.mark.parametrize("losers", [0, 1, 3, 998])
@pytest.mark.parametrize("coin", [1e-12, 1e-6, 4e-5, 6e-5, 1e-3, 0.3, 1.0])
@pytest.mark.parametrize("beside", [0.0, 0.4, 1.0])
def test_integrals_of_one_and_two_winners(losers: int, coin: float, beside: float) -> None:
    mpmath = pytest.importorskip("mpmath")
    power = mpmath.quad(lambda t: (1 - t * coin) ** losers, [0, min(10 / (losers * coin + 1), 1) / 2, 1])
    both = mpmath.quad(
        lambda t: (1 + beside - 2 * beside * t) * (1 - t * coin) ** losers,
        [0, min(10 / (losers * coin + 1), 1) / 2, 1],
    )
    assert one_winner(losers, np.array([coin]))[0] == pytest.approx(float(power), abs=2e-12)
    assert two_winners(losers, np.array([coin]), np.array([beside]))[0] == pytest.approx(
        float(both), abs=2e-12
    )


def test_choices_are_drawn_by_the_law_that_was_certified() -> None:
    choice = quantile_choice(4, MEDIAN, Fraction(1), 0.7)
    groups: list[Rows] = [(0, 0, 3, 3), (1, 2, 2, 3), (), (3,)]
    counts = np.array([[Counter(rows)[value] for value in range(4)] for rows in groups])
    drawn, times = np.zeros((len(groups), 4)), 20_000
    places = choice.places(np.repeat(counts, times, axis=0), InsecureTestKeystream(7))
    for group, own in enumerate(places.reshape(len(groups), times)):
        drawn[group] = np.bincount(own, minlength=4)
    for rows, seen in zip(groups, drawn, strict=True):
        wanted = np.array([float(p) for p in law(choice, rows)]) * times
        assert np.all(np.abs(seen - wanted) <= 5 * np.sqrt(wanted) + 5)


def test_many_groups_are_drawn_in_pieces_and_every_row_by_itself() -> None:
    choice = quantile_choice(1000, MEDIAN, Fraction(50), 0.95)
    counts = np.zeros((5000, 1000), dtype=np.int64)
    counts[np.arange(5000), np.arange(5000) % 1000] = 10**6
    places = choice.places(counts, InsecureTestKeystream(1))
    assert np.mean(places == np.arange(5000) % 1000) > 0.999


def test_one_candidate_is_no_choice() -> None:
    choice = quantile_choice(1, MEDIAN, Fraction(5), 0.95)
    assert (choice.epsilon, choice.confidence) == (0.0, 1.0)
    assert choice.places(np.array([[3], [0]]), InsecureTestKeystream(1)).tolist() == [0, 0]


def test_a_stride_longer_than_one_is_looked_at_for_every_depth() -> None:
    """Narrower than what a person moves: the worst is not at two winners then, and still it holds."""
    choice = quantile_choice(3, MEDIAN, Fraction(1), 0.75, 4)
    assert choice.coins.stride > 1
    for rows in product(range(9), repeat=3):
        law_of = law(choice, tuple(np.repeat([0, 1, 2], rows).tolist()))
        data = tuple(np.repeat([0, 1, 2], rows).tolist())
        assert sum(p for value, p in enumerate(law_of) if is_within(choice, data, value)) >= 0.75
