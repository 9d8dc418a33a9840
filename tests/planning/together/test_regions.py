"""Percentages and ranges planned together: all combinations of outputs, and every answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

import pbdp
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.planning.together.search import plan_together
from tests.planning.listed import law_of, lost

FAMILIES = ("laplace", "staircase")


def asked(region: RelativeRegion | AbsoluteRegion | FixedRegion, **more: object) -> Requirement:
    usual = {"confidence": 0.7, "sensitivity": 1.0, "delta": 0.01, "integer": True}
    return Requirement(region=region, **usual | more)  # type: ignore[arg-type]


@cache
def joint() -> Plan:
    return plan_together(
        {
            "percentage": asked(RelativeRegion(theta=0.5, tau=2.0, nonnegative=True)),
            "range": asked(AbsoluteRegion.even(2.0), bounds=FixedRegion(low=0.0, high=9.0)),
            "clamped": asked(FixedRegion(low=0.0, high=3.0), scale=1.0),
        },
        FAMILIES,
    )


ANSWERS = {"percentage": range(13), "range": range(10), "clamped": range(4)}
ACCEPTED: dict[str, Callable[[int, int], bool]] = {
    "percentage": lambda truth, output: abs(output - truth) <= Fraction(1, 2) * truth + 2,
    "range": lambda truth, output: abs(output - truth) <= 2 and 0 <= output <= 9,
    "clamped": lambda _, output: 0 <= output <= 3,
}


def test_every_answer_of_every_part_keeps_its_confidence() -> None:
    for part in joint().parts:
        design = number_design(part.design)
        for truth in ANSWERS[part.name or ""]:
            accepted = ACCEPTED[part.name or ""]
            inside = sum(w for output, w in law_of(design, truth).items() if accepted(truth, output))
            assert Fraction(inside, TOTAL) >= Fraction(part.confidence)
        assert part.confidence >= 0.7


def test_the_joint_epsilon_holds_for_all_combinations_of_outputs() -> None:
    """One person moves all three numbers, each up or down, in several places."""
    plan = joint()
    growth, delta = Fraction(math.exp(plan.epsilon)), Fraction(plan.delta or 0)
    designs = {part.name: number_design(part.design) for part in plan.parts}
    largest = Fraction(0)
    for where in product((0, 4), (0, 4, 8), (0,)):
        pairs = [
            [law_of(design, answer + step) for step in (0, 1)]
            for design, answer in zip(designs.values(), where, strict=True)
        ]
        for up in product((0, 1), repeat=3):
            first, second = ([pair[side ^ up[i]] for i, pair in enumerate(pairs)] for side in (0, 1))
            largest = max(largest, lost(first, second, growth))
    assert largest <= delta * (1 + Fraction(1, 10**9))


def test_it_costs_no_more_than_separate_plans() -> None:
    shares = [replace(part.requirement, delta=0.01 / 3) for part in joint().parts]
    alone = [plan_together([share], FAMILIES).epsilon for share in shares]
    assert joint().epsilon <= sum(alone) * (1 + 1e-9)
    assert plan_from_record(plan_record(joint())) == joint()


def test_words_take_percentages_and_ranges() -> None:
    usual = {"confidence": 0.9, "sensitivity": 1}
    plan = pbdp.plan(
        {
            "visits": usual | {"within": "20%+5", "nonnegative": True, "integer": True},
            "rating": usual | {"within": 5, "range": (0, 10), "sensitivity": 100},
            "stars": usual | {"range": (0, 5), "scale": 2, "integer": True},
        },
        delta=1e-6,
    )
    parts = {part.name: part for part in plan.parts}
    # one number meets the second for nothing, and one person changes no more than the range
    assert parts["rating"].requirement.sensitivity == 10
    assert parts["rating"].design.decoder is not None
    assert parts["rating"].design.decoder.is_constant
    assert parts["stars"].design.region == FixedRegion(low=0.0, high=5.0)
    with pytest.raises(pbdp.InputError, match="scale of a must be given with a fixed range"):
        pbdp.plan({"a": usual | {"range": (0, 5)}}, delta=1e-6)
