"""The Euclidean norm: noise that is the same in all directions.

Gaussian noise, plain or boosted in the ball of the requirement, is accounted in `pbdp.privacy.exact.ball`.
Laplace noise has density proportional to exp(-|n|/b): by the triangle inequality its loss never exceeds Δ/b,
and |n|/b has the Gamma(d) law (Hardt and Talwar 2010, the K-norm mechanism for the Euclidean ball).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaincinv

from pbdp.domains import positive
from pbdp.errors import CannotCertifyError, InputError
from pbdp.planning.vectors.design import Record, VectorCertificate, VectorDesign
from pbdp.planning.vectors.requirement import VectorRequirement
from pbdp.privacy.exact.ball import BallAccountant, BoostedBall
from pbdp.privacy.exact.chi_square import cdf_error

# The boosts that are looked at, by the loss -log(1 - boost) that they add: how many, and the largest.
BOOSTS, LARGEST_BOOST_LOSS = 40, 500.0
REFINEMENTS = 18
# A ball this small against sigma is not looked at.
SMALLEST_RADIUS = 1e-100

_CONTINUOUS = (
    "The law of the noise is continuous: there is no table, so errors of sampling in floating point are not "
    "covered."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SphericalGaussian(VectorDesign):
    """N(0, sigma² I); outside the ball of the requirement the density is multiplied by `kept` = 1 - boost."""

    sigma: float
    kept: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        if positive("kept", self.kept) > 1:
            raise InputError("kept", "above 0 and at most 1", self.kept)
        object.__setattr__(self, "kept", float(self.kept))

    @property
    def name(self) -> str:
        return "boosted gaussian" if self.kept < 1 else "gaussian"

    def describe(self, requirement: VectorRequirement) -> str:
        plain = f"Gaussian noise in {_dimensions(requirement)}, sigma {self.sigma:.6g} in each"
        if self.kept == 1:
            return plain
        return f"{plain}, its density multiplied by {self.kept:.6g} beyond length {requirement.within:g}"

    def certificate(self, requirement: VectorRequirement) -> VectorCertificate | None:
        accountant = self.accountant(requirement)
        confidence = accountant.mechanism.confidence.lower
        if confidence < requirement.confidence:
            return None
        epsilon = accountant.epsilon_at(requirement.delta)
        if math.isinf(epsilon.upper):
            raise CannotCertifyError(
                f"{self.name} noise has no finite epsilon at delta {requirement.delta:g}; the width is too "
                "small against the sensitivity."
            )
        return VectorCertificate(
            epsilon=epsilon.upper,
            epsilon_lower=epsilon.lower,
            confidence=confidence,
            method="integral along the shift, bounded on panels; the longest shift is the worst",
        )

    def accountant(self, requirement: VectorRequirement) -> BallAccountant:
        """The exact accountant of one release."""
        ball = BoostedBall(
            dimensions=requirement.dimensions, sigma=self.sigma, radius=requirement.within, kept=self.kept
        )
        return BallAccountant(mechanism=ball, sensitivity=requirement.sensitivity)

    def record(self) -> Record:
        return {"kernel": "gaussian", "sigma": self.sigma, "kept": self.kept, "boost": 1 - self.kept}

    def assumptions(self, requirement: VectorRequirement) -> tuple[str, ...]:  # noqa: ARG002 - the same for all
        return (_CONTINUOUS,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SphericalLaplace(VectorDesign):
    """Density proportional to exp(-|n|/scale), |n| the Euclidean length."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @property
    def name(self) -> str:
        return "laplace"

    def describe(self, requirement: VectorRequirement) -> str:
        return (
            f"Laplace noise in {_dimensions(requirement)}: all directions alike, the length has the "
            f"Gamma({requirement.dimensions}) law with scale {self.scale:.6g}"
        )

    def certificate(self, requirement: VectorRequirement) -> VectorCertificate | None:
        confidence = self.confidence(requirement)
        if confidence < requirement.confidence:
            return None
        return VectorCertificate(
            epsilon=requirement.sensitivity / self.scale * (1 + 2.0**-51),
            epsilon_lower=0.0,
            confidence=confidence,
            method="triangle inequality; holds without the delta",
        )

    def confidence(self, requirement: VectorRequirement) -> float:
        """P(|noise| <= within), rounded down."""
        d, t = requirement.dimensions, requirement.within / self.scale
        # a relative error e of t changes the Gamma(d) CDF by a factor of (1 + e)^d at most
        value = float(gammainc(d, t))
        return value * (1 - float(cdf_error(value)) - 2.0**-50 * d)

    def record(self) -> Record:
        return {"kernel": "laplace", "scale": self.scale}

    def assumptions(self, requirement: VectorRequirement) -> tuple[str, ...]:  # noqa: ARG002 - the same for all
        return (_CONTINUOUS,)


def _dimensions(requirement: VectorRequirement) -> str:
    return f"{requirement.dimensions} dimension{'s' if requirement.dimensions > 1 else ''}"


def spherical_designs(requirement: VectorRequirement) -> Iterator[VectorDesign]:
    """The best scale of every family."""
    yield plain_gaussian(requirement)
    boosted = best_boosted(requirement)
    if boosted is not None:
        yield boosted
    yield widest_laplace(requirement)


def plain_gaussian(requirement: VectorRequirement) -> SphericalGaussian:
    """The largest sigma that meets the confidence on its own."""
    radius = math.sqrt(2 * float(gammaincinv(requirement.dimensions / 2, requirement.confidence)))
    sigma = requirement.within / radius
    margin = 1e-13
    while margin < 1:
        design = SphericalGaussian(sigma=sigma * (1 - margin))
        if design.accountant(requirement).mechanism.confidence.lower >= requirement.confidence:
            return design
        margin *= 2
    raise CannotCertifyError(f"A confidence of {requirement.confidence!r} is too near 1. Ask for less.")


def widest_laplace(requirement: VectorRequirement) -> SphericalLaplace:
    """The largest scale that meets the confidence."""
    scale = requirement.within / float(gammaincinv(requirement.dimensions, requirement.confidence))
    margin = 1e-13
    while margin < 1:
        design = SphericalLaplace(scale=scale * (1 - margin))
        if design.confidence(requirement) >= requirement.confidence:
            return design
        margin *= 2
    raise CannotCertifyError(f"A confidence of {requirement.confidence!r} is too near 1. Ask for less.")


def boosted_gaussian(requirement: VectorRequirement, boost_loss: float) -> SphericalGaussian | None:
    """The sigma at which a boost with this -log(1 - boost) is what the confidence asks for.

    With k = 1 - boost the odds of the ball grow by 1/k; the kernel's own are k times those asked for.
    """
    rho = requirement.confidence
    odds = math.exp(-boost_loss) * rho / (1 - rho)
    radius = math.sqrt(2 * float(gammaincinv(requirement.dimensions / 2, odds / (1 + odds))))
    if radius < SMALLEST_RADIUS:
        return None
    sigma = requirement.within / radius
    ball = BoostedBall(dimensions=requirement.dimensions, sigma=sigma, radius=requirement.within)
    inside, outside = ball.masses
    kept = inside.lower * (1 - rho) / (rho * outside.upper) * (1 - 1e-13)
    return SphericalGaussian(sigma=sigma, kept=kept) if 0 < kept < 1 else None


def best_boosted(requirement: VectorRequirement) -> SphericalGaussian | None:
    """The boosted Gaussian with the least estimated epsilon: a scan, then a golden-section search."""

    def estimate(boost_loss: float) -> float:
        design = boosted_gaussian(requirement, boost_loss)
        return (
            math.inf
            if design is None
            else design.accountant(requirement).estimated_epsilon(requirement.delta)
        )

    plain = plain_gaussian(requirement).accountant(requirement).estimated_epsilon(requirement.delta)
    top = min(LARGEST_BOOST_LOSS, 2 * plain + 1)
    losses = np.geomspace(1e-3 * top, top, BOOSTS)
    found = [estimate(float(loss)) for loss in losses]
    at = int(np.argmin(found))
    low, high = math.log(losses[max(at - 1, 0)]), math.log(losses[min(at + 1, BOOSTS - 1)])
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(REFINEMENTS):
        inner = (high - golden * (high - low), low + golden * (high - low))
        if estimate(math.exp(inner[0])) <= estimate(math.exp(inner[1])):
            high = inner[1]
        else:
            low = inner[0]
    return boosted_gaussian(requirement, math.exp((low + high) / 2))
