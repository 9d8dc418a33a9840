"""Rivals and the limit, against a linear program over all mechanisms on small scores."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from pbdp.choosing import rivals
from pbdp.choosing.coins import coins_for, largest_coin


def best_confidence(epsilon: float, options: int, gap: int, furthest: int) -> float:
    """The largest confidence of any mechanism whose scores are 0 to `furthest` and move by at most 1."""
    states = list(product(range(furthest + 1), repeat=options))
    place = {state: index for index, state in enumerate(states)}
    size = len(states) * options + 1
    rows, limits = [], []
    for state in states:
        row = np.zeros(size)
        row[-1] = 1
        for option in range(options):
            if max(state) - state[option] < gap:
                row[place[state] * options + option] = -1
        rows.append(row)
        limits.append(0.0)
        for move in product((-1, 0, 1), repeat=options):
            other = tuple(score + step for score, step in zip(state, move, strict=True))
            if other == state or other not in place:
                continue
            for option in range(options):
                row = np.zeros(size)
                row[place[state] * options + option] = 1
                row[place[other] * options + option] = -math.exp(epsilon)
                rows.append(row)
                limits.append(0.0)
    sums = np.zeros((len(states), size))
    for index in range(len(states)):
        sums[index, index * options : (index + 1) * options] = 1
    target = np.zeros(size)
    target[-1] = -1
    found = linprog(target, np.array(rows), limits, sums, np.ones(len(states)), method="highs")
    return -float(found.fun or 0.0)


@pytest.mark.parametrize(("options", "gap", "furthest"), [(2, 2, 4), (2, 4, 4), (3, 2, 3)])
def test_no_mechanism_beats_the_limit_and_ours_lies_between(options: int, gap: int, furthest: int) -> None:
    for confidence in (0.6, 0.9):
        below = rivals.limit(options, confidence, gap, 2)
        ours = coins_for(largest_coin(options, confidence), gap, 2).epsilon(2)
        assert below <= ours
        # what the program finds with less than the limit is less than was asked
        assert best_confidence(0.99 * below, options, gap, furthest) < confidence
        assert best_confidence(ours, options, gap, furthest) >= confidence - 1e-7


def test_of_two_options_permute_and_flip_is_the_best_there_is() -> None:
    for gap in (2, 10, 50):
        ours = coins_for(largest_coin(2, 0.95), gap, 2).epsilon(2)
        assert ours == pytest.approx(rivals.limit(2, 0.95, gap, 2), rel=1e-6)


def test_the_limit_is_where_growth_step_by_step_gets_there() -> None:
    for options, confidence, gap in [(1000, 0.95, 51), (5, 0.5, 7), (3, 0.99, 2)]:
        epsilon = rivals.limit(options, confidence, gap, 2)

        def grown(epsilon: float, options: int = options, gap: int = gap) -> float:
            p = 1 / options
            for _ in range(math.ceil(gap / 2)):
                p = min(math.exp(epsilon) * p, 1 - math.exp(-epsilon) * (1 - p))
            return p

        assert grown(epsilon * (1 + 1e-9)) >= confidence > grown(epsilon * (1 - 1e-9))


def test_figures_of_a_thousand_options() -> None:
    question = 1000, 0.95, 50, 2
    assert rivals.exponential(*question) == pytest.approx(0.394, abs=5e-4)
    assert rivals.laplace(*question) == pytest.approx(0.403, abs=5e-4)
    assert rivals.boosted_exponential(*question) == rivals.exponential(*question)
    assert rivals.boosted_exponential(1000, 0.95, 3, 20) < rivals.exponential(1000, 0.95, 3, 20)


def test_laplace_noise_is_right_as_often_as_said() -> None:
    options, gap, moved = 20, 10, 2
    epsilon = rivals.laplace(options, 0.9, gap, moved)
    rng = np.random.default_rng(7)
    noise = rng.laplace(scale=moved / epsilon, size=(200_000, options))
    noise[:, 0] += gap
    assert np.mean(noise.argmax(axis=1) == 0) == pytest.approx(0.9, abs=0.004)


def test_the_exponential_mechanism_is_right_as_often_as_said() -> None:
    epsilon = rivals.exponential(20, 0.9, 10, 2)
    assert 1 / (1 + 19 * math.exp(-epsilon / 2 * 10)) == pytest.approx(0.9)
