"""What no mechanism can go below, against a linear program over all mechanisms on small scores."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from pbdp.choosing import limits
from pbdp.choosing.coins import coins_for, largest_coin
from pbdp.choosing.law import Asked
from pbdp.choosing.search import plans_for


def best_confidence(epsilon: float, options: int, gap: int, moved: int, furthest: int) -> float:
    """The largest confidence of any mechanism whose scores are 0 to `furthest`; every score by itself."""
    states = list(product(range(furthest + 1), repeat=options))
    place = {state: index for index, state in enumerate(states)}
    size = len(states) * options + 1
    rows, limit = [], []
    for state in states:
        row = np.zeros(size)
        row[-1] = 1
        for option in range(options):
            if max(state) - state[option] < gap:
                row[place[state] * options + option] = -1
        rows.append(row)
        limit.append(0.0)
        for move in product((0, 1) if moved == 1 else (-1, 0, 1), repeat=options):
            other = tuple(score + step for score, step in zip(state, move, strict=True))
            if other == state or other not in place:
                continue
            for option in range(options):
                for one, two in ((state, other), (other, state)):
                    row = np.zeros(size)
                    row[place[one] * options + option] = 1
                    row[place[two] * options + option] = -math.exp(epsilon)
                    rows.append(row)
                    limit.append(0.0)
    sums = np.zeros((len(states), size))
    for index in range(len(states)):
        sums[index, index * options : (index + 1) * options] = 1
    target = np.zeros(size)
    target[-1] = -1
    found = linprog(target, np.array(rows), limit, sums, np.ones(len(states)), method="highs")
    return -float(found.fun or 0.0)


@pytest.mark.parametrize(
    ("options", "gap", "moved", "furthest"),
    [(2, 2, 2, 4), (2, 3, 2, 4), (2, 4, 1, 4), (3, 2, 2, 3), (3, 2, 1, 3), (3, 1, 2, 2)],
)
def test_no_mechanism_beats_the_limit_and_ours_lies_between(
    options: int, gap: int, moved: int, furthest: int
) -> None:
    for confidence in (0.6, 0.9):
        below = limits.limit(options, confidence, gap, moved)
        ours = coins_for(largest_coin(options, confidence), gap, moved).epsilon(moved)
        assert below <= ours
        # what the program finds with less than the limit is less than was asked
        assert best_confidence(0.99 * below, options, gap, moved, furthest) < confidence
        assert best_confidence(ours, options, gap, moved, furthest) >= confidence - 1e-7


def test_of_two_options_permute_and_flip_is_the_best_there_is() -> None:
    for gap in (2, 10, 50):
        ours = coins_for(largest_coin(2, 0.95), gap, 2).epsilon(2)
        assert ours == pytest.approx(limits.limit(2, 0.95, gap, 2), rel=1e-3)


def test_of_many_options_it_is_within_three_per_cent() -> None:
    for options, gap, moved in [(1000, 51, 2), (1000, 51, 1), (20, 50, 2), (10**6, 200, 1)]:
        ours = coins_for(largest_coin(options, 0.95), gap, moved).epsilon(moved)
        assert (
            limits.limit(options, 0.95, gap, moved) <= ours <= 1.03 * limits.limit(options, 0.95, gap, moved)
        )


def test_growth_step_by_step() -> None:
    for options, confidence, gap in [(1000, 0.95, 51), (5, 0.5, 7), (3, 0.99, 2)]:
        epsilon = limits._growing(math.log(options), confidence, gap, 2)

        def grown(epsilon: float, options: int = options, gap: int = gap) -> float:
            p = 1 / options
            for _ in range(math.ceil(gap / 2)):
                p = min(math.exp(epsilon) * p, 1 - math.exp(-epsilon) * (1 - p))
            return p

        assert grown(epsilon * (1 + 1e-9)) >= confidence > grown(epsilon * (1 - 1e-9))


def test_the_program_proves_more_where_neighbors_do_not_divide_the_gap() -> None:
    for options in (2, 3, 4):
        simple = max(limits._growing(math.log(options), 0.9, 3, 2), limits._pairs(options, 0.9, 3, 2))
        assert limits.limit(options, 0.9, 3, 2) > 1.1 * simple


def test_the_solver_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multipliers that are wrong prove less, never more."""
    program = limits._Program(3, 2, 2)
    honest = program.largest(1.0)
    rng = np.random.default_rng(3)

    def careless(*given: Any, **more: Any) -> Any:
        result: Any = linprog(*given, **more)
        result.ineqlin.marginals = result.ineqlin.marginals * rng.uniform(
            0.5, 1.5, len(result.ineqlin.marginals)
        )
        return result

    monkeypatch.setattr("scipy.optimize.linprog", careless)
    for _ in range(5):
        assert program.largest(1.0) >= honest - 1e-9


def test_a_blind_choice_needs_nothing() -> None:
    assert limits.limit(4, 0.2, 3, 2) == 0.0


def test_sets_of_options_take_the_place_of_options() -> None:
    """From 1/C(k, h) to the confidence in m neighbors, one by one."""
    for options, top, confidence, gap in ((20, 20, 0.9, 51), (1000, 10, 0.95, 51), (6, 2, 0.6, 3)):
        epsilon = limits.limit_of_several(options, top, confidence, gap, 2)
        half = min(top, options // 2)

        def gets(epsilon: float, start: float, steps: int) -> float:
            chance = start
            for _ in range(steps):
                chance = min(math.exp(epsilon) * chance, 1 - math.exp(-epsilon) * (1 - chance))
            return chance

        start, steps = 1 / math.comb(options, half), -(-gap // 2)
        assert gets(epsilon, start, steps) <= confidence
        assert gets(epsilon * 1.001, start, steps) > confidence or epsilon == limits.limit(
            options, confidence, gap, 2
        )


def test_no_law_goes_below_the_limit_of_several() -> None:
    for options in (2, 3, 5, 30):
        for top in {2, options // 2, options} - {0, 1}:
            for within in (0, 1, 4, 40):
                for rising in (False, True):
                    asked = Asked(options=options, sensitivity=1, integer=True, rising=rising, top=top)
                    plans = plans_for(asked, within, 0.9)
                    assert all(plan.limit is None or plan.limit <= plan.epsilon for plan in plans)
                    assert all(plan.limit for plan in plans)


def test_very_many_sets_are_counted_by_logarithms() -> None:
    assert 0 < limits.limit_of_several(10**8, 10**7, 0.9, 10**6, 2) < 100
