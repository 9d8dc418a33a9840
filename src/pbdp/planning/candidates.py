"""Designs worth certifying for each kind of requirement. Nothing here is a guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from pbdp.accounting import RESERVE as USUAL_RESERVE
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design, boost_for
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.region import Region
from pbdp.mechanism.weights import BITS, CENTER_SHARE, LARGEST_TABLE, TOTAL
from pbdp.noise.cut_staircase import CUT_STAIRCASE, CutStaircase
from pbdp.noise.family import BEYOND, Goal, Problem, Shape, Shapes, known_families
from pbdp.noise.gaussian import GAUSSIAN
from pbdp.noise.kernel import LatticeKernel
from pbdp.noise.laplace import LAPLACE, DiscreteLaplace
from pbdp.noise.staircase import STAIRCASE
from pbdp.noise.table import FREE_FORM, LINEAR_PROGRAM, TableKernel
from pbdp.planning.certificate import NO_LOSS, TIE
from pbdp.planning.grids import VERY_LARGE
from pbdp.planning.limit.cut_staircase import cut_epsilon, cut_levels
from pbdp.planning.limit.question import RESERVE, Question
from pbdp.planning.scales import (
    best_shape,
    boosted_laplace_loss,
    boosted_scale,
    distance_to_tail,
    estimated_loss,
)

# Laplace noise has one loss nearly everywhere. For one release a boost costs nothing up to where the outputs
# at the region's edge weigh delta, and much beyond: that place is known in closed form, for any width that
# has a table.
FURTHEST_BOOST = 1 << 16


def candidates(
    grid: Grid,
    region: Region,
    goal: Goal,
    families: tuple[str, ...],
    scale: float | None,
    *,
    boosted: bool = True,
    reached: Callable[[], float] = lambda: math.inf,
) -> Iterator[Design]:
    """Designs for a region in steps of the grid; `scale` is the noise scale that a fixed range asks for.

    Where it is known that others do better, none is `boosted` that keeps the confidence without. Those that
    take long are left out if they seem to need more than the epsilon `reached` before.
    """
    if scale is None:
        found = _absolute_candidates(
            grid, region.tightest(), goal, families, boosted=boosted, reached=reached
        )
        yield from _in_time(found, goal)
    else:
        yield from _in_time(_fixed_candidates(grid, region, goal, families, scale / grid.step), goal)


# Values of noise, and sums for a Rényi figure, that a certificate gets through in seconds.
MOST_FOR_ONE, MOST_COMPOSED, MOST_FOR_RENYI = 1 << 24, 3 << 22, 1 << 24
# Rényi sums shorter than this are never left out for the others.
LONG_FOR_RENYI = 1 << 21
# Below this delta weights are rounded up; how often it is found anew what that takes of it.
TINY, ROUNDINGS = 1e-11, 3
# For one release laws with longer tables are left to one that ends sooner, such as the cut staircase; but
# for Laplace noise, which any budget can pay and which is often as good.
MOST_BESIDE = 1 << 22


def _in_time(designs: Iterator[Design], goal: Goal) -> Iterator[Design]:
    """The designs whose certificate takes seconds."""
    one = goal.delta is not None and goal.releases == 1
    tiny = one and goal.delta is not None and goal.delta < TINY
    most = MOST_FOR_RENYI if goal.order is not None else MOST_FOR_ONE if one else MOST_COMPOSED
    passed, spent = False, 0.0
    for design in designs:
        # a Rényi figure of noise that changes with the answer is a sum for every answer
        low, high = (0.0, 0.0) if goal.order is None or design.follows_answer else design.region.answers
        values = 2 * design.kernel.reach(2.0**-BITS) * (high - low + 1)
        if goal.order is not None:
            # where the terms of such a sum are largest; all sums together are few enough, too
            values += 2 * goal.order * goal.sensitivity
            if values > LONG_FOR_RENYI and spent + values > MOST_FOR_RENYI:
                continue
            spent += values
        room = (
            LARGEST_TABLE
            if isinstance(design.kernel, CutStaircase)
            else MOST_BESIDE
            if passed and one and (design.boost > 0 or not isinstance(design.kernel, DiscreteLaplace))
            else most
        )
        if values <= room:
            passed = True
            # weights that are rounded down are too coarse for a very small delta
            up = tiny and design.follows_answer and _rounds_up(design.kernel, goal)
            yield replace(design, rounded_up=True) if up else design


def _absolute_candidates(
    grid: Grid,
    region: AbsoluteRegion,
    goal: Goal,
    families: tuple[str, ...],
    *,
    boosted: bool,
    reached: Callable[[], float],
) -> Iterator[Design]:
    """Every shape around the middle of the region: plain at its largest scale, boosted at its best one."""
    offset = (
        math.floor((region.above - region.below) / 2) if math.isfinite(region.above + region.below) else 0
    )
    region = AbsoluteRegion(below=region.below + offset, above=region.above - offset)
    problem = problem_of(region, goal)
    families = affordable_families(problem, families)
    yield from best_law_candidates(grid, problem, offset, families)
    made = partial(Design, grid=grid, region=region, offset=offset)
    late: list[_Late] = []

    def least() -> float:
        return min((reached(), *(law.loss for law in late)))

    for shapes in shapes_for(problem, families):
        # a family without a table of this size is left out; the others go on
        with suppress(InputError):
            found = _shape_candidates(made, region, problem, shapes, least)
            for law in found if boosted else islice(found, 1):
                if isinstance(law, Design):
                    yield law
                else:
                    late.append(law)
    for law in sorted(late, key=lambda law: law.loss):
        if law.loss <= BEHIND * reached() and reached() > NO_LOSS:
            with suppress(InputError):
                yield law.design()


# From so many steps on (later for several releases) a table takes a while, and simple laws are nearly best.
LARGE = 1 << 13
# Up to so many releases Laplace noise is better than Gaussian noise at the usual deltas.
FEW_RELEASES = 5


def affordable_families(problem: Problem, families: tuple[str, ...]) -> tuple[str, ...]:
    """The families that are worth a table of this size, or all where none of them is.

    Over several releases the others gain a few per cent, but each takes seconds to certify.
    """
    goal = problem.goal
    one = goal.releases == 1 and goal.delta is not None
    if not _is_large(problem, LARGE if one or goal.delta is None else VERY_LARGE):
        return families
    if one:
        return tuple(name for name in families if known_families()[name].at_any_size) or families
    few = goal.delta is not None and goal.releases <= FEW_RELEASES
    simple = {LAPLACE.name if few else GAUSSIAN.name}
    if problem.reach < goal.sensitivity:
        # noise that stays within so little of the truth has steps as wide as the sensitivity
        simple.add(STAIRCASE.name)
    return tuple(name for name in families if name in simple) or families


def _is_large(problem: Problem, steps: int = LARGE) -> bool:
    """Whether the noise is spread over more than so many steps."""
    return problem.reach / problem.goal.confidence + problem.goal.sensitivity > steps


def problem_of(region: AbsoluteRegion, goal: Goal) -> Problem:
    """A region in whole steps; one-sided regions reach further than any table."""
    return Problem(below=int(min(region.below, BEYOND)), above=int(min(region.above, BEYOND)), goal=goal)


def shapes_for(problem: Problem, families: tuple[str, ...]) -> list[Shapes]:
    """The shapes of the families named, without those that another of them has as well."""
    makers = [known_families()[family].shapes for family in families]
    found = [shapes(problem) for shapes in makers if shapes is not None]
    return [shapes for shapes in found if shapes.same_as not in families]


# Longer tables are made last, and only of laws that seem to need less than so many times the epsilon of
# others; before the best scale of a law is known, so many times.
LONG_TABLE = 1 << 18
BEHIND, FAR_BEHIND = 1.02, 1.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Late:
    """A law for one release that takes a long table, and about its epsilon."""

    loss: float
    design: Callable[[], Design]


def _is_long(shape: Shape, problem: Problem, scale: float) -> bool:
    """Whether a law for one release at a delta takes a long table."""
    once = problem.goal.releases == 1 and problem.goal.delta is not None
    return once and 2 * distance_to_tail(shape, problem, scale, 2.0**-BITS) > LONG_TABLE


def _shape_candidates(
    made: Callable[..., Design],
    region: AbsoluteRegion,
    problem: Problem,
    shapes: Shapes,
    least: Callable[[], float],
) -> Iterator[Design | _Late]:
    """The plain law and the boosted one; `least` is about the epsilon of the best one before."""
    shape, plain = best_shape(shapes, problem)
    once = problem.goal.releases == 1 and problem.goal.delta is not None and problem.reach <= FURTHEST_BOOST
    sharp = once and shape.kernel(plain or 1.0).family == LAPLACE.name
    loss = None
    if sharp and plain > 0 and problem.reach >= problem.goal.sensitivity:
        # the outputs at the edge take all but what a budget of this delta sets aside for others
        goal = replace(problem.goal, delta=(problem.goal.delta or 0.0) * (1 - 2 * USUAL_RESERVE))
        loss = partial(boosted_laplace_loss, replace(problem, goal=goal))

    def in_turn(scale: float, make: Callable[[], Design]) -> Design | _Late:
        if not _is_long(shape, problem, scale):
            return make()
        losses = partial(estimated_loss, shape, problem) if loss is None else loss
        return _Late(loss=float(losses(np.array([scale]))[0]), design=make)

    if plain > 0:
        yield in_turn(plain, lambda: made(kernel=shape.kernel(plain)))
    if plain > 0 and _is_large(problem) and not sharp:
        return
    enough = FAR_BEHIND * least() if plain > 0 and _is_long(shape, problem, plain) else math.inf
    best = boosted_scale(shape, problem, plain, loss, enough)
    if best is not None and loss is not None:
        without, with_boost = loss(np.array([plain, best]))
        best = best if with_boost < without * (1 - TIE) else None
    if best is not None:
        kernel = shape.kernel(best)
        yield in_turn(
            best, lambda: made(kernel=kernel, boost=boost_for(kernel, region, problem.goal.confidence))
        )


# For more pairs of neighbors a Rényi certificate over all answers takes minutes; at a delta it does in ranges
# of more steps than this.
MOST_RENYI_PAIRS = 2048
LONG_RANGE = 1 << 17


def _fixed_candidates(
    grid: Grid, region: Region, goal: Goal, families: tuple[str, ...], scale: float
) -> Iterator[Design]:
    """At the given scale: clamped (a post-processing, so free), boosted, and truncated to the range."""
    low, high = region.answers
    pairs = (high - low) * goal.sensitivity
    for family in known_families().values():
        if family.name not in families or family.of_scale is None:
            continue
        kernel = family.of_scale(scale)
        yield Design(grid=grid, kernel=kernel, region=region, clamp=True)
        if goal.order is not None and pairs > MOST_RENYI_PAIRS:
            continue
        if high - low > LONG_RANGE:
            continue
        boost = boost_for(kernel, region, goal.confidence)
        if boost < 1:
            yield Design(grid=grid, kernel=kernel, region=region, boost=boost)
        yield Design(grid=grid, kernel=kernel, region=region, boost=1.0)


# Below this delta the cut staircase is as good as the linear program; above this size the program is slow.
LEAST_DELTA = 5e-3
LARGEST_PROGRAM = 48


def best_law_candidates(
    grid: Grid, problem: Problem, offset: int, families: tuple[str, ...]
) -> Iterator[Design]:
    """Laws at a delta; `offset` is where the problem's zero lies from the answer.

    A family is left out where it has no table of this size. Only free-form tables serve several releases.
    """
    if problem.goal.delta is None or problem.one_sided:
        return
    for family, search in _SEARCHES.items():
        found = search(problem, problem.goal.delta) if family in families else None
        if found is not None:
            kernel, moved = found
            yield Design(
                grid=grid,
                kernel=kernel,
                region=AbsoluteRegion(below=float(problem.below) + moved, above=float(problem.above) - moved),
                offset=offset + moved,
            )


Found = tuple[LatticeKernel, int] | None
"""A kernel, and how far it is to be moved: its zero then lies there from the problem's zero."""


def _cut_staircase(problem: Problem, delta: float) -> Found:
    """The staircase of least loss for one release, in the middle of the region."""
    goal = problem.goal
    if goal.releases > 1:
        return None
    confidence = min(goal.confidence + RESERVE, (1 + goal.confidence) / 2)
    asked = Question.about(problem.below, problem.above, confidence, goal.sensitivity, delta)
    question, epsilon = asked, cut_epsilon(asked)
    levels, end = cut_levels(question, epsilon)
    up = delta < TINY and _units_at_end(epsilon, goal.sensitivity) < delta * TOTAL / 2
    # its ends spend delta to the last digit: what whole weights take of it is left to them
    for _ in range(ROUNDINGS if up else 1):
        spent, missed = _lost(question, epsilon, levels) if up else _lost_to_center(goal, levels)
        if spent >= delta / 2 or missed >= (1 - asked.confidence) / 2:
            break
        question = replace(asked, delta=delta - spent, confidence=asked.confidence + missed)
        epsilon = cut_epsilon(question)
        levels, end = cut_levels(question, epsilon)
    try:
        kernel = CutStaircase(
            loss=epsilon, width=goal.sensitivity, plateau=question.central_points, levels=levels, end=end
        )
    except InputError:
        return None  # too many points for a table
    first, last = (int(point) for point in kernel.support)
    return kernel, -problem.below - (last - first + 1 - question.points) // 2 - first


def _lost_to_center(goal: Goal, levels: int) -> tuple[float, float]:
    """What weights that are rounded down take of delta, as it goes to the center; and of the confidence."""
    return 2 * CENTER_SHARE + 2 * (levels + 1) * goal.sensitivity / TOTAL, 0.0


def _lost(question: Question, epsilon: float, levels: int) -> tuple[float, float]:
    """The same for weights that are rounded up: some units at either end, and at every value outside."""
    outside = 2 * (levels + 1 - question.whole_steps)
    units = _units_at_end(epsilon, question.sensitivity)
    return units / TOTAL, units * max(outside, 0) / TOTAL


def _units_at_end(epsilon: float, sensitivity: int) -> float:
    """What rounding up adds to the weights of the values at one end of a staircase, or of a step outside."""
    return (1 - 1 / math.expm1(-epsilon)) * sensitivity


def _rounds_up(kernel: LatticeKernel, goal: Goal) -> bool:
    """Whether rounding up leaves most of delta."""
    if not isinstance(kernel, CutStaircase):
        return True
    return _units_at_end(kernel.loss, goal.sensitivity) < (goal.delta or 0.0) * TOTAL / 2


def _linear_program(problem: Problem, delta: float) -> Found:
    """The law of the program for one release, which already lies where it is meant to."""
    goal = problem.goal
    small = problem.below + problem.above + goal.sensitivity <= LARGEST_PROGRAM
    if goal.releases > 1 or delta < LEAST_DELTA or not small:
        return None
    from pbdp.planning.limit.best_table import best_table

    law = best_table(problem.below, problem.above, goal.confidence, goal.sensitivity, delta)
    label = LINEAR_PROGRAM.name
    return TableKernel(probabilities=tuple(law.masses.tolist()), start=law.start, label=label), 0


def _free_form(problem: Problem, delta: float) -> Found:
    """The table for this number of releases; none for a region with fewer values than the sensitivity.

    Nor for a joint confidence of so many numbers that floats do not tell half of what each may miss.
    """
    goal = problem.goal
    if goal.sensitivity > problem.below + problem.above + 1 or (1 + goal.confidence) / 2 == 1:
        return None
    from pbdp.planning.free_form.search import free_form_law

    try:
        law = free_form_law(
            problem.below,
            problem.above,
            goal.confidence,
            goal.sensitivity,
            delta,
            releases=goal.releases,
        )
    except CannotCertifyError:
        return None  # too many values for a table
    return TableKernel(probabilities=law.masses, start=law.start, label=FREE_FORM.name), 0


_SEARCHES = {
    CUT_STAIRCASE.name: _cut_staircase,
    LINEAR_PROGRAM.name: _linear_program,
    FREE_FORM.name: _free_form,
}
