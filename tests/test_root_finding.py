"""The least number that is enough: never too small, and hardly too large."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from pbdp.root_finding import least_enough, least_whole


@pytest.mark.parametrize("start", [1e-3, 0.9, 1.0, 40.0])
@pytest.mark.parametrize(
    ("short", "exact"),
    [
        (lambda x: 1 / x - 2, 0.5),
        (lambda x: math.exp(-x) - 0.01, math.log(100)),
        (lambda x: 1.0 if x < 3 else -1.0, 3.0),
        (lambda x: math.ceil(10 - x) - 4.5, 6.0),
    ],
)
def test_the_least_is_found_from_anywhere(
    short: Callable[[float], float], exact: float, start: float
) -> None:
    found = least_enough(short, start, close=1e-6)
    assert short(found) <= 0
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 2e-6)


def test_smooth_functions_take_few_evaluations() -> None:
    calls = []

    def short(x: float) -> float:
        calls.append(x)
        return 1 / x**2 - 7

    least_enough(short, 0.38, close=1e-6)
    assert len(calls) <= 10


def test_what_is_never_enough_is_infinite_and_what_always_is_is_small() -> None:
    assert least_enough(lambda _: 1.0, 1.0) == math.inf
    assert least_enough(lambda _: -1.0, 1.0) < 1e-15


@pytest.mark.parametrize("start", [1.0, 7.3, 900.0, 5e5])
@pytest.mark.parametrize("exact", [1, 2, 16, 999, 651_994])
@pytest.mark.parametrize("plateau", [1, 10])
def test_whole_numbers_are_found_exactly(exact: int, start: float, plateau: int) -> None:
    calls = []

    def short(x: int) -> float:
        calls.append(x)
        return 1 / max((x - exact) // plateau * plateau + exact + 0.5, 0.25) - 1 / (exact + 0.5)

    assert least_whole(short, start, 1e6) == exact
    assert len(calls) <= 45


def test_no_whole_number_may_be_enough() -> None:
    assert least_whole(lambda x: 7.5 - x, 3.0, 7.9) is None
    assert least_whole(lambda x: 6.5 - x, 3.0, 7.9) == 7
