"""`pbdp.plan`: any two of width, confidence and epsilon; the third is found.

With an epsilon given the planner is run backwards: the largest confidence, or the narrowest width, that it
pays for. Both are found by searching over requirements (paper, "Convert to a utility boosting framework").
The plan that is returned was made for the requirement it carries, so width, confidence and epsilon hold
together.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pbdp.accounting.risk import warn_of_delta
from pbdp.errors import ContradictionError, InputError, did_you_mean
from pbdp.json_records import word_now
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.fixed import FixedRegion
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import Unknown, Within, region_within, unknown_of
from pbdp.parameters import neighbours_too
from pbdp.planning import affordable
from pbdp.planning.affordable import WidthFamily

if TYPE_CHECKING:
    # the planner is imported where it is used: a request that cannot be is refused without
    from pbdp.planning.plan import Plan


# Widths of more sensitivities than this, and of less than that, are not looked at.
FURTHEST, NARROWEST = 1e6, 1e-4


@neighbours_too
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
    simultaneous: bool = False,
    neighbors: str = Neighbors.ADD_REMOVE,
    step: float | None = None,
    families: tuple[str, ...] | None = None,
) -> Plan:
    """The noise with the least certified privacy loss that meets an accuracy requirement.

    `within` is a width (5, "5%+10", or a pair below and above the truth), `confidence` how often the
    published number must be within it. The privacy loss is epsilon at `delta`, or Rényi at `rdp_order`.

    With `epsilon` given, leave out the confidence to find the largest one, or the width to find the narrowest
    ("?%+10" or "5%+?" say which part of a relative width is to be found).

    `sensitivity` is the most by which one person changes the answer. `integer` says that answers are whole
    numbers; `nonnegative` that they are 0 or more; `step` is the grid for real answers (found if left out).
    `range` keeps answers and outputs between two numbers, with a width or with the `scale` of the noise;
    `region` is one of your own. `releases` is how many such numbers one person may affect, and epsilon the
    total for all; `simultaneous` makes the confidence joint for all of them. `neighbors` is "add/remove" or
    "replace". `families` limits the noise that is tried, by name.
    """
    unknown = unknown_of(within) if isinstance(within, str) else None
    open_width = unknown is not None or (
        within is None and region is None and (range is None or scale is None)
    )
    bounds = None if range is None else fixed_region(range)
    if bounds is not None and open_width and epsilon is None:
        # only a range: the requirement itself explains that this asks for nothing
        open_width = False
    if not isinstance(nonnegative, bool):
        raise InputError("nonnegative", "true or false", repr(nonnegative))
    _check_question(open_width, confidence, epsilon)
    requirement = Requirement(
        region=AbsoluteRegion.even(1.0) if open_width else region_of(within, bounds, region, nonnegative),
        confidence=0.5 if confidence is None else confidence,
        sensitivity=sensitivity,
        delta=delta,
        rdp_order=rdp_order,
        releases=releases,
        simultaneous=simultaneous,
        neighbors=neighbors,
        integer=integer,
        step=step,
        scale=scale,
        bounds=bounds if within is not None or region is not None or open_width else None,
    )
    requirement = capped(requirement)
    warn_of_delta(delta)
    from pbdp.planning.planner import plan_for

    chosen = families_of(families)
    if epsilon is None:
        made = plan_for(requirement, chosen, every=families is not None)
    else:
        budget = affordable.Budget(epsilon=epsilon, families=chosen)
        if open_width:
            widths = _widths(unknown, requirement.sensitivity, nonnegative)
            if bounds is not None:
                # no width need be longer than the range
                low, high = bounds.answers
                widths = replace(widths, widest=min(widths.widest, max(high - low, 1.0 if integer else 0.0)))
            made = affordable.narrowest(requirement, budget, widths)
        else:
            made = affordable.largest_confidence(requirement, budget)
    return made


def capped(requirement: Requirement) -> Requirement:
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


def _check_question(open_width: bool, confidence: float | None, epsilon: float | None) -> None:
    """Exactly one of width, confidence and epsilon is left to be found."""
    left_out = [
        name
        for name, missing in (
            ("within", open_width),
            ("confidence", confidence is None),
            ("epsilon", epsilon is None),
        )
        if missing
    ]
    if len(left_out) != 1:
        raise ContradictionError(
            "within, confidence and epsilon",
            "given two at a time",
            f"{3 - len(left_out)} of them",
            "The third is found: within=5, confidence=0.9 gives the least epsilon, say.",
        )


def _widths(unknown: Unknown | None, sensitivity: float, nonnegative: bool) -> WidthFamily:
    """The regions among which the narrowest is looked for."""
    if unknown is None:
        return WidthFamily(
            region=AbsoluteRegion.even,
            widest=FURTHEST * sensitivity,
            finest=NARROWEST * sensitivity,
            whole=True,
        )
    if unknown.theta is None:
        return WidthFamily(region=unknown.filled(nonnegative), widest=0.999, finest=1e-6, whole=False)
    return WidthFamily(
        region=unknown.filled(nonnegative),
        widest=FURTHEST * sensitivity,
        finest=NARROWEST * sensitivity,
        whole=False,
    )


def fixed_region(ends: tuple[float, float]) -> FixedRegion:
    """A range as it is given."""
    try:
        low, high = ends
    except (TypeError, ValueError):
        raise InputError("range", "two numbers, the lower first", repr(ends)) from None
    return FixedRegion(low=low, high=high)


def region_of(
    within: Within | None, bounds: FixedRegion | None, region: Region | None, nonnegative: bool
) -> Region:
    """The region that the confidence speaks of: the width if there is one, else the range."""
    if within is not None and region is not None:
        raise ContradictionError("within and region", "given one at a time", "both")
    if nonnegative and not isinstance(within, str):
        raise ContradictionError("nonnegative", "left out unless the width is relative (5%+10)", nonnegative)
    if region is not None:
        return region
    if within is not None:
        return region_within(within, nonnegative)
    if bounds is None:
        raise ContradictionError("within", "given", "nothing", "Give a width: within=5, say.")
    return bounds


def families_of(families: object) -> tuple[str, ...]:
    """The families that are named, all that are tried unasked if none is."""
    from pbdp.noise.family import known_families
    from pbdp.planning.planner import FAMILIES

    if families is None:
        return FAMILIES
    if isinstance(families, str):
        families = (families,)
    if not isinstance(families, tuple | list | set):
        raise InputError("families", "a list of names", repr(families))
    names = [word_now(family) if isinstance(family, str) else repr(family) for family in families]
    unknown = [name for name in names if name not in known_families()]
    if unknown or not names:
        rule = f"among {', '.join(known_families())}"
        near = did_you_mean(unknown[0], known_families()) if unknown else ""
        raise InputError("families", rule, ", ".join(unknown) or "none", near)
    return tuple(names)
