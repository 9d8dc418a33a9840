"""Gaussian noise rounded to whole numbers: what several numbers together reveal is known exactly.

P(noise = n) = Φ((n + 1/2)/σ) - Φ((n - 1/2)/σ). For whole x the sum x + noise is x + z rounded to the nearest
whole number, z ~ N(0, σ²): a function of x + z. So whatever is true of Gaussian noise on any number of
whole-number answers together is true of this noise. If one person moves the answers by c_1, c_2, ..., all of
them are no easier to tell apart than N(0, 1) and N(μ, 1), μ² = (c_1² + c_2² + ...)/σ². The discrete Gaussian,
whose masses follow the density at whole numbers, has no such theorem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbdp import special
from pbdp.noise.family import Family
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.gaussian_integral import gauss_legendre
from pbdp.noise.kernel import Array, LogConcave
from pbdp.noise.symmetric_lattice import SymmetricLattice, scale_in_steps

# So many points integrate the density over one step to 1e-17, for σ of 1/2 or more, and of 16 or more.
_POINTS, _FEW_POINTS = 16, 5
_LEAST_SIGMA, _WIDE = 0.5, 16.0
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedGaussian(SymmetricLattice):
    """The nearest whole number to Gaussian noise of this σ, which is half a step or more.

    Its masses are those of the law but for 2e-15 in all (checked against 60 digits in the tests).
    """

    center_share: ClassVar[float] = 2.0**-50
    mass_error: ClassVar[float] = 2e-15 + 2.0**-50
    joint: ClassVar[bool] = True

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", max(scale_in_steps("sigma", self.sigma), _LEAST_SIGMA))

    @property
    def family(self) -> str:
        """`rounded gaussian`."""
        return "rounded gaussian"

    @property
    def loss_law(self) -> LogConcave | None:
        """None: its losses are not those of the density; what is accounted is the Gaussian itself."""
        return None

    @property
    def continuous(self) -> Gaussian:
        """The noise before it is rounded."""
        return Gaussian(sigma=self.sigma)

    def _pure_loss(self, shift: int) -> float:  # noqa: ARG002 - every shift has an unbounded loss
        return math.inf

    def _log_mass(self, n: Array) -> Array:
        """log of the density at n, and of the mean over the step of its ratio to that.

        With u from -1/2 to 1/2 the ratio is exp(-u(2n + u)/2σ²). The relative error is a few units, and as
        many as (n/σ)² more, so that all masses together are off by less than 1e-15.
        """
        n = np.asarray(n, dtype=np.float64)
        z = n / self.sigma
        nodes, weights = gauss_legendre(_POINTS if self.sigma < _WIDE else _FEW_POINTS)
        ratio = np.zeros_like(n)
        for u, weight in zip((nodes - 0.5).tolist(), weights.tolist(), strict=True):
            ratio += weight * np.exp(-u * (2 * n + u) / (2 * self.sigma**2))
        return np.asarray(-z * z / 2 - (_LOG_ROOT_TWO_PI + math.log(self.sigma)) + np.log(ratio))

    def _tail(self, n: Array) -> Array:
        """Φ(-(n - 1/2)/σ)."""
        z = (np.asarray(n, dtype=np.float64) - 0.5) / self.sigma
        return np.asarray(0.5 * np.exp(-z * z / 2) * special.erfcx(z / math.sqrt(2)))

    def _run(self, first: Array, last: Array) -> Array:
        return self.continuous.mass(first - 0.5, last + 0.5)

    def _tail_guess(self, u: Array) -> Array:
        return np.asarray(np.ceil(0.5 - self.sigma * special.ndtri(u)))


def _formula(sigma: float) -> str:
    """The integral of the density from k - 1/2 to k + 1/2, by the rule that the masses are computed with."""
    nodes, weights = gauss_legendre(16)
    pairs = zip((nodes - 0.5).tolist(), weights.tolist(), strict=True)
    return "+".join(f"{weight!r}*exp(-(k+({u!r}))**2/(2*{sigma!r}**2))" for u, weight in pairs)


ROUNDED_GAUSSIAN = Family(
    name="rounded gaussian",
    rank=10,
    law=RoundedGaussian,
    lengths=("sigma",),
    character="loses more and more the further an output is from the answer, as Gaussian noise does",
    formula=_formula,
)
