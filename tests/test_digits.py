"""Figures in sentences: exact where four digits do, else rounded to the safe side; or all digits."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbdp.digits import (
    delta_text,
    epsilon_text,
    number_in,
    order_text,
    outward,
    percent_down,
    percent_up,
    plain,
    plain_column,
    plus_minus,
    rounded_down,
    rounded_up,
)


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
        (0.999999, "99.9999 %", "99.9999 %"),
        (0.9999995, "99.99995 %", "99.99995 %"),
        (0.99999949, "99.99994 %", "99.99995 %"),
        (1 - 2**-53, "99.9999999999999 %", "100 %"),
        (0.9995, "99.95 %", "99.95 %"),
        (0.00012345, "0.01234 %", "0.01235 %"),
        (1e-9, "1e-07 %", "0.0001 %"),
        (1.0, "100 %", "100 %"),
    ],
)
def test_a_promise_in_per_cent_is_never_overstated(share: float, down: str, up: str) -> None:
    assert (percent_down(share), percent_up(share)) == (down, up)


@given(st.floats(min_value=1e-300, max_value=1) | st.floats(min_value=0, max_value=1e-4).map(lambda x: 1 - x))
def test_shares_are_never_flattered_nor_certain_unless_they_are(share: float) -> None:
    down, up = (Decimal(text.removesuffix(" %")) / 100 for text in (percent_down(share), percent_up(share)))
    assert down <= Decimal(repr(share)) <= up
    assert (down == 1) == (share == 1)
    # near certainty what is missing is told to a factor of two
    assert 1 - down <= 2 * (1 - Decimal(repr(share))) or share < 0.9995 or share > 1 - 1e-14


@given(st.floats(min_value=1e-16, max_value=700))
def test_losses_and_deltas_are_rounded_up(figure: float) -> None:
    assert Decimal(epsilon_text(figure)) >= Decimal(repr(figure))
    assert Decimal(delta_text(figure)) >= Decimal(repr(figure))
    assert float(delta_text(figure)) <= figure * (1 + 1.1e-5)


@given(st.floats(min_value=1, max_value=1e5, exclude_min=True))
def test_orders_are_rounded_down_and_stay_above_one(order: float) -> None:
    plus = order_text(order).removeprefix("1 + ")
    shown = Decimal(plus) + (1 if plus != order_text(order) else 0)
    assert shown > 1
    assert shown <= Decimal(order) * (1 + Decimal(2) ** -52)


# A loss, a delta, a confidence or a risk; constants in capitals are none of a plan.
FIGURE = re.compile(r"(?<![A-Z_])(epsilon|delta|confidence|risk|guessed|prior)(?![A-Z(])")
# What a figure is compared with, and what was asked for.
ALLOWED = {
    ("planning/certificate.py", "self.epsilon"),
    ("planning/certificate.py", "self.epsilon_lower"),
    ("planning/plan_file.py", "plan.epsilon"),
    ("ledger/question.py", "self.confidence"),
    ("local/boosted_response.py", "epsilon0"),
    ("tables/manifest.py", "plan.delta"),
    ("tables/query.py", "self.epsilon"),
}
SOURCES = Path(__file__).parents[1] / "src" / "pbdp"
# What a user gave and is refused.
ELSEWHERE = ("local/integer_weights.py", "local/local_hashing.py", "accounting/filters/rule.py")


def formatted(source: str) -> Iterator[str]:
    """The expressions that are written with a number of digits."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            yield ast.unparse(node.value)


def test_no_loss_or_confidence_is_written_without_a_direction() -> None:
    found = {
        (str(path.relative_to(SOURCES)), expression)
        for path in SOURCES.rglob("*.py")
        if not str(path.relative_to(SOURCES)).startswith(ELSEWHERE)
        for expression in formatted(path.read_text(encoding="utf-8"))
        if FIGURE.search(expression)
    }
    assert found - ALLOWED == set()
    assert list(formatted('f"{plan.epsilon:.3g} {plan.delta}"')) == ["plan.epsilon"]


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


@pytest.mark.parametrize(
    ("value", "off", "words"),
    [
        (1234.0, 5.0, "1,234 ± 5"),
        (144238.2812, 5000.0, "144,238 ± 5,001"),
        (4.85061, 0.3545, "4.851 ± 0.355"),
        (0.0, 0.5, "0.000 ± 0.500"),
        (7.0, 0.0, "7 ± 0"),
        (3.354387, 2.953606, "3.35 ± 2.96"),
        (0.3, 0.1, "0.300 ± 0.100"),
        (1.0, math.inf, "1 ± inf"),
    ],
)
def test_a_number_that_is_rounded_takes_what_that_moves_it_into_its_width(
    value: float, off: float, words: str
) -> None:
    assert plus_minus(value, off) == words


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1234", 1234),
        (" -0.10 ", Fraction(-1, 10)),
        ("", 0),
        ("1e3", 1000),
        ("0." + "3" * 900, Fraction(int("3" * 900), 10**900)),
        ("7" * 999, int("7" * 999)),
    ],
    ids=["whole", "fraction", "nothing", "exponent", "many places", "many digits"],
)
def test_a_number_is_read_with_all_its_digits(text: str, number: Fraction) -> None:
    assert Fraction(number_in(text)) == number


@pytest.mark.parametrize("text", ["1,5", "five", "0x10", "1 2"])
def test_what_is_no_number_is_not_read(text: str) -> None:
    with pytest.raises(ArithmeticError):
        number_in(text)
