"""Rounding of answers and outputs: what it moves at most, in exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.coordinates import Coordinates
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.vectors.rounding import Rounding, rounding_for


def requirement(dimensions: int = 4, within: float = 10.0, sensitivity: float = 1.0) -> Requirement:
    return Requirement(
        region=AbsoluteRegion.even(within),
        confidence=0.9,
        sensitivity=sensitivity,
        delta=1e-6,
        coordinates=Coordinates(dimensions=dimensions, norm="l2"),
    )


@pytest.mark.parametrize("dimensions", [1, 7, 100_000])
@pytest.mark.parametrize("within", [1e-90, 3.0, 1e90])
@pytest.mark.parametrize("ratio", [1e-6, 0.3, 40.0, 1e9])
def test_rounding_costs_a_thousandth_of_the_width_and_a_ten_thousandth_of_the_sensitivity(
    dimensions: int, within: float, ratio: float
) -> None:
    asked = requirement(dimensions, within, within / ratio)
    rounding = rounding_for(asked)
    lost = Fraction(rounding.step) + Fraction(rounding.answer_step)

    assert (Fraction(asked.half_width) - Fraction(rounding.room(asked))) ** 2 >= lost**2 / 4 * dimensions, (
        "the room is rounded down"
    )
    assert rounding.room(asked) >= 0.998 * within
    added = Fraction(rounding.sensitivity(asked)) - Fraction(asked.sensitivity)
    assert added**2 >= Fraction(rounding.answer_step) ** 2 * dimensions, "the sensitivity is rounded up"
    assert rounding.sensitivity(asked) <= asked.sensitivity * (1 + 1.3e-4)


def test_rounded_answers_of_neighbors_are_never_further_apart_than_counted() -> None:
    asked = requirement(dimensions=3, sensitivity=0.75)
    rounding = Rounding(step=0.5, answer_step=0.25)
    draw = np.random.default_rng(4)
    most = 0.0
    for _ in range(4000):
        change = draw.normal(size=3) * draw.integers(0, 2, 3)
        change *= 0.75 * (1 - 1e-12) / max(float(np.linalg.norm(change)), 1e-9)
        # just below the boundary between two steps, where rounding adds most
        before = (draw.integers(-9, 9, 3) + 0.5) * 0.25 - 1e-13 * np.sign(change)
        steps = [
            [rounding.answers.steps_of(Fraction(float(x))) for x in vector]
            for vector in (before, before + change)
        ]
        most = max(most, 0.25 * math.dist(*steps))

    assert most <= rounding.sensitivity(asked)
    assert most > 0.75 * 1.2


@pytest.mark.parametrize(
    ("step", "answer_step"),
    [(0.3, 0.25), (0.5, 0.3), (0.5, 0.5), (0.25, 0.5), (1.0, 2.0**-53), (math.nan, 0.5), (-1.0, 0.5)],
)
def test_steps_that_do_not_fit_are_refused(step: float, answer_step: float) -> None:
    with pytest.raises(InputError):
        Rounding(step=step, answer_step=answer_step)


def test_a_step_as_large_as_the_width_is_refused() -> None:
    with pytest.raises(CannotCertifyError):
        Rounding(step=16.0, answer_step=1.0).room(requirement())
