"""The potential filter in whole numbers: what a budget starts with, what a step costs, what is left.

What is paid for, and that it is enough, is proved in `pbdp.accounting.filters`; (1) is the inequality there.

**Checking (1) for all x.** Both sides are convex in u = e^x. Between two points of a grid the left side lies
below its chord and the right side above its two tangents, hence above any mean of these with weights mu and
1 - mu, which is a straight line: it is enough to compare the chord with that line at the two points. The
slope is dh/du = -w/u, where h = f - w,

    f = normal mass above t = x/s - s/2,    w = e^x · normal mass above t' = x/s + s/2,    s = √v.

From the x on with h_v(x - largest loss)·mass <= a there is nothing to check: the left side is at most a.

**Rounding.** Points are off by some units of their size. h falls with x, so the left side is taken a little
further down, the right side a little further up.

v, reach and reserve are kept as whole numbers of small units. What is charged is rounded up and what is left
is rounded down, so that the theorem holds for the numbers as they stand in a ledger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.accounting import RESERVE
from pbdp.accounting.composition.loss_law import LossLaw
from pbdp.accounting.filters.steps import Step, second_moment, step_of
from pbdp.errors import InputError
from pbdp.noise.kernel import Array
from pbdp.parameters import fraction, non_negative, positive

# How many units make one.
VARIANCES = 10**15
NATS = 10**12
PROBABILITIES = 10**40
# Beyond it e^epsilon is no number, and an epsilon promises nothing long before.
LARGEST_EPSILON = 700.0
# What a step may take of the reserve for slack and for what it sets aside: its share of the budget left over
# this, within these bounds.
_ALLOWANCE = 4
_LEAST_ALLOWANCE, _MOST_ALLOWANCE = 1 / 2000, 1 / 4
UNIT = 2.0**-53
_TINY = 1e-307
# Cells of the grid in x: as wide as the first share of the step's own spread; the second if the first makes
# too many; and no more than so many. The price comes out too high by about a quarter of the share's square.
_SHARES = 0.02, 0.1
_MANY_CELLS, _MOST_CELLS = 6000, 20000
# How closely the least c is looked for, relative to itself, and in how many steps.
_CLOSE = 1e-4
_STEPS = 60


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
        if non_negative("reserve", self.reserve) > 1:
            rule = "a share of delta from 0 to 1"
            raise InputError("reserve", rule, f"{self.reserve:g}", "0.001 is usual; more lets claims fit.")

    @property
    def epsilon_below(self) -> float:
        """The largest float that is not above epsilon as written."""
        return not_above(written(self.epsilon))

    def start(self) -> Left:
        """What there is before the first step."""
        reserve = allowed(written(self.delta) * written(self.reserve), PROBABILITIES)
        rest = float(written(self.delta) - Fraction(reserve, PROBABILITIES)) * (1 - 2.0**-50)
        variance = allowed(largest_variance(self.epsilon_below, rest), VARIANCES)
        return Left(variance=variance, reach=0, reserve=reserve)

    def after(
        self, left: Left, laws: Sequence[LossLaw], reach: Fraction | None = None, *, known: bool = False
    ) -> Left | None:
        """What is left after a step that these pairs describe; None if it does not fit.

        `reach` bounds the finite |losses|, where more is known of them than the laws show in rounded numbers.
        `known` says that (1) is known to hold with c = v, for a reason of the caller's.
        """
        v = not_above(Fraction(left.variance, VARIANCES))
        reserve = not_above(Fraction(left.reserve, PROBABILITIES))
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
            epsilon=self.epsilon_below,
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


def not_above(value: Fraction) -> float:
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


# ------------------------------------------------------------------------------------- the price of a step


@dataclass(frozen=True, slots=True)
class _Potential:
    """h at points x, with a bound for the error of each value, and w."""

    value: Array
    error: Array
    w: Array


def potential(v: float, x: Array) -> _Potential:
    """h_v at every x, which rise.

    For t >= 0 f is e^(-t²/2)·erfcx(t/√2)/2, and w the same with t' in erfcx where that is not negative: no
    difference of large numbers. The relative error of either is a few units, times t² for the exponential
    and times (1 + |t|)·|t'| for t itself; numbers below the smallest normal one have no digits to speak of.
    """
    if v <= 0:
        value = -np.expm1(np.minimum(x, 0.0))
        return _Potential(value=value, error=4 * UNIT * value, w=np.exp(np.minimum(x, 0.0)) * (x < 0))
    from scipy.special import erfcx, ndtr

    s = math.sqrt(v)
    below, above = x / s - s / 2, x / s + s / 2
    half = 0.5 * np.exp(-0.5 * np.square(below))
    f = half * erfcx(np.maximum(below, 0.0) * math.sqrt(0.5))
    w = half * erfcx(np.maximum(above, 0.0) * math.sqrt(0.5))
    # x rises along the grid, and few points are this low
    low = int(np.searchsorted(below, 0.0))
    f[:low] = ndtr(-below[:low])
    low = int(np.searchsorted(above, 0.0))
    w[:low] = np.exp(x[:low]) * ndtr(-above[:low])
    error = (32 + 4 * np.square(below) + 8 * (1 + np.abs(below)) * np.abs(above)) * UNIT * np.maximum(f, w)
    return _Potential(value=f - w, error=np.minimum(error + _TINY, 1.0), w=w)


def potential_above(v: float, x: float) -> float:
    """h_v(x), rounded up."""
    found = potential(v, np.array([x]))
    return float(found.value[0] + found.error[0]) * (1 + 4 * UNIT)


def largest_variance(epsilon: float, delta: float) -> float:
    """A v with h_v(epsilon) <= delta, the largest one to about 12 digits."""
    if delta <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while potential_above(high, epsilon) <= delta:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if potential_above(middle, epsilon) <= delta else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class _Grid:
    """The points x at which (1) is compared, and the law of the losses on the same step.

    `shake` bounds the rounding of any point, and that of epsilon and reach on the way to it.
    """

    x: Array
    step: float
    first: int
    masses: Array
    shake: float

    def left(self, v: float) -> Array:
        """The left side of (1) with h_v at every point, rounded up."""
        found = potential(v, self._further - self.shake)
        left = np.convolve(np.minimum(found.value + found.error, 1.0), self.masses, "valid")
        # sums of positive terms
        return np.asarray(left * (1 + (len(self.masses) + 64) * UNIT))

    def growth(self, v: float) -> Array:
        """About how fast the left side grows with v."""
        if v <= 0:
            return np.zeros(len(self.x))
        s = math.sqrt(v)
        growth = np.exp(-0.5 * np.square(self._further / s - s / 2)) / (math.sqrt(8 * math.pi) * s)
        return np.convolve(growth, self.masses, "valid")

    @property
    def _further(self) -> Array:
        """The points less any loss."""
        last = self.first + len(self.masses) - 1
        return np.asarray(self.x[0] + self.step * np.arange(-last, len(self.x) - self.first))


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where a budget stands before a step, and the slack a that the step is allowed.

    `adds_up` says that reach and the step's own come to epsilon at most, so that c = v is known to do.
    """

    epsilon: float
    v: float
    reach: float
    slack: float
    adds_up: bool


def left_after(step: Step, now: Moment) -> float | None:
    """The largest v - c for which (1) was seen to hold, for all pairs; None if it fails even for c = v."""
    left, end = now.v, _end(now) + step.reach
    for number in range(len(step.laws)):
        found = _left_after(step, number, now, left, end)
        if found is None:
            return None
        left = min(left, found)
    return left


def _left_after(step: Step, number: int, now: Moment, most: float, end: float) -> float | None:
    """The largest v - c up to `most`, for one law; from x = `end` on there is nothing to check."""
    grid = _grid(step, number, now, end)
    if grid is None:
        return most
    v, slack = now.v, now.slack
    right = _Right.at(v, grid)

    def lacking(remaining: float) -> float:
        """About how much less must remain for (1) to hold; zero if it was seen to hold."""
        short = right.shortfall(grid.left(remaining)) - slack
        if np.max(short) <= 0:
            return 0.0
        growth = grid.growth(remaining)
        steepest = np.maximum(growth[:-1], growth[1:]) if len(growth) > 1 else growth
        with np.errstate(over="ignore"):
            found = float(np.max(short / np.maximum(steepest, 1e-300)))
        return found if found > 0 else _TINY

    if lacking(0.0) != 0 and not now.adds_up:
        return None
    # good holds, bad does not; c = v - remaining is wanted to _CLOSE of itself
    good, bad, stride = 0.0, math.inf, _CLOSE
    remaining = most
    for _ in range(_STEPS):
        short = lacking(remaining)
        if short == 0:
            good = remaining
            remaining += (v - remaining) * stride
            stride *= 8
        else:
            bad = remaining
            remaining -= short + (v - remaining) * _CLOSE / 4
            stride = _CLOSE
        if good == most or bad - good <= _CLOSE * (v - good) * 1.001:
            break
        if not good < remaining < bad:
            remaining = (good + bad) / 2
    return good


@dataclass(frozen=True, slots=True)
class _Right:
    """The right side of (1), h_v at the points, rounded down, and its tangents carried to the next points."""

    here: Array
    from_left: Array
    from_right: Array
    slopes: tuple[Array, Array]

    @classmethod
    def at(cls, v: float, grid: _Grid) -> _Right:
        # a cell too wide for numbers is one in which nothing is seen to hold
        longer = math.expm1(grid.step) if grid.step < 600 else 1e300
        found = potential(v, grid.x + grid.shake)
        here = np.maximum(found.value - found.error, 0.0)
        fall = found.w[:-1] * longer, found.w[1:] * -math.expm1(-grid.step)
        # w is as exact as h, and a cell as long as its step up to the rounding of its ends
        error = (found.error + grid.shake * found.w) * 2
        margin = error[:-1] * (1 + longer), error[1:]
        return cls(
            here=here,
            # the tangent of the left point at the right one, and the other way round
            from_left=here[:-1] - fall[0] - margin[0],
            from_right=here[1:] + np.maximum(fall[1] - margin[1], 0.0),
            slopes=(-fall[0], -fall[1]),
        )

    def shortfall(self, left: Array) -> Array:
        """left - right of each cell at its worst, rounded up; of the point, if there is one only."""
        if len(left) == 1:
            return left - self.here
        # any weight will do; this one makes the mean of the tangents parallel to the chord
        spread = np.maximum(self.slopes[1] - self.slopes[0], 1e-300)
        with np.errstate(over="ignore"):
            mu = np.clip((self.slopes[1] - np.diff(left)) / spread, 0.0, 1.0)
        first = mu * self.here[:-1] + (1 - mu) * self.from_right
        second = mu * self.from_left + (1 - mu) * self.here[1:]
        size = np.maximum(left[:-1], left[1:]) + np.abs(self.from_right) + np.abs(self.from_left)
        return np.maximum(left[:-1] - first, left[1:] - second) + 16 * UNIT * size


def _grid(step: Step, number: int, now: Moment, end: float) -> _Grid | None:
    """The grid for a law; None if there is nothing to check."""
    low = max(0.0, now.epsilon - now.reach)
    high = min(now.epsilon + now.reach, end)
    if high < low:
        return None
    spread, length = math.sqrt(max(step.variance, 1e-12)), high - low + 2 * step.reach
    fine, coarse = (share * spread for share in _SHARES)
    width = max(fine, min(coarse, length / _MANY_CELLS), length / _MOST_CELLS)
    law = step.on_grid(number, width)
    cells = math.ceil((high - low) / law.step * (1 + 1e-12)) if high > low else 0
    x: Array = low + law.step * np.arange(cells + 1, dtype=np.float64)
    largest = now.epsilon + now.reach + float(x[-1]) + law.step * (abs(law.first) + len(law.masses))
    return _Grid(x=x, step=law.step, first=law.first, masses=law.masses, shake=16 * UNIT * largest)


def _end(now: Moment) -> float:
    """An x with h_v(x) <= slack, for laws whose mass was rounded up; infinite if there is no slack."""
    slack = now.slack * (1 - 1e-6)
    if slack <= 1e-300:
        return math.inf
    high = max(now.epsilon, 1.0)
    while potential_above(now.v, high) > slack:
        high *= 2
    x: Array = np.linspace(0.0, high, 128)
    found = potential(now.v, x)
    return float(np.min(x[found.value + 2 * found.error <= slack], initial=high))
