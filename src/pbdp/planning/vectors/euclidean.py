"""The Euclidean norm: the best scale of every noise that is the same in all directions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pbdp import special
from pbdp.accounting.exact.ball import BoostedBall
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.vectors.design import Record, VectorDesign, delta_of
from pbdp.planning.vectors.spherical import Rounding, rounding_for
from pbdp.planning.vectors.spherical_gaussian import SphericalGaussian
from pbdp.planning.vectors.spherical_laplace import SphericalLaplace, widest_laplace
from pbdp.release.spherical import LARGEST_SCALE

# The boosts that are looked at, by the loss -log(1 - boost) that they add: how many, and the largest.
BOOSTS, LARGEST_BOOST_LOSS = 40, 500.0
REFINEMENTS = 18
# A ball this small against sigma is not looked at.
SMALLEST_RADIUS = 1e-100


def spherical_designs(requirement: Requirement) -> Iterator[VectorDesign]:
    """The best scale of every family."""
    laplace = widest_laplace(requirement)
    yield plain_gaussian(requirement)
    boosted = best_boosted(requirement)
    if boosted is not None:
        yield boosted
    yield laplace


def plain_gaussian(requirement: Requirement) -> SphericalGaussian:
    """The largest sigma that meets the confidence on its own."""
    rounding = rounding_for(requirement)
    radius = math.sqrt(2 * float(special.gammaincinv(requirement.dimensions / 2, requirement.confidence)))
    sigma = rounding.room(requirement) / radius
    margin = 1e-13
    while margin < 1:
        design = SphericalGaussian(sigma=sigma * (1 - margin), rounding=rounding)
        if design.confidence(requirement) >= requirement.confidence:
            return design
        margin *= 2
    raise CannotCertifyError(f"A confidence of {requirement.confidence!r} is too near 1. Ask for less.")


def boosted_gaussian(
    requirement: Requirement, boost_loss: float, error: float = 0.0
) -> SphericalGaussian | None:
    """The sigma at which a boost with this -log(1 - boost) is what the confidence asks for, plus the error.

    With k = 1 - boost the odds of the ball grow by 1/k; the kernel's own are k times those asked for.
    """
    rounding = rounding_for(requirement)
    room = rounding.room(requirement)
    rho = (requirement.confidence + error) * (1 + 2.0**-47)
    if rho >= 1:
        return None
    odds = math.exp(-boost_loss) * rho / (1 - rho)
    radius = math.sqrt(2 * float(special.gammaincinv(requirement.dimensions / 2, odds / (1 + odds))))
    if radius < SMALLEST_RADIUS or room / radius >= LARGEST_SCALE * rounding.step:
        return None
    sigma = room / radius
    inside, outside = BoostedBall(dimensions=requirement.dimensions, sigma=sigma, radius=room).masses
    kept = inside.lower * (1 - rho) / (rho * outside.upper) * (1 - 1e-13)
    return SphericalGaussian(sigma=sigma, kept=kept, rounding=rounding) if 0 < kept < 1 else None


def best_boosted(requirement: Requirement) -> SphericalGaussian | None:
    """The boosted Gaussian with the least estimated epsilon: a scan, then a golden-section search.

    Most boosts are worse than the best so far, which one look tells: it is begun with boosts far apart.
    """
    delta = delta_of(requirement)

    def estimate(boost_loss: float, most: float) -> float:
        design = boosted_gaussian(requirement, boost_loss)
        return math.inf if design is None else design.accountant(requirement).estimated_epsilon(delta, most)

    plain = plain_gaussian(requirement).accountant(requirement).estimated_epsilon(delta)
    top = min(LARGEST_BOOST_LOSS, 2 * plain + 1)
    losses = np.geomspace(1e-3 * top, top, BOOSTS)
    least, at = math.inf, 0
    for place in sorted(range(BOOSTS), key=lambda place: f"{place:06b}"[::-1]):
        least, at = min((least, at), (estimate(float(losses[place]), least), place))
    low, high = math.log(losses[max(at - 1, 0)]), math.log(losses[min(at + 1, BOOSTS - 1)])
    golden = (math.sqrt(5) - 1) / 2
    # what was found at the two inner points; one of them is an inner point of the next, shorter range too
    first = second = math.nan
    for _ in range(REFINEMENTS):
        inner = (high - golden * (high - low), low + golden * (high - low))
        if math.isnan(first):
            first = estimate(math.exp(inner[0]), math.inf if math.isnan(second) else second)
        if math.isnan(second):
            second = estimate(math.exp(inner[1]), first)
        if first <= second:
            high, first, second = inner[1], math.nan, first
        else:
            low, first, second = inner[0], second, math.nan
    best = math.exp((low + high) / 2)
    design = boosted_gaussian(requirement, best)
    if design is None:
        return None
    return boosted_gaussian(requirement, best, 1.01 * design.sampling_error(requirement))


def read_spherical(record: Record, requirement: Requirement) -> VectorDesign | None:  # noqa: ARG001 - any requirement
    """The design of a record, or None if it is none of these."""
    rounding = Rounding(step=record["step"], answer_step=record["answer_step"])
    match record["kernel"]:
        case "gaussian":
            return SphericalGaussian(sigma=record["sigma"], kept=record["kept"], rounding=rounding)
        case "laplace":
            return SphericalLaplace(scale=record["scale"], rounding=rounding)
    return None
