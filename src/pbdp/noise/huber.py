"""Huber noise: a Gaussian center with Laplace tails."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp import special
from pbdp.domains import above_one, positive
from pbdp.noise.family import Family, Problem, Shape, Shapes
from pbdp.noise.grid import GridKernel
from pbdp.noise.kernel import Array, ArrayLike, LatticeKernel, LogConcaveKernel
from pbdp.noise.quadratic_integral import falling_integral, log_integral


@dataclass(frozen=True, slots=True, kw_only=True)
class Huber(LogConcaveKernel):
    """Noise whose log-density is -x²/2σ² up to |x| = c, the knee, and goes on with slope c/σ² beyond.

    The least informative law of Huber (1964). A knee at 0 with c/σ² fixed is Laplace, a knee at infinity is
    Gaussian; the loss of a shift s never exceeds sc/σ².
    """

    sigma: float
    knee: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        object.__setattr__(self, "knee", positive("knee", self.knee))

    @property
    def family(self) -> str:
        """`huber`."""
        return "huber"

    @property
    def support(self) -> tuple[float, float]:
        """The whole line."""
        return (-math.inf, math.inf)

    @property
    def _curvature(self) -> float:
        return 1.0 / self.sigma**2

    @property
    def _log_total(self) -> float:
        """Log of the integral of exp(-h(x)): σ√(2π) erf(c/σ√2) + 2(σ²/c) exp(-c²/2σ²)."""
        ratio = self.knee / self.sigma
        center = math.sqrt(2 * math.pi) * math.erf(ratio / math.sqrt(2))
        return math.log(self.sigma) + math.log(center + 2 * math.exp(-ratio * ratio / 2) / ratio)

    def log_density(self, x: ArrayLike) -> Array:
        """-min(|x|, c)(|x| - min(|x|, c)/2)/σ² less the log of the integral of its exponential."""
        far = np.abs(np.asarray(x, dtype=np.float64)) / self.sigma
        near = np.minimum(far, self.knee / self.sigma)
        return np.asarray(-near * (far - near / 2) - self._log_total)

    def _left_tail(self, distance: Array) -> Array:
        """P(noise <= -distance) for distance >= 0: a Gaussian part up to the knee, an exponential beyond."""
        center = falling_integral(
            np.maximum(self.knee - distance, 0.0),
            np.minimum(distance, self.knee) * self._curvature,
            -self._curvature,
        )
        beyond = self.sigma * (self.sigma / self.knee)
        return self.density(distance) * center + beyond * self.density(np.maximum(distance, self.knee))

    def cdf(self, x: ArrayLike) -> Array:
        """The left tail up to zero, one minus its mirror image right of it."""
        x = np.asarray(x, dtype=np.float64)
        tail = self._left_tail(np.abs(x))
        return np.where(x <= 0, tail, 1 - tail)

    def survival(self, x: ArrayLike) -> Array:
        """cdf(-x)."""
        return self.cdf(-np.asarray(x, dtype=np.float64))

    def quantile(self, u: ArrayLike) -> Array:
        """The inverse of `cdf`, such that cdf(quantile(u)) is within 1e-12 of u, relatively.

        Below the mass of a tail it is logarithmic; between the knees it is a Gaussian quantile.
        """
        u = np.asarray(u, dtype=np.float64)
        lower = np.where(u > 0.5, 1 - u, u)
        tail = float(self._left_tail(np.asarray(self.knee)))
        factor = self.sigma * math.sqrt(2 * math.pi) * math.exp(-self._log_total)
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = -self.knee + self.sigma * (self.sigma / self.knee) * np.log(lower / tail)
        center = self.sigma * special.ndtri(
            special.ndtr(-self.knee / self.sigma) + np.maximum(lower - tail, 0.0) / factor
        )
        left = np.where(lower < tail, beyond, np.minimum(center, 0.0))
        return np.where(u > 0.5, -left, left)

    def upper_quantile(self, u: ArrayLike) -> Array:
        """The mirror image of `quantile`."""
        return -self.quantile(u)

    def mass(self, low: ArrayLike, high: ArrayLike) -> Array:
        """P(low <= noise <= high), cut at the knees, each part integrated from its end nearer to zero.

        Nothing cancels: narrow intervals in a tail keep their digits, the ends being taken as exact.
        """
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        c, k = self.knee, self._curvature
        total = np.zeros(np.broadcast_shapes(low.shape, high.shape))
        pieces = ((-np.inf, -c, np.inf, 0.0), (-c, c, 0.0, -k), (c, np.inf, -np.inf, 0.0))
        for left, right, vertex, bend in pieces:
            part = log_integral(
                np.maximum(low, left),
                np.minimum(high, right),
                vertex,
                exponent=self.log_density,
                slope=lambda y: -self.score(y),
                curvature=bend,
            )
            total = total + np.exp(part)
        return total

    def largest_loss(self, shift: float) -> float:
        """shift c/σ²."""
        return shift * self.knee * self._curvature

    def score(self, x: ArrayLike) -> Array:
        """x/σ², held at ±c/σ²."""
        return np.asarray(np.clip(np.asarray(x, dtype=np.float64), -self.knee, self.knee) * self._curvature)

    def _loss(self, y: Array, shift: Array) -> Array:
        """log f(y) - log f(y-s), without the cancellation of a difference.

        With m = min(2c, s) and left of s/2, σ² times it is cs up to -c, cs - (y+c)²/2 up to m - c, and
        m(s - 2y)/2 from there to s/2; the right half is its mirror image.
        """
        c = self.knee
        left = np.minimum(y, shift - y)
        least = np.minimum(2 * c, shift)
        curved = c * shift - np.maximum(left + c, 0.0) ** 2 / 2
        straight = least * (shift - 2 * left) / 2
        half = np.where(left < least - c, curved, straight)
        return np.asarray(np.where(y > shift / 2, -half, half) * self._curvature)

    def loss_crossing(self, level: ArrayLike, shift: ArrayLike) -> Array:
        """Where the loss passes `level`: the inverse of the pieces of `_loss`, in closed form."""
        level, shift = np.broadcast_arrays(
            np.asarray(level, dtype=np.float64), np.asarray(shift, dtype=np.float64)
        )
        c = self.knee
        height = np.abs(level) * self.sigma**2
        least = np.minimum(2 * c, shift)
        spare = c * shift - height
        with np.errstate(invalid="ignore"):
            curved = np.sqrt(2 * np.maximum(spare, 0.0)) - c
            crossing = np.where(spare < least * (least / 2), curved, shift / 2 - height / least)
            # The loss stays within ±cs/σ²: no output exceeds a level above, and all exceed one below.
            crossing = np.where(spare <= 0, -np.inf, crossing)
        return np.where(level < 0, shift - crossing, crossing)

    def log_moment(
        self, low: ArrayLike, high: ArrayLike, shift: ArrayLike, order: float
    ) -> tuple[Array, Array]:
        """Log of the integral of f(y)^α f(y-s)^(1-α), cut at ±c and s±c.

        Between the cuts the exponent log f(y) + (α-1) loss(y) is a quadratic: concave where f(y) is in its
        Gaussian part, convex but falling where only f(y-s) is, straight elsewhere. Exact up to rounding,
        of about 1e-15 of the exponent at its peak.
        """
        order = above_one("order", order)
        low, high, s = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (low, high, shift)))
        c, k = self.knee, self._curvature

        def exponent(y: Array) -> Array:
            return np.asarray(self.log_density(y) + (order - 1) * self._loss(y, s))

        def slope(y: Array) -> Array:
            return np.asarray((order - 1) * (self.score(y - s) - self.score(y)) - self.score(y))

        none = np.full(s.shape, -np.inf)
        pieces: tuple[tuple[ArrayLike, ArrayLike, ArrayLike, float], ...] = (
            (none, -c, -none, 0.0),
            (-c, np.minimum(c, s - c), -c * (order - 1) / order, -order * k),
            (s - c, c, -(order - 1) * s, -k),
            (c, s - c, none, 0.0),
            (np.maximum(c, s - c), s + c, none, (order - 1) * k),
            (s + c, -none, none, 0.0),
        )
        value = none
        for left, right, vertex, bend in pieces:
            part = log_integral(
                np.maximum(low, left),
                np.minimum(high, right),
                vertex,
                exponent=exponent,
                slope=slope,
                curvature=bend,
            )
            value = np.logaddexp(value, part)
        return value, value

    def on_grid(self) -> LatticeKernel:
        """Masses on the whole numbers proportional to this density."""
        return GridKernel(continuous=self)


def _shapes(problem: Problem) -> Shapes:
    """The knee as a multiple of the half-width; the scale is the Gaussian's."""

    def shape(ratio: float) -> Shape:
        knee = ratio * (problem.reach + 0.5)

        def log_density(x: Array, scale: Array) -> Array:
            size = np.abs(x)
            near = np.minimum(size, knee)
            return np.asarray(-near * (size - near / 2) / scale**2)

        return Shape(
            start=problem.reach + 1.0,
            log_density=log_density,
            kernel=lambda scale: Huber(sigma=scale, knee=knee).on_grid(),
        )

    return Shapes(shape=shape, parameters=(0.5, 0.8, 1.0, 1.2, 1.5), few=(0.5, 1.0))


HUBER = Family(
    name="huber",
    rank=6,
    law=Huber,
    character="has a Gaussian center and Laplace tails, so its loss is bounded",
    shapes=_shapes,
)
