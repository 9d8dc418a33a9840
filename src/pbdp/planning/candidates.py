"""Designs worth certifying for each kind of requirement. Nothing here is a guarantee."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.boosted import boost_for
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.region import Region
from pbdp.noise.family import Goal, Problem, Shapes, known_families
from pbdp.planning.best_laws import best_law_candidates
from pbdp.planning.scales import best_shape, boosted_scale


def candidates(
    grid: Grid, region: Region, goal: Goal, families: tuple[str, ...], scale: float | None
) -> Iterator[Design]:
    """Designs for a region in steps of the grid; `scale` is the noise scale that a fixed range asks for."""
    if scale is None:
        yield from _absolute_candidates(grid, region.tightest(), goal, families)
    else:
        yield from _fixed_candidates(grid, region, goal, families, scale / grid.step)


def _absolute_candidates(
    grid: Grid, region: AbsoluteRegion, goal: Goal, families: tuple[str, ...]
) -> Iterator[Design]:
    """Every shape around the middle of the region: plain at its largest scale, boosted at its best one."""
    offset = (
        math.floor((region.above - region.below) / 2) if math.isfinite(region.above + region.below) else 0
    )
    region = AbsoluteRegion(below=region.below + offset, above=region.above - offset)
    problem = problem_of(region, goal)
    yield from best_law_candidates(grid, problem, offset, families)
    for shapes in shapes_for(problem, families):
        # a family without a table of this size is left out; the others go on
        with suppress(InputError):
            yield from _shape_candidates(grid, region, problem, offset, shapes)


def problem_of(region: AbsoluteRegion, goal: Goal) -> Problem:
    """A region in whole steps; one-sided regions reach further than any table."""
    beyond = float(1 << 40)
    return Problem(below=int(min(region.below, beyond)), above=int(min(region.above, beyond)), goal=goal)


def shapes_for(problem: Problem, families: tuple[str, ...]) -> list[Shapes]:
    """The shapes of the families named, without those that another of them has as well."""
    makers = [known_families()[family].shapes for family in families]
    found = [shapes(problem) for shapes in makers if shapes is not None]
    return [shapes for shapes in found if shapes.same_as not in families]


def _shape_candidates(
    grid: Grid, region: AbsoluteRegion, problem: Problem, offset: int, shapes: Shapes
) -> Iterator[Design]:
    shape, plain = best_shape(shapes, problem)
    if plain > 0:
        yield Design(grid=grid, kernel=shape.kernel(plain), region=region, offset=offset)
    best = boosted_scale(shape, problem, plain)
    if best is not None:
        kernel = shape.kernel(best)
        boost = boost_for(kernel, region, problem.goal.confidence)
        yield Design(grid=grid, kernel=kernel, region=region, boost=boost, offset=offset)


def _fixed_candidates(
    grid: Grid, region: Region, goal: Goal, families: tuple[str, ...], scale: float
) -> Iterator[Design]:
    """At the given scale: clamped (a post-processing, so free), boosted, and truncated to the range."""
    for family in known_families().values():
        if family.name not in families or family.of_scale is None:
            continue
        kernel = family.of_scale(scale)
        yield Design(grid=grid, kernel=kernel, region=region, clamp=True)
        boost = boost_for(kernel, region, goal.confidence)
        if boost < 1:
            yield Design(grid=grid, kernel=kernel, region=region, boost=boost)
        yield Design(grid=grid, kernel=kernel, region=region, boost=1.0)
