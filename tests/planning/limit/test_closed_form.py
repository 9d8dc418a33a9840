"""The limit beside a plan: its weights in exact arithmetic, other programs, and plans."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import pbdp
from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.staircase import Staircase
from pbdp.planning.limit.closed_form import Question, limit_of, provable_epsilon
from pbdp.planning.limit.cut_staircase import cut_epsilon, staircase_epsilon
from tests.planning.limit.dense_reference import largest_confidence, largest_confidence_of_mechanisms
from tests.truths import HERE, _with_tuples

questions = st.builds(
    Question,
    points=st.integers(1, 60),
    sensitivity=st.integers(1, 25),
    confidence=st.floats(0.05, 0.999),
    delta=st.just(0.0),
)

# ------------------------------------------------------------------------------------------- the weights


def exact_miss(points: int, width: int, x: Fraction) -> Fraction:
    """What the aligned staircase of loss -ln x misses, from its heights."""
    steps = (points - 1) // (2 * width)
    inside = points - 2 * steps * width + sum((2 * width * x**i for i in range(1, steps + 1)), Fraction(0))
    outside = 2 * width * x ** (steps + 1) / (1 - x)
    return outside / (inside + outside)


def weights_in_closed_form(points: int, width: int, x: Fraction, far: int) -> dict[tuple[int, int], Fraction]:
    """The weights of the module's docstring, written out for so many levels beyond the region."""
    growth, q = 1 / x, exact_miss(points, width, x)
    steps = (points - 1) // (2 * width)
    block, start = points - 2 * steps * width, steps * width
    weights: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for level in range(1, steps + far + 1):
        if level <= steps:
            sent = 2 * q * ((growth**level - 1) / (growth - 1) + growth**level * Fraction(block, 2 * width))
        else:
            sent = 2 * (1 - q) / (growth - 1)
        for n in range(start - level * width, start - (level - 1) * width):
            weights[width, n] = sent
    share = block * q / width
    for a in range(min(block, width)):
        extra = block - width
        weights[width, start + a] = share if block <= width or a < extra else q
        others = range(block, width) if block <= width else range(extra, width) if a < extra else range(0)
        for b in others:
            weights[width - (b - a), start + a] = q / width
    return weights


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 99))
@settings(max_examples=150, deadline=None)
def test_the_weights_give_every_gain_lambda_and_cost_what_is_said(points: int, width: int, part: int) -> None:
    x = Fraction(part, 100)
    block = math.gcd(points, width)
    few, step = points // block, width // block
    far = 4
    weights = weights_in_closed_form(few, step, x, far)
    gain: dict[int, Fraction] = defaultdict(Fraction, {n: Fraction(1) for n in range(few)})
    for (shift, n), weight in weights.items():
        assert 0 < shift <= step
        assert weight >= 0
        gain[n] -= weight
        gain[n - shift] += weight / x
    q = exact_miss(few, step, x)
    # the last level written out gets nothing from those that follow without end
    seen = range(-(far - 1) * step, few + (far - 1) * step)
    folded = [(gain[n] + gain[few - 1 - n]) / 2 for n in seen]
    assert set(folded) == {1 - q}
    largest: dict[int, Fraction] = defaultdict(Fraction)
    for (shift, _), weight in weights.items():
        largest[shift] = max(largest[shift], weight)
    price = 2 * (1 - q) * x / (1 - x) + q * (1 - Fraction(block, width))
    assert sum(largest.values()) <= price
    assert exact_miss(points, width, x) == q


@given(
    st.integers(1, 10**6),
    st.integers(1, 10**4),
    st.sampled_from([0.0, 1e-9, 1e-5, 1e-2]),
    st.floats(1e-4, 30.0),
)
@settings(max_examples=200, deadline=None)
def test_the_least_miss_is_rounded_down_and_by_little(
    points: int, width: int, delta: float, epsilon: float
) -> None:
    question = Question(points=points, sensitivity=width, confidence=0.9, delta=delta)
    with mpmath.workdps(60):
        x, steps = mpmath.exp(-mpmath.mpf(epsilon)), question.whole_steps
        block = points - 2 * steps * width
        q = 2 * width * x ** (steps + 1) / (block * (1 - x) + 2 * width * x)
        assume(q > 1e-300)  # what may be missed is 1 - confidence, at least 2^-53
        apart = 1 - mpmath.mpf(math.gcd(points, width)) / width
        exact = q - mpmath.mpf(delta) * (2 * (1 - q) * x / (1 - x) + q * apart)
        found = question.least_miss(epsilon)
        assert found <= exact
        assert exact - found <= 1e-9 * (q + delta)


# -------------------------------------------------------------------------------------------- the limit


@given(questions)
@settings(max_examples=150, deadline=None)
def test_without_delta_the_staircase_meets_the_limit(question: Question) -> None:
    proved, reached = provable_epsilon(question), staircase_epsilon(question)
    assert proved < reached < proved * (1 + 1e-10)


@given(st.integers(1, 12), st.integers(0, 40), st.floats(0.1, 3.0))
@settings(max_examples=60, deadline=None)
def test_the_miss_is_that_of_the_lattice_staircase(sensitivity: int, within: int, loss: float) -> None:
    question = Question.about(within, within, 0.9, sensitivity, 0.0)
    kernel = Staircase(loss=loss, width=sensitivity, center=within % sensitivity)
    inside = math.fsum(kernel.masses(within))

    assert 1 - question.staircase_miss(loss) == pytest.approx(inside, rel=1e-10)


@given(questions, st.sampled_from([1e-9, 1e-6, 1e-4]))
@settings(max_examples=100, deadline=None)
def test_delta_takes_away_in_proportion(question: Question, delta: float) -> None:
    pure = staircase_epsilon(question)
    proved = provable_epsilon(replace(question, delta=delta))

    assert proved < pure
    if delta / pure < 1e-6 * (1 - question.confidence):
        assert proved > 0.99 * pure


def test_a_very_large_problem_is_answered_at_once() -> None:
    question = Question(points=1_015_000, sensitivity=10_000, confidence=0.9, delta=1e-6)

    assert 0.999 * staircase_epsilon(question) < provable_epsilon(question) < staircase_epsilon(question)


def test_a_delta_that_pays_for_everything_leaves_nothing_to_prove() -> None:
    assert provable_epsilon(Question(points=39, sensitivity=1, confidence=0.9, delta=0.05)) == 0
    assert np.isfinite(staircase_epsilon(Question(points=1, sensitivity=1, confidence=1 - 1e-15, delta=0.0)))


@given(st.integers(1, 40), st.integers(1, 5), st.floats(0.3, 0.99), st.sampled_from([1e-6, 1e-3, 1e-2, 0.05]))
@settings(max_examples=100, deadline=None)
def test_where_steps_fill_the_region_law_and_proof_meet_at_any_delta(
    steps: int, sensitivity: int, confidence: float, delta: float
) -> None:
    question = Question(
        points=steps * sensitivity, sensitivity=sensitivity, confidence=confidence, delta=delta
    )
    proved = provable_epsilon(question)

    if proved > 1e-4:
        assert proved <= cut_epsilon(question) <= proved * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(100))
def test_no_noise_of_an_independent_program_is_below_it(seed: int) -> None:
    source = np.random.default_rng(seed)
    below, above = (int(side) for side in source.integers(0, 4, 2))
    sensitivity, confidence = int(source.integers(1, 5)), float(source.uniform(0.3, 0.97))
    delta = float(10 ** source.uniform(-6, -1))
    proved = provable_epsilon(Question.about(below, above, confidence, sensitivity, delta))
    if proved > 0:
        reach = 2 * sensitivity + 3
        best = largest_confidence(below, above, sensitivity, delta, epsilon=proved, reach=reach)
        assert best <= confidence + 1e-7  # HiGHS's own tolerance


def test_mechanisms_for_long_ranges_come_near_the_limit_that_no_additive_noise_beats() -> None:
    question = Question.about(1, 1, 0.6, 1, 1e-3)
    epsilon = provable_epsilon(question)
    reached = [
        largest_confidence_of_mechanisms(1, 1, 1, 1e-3, epsilon=epsilon, answers=answers)
        for answers in (4, 8, 16)
    ]

    assert reached[0] > reached[1] > reached[2] > 0.6 - 1e-6
    assert reached[2] - 0.6 < 0.1


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"below": -1}, "below"),
        ({"above": 1.5}, "above"),
        ({"confidence": 1.5}, "confidence"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"delta": -1e-9}, "delta"),
    ],
)
def test_values_that_make_no_sense_are_named(changes: dict[str, float], name: str) -> None:
    arguments = {"below": 5, "above": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-5, **changes}

    with pytest.raises(InputError, match=f"^{name} must be"):
        Question.about(**arguments)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- plans


def absolute_requests() -> list[tuple[dict[str, Any], float]]:
    """The requests on record for one number, with their certified epsilons."""
    entries = json.loads(HERE.read_text(encoding="utf-8"))
    kinds = ("one number", "many releases", "lopsided", "relative", "range")
    return [(e["request"], e["figures"]["epsilon"]) for e in entries if e["kind"] in kinds]


def test_no_certified_epsilon_on_record_is_below_its_limit() -> None:
    checked = 0
    for request, epsilon in absolute_requests():
        asked = _with_tuples(request)
        if "range" in asked or isinstance(asked["within"], str):
            continue
        sides = asked.pop("within")
        below, above = sides if isinstance(sides, tuple) else (sides, sides)
        asked.pop("nonnegative", None)
        requirement = Requirement(region=AbsoluteRegion(below=float(below), above=float(above)), **asked)
        limit = limit_of(requirement)
        if limit is not None:
            assert limit.epsilon <= epsilon
            if requirement.releases == 1:
                assert epsilon <= 1.03 * limit.epsilon
            checked += 1
    assert checked > 100


@pytest.mark.parametrize(
    ("confidence", "sensitivity", "within"), [(0.9, 1, 5), (0.8, 4, 1), (0.8, 4, 5), (0.9, 8, 20)]
)
def test_whole_number_plans_come_within_one_per_cent(
    confidence: float, sensitivity: int, within: int
) -> None:
    plan = pbdp.plan(within=within, confidence=confidence, sensitivity=sensitivity, delta=1e-5, integer=True)
    assert plan.limit is not None
    assert plan.limit.epsilon <= plan.epsilon <= 1.01 * plan.limit.epsilon


@pytest.mark.parametrize(("below", "above"), [(2, 7), (7, 2), (0, 5), (3, 3.5)])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
@pytest.mark.filterwarnings("ignore:delta")
def test_lopsided_plans_come_within_one_per_cent(below: float, above: float, delta: float) -> None:
    region = AbsoluteRegion(below=below, above=above)
    plan = pbdp.plan(region=region, confidence=0.9, sensitivity=3, delta=delta, integer=True)
    assert plan.limit is not None
    assert plan.limit.epsilon <= plan.epsilon <= 1.01 * plan.limit.epsilon


def test_real_answers_have_a_limit_that_plans_come_close_to() -> None:
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6)
    assert plan.limit is not None
    assert plan.limit.epsilon <= plan.epsilon <= 1.02 * plan.limit.epsilon


def test_the_limit_for_several_releases_is_that_of_their_median() -> None:
    requirement = Requirement(
        region=AbsoluteRegion.even(20.0), confidence=0.7, sensitivity=1, delta=1e-6, integer=True, releases=6
    )
    found = limit_of(requirement)
    joint = float(binom.sf(2, 5, 0.7)) * (1 - 1e-9)
    expected = provable_epsilon(Question.about(20, 20, joint, 1, 1e-6))
    assert found is not None
    assert found.epsilon == pytest.approx(expected, rel=1e-8)
    assert "median of 5" in found.kind


@pytest.mark.parametrize(
    "asked",
    [
        {"within": "5%+10", "delta": 1e-6, "integer": True, "families": ("laplace",)},
        {"within": 5, "rdp_order": 3, "integer": True},
        {"within": 5, "range": (0, 100), "delta": 1e-6, "integer": True},
    ],
)
def test_where_nothing_is_proved_nothing_is_claimed(asked: dict[str, object]) -> None:
    assert pbdp.plan(confidence=0.9, sensitivity=1, **asked).limit is None  # type: ignore[arg-type]


def test_the_limit_for_several_releases_speaks_of_independent_noise_only() -> None:
    asked = {"within": 20, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}
    one, many = pbdp.plan(**asked), pbdp.plan(releases=3, **asked)  # type: ignore[arg-type]
    assert one.limit is not None
    assert many.limit is not None
    assert "independent" not in one.limit.subject
    assert "independent" in many.limit.subject


def test_a_joint_confidence_gives_the_limit_of_one_release() -> None:
    asked = {"within": 20, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}
    one, joint = pbdp.plan(**asked), pbdp.plan(releases=5, simultaneous=True, **asked)  # type: ignore[arg-type]
    assert one.limit is not None
    assert joint.limit is not None
    assert joint.limit.epsilon == pytest.approx(one.limit.epsilon, rel=1e-4)
    assert "independent" not in joint.limit.subject


def test_whole_answers_that_cannot_differ_have_no_limit() -> None:
    asked = {"within": 5, "confidence": 0.9, "delta": 1e-6, "integer": True}
    assert pbdp.plan(sensitivity=0.5, **asked).limit is None  # type: ignore[arg-type]
