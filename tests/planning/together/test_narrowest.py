"""The narrowest widths for an epsilon: never above it, close to it, and found in few plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.inverse import narrowest
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.together.search import plan_together
from tests.effort import cases
from tests.planning.together.requirements import FEW, count

ONE = ("laplace",)
Make = Callable[[float], Sequence[Requirement]]


def width(requirement: Requirement) -> float:
    assert isinstance(requirement.region, AbsoluteRegion)
    return requirement.region.below


def narrowest_together(
    make: Make, epsilon: float, families: tuple[str, ...] | None = None, **how: Any
) -> Plan:
    return narrowest(make, lambda asked: plan_together(asked, families, **how), epsilon)


class Counted:
    """Requirements, and how often they were asked for."""

    def __init__(self, make: Make) -> None:
        self.make, self.factors = make, list[float]()

    def __call__(self, factor: float) -> Sequence[Requirement]:
        self.factors.append(factor)
        return self.make(factor)


def reals(factor: float) -> list[Requirement]:
    return [
        count(8.0 * factor, integer=False, releases=3),
        count(30.0 * factor, integer=False, sensitivity=5, releases=3),
    ]


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 6.0][: cases(3)])
def test_real_widths_use_the_epsilon_up(epsilon: float) -> None:
    make = Counted(reals)
    joint = narrowest_together(make, epsilon, ONE)
    assert 0.998 * epsilon <= joint.epsilon <= epsilon
    factor = width(joint.parts[0].requirement) / 8
    assert plan_together(reals(factor * 0.995), ONE).epsilon > epsilon
    assert len(make.factors) <= 10


def test_whole_widths_are_the_narrowest_that_fit() -> None:
    joint = narrowest_together(lambda s: [count(3 * s), count(5 * s)], 1.0, FEW)
    widths = [width(part.requirement) for part in joint.parts]
    assert joint.epsilon <= 1
    narrower = [count(width * (1 - 2e-3)) for width in widths]
    assert plan_together(narrower, FEW).epsilon > 1


def test_widths_that_are_rounded_are_not_planned_twice() -> None:
    make = Counted(lambda s: [count(math.floor(6 * s), releases=4)])
    joint = narrowest_together(make, 1.5, ("laplace",))
    found = width(joint.parts[0].requirement)
    assert found == math.floor(found)
    assert joint.epsilon <= 1.5 < plan_together([count(found - 1, releases=4)], ("laplace",)).epsilon


def test_given_parts_and_what_is_set_aside_stay_the_same() -> None:
    fixed = plan_together([count(40)], ONE)
    given = [[(part.requirement, number_design(part.design)) for part in fixed.parts]]
    joint = narrowest_together(
        lambda s: [count(9.0 * s, integer=False)], 2 * fixed.epsilon, ONE, given=given, missing=5e-7
    )
    assert joint.missing == 5e-7
    assert joint.parts[-1].design == fixed.parts[0].design
    assert joint.parts[-1].requirement == fixed.parts[0].requirement
    assert 0.99 * 2 * fixed.epsilon <= joint.epsilon <= 2 * fixed.epsilon
    with pytest.raises(CannotCertifyError, match="costs at most epsilon"):
        narrowest_together(lambda s: [count(9 * s)], 0.9 * fixed.epsilon, ONE, given=given)


def test_little_room_beside_what_is_given_is_found() -> None:
    fixed = plan_together([count(10)], ("laplace",))
    given = [[(part.requirement, number_design(part.design)) for part in fixed.parts]]
    epsilon = 1.01 * fixed.epsilon
    make = Counted(lambda s: [count(9 * s)])
    joint = narrowest_together(make, epsilon, ("laplace",), given=given)
    assert 0.999 * epsilon <= joint.epsilon <= epsilon
    assert len(make.factors) <= 20


def test_widths_that_do_not_grow_are_told() -> None:
    with pytest.raises(CannotCertifyError, match=r"costs at most epsilon 0\.01; the least was"):
        narrowest_together(lambda _: [count(10)], 0.01, ("laplace",))


def test_an_epsilon_for_which_any_width_would_do() -> None:
    joint = narrowest_together(lambda s: [count(10 * s)], 500.0, ("laplace",))
    assert joint.epsilon == plan_together([count(0.5)], ("laplace",)).epsilon


def test_a_start_without_a_plan_is_not_the_end() -> None:
    """One step of the grid is wider than the first width asked for."""
    coarse = Counted(lambda s: [count(0.01 * s, integer=False, step=1.0)])
    assert 0.5 < narrowest_together(coarse, 1.0, ("laplace",)).epsilon <= 1.0


def test_mistakes_are_told_as_they_are() -> None:
    with pytest.raises(InputError, match="epsilon"):
        narrowest_together(reals, 0.0)
    with pytest.raises(ContradictionError, match="delta"):
        narrowest_together(lambda s: [count(9 * s), count(9 * s, delta=1e-3)], 1.0)
    with pytest.raises(InputError, match="within"):
        narrowest_together(lambda s: [count(-9 * s)], 1.0)
