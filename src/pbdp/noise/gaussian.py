"""Gaussian noise, on the line and on the whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp import special
from pbdp.noise.family import Family, Problem, Shape, Shapes
from pbdp.noise.gaussian_integral import gauss_legendre, log_integral
from pbdp.noise.kernel import Array, ArrayLike, LatticeKernel, LogConcaveKernel
from pbdp.noise.symmetric_lattice import SymmetricLattice, scale_in_steps
from pbdp.noise.tabulated_lattice import TabulatedLattice
from pbdp.parameters import above_one, positive

_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)

# From this sigma on the Euler–Maclaurin series reaches 1e-14 for every z = n/σ at which a tail is not nil.
_SMOOTH = 32.0
_FARTHEST_Z = 39.0

# B_2j/(2j)! for j = 1, 2, ..., 10: the coefficients of the series.
_EULER_MACLAURIN = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
)


@dataclass(frozen=True, slots=True)
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

    def log_density(self, x: ArrayLike) -> Array:
        """-x²/2σ² - log(σ√(2π))."""
        z = np.asarray(x, dtype=np.float64) / self.sigma
        return np.asarray(-z * z / 2 - (_LOG_ROOT_TWO_PI + math.log(self.sigma)))

    def _left_tail(self, x: Array) -> Array:
        """P(noise <= x) for x <= 0, as density times Mills' ratio: both are accurate where it is tiny."""
        z = x / self.sigma
        return np.asarray(0.5 * np.exp(-z * z / 2) * special.erfcx(-z / math.sqrt(2)))

    def cdf(self, x: ArrayLike) -> Array:
        """Φ(x/σ)."""
        x = np.asarray(x, dtype=np.float64)
        tail = self._left_tail(-np.abs(x))
        return np.where(x <= 0, tail, 1 - tail)

    def survival(self, x: ArrayLike) -> Array:
        """Φ(-x/σ)."""
        return self.cdf(-np.asarray(x, dtype=np.float64))

    def reach(self, tail: float) -> float:
        """-σ Φ⁻¹(tail/2)."""
        return -self.sigma * float(special.ndtri(tail / 2))

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

    def log_moment(self, low: ArrayLike, high: ArrayLike, shift: ArrayLike, order: float) -> Array:
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

        return log_integral(
            low, high, center, exponent=exponent, slope=lambda y: bend * (y - center), curvature=bend
        )

    def on_grid(self) -> LatticeKernel:
        """The discrete Gaussian of the same σ (Canonne, Kamath and Steinke 2020)."""
        return DiscreteGaussian(sigma=self.sigma)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(TabulatedLattice):
    """Noise on the whole numbers with P(noise = n) = exp(-n²/2σ²) / Σ exp(-k²/2σ²).

    The discrete Gaussian of Canonne, Kamath and Steinke (2020). It has no pure epsilon. Tails come from a
    table for σ < 32 and from the Euler–Maclaurin formula above, so a σ of a billion steps costs no more than
    one of a hundred. All figures are within 1e-12 relatively down to 1e-250.
    """

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", scale_in_steps("sigma", self.sigma))

    @property
    def family(self) -> str:
        """`gaussian`."""
        return "gaussian"

    @property
    def loss_law(self) -> Gaussian:
        """Gaussian noise of the same σ: the log-mass is a parabola."""
        return Gaussian(sigma=self.sigma)

    def _pure_loss(self, shift: int) -> float:  # noqa: ARG002 - every shift has an unbounded loss
        return math.inf

    def _log_weight(self, n: Array) -> Array:
        z = n / self.sigma
        return np.asarray(-z * z / 2)

    def _sum_of_weights(self) -> float:
        """log of Σ exp(-n²/2σ²) = σ√(2π) Σ exp(-2π²σ²m²), by Poisson summation; whichever side is short."""
        sigma = self.sigma
        if sigma < 0.5:
            return math.log1p(2 * math.fsum(math.exp(-((n / sigma) ** 2) / 2) for n in (1, 2, 3, 4)))
        waves = 2 * math.fsum(math.exp(-2 * (math.pi * sigma * m) ** 2) for m in (1, 2, 3))
        return math.log(sigma * math.sqrt(2 * math.pi)) + math.log1p(waves)

    def _tail(self, n: Array) -> Array:
        """Σ_{k >= n} exp(-k²/2σ²), over the normalizer; for large σ the integral and its correction."""
        if self.sigma < _SMOOTH:
            return TabulatedLattice._tail(self, n)
        z = np.minimum(n / self.sigma, _FARTHEST_Z)
        integral = self.sigma * math.sqrt(math.pi / 2) * special.erfcx(z / math.sqrt(2))
        return np.asarray(np.exp(-z * z / 2 - self._log_total) * (integral + self._correction(z)))

    def _correction(self, z: Array) -> Array:
        """What Σ_{k >= n} f(k) has above the integral of f from n on, over f(n); f(x) = exp(-x²/2σ²), n = σz.

        It is 1/2 - Σ_j B_2j/(2j)! f^(2j-1)(n)/f(n), and f^(m)/f = (-1)^m He_m(z)/σ^m with He_m the Hermite
        polynomials. The terms fall like (z/2πσ)^(2j); as many are taken as 1e-15 needs at z = 39.
        """
        slope = z / self.sigma
        terms = math.ceil(math.log(1e-15) / (2 * math.log(_FARTHEST_Z / (2 * math.pi * self.sigma))))
        before, hermite = np.ones_like(z), slope
        total = np.full_like(z, 0.5)
        for j, coefficient in enumerate(_EULER_MACLAURIN[:terms]):
            total = total + coefficient * hermite
            for m in (2 * j + 1, 2 * j + 2):
                before, hermite = hermite, slope * hermite - m / self.sigma**2 * before
        return total

    def _run(self, first: Array, last: Array) -> Array:
        """A difference of tails; or, where these hardly differ, one integral and its corrections.

        The integral is taken by Gauss–Legendre, exact to rounding as the exponent changes by less than two.
        """
        if self.sigma < _SMOOTH:
            return TabulatedLattice._run(self, first, last)
        start = np.minimum(first / self.sigma, _FARTHEST_Z)
        width = np.clip(last + 1 - first, 0.0, self.sigma) / self.sigma
        nodes, weights = gauss_legendre(12)
        points = start[..., None] + width[..., None] * nodes
        integral = width * self.sigma * (_bell(points) @ weights)
        stop = start + width
        edges = _bell(start) * self._correction(start) - _bell(stop) * self._correction(stop)
        narrow = (integral + edges) * math.exp(-self._log_total)
        return np.where((width < 1) & (width * start < 1), narrow, self._tail(first) - self._tail(last + 1))

    def reach(self, tail: float) -> int:
        """Smallest n >= 0 with 2 P(noise >= n + 1) <= tail."""
        return (TabulatedLattice if self.sigma < _SMOOTH else SymmetricLattice).reach(self, tail)

    def _tail_guess(self, u: Array) -> Array:
        if self.sigma < _SMOOTH:
            return TabulatedLattice._tail_guess(self, u)
        return np.asarray(np.ceil(0.5 - self.sigma * special.ndtri(u)))


def _bell(z: Array) -> Array:
    return np.asarray(np.exp(-z * z / 2))


def _shapes(problem: Problem) -> Shapes:
    return Shapes(
        shape=lambda _: Shape(
            start=problem.reach + 1.0,
            log_density=lambda x, scale: -0.5 * (x / scale) ** 2,
            kernel=lambda scale: DiscreteGaussian(sigma=scale),
        )
    )


GAUSSIAN = Family(
    name="gaussian",
    rank=2,
    law=DiscreteGaussian,
    lengths=("sigma",),
    character="loses more and more the further an output is from the answer",
    shapes=_shapes,
    of_scale=lambda scale: DiscreteGaussian(sigma=scale),
    concave=True,
    formula=lambda sigma: f"exp(-k**2/(2*{sigma!r}**2))",
)
