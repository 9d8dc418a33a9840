"""The potential filter: one rule for spending that is chosen as one goes, packages and sums included.

**Potential.** h_v(x) = E[(1 - e^(x-Z))+] with Z normal, mean v/2 and variance v: the delta at epsilon = x of
a Gaussian release with (sensitivity/sigma)² = v. h_0(x) = (1 - e^x)+. It grows with v for every real x (e^-Z
has mean one and grows in convex order), falls with x, and never exceeds one.

**Rule.** A budget (epsilon, delta) sets a reserve M aside and starts with the v for which h_v(epsilon) =
delta - M, and with reach S = 0. A step is a release, or a package of releases fixed together. It is described
by pairs of laws, one of which dominates it for every two neighboring datasets; with a pair its reverse is
described too. Each pair has a part that is set aside (the *bad* outputs: those with an infinite loss and any
others, the same for a pair and its reverse), and losses X of at most R in size on the rest. The step costs

    c      the least number from 0 to v with, for every pair and all x in [max(0, epsilon - S), epsilon + S],
           sum over the good outputs of P·h_{v-c}(x - X) <= h_v(x) + a,                                 (1)
    R      of reach,
    a + m  of the reserve, a >= 0 chosen freely, m the largest mass of bad outputs of any pair.

It is made if there is such a c and the reserve holds a + m. Then v falls by c, S grows by R and M falls by
a + m.

**Theorem.** Whoever spends so, choosing every step after seeing all answers so far, is (epsilon, delta)-DP.

    Proof. Fix two neighboring datasets. By Blackwell (1953) each step is K(z): z is drawn from P or Q of its
    pair, and K, random, does not know which. Let everybody see the z as well, those of a package all at the
    time of payment: that can only raise delta. The loss L of the transcript is then the sum of the X(z), and
    |L| <= S as long as no z was bad. Let V = h_v(epsilon - L) until a z is bad, and one from then on.
    With x = epsilon - L, a step raises the mean of V, given its past, by at most a + m. Where x >= 0 this is
    (1), plus P(bad) <= m. Where x < 0 let the sums be over good outputs, and q = p·e^-X: from
    h_v(x) = 1 - e^x + e^x·h_v(-x), and (1) for the reversed pair at -x, which is in its range,

        sum of p·h_{v-c}(x - X) = P(good) - e^x·Q(good) + e^x · sum of q·h_{v-c}(-x + X)
                               <= 1 - P(bad) - e^x + e^x·Q(bad) + e^x·(h_v(-x) + a)
                               <= h_v(x) + a + Q(bad) - P(bad),

    and P(bad) comes on top: a + Q(bad) in all. So the mean of V, delta - M at the start, never exceeds
    delta. At the end V >= (1 - e^(epsilon-L))+, whose mean is the delta of all that was seen.           []

Nothing of a package that is not drawn is given back, and its reach is that of its composition: what lies
beyond it is bad, and paid from the reserve in both directions.

**What follows.** While S + R <= epsilon everything fits whose bad outputs the reserve can pay (c = v will
do): epsilons add up, at least. A first step needs (1) at x = epsilon only, where c = v asks for the delta of
its good outputs: what is composed exactly and fixed in advance fits, at least. Gaussian steps cost their v.

**Checking (1) for all x.** Both sides are convex in u = e^x. Between two points of a grid the left side lies
below its chord and the right side above its two tangents, hence above any mean of these with weights mu and
1 - mu, which is a straight line: it is enough to compare the chord with that line at the two points. The
slope is dh/du = -w/u, where h = f - w,

    f = normal mass above t = x/s - s/2,    w = e^x · normal mass above t' = x/s + s/2,    s = √v.

From the x on with h_v(x - R) <= a there is nothing to check: the left side is at most a.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp import special
from pbdp.accounting.filters.steps import Step
from pbdp.noise.kernel import Array

UNIT = 2.0**-53
# Cells of the grid in x: as wide as this share of the step's own spread, and no more than so many.
_SHARE = 0.02
_MOST_CELLS = 6000
# How closely the least c is looked for, relative to itself, and in how many steps.
_CLOSE = 1e-5
_STEPS = 60


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
    and times (1 + |t|)·|t'| for t itself.
    """
    if v <= 0:
        value = -np.expm1(np.minimum(x, 0.0))
        return _Potential(value=value, error=4 * UNIT * value, w=np.exp(np.minimum(x, 0.0)) * (x < 0))
    s = math.sqrt(v)
    below, above = x / s - s / 2, x / s + s / 2
    half = 0.5 * np.exp(-0.5 * np.square(below))
    f = half * special.erfcx(np.maximum(below, 0.0) * math.sqrt(0.5))
    w = half * special.erfcx(np.maximum(above, 0.0) * math.sqrt(0.5))
    # x rises along the grid, and few points are this low
    low = int(np.searchsorted(below, 0.0))
    f[:low] = special.ndtr(-below[:low])
    low = int(np.searchsorted(above, 0.0))
    w[:low] = np.exp(x[:low]) * special.ndtr(-above[:low])
    error = (32 + 4 * np.square(below) + 8 * (1 + np.abs(below)) * np.abs(above)) * UNIT * np.maximum(f, w)
    return _Potential(value=f - w, error=np.minimum(error, 1.0), w=w)


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
    """The points x at which (1) is compared, and the law of the losses on the same step."""

    x: Array
    step: float
    first: int
    masses: Array
    rounding: float

    def left(self, v: float) -> tuple[Array, Array]:
        """The left side of (1) with h_v at every point, rounded up, and how fast it grows with v."""
        last = self.first + len(self.masses) - 1
        x = self.x[0] + self.step * np.arange(-last, len(self.x) - self.first)
        found = potential(v, x)
        # h falls by w a unit of x, and x is rounded
        shake = 8 * UNIT * float(self.x[-1] + self.step * len(self.masses))
        h = np.minimum(found.value + found.error + shake * found.w, 1.0)
        left = np.convolve(h, self.masses, "valid")
        s = math.sqrt(v) if v > 0 else 1.0
        growth = np.exp(-0.5 * (x / s - s / 2) ** 2) / (math.sqrt(8 * math.pi) * s) if v > 0 else 0 * x
        return left * (1 + self.rounding), np.convolve(growth, self.masses, "valid")


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
    left = now.v
    for number in range(len(step.laws)):
        found = _left_after(step, number, now, left)
        if found is None:
            return None
        left = min(left, found)
    return left


def _left_after(step: Step, number: int, now: Moment, most: float) -> float | None:
    """The largest v - c up to `most`, for one pair."""
    grid = _grid(step, number, now)
    if grid is None:
        return most
    v, slack = now.v, now.slack
    right = _Right.at(v, grid)

    def lacking(remaining: float) -> float:
        """About how much less must remain for (1) to hold; zero if it was seen to hold."""
        left, growth = grid.left(remaining)
        short = right.shortfall(left) - slack
        if np.max(short) <= 0:
            return 0.0
        steepest = np.maximum(growth[:-1], growth[1:]) if len(growth) > 1 else growth
        return float(np.max(short / np.maximum(steepest, 1e-300)))

    if lacking(0.0) > 0 and not now.adds_up:
        return None
    if lacking(most) == 0:
        return most
    # good holds, bad does not; c = v - remaining is wanted to _CLOSE of itself
    good, bad = 0.0, most
    remaining = min(max(v - step.variance, v / 2), most)
    for _ in range(_STEPS):
        short = lacking(remaining)
        if short == 0:
            good = remaining
            remaining += max((v - remaining) * _CLOSE * 2, (bad - remaining) / 8)
        else:
            bad = remaining
            remaining -= short * (1 + 1e-6) + (v - remaining) * _CLOSE / 4
        if bad - good <= _CLOSE * (v - good):
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
        found = potential(v, grid.x)
        here = np.maximum(found.value - found.error, 0.0)
        fall = found.w[:-1] * math.expm1(grid.step), found.w[1:] * -math.expm1(-grid.step)
        margin = found.error[:-1] * 64, found.error[1:] * 64
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
        chord = np.diff(left)
        spread = self.slopes[1] - self.slopes[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            mu = np.clip(np.nan_to_num((self.slopes[1] - chord) / spread, nan=0.5), 0.0, 1.0)
        first = mu * self.here[:-1] + (1 - mu) * self.from_right
        second = mu * self.from_left + (1 - mu) * self.here[1:]
        size = np.maximum(left[:-1], left[1:]) + np.abs(self.from_right) + np.abs(self.from_left)
        return np.maximum(left[:-1] - first, left[1:] - second) + 16 * UNIT * size


def _grid(step: Step, number: int, now: Moment) -> _Grid | None:
    """The grid for a pair; None if there is nothing to check."""
    low = max(0.0, now.epsilon - now.reach)
    high = min(now.epsilon + now.reach, _end(now) + step.reach)
    if high < low:
        return None
    width = max(_SHARE * math.sqrt(max(step.variance, 1e-12)), (high - low + 2 * step.reach) / _MOST_CELLS)
    law = step.on_grid(number, width)
    cells = math.ceil((high - low) / law.step * (1 + 1e-12)) if high > low else 0
    x: Array = low + law.step * np.arange(cells + 1, dtype=np.float64)
    # sums of positive terms, and points that are off by their rounding
    rounding = (len(law.masses) + 64) * UNIT
    return _Grid(x=x, step=law.step, first=law.first, masses=law.masses, rounding=rounding)


def _end(now: Moment) -> float:
    """An x with h_v(x) <= slack; infinite if there is no slack."""
    if now.slack <= 0:
        return math.inf
    low, high = 0.0, max(now.epsilon, 1.0)
    while potential_above(now.v, high) > now.slack:
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if potential_above(now.v, middle) <= now.slack else (middle, high)
    return high
