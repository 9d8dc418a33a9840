"""Values in steps: exact, nearest, within their bounds, and never too many for 64 bits."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pbdp.errors import InputError
from pbdp.mechanism.fixed_point import LARGEST_SUM, USUAL_ROWS, FixedPoint

numbers = st.floats(allow_nan=False, allow_infinity=False)
rows = st.integers(1, 1 << 45)


def made(low: float, high: float, most_rows: int, *, whole: bool) -> FixedPoint:
    """A column, where the bounds are such that there is one."""
    assume(low < high)
    try:
        return FixedPoint(low=low, high=high, whole=whole, most_rows=most_rows)
    except InputError:
        assume(False)
        raise


fractional = st.builds(made, numbers, numbers, rows, whole=st.just(False))
whole_bounds = st.integers(-(1 << 26), 1 << 26).map(float)
whole_columns = st.builds(made, whole_bounds, whole_bounds, rows, whole=st.just(True))
columns = fractional | whole_columns


def steps(x: float, low: float, high: float, fixed: FixedPoint) -> int:
    """What engines do with a value, in doubles."""
    return math.floor(min(max(x, low), high) * fixed.per_unit + 0.5)


@given(columns, numbers)
def test_no_sum_of_as_many_rows_as_declared_can_overflow(fixed: FixedPoint, x: float) -> None:
    furthest = max(abs(fixed.low), abs(fixed.high))
    for value in (x, -x, furthest, -furthest, math.inf, -math.inf, 0.0):
        per_row = steps(value, fixed.low, fixed.high, fixed)
        per_person = steps(value, -furthest, furthest, fixed)
        assert fixed.most_rows * abs(per_row) <= LARGEST_SUM
        assert 0 <= fixed.most_rows * (per_row - fixed.low_steps) <= LARGEST_SUM
        assert fixed.most_rows * abs(per_person) <= LARGEST_SUM
        # what one row adds stays below the sensitivity that is declared
        assert fixed.low_steps <= per_row <= fixed.high_steps
        assert fixed.width > 0
        assert 0 <= per_row - fixed.low_steps <= fixed.width


@given(columns)
def test_a_step_is_a_power_of_two_and_steps_in_a_unit_are_exact(fixed: FixedPoint) -> None:
    assert math.frexp(fixed.step)[0] == 0.5
    assert Fraction(fixed.per_unit) * Fraction(fixed.step) == 1
    if fixed.whole:
        assert fixed.step == 1
        assert (fixed.low_steps, fixed.high_steps) == (fixed.low, fixed.high)


@given(columns, numbers)
def test_a_value_counts_as_the_nearest_number_of_steps(fixed: FixedPoint, x: float) -> None:
    exact = Fraction(min(max(x, fixed.low), fixed.high)) / Fraction(fixed.step)
    off = fixed.steps_of(x) - exact
    # adding 1/2 in doubles may round up what is just below a half
    assert -Fraction(1, 2) < off <= Fraction(1, 2) + Fraction(1, 1 << 50)


@given(columns, st.lists(numbers, min_size=2, max_size=2).map(sorted))
def test_larger_values_never_count_as_fewer_steps(fixed: FixedPoint, pair: list[float]) -> None:
    assert fixed.steps_of(pair[0]) <= fixed.steps_of(pair[1])


@given(fractional)
def test_the_step_is_as_fine_as_the_bounds_allow_but_for_two_bits(fixed: FixedPoint) -> None:
    furthest = max(Fraction(abs(fixed.low)), Fraction(abs(fixed.high)))
    reach = max(Fraction(fixed.high) - Fraction(fixed.low), furthest)
    finer = Fraction(fixed.step) / 8
    assert reach * fixed.most_rows / finer > LARGEST_SUM or furthest / finer > 1 << 50


@given(columns)
def test_the_middle_is_between_the_bounds(fixed: FixedPoint) -> None:
    assert fixed.low_steps <= fixed.middle_steps <= fixed.high_steps
    furthest = max(fixed.high_steps - fixed.middle_steps, fixed.middle_steps - fixed.low_steps)
    assert furthest == -(-fixed.width // 2)


@given(columns)
def test_values_per_person_clamped_by_row_first_lose_nothing_within_the_bounds(fixed: FixedPoint) -> None:
    furthest = max(abs(fixed.low), abs(fixed.high))
    for value in (fixed.low, fixed.high):
        assert steps(value, -furthest, furthest, fixed) == fixed.steps_of(value)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0, 100), (-10, 10), (0, 1e-12), (0, 1e12), (-1e15, 1), (5, 6), (1e6, 1e6 + 1)]
)
def test_usual_columns_have_fine_steps(low: float, high: float) -> None:
    fixed = FixedPoint(low=low, high=high)
    assert fixed.most_rows == USUAL_ROWS
    assert fixed.step <= max(abs(low), abs(high)) / 1e6


@pytest.mark.parametrize(
    ("low", "high", "whole", "most_rows", "told"),
    [
        (1, 1, False, 10, "low must be below high, which is 1; got 1"),
        (2, 1, False, 10, "low must be below high"),
        (math.nan, 1, False, 10, "low must be a finite number"),
        (0, math.inf, False, 10, "high must be a finite number"),
        (0, 10**400, False, 10, "a number beyond all floats"),
        (0, 1.5, True, 10, "whole numbers for a whole column"),
        (0, 2.0**40, True, 1 << 36, "near enough for sums over 68,719,476,736 rows"),
        (0, 2.0**51, True, 1, "near enough for sums"),
        (0, 1e-305, False, 10, "numbers of a usual size"),
        (0, 5e-324, False, 1, "numbers of a usual size"),
        (1e9, 1e9 + 1, False, 1 << 36, "high must be further above low than 32; got 1. Sum up what is"),
        (-1e308, 1e308, False, 10, "numbers of a usual size"),
        (0, 1, False, 0, "most_rows must be a whole number of at least 1"),
        (0, 1, False, 1 << 2000, "most_rows must be a whole number"),
    ],
)
def test_bounds_that_cannot_be_used_are_refused(
    low: float, high: float, whole: bool, most_rows: int, told: str
) -> None:
    with pytest.raises(InputError) as refused:
        FixedPoint(low=low, high=high, whole=whole, most_rows=most_rows)
    assert told in str(refused.value)
