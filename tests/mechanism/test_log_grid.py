"""The logarithmic grid: never too few steps, never a false place."""

from __future__ import annotations

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


def test_a_logarithmic_grid_refuses_answers_it_cannot_place() -> None:
    grid = LogGrid(theta=0.1, tau=1, nonnegative=True, step=0.01)
    with pytest.raises(InputError, match="answer must be 0 or more"):
        grid.steps_of(Fraction(-1))
    with pytest.raises(InputError, match="answer must be at most"):
        grid.steps_of(Fraction(10**400))
