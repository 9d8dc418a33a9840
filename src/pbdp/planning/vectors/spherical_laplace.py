"""Laplace noise that is the same in all directions.

Its density is proportional to exp(-|n|/b): by the triangle inequality its loss never exceeds Δ/b, and |n|/b
has the Gamma(d) law (Hardt and Talwar 2010, the K-norm mechanism for the Euclidean ball). Δ is that of the
rounded answers, and delta covers what the sampler differs by (`sampled`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from pbdp import special
from pbdp.accounting.composition.loss_law import LossLaw
from pbdp.accounting.exact.chi_square import cdf_error
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array
from pbdp.parameters import positive
from pbdp.planning.certificate import Certificate
from pbdp.planning.vectors.design import SAFE, Record, charge, delta_of, not_covered
from pbdp.planning.vectors.loss import claimed_law
from pbdp.planning.vectors.spherical import Rounding, SphericalDesign, rounding_for
from pbdp.planning.vectors.spherical_length import LengthLaw
from pbdp.release.spherical import SphericalNoise


@dataclass(frozen=True, slots=True, kw_only=True)
class SphericalLaplace(SphericalDesign):
    """Density proportional to exp(-|n|/scale), |n| the Euclidean length."""

    scale: float
    rounding: Rounding
    grid: LinearGrid = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", self.rounding.answers)
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @property
    def name(self) -> str:
        return "laplace"

    def describe(self, requirement: Requirement) -> str:
        return (
            f"Laplace noise in {requirement.in_dimensions}: all directions alike, the length has the "
            f"Gamma({requirement.dimensions}) law with scale {self.scale:.6g}"
        )

    def certificate(self, requirement: Requirement) -> Certificate | None:
        confidence = self.confidence(requirement)
        if confidence < requirement.confidence:
            return None
        epsilon, error = self._loss(requirement), self.sampling_error(requirement)
        if charge(epsilon, error) > delta_of(requirement):
            raise CannotCertifyError(not_covered(self.name, requirement, epsilon, error))
        return Certificate(
            epsilon=epsilon,
            epsilon_lower=0.0,
            confidence=confidence,
            method="triangle inequality; delta covers the sampler's distance from the law",
            delta=delta_of(requirement),
            rdp_order=None,
            table_error=error,
        )

    def _loss(self, requirement: Requirement) -> float:
        return self.rounding.sensitivity(requirement) / self.scale * (1 + 2.0**-51)

    def loss_law(self, requirement: Requirement) -> LossLaw:
        epsilon = self._loss(requirement)
        return claimed_law(epsilon, charge(epsilon, self.sampling_error(requirement)))

    def confidence(self, requirement: Requirement) -> float:
        """P(|noise| <= what rounding leaves of the width) less the sampler's error, rounded down."""
        d, t = requirement.dimensions, self.rounding.room(requirement) / self.scale
        # a relative error e of t changes the Gamma(d) CDF by a factor of (1 + e)^d at most
        value = float(special.gammainc(d, t))
        lower = value * (1 - float(cdf_error(value)) - 2.0**-50 * d)
        return (lower - self.sampling_error(requirement)) * (1 - 2.0**-52)

    def noise(self, requirement: Requirement) -> SphericalNoise:
        """What is drawn, in steps; the Gaussian gives the direction only."""
        scale = self.scale / self.rounding.step
        length = LengthLaw(dimensions=requirement.dimensions, scale=scale, power=1)
        return SphericalNoise(
            dimensions=requirement.dimensions, finer=self.rounding.halvings, sigma=1.0, length=length
        )

    def sampling_error(self, requirement: Requirement) -> float:
        """η. A coordinate is b times a normal number times an independent chi with d + 1 degrees.

        Hence its density at zero falls with d from 1/(2b), and its mean square is (d + 1) b².
        """
        scale = self.scale / self.rounding.step
        mean = scale * math.sqrt(requirement.dimensions + 1)
        return self.noise(requirement).error(peak=0.5 / scale, mean=mean) * (1 + SAFE)

    def length_below(self, requirement: Requirement, lengths: Array) -> Array:
        return np.asarray(special.gammainc(requirement.dimensions, lengths / self.scale))

    def log_density(self, requirement: Requirement, lengths: Array) -> Array:  # noqa: ARG002 - in any dimension
        return np.asarray(-lengths / self.scale)

    def record(self) -> Record:
        return {
            "family": self.name,
            "kernel": "laplace",
            "scale": self.scale,
            "step": self.rounding.step,
            "answer_step": self.rounding.answer_step,
        }


def widest_laplace(requirement: Requirement) -> SphericalLaplace:
    """The largest scale that meets the confidence."""
    rounding = rounding_for(requirement)
    quantile = float(special.gammaincinv(requirement.dimensions, requirement.confidence))
    scale = rounding.room(requirement) / quantile
    margin = 1e-13
    while margin < 1:
        design = SphericalLaplace(scale=scale * (1 - margin), rounding=rounding)
        if design.confidence(requirement) >= requirement.confidence:
            return design
        margin *= 2
    raise CannotCertifyError(f"A confidence of {requirement.confidence!r} is too near 1. Ask for less.")
