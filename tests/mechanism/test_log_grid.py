"""The logarithmic grid: never too few steps, never a false place."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.log_grid import LogGrid, log_grid_for
from pbdp.mechanism.relative import RelativeRegion


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(("theta", "tau"), [(0.05, 10), (0.5, 2.5), (0.9, 0.1)])
def test_a_logarithmic_grid_never_underestimates(theta: float, tau: float, nonnegative: bool) -> None:
    """No neighbors are further apart than it says, and its region of steps lies inside the one asked for."""
    region = RelativeRegion(theta=theta, tau=tau, nonnegative=nonnegative)
    grid = log_grid_for(region)
    assert grid is not None
    inside = grid.region_in_steps(region)
    assert isinstance(inside, AbsoluteRegion)
    chance = random.Random(4)
    sensitivity = tau * 1.7
    for _ in range(1500):
        size = Fraction(10 ** chance.uniform(-8, 8)) * chance.choice([0, 1, 1, 1])
        answer = size if nonnegative else size * chance.choice([-1, 1])
        other = answer + Fraction(sensitivity) * chance.choice([Fraction(1), Fraction(chance.random())])
        if not nonnegative and chance.random() < 0.3:
            answer, other = -Fraction(sensitivity) / 2, Fraction(sensitivity) / 2
        steps = grid.steps_of(answer)
        assert abs(grid.steps_of(other) - steps) <= grid.sensitivity_in_steps(sensitivity)
        allowed = Fraction(theta) * abs(answer) + Fraction(tau)
        ends = grid.values_of(np.array([steps - int(inside.below), steps + int(inside.above)]))
        for end in ends.tolist():
            assert abs(Fraction(end) - answer) <= allowed


def test_a_logarithmic_grid_takes_answers_that_it_cannot_place_as_the_nearest() -> None:
    grid = LogGrid(theta=0.1, tau=1, nonnegative=True, step=0.01)
    assert grid.steps_of(Fraction(-1)) == 0
    last = grid.steps_of(Fraction(10**300))
    assert last > 50_000
    assert grid.steps_of(Fraction(10**400)) == last
    with np.errstate(all="raise"):
        far = grid.steps_of_floats(np.array([1.7e308, math.inf, -math.inf, math.nan, 5e-324, -0.0]))
    assert far.tolist() == [last, last, 0, 0, 0, 0]
    signed = LogGrid(theta=0.1, tau=1, nonnegative=False, step=0.01)
    assert signed.steps_of_floats(np.array([math.inf, -math.inf])).tolist() == [last, -last]


def test_a_tiny_tolerance_leaves_quotients_finite() -> None:
    grid = LogGrid(theta=0.5, tau=1e-100, nonnegative=False, step=0.01)
    with np.errstate(all="raise"):
        last, first = grid.steps_of_floats(np.array([1e300, -math.inf])).tolist()
    assert last == -first > 100_000


@pytest.mark.parametrize("nonnegative", [False, True])
def test_fractions_on_a_grid_of_whole_outputs_move_no_further_than_the_sensitivity(nonnegative: bool) -> None:
    """Rounded to whole numbers first, 0.49 and 0.51 would be 1 apart, far more than a sensitivity of 0.02."""
    region = RelativeRegion(theta=0.1, tau=2, nonnegative=nonnegative)
    grid = log_grid_for(region, whole=True)
    assert grid is not None
    inside = grid.region_in_steps(region)
    assert isinstance(inside, AbsoluteRegion)
    chance = random.Random(5)
    for _ in range(1500):
        sensitivity = chance.choice([0.02, 0.5, 1.0, 1.5])
        answer = Fraction(chance.uniform(0 if nonnegative else -4, 4))
        other = answer + Fraction(sensitivity) * chance.choice([Fraction(1), Fraction(chance.random())])
        steps = grid.steps_of(answer)
        assert abs(grid.steps_of(other) - steps) <= grid.sensitivity_in_steps(sensitivity)
        ends = grid.values_of(np.array([steps - int(inside.below), steps + int(inside.above)]))
        for end in ends.tolist():
            assert end == round(end)
            assert abs(Fraction(end) - answer) <= Fraction(0.1) * abs(answer) + 2


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_what_is_said_of_neighbors_and_widths_is_reached_but_for_a_step(
    nonnegative: bool, whole: bool
) -> None:
    region = RelativeRegion(theta=0.3, tau=4, nonnegative=nonnegative)
    grid = log_grid_for(region, whole=whole)
    assert grid is not None
    for sensitivity in (0.1, 3.0, 50.0):
        low = Fraction(0) if nonnegative else Fraction(-sensitivity) / 2
        moved = grid.steps_of(low + Fraction(sensitivity)) - grid.steps_of(low)
        assert moved <= grid.sensitivity_in_steps(sensitivity) <= moved + 2
    inside = grid.region_in_steps(region)
    assert isinstance(inside, AbsoluteRegion)
    answer = Fraction(10**9)
    steps = grid.steps_of(answer)
    wider = grid.values_of(np.array([steps - int(inside.below) - 2, steps + int(inside.above) + 2]))
    sides = [abs(Fraction(end) - answer) > Fraction(0.3) * answer + 4 for end in wider.tolist()]
    assert sides == [nonnegative, True]  # without a sign, downward is not further than upward


@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_answers_of_some_steps_are_all_of_them_and_few_others(nonnegative: bool) -> None:
    grid = log_grid_for(RelativeRegion(theta=0.3, tau=4, nonnegative=nonnegative))
    assert grid is not None
    for first, last in [(0, 0), (5, 9), (300, 300), *([] if nonnegative else [(-7, 2)])]:
        low, high = grid.answers_around(first, last)
        beyond = [1e-9 * (1 + abs(end)) for end in (low, high)]
        assert grid.steps_of(Fraction(low + beyond[0])) == first
        assert grid.steps_of(Fraction(high - beyond[1])) == last
        assert grid.steps_of(Fraction(high + beyond[1])) == last + 1
        if not nonnegative or first:
            assert grid.steps_of(Fraction(low - beyond[0])) == first - 1


def test_a_grid_that_is_too_coarse_for_its_tolerance_is_refused() -> None:
    region = RelativeRegion(theta=0.1, tau=1)
    with pytest.raises(InputError, match="finer than the tolerance"):
        LogGrid(theta=0.1, tau=1, nonnegative=False, step=4.0).region_in_steps(region)
    exact = LogGrid(theta=0.1, tau=1, nonnegative=False, step=1.25).region_in_steps(region)
    assert exact == AbsoluteRegion(below=0.0, above=0.0)


def test_whole_outputs_need_a_tolerance_above_their_rounding() -> None:
    assert log_grid_for(RelativeRegion(theta=0.1, tau=0.5), whole=True) is None
    assert log_grid_for(RelativeRegion(theta=0.1, tau=0.5)) is not None
    assert log_grid_for(RelativeRegion(theta=0.1, tau=0.51), whole=True) is not None
