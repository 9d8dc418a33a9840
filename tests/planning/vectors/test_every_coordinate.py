"""Vectors whose coordinates each keep a percentage, a range or two sides: all of it listed and added up."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.weights import TOTAL
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.plan_file import plan_from_record, plan_record
from tests.planning.listed import law_of, lost

ASKED: dict[str, dict[str, Any]] = {
    "percentage": {"within": "50%+2", "nonnegative": True, "touches": 1},
    "signed percentage": {"within": "30%+2", "touches": 2},
    "range": {"within": 2, "range": (0, 9), "touches": 2},
    "two sides": {"within": (1, 3), "touches": 1},
    "clamped": {"range": (0, 4), "scale": 1, "touches": 2},
    "changing": {"range": (0, 5), "scale": 4, "sensitivity": 5, "touches": 1},
}


@cache
def planned(name: str) -> Plan:
    asked = {"sensitivity": 1, "confidence": 0.7, "delta": 0.01, "integer": True, **ASKED[name]}
    return pbdp.plan(dimensions=3, error_norm="linf", **asked)


def accepts(name: str, truth: int, output: int) -> bool:
    """Whether an output will do, from the words of the request alone."""
    asked, error = ASKED[name], output - truth
    if isinstance(asked.get("within"), str):
        percent, plus = asked["within"].split("%+")
        return abs(error) <= Fraction(percent) / 100 * abs(truth) + Fraction(plus)
    inside = "range" not in asked or asked["range"][0] <= output <= asked["range"][1]
    width = asked.get("within", 99)
    below, above = width if isinstance(width, tuple) else (width, width)
    return bool(inside and -below <= error <= above)


def answers(name: str) -> range:
    """True answers that are looked at one by one: all of a range, and many where there is no end."""
    ends = ASKED[name].get("range")
    if ends is not None:
        return range(ends[0], ends[1] + 1)
    return range(0 if ASKED[name].get("nonnegative") else -25, 26)


@pytest.mark.parametrize("name", ASKED)
def test_all_coordinates_together_keep_the_confidence(name: str) -> None:
    plan = planned(name)
    design = number_design(plan.mechanism)
    least = min(
        sum(weight for output, weight in law_of(design, truth).items() if accepts(name, truth, output))
        for truth in answers(name)
    )
    # coordinates are independent, and each may be where it is hardest
    assert Fraction(least, TOTAL) ** 3 >= Fraction(plan.confidence)
    assert plan.confidence >= 0.7
    assert Fraction(least, TOTAL) ** 3 <= Fraction(plan.confidence) + Fraction(1, 10**6) or least == TOTAL


@pytest.mark.parametrize("name", ASKED)
def test_what_one_person_changes_stays_as_private_as_claimed(name: str) -> None:
    """Every way of changing as many coordinates as one person may, by as much, in several places."""
    plan = planned(name)
    design, (low, *_, high) = number_design(plan.mechanism), answers(name)
    touched, most = ASKED[name]["touches"], ASKED[name].get("sensitivity", 1)
    growth, delta = Fraction(math.exp(plan.epsilon)), Fraction(plan.delta or 0)
    places = [q for q in sorted({low, low + 1, 0, (low + high) // 2, high - most}) if low <= q <= high - most]
    laws = {q: law_of(design, q) for place in places for q in (place, place + most)}
    largest = Fraction(0)
    for where in product(places, repeat=touched):
        for up in product((True, False), repeat=touched):
            pairs = [(q, q + most) if each else (q + most, q) for q, each in zip(where, up, strict=True)]
            first, second = ([laws[pair[side]] for pair in pairs] for side in (0, 1))
            largest = max(largest, lost(first, second, growth))
    assert largest <= delta * (1 + Fraction(1, 10**9))
    # and not far below, but where the worst is a composition's rounding
    assert largest >= delta * Fraction(1, 2)


@pytest.mark.parametrize("name", ASKED)
def test_it_is_drawn_saved_and_inverted(name: str) -> None:
    plan = planned(name)
    assert plan_from_record(plan_record(plan)) == plan
    truth = np.array([0, 2, 4])
    drawn = plan.release(truth)
    low, high = plan.interval(drawn)
    assert drawn.shape == low.shape == high.shape == (3,)
    assert (low <= drawn).all() or "within" not in ASKED[name]


def test_intervals_hold_all_coordinates_as_often_as_they_say() -> None:
    plan, runs = planned("percentage"), 2000
    held = 0
    for truth in ([0, 3, 4], [7, 7, 7]):
        for _ in range(runs // 2):
            low, high = plan.interval(plan.release(np.array(truth)))
            held += bool(np.all((low <= truth) & (truth <= high)))
    assert held >= 0.7 * runs - 5 * math.sqrt(0.21 * runs)


def test_a_percentage_costs_less_than_its_floor() -> None:
    asked: dict[str, Any] = {
        "dimensions": 10,
        "error_norm": "linf",
        "touches": 1,
        "confidence": 0.9,
        "sensitivity": 1,
        "delta": 1e-6,
        "integer": True,
    }
    relative = pbdp.plan(within="20%+5", nonnegative=True, **asked)
    floor = pbdp.plan(within=5, **asked)
    assert relative.epsilon <= 0.5925
    assert floor.epsilon > 0.8


@pytest.mark.parametrize(
    "more",
    [
        {"error_norm": "l1", "within": 5, "range": (0, 20)},
        {"error_norm": "l2", "within": (1, 2)},
        {"error_norm": "linf", "change_norm": "l1", "within": "5%+10", "range": (0, 20)},
    ],
)
def test_errors_of_the_whole_vector_have_one_width(more: dict[str, Any]) -> None:
    with pytest.raises(ContradictionError, match=r"whole vector.*linf"):
        pbdp.plan(dimensions=3, confidence=0.9, sensitivity=1, delta=1e-6, **more)


def test_a_range_alone_asks_for_a_scale_and_no_width_for_one() -> None:
    asked: dict[str, Any] = {"dimensions": 3, "error_norm": "linf", "confidence": 0.9, "sensitivity": 1}
    with pytest.raises(ContradictionError, match="scale"):
        pbdp.plan(range=(0, 5), delta=1e-6, **asked)
    with pytest.raises(InputError, match="within"):
        pbdp.plan(delta=1e-6, **asked)
