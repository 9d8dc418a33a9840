"""Answers in every form: exact on the grid, and given back as they came."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbdp.errors import InputError
from pbdp.mechanism.grid import LinearGrid
from pbdp.release.answers import read_answers
from tests.release.plans import plan_of

STEPS = (2.0**-8, 1.0, 8.0)


def rounded(value: Fraction, step: float) -> int:
    """The definition: floor(x/step + 1/2)."""
    return math.floor(value / Fraction(step) + Fraction(1, 2))


@given(st.lists(st.floats(-1e9, 1e9), max_size=20), st.sampled_from(STEPS))
def test_floats_are_rounded_at_their_exact_value(values: list[float], step: float) -> None:
    found = LinearGrid(step=step, rounded=True).steps_of_floats(np.array(values))
    assert found.tolist() == [rounded(Fraction(value), step) for value in values]


@given(st.lists(st.integers(-(2**53), 2**53), max_size=20), st.sampled_from((1.0, 8.0, 1024.0)))
def test_whole_numbers_are_rounded_exactly(values: list[int], step: float) -> None:
    kept = [value for value in values if abs(value) <= 2**52 * step]
    found = LinearGrid(step=step, rounded=True).steps_of_integers(np.array(kept, dtype=np.int64))
    assert found.tolist() == [rounded(Fraction(value), step) for value in kept]


@pytest.mark.parametrize("step", STEPS)
def test_halves_are_rounded_up_and_their_neighbors_are_not(step: float) -> None:
    grid = LinearGrid(step=step, rounded=True)
    half = np.array([0.5, -0.5, 1.5, 1000001.5]) * step
    assert grid.steps_of_floats(half).tolist() == [1, 0, 2, 1000002]
    assert grid.steps_of_floats(np.nextafter(half, -np.inf)).tolist() == [0, -1, 1, 1000001]


@settings(deadline=None)  # the plan is made in the first example
@given(
    st.lists(
        st.one_of(
            st.decimals(-1000, 1000, places=25, allow_nan=False),
            st.fractions(-1000, 1000),
            st.integers(-1000, 1000),
            st.floats(-1000, 1000),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_exact_types_are_exact_however_near_a_boundary(values: list[Any]) -> None:
    plan = plan_of("real")
    step = Fraction(plan.grid.step)
    near = [Decimal("0.001953125"), Decimal("0.00195312499999999999999999999999"), Fraction(1, 512) * 3]
    everything = [*values, *near]

    found = read_answers(everything, plan.releaser.publisher).steps

    assert found.tolist() == [rounded(Fraction(value), float(step)) for value in everything]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (5, int),
        (5.0, float),
        (np.int32(5), np.int64),
        (np.float32(5), np.float64),
        (Decimal(5), Decimal),
        (Fraction(5), Fraction),
    ],
)
def test_a_number_comes_back_in_its_own_type(answer: object, kind: type) -> None:
    assert type(plan_of("whole").release(answer)) is kind


def test_a_whole_number_comes_back_as_a_float_where_the_plan_publishes_reals() -> None:
    assert type(plan_of("real").release(5)) is float


@pytest.mark.parametrize("kind", ["whole", "relative per answer", "bounded", "range boosted"])
def test_columns_keep_their_form(kind: str) -> None:
    plan = plan_of(kind)
    index = pd.Index(["a", "b", "c"], name="key")
    column = pd.Series([1, 2, 3], index=index, name="visits")

    released = plan.release(column, disjoint=True)
    assert released.index.equals(index)
    assert released.name == "visits"
    assert released.dtype == np.int64

    nullable = plan.release(column.astype("Int64"), disjoint=True)
    assert nullable.dtype == "Int64"

    polars = plan.release(pl.Series("visits", [1, 2, 3]), disjoint=True)
    assert (polars.name, polars.dtype, len(polars)) == ("visits", pl.Int64, 3)

    arrow = plan.release(pa.array([1, 2, 3]), disjoint=True)
    assert (arrow.type, len(arrow)) == (pa.int64(), 3)

    square = plan.release(np.arange(6).reshape(2, 3), disjoint=True)
    assert square.shape == (2, 3)
    assert square.dtype == np.int64

    assert isinstance(plan.release([1, 2, 3], disjoint=True), list)
    assert all(type(y) is int for y in plan.release((1, 2, 3), disjoint=True))
    assert plan.release(np.array([1, 2], dtype=np.uint8), disjoint=True).dtype == np.int64


def test_exact_columns_stay_exact() -> None:
    plan = plan_of("real")
    column = pl.Series("amount", [Decimal("1.10"), Decimal("2.35")])
    assert all(isinstance(y, Decimal) for y in plan.release(column, disjoint=True).to_list())
    objects = plan.release(np.array([Fraction(1, 3), Decimal("0.1")], dtype=object), disjoint=True)
    assert [type(y) for y in objects] == [Fraction, Decimal]
    pandas = plan.release(pd.Series([Decimal("1.1"), Decimal("2")], dtype=object), disjoint=True)
    assert all(isinstance(y, Decimal) for y in pandas)


@pytest.mark.parametrize(
    "answers",
    [
        math.nan,
        math.inf,
        Decimal("NaN"),
        Decimal("Infinity"),
        True,
        "12",
        None,
        [1, None],
        [True, False],
        [Decimal("NaN")],
        ["a"],
        np.array([1.0, np.nan]),
        np.array([1.0, np.inf]),
        np.array(["1"]),
        np.array([True]),
        pd.Series([1.0, None]),
        pd.Series(["x"]),
        pd.DataFrame({"a": [1]}),
        pl.Series([1, None]),
        pl.Series(["x"]),
        {"a": 1},
        np.array([2**63], dtype=np.uint64),
        2**53,
        [2**70],
        1e300,
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["whole", "real"])
def test_what_is_no_finite_number_is_refused(kind: str, answers: object) -> None:
    with pytest.raises(InputError) as refusal:
        plan_of(kind).release(answers, disjoint=True)
    assert "9007199254740992" not in str(refusal.value)


@pytest.mark.parametrize("answers", [1.5, [1.5], np.array([1.5]), Decimal("1.5"), [Decimal("1.5")]])
def test_fractions_are_refused_by_a_plan_for_whole_numbers(answers: object) -> None:
    with pytest.raises(InputError, match="whole number"):
        plan_of("whole").release(answers, disjoint=True)


def test_negative_answers_are_refused_by_a_plan_for_others() -> None:
    for answer in (-1, -1.0, [-1], np.array([-0.5])):
        with pytest.raises(InputError, match="0 or more"):
            plan_of("relative").release(answer, disjoint=True)


def test_answers_outside_a_range_are_clamped() -> None:
    for kind in ("bounded", "range boosted"):
        plan = plan_of(kind)
        top = plan.answer_in_steps(10**6)
        assert read_answers([10**6, -(10**6)], plan.releaser.publisher).steps.tolist() == [top, 0]


def test_published_numbers_are_clamped_where_the_plan_says_so() -> None:
    assert plan_of("bounded").release(np.full(2000, 29), disjoint=True).max() == 30
    assert plan_of("range clamped").release(np.full(2000, 39), disjoint=True).max() == 40


def test_an_empty_column_is_no_release() -> None:
    assert plan_of("whole").release([]) == []
    assert len(plan_of("real").release(np.array([]))) == 0
