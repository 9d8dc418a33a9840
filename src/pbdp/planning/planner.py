"""From a requirement to a plan: question on a grid, candidates, certificates, the least epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from pbdp.digits import delta_text, rounded_down, rounded_up
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import BITS, CENTER_SHARE, LARGEST_TABLE, TOTAL
from pbdp.noise.cut_staircase import CUT_STAIRCASE
from pbdp.noise.family import Goal, known_families
from pbdp.noise.free_form import FREE_FORM
from pbdp.noise.gaussian import GAUSSIAN
from pbdp.noise.huber import HUBER
from pbdp.noise.laplace import LAPLACE
from pbdp.noise.staircase import STAIRCASE
from pbdp.planning.candidates import (
    BOOSTED,
    LINEAR_PROGRAM,
    moving_candidates,
    planned_families,
    ranged_candidates,
)
from pbdp.planning.certificate import (
    TIE,
    Certified,
    certified,
    cheapest,
    goal_on,
    is_payable,
    unhidden,
)
from pbdp.planning.decoder_search import constant_candidate, decoded_candidates
from pbdp.planning.grids import grids_of
from pbdp.planning.plan import Plan, plan_of

_ONE_RELEASE = (LAPLACE.name, STAIRCASE.name, CUT_STAIRCASE.name, LINEAR_PROGRAM)
_SEVERAL_RELEASES = (LAPLACE.name, STAIRCASE.name, GAUSSIAN.name, HUBER.name, FREE_FORM.name)
_FREE = (LAPLACE.name, STAIRCASE.name, FREE_FORM.name)
# Laws that end at the edges of the region: the best one of a single release comes first.
_ALWAYS = (CUT_STAIRCASE.name, FREE_FORM.name)
_RENYI = (LAPLACE.name, STAIRCASE.name, GAUSSIAN.name, HUBER.name)


def all_families() -> tuple[str, ...]:
    """All laws, by the names that plans print."""
    tried = planned_families()
    boosted = (BOOSTED + name for name in tried if known_families()[name].shapes is not None)
    return (*tried, LINEAR_PROGRAM, *boosted)


def usual_families(requirement: Requirement) -> tuple[str, ...]:
    """The laws that may have the least loss.

    For one release at a delta far below what may be off, the aligned staircase is the best of all noise
    (`limit.closed_form`), and at larger deltas one that ends. For several releases free form is the best of
    what has room for one of its steps. Boosted laws gain where the width is below the sensitivity, and at any
    width in Rényi's measure.
    """
    each = requirement.each
    if each.scale is not None:
        return tuple(name for name, family in known_families().items() if family.of_scale is not None)
    if each.always:
        return _ALWAYS[: each.releases]
    if each.releases > 1:
        roomy = each.region.follows_answer and each.bounds is None and each.region.width >= each.sensitivity
        return _families(each, _FREE if roomy else _SEVERAL_RELEASES)
    return _families(each, _ONE_RELEASE)


def _families(each: Requirement, names: tuple[str, ...]) -> tuple[str, ...]:
    if each.rdp_order is not None:
        return (*_RENYI, *(BOOSTED + name for name in _RENYI))
    narrow = each.region.width < each.sensitivity
    return (*names, BOOSTED + LAPLACE.name, BOOSTED + GAUSSIAN.name) if narrow else names


def joint_families(requirement: Requirement) -> tuple[str, ...]:
    """The laws that may be best beside those of other requirements, but for what is fitted to a number."""
    if requirement.each.always:
        return _ALWAYS
    return tuple(name for name in _families(requirement.each, _SEVERAL_RELEASES) if name != FREE_FORM.name)


def plan_for(
    requirement: Requirement, families: tuple[str, ...] | None = None, reserve: float = math.inf
) -> Plan:
    """The plan of least epsilon for a checked requirement, with the usual noise or that of these families.

    Of a vector every coordinate gets noise of its own, good for as many releases as one person changes.
    Outputs that a neighbor can never produce have probability `reserve` at most.
    """
    laws = certified_laws(requirement, families)
    if requirement.always and 0 < reserve < (requirement.delta or 0.0):
        laws += _ending_lighter(requirement, families, reserve)
    ranked = [entry for entry in laws if unhidden(requirement, entry.design) <= reserve]
    if not ranked:
        needed = min(unhidden(requirement, entry.design) for entry in laws)
        raise CannotCertifyError(
            f"Outputs that a neighbor can never produce have probability {rounded_up(needed)}; the budget "
            f"has {rounded_down(reserve)} left for them. Use a larger reserve, or a budget of a larger delta."
        )
    chosen = simplest(
        cheapest(
            ranked,
            lambda entry: entry.certificate.epsilon,
            lambda entry: is_payable(requirement, entry.design),
        )
    )
    return plan_of(requirement, chosen)


def _ending_lighter(
    requirement: Requirement, families: tuple[str, ...] | None, reserve: float
) -> list[Certified]:
    """Laws whose ends a reserve can pay for: those of a delta of this size."""
    try:
        laws = certified_laws(replace(requirement, delta=reserve), families)
    except CannotCertifyError:  # next to nothing is left of it
        return []
    found = (certified(requirement, entry.design) for entry in laws)
    return [entry for entry in found if entry is not None]


def certified_laws(requirement: Requirement, families: tuple[str, ...] | None = None) -> list[Certified]:
    """What could be certified, the least epsilon first; a candidate without a certificate is left out."""
    best: dict[str, Certified] = {}
    reasons: list[str] = []
    names = families or usual_families(requirement)
    for design in designs_for(requirement.each, names):
        certify(requirement, design, best, reasons)
    answered = requirement.bounds is not None and requirement.coordinates is None and not requirement.always
    if LINEAR_PROGRAM in names and answered:
        from pbdp.planning.answer_laws import answer_laws

        reached = min((entry.certificate.epsilon for entry in best.values()), default=math.inf)
        laws = answer_laws(requirement, reached)
        if laws is not None:
            certify(requirement, laws, best, reasons)
    if not best:
        raise CannotCertifyError(
            f"No noise could be certified for this requirement. {_why(requirement.each, families, reasons)}"
        )
    return sorted(best.values(), key=lambda entry: entry.certificate.epsilon)


def certify(
    requirement: Requirement, design: AnyDesign, best: dict[str, Certified], reasons: list[str]
) -> None:
    """Certify a design, and keep it if it is the best of its name so far; or why it has no certificate."""
    try:
        entry = certified(requirement, design)
    except CannotCertifyError as error:
        reasons.append(str(error))
        return
    known = best.get(design.name)
    if entry is not None and (known is None or entry.certificate.epsilon < known.certificate.epsilon):
        best[design.name] = entry


def designs_for(requirement: Requirement, families: tuple[str, ...]) -> Iterator[Design]:
    """The candidates on every grid."""
    for grid in grids_of(requirement):
        region, goal = grid.region_in_steps(requirement.region), goal_on(grid, requirement)
        constant = constant_candidate(grid, requirement, goal, families)
        if constant is not None:
            yield constant
            return
        if requirement.scale is not None:
            yield from ranged_candidates(grid, region, families, requirement.scale)
            continue
        if not requirement.always:  # no decoder holds noise without an end
            yield from decoded_candidates(grid, requirement, goal, families)
        yield from moving_candidates(grid, region, goal, families)
        boosted = tuple(name.removeprefix(BOOSTED) for name in families if name.startswith(BOOSTED))
        if boosted and region.per_answer and requirement.releases == 1:
            # loaded for such noise only
            from pbdp.planning.boosted_laws import per_answer_candidates

            yield from per_answer_candidates(grid, region, goal, boosted)


def _why(requirement: Requirement, families: tuple[str, ...] | None, reasons: list[str]) -> str:
    """Why there is no noise, and what to do."""
    grid = grids_of(requirement)[0]
    goal = goal_on(grid, requirement)
    if requirement.always and requirement.scale is None:
        return _why_no_ends(requirement, grid.region_in_steps(requirement.region).tightest(), goal)
    if goal.delta is not None and goal.sensitivity > goal.delta * TOTAL:
        least = delta_text(goal.sensitivity / TOTAL)
        return f"Use a delta of at least {least}: each step of the sensitivity takes 2^-{BITS} of it."
    if reasons:
        return reasons[0]
    if families is not None:
        return f"There is no law of {', '.join(families)} for it. Name other families, or none."
    return (
        f"Its table would have more than {LARGEST_TABLE:,} values. Use a width (or scale) of fewer "
        "sensitivities, fewer releases or a coarser step."
    )


def _why_no_ends(requirement: Requirement, narrow: AbsoluteRegion, goal: Goal) -> str:
    """The same where noise has to end at the edges of the narrowest region; what has an answer."""
    if math.isinf(narrow.below + narrow.above):
        return "With confidence 1 give both sides of the width: (2, 8), say."
    points = int(narrow.below) + int(narrow.above) + 1
    if points <= 2 * goal.sensitivity:
        room = "" if requirement.integer else ", and a little more for the rounding of real numbers"
        return (
            f"To be never off by more, use a width of at least the sensitivity ({requirement.sensitivity:g}) "
            f"on both sides{room}: a narrower one has no answer at any delta below 0.5."
        )
    least = (4 * CENTER_SHARE + 4 * (points + goal.sensitivity) / TOTAL) * 2 * requirement.releases
    return f"The ends of the noise need a delta of at least {rounded_up(least)} there, or a coarser step."


def simplest(ranked: list[Certified]) -> Certified:
    """The best entry; among ties the simpler family, unboosted first."""
    least = ranked[0].certificate.epsilon
    tied = [entry for entry in ranked if entry.certificate.epsilon <= least * (1 + TIE) + math.ulp(0.0)]
    return min(tied, key=lambda entry: _simplicity(entry.design))


def _simplicity(design: AnyDesign) -> tuple[bool, bool, int]:
    if not isinstance(design, Design):
        return False, False, 0  # noise with a proof of its own
    return design.boost > 0, design.decoder is not None, known_families()[design.kernel.family].rank
