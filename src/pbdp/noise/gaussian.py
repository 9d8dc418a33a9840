"""Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, ndtri

from pbdp.domains import above_one, positive
from pbdp.noise.kernel import Array, ArrayLike, LatticeKernel, LogConcaveKernel
from pbdp.noise.quadratic_integral import log_integral

_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(LogConcaveKernel):
    """Noise with density exp(-x²/2σ²) / (σ√(2π)).

    Its privacy loss is itself Gaussian (Balle and Wang 2018), so it has no pure epsilon.
    """

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))

    @property
    def family(self) -> str:
        """`gaussian`."""
        return "gaussian"

    @property
    def support(self) -> tuple[float, float]:
        """The whole line."""
        return (-math.inf, math.inf)

    def log_density(self, x: ArrayLike) -> Array:
        """-x²/2σ² - log(σ√(2π))."""
        z = np.asarray(x, dtype=np.float64) / self.sigma
        return np.asarray(-z * z / 2 - (_LOG_ROOT_TWO_PI + math.log(self.sigma)))

    def _left_tail(self, x: Array) -> Array:
        """P(noise <= x) for x <= 0, as density times Mills' ratio: both are accurate where it is tiny."""
        z = x / self.sigma
        return np.asarray(0.5 * np.exp(-z * z / 2) * erfcx(-z / math.sqrt(2)))

    def cdf(self, x: ArrayLike) -> Array:
        """Φ(x/σ)."""
        x = np.asarray(x, dtype=np.float64)
        tail = self._left_tail(-np.abs(x))
        return np.where(x <= 0, tail, 1 - tail)

    def survival(self, x: ArrayLike) -> Array:
        """Φ(-x/σ)."""
        return self.cdf(-np.asarray(x, dtype=np.float64))

    def quantile(self, u: ArrayLike) -> Array:
        """σ Φ⁻¹(u), such that cdf(quantile(u)) is within 1e-12 of u, relatively."""
        return np.asarray(self.sigma * ndtri(np.asarray(u, dtype=np.float64)))

    def upper_quantile(self, u: ArrayLike) -> Array:
        """-σ Φ⁻¹(u), by symmetry."""
        return -self.quantile(u)

    def mass(self, low: ArrayLike, high: ArrayLike) -> Array:
        """P(low <= noise <= high).

        Integrated from the end nearer to zero, so that even an interval of width 1e-10 at 30σ keeps its
        digits. The ends themselves are taken as exact.
        """
        bend = -1.0 / self.sigma**2
        log_mass = log_integral(
            low, high, 0.0, exponent=self.log_density, slope=lambda y: bend * y, curvature=bend
        )
        return np.exp(log_mass)

    def largest_loss(self, shift: float) -> float:  # noqa: ARG002 - the same for every shift
        """Unbounded: the loss grows without limit to the left."""
        return math.inf

    def score(self, x: ArrayLike) -> Array:
        """x/σ²."""
        return np.asarray(x, dtype=np.float64) / self.sigma**2

    def loss_crossing(self, level: ArrayLike, shift: ArrayLike) -> Array:
        """s/2 - level σ²/s: the loss is s(s - 2y)/2σ²."""
        level, shift = np.asarray(level, dtype=np.float64), np.asarray(shift, dtype=np.float64)
        return np.asarray(shift / 2 - level * (self.sigma * (self.sigma / shift)))

    def log_moment(
        self, low: ArrayLike, high: ArrayLike, shift: ArrayLike, order: float
    ) -> tuple[Array, Array]:
        """Log of the integral of f(y)^α f(y-s)^(1-α): a Gaussian again, centered at (1-α)s.

        The exponent is log f(y) + (α-1) s(s-2y)/2σ², whose integral over the line is exp(α(α-1)s²/2σ²)
        (Mironov 2017, proposition 7). Exact up to rounding, of about 1e-15 of the exponent at its peak.
        """
        order = above_one("order", order)
        low, high, s = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (low, high, shift)))
        center = (1 - order) * s
        bend = -1.0 / self.sigma**2

        def exponent(y: Array) -> Array:
            loss = (s / self.sigma) * ((s - 2 * y) / self.sigma) / 2
            return np.asarray(self.log_density(y) + (order - 1) * loss)

        value = log_integral(
            low, high, center, exponent=exponent, slope=lambda y: bend * (y - center), curvature=bend
        )
        return value, value

    def on_grid(self) -> LatticeKernel:
        """The discrete Gaussian of the same σ (Canonne, Kamath and Steinke 2020)."""
        from pbdp.noise.discrete_gaussian import DiscreteGaussian

        return DiscreteGaussian(sigma=self.sigma)
