"""`pbdp.plan`: any two of width, confidence and epsilon; the third is found.

With an epsilon given the planner is run backwards: the largest confidence, or the narrowest width, that it
pays for. Both are found by searching over requirements (paper, "Convert to a utility boosting framework").
The plan that is returned was made for the requirement it carries, so width, confidence and epsilon hold
together.

A list of requirements is planned together, for the least joint epsilon; with `dimensions` the answer is a
vector.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pbdp.accounting.risk import warn_of_delta
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, did_you_mean, shown
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.coordinates import Coordinates, coordinates_of
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import Unknown, region_within, unknown_of
from pbdp.planning.request import PlanRequest, RequirementRequest
from pbdp.signatures import takes

if TYPE_CHECKING:
    # the planner is imported where it is used: a request that cannot be is refused without
    from pbdp.planning.inverse import Widths
    from pbdp.planning.plan import Plan

# A relative error of 100 % is met by publishing 0.
MOST_SHARE = 1 - 2.0**-10
# What a requirement has as it was asked for.
AS_THEY_ARE = ("sensitivity", "delta", "rdp_order", "releases", "simultaneous", "integer", "step", "scale")


def plan_of(asked: PlanRequest) -> Plan:
    """The noise with the least certified privacy loss that meets an accuracy requirement.

    Give two of `within`, `confidence` and `epsilon`, and the third is found: the least epsilon, the largest
    confidence, or the narrowest width ("?%+10" or "5%+?" say which part of a relative width). The privacy
    loss is epsilon at `delta`, or Rényi at `rdp_order`.

    With `dimensions` the answer is a vector. A relative width is of the truth, measured as the error is. A
    vector has a delta and no `rdp_order`, and takes a width and a confidence.

    With `requirements` and an epsilon all widths are multiplied by the smallest factor that it pays for, to
    0.1 %.
    """
    return _planned(asked, math.inf) if asked.budget is None else _fitting(asked)


def _fitting(asked: PlanRequest) -> Plan:
    """The plan that the budget can pay for now: its delta and relation are the budget's."""
    terms, state = (getattr(asked.budget, name, None) for name in ("terms", "state"))
    if terms is None or state is None:
        raise InputError("budget", "one that was opened with pbdp.Budget.of", shown(asked.budget))
    own = {"delta": terms.noise_delta, "neighbors": asked.neighbors or terms.neighbors}
    made = _planned(replace(asked, budget=None, **own), terms.reserve_left(state.spent))
    from pbdp.planning.pricing.choice import reserve_needed
    from pbdp.planning.pricing.terms import price

    cost = price(terms, ((made, 1),), state.spent)
    if not cost.fits:
        needed = "" if made.is_joint else reserve_needed(terms, made.requirement)
        raise CannotCertifyError(f"{cost.describe()} {needed}".strip())
    return made


def _planned(asked: PlanRequest, reserve: float) -> Plan:
    """The plan of least epsilon, or for one; outputs that a neighbor never has weigh `reserve` at most."""
    if asked.requirements is not None:
        return _several(asked)
    requirement = requirement_of(asked, finds_width=asked.finds_width)
    warn_of_delta(asked.delta)
    chosen = families_of(asked.families)
    if asked.dimensions is not None:
        from pbdp.planning.vectors.plan import vector_plan

        return vector_plan(requirement, chosen)
    from pbdp.planning.inverse import largest_confidence, narrowest_width
    from pbdp.planning.planner import plan_for

    def planned(requirement: Requirement) -> Plan:
        return plan_for(requirement, chosen, reserve)

    if asked.epsilon is None:
        return planned(requirement)
    if not asked.finds_width:
        return largest_confidence(requirement, asked.epsilon, planned)
    unknown = unknown_of(asked.within) if isinstance(asked.within, str) else None
    widths = _widths(unknown, requirement, asked.nonnegative)
    return narrowest_width(requirement, asked.epsilon, planned, widths)


plan = takes(PlanRequest)(plan_of)


def _several(asked: PlanRequest) -> Plan:
    """The plan of several requirements, for the least epsilon or for the narrowest widths at one."""
    from pbdp.planning.together.words import named_requirements

    named = named_requirements(asked.requirements, asked.delta, asked.neighbors)
    warn_of_delta(asked.delta)
    chosen = families_of(asked.families)
    from pbdp.planning.together.search import plan_together

    if asked.epsilon is None:
        return plan_together(named, chosen)
    from pbdp.planning.inverse import narrowest, widened

    return narrowest(
        lambda factor: {name: widened(one, factor) for name, one in named.items()},
        lambda widths: plan_together(widths, chosen),
        asked.epsilon,
    )


def requirement_of(asked: RequirementRequest, *, finds_width: bool = False) -> Requirement:
    """What is asked, checked as a whole; what is to be found has any value yet."""
    bounds = None if asked.range is None else FixedRegion(low=asked.range[0], high=asked.range[1])
    region = AbsoluteRegion.even(1.0) if finds_width else _region(asked, bounds)
    asked.need("sensitivity")
    return _capped(
        Requirement(
            region=region,
            bounds=None if region is bounds else bounds,
            coordinates=_coordinates(asked),
            confidence=0.5 if asked.confidence is None else asked.confidence,
            neighbors=asked.neighbors or Neighbors.ADD_REMOVE,
            **{name: getattr(asked, name) for name in AS_THEY_ARE},
        )
    )


def _coordinates(asked: RequirementRequest) -> Coordinates | None:
    """What the settings for vectors say, which go with `dimensions` only."""
    names = ("norm", "error_norm", "change_norm", "touches")
    words = {name: getattr(asked, name) for name in names}
    if asked.dimensions is not None:
        return coordinates_of(dimensions=asked.dimensions, **words)
    for name, value in words.items():
        if value is not None:
            remedy = "It is the number of coordinates of a vector."
            raise ContradictionError("dimensions", f"given beside {name}", "nothing", remedy)
    return None


def _capped(requirement: Requirement) -> Requirement:
    """In a range one person changes the answer by its length at most, as it is clamped first; rounded up."""
    bounds = requirement.region if requirement.region.stands_still else requirement.bounds
    if bounds is None:
        return requirement
    low, high = bounds.answers
    if requirement.integer:
        low, high = float(math.ceil(low)), float(math.floor(high))
    length = high - low
    if Fraction(length) < Fraction(high) - Fraction(low):
        length = math.nextafter(length, math.inf)
    return replace(requirement, sensitivity=length) if 0 < length < requirement.sensitivity else requirement


def _widths(unknown: Unknown | None, requirement: Requirement, nonnegative: bool) -> Widths:
    """The regions among which the narrowest is looked for."""
    from pbdp.planning.inverse import FURTHEST, Widths

    widest = FURTHEST * requirement.sensitivity
    if unknown is not None:
        share = unknown.theta is None
        return Widths(region=unknown.filled(nonnegative), widest=MOST_SHARE if share else widest, whole=False)
    if requirement.bounds is not None:
        # no width need be longer than the range
        low, high = requirement.bounds.answers
        widest = min(widest, max(high - low, 1.0 if requirement.integer else 0.0))
    return Widths(region=AbsoluteRegion.even, widest=widest, whole=requirement.integer)


def _region(asked: RequirementRequest, bounds: FixedRegion | None) -> Region:
    """The region that the confidence speaks of: the width if there is one, else the range."""
    if asked.within is not None and asked.region is not None:
        raise ContradictionError("within and region", "given one at a time", "both")
    if asked.nonnegative and not isinstance(asked.within, str):
        raise ContradictionError("nonnegative", "left out unless the width is relative (5%+10)", True)
    if asked.region is not None:
        return asked.region
    if asked.within is not None:
        return region_within(asked.within, asked.nonnegative)
    if bounds is None:
        raise ContradictionError("within", "given", "nothing", "Give a width: within=5, say.")
    return bounds


def families_of(families: object) -> tuple[str, ...] | None:
    """The laws that are named, as plans print them; those of a family are its plain and its boosted law."""
    from pbdp.planning.candidates import BOOSTED
    from pbdp.planning.planner import all_families

    if families is None:
        return None
    if isinstance(families, str):
        families = (families,)
    if not isinstance(families, tuple | list | set):
        raise InputError("families", "a list of names", shown(families))
    names = [family if isinstance(family, str) else repr(family) for family in families]
    known = all_families()
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        rule = f"among {', '.join(known)}"
        near = did_you_mean(unknown[0], known) if unknown else ""
        raise InputError("families", rule, ", ".join(unknown) or "none", near)
    return tuple(name for name in known if name in names or name.removeprefix(BOOSTED) in names)
