"""How widths are written, and what each bad way of writing one is told."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.within import region_within


@pytest.mark.parametrize(
    ("within", "below", "above"),
    [
        (5, 5, 5),
        (0.25, 0.25, 0.25),
        (Fraction(11, 2), 5.5, 5.5),
        (np.float64(3), 3, 3),
        ("5", 5, 5),
        (" 2.5 ", 2.5, 2.5),
        ("1e-3", 0.001, 0.001),
        ((2, 8), 2, 8),
        ([2.5, 1], 2.5, 1),
        ((0, 5), 0, 5),
        ((5, math.inf), 5, math.inf),
    ],
)
def test_a_number_or_two_is_an_absolute_width(within: object, below: float, above: float) -> None:
    assert region_within(within) == AbsoluteRegion(below=below, above=above)


@pytest.mark.parametrize(
    ("within", "theta", "tau"),
    [
        ("5%+10", 0.05, 10),
        (" 5 % + 10 ", 0.05, 10),
        ("0.5%+.25", 0.005, 0.25),
        ("99.9%+1e2", 0.999, 100),
        ("2e1%+1", 0.2, 1),
    ],
)
@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_percentage_plus_a_number_is_a_relative_width(
    within: str, theta: float, tau: float, nonnegative: bool
) -> None:
    region = region_within(within, nonnegative)
    assert isinstance(region, RelativeRegion)
    assert region.theta == pytest.approx(theta, rel=3e-16)
    assert (region.tau, region.nonnegative) == (tau, nonnegative)


@pytest.mark.parametrize(
    "within",
    [
        0,
        -1,
        math.nan,
        math.inf,
        -math.inf,
        True,
        None,
        1j,
        b"5",
        {"within": 5},
        (1,),
        (1, 2, 3),
        (0, 0),
        (5, -1),
        (math.nan, 5),
        ("5", 5),
        (True, 5),
        "",
        "five",
        "0",
        "-5",
        "nan",
        "inf",
        "5 6",
        "5%%+1",
        "%+1",
        "5%-1",
        "5%+",
        "1.2.3%+4",
        "-5%+1",
    ],
    ids=repr,
)
def test_what_is_no_width_is_refused_with_a_remedy(within: object) -> None:
    with pytest.raises(InputError, match=r"^within must be .*; got .*\. .*Write 5 for") as refused:
        region_within(within)
    assert refused.value.name == "within"


@pytest.mark.parametrize("within", ["100%+5", "250%+5", "0%+5", "1e300%+5"])
def test_a_percentage_outside_0_to_100_is_refused(within: str) -> None:
    with pytest.raises(InputError, match=r"within must be a percentage above 0 and below 100; got .*100 %"):
        region_within(within)


def test_a_percentage_alone_is_refused() -> None:
    for within in ("5%", "5%+0"):
        with pytest.raises(InputError, match=r"within must be .*plus a number above 0.*write 5%\+10, say"):
            region_within(within)


def test_a_percentage_that_never_shows_is_refused() -> None:
    with pytest.raises(InputError, match=r"within must be a percentage of at least .*leave it out"):
        region_within("1e-300%+5")


def test_a_percentage_plus_infinity_is_refused() -> None:
    with pytest.raises(InputError, match="within must be a finite number above 0"):
        region_within("5%+1e400")


@pytest.mark.parametrize(
    ("within", "text"),
    [
        (5, 5),
        ((2, 8), [2, 8]),
        ("7%+10", "7%+10"),
        ("29%+0.1", "29%+0.1"),
        ("12.345%+1e-05", "12.345%+1e-05"),
        ("33.333333333333336%+1", "33.333333333333336%+1"),
    ],
)
def test_a_width_is_written_as_it_was_asked_for(within: object, text: object) -> None:
    assert region_within(within).within == text


def test_every_written_percentage_is_read_as_the_same_region() -> None:
    rng = np.random.default_rng(1)
    for theta, tau in zip(rng.uniform(1e-8, 1, 500), 10 ** rng.uniform(-9, 9, 500), strict=True):
        region = RelativeRegion(theta=float(theta), tau=float(tau))
        again = region_within(region.within)
        assert isinstance(again, RelativeRegion)
        assert again.tau == region.tau
        assert again.theta == pytest.approx(region.theta, rel=3e-16)


def test_a_range_has_no_width() -> None:
    assert FixedRegion(low=0, high=1).within is None
