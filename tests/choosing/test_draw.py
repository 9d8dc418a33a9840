"""What is drawn has the law that was certified."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.stats import chisquare

from pbdp.choosing.coins import coins_for
from pbdp.choosing.draw import chosen
from pbdp.mechanism.weights import TOTAL
from pbdp.release.keystream import InsecureTestKeystream, SecureKeystream
from tests.choosing import brute_force


def test_draws_have_the_law_of_every_order_and_every_coin() -> None:
    coins = coins_for(0.05, 4, 2)
    scores = [3, 5, 5, 1]
    law = brute_force.chosen(scores, [Fraction(int(weight), TOTAL) for weight in coins.weights])
    keystream = InsecureTestKeystream(3)
    draws = [int(chosen(np.array(scores), 1, coins, keystream)[0]) for _ in range(20_000)]
    counts = np.bincount(draws, minlength=4)
    assert chisquare(counts, [float(p) * len(draws) for p in law]).pvalue > 1e-4
    # a law that is a tenth off for one option is told apart
    wrong = np.array([float(p) for p in law]) * [1, 1.1, 1, 1]
    assert chisquare(counts, wrong / wrong.sum() * len(draws)).pvalue < 1e-4


def test_a_ranking_holds_every_option_once() -> None:
    places = chosen(np.array([5, 1, 9, 7]), 4, coins_for(1e-9, 1, 2), SecureKeystream())
    assert places.tolist() == [2, 3, 0, 1]


def test_a_million_options() -> None:
    steps = np.zeros(1_000_000, dtype=np.int64)
    steps[123_456] = 1_000
    assert chosen(steps, 1, coins_for(1e-11, 1_000, 2), SecureKeystream()).tolist() == [123_456]
