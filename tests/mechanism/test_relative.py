"""Relative widths as text: read in every way they are written, and written so that they are read the same."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbdp.errors import InputError
from pbdp.mechanism.relative import RelativeRegion, WidthText
from pbdp.mechanism.within import region_within, unknown_of


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("5%+10", ("5", "10")),
        (" 5 % + 1e2 ", ("5", "1e2")),
        ("10 + 5 %", ("5", "10")),
        ("5%", ("5", "")),
        ("?%+10", ("?", "10")),
        ("5 % + ?", ("5", "?")),
        ("1.2.3%+4", ("1.2.3", "4")),
    ],
)
def test_the_parts_are_read_as_they_are_written(given: str, parts: tuple[str, str]) -> None:
    assert WidthText.read(given) == parts
    assert WidthText.read(str(WidthText(*parts))) == parts


@pytest.mark.parametrize(
    "given", ["", "5", "%", "%+1", "5%+", "5%-1", "5%%+1", "10+?%", "five%", None, 5, (5, 5)]
)
def test_anything_else_is_no_relative_width(given: object) -> None:
    assert WidthText.read(given) is None


@given(st.floats(1e-8, 0.9999), st.floats(1e-300, 1e300))
def test_what_is_written_is_read_as_the_same_numbers(theta: float, tau: float) -> None:
    region = RelativeRegion(theta=theta, tau=tau)
    again = region_within(region.within)
    assert isinstance(again, RelativeRegion)
    assert again.tau == tau
    # a percentage of 17 digits may be a hundredth of the next double
    assert math.isclose(again.theta, theta, rel_tol=2.0**-52)


@pytest.mark.parametrize("percent", ["7", "0.7", "5", "12.5", "33.3"])
def test_short_percentages_stay_short(percent: str) -> None:
    assert region_within(f"{percent}%+10").within == f"{percent}%+10"


@pytest.mark.parametrize(
    "text", ["?", "?%", "?%+?", "10+?%", "?%+1.2.3", "1.2.3%+?", "100%+?", "0%+?", "?+5"]
)
def test_what_cannot_be_found_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"within must be \?%\+10 or 5%\+\?"):
        unknown_of(text)
