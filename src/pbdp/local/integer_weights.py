"""Whole-number weights out of 2^62: ratios that keep to an epsilon, and the epsilon that weights certify.

What a randomizer certifies is the logarithm of its largest column ratio, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Protocol, TypeVar

from pbdp.errors import CannotCertifyError, InputError
from pbdp.parameters import positive

# e^20 of 2^62 leaves 33 bits to the smallest weights.
LARGEST_EPSILON = 20.0
SMALLEST_EPSILON = 1e-6
# Taken off epsilon before weights are rounded, so that the rounded ratio stays below e^epsilon.
SHAVE = 2.0**-44
# Decimal's logarithm is correctly rounded, so the last of these digits is off by less than one.
DIGITS = 60


class Certified(Protocol):
    """What has an epsilon of its own."""

    @property
    def epsilon(self) -> float:
        """Certified from whole-number weights."""


Made = TypeVar("Made", bound=Certified)


def checked_epsilon(epsilon: float, largest: float = LARGEST_EPSILON, words: str = "") -> float:
    """epsilon within what 62 bits can hold, or a mechanism (`words`)."""
    if not SMALLEST_EPSILON <= positive("epsilon", epsilon) <= largest:
        raise InputError("epsilon", f"from {SMALLEST_EPSILON:g} to {largest:g}{words}", f"{epsilon:g}")
    return float(epsilon)


def ratio_below(epsilon: float) -> float:
    """A little less than e^epsilon, so that rounding weights does not lead beyond it."""
    return math.exp(epsilon - max(epsilon, 1.0) * SHAVE)


def certified(made: Made, epsilon: float) -> Made:
    """What was made, if it keeps to epsilon."""
    if made.epsilon > epsilon:
        raise CannotCertifyError("No integer weights hold this epsilon. Use a larger one.")
    return made


def epsilon_of(ratio: Fraction) -> float:
    """The least float that is at least ln(ratio), up to 1 in 10^58; ratio is exact and at least one.

    Every step rounds up: the quotient, the logarithm (correctly rounded, then moved to the next decimal) and
    the float. Hence e^epsilon >= ratio: the claim is never below the truth.
    """
    if ratio < 1:
        raise AssertionError("the largest ratio of a column is at least one")
    if ratio == 1:
        return 0.0
    context = Context(prec=DIGITS, rounding=ROUND_CEILING)
    quotient = context.divide(context.create_decimal(ratio.numerator), ratio.denominator)
    logarithm = context.next_plus(context.ln(quotient))
    nearest = float(logarithm)
    return nearest if Fraction(nearest) >= Fraction(logarithm) else math.nextafter(nearest, math.inf)


def largest_ratio(columns: Iterable[Iterable[int]]) -> Fraction:
    """Largest over smallest weight in a column, over all columns of a matrix of integer weights.

    A randomizer with P(y|x) = weight/total is epsilon-LDP if and only if P(y|x) <= e^epsilon P(y|x') for all
    y, x, x', which is this ratio (Kasiviswanathan et al. 2011, definition). A zero beside a positive weight
    has no finite ratio and is refused.
    """
    largest = Fraction(1)
    for column in columns:
        weights = tuple(column)
        least, most = min(weights), max(weights)
        if least <= 0:
            raise CannotCertifyError("A report that some value can never give has no finite privacy loss.")
        largest = max(largest, Fraction(most, least))
    return largest
