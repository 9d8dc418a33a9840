"""Designs worth certifying for a region in steps of a grid. Nothing here is a guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design, boost_for
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.region import Region
from pbdp.mechanism.weights import CENTER_SHARE, TOTAL
from pbdp.noise.cut_staircase import CUT_STAIRCASE, CutStaircase
from pbdp.noise.family import BEYOND, Goal, Problem, Shapes, known_families
from pbdp.noise.free_form import FREE_FORM, FreeForm
from pbdp.noise.kernel import LatticeKernel
from pbdp.noise.staircase import STAIRCASE
from pbdp.planning.certificate import WORTH
from pbdp.planning.limit.closed_form import RESERVE, Question
from pbdp.planning.limit.cut_staircase import cut_epsilon, cut_levels, staircase_epsilon
from pbdp.planning.scales import best_shape, boosted_scale

BOOSTED = "boosted "
# The laws of a linear program, one for each answer of a short range (see `answer_laws`).
LINEAR_PROGRAM = "linear program"

# A kernel, and how far it is to be moved: its zero then lies there from the problem's zero.
Found = tuple[LatticeKernel, int] | None


def problem_of(region: AbsoluteRegion, goal: Goal) -> Problem:
    """A region in whole steps; one-sided regions reach further than any table."""
    return Problem(below=int(min(region.below, BEYOND)), above=int(min(region.above, BEYOND)), goal=goal)


def planned_families() -> tuple[str, ...]:
    """The families that the planner has a search for."""
    known = known_families()
    return tuple(name for name, family in known.items() if family.shapes is not None or name in _TABLES)


def shapes_for(problem: Problem, families: tuple[str, ...]) -> list[Shapes]:
    """The shapes of the families named, without those that another of them has as well."""
    known = known_families()
    makers = [known[name].shapes for name in families if name in known]
    found = [shapes(problem) for shapes in makers if shapes is not None]
    return [shapes for shapes in found if shapes.same_as not in families]


def moving_candidates(grid: Grid, region: Region, goal: Goal, families: tuple[str, ...]) -> Iterator[Design]:
    """The laws of these families whose noise is the same for every answer, for the narrowest region.

    A lopsided region has its noise around its middle. A family that has no table of this size, or no law that
    keeps the confidence, is left out.
    """
    inner = region.tightest()
    both = inner.below + inner.above
    offset = math.floor((inner.above - inner.below) / 2) if math.isfinite(both) else 0
    centered = AbsoluteRegion(below=inner.below + offset, above=inner.above - offset)
    problem = problem_of(centered, goal)
    made = partial(Design, grid=grid, region=centered, offset=offset)
    for name in families:
        search = _TABLES.get(name)
        with suppress(InputError, CannotCertifyError):
            if search is not None:
                beside = STAIRCASE.name in families
                if goal.delta is not None and not problem.one_sided and (not beside or _saves(problem, name)):
                    yield from _moved(made, problem, search(problem, goal.delta))
                continue
            family = name.removeprefix(BOOSTED)
            for shapes in shapes_for(problem, (family,)):
                if shapes.same_as in families:
                    continue
                shape, plain = best_shape(shapes, problem)
                scale = boosted_scale(shape, problem, plain) if name != family else plain or None
                if scale is not None:
                    kernel = shape.kernel(scale)
                    boost = boost_for(kernel, centered, goal.confidence) if name != family else 0.0
                    yield made(kernel=kernel, boost=boost)


def _saves(problem: Problem, name: str) -> bool:
    """Whether a cut staircase may save what it must against the endless one, which any budget can pay for.

    The endless one is symmetric, so of an even number of points it leaves one out.
    """
    if name != CUT_STAIRCASE.name or problem.goal.releases > 1 or problem.goal.confidence == 1:
        return True
    delta, even = problem.goal.delta or 0.0, replace(problem, below=problem.reach, above=problem.reach)
    return cut_epsilon(_question(problem, delta)) < (1 - WORTH) * staircase_epsilon(_question(even, delta))


def _moved(made: Callable[..., Design], problem: Problem, found: Found) -> Iterator[Design]:
    if found is not None:
        kernel, moved = found
        design = made(kernel=kernel)
        region = AbsoluteRegion(below=float(problem.below) + moved, above=float(problem.above) - moved)
        yield replace(design, region=region, offset=design.offset + moved)


def _question(problem: Problem, delta: float) -> Question:
    """With a little more confidence, for the rounding of masses."""
    goal = problem.goal
    confidence = min(goal.confidence + RESERVE, (1 + goal.confidence) / 2)
    return Question.about(problem.below, problem.above, confidence, goal.sensitivity, delta)


def _cut_staircase(problem: Problem, delta: float) -> Found:
    """The staircase for one release that spends delta on ending, where that saves enough.

    Where an end is asked for (confidence 1) it serves several releases as well, with half of delta for ends.
    """
    releases, always = problem.goal.releases, problem.goal.confidence == 1
    if releases > 1 and not always:
        return None
    question = _question(problem, delta if releases == 1 else delta / (2 * releases))
    if always and not question.has_ends:
        return None
    epsilon = cut_epsilon(question)
    levels, _ = cut_levels(question, epsilon)
    # what whole weights take of delta: the center's share, and a unit at every value
    lost = 2 * CENTER_SHARE + 2 * (levels + 1) * question.sensitivity / TOTAL
    if lost >= question.delta / 2:
        return None
    question = replace(question, delta=question.delta - lost)
    epsilon = cut_epsilon(question)
    levels, end = cut_levels(question, epsilon)
    kernel = CutStaircase(
        loss=epsilon, width=question.sensitivity, plateau=question.central_points, levels=levels, end=end
    )
    return _in_region(problem, kernel)


def _free_form(problem: Problem, delta: float) -> Found:
    """The law for several releases, if the region has room for one step."""
    goal, points = problem.goal, problem.below + problem.above + 1
    from pbdp.planning.free_form import ended_law, free_form_law

    if goal.confidence == 1:
        room = points >= 3 * goal.sensitivity
        return _in_region(problem, ended_law(_question(problem, delta), goal.releases)) if room else None
    if not goal.sensitivity <= points or (1 + goal.confidence) / 2 == 1:
        return None
    return _in_region(problem, free_form_law(_question(problem, delta), goal.releases))


def _in_region(problem: Problem, kernel: CutStaircase | FreeForm) -> Found:
    """The kernel with the middle of its plateau moved to that of the region."""
    first, last = (int(point) for point in kernel.support)
    points = problem.below + problem.above + 1
    return kernel, -problem.below - (last - first + 1 - points) // 2 - first


_TABLES: dict[str, Callable[[Problem, float], Found]] = {
    CUT_STAIRCASE.name: _cut_staircase,
    FREE_FORM.name: _free_form,
}


def ranged_candidates(
    grid: Grid, region: Region, families: tuple[str, ...], scale: float
) -> Iterator[Design]:
    """In a fixed range at a given scale: clamped (a post-processing, so free) and truncated (q = 1).

    Both keep all outputs inside. The paper's soft boundary, q < 1, is that of `pbdp.boosted`.
    """
    for family in known_families().values():
        if family.name not in families or family.of_scale is None:
            continue
        kernel = family.of_scale(scale / grid.step)
        yield Design(grid=grid, kernel=kernel, region=region, clamp=True)
        yield Design(grid=grid, kernel=kernel, region=region, boost=1.0)
