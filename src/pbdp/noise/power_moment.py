"""Rigorous bounds of the Rényi integral of noise with density ∝ exp(-|x|^β), β > 1.

The integrand is exp φ with φ(y) = -|y|^β + (α-1)(|y-s|^β - |y|^β). With r = log(α/(α-1)):

- φ rises up to -s/(exp(r/(β-1)) - 1) and falls beyond, since its slope has one zero;
- between 0, s and the zeros of φ'' it is convex or concave. φ'' vanishes where |y-s|/|y| = exp(r/(β-2)):
  at -s/(exp(r/(β-2)) - 1) for β > 2, at s/(1 + exp(r/(β-2))), and at s/(1 - exp(r/(β-2))) for β < 2.

So chords and tangents of φ bound it from both sides.
"""

from __future__ import annotations

import math

import numpy as np

from pbdp import special
from pbdp.noise import power_loss
from pbdp.noise.kernel import Array

# Beyond the points where the integrand is exp(-60) of its peak it is bounded, not integrated.
_DEPTH = 60.0
_DISTANCES = 2.0 ** np.arange(-45.0, 45.0, 0.25)
_PANELS = 1024
# Panels shrink toward the cuts, where φ'' may be infinite.
_GRADING = (1 - np.cos(np.linspace(0.0, np.pi, _PANELS + 1))) / 2


class PowerMoment:
    """φ for arrays of shifts (one axis), one order and one shape, in units of the scale."""

    __slots__ = ("order", "shape", "shift")

    def __init__(self, *, shift: Array, order: float, shape: float) -> None:
        self.shift = shift
        self.order = order
        self.shape = shape

    def log_bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Bounds (lower, upper) of log of the integral of exp φ over [low, high], low < high.

        The gap is rarely above 1e-5, plus rounding of about 1e-13 of φ at its peak. Where φ overflows, or is
        so large that floats do not resolve its peak, the bounds are (-inf, inf).
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            peak = np.clip(self._peak(), low, high)
            right = np.minimum(peak + self._reach(peak, 1.0), high)
            left = np.maximum(peak - self._reach(peak, -1.0), low)
            inner = (peak, np.zeros_like(peak), self.shift, *self._inflections())
            cuts = np.sort(
                np.clip(np.stack([left, *inner, right], axis=-1), left[:, None], right[:, None]), axis=-1
            )
            lower, upper = self._chords_and_tangents(cuts)
            rest = np.logaddexp(self._left_rest(left, low), self._right_rest(right, high))
            # Rounding of φ, and of ends that lie close together far from zero.
            slack = (4 + self.shape) * (1 + self._size(cuts).max(axis=-1))
            slack = 2.0**-50 * (slack + (np.abs(left) + np.abs(right)) / (right - left))
            lower, upper = lower - slack, np.logaddexp(upper, rest) + slack
        known = np.isfinite(lower) & np.isfinite(upper)
        return np.where(known, lower, -np.inf), np.where(known, upper, np.inf)

    def _along(self, y: Array) -> Array:
        """The shifts, with axes added to go with `y`."""
        return self.shift.reshape(self.shift.shape + (1,) * (y.ndim - 1))

    def _exponent(self, y: Array) -> Array:
        loss = power_loss.loss(y, self._along(y), self.shape)
        return np.asarray((self.order - 1) * loss - np.abs(y) ** self.shape)

    def _size(self, y: Array) -> Array:
        """The magnitude of the terms of φ, to which its rounding is proportional."""
        loss = power_loss.loss(y, self._along(y), self.shape)
        return np.asarray((self.order - 1) * np.abs(loss) + np.abs(y) ** self.shape)

    def _slope(self, y: Array) -> Array:
        here, there = power_loss.score(y, self.shape), power_loss.score(y - self._along(y), self.shape)
        return np.asarray((self.order - 1) * (there - here) - here)

    def _peak(self) -> Array:
        rate = -math.log1p(-1 / self.order)
        return np.asarray(-self.shift / np.expm1(rate / (self.shape - 1)))

    def _inflections(self) -> tuple[Array, ...]:
        if self.shape == 2:
            return ()
        rate = -math.log1p(-1 / self.order) / (self.shape - 2)
        outer = -self.shift / np.expm1(rate)  # left of zero for β > 2, right of s for β < 2
        return outer, np.asarray(self.shift / (1 + np.exp(rate)))

    def _reach(self, peak: Array, direction: float) -> Array:
        """A distance from the peak at which φ is 60 lower or more, within a fifth of the least such."""
        tried = np.maximum(1.0, np.abs(peak))[:, None] * _DISTANCES
        deep = self._exponent(peak[:, None] + direction * tried) <= self._exponent(peak)[:, None] - _DEPTH
        # φ falls away from its peak, so the first is the least; the last is beyond all doubt.
        deep[:, -1] = True
        return np.asarray(np.take_along_axis(tried, deep.argmax(axis=-1)[:, None], axis=-1)[:, 0])

    def _chords_and_tangents(self, cuts: Array) -> tuple[Array, Array]:
        """Bounds over the pieces between `cuts`, on each of which φ is monotone and convex or concave.

        On a panel, exp of the chord bounds exp φ from below if φ is concave, and exp of the tangent at the
        middle from above; for convex φ they change places (Hermite and Hadamard). So the smaller integral
        is a lower bound and the larger an upper one, whichever it is. The gap is about h²φ''/8.
        """
        nodes = cuts[:, :-1, None] + np.diff(cuts, axis=-1)[..., None] * _GRADING
        phi = self._exponent(nodes)
        top = phi.max(axis=(-2, -1), keepdims=True)
        width = np.diff(nodes, axis=-1)
        ceiling = width * np.exp(np.maximum(phi[..., 1:], phi[..., :-1]) - top)
        chord = ceiling * _mean_exponential(np.abs(np.diff(phi, axis=-1)))
        middle = nodes[..., :-1] + width / 2
        fall = np.abs(self._slope(middle)) * width
        tangent = width * np.exp(self._exponent(middle) - top + fall / 2) * _mean_exponential(fall)
        lower = np.minimum(chord, tangent).sum(axis=(-2, -1))
        # Monotone φ stays below its higher end, which caps a tangent that is much too steep.
        upper = np.minimum(np.maximum(chord, tangent), ceiling).sum(axis=(-2, -1))
        return top[:, 0, 0] + np.log(lower), top[:, 0, 0] + np.log(upper)

    def _right_rest(self, start: Array, end: Array) -> Array:
        """Log of a bound of the integral from `start`, right of the peak, to `end`.

        Right of zero the slope is at most that of -y^β, and y^β - x^β >= (y-x)^β, so that the integral is at
        most exp(φ(start)) Γ(1 + 1/β); left of zero φ falls.
        """
        width = np.minimum(np.maximum(-start, 0.0) + special.gamma(1 + 1 / self.shape), end - start)
        return np.asarray(self._exponent(start) + np.log(width))

    def _left_rest(self, start: Array, end: Array) -> Array:
        """Log of a bound of the integral from `end` to `start`, left of the peak.

        There the slope is β|y|^(β-1)(α - (α-1)(1+s/|y|)^(β-1)), which grows to the left.
        """
        width = np.minimum(1 / self._slope(start), start - end)
        return np.asarray(np.where(start > end, self._exponent(start) + np.log(width), -np.inf))


def _mean_exponential(fall: Array) -> Array:
    """(1 - exp(-fall))/fall, the mean of exp over a straight fall from one."""
    safe = np.where(fall > 0, fall, 1.0)
    return np.where(fall > 0, -np.expm1(-safe) / safe, 1.0)
