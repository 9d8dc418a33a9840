"""What a randomizer certifies: the logarithm of its largest column ratio, rounded up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context
from fractions import Fraction

from pbdp.errors import CannotCertifyError

# Decimal's logarithm is correctly rounded, so the last of these digits is off by less than one.
DIGITS = 60


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
