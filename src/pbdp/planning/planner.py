"""From a requirement to a plan: every candidate is certified, and the least certified epsilon wins."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.planning.candidates import candidates
from pbdp.planning.certificate import certify, meets
from pbdp.planning.design import Design
from pbdp.planning.grid import Grid, LinearGrid, grid_for, whole_numbers
from pbdp.planning.log_grid import log_grid_for
from pbdp.planning.plan import Certified, Plan, region_width
from pbdp.planning.shapes import FAMILIES, Goal
from pbdp.requirement.fixed import FixedRegion
from pbdp.requirement.region import Region
from pbdp.requirement.relative import RelativeRegion
from pbdp.requirement.requirement import Requirement
from pbdp.requirement.within import Within, region_within

# Epsilons this close (relative) are a tie, which goes to the simpler family.
TIE = 1e-6
SIMPLICITY = {family: rank for rank, family in enumerate(FAMILIES)}


def plan(
    *,
    within: Within | None = None,
    confidence: float | None = None,
    epsilon: float | None = None,
    sensitivity: float,
    delta: float | None = None,
    rdp_order: float | None = None,
    integer: bool = False,
    nonnegative: bool = False,
    range: tuple[float, float] | None = None,  # noqa: A002 - the word users know
    scale: float | None = None,
    region: Region | None = None,
    releases: int = 1,
    neighbours: str = "add/remove",
    step: float | None = None,
    families: tuple[str, ...] | None = None,
) -> Plan:
    """The noise with the least certified privacy loss that meets an accuracy requirement.

    `within` is a width (5, "5%+10", or a pair below and above the truth), `confidence` how often the
    published number must be within it. The privacy loss is epsilon at `delta`, or Rényi at `rdp_order`.
    """
    if epsilon is not None:
        raise InputError(
            "epsilon", "left out for now", epsilon, "Give the width and the confidence; epsilon is found."
        )
    if confidence is None:
        raise ContradictionError(
            "confidence", "given", "nothing", "Say how often the width must hold: 0.9, say."
        )
    requirement = Requirement(
        region=_region(within, range, region, nonnegative),
        confidence=confidence,
        sensitivity=sensitivity,
        delta=delta,
        rdp_order=rdp_order,
        releases=releases,
        neighbours=neighbours,
        integer=integer,
        step=step,
        scale=scale,
    )
    return plan_for(requirement, _families(families))


def _region(
    within: Within | None, ends: tuple[float, float] | None, region: Region | None, nonnegative: bool
) -> Region:
    given = [value for value in (within, ends, region) if value is not None]
    if len(given) != 1:
        raise ContradictionError(
            "within, range and region",
            "given one at a time",
            f"{len(given)} of them",
            "Use within=5 for a width around the truth, range=(0, 100) for fixed bounds.",
        )
    if nonnegative and not isinstance(within, str):
        raise ContradictionError("nonnegative", "left out unless the width is relative (5%+10)", nonnegative)
    if region is not None:
        return region
    if ends is not None:
        try:
            low, high = ends
        except (TypeError, ValueError):
            raise InputError("range", "two numbers, the lower first", repr(ends)) from None
        return FixedRegion(low=low, high=high)
    return region_within(within, nonnegative)


def _families(families: tuple[str, ...] | None) -> tuple[str, ...]:
    if families is None:
        return FAMILIES
    unknown = [family for family in families if family not in FAMILIES]
    if unknown or not families:
        raise InputError("family", f"among {', '.join(FAMILIES)}", ", ".join(unknown) or "none")
    return tuple(families)


def grids_of(requirement: Requirement) -> list[Grid]:
    """The grids that designs for a requirement may live on."""
    if requirement.integer:
        grids: list[Grid] = [whole_numbers()]
    elif requirement.step is not None:
        grids = [LinearGrid(step=requirement.step, rounded=True)]
    else:
        grids = [grid_for(region_width(requirement.region), requirement.sensitivity)]
    if isinstance(requirement.region, RelativeRegion):
        grids.append(log_grid_for(requirement.region))
    return grids


def plan_for(requirement: Requirement, families: tuple[str, ...] = FAMILIES) -> Plan:
    """The plan for a checked requirement."""
    best: dict[str, Certified] = {}
    reasons: list[str] = []
    for design in _designs(requirement, families):
        try:
            entry = certified(requirement, design)
        except CannotCertifyError as error:
            reasons.append(str(error))
            continue
        known = best.get(design.name)
        if entry is not None and (known is None or entry.certificate.epsilon < known.certificate.epsilon):
            best[design.name] = entry
    if not best:
        raise CannotCertifyError(
            "No noise could be certified for this requirement. "
            + (reasons[0] if reasons else "Ask for less.")
        )
    ranked = sorted(best.values(), key=lambda entry: entry.certificate.epsilon)
    chosen = _simplest(ranked)
    return Plan(
        requirement=requirement,
        chosen=chosen,
        others=tuple(entry for entry in ranked if entry is not chosen),
    )


def _designs(requirement: Requirement, families: tuple[str, ...]) -> Iterator[Design]:
    """Candidates on every grid."""
    for grid in grids_of(requirement):
        goal = Goal(
            confidence=requirement.confidence,
            sensitivity=grid.sensitivity_in_steps(requirement.sensitivity),
            delta=requirement.delta,
            order=requirement.rdp_order,
        )
        region = grid.region_in_steps(requirement.region)
        yield from candidates(grid, region, goal, families, requirement.scale)


def certified(requirement: Requirement, design: Design) -> Certified | None:
    """A design with its certificate, or None if some answer would fall short of the confidence."""
    region = design.grid.region_in_steps(requirement.region)
    if not meets(design, region, requirement.confidence):
        return None
    sensitivity = design.grid.sensitivity_in_steps(requirement.sensitivity)
    certificate = certify(
        design, region, sensitivity, delta=requirement.delta, rdp_order=requirement.rdp_order
    )
    return Certified(design=design, certificate=certificate)


def _simplest(ranked: list[Certified]) -> Certified:
    """The best entry; among ties the simpler family, unboosted first, with the smaller expected error."""
    least = ranked[0].certificate.epsilon
    tied = [entry for entry in ranked if entry.certificate.epsilon <= least * (1 + TIE) + math.ulp(0.0)]
    if len(tied) == 1:
        return ranked[0]
    return min(
        tied,
        key=lambda entry: (
            entry.design.boost > 0,
            SIMPLICITY[entry.design.kernel.family],
            entry.design.expected_error(),
        ),
    )
