"""Intervals hold the truth as often as they say, summed over the whole law, for every answer tried."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.planning.plan import Plan
from tests.effort import combined
from tests.release.plans import KINDS, plan_of

ANSWERS = (0, 1, 9, 25, 30)
EXACT = [kind for kind in KINDS if kind != "renyi"]
# Of sums of probabilities.
ROUNDING = 1e-13


def covered(plan: Plan, answers: Iterable[int], confidence: float | None) -> tuple[list[float], float]:
    """Probabilities that the interval of what is published holds each answer, and what the intervals claim.

    An interval follows from what is published alone, so one for each output serves all answers. Outputs that
    are not looked at count as held.
    """
    laws = {answer: plan.law_at(answer) for answer in answers}
    # intervals of outputs that hardly ever occur are not worth the time
    likely = {answer: law.probability > 1e-7 for answer, law in laws.items()}
    outputs = np.unique(np.concatenate([law.output[likely[answer]] for answer, law in laws.items()]))
    found = plan.releaser.intervals(outputs, confidence)

    def held(answer: int) -> float:
        law, counted = laws[answer], likely[answer]
        place = np.searchsorted(outputs, law.output[counted])
        holds = (found.low[place] <= answer) & (answer <= found.high[place])
        return float(law.probability[counted][holds].sum() + law.probability[~counted].sum())

    return [held(answer) for answer in laws], found.confidence


@pytest.mark.parametrize(("kind", "confidence"), combined(EXACT, [None, 0.5, 0.99]))
def test_coverage_is_at_least_the_confidence(kind: str, confidence: float | None) -> None:
    plan = plan_of(kind)
    held, claimed = covered(plan, ANSWERS if kind != "relative" else (9,), confidence)
    assert min(held) >= claimed - ROUNDING
    if confidence is not None:
        assert claimed == confidence


@pytest.mark.parametrize("kind", ["whole", "lopsided", "boosted", "range boosted", "range clamped", "custom"])
def test_the_interval_of_a_whole_number_holds_the_answers_that_are_not_rejected(kind: str) -> None:
    """Those under which neither tail is at most half of what is left, one answer after the other."""
    plan = plan_of(kind)
    laws = {
        answer: plan.law_at(answer) for answer in range(0 if "range" in kind or kind == "custom" else -40, 41)
    }
    for published in (0, 3, 17):
        for confidence in (0.5, 0.83):
            kept = [
                answer
                for answer, law in laws.items()
                if law.probability[law.output <= published].sum() > (1 - confidence) / 2
                and law.probability[law.output >= published].sum() > (1 - confidence) / 2
            ]
            assert plan.interval(published, confidence) == (kept[0], kept[-1])


@pytest.mark.parametrize("kind", EXACT)
def test_intervals_are_not_much_wider_than_they_need_be(kind: str) -> None:
    plan = plan_of(kind)
    answer = 20
    low, high = plan.interval(
        float(plan.law_at(answer).output[np.argmax(plan.law_at(answer).probability)]), 0.9
    )
    law = plan.law_at(answer)
    outside = np.cumsum(law.probability)
    spread = law.output[np.searchsorted(outside, 0.95)] - law.output[np.searchsorted(outside, 0.05)]
    assert high - low <= 2.5 * spread + 2 * plan.grid.step + 2


@pytest.mark.parametrize("kind", EXACT)
def test_many_intervals_are_those_of_each(kind: str) -> None:
    plan = plan_of(kind)
    published = np.asarray(plan.release(np.full(12, 9), disjoint=True), dtype=np.float64)
    for confidence in (None, 0.9):
        found = plan.releaser.intervals(published, confidence)
        each = [plan.interval(y, confidence) for y in published.tolist()]
        assert list(zip(found.low.tolist(), found.high.tolist(), strict=True)) == each


def test_absolute_requirements_are_inverted_exactly() -> None:
    assert plan_of("whole").interval(100) == (95, 105)
    # published between 2 below and 7 above the truth
    assert plan_of("lopsided").interval(100) == (93, 102)
    assert plan_of("bounded").interval(28) == (23, 30)


def test_relative_requirements_are_inverted() -> None:
    plan = plan_of("relative")
    y = float(plan.law_at(500).output[np.argmax(plan.law_at(500).probability)])
    low, high = plan.interval(y)
    assert low == pytest.approx((y - 2.5) / 1.5, rel=1e-12)
    assert high == pytest.approx((y + 2.5) / 0.5, rel=1e-12)
    assert low <= (Fraction(y) - Fraction(5, 2)) / Fraction(3, 2)
    assert high >= (Fraction(y) + Fraction(5, 2)) * 2


@pytest.mark.parametrize(
    ("within", "nonnegative", "family"),
    [
        ("5%+15", True, "laplace"),
        ("30%+3", True, "laplace"),
        ("50%+2.5", False, "laplace"),
        ("1%+8", False, "gaussian"),
    ],
)
def test_relative_widths_have_the_intervals_of_their_noise(
    within: str, nonnegative: bool, family: str
) -> None:
    plan = pbdp.plan(
        within=within,
        nonnegative=nonnegative,
        families=(family,),
        confidence=0.9,
        sensitivity=1,
        delta=1e-6,
        integer=True,
    )
    # from 7, 13 or 80 on, the noise has shorter intervals than the requirement
    answers = (-25, -7, -6, 0, 1, 5, 6, 7, 12, 13, 25, 79, 80, 5000)[3 * nonnegative :]
    assert min(covered(plan, answers, None)[0]) >= plan.confidence - ROUNDING
    low, high = plan.interval(990)
    promised = plan.requirement.region.inverse(np.array([990.0]))
    assert promised is not None
    assert high - low <= 0.7 * float(promised[1][0] - promised[0][0])


@pytest.mark.parametrize("kind", EXACT)
def test_likelihoods_are_the_probabilities_of_the_law(kind: str) -> None:
    plan = plan_of(kind)
    answers = (0, 9, 20)
    law = plan.law_at(9)
    for place in (int(np.argmax(law.probability)), len(law.output) // 2 + 1):
        published = float(law.output[place])
        found = plan.likelihood(published, answers)
        for answer, value in zip(answers, found.tolist(), strict=True):
            of = plan.law_at(answer)
            there = of.probability[of.output == published]
            assert value == pytest.approx(float(there.sum()), rel=1e-12, abs=1e-18)


@pytest.mark.parametrize("published", [100.5, float("nan"), float("inf")])
def test_numbers_that_no_plan_publishes_are_refused(published: float) -> None:
    with pytest.raises(InputError, match="published number"):
        plan_of("whole").likelihood(published, [100])
    with pytest.raises(InputError, match="published number"):
        plan_of("whole").interval(published, 0.99)


@pytest.mark.parametrize("published", [1e300, -1e19])
@pytest.mark.parametrize("kind", ["decoded", "decoded real", "decoded range", "relative", "bounded"])
def test_numbers_beyond_every_grid_are_refused(kind: str, published: float) -> None:
    with pytest.raises(InputError, match="published number"):
        plan_of(kind).interval(published, 0.99)


@pytest.fixture(scope="module")
def plan() -> pbdp.Plan:
    """Published numbers are at most 5 above the truth, so the truth is at least the number less 5."""
    return pbdp.plan(
        region=AbsoluteRegion(below=math.inf, above=5.0),
        confidence=0.8,
        sensitivity=1,
        delta=1e-5,
        integer=True,
        families=("gaussian",),
    )


@pytest.mark.parametrize("answer", [7, 7.0, Fraction(7), Decimal(7), np.int64(7), np.float64(7)], ids=repr)
def test_a_number_keeps_its_type_and_has_no_end_above(answer: Any, plan: pbdp.Plan) -> None:
    made = plan.release(answer, interval=True)
    assert type(made.value) is type(answer)
    assert type(made.low) is type(answer)
    assert made.low == made.value - 5
    assert made.high == math.inf


def test_columns_have_no_end_above(plan: pbdp.Plan) -> None:
    listed = plan.release([7, 8], disjoint=True, interval=True)
    assert listed.low == [value - 5 for value in listed.value]
    assert listed.high == [math.inf, math.inf]
    column = plan.release(np.array([7, 8]), disjoint=True, interval=True)
    assert column.value.dtype == np.int64
    assert np.array_equal(column.low, column.value - 5)
    assert np.all(np.isposinf(column.high))
