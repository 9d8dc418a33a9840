"""A joint plan: designs for several requirements, the epsilon of all of them, and a probability set aside.

**Setting.** A mechanism gives a pair (A, B). B is made of the numbers of all parts, each with noise of its
own, so that for two neighbors D and D' it has laws P and Q with H_eps(P, Q) <= d(eps) and the same with P
and Q exchanged, where H_eps(P, Q) is the largest P(F) - e^eps·Q(F). A is what only one of the neighbors can
produce, unless it takes one value a: under D, under D', and *given any value of B*,

    A = a  with probability at least 1 - m.

A group with one person in it, say: the dataset without that person has no such group and never publishes it
(a: "not published"); the dataset with the person publishes it if a noisy count of its own passes a threshold.

**Theorem.** For all eps >= 0 and in both directions,  H_eps(M(D), M(D')) <= m + (1-m)·d(eps) <= m + d(eps).

    Proof. Let E be a set of outputs and F the b with (a, b) in E. Under D an output with B in F is in E with
    probability at most 1, any other only if A is not a: M(D)(E) <= P(F) + m·(1 - P(F)). Under D' it is enough
    that B is in F and A is a: M(D')(E) >= (1-m)·Q(F). Hence M(D)(E) - e^eps·M(D')(E)
    <= m + (1-m)·(P(F) - e^eps·Q(F)) <= m + (1-m)·d(eps). Nothing tells D from D' in this.

"Given any value of B" cannot be left out. If A differs from a on a set S of values of B, and only there, with
P(S) = m, then E = {a} x S has M(D)(E) = 0 and M(D')(E) = Q(S), which may be e^eps·m + d(eps).

**Vectors.** A vector whose coordinates have noise of their own counts as so many numbers as one person may
change coordinates, each moved by the sensitivity at most: the others have the same law for both neighbors.
Noise that is accounted for a whole vector counts once, as its (epsilon, delta).

**In a composition, and in a filter,** A counts as a release that is (0, m)-DP: given B, its two laws share
the mass 1 - m at a, so they differ by at most m on any set. Randomized response with (0, m) is mapped to
them, for every b (see `filters.steps`), so (A, B) is a function of it and of B's dominating pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import Release
from pbdp.accounting.exact.tables import Bounds
from pbdp.accounting.filters.steps import design_release
from pbdp.digits import delta_text, percent_down
from pbdp.errors import CannotCertifyError, PlanFileError
from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import (
    ADDED,
    COMPOSED,
    WORTH,
    Certificate,
    ProvenDesign,
    noise_delta,
    proven_confidence,
)
from pbdp.planning.limit.closed_form import ROUNDING
from pbdp.planning.plan import Part, Plan, common_delta, number_design

# How epsilon is found where some noise is accounted for whole vectors.
WITH_VECTORS = {
    COMPOSED: "convolution of the losses of tables of integer weights, every shift, and of whole vectors",
    ADDED: "sum over tables of integer weights, every shift, and whole vectors, added up over the releases",
}


def joint_part(name: str, requirement: Requirement, design: AnyDesign) -> Part | None:
    """A part of a joint plan, or None if some answer would fall short of the confidence."""
    confidence = proven_confidence(requirement, design)
    if confidence is None:
        return None
    return Part(name=name, requirement=requirement, design=design, confidence=confidence)


def steps_of(part: Part) -> int:
    """The most steps of the grid that one person can move each number of a part."""
    return part.design.grid.sensitivity_in_steps(part.requirement.sensitivity)


def release_of(part: Part) -> Release:
    """What one number of a part reveals, or one vector whose noise is accounted as a whole."""
    if isinstance(part.design, ProvenDesign):
        return part.design.release(part.requirement)
    return design_release(number_design(part.design), steps_of(part))


def joint_plan(parts: Sequence[tuple[str, Requirement, AnyDesign]], missing: float = 0.0) -> Plan:
    """The plan of these designs, each of which has to meet its requirement; their epsilon is composed."""
    made = []
    for name, requirement, design in parts:
        part = joint_part(name, requirement, design)
        if part is None:
            raise PlanFileError(
                f"confidence of {name}",
                f"at least {percent_down(requirement.confidence)}",
                "less",
                "The noise does not fit its requirement; make the plan again.",
            )
        made.append(part)
    return plan_of_parts(made, [release_of(part) for part in made], missing)


def plan_of_parts(
    parts: Sequence[Part],
    releases: Sequence[Release],
    missing: float,
    known: tuple[Bounds, str] | None = None,
) -> Plan:
    """The plan of parts that meet their requirements, with what one number of each reveals.

    `known` are the bounds of the epsilon of their noise, and how they were found, if that was done.
    """
    delta = common_delta([part.requirement for part in parts])
    if delta is None:
        raise AssertionError("a joint plan has a delta")
    counted = [(release, part.composed) for release, part in zip(releases, parts, strict=True)]
    bounds, method = joint_epsilon(counted, delta, missing, known)
    if any(isinstance(part.design, ProvenDesign) for part in parts):
        method = WITH_VECTORS[method]
    return plan_with(parts, missing, bounds, method)


def plan_with(parts: Sequence[Part], missing: float, bounds: Bounds, method: str) -> Plan:
    """The plan of parts whose epsilon is known, and how; refused if it is infinite."""
    delta = common_delta([part.requirement for part in parts])
    if delta is None:
        raise AssertionError("a joint plan has a delta")
    if math.isinf(bounds.upper):
        raise CannotCertifyError(
            f"The noise of all parts together has no finite epsilon at delta "
            f"{delta_text(noise_delta(delta, missing))}: outputs that only one of two neighbors can "
            "produce are too "
            "likely. Use a larger delta, or set less of it aside."
        )
    certificate = Certificate(
        epsilon=bounds.upper,
        epsilon_lower=bounds.lower,
        delta=delta,
        rdp_order=None,
        confidence=min(part.confidence for part in parts),
        method=method,
        table_error=0.0,
    )
    return Plan(parts=tuple(parts), certificate=certificate, missing=missing)


def noise_epsilon(releases: Sequence[tuple[Release, int]], delta: float) -> tuple[Bounds, str]:
    """Bounds for the epsilon of all noise at a delta, and how it was found; the upper one may be infinite.

    T numbers at (epsilon_i, delta/T) each are (sum of epsilon_i, delta) together; that simple bound is looked
    at where the convolution, whose errors are added to delta, leaves much open.
    """
    found = compose(releases).epsilon_at(delta)
    if found.upper * (1 - WORTH) <= found.lower:
        return found, COMPOSED
    total = sum(count for _, count in releases)
    share = delta / total * (1 - ROUNDING)
    each = [count * compose([(release, 1)]).epsilon_at(share).upper for release, count in releases]
    simple = math.fsum(each) * (1 + ROUNDING)
    if found.upper <= simple:
        return found, COMPOSED
    return Bounds(lower=min(found.lower, simple), upper=simple), ADDED


def joint_epsilon(
    parts: Sequence[tuple[Release, int]],
    delta: float,
    missing: float,
    known: tuple[Bounds, str] | None = None,
) -> tuple[Bounds, str]:
    """Bounds for the epsilon of a joint plan at its whole delta, and how it was found.

    The upper one is that of the noise at what is left of delta, by the theorem above. The lower one is that
    of the noise at the whole of delta: whoever sees all outputs sees those of the noise.
    """
    found, method = known or noise_epsilon(parts, noise_delta(delta, missing))
    if missing == 0:
        return found, method
    lower = noise_epsilon(parts, delta)[0].lower
    return Bounds(lower=min(lower, found.upper), upper=found.upper), method
