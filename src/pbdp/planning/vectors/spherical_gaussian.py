"""Gaussian noise, plain or boosted in a ball, that is the same in all directions.

The law is accounted in `pbdp.accounting.exact.ball`, for rounded answers and the ball that rounding leaves of
the width, at a delta that also covers what the sampler differs by (`sampled`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from pbdp import special
from pbdp.accounting.composition.loss_law import LossLaw
from pbdp.accounting.exact.ball import BallAccountant, BoostedBall
from pbdp.accounting.exact.chi_square import cdf
from pbdp.accounting.filters.steps import symmetric_law
from pbdp.digits import delta_text
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array
from pbdp.parameters import positive
from pbdp.planning.certificate import Certificate
from pbdp.planning.vectors.design import SAFE, Record, charge, delta_of, not_covered
from pbdp.planning.vectors.spherical import Rounding, SphericalDesign
from pbdp.planning.vectors.spherical_length import LengthLaw
from pbdp.release.spherical import SphericalNoise

# The largest share of delta that sampling may use up.
LARGEST_RESERVE = 0.5
# Epsilons at which delta is looked at for a composition (each is an integral where noise is boosted), how
# exactly, and where their row ends: at an epsilon of one of these deltas, which is between those.
POINTS, BOOSTED_POINTS, CURVE_TOLERANCE = 1024, 96, 1e-4
SMALL_DELTAS = (1e-16, 1e-12, 1e-9, 1e-6, 1e-3)
SMALLEST_ROW, LARGEST_EPSILON = 1e-6, 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SphericalGaussian(SphericalDesign):
    """N(0, sigma² I); beyond the ball that rounding leaves of the width the density is `kept` times that.

    `kept` is 1 - boost.
    """

    sigma: float
    kept: float = 1.0
    rounding: Rounding
    grid: LinearGrid = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", self.rounding.answers)
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        if positive("kept", self.kept) > 1:
            raise InputError("kept", "above 0 and at most 1", self.kept)
        object.__setattr__(self, "kept", float(self.kept))

    @property
    def name(self) -> str:
        return "boosted gaussian" if self.kept < 1 else "gaussian"

    def describe(self, requirement: Requirement) -> str:
        plain = f"Gaussian noise in {requirement.in_dimensions}, sigma {self.sigma:.6g} in each"
        if self.kept == 1:
            return plain
        edge = self.rounding.room(requirement)
        return f"{plain}, its density multiplied by {self.kept:.6g} beyond length {edge:.6g}"

    def certificate(self, requirement: Requirement) -> Certificate | None:
        error, confidence = self.sampling_error(requirement), self.confidence(requirement)
        if confidence < requirement.confidence:
            return None
        return Certificate(
            epsilon=self._epsilon(requirement, error),
            epsilon_lower=self.before_rounding(requirement).epsilon_at(delta_of(requirement)).lower,
            confidence=confidence,
            method="integral along the shift, bounded on panels; the longest shift is the worst; delta "
            "covers the sampler's distance from the law",
            delta=delta_of(requirement),
            rdp_order=None,
            table_error=error,
        )

    def _epsilon(self, requirement: Requirement, error: float) -> float:
        """At a delta that leaves (1 + e^epsilon) times the error."""
        accountant, delta = self.accountant(requirement), delta_of(requirement)
        epsilon = accountant.estimated_epsilon(delta)
        reserve = 1.01 * charge(epsilon, error) / delta
        while math.isfinite(epsilon) and reserve <= LARGEST_RESERVE:
            epsilon = accountant.epsilon_at(delta * (1 - reserve - SAFE)).upper
            if charge(epsilon, error) <= delta * reserve:
                return epsilon
            reserve *= 1.5
        raise CannotCertifyError(
            f"{self.name} noise has no finite epsilon at delta {delta_text(requirement.delta)}; the width "
            "is too "
            "small against the sensitivity."
            if math.isinf(epsilon)
            else not_covered(self.name, requirement, epsilon, error)
        )

    def loss_law(self, requirement: Requirement) -> LossLaw:
        """The pair of the curve of delta, at a row of epsilons that ends where delta is about the error."""
        accountant, error = self.accountant(requirement), self.sampling_error(requirement)
        last = next(
            (
                epsilon
                for delta in (max(error, SMALL_DELTAS[0]), *SMALL_DELTAS[1:])
                if math.isfinite(epsilon := accountant.estimated_epsilon(delta))
            ),
            LARGEST_EPSILON,
        )
        points = POINTS if self.kept == 1 else BOOSTED_POINTS
        step = min(max(last, SMALLEST_ROW), LARGEST_EPSILON) / points
        epsilons = step * np.arange(points + 1)
        ideal = np.array([accountant.delta_at(float(epsilon), CURVE_TOLERANCE).upper for epsilon in epsilons])
        drawn = [charge(float(epsilon), error) for epsilon in epsilons]
        return symmetric_law(step, (ideal + drawn) * (1 + SAFE))

    def confidence(self, requirement: Requirement) -> float:
        """P(|noise| <= what rounding leaves of the width) less the sampler's error, rounded down."""
        return (self._ball(requirement).confidence.lower - self.sampling_error(requirement)) * (1 - 2.0**-52)

    def _ball(self, requirement: Requirement) -> BoostedBall:
        return BoostedBall(
            dimensions=requirement.dimensions,
            sigma=self.sigma,
            radius=self.rounding.room(requirement),
            kept=self.kept,
        )

    def accountant(self, requirement: Requirement) -> BallAccountant:
        """The exact accountant of one release, for rounded answers."""
        return BallAccountant(
            mechanism=self._ball(requirement), sensitivity=self.rounding.sensitivity(requirement)
        )

    def before_rounding(self, requirement: Requirement) -> BallAccountant:
        """The exact accountant of the noise itself."""
        return BallAccountant(mechanism=self._ball(requirement), sensitivity=requirement.length_changed)

    def noise(self, requirement: Requirement) -> SphericalNoise:
        """What is drawn, in steps."""
        step, sigma = self.rounding.step, self.sigma / self.rounding.step
        boosted = None
        if self.kept < 1:
            ball = self.rounding.room(requirement) / step
            boosted = LengthLaw(
                dimensions=requirement.dimensions, scale=sigma, power=2, ball=ball, kept=self.kept
            )
        return SphericalNoise(
            dimensions=requirement.dimensions, finer=self.rounding.halvings, sigma=sigma, length=boosted
        )

    def sampling_error(self, requirement: Requirement) -> float:
        """η. The density of a coordinate at zero is that of the kernel, times the weight left there, over C.

        The other coordinates are in the ball with probability F(r²/sigma²), F chi-square with d - 1 degrees.
        Boosting makes lengths smaller, so the mean size of a coordinate is below sigma.
        """
        ball = self._ball(requirement)
        square = np.array([(ball.radius / self.sigma) ** 2])
        inside = float(cdf(requirement.dimensions - 1, square)[0])
        weight = (inside + self.kept * (1 - inside)) / ball.normalizer.lower * (1 + 1e-6)
        sigma = self.sigma / self.rounding.step
        peak = weight / (sigma * math.sqrt(2 * math.pi))
        return self.noise(requirement).error(peak=peak, mean=sigma) * (1 + SAFE)

    def length_below(self, requirement: Requirement, lengths: Array) -> Array:
        """Of the kernel, with what lies beyond the ball kept in part."""
        edge, half = self.rounding.room(requirement), requirement.dimensions / 2

        def kernel(t: Array | float) -> Array:
            return np.asarray(special.gammainc(half, np.square(np.asarray(t) / self.sigma) / 2))

        inside = kernel(np.minimum(lengths, edge))
        beyond = self.kept * (kernel(np.maximum(lengths, edge)) - kernel(edge))
        return np.asarray((inside + beyond) / (kernel(edge) + self.kept * (1 - kernel(edge))))

    def log_density(self, requirement: Requirement, lengths: Array) -> Array:
        beyond = lengths > self.rounding.room(requirement)
        return np.asarray(np.where(beyond, math.log(self.kept), 0.0) - np.square(lengths / self.sigma) / 2)

    def record(self) -> Record:
        return {
            "family": self.name,
            "kernel": "gaussian",
            "sigma": self.sigma,
            "kept": self.kept,
            "boost": 1 - self.kept,
            "step": self.rounding.step,
            "answer_step": self.rounding.answer_step,
        }
