"""`plan_vector`: the noise with the least certified privacy loss for an answer with several coordinates."""

from __future__ import annotations

from collections.abc import Iterable

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.vectors.design import VectorCertified, VectorDesign
from pbdp.planning.vectors.independent import independent_design
from pbdp.planning.vectors.plan import VectorPlan
from pbdp.planning.vectors.product_laplace import product_designs
from pbdp.planning.vectors.requirement import VectorRequirement
from pbdp.planning.vectors.spherical import spherical_designs
from pbdp.spelling import neighbours_too


@neighbours_too
def plan_vector(
    *,
    within: float,
    confidence: float,
    dimensions: int,
    norm: str,
    sensitivity: float,
    delta: float,
    integer: bool = False,
    neighbors: str = Neighbors.ADD_REMOVE,
    touches: int | None = None,
    step: float | None = None,
) -> VectorPlan:
    """The noise with the least certified epsilon for a vector that must be near the truth as a whole.

    With `norm="linf"` every coordinate must be within the width at once, and one person changes each
    coordinate by at most the sensitivity: the noise is that of `pbdp.plan` for so many releases. With `"l2"`
    both are Euclidean lengths, and the noise, Gaussian or Laplace, prefers no direction. With `"l1"` both are
    sums of absolute values, and the noise is Laplace in every coordinate.
    `touches` is the most coordinates that one person changes: 1 for a histogram to which people are added.
    """
    requirement = VectorRequirement(
        within=within,
        confidence=confidence,
        dimensions=dimensions,
        norm=norm,
        sensitivity=sensitivity,
        delta=delta,
        integer=integer,
        neighbors=neighbors,
        touches=touches,
        step=step,
    )
    ranked, reasons = [], []
    for design in _designs(requirement):
        try:
            certificate = design.certificate(requirement)
        except CannotCertifyError as error:
            reasons.append(str(error))
            continue
        if certificate is not None:
            ranked.append(VectorCertified(design=design, certificate=certificate))
    if not ranked:
        raise CannotCertifyError(
            "No noise could be certified for this requirement. "
            + (reasons[0] if reasons else "Ask for a larger width or a lower confidence.")
        )
    ranked.sort(key=lambda entry: entry.certificate.epsilon)
    return VectorPlan(requirement=requirement, chosen=ranked[0], others=tuple(ranked[1:]))


def _designs(requirement: VectorRequirement) -> Iterable[VectorDesign]:
    """The designs to be certified, for the norm of the requirement."""
    match requirement.norm:
        case "linf":
            return (independent_design(requirement),)
        case "l2":
            return spherical_designs(requirement)
    return product_designs(requirement)
