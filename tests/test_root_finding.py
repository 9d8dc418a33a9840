"""The least number that is enough: never too small, and hardly too large."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from pbdp.root_finding import least_enough


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
