"""Figures in sentences: exact where four digits do, else rounded to the safe side; or all digits."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbdp.digits import outward, percent_down, percent_up, plain, plain_column, rounded_down, rounded_up


def test_figures_are_rounded_to_four_digits() -> None:
    assert (rounded_down(0.41476802), rounded_up(0.41476802)) == ("0.4147", "0.4148")
    assert (rounded_down(1e-9), rounded_up(123456.7)) == ("1e-09", "1.235e+05")
    assert rounded_up(9999.5) == "1e+04"


@pytest.mark.parametrize("figure", [0.0, 0.1, 0.3, 0.35, 0.5, 0.57, 0.9, 3.0, 1234.0, math.inf])
def test_a_figure_of_four_digits_stays_as_it_is(figure: float) -> None:
    assert float(rounded_down(figure)) == float(rounded_up(figure)) == figure


@pytest.mark.parametrize(
    ("share", "down", "up"),
    [
        (0.9, "90 %", "90 %"),
        (0.07, "7 %", "7 %"),
        (0.57, "57 %", "57 %"),
        (0.8999999999, "89.99 %", "90 %"),
        (0.90004, "90 %", "90.01 %"),
        (0.999999, "99.99 %", "100 %"),
        (0.00012345, "0.01234 %", "0.01235 %"),
        (1.0, "100 %", "100 %"),
    ],
)
def test_a_promise_in_per_cent_is_never_overstated(share: float, down: str, up: str) -> None:
    assert (percent_down(share), percent_up(share)) == (down, up)


def test_more_digits_tell_a_confidence_from_certainty() -> None:
    assert percent_down(0.999999, digits=6) == "99.9999 %"
    assert percent_down(0.99999999, digits=6) == "99.9999 %"


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_the_direction_holds_for_every_figure(figure: float) -> None:
    exact = Decimal(repr(figure))
    assert Decimal(rounded_down(figure)) <= exact <= Decimal(rounded_up(figure))
    assert Decimal(rounded_up(figure)) - Decimal(rounded_down(figure)) <= Decimal("1.001e-3") * exact


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_plain_digits_give_the_same_number_back(number: float) -> None:
    text = plain(number)
    assert float(text) == number
    assert "e" not in text
    assert not text.endswith(".0")
    assert plain_column([number]) == [text]


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_intervals_are_shown_outwards(low: float, width: float) -> None:
    high = low + width
    if high > low:
        least, most = map(Decimal, outward(low, high))
        assert least <= Decimal(low)
        assert most >= Decimal(high)
        assert most - least <= Decimal(high - low) * Decimal("1.01") + 2
