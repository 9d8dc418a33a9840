from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbdp.noise.staircase import GridStaircase
from pbdp.planning.limit.closed_form import closed_form, staircase_epsilon, strongest_closed_form
from pbdp.planning.limit.cut_staircase import cut_epsilon
from pbdp.planning.limit.question import Question

questions = st.builds(
    Question,
    points=st.integers(1, 60),
    sensitivity=st.integers(1, 25),
    confidence=st.floats(0.05, 0.999),
    delta=st.just(0.0),
)


@given(questions)
@settings(max_examples=150, deadline=None)
def test_without_delta_the_staircase_meets_the_bound_exactly(question: Question) -> None:
    epsilon = staircase_epsilon(question)

    assert closed_form(question, epsilon).confidence_bound() == pytest.approx(question.confidence, rel=1e-11)


@given(st.integers(1, 12), st.integers(0, 40), st.floats(0.1, 3.0))
@settings(max_examples=60, deadline=None)
def test_the_miss_is_that_of_the_lattice_staircase(sensitivity: int, within: int, loss: float) -> None:
    question = Question.about(within, within, 0.9, sensitivity, 0.0)
    kernel = GridStaircase(loss=loss, width=sensitivity, center=within % sensitivity)
    inside = math.fsum(kernel.masses(within))

    assert 1 - question.staircase_miss(loss) == pytest.approx(inside, rel=1e-10)


@given(questions, st.sampled_from([1e-9, 1e-6, 1e-4]))
@settings(max_examples=100, deadline=None)
def test_delta_takes_away_in_proportion(question: Question, delta: float) -> None:
    pure = staircase_epsilon(question)
    asked = Question(
        points=question.points,
        sensitivity=question.sensitivity,
        confidence=question.confidence,
        delta=delta,
    )
    certificate = strongest_closed_form(asked)

    if certificate is not None:
        assert certificate.proves(certificate.epsilon)
        assert certificate.epsilon < pure
    if delta / pure < 1e-6 * (1 - question.confidence):
        assert certificate is not None
        assert certificate.epsilon > 0.99 * pure


def test_a_central_block_of_one_or_two_steps_needs_the_largest_shift_only() -> None:
    for points in (4, 8, 12, 20):
        certificate = closed_form(Question(points=points, sensitivity=4, confidence=0.9, delta=0.0), 1.0)
        assert certificate.shifts == (4,)
    assert closed_form(Question(points=5, sensitivity=4, confidence=0.9, delta=0.0), 1.0).shifts != (4,)


def test_a_very_large_problem_is_answered_on_a_coarser_lattice() -> None:
    question = Question(points=1_015_000, sensitivity=10_000, confidence=0.9, delta=1e-6)
    certificate = strongest_closed_form(question)

    assert certificate is not None
    assert certificate.block > 1
    assert 0.999 * staircase_epsilon(question) < certificate.epsilon < staircase_epsilon(question)


def test_a_delta_that_pays_for_everything_leaves_nothing_to_prove() -> None:
    assert strongest_closed_form(Question(points=39, sensitivity=1, confidence=0.9, delta=0.05)) is None
    assert np.isfinite(staircase_epsilon(Question(points=1, sensitivity=1, confidence=1 - 1e-15, delta=0.0)))


@given(st.integers(1, 40), st.integers(1, 5), st.floats(0.3, 0.99), st.sampled_from([1e-6, 1e-3, 1e-2, 0.05]))
@settings(max_examples=100, deadline=None)
def test_where_steps_fill_the_region_law_and_proof_meet_at_any_delta(
    steps: int, sensitivity: int, confidence: float, delta: float
) -> None:
    question = Question(
        points=steps * sensitivity, sensitivity=sensitivity, confidence=confidence, delta=delta
    )
    certificate = strongest_closed_form(question)

    if certificate is not None and certificate.epsilon > 1e-4:
        assert certificate.epsilon <= cut_epsilon(question) * (1 + 1e-9)
        assert cut_epsilon(question) <= certificate.epsilon * (1 + 1e-6)
