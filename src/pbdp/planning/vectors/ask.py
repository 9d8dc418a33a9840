"""`plan_vector`: the noise with the least certified privacy loss for an answer with several coordinates."""

from __future__ import annotations

from pbdp.domains import positive
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.coordinates import Coordinates
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certification import plan_of
from pbdp.planning.plan import Certified, Plan
from pbdp.planning.planner import plan_for
from pbdp.planning.vectors.norms import WHOLE_VECTORS
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
    neighbors: str = "add/remove",
    touches: int | None = None,
    step: float | None = None,
) -> Plan:
    """The noise with the least certified epsilon for a vector that must be near the truth as a whole.

    With `norm="linf"` every coordinate must be within the width at once, and one person changes each
    coordinate by at most the sensitivity: the noise is that of `pbdp.plan` for so many releases. With `"l2"`
    both are Euclidean lengths, and the noise, Gaussian or Laplace, prefers no direction. With `"l1"` both are
    sums of absolute values, and the noise is Laplace in every coordinate.
    `touches` is the most coordinates that one person changes: 1 for a histogram to which people are added.
    """
    width = positive("within", within, "It is how near the truth the vector must be.")
    requirement = Requirement(
        region=AbsoluteRegion.even(width),
        confidence=confidence,
        sensitivity=sensitivity,
        delta=delta,
        neighbors=neighbors,
        integer=integer,
        step=step,
        coordinates=Coordinates(dimensions=dimensions, norm=norm, touches=touches),
    )
    return vector_plan(requirement)


def vector_plan(requirement: Requirement) -> Plan:
    """The plan for a checked requirement that has coordinates."""
    if requirement.coordinates is None:
        raise AssertionError("a vector has coordinates")
    noise = WHOLE_VECTORS.get(requirement.coordinates.norm)
    if noise is None:
        # noise of its own in every coordinate
        return plan_for(requirement)
    ranked, reasons = [], []
    for design in noise.designs(requirement):
        try:
            certificate = design.certificate(requirement)
        except CannotCertifyError as error:
            reasons.append(str(error))
            continue
        if certificate is not None:
            ranked.append(Certified(design=design, certificate=certificate))
    if not ranked:
        raise CannotCertifyError(
            "No noise could be certified for this requirement. "
            + (reasons[0] if reasons else "Ask for a larger width or a lower confidence.")
        )
    ranked.sort(key=lambda entry: entry.certificate.epsilon)
    return plan_of(requirement, ranked[0], ranked[1:])
