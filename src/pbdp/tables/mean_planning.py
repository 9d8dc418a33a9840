"""How near the sums and counts behind means must be, for all numbers of a table together.

A mean has a sum and a count of its own, which are widened by a factor until the mean is as near as it must
be, by the law of both errors together (`mean_error`). Where the query asks for a sum and a count of the same
values, all of these may follow from two numbers instead (`centered`). Both ways are planned then, and the
least epsilon is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid, step_of_at_least
from pbdp.noise.family import kernel_from
from pbdp.planning.plan import number_design
from pbdp.planning.planner import FAMILIES
from pbdp.planning.together import plan_together
from pbdp.planning.together.narrowest import families_of_plan
from pbdp.planning.together.search import fitted, is_concave
from pbdp.release.combination import Term, law_of_sum
from pbdp.tables.centered import Centered, centered_of, followers_of, in_order, normal_width
from pbdp.tables.mean import Mean
from pbdp.tables.numbers import Number, numbers_of, on_whole
from pbdp.tables.plan import SELECTION, Groups, TablePlan, requirements_of
from pbdp.tables.query import Query
from pbdp.tables.top import TOP

# How much wider sums and counts of means are planned at first, how near the best they get, in how many plans.
WIDER, MOST_PLANS = 1.6, 5
# Gaussian noise can be scaled; other noise is found anew for every width, and counts have whole ones.
CLOSE, CLOSE_GAUSSIAN = 4e-3, 3e-4
# Plans that would cost so many times as much as the best one are not brought near what is asked.
FAR = 1.03
# Numbers of their own are not planned if they cost so many times as much as shared ones, in variances.
DEARER = 1.3
# Steps of Gaussian noise of a mean's sum are so many times finer than otherwise.
FINER = 8

# Gaussian noise of some numbers, by their labels.
Fixed = Mapping[str, tuple[Number, Design]]


def plan_measures(query: Query, groups: Groups, *, apart: bool) -> TablePlan:
    """The plan of least epsilon for all widths.

    Earlier versions planned sum and count of means `apart`.
    """
    centered = [] if apart else centered_of(query)
    shared = _shared(query, groups, centered) if centered else []
    if shared and _is_dearer(query, centered):
        return min(shared, key=lambda plan: plan.epsilon)
    own = plan_of_numbers(query, numbers_of(query), groups, apart=apart)
    return min([own, *shared], key=lambda plan: plan.epsilon)


def _is_dearer(query: Query, centered: Sequence[Centered]) -> bool:
    """Whether numbers of their own cost far more than shared ones, by about the variance of their losses.

    That says nothing of widths below what one person moves.
    """
    means = [label for one in query.measures if isinstance(one, Mean) for label in one.labels]
    own = {one.label: _widened(one, WIDER) if one.label in means else one for one in numbers_of(query)}
    shared = {one.label: one for one in numbers_of(query, without=followers_of(centered))}
    for one in centered:
        shared |= _near(query, one, shared[one.count.name], [1.0] * (1 + len(one.means)))
    if any(_half_width(one) < one.requirement.sensitivity for one in (*own.values(), *shared.values())):
        return False
    costs = [math.fsum(map(_cost, every.values())) for every in (own, shared)]
    return costs[0] > DEARER * costs[1]


def _cost(number: Number) -> float:
    asked = number.requirement
    spread = _half_width(number) / normal_width(asked.confidence_each)
    return asked.releases * (asked.sensitivity / spread) ** 2


def _shared(query: Query, groups: Groups, centered: Sequence[Centered]) -> list[TablePlan]:
    """Plans in which measures follow from sums from the middle and counts: with any noise, and Gaussian."""
    follows = followers_of(centered)
    numbers = {number.label: number for number in numbers_of(query, without=follows)}
    found: list[TablePlan] = []
    gaussian = [_gaussian(query, one, numbers[one.count.name]) for one in centered]
    made = [one for one in gaussian if one is not None]
    if len(made) == len(centered):
        fixed = {label: entry for one in made for label, entry in one.items()}
        own = numbers | {label: number for label, (number, _) in fixed.items()}
        found.append(plan_of_numbers(query, in_order(own), groups, follows=follows, fixed=fixed))
    goals = {one.total.name: [1.0] * (1 + len(one.means)) for one in centered}
    families = FAMILIES
    for _ in range(MOST_PLANS):
        own = numbers.copy()
        for one in centered:
            own |= _near(query, one, numbers[one.count.name], goals[one.total.name])
        plan = plan_of_numbers(query, in_order(own), groups, families, follows=follows)
        # those that won once win again
        families = families_of_plan(plan.noise, families)
        rooms = {one.total.name: _rooms_in(plan, one) for one in centered}
        known = [room for every in rooms.values() for room in every if room is not None]
        if len(known) < sum(map(len, rooms.values())):
            break
        # losses fall about as widths grow
        if found and plan.epsilon > FAR * found[0].epsilon * max(known):
            break
        if min(known) > 1:
            found.append(plan)
        if 1 < min(known) < 1 + CLOSE:
            break
        for name, every in rooms.items():
            goals[name] = _corrected(goals[name], [room for room in every if room is not None], CLOSE)
    return found


def _rooms_in(plan: TablePlan, centered: Centered) -> list[float | None]:
    total, count = (number_design(plan.part(label).design) for label in centered.labels)
    return _rooms(plan.query, centered, total, count)


def _rooms(query: Query, centered: Centered, total: Design, count: Design) -> list[float | None]:
    return [measure.room(query, total, count) for measure in centered.followers]


def _corrected(goals: Sequence[float], rooms: Sequence[float], close: float) -> list[float]:
    """Goals for which all bounds are just met, or those that are not met are."""
    least = min(rooms)
    return [
        goal * room * (1 - close / 2) if least > 1 or room <= 1 else goal
        for goal, room in zip(goals, rooms, strict=True)
    ]


def _near(query: Query, centered: Centered, count: Number, goals: Sequence[float]) -> dict[str, Number]:
    """Both numbers of a column, as near as its measures need."""
    first, second = centered.spreads(query, goals)
    total = centered.number(query, first * normal_width(query.confidence_of(centered.total)))
    width = max(float(math.floor(second * normal_width(count.requirement.confidence))), 1.0)
    return {total.label: total, count.label: _of_width(count, min(width, _half_width(count)))}


def _gaussian(query: Query, centered: Centered, count: Number) -> dict[str, tuple[Number, Design]] | None:
    """Gaussian noise for both numbers of a column; None where none was found."""
    goals, best = [1.0] * (1 + len(centered.means)), None
    for _ in range(MOST_PLANS):
        near = _near(query, centered, count, goals)
        first, second = centered.spreads(query, goals)
        total, below = near.values()
        made, (_, design) = _with_gaussian(total, first), _with_gaussian(below, second)
        law = law_of_sum([Term(table=design.table_at(0.0))])
        width = float(math.ceil(law.half_width(count.requirement.confidence)))
        rooms = [*_rooms(query, centered, made[1], design), _half_width(count) / width]
        known = [room for room in rooms if room is not None]
        if len(known) < len(rooms):
            break
        if min(known) >= 1 and min(known[:-1]) > 1:
            best = {total.label: made, count.label: (_of_width(count, width), design)}
        if 1 < min(known[:-1]) < 1 + CLOSE_GAUSSIAN:
            break
        goals = _corrected(goals, known[:-1], CLOSE_GAUSSIAN)
    return best


def plan_of_numbers(
    query: Query,
    numbers: Sequence[Number],
    groups: Groups,
    families: tuple[str, ...] = FAMILIES,
    *,
    follows: Mapping[str, tuple[str, str]] | None = None,
    fixed: Fixed | None = None,
    apart: bool = False,
) -> TablePlan:
    """The plan for all widths; sums and counts of means are as wide as their errors together allow.

    Both are widened by a factor, which is corrected by what the planned noise gives: the best noise for each
    of them, and Gaussian noise, which is better for two together where many numbers are released. Where
    neither will do, they are as near as a mean needs that is off by both at their worst.
    """
    means = [
        one
        for one in query.measures
        if isinstance(one, Mean) and one.within is not None and one.name not in (follows or {}) and not apart
    ]

    def planned(
        factors: Mapping[str, float],
        tried: tuple[str, ...],
        gaussians: Mapping[str, tuple[Number, Design]] | None = None,
    ) -> TablePlan:
        made = {**(fixed or {}), **(gaussians or {})}
        wider = [_widened(number, factors.get(number.label, 1.0)) for number in numbers]
        wider = [made[one.label][0] if one.label in made else one for one in wider]
        given = {label: [(one.requirement, design)] for label, (one, design) in made.items()}
        open_ones = requirements_of([one for one in wider if one.label not in given])
        noise = plan_together(
            open_ones, tried, given=given | groups.given, missing=groups.missing, quick=True
        )
        # in the order of the numbers, whichever way they were chosen
        order = [*(one.label for one in wider), TOP, SELECTION]
        parts = tuple(sorted(noise.parts, key=lambda part: order.index(part.name)))
        return groups.plan(query, tuple(wider), replace(noise, parts=parts), follows)

    found: list[TablePlan] = []
    factors, tried = {mean.name: WIDER for mean in means}, families
    gaussians = _gaussian_means(query, numbers, means)
    if gaussians is not None:
        found.append(planned({}, families, gaussians))
    for _ in range(MOST_PLANS if means else 0):
        plan = planned({label: factors[mean.name] for mean in means for label in mean.labels}, tried)
        # those that won once win again
        tried = families_of_plan(plan.noise, families)
        rooms = {mean.name: mean.room_in(plan) for mean in means}
        room = {name: one for name, one in rooms.items() if one is not None}
        if len(room) < len(means):
            # never dearer than with both at their worst
            found.append(planned({}, families))
            break
        # losses fall about as widths grow
        if found and plan.epsilon > FAR * found[0].epsilon * max(room.values()):
            break
        if min(room.values()) > 1:
            found.append(plan)
        if all(1 < one < 1 + CLOSE for one in room.values()):
            break
        scaled = _scaled_means(plan, means)
        if scaled is not None:
            found.append(planned({}, families, scaled))
            break
        factors = {name: max(factor * room[name] * (1 - CLOSE / 2), 1.0) for name, factor in factors.items()}
    return min(found or [planned({}, families)], key=lambda plan: plan.epsilon)


def _gaussian_means(
    query: Query, numbers: Sequence[Number], means: Sequence[Mean]
) -> dict[str, tuple[Number, Design]] | None:
    """Gaussian noise for sums and counts of means, as wide as these allow; None where none was found."""
    named = {number.label: number for number in numbers}
    found: dict[str, tuple[Number, Design]] = {}
    for mean in means:
        factor, best = WIDER, None
        for _ in range(MOST_PLANS):
            made = {
                label: _with_gaussian(
                    _widened(named[label], factor),
                    factor * share / normal_width(named[label].requirement.confidence),
                )
                for label, share in mean.shares(query)
            }
            room = mean.room(query, *(design for _, design in made.values()))
            if room is None:
                break
            best = made if room > 1 else best
            if 1 < room < 1 + CLOSE_GAUSSIAN:
                break
            factor = max(factor * room * (1 - CLOSE_GAUSSIAN / 2), 1.0)
        if best is None:
            return None
        found |= best
    return found or None


def _scaled_means(plan: TablePlan, means: Sequence[Mean]) -> dict[str, tuple[Number, Design]] | None:
    """The noise of sums and counts of means, as wide as these allow; None where it cannot be scaled."""
    named = {number.label: number for number in plan.numbers}
    found: dict[str, tuple[Number, Design]] = {}
    for mean in means:
        designs = {label: number_design(plan.part(label).design) for label in mean.labels}
        if not all(map(is_concave, designs.values())):
            return None
        factor, best = 1.0, None
        for _ in range(MOST_PLANS):
            made = {label: one.stretched(factor) for label, one in designs.items()}
            room = mean.room(plan.query, *made.values())
            if room is None:
                break
            best = made if room > 1 else best
            if 1 < room < 1 + CLOSE_GAUSSIAN:
                break
            factor *= room * (1 - CLOSE_GAUSSIAN / 2)
        if best is None:
            return None
        found |= {label: (_met(named[label], design), design) for label, design in best.items()}
    return found


def _met(number: Number, design: Design) -> Number:
    """The number, as often within its width as the noise is."""
    asked = number.requirement
    return replace(number, requirement=replace(asked, confidence=design.confidence_in(asked.region)))


def _half_width(number: Number) -> float:
    return float(number.requirement.region.offsets(0.0)[0])


def _with_gaussian(number: Number, spread: float) -> tuple[Number, Design]:
    """Gaussian noise with this standard deviation, and what it meets."""
    asked = number.requirement
    design = fitted(asked, ("gaussian",))[0]
    if not number.quantity.is_whole and isinstance(design.grid, LinearGrid):
        # what is said of means loses a step and a half
        steps = FINER * design.grid.sensitivity_in_steps(asked.sensitivity)
        step = step_of_at_least(asked.sensitivity, steps)
        design = replace(design, grid=replace(design.grid, step=step))
    kernel = kernel_from("gaussian", {"sigma": spread / design.grid.step})
    design = replace(design, kernel=kernel, boost=0.0)
    return _met(number, design), design


def _widened(number: Number, factor: float) -> Number:
    """The number, so many times as wide; whole numbers keep a whole width, and are within it less often."""
    if factor == 1:
        return number
    width = factor * _half_width(number)
    if not number.quantity.is_whole:
        return _of_width(number, width)
    whole, confidence = on_whole(width, number.requirement.confidence)
    wider = _of_width(number, whole)
    return replace(wider, requirement=replace(wider.requirement, confidence=confidence))


def _of_width(number: Number, width: float) -> Number:
    return replace(number, requirement=replace(number.requirement, region=AbsoluteRegion.even(width)))
