"""Laplace noise, on the line and on the whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from pbdp.noise.family import Family, Problem, Shape, Shapes
from pbdp.noise.gaussian_integral import log_integral
from pbdp.noise.kernel import Array, ArrayLike, LatticeKernel, LogConcaveKernel
from pbdp.noise.symmetric_lattice import SymmetricLattice, scale_in_steps
from pbdp.parameters import above_one, positive


@dataclass(frozen=True, slots=True)
class Laplace(LogConcaveKernel):
    """Noise with density exp(-|x|/b) / 2b, whose loss never exceeds shift/b (Dwork et al. 2006)."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @property
    def family(self) -> str:
        """`laplace`."""
        return "laplace"

    def log_density(self, x: ArrayLike) -> Array:
        """-|x|/b - log 2b."""
        return np.asarray(-np.abs(np.asarray(x, dtype=np.float64)) / self.scale - math.log(2 * self.scale))

    def cdf(self, x: ArrayLike) -> Array:
        """exp(x/b)/2 left of zero, one minus its mirror image right of it."""
        x = np.asarray(x, dtype=np.float64)
        tail = 0.5 * np.exp(-np.abs(x) / self.scale)
        return np.asarray(np.where(x <= 0, tail, 1 - tail))

    def survival(self, x: ArrayLike) -> Array:
        """cdf(-x)."""
        return self.cdf(-np.asarray(x, dtype=np.float64))

    def reach(self, tail: float) -> float:
        """-b log(tail)."""
        return -self.scale * math.log(tail)

    def mass(self, low: ArrayLike, high: ArrayLike) -> Array:
        """P(low <= noise <= high), each side of zero as exp(-near/b)(1 - exp(-width/b))/2.

        Nothing cancels: narrow intervals in a tail keep their digits, the ends being taken as exact.
        """
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        right = self._right_mass(np.maximum(low, 0.0), high)
        left = self._right_mass(np.maximum(-high, 0.0), -low)
        return np.asarray(right + left)

    def _right_mass(self, near: Array, far: Array) -> Array:
        """P(near <= noise <= far) for near >= 0."""
        some = near < far
        width = np.where(some, far, 0.0) - np.where(some, near, 0.0)
        return np.where(some, -0.5 * np.exp(-near / self.scale) * np.expm1(-width / self.scale), 0.0)

    def largest_loss(self, shift: float) -> float:
        """shift/b."""
        return shift / self.scale

    def score(self, x: ArrayLike) -> Array:
        """sign(x)/b, and zero at zero."""
        return np.asarray(np.sign(np.asarray(x, dtype=np.float64)) / self.scale)

    def loss_crossing(self, level: ArrayLike, shift: ArrayLike) -> Array:
        """(s - b level)/2 for levels within ±s/b: the loss (|y-s| - |y|)/b is flat outside [0, s]."""
        level, shift = np.asarray(level, dtype=np.float64), np.asarray(shift, dtype=np.float64)
        inside = (shift - self.scale * level) / 2
        above = np.where(inside <= 0, -np.inf, inside)
        return np.where(inside > shift, np.inf, above)

    def log_moment(self, low: ArrayLike, high: ArrayLike, shift: ArrayLike, order: float) -> Array:
        """Log of the integral of f(y)^α f(y-s)^(1-α): exponentials of slope 1/b, -(2α-1)/b and -1/b.

        Cut at 0 and s. Over the line it is Mironov 2017, proposition 6. Exact up to rounding, of about
        1e-15 of the exponent at its peak.
        """
        order = above_one("order", order)
        low, high, s = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (low, high, shift)))

        def exponent(y: Array) -> Array:
            return np.asarray(self.log_density(y) + (order - 1) * (np.abs(y - s) - np.abs(y)) / self.scale)

        value = np.full(s.shape, -np.inf)
        for left, right, slope in ((-np.inf, 0.0, 1.0), (0.0, s, 1 - 2 * order), (s, np.inf, -1.0)):
            piece = log_integral(
                np.maximum(low, left),
                np.minimum(high, right),
                math.copysign(math.inf, slope),
                exponent=exponent,
                slope=partial(np.full_like, fill_value=slope / self.scale),
                curvature=0.0,
            )
            value = np.logaddexp(value, piece)
        return value

    def on_grid(self) -> LatticeKernel:
        """The discrete Laplace law of the same scale (Ghosh, Roughgarden and Sundararajan 2009)."""
        return DiscreteLaplace(scale=self.scale)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(SymmetricLattice):
    """Noise on the whole numbers with P(noise = n) = (1-r)/(1+r) r^|n|, r = exp(-1/scale).

    The geometric mechanism of Ghosh, Roughgarden and Sundararajan (2009). Its loss never exceeds shift/scale,
    and equals it outside [0, shift]. Every figure is a closed form, within 1e-12 relatively down to 1e-250.
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", scale_in_steps("scale", self.scale))

    @property
    def family(self) -> str:
        """`laplace`."""
        return "laplace"

    @property
    def loss_law(self) -> Laplace:
        """Laplace noise of the same scale: the log-mass is linear on each side of zero."""
        return Laplace(scale=self.scale)

    @property
    def _ratio(self) -> float:
        return math.exp(-1 / self.scale)

    def _pure_loss(self, shift: int) -> float:
        return shift / self.scale

    def _log_mass(self, n: Array) -> Array:
        # (1-r)/(1+r) is a hyperbolic tangent, which keeps its digits for a large scale.
        return np.asarray(math.log(math.tanh(0.5 / self.scale)) - n / self.scale)

    def _tail(self, n: Array) -> Array:
        """r^n/(1+r)."""
        return np.asarray(np.exp(-n / self.scale) / (1 + self._ratio))

    def _run(self, first: Array, last: Array) -> Array:
        """r^first (1 - r^(last-first+1)) / (1+r)."""
        count = np.maximum(last - first + 1, 0.0)
        return np.asarray(-np.exp(-first / self.scale) * np.expm1(-count / self.scale) / (1 + self._ratio))

    def _tail_guess(self, u: Array) -> Array:
        return np.asarray(np.ceil(-self.scale * np.log(u * (1 + self._ratio))))


def _shapes(problem: Problem) -> Shapes:
    return Shapes(
        shape=lambda _: Shape(
            start=problem.reach + 1.0,
            log_density=lambda x, scale: -np.abs(x) / scale,
            kernel=lambda scale: DiscreteLaplace(scale=scale),
        )
    )


LAPLACE = Family(
    name="laplace",
    rank=1,
    law=DiscreteLaplace,
    lengths=("scale",),
    character="loses the same amount at almost every output, which suits one release",
    shapes=_shapes,
    of_scale=lambda scale: DiscreteLaplace(scale=scale),
    concave=True,
    formula=lambda scale: f"exp(-abs(k)/{scale!r})",
)
