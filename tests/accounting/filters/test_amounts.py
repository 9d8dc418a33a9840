"""Whole-number amounts: decimals are read as they are written."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pbdp.accounting.filters.amounts import allowed, charged, not_below_written, written
from pbdp.accounting.filters.rule import NATS, PROBABILITIES


def test_decimals_are_read_as_they_are_written() -> None:
    assert 10 * charged(written(0.1), NATS) == allowed(written(1.0), NATS)
    assert 3 * charged(written(1e-7), PROBABILITIES) == allowed(written(3e-7), PROBABILITIES)
    assert charged(0.1, NATS) == 10**11 + 1  # the float itself is a little more than a tenth


@pytest.mark.parametrize("value", [0.1, 0.3, 1e-5, 1e-6, 2.5, 0.0])
def test_the_float_above_what_is_written(value: float) -> None:
    above = not_below_written(value)
    assert Fraction(above) >= written(value)
    assert above == value or Fraction(value) < written(value)
