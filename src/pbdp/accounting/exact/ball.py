"""Exact accounting of Gaussian noise in d dimensions that is boosted in a ball around the truth.

The noise n has density w(n) f(n) / C with f the density of N(0, σ² I), w = 1 for |n| <= r and k = 1 - q
beyond, C = P(|n| <= r) + k P(|n| > r) under f. Neighbors move the answer by a vector of length at most Δ.

**The longest shift is the worst, in any one direction.**

    Let g(n) = h(|n|) with h never rising, e a unit vector, 0 < s < t, and A the outputs with
    g(y) > e^eps g(y - s e), eps >= 0. On A, |y| < |y - s e|, that is y·e < s/2. There |y - u e| grows with u
    for u >= s, so g(y - t e) <= g(y - s e), and
    delta_t >= P(A) - e^eps P_t(A) >= P(A) - e^eps P_s(A) = delta_s.                                     (1)

The density above never rises with |n|, and it is the same in all directions.

**One integral.** In units of σ let R = r/σ and s = Δ/σ, x the coordinate along the shift and F the chi-square
CDF with ν = d - 1 degrees of freedom (for ν = 0: one from 0 on). Given x, the output is in the first ball
with probability F1 = F(R² - x²) and in the second with F2 = F(R² - (x - s)²). The kernel's loss s²/2 - s x
exceeds eps for x < X = s/2 - eps/s. Where the weights agree that decides. In the first ball only (hence
x < s/2) the loss is larger by λ = -log k, so x < X + λ/s decides; in the second only (x > s/2) it never
exceeds eps. With E(x) = exp(s (x - X)), so that e^eps φ(x - s) = E φ(x),

    C delta(eps) = k [Φ(X) - e^eps Φ(X - s)]
                   + q ∫ φ (F1 - E F2) dx          over x < X
                   + ∫ φ (F1 - F2) (1 - k E) dx    over X < x < min(X + λ/s, s/2).                       (2)

**Bounds.** Every term under the integrals is φ(x - a) F(R² - (x - b)²) with a, b in {0, s}. As
F_ν + 2 F_ν' = F_(ν-2), its second derivative is, with y = x - b and t = a - b,

    φ(x - a) [y² F_(ν-4) - (1 + 2 t y) F_(ν-2) + t² F_ν]   at R² - y²,                                   (3)

whose factors are all monotone on a panel that does not hold 0. The midpoint rule with (3) in interval
arithmetic bounds the integral over a panel; where a ball ends in it, the range of the factors does. Panels
are halved until the bounds are close. Rounding is added to both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pbdp import special
from pbdp.accounting.exact.chi_square import (
    UNDERFLOW,
    BallOnPanels,
    Range,
    cdf,
    cdf_error,
    ordered,
    room,
    times,
)
from pbdp.accounting.exact.pieces import LARGEST_EPSILON
from pbdp.accounting.exact.tables import Bounds
from pbdp.errors import InputError
from pbdp.noise.kernel import Array
from pbdp.parameters import finite, non_negative, positive, probability, whole
from pbdp.root_finding import bracketed_root

# Up to here the chi-square CDF was compared with 30 digits; see `cdf_error`.
MOST_DIMENSIONS = 100_000
# Relative error of the Gaussian tail as density times Mills' ratio, 38 standard deviations out.
TAIL_ERROR = 4e-13
# How far apart (relative) the bounds of delta may stay, and how many panels may be spent on that.
TOLERANCE = 1e-7
FIRST_PANELS = 64
MOST_PANELS = 1 << 17
ROUNDS = 60

_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedBall:
    """N(0, sigma² I) in `dimensions` coordinates, the density beyond `radius` times `kept`, 1 - boost.

    What is kept may be so little that a double cannot tell the boost from one.
    """

    dimensions: int
    sigma: float
    radius: float
    kept: float = 1.0

    def __post_init__(self) -> None:
        whole("dimensions", finite("dimensions", self.dimensions))
        if self.dimensions > MOST_DIMENSIONS:
            raise InputError("dimensions", f"at most {MOST_DIMENSIONS:,}", self.dimensions)
        positive("sigma", self.sigma)
        positive("radius", self.radius)
        if non_negative("kept", self.kept) > 1:
            raise InputError("kept", "between 0 and 1", self.kept)

    @property
    def masses(self) -> tuple[Bounds, Bounds]:
        """The kernel's mass inside the ball and outside it."""
        half = 0.5 * (self.radius / self.sigma) ** 2
        rounding = 2.0**-50 * (self.dimensions + 2 * half)
        inside, outside = (float(f(self.dimensions / 2, half)) for f in (special.gammainc, special.gammaincc))
        return _around(inside, rounding), _around(outside, rounding)

    @property
    def normalizer(self) -> Bounds:
        """C."""
        (inside, outside), kept = self.masses, self.kept
        return Bounds(lower=inside.lower + kept * outside.lower, upper=inside.upper + kept * outside.upper)

    @property
    def confidence(self) -> Bounds:
        """P(|noise| <= radius)."""
        (inside, outside), kept = self.masses, self.kept
        low = inside.lower / (inside.lower + kept * outside.upper) if inside.lower > 0 else 0.0
        high = inside.upper / (inside.upper + kept * outside.lower)
        return Bounds(lower=low * (1 - 2.0**-50), upper=min(high * (1 + 2.0**-50), 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class BallAccountant:
    """Guarantees of one release, where answers differ by at most `sensitivity` in Euclidean length."""

    mechanism: BoostedBall
    sensitivity: float

    def __post_init__(self) -> None:
        positive("sensitivity", self.sensitivity)

    def delta_at(self, epsilon: float, tolerance: float = TOLERANCE) -> Bounds:
        """Smallest delta with (epsilon, delta)-DP."""
        non_negative("epsilon", epsilon)
        found = self._pair(min(epsilon, LARGEST_EPSILON)).weighted_delta(tolerance)
        constant = self.mechanism.normalizer
        return Bounds(
            lower=min(found.lower / constant.upper * (1 - 2.0**-50), 1.0),
            upper=min(found.upper / constant.lower * (1 + 2.0**-50), 1.0) if constant.lower > 0 else 1.0,
        )

    def epsilon_at(self, delta: float) -> Bounds:
        """Smallest epsilon with (epsilon, delta)-DP, infinite if none was found.

        At the upper end the upper value of delta was seen to be at most `delta`; at the lower end (if above
        zero) the lower value was seen to exceed it.
        """
        probability("delta", delta)
        root = self.estimated_epsilon(delta)
        if math.isinf(root):
            known = self.delta_at(LARGEST_EPSILON).lower > delta
            return Bounds(lower=LARGEST_EPSILON if known else 0.0, upper=math.inf)
        if root > 0:
            # aim again by what the estimate missed
            found = self.delta_at(root)
            root = self.estimated_epsilon(min(delta * delta / max(found.upper, UNDERFLOW), 0.5 + delta / 2))

        def moved(direction: int, confirmed: Callable[[Bounds], bool]) -> float | None:
            margin = 1e-9
            while margin < 1:
                epsilon = root * (1 + direction * margin) + direction * margin * 1e-2
                if epsilon < 0 or confirmed(self.delta_at(epsilon)):
                    return max(epsilon, 0.0)
                margin *= 4
            return None

        if root == 0 and self.delta_at(0.0).upper <= delta:
            return Bounds(lower=0.0, upper=0.0)
        upper = moved(+1, lambda found: found.upper <= delta)
        lower = moved(-1, lambda found: found.lower > delta)
        return Bounds(lower=lower or 0.0, upper=math.inf if upper is None else upper)

    def estimated_epsilon(self, delta: float, most: float = math.inf) -> float:
        """epsilon at delta from Gauss sums, in a millisecond: to choose by, not to promise.

        Infinite if it is above `most`, which one look tells.
        """
        constant = self.mechanism.normalizer.upper

        def excess(epsilon: float) -> float:
            return math.log(max(self._pair(epsilon).estimate() / constant, UNDERFLOW) / delta)

        if most < math.inf and excess(most) > 0:
            return math.inf
        if excess(0.0) <= 0:
            return 0.0
        high = 1.0
        while excess(high) > 0:
            if high == LARGEST_EPSILON:
                return math.inf
            high = min(2 * high, LARGEST_EPSILON)
        return bracketed_root(excess, 0.0 if high == 1 else high / 2, high)

    def _pair(self, epsilon: float) -> _Pair:
        """The worst pair in units of σ, the shift rounded up and the crossing X to a smaller epsilon."""
        ball = self.mechanism
        s = self.sensitivity / ball.sigma * (1 + 2.0**-51)
        if not 0 < s < math.inf:
            raise InputError("sensitivity", "comparable with sigma", self.sensitivity)
        crossing = s / 2 - epsilon / s + 2.0**-50 * (s + epsilon / s)
        return _Pair(
            nu=ball.dimensions - 1,
            radius=ball.radius / ball.sigma,
            shift=s,
            crossing=min(crossing, s / 2),
            kept=ball.kept,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """The integrals of (2), all lengths in units of σ."""

    nu: int
    radius: float
    shift: float
    crossing: float
    kept: float

    @property
    def extra_loss(self) -> float:
        """λ."""
        return -math.log(self.kept) if self.kept > 0 else math.inf

    @property
    def cuts(self) -> Array:
        """Where integrands change their form, from the first to the last x that counts."""
        R, s, X = self.radius, self.shift, self.crossing
        # what lies before the start is a part e^-60 of what lies before X, times the shift or less
        start = max(-R, -math.sqrt(min(X, 0.0) * min(X, 0.0) + 2 * (60 + max(-math.log(s), 0.0))))
        stop = min(X + self.extra_loss / s, s / 2, R)
        inner = [x for x in (s - R, 0.0, X) if start < x < stop]
        return np.unique([start, *inner, stop]) if start < stop else np.zeros(0)

    def plain(self) -> Bounds:
        """Φ(X) - e^eps Φ(X - s) = φ(X) [m(-X) - m(s - X)], m Mills' ratio."""
        s, X = self.shift, self.crossing
        density = math.exp(-X * X / 2) / _ROOT_TWO_PI
        far = density * _mills(s - X)
        first = density * _mills(-X) if X <= 0 else 1 - density * _mills(X)
        error = TAIL_ERROR * (first + far) + UNDERFLOW
        return Bounds(lower=max(first - far - error, 0.0), upper=max(first - far, 0.0) + error)

    def estimate(self) -> float:
        """C·delta by Gauss sums between the cuts."""
        value = self.kept * self.plain().upper
        cuts = self.cuts
        if self.kept == 1 or not len(cuts):
            return value
        half, middle = np.diff(cuts)[:, None] / 2, (cuts[1:, None] + cuts[:-1, None]) / 2
        x = middle + half * _NODES
        f1, f2 = (cdf(self.nu, room(self.radius, x - center)) for center in (0.0, self.shift))
        return value + float(np.sum(half * _WEIGHTS * self._integrand(x, f1, f2)))

    def weighted_delta(self, tolerance: float) -> Bounds:
        """C·delta from both sides."""
        plain, cuts = self.plain(), self.cuts
        low, high = self.kept * plain.lower, self.kept * plain.upper
        if self.kept == 1:
            return Bounds(lower=low, upper=high)
        if len(cuts):
            lows, highs = self._integral(cuts, low, tolerance)
            low, high = low + lows, high + highs + self._beyond(cuts)
        return Bounds(lower=low * (1 - 1e-13), upper=high * (1 + 1e-13) + UNDERFLOW)

    def _beyond(self, cuts: Array) -> float:
        """What the ends of the integrals may have missed: the far tail and misplaced ends."""
        start, X, s = float(cuts[0]), self.crossing, self.shift
        tail = float(special.ndtr(start)) * (1 + 1e-9) if start > -self.radius else 0.0
        # near X + λ/s the integrand is at most s times the distance from it, and the probability of the ball
        misplaced = 2.0**-49 * (abs(X) + s + min(self.extra_loss / s, s + abs(X)))
        square = self.radius * self.radius * (1 + 2.0**-44)
        sliver, ball = (float(f) * 1.001 for f in cdf(self.nu, np.array([2.0**-44 * square, square])))
        edge = 2.0**-48 * self.radius * math.exp(-self.radius * self.radius / 2 * (1 - 1e-9)) * sliver
        return (1 - self.kept) * tail + s * misplaced * misplaced * ball + edge

    def _integral(self, cuts: Array, known: float, tolerance: float) -> tuple[float, float]:
        """Lower and upper value of the two integrals; panels with the largest gaps are halved first."""
        edges = np.concatenate(
            [np.linspace(a, b, FIRST_PANELS, endpoint=False) for a, b in pairwise(cuts)] + [cuts[-1:]]
        )
        # rows: left, right, low, high, and the part of the gap that is rounding
        panels = self._panels(edges[:-1], edges[1:])
        for _ in range(ROUNDS):
            left, right, low, high, rounding = panels
            # finer panels do not help against rounding
            gap = high - low - 2 * rounding
            allowed = tolerance * (known + float(np.sum(low))) + float(np.sum(rounding))
            if np.sum(gap) <= allowed or len(left) > MOST_PANELS:
                break
            middle = (left + right) / 2
            wide = (gap > allowed / (2 * len(left))) & (left < middle) & (middle < right)
            if not np.any(wide):
                break
            halves = self._panels(
                np.concatenate([left[wide], middle[wide]]), np.concatenate([middle[wide], right[wide]])
            )
            panels = np.concatenate([panels[:, ~wide], halves], axis=1)
        return float(np.sum(panels[2])), float(np.sum(panels[3]))

    def _integrand(self, x: Array, f1: Array, f2: Array) -> Array:
        """The integrand of (2), without the plain part."""
        s, X, k = self.shift, self.crossing, self.kept
        grown = s * (x - X)
        before = (1 - k) * (f1 - np.exp(np.minimum(grown, 0.0)) * f2)
        after = (f1 - f2) * -np.expm1(np.minimum(grown - self.extra_loss, 0.0))
        return np.asarray(_phi(x) * np.where(x < X, before, after))

    def _panels(self, left: Array, right: Array) -> Array:
        """Panels with bounds for their integrals: the better of the ranges and the midpoint rule."""
        s, X, k, lam = self.shift, self.crossing, self.kept, self.extra_loss
        width, middle = right - left, (left + right) / 2
        before = middle < X
        phi = ordered(_phi(left), _phi(right))
        growth = (np.exp(s * (left - X)), np.exp(s * (right - X)))
        first, second = (
            BallOnPanels.around(self.nu, self.radius, left - c, right - c, middle - c) for c in (0.0, s)
        )

        # the range of every factor
        (a, b), (c, d) = first.inside, second.inside
        farther = np.maximum(np.abs(left), np.abs(right))
        slack = 2.0**-49 * (4 + farther**2 + s * (abs(X) + farther))
        weight = (
            np.maximum(-np.expm1(np.minimum(s * (right - X) - lam, 0.0)) - slack, 0.0),
            -np.expm1(np.minimum(s * (left - X) - lam, 0.0)) + slack,
        )
        least = np.where(before, (1 - k) * (a - growth[1] * d * (1 + slack)), (a - d) * weight[0])
        most = np.where(before, (1 - k) * (b - growth[0] * c * (1 - slack)), (b - c) * weight[1])
        low = width * phi[0] * np.maximum(least, 0.0) * np.maximum(1 - slack, 0.0)
        high = width * phi[1] * np.maximum(most, 0.0) * (1 + slack)

        # the midpoint rule; the terms of (2) by which Gaussian and which ball they hold
        coefficients = {
            (0, 0): np.where(before, 1 - k, 1.0),
            (1, 1): np.where(before, k - 1, k),
            (1, 0): np.where(before, 0.0, -k),
            (0, 1): np.where(before, 0.0, -1.0),
        }
        moved = ordered(_phi(left) * growth[0], _phi(right) * growth[1])
        bend: Range = (np.zeros_like(left), np.zeros_like(left))
        with np.errstate(invalid="ignore", over="ignore"):
            for (gaussian, ball), coefficient in coefficients.items():
                term = (first, second)[ball].bend((gaussian - ball) * s)
                part = times((coefficient, coefficient), times((phi, moved)[gaussian], term))
                bend = (bend[0] + part[0], bend[1] + part[1])
            value, error = self._middles(middle, first, second, slack)
            inner_low = width * (value - error) + width**3 / 24 * bend[0]
            inner_high = width * (value + error) + width**3 / 24 * bend[1]
        known = first.smooth & second.smooth & np.isfinite(inner_low) & np.isfinite(inner_high)
        low = np.where(known, np.maximum(low, inner_low * (1 - 1e-14)), low)
        high = np.where(known, np.minimum(high, inner_high * (1 + 1e-14)), high)
        high = np.maximum(low, high)
        return np.stack(
            [left, right, low, high, np.where(known, np.minimum(width * error, (high - low) / 2), 0.0)]
        )

    def _middles(self, x: Array, first: BallOnPanels, second: BallOnPanels, slack: Array) -> Range:
        """The integrand in the middle of panels, and its error; `slack` is the relative one of the factors.

        F1 - E F2 is (F1 - F2) + (1 - E) F2. Where both balls are likely F1 - F2 is that of small tails.
        """
        s, X, k = self.shift, self.crossing, self.kept
        likely = second.middle > 0.5
        apart = np.where(likely, second.beyond - first.beyond, first.middle - second.middle)
        apart_error = np.where(likely, first.beyond_error + second.beyond_error, first.error + second.error)
        fallen = -np.expm1(np.minimum(s * (x - X), 0.0))
        weight = -np.expm1(np.minimum(s * (x - X) - self.extra_loss, 0.0))
        before = x < X
        value = np.where(before, (1 - k) * (apart + fallen * second.middle), apart * weight)
        error = np.where(before, (1 - k) * (apart_error + fallen * second.error), apart_error * weight)
        value = np.maximum(value, 0.0)
        rounding = slack * (value + np.where(before, 0.0, np.abs(apart)))
        return _phi(x) * value, _phi(x) * (error * 1.001 + rounding)


def _phi(x: Array) -> Array:
    """The standard normal density."""
    return np.asarray(np.exp(-x * x / 2) / _ROOT_TWO_PI)


def _mills(z: float) -> float:
    return math.sqrt(math.pi / 2) * float(special.erfcx(z / math.sqrt(2)))


def _around(value: float, rounding: float) -> Bounds:
    error = float(cdf_error(value)) + rounding
    return Bounds(lower=value * (1 - error), upper=min(value * (1 + error) + UNDERFLOW, 1.0))
