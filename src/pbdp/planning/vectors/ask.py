"""`plan_vector`: the noise with the least certified privacy loss for an answer with several coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pbdp.accounting.risk import warn_of_delta
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.coordinates import coordinates_of
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import Within
from pbdp.noise.family import known_families
from pbdp.parameters import neighbours_too
from pbdp.planning.ask import capped, fixed_region, region_of
from pbdp.planning.certificate import TIE, Certified
from pbdp.planning.plan import Plan, plan_of
from pbdp.planning.planner import certify, plan_for
from pbdp.planning.vectors.candidates import vector_designs


@neighbours_too
def plan_vector(
    *,
    within: Within | None = None,
    confidence: float,
    dimensions: int,
    norm: str | None = None,
    error_norm: str | None = None,
    change_norm: str | None = None,
    sensitivity: float,
    delta: float,
    integer: bool = False,
    neighbors: str = "add/remove",
    touches: int | None = None,
    step: float | None = None,
    nonnegative: bool = False,
    range: tuple[float, float] | None = None,  # noqa: A002 - the word users know
    scale: float | None = None,
) -> Plan:
    """The noise with the least certified epsilon for a vector that must be near the truth as a whole.

    `error_norm` says how near: every coordinate within the width (`"linf"`), the Euclidean length of the
    error (`"l2"`), or the sum of its absolute values (`"l1"`). `touches` is the most coordinates that one
    person changes, each by at most the sensitivity: 1 for a histogram to which people are added. Where the
    sensitivity bounds all changes of one person together, `change_norm` says how: `"l2"` or `"l1"`. `norm`
    says both at once.

    `within` and `confidence` are how near and how often, `dimensions` how many coordinates there are,
    `delta` what epsilon is for. A `within` may be relative: "5%+10" is 5 % of the truth, measured as the
    error is, plus 10. `integer`, `neighbors`, `step` and `nonnegative` are as in `plan`; and so are, where
    errors and changes have the norm `"linf"`, a `within` with two sides, `range` and `scale`: each coordinate
    keeps them, all of them together with the confidence.
    """
    coordinates = coordinates_of(
        dimensions=dimensions, norm=norm, error_norm=error_norm, change_norm=change_norm, touches=touches
    )
    bounds = None if range is None else fixed_region(range)
    requirement = Requirement(
        region=region_of(within, bounds, None, nonnegative),
        confidence=confidence,
        sensitivity=sensitivity,
        delta=delta,
        neighbors=neighbors,
        integer=integer,
        step=step,
        scale=scale,
        bounds=None if within is None else bounds,
        coordinates=coordinates,
    )
    requirement = capped(requirement)
    warn_of_delta(delta)
    return vector_plan(requirement)


def vector_plan(
    requirement: Requirement, designs: Callable[[Requirement], Iterable[AnyDesign]] = vector_designs
) -> Plan:
    """The plan for a checked requirement that has coordinates; `designs` are what is compared."""
    if requirement.is_one_by_one:
        # noise of its own in every coordinate
        return plan_for(requirement)
    best: dict[str, Certified] = {}
    reasons: list[str] = []
    for design in designs(requirement):
        certify(requirement, design, best, reasons)
    if not best:
        raise CannotCertifyError(
            "No noise could be certified for this requirement. "
            + (reasons[0] if reasons else "Ask for a larger width or a lower confidence.")
        )
    ranked = sorted(best.values(), key=lambda entry: entry.certificate.epsilon)
    least = ranked[0].certificate.epsilon
    chosen = min(
        (entry for entry in ranked if entry.certificate.epsilon <= least * (1 + TIE)),
        key=lambda entry: _rank(entry.design),
    )
    return plan_of(requirement, chosen, [entry for entry in ranked if entry is not chosen])


def _rank(design: AnyDesign) -> int:
    """How simple the noise is; the first of several that are drawn as a whole stays first."""
    return known_families()[design.kernel.family].rank if isinstance(design, Design) else 0
