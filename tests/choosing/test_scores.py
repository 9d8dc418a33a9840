"""Scores: what each form is read as, and that steps keep the distances that the proofs are about."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbdp.choosing.request import Asked
from pbdp.choosing.scores import FURTHEST, MOST_STEPS, Scale, read_scores, scale_for, score_scale
from pbdp.errors import InputError


def asked(sensitivity: float, *, integer: bool = False, rising: bool = False) -> Asked:
    return Asked(options=10, sensitivity=sensitivity, integer=integer, rising=rising)


@given(
    sensitivity=st.floats(1e-6, 1e6),
    width=st.floats(0.01, 1e4),
    far=st.floats(-1e6, 1e6),
    part=st.floats(-1, 1),
    rising=st.booleans(),
)
def test_neighbors_are_as_near_in_steps_and_losers_as_far(
    sensitivity: float, width: float, far: float, part: float, rising: bool
) -> None:
    within = width * sensitivity
    scale = scale_for(within, asked(sensitivity, rising=rising))
    score = far * scale.step * 1e6
    person = scale.moved if rising else scale.moved // 2
    other = score + part * sensitivity
    if abs(Fraction(other) - Fraction(score)) <= Fraction(sensitivity):
        near = scale.steps(np.array([score, other]))
        assert abs(int(near[0] - near[1])) <= person
    lost = score - within * (1 + abs(part))
    if Fraction(score) - Fraction(lost) > Fraction(within):
        losing = scale.steps(np.array([score, lost]))
        assert int(losing[0] - losing[1]) >= scale.gap
    # little is lost by rounding
    assert person * scale.step <= sensitivity * (1 + 1 / 200)
    assert scale.gap * scale.step >= within * (1 - 1 / 2048)


def test_whole_scores_lose_from_one_more_than_the_width() -> None:
    assert scale_for(50, asked(1, integer=True)) == Scale(step=1.0, moved=2, gap=51)
    assert scale_for(50.9, asked(1.5, integer=True, rising=True)) == Scale(step=1.0, moved=1, gap=51)
    assert scale_for(0, asked(1, integer=True)).gap == 1


def test_a_width_of_nothing_needs_whole_scores() -> None:
    with pytest.raises(InputError, match="within must be above 0 for scores that are not whole"):
        scale_for(0, asked(1))
    with pytest.raises(InputError, match="Count in thousands"):
        scale_for(1e9, asked(1, integer=True))


def test_every_number_has_steps() -> None:
    scores = np.array([math.nan, math.inf, -math.inf, 1e300, 2.5])
    steps = Scale(step=1.0, moved=2, gap=5).steps(scores)
    assert steps.tolist() == [0, int(FURTHEST), -int(FURTHEST), int(FURTHEST), 2]


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        ({"a": 1, "b": 2.5}, ["a", "b"]),
        ([1, 2.5], [0, 1]),
        (np.array([1, 2.5]), [0, 1]),
        (pd.Series([1, 2.5], index=["x", "y"]), ["x", "y"]),
        ({"a": Decimal(1), "b": Fraction(5, 2)}, ["a", "b"]),
    ],
)
def test_forms_of_scores(scores: object, options: list[object]) -> None:
    found = read_scores(scores)
    assert list(found.options) == options
    assert found.scores.tolist() == [1, 2.5]


@pytest.mark.parametrize("scores", [["1", 2], [True, 2], [object()], {"a": "x"}, "12", 5, None, {}, []])
def test_what_is_no_score_is_refused_without_it(scores: object) -> None:
    with pytest.raises(InputError, match="scores must be"):
        read_scores(scores)


def test_missing_and_huge_ones_count() -> None:
    for missing in (None, math.nan, Decimal("sNaN"), pd.NA):
        assert np.isnan(read_scores([missing, 1]).scores[0])
    assert read_scores([10**400, -(10**400)]).scores.tolist() == [math.inf, -math.inf]


def test_steps_of_noisy_scores() -> None:
    whole = Asked(options=5, sensitivity=1, integer=True)
    assert score_scale(50, whole) == Scale(step=1.0, moved=2, gap=51)
    for asked, within in (
        (Asked(options=5, sensitivity=0.3), 7.0),
        (Asked(options=5, sensitivity=1, rising=True), 1e6),
        (Asked(options=5, sensitivity=7, integer=True), 1e6),
    ):
        scale = score_scale(within, asked)
        assert scale.gap <= 2 * MOST_STEPS
        # one person moves a score by so much, and a loser is so far behind
        people = 1 if asked.rising else 2
        assert people * asked.sensitivity <= scale.moved * scale.step
        assert scale.gap * scale.step <= within < (scale.gap + 1) * scale.step


def test_scores_too_far_apart_to_be_counted_are_held_to_the_ends() -> None:
    scale = scale_for(0.5, Asked(options=3, sensitivity=1))
    assert scale.steps(np.array([1e308, -1e308, 0.0])).tolist() == [2**52, -(2**52), 0]
