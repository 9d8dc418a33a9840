"""Generalized normal noise: between Laplace and Gaussian, and beyond."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp import special
from pbdp.domains import above_one, positive
from pbdp.errors import InputError
from pbdp.noise import power_loss
from pbdp.noise.family import Family, Problem, Shape, Shapes
from pbdp.noise.grid import GridKernel
from pbdp.noise.kernel import Array, ArrayLike, LatticeKernel, LogConcaveKernel
from pbdp.noise.laplace import Laplace
from pbdp.noise.power_moment import PowerMoment
from pbdp.noise.quadratic_integral import gauss_legendre

# Rényi integrals whose panels are in memory at once.
_CHUNK = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizedNormal(LogConcaveKernel):
    """Noise with density exp(-|x/a|^β) β / (2aΓ(1/β)), a its scale and β its shape (Subbotin 1923).

    β = 1 is Laplace and β = 2 is Gaussian with σ = a/√2. For β > 1 the loss is unbounded.

    The relative error of tails grows as β times 1e-16 times the log of the tail: it is below 1e-12 down
    to 1e-250 for shapes up to 10.
    """

    scale: float
    shape: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        shape = positive("shape", self.shape)
        if shape < 1:
            raise InputError(
                "shape",
                "at least 1",
                f"{shape:g}",
                "Below 1 the tails are heavier than exponential and the privacy loss is no longer monotone; "
                "use shape=1 (Laplace) or more.",
            )
        object.__setattr__(self, "shape", shape)

    @property
    def family(self) -> str:
        """`generalized normal`."""
        return "generalized normal"

    @property
    def support(self) -> tuple[float, float]:
        """The whole line."""
        return (-math.inf, math.inf)

    @property
    def _log_height(self) -> float:
        """Log of the density at zero in units of the scale: β / (2Γ(1/β)), as 1/(2Γ(1 + 1/β))."""
        return -math.log(2) - special.log_gamma(1 + 1 / self.shape)

    def _power(self, x: ArrayLike) -> Array:
        """|x/a|^β."""
        return np.asarray((np.abs(np.asarray(x, dtype=np.float64)) / self.scale) ** self.shape)

    def log_density(self, x: ArrayLike) -> Array:
        """-|x/a|^β - log(2aΓ(1 + 1/β))."""
        return np.asarray(self._log_height - math.log(self.scale) - self._power(x))

    def cdf(self, x: ArrayLike) -> Array:
        """Q(1/β, |x/a|^β)/2 left of zero, Q the upper incomplete gamma; one minus its mirror image right."""
        x = np.asarray(x, dtype=np.float64)
        tail = 0.5 * special.gammaincc(1 / self.shape, self._power(x))
        return np.asarray(np.where(x <= 0, tail, 1 - tail))

    def survival(self, x: ArrayLike) -> Array:
        """cdf(-x)."""
        return self.cdf(-np.asarray(x, dtype=np.float64))

    def quantile(self, u: ArrayLike) -> Array:
        """The inverse of `cdf`, such that cdf(quantile(u)) is within 1e-11 of u, relatively."""
        u = np.asarray(u, dtype=np.float64)
        lower = np.where(u > 0.5, 1 - u, u)
        distance = self.scale * np.asarray(special.gammainccinv(1 / self.shape, 2 * lower)) ** (
            1 / self.shape
        )
        # The inverse incomplete gamma is not accurate to the last digits everywhere; Newton mends it.
        for _ in range(2):
            with np.errstate(divide="ignore", invalid="ignore"):
                step = (self.cdf(-distance) - lower) / self.density(distance)
            distance = np.maximum(distance + np.where(np.isfinite(step), step, 0.0), 0.0)
        return np.where(u > 0.5, distance, -distance)

    def upper_quantile(self, u: ArrayLike) -> Array:
        """The mirror image of `quantile`."""
        return -self.quantile(u)

    def mass(self, low: ArrayLike, high: ArrayLike) -> Array:
        """P(low <= noise <= high), each side of zero by itself.

        A side is a difference of tails if it spans much of its tail, of the mass from zero if it begins
        close to zero, and otherwise a Gauss-Legendre sum, so that narrow intervals keep their digits.
        """
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        right = self._right_mass(np.maximum(low, 0.0), high)
        left = self._right_mass(np.maximum(-high, 0.0), -low)
        return np.asarray(right + left)

    def _right_mass(self, near: Array, far: Array) -> Array:
        """P(near <= noise <= far) for near >= 0."""
        near, far = np.broadcast_arrays(near, far)
        some = near < far
        near, far = np.where(some, near, 0.0), np.where(some, far, 0.0)
        start, end = self._power(near), self._power(far)
        by_tails = 0.5 * (special.gammaincc(1 / self.shape, start) - special.gammaincc(1 / self.shape, end))
        from_zero = 0.5 * (special.gammainc(1 / self.shape, end) - special.gammainc(1 / self.shape, start))
        value = np.where(end - start >= 1, by_tails, from_zero)
        narrow = (end - start < 1) & (far <= 2 * near)
        if narrow.any():
            nodes, weights = gauss_legendre(12)
            width = np.where(narrow, far - near, 0.0)
            points = np.where(narrow, near, 0.0)[..., None] + width[..., None] * nodes
            value = np.where(narrow, width * (self.density(points) @ weights), value)
        return np.asarray(np.where(some, value, 0.0))

    def largest_loss(self, shift: float) -> float:
        """shift/a for β = 1, else unbounded."""
        return shift / self.scale if self.shape == 1 else math.inf

    def score(self, x: ArrayLike) -> Array:
        """sign(x) β|x/a|^(β-1)/a, and zero at zero."""
        return power_loss.score(np.asarray(x, dtype=np.float64) / self.scale, self.shape) / self.scale

    def loss_crossing(self, level: ArrayLike, shift: ArrayLike) -> Array:
        """The root y of |(y-s)/a|^β - |y/a|^β = level, accurate to the rounding of the loss."""
        if self.shape == 1:
            return Laplace(scale=self.scale).loss_crossing(level, shift)
        level, shift = np.broadcast_arrays(
            np.asarray(level, dtype=np.float64), np.asarray(shift, dtype=np.float64)
        )
        return power_loss.crossing(level, shift / self.scale, self.shape) * self.scale

    def log_moment(
        self, low: ArrayLike, high: ArrayLike, shift: ArrayLike, order: float
    ) -> tuple[Array, Array]:
        """Bounds of log of the integral of f(y)^α f(y-s)^(1-α).

        Rigorous, rounding included; the gap is rarely above 1e-5 plus 1e-13 of the figure, and infinite only
        for figures beyond 1e15 (see power_moment). Exact for β = 1.
        """
        order = above_one("order", order)
        if self.shape == 1:
            return Laplace(scale=self.scale).log_moment(low, high, shift, order)
        arrays = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (low, high, shift)))
        some = np.flatnonzero(arrays[0] < arrays[1])
        below, above, s = (array.reshape(-1) / self.scale for array in arrays)
        lower, upper = np.full(s.shape, -np.inf), np.full(s.shape, -np.inf)
        for part in (some[i : i + _CHUNK] for i in range(0, some.size, _CHUNK)):
            moment = PowerMoment(shift=s[part], order=order, shape=self.shape)
            lower[part], upper[part] = moment.log_bounds(below[part], above[part])
        whole = arrays[0].shape
        return (self._log_height + lower).reshape(whole), (self._log_height + upper).reshape(whole)

    def on_grid(self) -> LatticeKernel:
        """Masses on the whole numbers proportional to this density."""
        return GridKernel(continuous=self)


def _shapes(problem: Problem) -> Shapes:
    """Shapes between Laplace and beyond Gaussian."""

    def shape(power: float) -> Shape:
        return Shape(
            start=problem.reach + 1.0,
            log_density=lambda x, scale: -((np.abs(x) / scale) ** power),
            kernel=lambda scale: GeneralizedNormal(scale=scale, shape=power).on_grid(),
        )

    return Shapes(shape=shape, parameters=(1.2, 1.5, 1.8, 2.5), few=(1.2, 2.5))


GENERALIZED_NORMAL = Family(
    name="generalized normal",
    rank=5,
    law=GeneralizedNormal,
    character="lies between Laplace and Gaussian noise, or beyond",
    shapes=_shapes,
)
