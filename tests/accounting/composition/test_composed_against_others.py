"""Compositions against brute force, and against dp-accounting."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as rival
from hypothesis import given, settings
from hypothesis import strategies as st

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import pair_release, table_release
from tests.accounting.composition.brute import Outcomes, composed, delta_of, outcomes
from tests.accounting.composition.laws import gaussian_table, laplace_table
from tests.effort import FULL

PAIRS = {
    "rounded": ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]),
    "close": ([0.25, 0.25, 0.5], [0.2501, 0.2499, 0.5]),
    "response": ([0.75, 0.25], [0.25, 0.75]),
    "rare": ([0.999, 0.0009, 0.0001], [0.9999, 0.00005, 0.00005]),
    "infinite": ([0.6, 0.4 - 2.0**-20, 2.0**-20], [0.4, 0.6, 0.0]),
}
DELTAS = (0.05, 1e-3, 1e-6, 1e-12)


def assert_brackets(table: Outcomes, bounds_lower: float, bounds_upper: float, delta: float) -> None:
    if bounds_upper < math.inf:
        assert delta_of(table, bounds_upper) <= delta
    if 0 < bounds_lower < math.inf:
        assert delta_of(table, bounds_lower) >= delta
    if bounds_lower == math.inf:
        assert delta_of(table, 700.0) >= delta


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("count", range(1, 7))
def test_epsilon_brackets_the_truth(name: str, count: int) -> None:
    first, second = PAIRS[name]
    release = pair_release(first, second, one_way=True)
    table = composed([(outcomes(first, second), count)])
    for delta in DELTAS:
        bounds = compose([(release, count)]).epsilon_at(delta)
        assert_brackets(table, bounds.lower, bounds.upper, delta)
        assert bounds.upper == math.inf or bounds.upper - bounds.lower <= 2e-3 * bounds.upper


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_delta_brackets_the_truth(name: str, count: int) -> None:
    first, second = PAIRS[name]
    release = pair_release(first, second, one_way=True)
    table = composed([(outcomes(first, second), count)])
    for epsilon in (0.0, 0.01, 0.3, 1.0, 3.0, 30.0):
        bounds = compose([(release, count)]).delta_at(epsilon)
        assert bounds.lower <= delta_of(table, epsilon) <= bounds.upper


def test_different_releases_bracket_the_truth() -> None:
    parts = [(PAIRS["rounded"], 2), (PAIRS["rare"], 2), (PAIRS["infinite"], 1)]
    ours = compose([(pair_release(*pair, one_way=True), count) for pair, count in parts])
    table = composed([(outcomes(*pair), count) for pair, count in parts])
    for delta in (0.01, 1e-4, 1e-5):
        bounds = ours.epsilon_at(delta)
        assert_brackets(table, bounds.lower, bounds.upper, delta)
        assert bounds.lower > 0


@pytest.mark.parametrize("count", [2, 4])
def test_both_directions_cover_every_mixture_of_them(count: int) -> None:
    first, second = PAIRS["rare"]
    ahead, back = outcomes(first, second), outcomes(second, first)
    mixtures = [composed([(ahead, k), (back, count - k)]) for k in range(count + 1)]
    for delta in (1e-3, 1e-5):
        bounds = compose([(pair_release(first, second), count)]).epsilon_at(delta)
        assert max(delta_of(table, bounds.upper) for table in mixtures) <= delta
        assert max(delta_of(table, bounds.lower) for table in mixtures) >= delta


@pytest.mark.parametrize("pair", [PAIRS["rare"], ([0.9, 0.1], [0.6, 0.4])])
@pytest.mark.parametrize("count", [2, 4])
def test_delta_of_both_directions_is_that_of_the_worst_mixture(
    pair: tuple[list[float], list[float]], count: int
) -> None:
    ahead, back = outcomes(*pair), outcomes(*pair[::-1])
    mixtures = [composed([(ahead, k), (back, count - k)]) for k in range(count + 1)]
    made = compose([(pair_release(*pair), count)])
    for epsilon in (0.0, 0.2, 1.0, 1.7, 2.5):
        truth, bounds = max(delta_of(table, epsilon) for table in mixtures), made.delta_at(epsilon)
        assert bounds.lower <= truth <= bounds.upper
        assert bounds.lower > truth / 2


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    weights=st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=2, max_size=4),
    count=st.integers(2, 4),
    exponent=st.floats(-12, -0.5),
)
def test_no_small_law_is_outside_its_bounds(
    weights: list[tuple[int, int]], count: int, exponent: float
) -> None:
    p = np.array([w[0] for w in weights], dtype=float)
    q = np.array([w[1] for w in weights], dtype=float) + np.eye(len(weights))[0]
    first, second = p / p.sum(), q / q.sum()
    delta = 10.0**exponent
    bounds = compose([(pair_release(first, second, one_way=True), count)]).epsilon_at(delta)
    table = composed([(outcomes(list(first), list(second)), count)])
    assert_brackets(table, bounds.lower, bounds.upper, delta)


@pytest.mark.parametrize("count", [1, 10, 100, 1000])
def test_gaussian_totals_agree(count: int) -> None:
    ours = compose([(table_release(gaussian_table(20.0), 1), count)]).epsilon_at(1e-6)
    single = rival.from_gaussian_mechanism(20.0, value_discretization_interval=1e-4)
    theirs = single.self_compose(count).get_epsilon_for_delta(1e-6)
    assert ours.lower <= theirs * (1 + 1e-9)  # theirs is for the ideal law, ours for the table
    assert ours.upper <= theirs * (1 + 1e-4)


@pytest.mark.parametrize("count", [1, 5, 30, 300] if FULL else [1, 5, 60])
def test_laplace_totals_agree(count: int) -> None:
    ours = compose([(table_release(laplace_table(8.0), 2), count)]).epsilon_at(1e-6)
    single = rival.from_discrete_laplace_mechanism(1 / 8, sensitivity=2, value_discretization_interval=1e-5)
    theirs = single.self_compose(count).get_epsilon_for_delta(1e-6)
    assert ours.lower <= theirs * (1 + 1e-9)  # theirs is for the ideal law, ours for the table
    assert ours.upper <= theirs * (1 + 1e-4)


def test_composition_loads_neither_dp_accounting_nor_an_optimizer() -> None:
    code = (
        "import sys, pbdp.accounting.composition.composed, pbdp.accounting.composition.truncation; "
        "sys.exit(any(m in sys.modules for m in ('dp_accounting', 'scipy.optimize')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
