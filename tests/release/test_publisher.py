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
from pbdp.release.publisher import read_answers
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

    found = read_answers(everything, plan.releaser.publisher).steps()

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
    assert (polars.name, polars.dtype, len(polars)) == ("visits", pl.Int64(), 3)

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
        True,
        np.True_,
        "7531",
        None,
        3j,
        np.datetime64("2024-02-29"),
        [True, False],
        [1, True],
        ["a"],
        [1, "7531"],
        [[1, 2]],
        np.array(["1"]),
        np.array([True]),
        np.array([1j]),
        np.array([1.0], dtype=np.longdouble),
        pd.Series(["x"]),
        pd.Series([True, None], dtype="boolean"),
        pd.DataFrame({"a": [1]}),
        pl.Series(["x"]),
        pl.Series([True]),
        pl.DataFrame({"a": [1]}),
        pa.array(["x"]),
        pa.array([True]),
        {"a": 1},
    ],
)
@pytest.mark.parametrize("kind", ["whole", "real"])
def test_what_is_no_number_by_its_type_is_refused(kind: str, answers: object) -> None:
    with pytest.raises(InputError) as refusal:
        plan_of(kind).prepared(answers)
    assert refusal.value.name == "answer"
    assert "7531" not in str(refusal.value)


def steps_of(kind: str, answers: object) -> list[int]:
    """The grid points that answers of any form are drawn at."""
    releaser = plan_of(kind).releaser
    several = isinstance(answers, list | np.ndarray | pd.Series | pl.Series | pa.Array)
    steps = read_answers(answers, releaser.publisher).steps() if several else releaser.steps_of(answers)
    return [int(step) for step in steps]


FAR = 2**52


@pytest.mark.parametrize(
    ("answer", "steps"),
    [
        (math.nan, 0),
        (math.inf, FAR),
        (-math.inf, -FAR),
        (1e300, FAR),
        (5e-324, 0),
        (1.5, 2),
        (-1.5, -1),
        (2**53, FAR),
        (-(2**53), -FAR),
        (2**63, FAR),
        (-(10**400), -FAR),
        (Decimal("NaN"), 0),
        (Decimal("sNaN"), 0),
        (Decimal("-sNaN123"), 0),
        (Decimal("-Infinity"), -FAR),
        (Decimal("1e999999999999"), FAR),
        (Decimal("-1e999999999999"), -FAR),
        (Decimal("1e-999999999999"), 0),
        (Decimal("0e999999999999"), 0),
        (Decimal("1.5"), 2),
        (Decimal("1.4999999999999999999999999999999999"), 1),
        (Decimal("-0.5"), 0),
        (Fraction(10**400, 3), FAR),
        (Fraction(-1, 10**400), 0),
        (Fraction(-3, 2), -1),
        (np.float16(1.5), 2),
        (np.float32(-2.5), -2),
        (np.float64("nan"), 0),
        (np.float64("-inf"), -FAR),
        (np.longdouble("nan"), 0),
        (np.longdouble("-inf"), -FAR),
        (np.longdouble("1e4000"), FAR),
        (np.longdouble(1.5), 2),
        # as a double it would be 1000000.5, which is rounded up
        (np.longdouble(1000000.5) - np.longdouble(2.0) ** -40, 1000000),
        (np.int8(-5), -5),
        (np.int64(2**63 - 1), FAR),
        (np.uint64(2**64 - 1), FAR),
        (np.uint64(7), 7),
    ],
    ids=repr,
)
def test_every_number_has_a_grid_point(answer: Any, steps: int) -> None:
    """The same for a number alone, in a list, in a list of other types, and in an array."""
    assert steps_of("whole", answer) == [steps]
    assert steps_of("whole", [answer, answer]) == [steps] * 2
    assert steps_of("whole", [answer, Fraction(1, 3)]) == [steps, 0]
    if isinstance(answer, np.generic | float) and not isinstance(answer, np.longdouble):
        assert steps_of("whole", np.array([answer])) == [steps]
        assert steps_of("whole", pl.Series(np.array([answer]))) == [steps]
    # numpy warns or fails when asked to, but nothing here depends on it
    with np.errstate(all="raise"):
        plan_of("whole").release(answer)
        plan_of("real").release([answer, answer], disjoint=True)


@pytest.mark.parametrize(
    ("column", "steps"),
    [
        ([1, None, 3], [1, 0, 3]),
        ([None, None], [0, 0]),
        ([1.5, None, math.nan], [2, 0, 0]),
        (np.ma.array([1, 5, 3], mask=[False, True, False]), [1, 0, 3]),
        (pd.Series([1.0, None]), [1, 0]),
        (pd.Series([1, None], dtype="Int64"), [1, 0]),
        (pd.Series([2**64 - 1, None], dtype="UInt64"), [FAR, 0]),
        (pd.Series([1.5, None], dtype="Float64"), [2, 0]),
        (pd.Series([1, None], dtype=pd.ArrowDtype(pa.int64())), [1, 0]),
        (pd.Series([Decimal("1.5"), None], dtype=pd.ArrowDtype(pa.decimal128(9, 2))), [2, 0]),
        (pd.Series([Decimal("1.5"), None, pd.NA], dtype=object), [2, 0, 0]),
        (pl.Series([1, None]), [1, 0]),
        (pl.Series([1.5, None]), [2, 0]),
        (pl.Series([2**100, None, -3], dtype=pl.Int128), [FAR, 0, -3]),
        (pl.Series([Decimal("1.50"), None]), [2, 0]),
        (pl.Series([None, None], dtype=pl.Decimal(9, 2)), [0, 0]),
        (pa.array([1, None]), [1, 0]),
        (pa.array([None, 1.5]), [0, 2]),
        (pa.array([Decimal("1.5"), None]), [2, 0]),
        (pa.array([1, None, 1]).dictionary_encode(), [1, 0, 1]),
    ],
)
def test_what_is_missing_counts_as_zero(column: Any, steps: list[int]) -> None:
    assert steps_of("whole", column) == steps


@pytest.mark.parametrize("kind", ["whole", "real", "relative"])
@pytest.mark.parametrize(
    "pair",
    [
        ([1, 2], [None, 2]),
        ([1.5, 2.5], [1.5, None]),
        ([Decimal(1), Decimal(2)], [Decimal(1), None]),
        (pd.Series([1, 2], dtype="Int64"), pd.Series([None, None], dtype="Int64")),
        (pd.Series([1.5, 2], dtype="Float64"), pd.Series([None, 2], dtype="Float64")),
        (pl.Series("n", [1, 2]), pl.Series("n", [None, 2])),
        (pl.Series("n", [1, 2], dtype=pl.Int128), pl.Series("n", [None, 2**100], dtype=pl.Int128)),
        (pa.array([1, 2]), pa.array([None, None], type=pa.int64())),
        (pa.chunked_array([pa.array([1.5, 2])]), pa.chunked_array([pa.array([None, 2.0])])),
        (np.array([1, 2]), np.array([2**62, -5])),
        (np.array([1.0, 2]), np.array([math.nan, math.inf])),
    ],
)
def test_the_form_of_the_result_does_not_tell_of_gaps_or_values(kind: str, pair: tuple[Any, Any]) -> None:
    assert form(plan_of(kind).release(pair[0], disjoint=True)) == form(
        plan_of(kind).release(pair[1], disjoint=True)
    )


def form(published: Any) -> list[object]:
    """Types, and how many there are."""
    inside = getattr(published, "dtype", getattr(published, "type", None))
    kinds = [type(number) for number in published] if isinstance(published, list) else []
    return [type(published), str(inside), len(published), *kinds]


@pytest.mark.parametrize("kind", ["relative", "whole relative"])
def test_exact_columns_come_back_even_where_their_type_cannot_hold_the_digits(kind: str) -> None:
    plan = plan_of(kind)
    for column in (
        pl.Series([Decimal("1.10"), Decimal("2.35")]),
        pl.Series([Decimal("1e37"), None]),
        pl.Series([2**126, 5], dtype=pl.Int128),
        pa.array([Decimal("1.10"), None]),
        pa.array([Decimal("1e37")]),
    ):
        published = plan.release(column, disjoint=True)
        assert isinstance(published, pl.Series if isinstance(column, pl.Series) else pa.Array)
        assert len(published) == len(column)


def test_whole_numbers_that_no_machine_word_holds_are_published_too() -> None:
    plan = plan_of("whole relative")
    assert type(plan.release(10**300)) is int
    assert plan.release(10**300) > 10**200
    assert plan.release(np.int64(2**63 - 1)) <= 2**62
    assert plan.release(np.array([2**63 - 1])).dtype == np.int64


def test_negative_answers_count_as_zero_in_a_plan_for_others() -> None:
    for answer in (-1, -1.0, Decimal(-1), [-1], np.array([-0.5])):
        assert steps_of("relative", answer) == [0]
    assert steps_of("nonnegative per answer", [-7, 3]) == [0, 3]


def test_answers_outside_a_custom_region_count_as_its_ends() -> None:
    assert steps_of("custom", [-3, 41, 10**30, 7]) == [0, 40, 40, 7]


def test_answers_outside_a_range_are_clamped() -> None:
    for kind in ("bounded", "range boosted"):
        plan = plan_of(kind)
        top = plan.answer_in_steps(10**6)
        assert read_answers([10**6, -(10**6)], plan.releaser.publisher).steps().tolist() == [top, 0]


def test_published_numbers_are_clamped_where_the_plan_says_so() -> None:
    assert plan_of("bounded").release(np.full(2000, 29), disjoint=True).max() == 30
    assert plan_of("range clamped").release(np.full(2000, 39), disjoint=True).max() == 40


def test_an_empty_column_is_no_release() -> None:
    assert plan_of("whole").release([]) == []
    assert len(plan_of("real").release(np.array([]))) == 0
