"""The potential filter in whole numbers: what a budget starts with, what a step costs, what is left.

v, reach and reserve are kept as whole numbers of small units. What is charged is rounded up and what is left
is rounded down, so that the theorem of `potential` holds for the numbers as they stand in a ledger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pbdp.accounting.composition.loss_law import LossLaw
from pbdp.accounting.filters.potential import Moment, largest_variance, left_after
from pbdp.accounting.filters.steps import second_moment, step_of
from pbdp.domains import fraction, positive
from pbdp.errors import InputError

# How many units make one.
VARIANCES = 10**15
NATS = 10**12
PROBABILITIES = 10**40
# The share of delta that is reserved, unless told.
RESERVE = 0.001
# Beyond it e^epsilon is no number, and an epsilon promises nothing long before.
LARGEST_EPSILON = 700.0
# What a step may take of the reserve for slack and for what it sets aside: its share of the budget left over
# this, within these bounds.
_ALLOWANCE = 4
_LEAST_ALLOWANCE, _MOST_ALLOWANCE = 1 / 2000, 1 / 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What is left of a budget: variance and reserve, and the reach so far, in their units."""

    variance: int
    reach: int
    reserve: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A budget of (epsilon, delta), as written in decimals; `reserve` is the share of delta set aside."""

    epsilon: float
    delta: float
    reserve: float = RESERVE

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        if self.epsilon > LARGEST_EPSILON:
            given = f"{self.epsilon:g}"
            raise InputError("epsilon", f"at most {LARGEST_EPSILON:g}", given, "3 is a common limit.")
        fraction("delta", self.delta)
        if not 0 <= self.reserve <= 1:
            rule = "a share of delta from 0 to 1"
            raise InputError("reserve", rule, f"{self.reserve:g}", "0.001 is usual; more lets claims fit.")

    def start(self) -> Left:
        """What there is before the first step."""
        reserve = allowed(written(self.delta) * written(self.reserve), PROBABILITIES)
        rest = float(written(self.delta) - Fraction(reserve, PROBABILITIES)) * (1 - 2.0**-50)
        variance = allowed(largest_variance(_below(written(self.epsilon)), rest), VARIANCES)
        return Left(variance=variance, reach=0, reserve=reserve)

    def after(
        self, left: Left, laws: Sequence[LossLaw], reach: Fraction | None = None, *, known: bool = False
    ) -> Left | None:
        """What is left after a step that these pairs describe; None if it does not fit.

        `reach` bounds the finite |losses|, where more is known of them than the laws show in rounded numbers.
        `known` says that (1) of `potential` is known to hold with c = v, for a reason of the caller's.
        """
        v = _below(Fraction(left.variance, VARIANCES))
        reserve = _below(Fraction(left.reserve, PROBABILITIES))
        share = second_moment(laws) / (_ALLOWANCE * v) if v > 0 else _MOST_ALLOWANCE
        # of what infinite losses leave
        free = max(reserve - max((law.infinite_above for law in laws), default=0.0), 0.0)
        allowance = free * min(max(share, _LEAST_ALLOWANCE), _MOST_ALLOWANCE)
        step = step_of(laws, allowance / 2)
        slack = min(allowance / 2, (reserve - step.missing) / 2)
        if step.missing > reserve or slack < 0:
            return None
        own = step.reach if reach is None else min(Fraction(step.reach), reach)
        further = left.reach + charged(own, NATS)
        now = Moment(
            epsilon=_below(written(self.epsilon)),
            v=v,
            reach=_above(Fraction(left.reach, NATS)),
            slack=slack,
            adds_up=known or further <= allowed(written(self.epsilon), NATS),
        )
        remaining = left_after(step, now)
        if remaining is None:
            return None
        used = charged(Fraction(step.missing) + Fraction(slack), PROBABILITIES)
        after = Left(
            variance=min(allowed(remaining, VARIANCES), left.variance),
            reach=further,
            reserve=left.reserve - used,
        )
        return after if after.reserve >= 0 else None


def _below(value: Fraction) -> float:
    """The largest float that is not above the value."""
    number = float(value)
    return number if Fraction(number) <= value else math.nextafter(number, -math.inf)


def _above(value: Fraction) -> float:
    """The least float that is not below the value."""
    number = float(value)
    return number if Fraction(number) >= value else math.nextafter(number, math.inf)


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
