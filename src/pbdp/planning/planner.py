"""From a requirement to a plan: every candidate is certified, and the least certified epsilon wins."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from pbdp.digits import delta_text
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import BITS, TOTAL
from pbdp.noise.cut_staircase import CUT_STAIRCASE
from pbdp.noise.family import Goal, known_families
from pbdp.noise.laplace import LAPLACE
from pbdp.noise.table import FREE_FORM
from pbdp.planning.candidates import candidates
from pbdp.planning.certificate import (
    NO_LOSS,
    TIE,
    Certified,
    certified,
    cheapest,
    goal_on,
    is_payable,
    with_reached,
)
from pbdp.planning.decoding import constant_candidate, decoded_candidates
from pbdp.planning.grids import grids_of
from pbdp.planning.limit.closed_form import provable_epsilon
from pbdp.planning.limit.question import Question
from pbdp.planning.per_answer import per_answer_candidates
from pbdp.planning.plan import Plan, plan_of
from pbdp.planning.scales import LARGEST_RATIO

TOO_MANY_STEPS = (
    "It would be spread over more steps than are certified in seconds: ask for less width (or scale) against "
    "the sensitivity, or for fewer releases, or use a coarser step."
)
# The families that are tried unless others are named.
FAMILIES = tuple(name for name, family in known_families().items() if not family.on_request)
# What a free-form table that nobody asked for has to save: it is long, and so is the plan file.
WORTH_A_TABLE = 3e-3
# Such tables are looked for in regions of so many points, and taken up to so many values.
MOST_POINTS, LONGEST_TABLE = 1 << 14, 1 << 16
# What noise on another grid has to save, but for which only some is tried to compare with.
NO_GAIN = 2e-4
# A Rényi certificate over all answers takes seconds up to this sensitivity and width in steps, and minutes
# beyond, where a boost would gain next to nothing anyway.
MOST_RENYI_STEPS, WIDEST_RENYI = 4, 1 << 8


# Work, in about milliseconds, after which no further law is tried, and what takes how much of it: values that
# are added up, composed, and decoded per millisecond; a composition, and one of very many releases; and how
# many times as much a family takes whose shape is looked for.
MOST_WORK = 5000.0
ADDED_UP, COMBINED, DECODED = 5000.0, 2500.0, 5000.0
COMPOSITION, OF_VERY_MANY, VERY_MANY = 40.0, 300.0, 1 << 20
SHAPED = 4.0
# The families that do best over so many releases come first, as they may be the only ones that are tried.
SEVERAL = 10
FOR_SEVERAL = ("cosine", "huber", "gaussian", "generalized normal")


def _work(design: Design, releases: int) -> float:
    """About how long it takes to find and to certify a design; a count, the same on every machine."""
    values = 2.0 * design.kernel.reach(2.0**-BITS)
    shaped = SHAPED if known_families()[design.kernel.family].of_scale is None else 1.0
    looked = 0.0 if design.decoder is None else values * design.parts / DECODED
    if releases == 1:
        return shaped * looked + values / ADDED_UP
    # shapes are compared by estimates; only one of them is composed
    composed = OF_VERY_MANY - COMPOSITION if releases > VERY_MANY else 0.0
    return shaped * (looked + COMPOSITION) + composed + values / COMBINED


def work_of(plan: Plan) -> float:
    """About the milliseconds that it took to find a plan for one number, counted as `_work` does."""
    designs = [entry.design for entry in (plan.chosen, *plan.others)]
    releases = plan.requirement.each.releases
    return math.fsum(_work(design, releases) for design in designs if isinstance(design, Design))


def _promising_first(requirement: Requirement, families: tuple[str, ...]) -> tuple[str, ...]:
    """The families in the order in which they are likely to do well."""
    first: tuple[str, ...] = FOR_SEVERAL if requirement.releases >= SEVERAL else ()
    if requirement.region.width < requirement.sensitivity:
        first = ("staircase", *first)
    return tuple(sorted(families, key=lambda name: first.index(name) if name in first else len(first)))


def plan_for(
    requirement: Requirement,
    families: tuple[str, ...] = FAMILIES,
    *,
    per_answer: bool = True,
    every: bool = False,
    tables: bool = True,
) -> Plan:
    """The plan for a checked requirement; `per_answer` also tries laws that change with the answer.

    Their certificates take longest, so those that cannot have the least epsilon are left out, or certified
    as well (`every`); where noise is decoded, none was seen that has. For several releases `tables` of free
    form are tried beside the usual families, and taken if they save enough. Of a vector every coordinate gets
    noise of its own, good for as many releases as one person changes. Where each law takes long, not all of
    them are tried.
    """
    best: dict[str, Certified] = {}
    reasons: list[str] = []
    tried: list[str] = []
    each, work = requirement.each, 0.0

    def least() -> float:
        return min((entry.certificate.epsilon for entry in best.values()), default=math.inf)

    def certify_all(designs: Iterator[Design]) -> None:
        nonlocal work
        for design in designs:
            work += _work(design, each.releases)
            if work > MOST_WORK and best:
                break
            tried.append(design.name)
            if least() <= NO_LOSS and not design.follows_answer:
                continue  # a search over all answers would gain nothing
            certify(requirement, design, best, reasons, reached=every)

    certify_all(moving_designs(each, _promising_first(each, families), least, every=every))
    if every or (per_answer and not any(_is_decoded(entry.design) for entry in best.values())):
        certify_all(_changing_designs(each, families, math.inf if every else least()))
    if not best:
        raise CannotCertifyError(
            "No noise could be certified for this requirement. "
            + (reasons[0] if reasons else "Ask for less." if tried else _nothing_tried(each))
        )
    if tables and families == FAMILIES:
        certify_all(_free_form_designs(each))
    ranked = sorted(best.values(), key=lambda entry: entry.certificate.epsilon)
    if FREE_FORM.name not in families:
        ranked = _worth_their_length(ranked)
    chosen = _simplest(
        cheapest(
            ranked,
            lambda entry: entry.certificate.epsilon,
            lambda entry: is_payable(requirement, entry.design),
        )
    )
    others = [entry for entry in ranked if entry is not chosen]
    return plan_of(requirement, with_reached(requirement, chosen), others)


def certify(
    requirement: Requirement,
    design: AnyDesign,
    best: dict[str, Certified],
    reasons: list[str],
    *,
    reached: bool = False,
) -> None:
    """Certify a design, and keep it if it is the best of its name so far; or why it has no certificate."""
    try:
        entry = certified(requirement, design, reached=reached)
    except CannotCertifyError as error:
        reasons.append(str(error))
        return
    known = best.get(design.name)
    if entry is not None and (known is None or entry.certificate.epsilon < known.certificate.epsilon):
        best[design.name] = entry


def _nothing_tried(requirement: Requirement) -> str:
    """Why there is no noise to try, and what to do."""
    if not all(_is_beyond_weights(goal_on(grid, requirement)) for grid in grids_of(requirement)):
        return TOO_MANY_STEPS
    told = "0" if requirement.delta is None else delta_text(requirement.delta)
    return (
        f"Outputs that only one of two neighbors can produce are too likely at delta {told}: "
        f"each step of the sensitivity has a probability of at least 2^-{BITS}. Use a larger delta."
    )


def _worth_their_length(ranked: list[Certified]) -> list[Certified]:
    """The entries without tables that nobody asked for, unless those save enough."""
    usual = [entry for entry in ranked if not _is_free_form(entry.design)]
    if not usual or usual[0].certificate.epsilon * (1 - WORTH_A_TABLE) > ranked[0].certificate.epsilon:
        return ranked
    return usual


def _is_decoded(design: AnyDesign) -> bool:
    return isinstance(design, Design) and design.decoder is not None


def _is_free_form(design: AnyDesign) -> bool:
    return isinstance(design, Design) and design.kernel.family == FREE_FORM.name


def _free_form_designs(requirement: Requirement) -> Iterator[Design]:
    """Tables for several releases, where they are short."""
    if requirement.releases == 1 or requirement.delta is None or requirement.scale is not None:
        return
    for grid in grids_of(requirement):
        region = grid.region_in_steps(requirement.region).tightest()
        if region.below + region.above <= MOST_POINTS:
            found = candidates(grid, region, goal_on(grid, requirement), (FREE_FORM.name,), None)
            yield from (design for design in found if 2 * design.reach <= LONGEST_TABLE)


def moving_designs(
    requirement: Requirement,
    families: tuple[str, ...],
    reached: Callable[[], float] = lambda: math.inf,
    *,
    every: bool = True,
) -> Iterator[Design]:
    """Candidates on every grid whose law moves along with the answer, or is the one asked for in a range.

    Where no noise on a grid comes down to the epsilon `reached` before, some are still tried to compare with.
    Laws that seem to be behind it and take long are left out, or tried as well (`every`).
    """
    for grid in grids_of(requirement):
        if every or isinstance(grid, LinearGrid) or reached() > NO_LOSS:
            yield from _designs_on(grid, requirement, families, reached, every=every)


def _limit_on(grid: Grid, requirement: Requirement) -> float:
    """What no noise of one law can go below on a grid, but for rounding; 0 where that is not known."""
    inner, goal = grid.region_in_steps(requirement.region).tightest(), goal_on(grid, requirement)
    points = inner.below + inner.above + 1
    if goal.delta is None or goal.releases > 1 or not 1 <= points < math.inf:
        return 0.0
    return provable_epsilon(
        Question(
            points=int(points), sensitivity=goal.sensitivity, confidence=goal.confidence, delta=goal.delta
        )
    )


def _is_beyond_weights(goal: Goal) -> bool:
    """Whether no noise on a grid has an epsilon, as delta is less than whole weights can end on.

    Noise ends, and what lies within a sensitivity of its end a neighbor never has: at least one unit for each
    step, of which `TOTAL` are one.
    """
    return goal.delta is not None and goal.sensitivity > goal.delta * TOTAL


def _designs_on(
    grid: Grid,
    requirement: Requirement,
    families: tuple[str, ...],
    reached: Callable[[], float],
    *,
    every: bool = True,
) -> Iterator[Design]:
    region, goal = grid.region_in_steps(requirement.region), goal_on(grid, requirement)
    constant = constant_candidate(grid, requirement, goal, families)
    if constant is not None:
        # nothing costs less than nothing
        yield constant
        return
    if _is_beyond_weights(goal) and requirement.scale is None:
        return
    # where there is a decoder it is likely to do best
    decoded = []
    for design in decoded_candidates(grid, requirement, goal, families, every=every):
        decoded.append(design.kernel.family)
        yield design
        if not every and reached() <= NO_LOSS:
            break
    changing = requirement.region.per_answer or requirement.bounds is not None
    least = reached() * (1 - NO_GAIN)
    hopeless = changing and requirement.scale is None and _limit_on(grid, requirement) > least
    if hopeless and not isinstance(grid, LinearGrid):
        families = (CUT_STAIRCASE.name,) if CUT_STAIRCASE.name in families else families[:1]
    elif hopeless:
        # Laplace noise tells what a decoder saves, or the family that was asked for alone
        families = tuple(name for name in families if name not in decoded or name == LAPLACE.name) or families
    known = (lambda: math.inf) if every else reached
    yield from candidates(
        grid, region, goal, families, requirement.scale, boosted=not hopeless, reached=known
    )


def _changing_designs(
    requirement: Requirement, families: tuple[str, ...], reached: float
) -> Iterator[Design]:
    """Candidates whose law changes with the answer and that may need less than epsilon `reached`."""
    for grid in grids_of(requirement):
        goal = goal_on(grid, requirement)
        region = grid.region_in_steps(requirement.region)
        if requirement.releases == 1 and region.per_answer and _searchable(goal, region):
            yield from per_answer_candidates(grid, region, goal, families, reached)


def _searchable(goal: Goal, region: Region) -> bool:
    """Whether laws that change with the answer may gain, and are certified in seconds."""
    inner = region.tightest()
    width = min(inner.below, inner.above)
    if goal.order is None:
        return width <= LARGEST_RATIO * goal.sensitivity
    return width <= WIDEST_RENYI and goal.sensitivity <= MOST_RENYI_STEPS


def certified_like(known: Design, requirement: Requirement) -> Certified | None:
    """The law of the same name for another requirement; None where there is none that could be certified."""
    each = requirement.each
    for grid in grids_of(each):
        if type(grid) is type(known.grid):
            for design in _designs_on(grid, each, (known.kernel.family,), lambda: math.inf):
                if design.name == known.name:
                    return certified(requirement, design)
    return None


def _simplest(ranked: list[Certified]) -> Certified:
    """The best entry; among ties the simpler family, unboosted first, with the smaller expected error."""
    least = ranked[0].certificate.epsilon
    tied = [entry for entry in ranked if entry.certificate.epsilon <= least * (1 + TIE) + math.ulp(0.0)]
    if len(tied) == 1:
        return ranked[0]
    return min(
        tied,
        key=lambda entry: _simplicity(entry.design),
    )


def _simplicity(design: AnyDesign) -> tuple[bool, bool, int, float]:
    if not isinstance(design, Design):
        raise AssertionError("laws of single numbers are compared")
    decoded = design.decoder is not None
    return design.boost > 0, decoded, known_families()[design.kernel.family].rank, design.expected_error()
