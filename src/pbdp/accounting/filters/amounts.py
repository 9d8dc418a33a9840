"""Whole-number amounts: what is charged is rounded up, what is allowed is rounded down."""

from __future__ import annotations

import math
from fractions import Fraction


def written(value: float) -> Fraction:
    """The number that a float is written as: 1/10 for 0.1, whose own value is a little more.

    Limits are promises made in decimals; read as such, ten times 0.1 is 1.
    """
    return Fraction(repr(float(value)))


def not_below_written(value: float) -> float:
    """The least float that is not below the number that `value` is written as."""
    number = float(value)
    return number if Fraction(number) >= written(number) else math.nextafter(number, math.inf)


def charged(amount: Fraction | float, units: int) -> int:
    """The least whole number of units that is not below the amount."""
    return math.ceil(Fraction(amount) * units)


def allowed(amount: Fraction | float, units: int) -> int:
    """The largest whole number of units that is not above the amount."""
    return math.floor(Fraction(amount) * units)
