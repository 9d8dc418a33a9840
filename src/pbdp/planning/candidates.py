"""Designs worth certifying for each kind of requirement. Nothing here is a guarantee."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.custom import CustomRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed import FixedRegion
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.rate import boost_for
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.discrete_gaussian import DiscreteGaussian
from pbdp.noise.discrete_laplace import DiscreteLaplace
from pbdp.noise.kernel import LatticeKernel
from pbdp.planning.best_laws import best_law_candidates
from pbdp.planning.free_form.candidates import free_form_candidates
from pbdp.planning.scales import best_shape, boosted_scale
from pbdp.planning.shapes import Goal, Problem, ShapeFamily, problem_of, shape_families
from pbdp.planning.tightest import tightest


def candidates(
    grid: Grid, region: Region, goal: Goal, families: tuple[str, ...], scale: float | None
) -> Iterator[Design]:
    """Designs for a region in steps of the grid; `scale` is the noise scale that a fixed range asks for."""
    match region:
        case AbsoluteRegion():
            yield from _absolute_candidates(grid, region, goal, families)
        case RelativeRegion() | CustomRegion():
            yield from _absolute_candidates(grid, tightest(region), goal, families)
        case FixedRegion() if scale is not None:
            yield from _fixed_candidates(grid, region, goal, families, scale / grid.step)
        case _:
            raise InputError("region", "of a kind that plans are made for", region.describe())


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
    yield from free_form_candidates(grid, problem, offset, families)
    for family in shape_families(problem, families):
        # a family without a table of this size is left out; the others go on
        with suppress(InputError):
            yield from _family_candidates(grid, region, problem, offset, family)


def _family_candidates(
    grid: Grid, region: AbsoluteRegion, problem: Problem, offset: int, family: ShapeFamily
) -> Iterator[Design]:
    shape, plain = best_shape(family, problem)
    if plain > 0:
        yield Design(grid=grid, kernel=shape.kernel(plain), region=region, offset=offset)
    best = boosted_scale(shape, problem, plain)
    if best is not None:
        kernel = shape.kernel(best)
        boost = boost_for(kernel, region, problem.goal.confidence)
        yield Design(grid=grid, kernel=kernel, region=region, boost=boost, offset=offset)


def _fixed_candidates(
    grid: Grid, region: FixedRegion, goal: Goal, families: tuple[str, ...], scale: float
) -> Iterator[Design]:
    """At the given scale: clamped (a post-processing, so free), boosted, and truncated to the range."""
    kernels: list[LatticeKernel] = []
    if "laplace" in families:
        kernels.append(DiscreteLaplace(scale=scale))
    if "gaussian" in families:
        kernels.append(DiscreteGaussian(sigma=scale))
    for kernel in kernels:
        yield Design(grid=grid, kernel=kernel, region=region, clamp=region)
        boost = boost_for(kernel, region, goal.confidence)
        if boost < 1:
            yield Design(grid=grid, kernel=kernel, region=region, boost=boost)
        yield Design(grid=grid, kernel=kernel, region=region, boost=1.0)
