"""The answers that are drawn at: neighbors in truth, as far apart as they may be, and the hardest one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import pbdp
from pbdp.audit.answers import AnswerPair, answer_range, audited_pairs, confidence_of_law, hardest_answer
from pbdp.audit.claim import claim_of
from tests.audit.plans import NAMES, plan_named

DRAWS = 1_000_000


def pairs_of(plan: pbdp.Plan, *answers: int | float) -> list[AnswerPair]:
    return audited_pairs(plan, claim_of(plan), answers or None, DRAWS)


def reached(plan: pbdp.Plan, pair: AnswerPair) -> float:
    """Epsilon at the plan's delta of the laws at two answers, by bisection on the hockey-stick."""
    laws = [plan.law_at(answer) for answer in (pair.first, pair.second)]
    points = np.union1d(laws[0].output, laws[1].output)
    spread = np.zeros((2, len(points)))
    for row, law in zip(spread, laws, strict=True):
        row[np.searchsorted(points, law.output)] = law.probability
    delta = plan.delta or 0.0
    low, high = 0.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        gain = max(float(np.sum(np.maximum(a - math.exp(middle) * b, 0))) for a, b in (spread, spread[::-1]))
        low, high = (middle, high) if gain > delta else (low, middle)
    return high


@pytest.mark.parametrize("name", NAMES)
def test_one_person_can_make_one_answer_of_the_other(name: str) -> None:
    plan = plan_named(name)

    (pair,) = pairs_of(plan)

    most = Fraction(plan.requirement.sensitivity)
    assert abs(Fraction(pair.first) - Fraction(pair.second)) <= most + Fraction(1, 10**9)
    low, high = answer_range(plan)
    assert low <= min(pair.first, pair.second) < max(pair.first, pair.second) <= high
    assert isinstance(pair.first, int) == isinstance(pair.second, int) == plan.requirement.integer
    apart = abs(plan.answer_in_steps(pair.first) - plan.answer_in_steps(pair.second))
    if name != "log in range":
        assert apart == plan.grid.sensitivity_in_steps(plan.requirement.sensitivity)


@pytest.mark.parametrize("name", [n for n in NAMES if "renyi" not in n and n != "log in range"])
def test_the_pair_loses_all_that_is_claimed(name: str) -> None:
    plan = plan_named(name)

    (pair,) = pairs_of(plan)

    assert reached(plan, pair) == pytest.approx(claim_of(plan).epsilon, rel=2e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_given_answer_is_paired_with_a_neighbor(name: str) -> None:
    plan = plan_named(name)
    low, high = answer_range(plan)
    answers = [x for x in (0, 7, 120) if low <= x <= high]

    pairs = pairs_of(plan, *answers)

    assert [pair.first for pair in pairs] == answers
    for pair in pairs:
        assert 0 < abs(pair.second - pair.first) <= plan.requirement.sensitivity
        assert low <= pair.second <= high


def test_an_answer_that_the_plan_is_not_for_is_refused() -> None:
    with pytest.raises(pbdp.InputError):
        pairs_of(plan_named("whole"), 0.5)
    with pytest.raises(pbdp.InputError):
        pairs_of(plan_named("relative"), -1)
    with pytest.raises(pbdp.InputError, match="one that the plan takes as it is"):
        pairs_of(plan_named("real"), 2.0**60)
    for unfit in (math.inf, math.nan):
        with pytest.raises(pbdp.InputError, match="finite"):
            pairs_of(plan_named("real"), unfit)


def test_an_answer_too_large_for_a_float_to_tell_its_neighbors_is_refused() -> None:
    with pytest.raises(pbdp.InputError, match="have neighbors"):
        pairs_of(plan_named("log"), 1e20)


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_is_harder_than_the_hardest(name: str) -> None:
    plan = plan_named(name)
    low, high = answer_range(plan)
    tried = [int(x) for x in (0, 1, 2, 3, 10, 13, 30, 45, 60, 99, 100, 101, 400, 999) if low <= x <= high]

    hardest = hardest_answer(plan, [pair.first for pair in pairs_of(plan)])

    # rounding of a real answer to the grid costs up to half a step, which depends on the answer
    slack = 0.0 if plan.requirement.integer else 2e-3
    found = confidence_of_law(plan, hardest)
    assert found <= min(confidence_of_law(plan, x) for x in tried) + 1e-12 + slack
    assert found >= plan.chosen.certificate.confidence - 1e-12
