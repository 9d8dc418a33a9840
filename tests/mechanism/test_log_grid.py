"""The logarithmic grid: never too few steps, never a false place."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

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
