"""Gaussian noise made to fit a fixed range: clamped into it, or cut off outside it, over all neighbors.

Clamping moves outputs beyond an end onto that end; it is a function of the plain output, so its loss is at
most the plain kernel's. Cutting off (truncation, the boosted mechanism with q = 1) divides by the mass Z(Q)
inside.

Both families have monotone likelihood ratio in the answer Q, and so the worst set of outputs is a half-line
and every divergence grows when two answers move apart (`accounting.exact.all_neighbors`, statement 2). Hence

    D(Q_i, Q_i + Δ) <= sup over Q in [Q_i, Q_(i+1)] of D(Q, Q + Δ) <= D(Q_i, Q_(i+1) + Δ),                 (1)

which gives bounds from both sides on a grid of answers. The range is its own mirror image, and mirroring
turns the direction of a pair around, so one direction over all answers covers both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pbdp.accounting.exact.tables import Bounds
from pbdp.errors import InputError
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Array
from pbdp.parameters import above_one, positive, probability
from reproduction.published.measure import AtDelta, Measure

# Cells of answers that are looked at first, into how many one is split, and how often.
CELLS, SPLIT, TURNS = 64, 8, 8
# A search that would look at more cells at once settles for the bounds it has.
MOST_CELLS = 4096
# How close the two bounds come (relative; a delta moves far more than its epsilon), and slack
# for the rounding of masses (relative).
CLOSE, DELTA_CLOSE = 1e-4, 2e-3
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeNoise:
    """A Gaussian on [-half_width, half_width], `clamped` or else truncated; true answers lie inside."""

    sigma: float
    half_width: float
    sensitivity: float
    clamped: bool

    def __post_init__(self) -> None:
        for name in ("sigma", "half_width", "sensitivity"):
            positive(name, getattr(self, name))
        if self.sensitivity >= 2 * self.half_width:
            raise InputError("sensitivity", "smaller than the range", self.sensitivity)

    def epsilon(self, measure: Measure) -> Bounds:
        """Exact epsilon at a delta or a Rényi order, bounded by (1)."""
        if isinstance(measure, AtDelta):
            return self._epsilon_at(probability("delta", measure.delta))
        order = above_one("order", measure.order)
        return self._largest(lambda answer, other: self._renyi(answer, other, order), CLOSE)

    def delta_at(self, epsilon: float) -> Bounds:
        """Smallest delta with (epsilon, delta)-DP, bounded by (1)."""
        found = self._largest(lambda answer, other: self._hockey_stick(answer, other, epsilon), DELTA_CLOSE)
        # masses are exact to 1e-12 of themselves, and e^ε P' is at most P where anything is gained
        return Bounds(lower=max(found.lower - 2 * ROUNDING, 0.0), upper=found.upper + 2 * ROUNDING)

    def _epsilon_at(self, delta: float) -> Bounds:
        """Bisection from both sides: the upper end was seen to meet delta, the lower one to exceed it."""
        low, high = 0.0, 1.0
        while self.delta_at(high).upper > delta:
            low, high = high, 2 * high
        ends = []
        for from_above in (True, False):
            left, right = (low, high) if from_above else (0.0, high)
            while right - left > CLOSE * right:
                middle = (left + right) / 2
                bounds = self.delta_at(middle)
                meets = bounds.upper <= delta if from_above else bounds.lower <= delta
                left, right = (left, middle) if meets else (middle, right)
            ends.append(right if from_above else left)
        return Bounds(lower=min(ends[1], ends[0]), upper=ends[0])

    def _largest(self, divergence: Callable[[Array, Array], Array], close: float) -> Bounds:
        """The largest divergence over all pairs: cells of answers that may hold it are split, others not."""
        grid = np.linspace(-self.half_width, self.half_width - self.sensitivity, CELLS + 1)
        low, high = grid[:-1], grid[1:]
        # the last answer starts no cell
        lower = float(np.max(divergence(grid[-1:], grid[-1:] + self.sensitivity)))
        settled = -math.inf
        for turn in range(TURNS):
            lower = max(lower, float(np.max(divergence(low, low + self.sensitivity))))
            upper = divergence(low, high + self.sensitivity)
            open_ = upper > lower + close * abs(lower)
            if turn == TURNS - 1 or SPLIT * int(np.sum(open_)) > MOST_CELLS:
                open_ = np.zeros(len(upper), bool)
            settled = max(settled, float(np.max(upper[~open_], initial=-math.inf)))
            if not np.any(open_):
                break
            parts = np.linspace(low[open_], high[open_], SPLIT + 1)
            low, high = parts[:-1].ravel(), parts[1:].ravel()
        slack = ROUNDING * abs(settled)
        return Bounds(lower=max(lower - slack, 0.0), upper=max(settled, lower) + slack)

    def _hockey_stick(self, answer: Array, other: Array, epsilon: float) -> Array:
        """P(y < c) - e^ε P'(y < c) at the c where the loss falls below ε, clipped into the range."""
        kernel, (low, high) = Gaussian(sigma=self.sigma), (-self.half_width, self.half_width)
        shift = other - answer
        first_total, second_total, start = np.ones(len(answer)), np.ones(len(other)), -math.inf
        if not self.clamped:
            first_total = kernel.mass(low - answer, high - answer)
            second_total = kernel.mass(low - other, high - other)
            start = low
        level = epsilon - np.log(second_total / first_total)
        cut = np.clip(answer + kernel.loss_crossing(level, shift), low, high)
        # a clamped output at the upper end has all the mass beyond it; without it nothing is left to gain
        first = kernel.mass(start - answer, cut - answer) / first_total
        second = kernel.mass(start - other, cut - other) / second_total
        return np.maximum(first - math.exp(epsilon) * second, 0.0)

    def _renyi(self, answer: Array, other: Array, order: float) -> Array:
        """log of the integral of p^α p'^(1-α) over α - 1: the part inside, and for clamping the two ends."""
        kernel, (low, high) = Gaussian(sigma=self.sigma), (-self.half_width, self.half_width)
        inside = kernel.log_moment(low - answer, high - answer, other - answer, order)
        if self.clamped:
            for first, second in (
                (kernel.cdf(low - answer), kernel.cdf(low - other)),
                (kernel.survival(high - answer), kernel.survival(high - other)),
            ):
                inside = np.logaddexp(inside, order * np.log(first) + (1 - order) * np.log(second))
            return np.asarray(inside / (order - 1))
        first_total = np.log(kernel.mass(low - answer, high - answer))
        second_total = np.log(kernel.mass(low - other, high - other))
        return np.asarray((inside - order * first_total - (1 - order) * second_total) / (order - 1))


def clamped(sigma: float, half_width: float, sensitivity: float) -> RangeNoise:
    """Outputs beyond an end of the range are moved onto it."""
    return RangeNoise(sigma=sigma, half_width=half_width, sensitivity=sensitivity, clamped=True)


def truncated(sigma: float, half_width: float, sensitivity: float) -> RangeNoise:
    """Outputs beyond the range are drawn again."""
    return RangeNoise(sigma=sigma, half_width=half_width, sensitivity=sensitivity, clamped=False)
