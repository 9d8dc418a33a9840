"""Designs worth certifying for each kind of requirement. Nothing here is a guarantee."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pbdp.errors import InputError
from pbdp.mechanism.rate import boost_for
from pbdp.noise.discrete_gaussian import DiscreteGaussian
from pbdp.noise.discrete_laplace import DiscreteLaplace
from pbdp.noise.kernel import LatticeKernel
from pbdp.planning.design import Design
from pbdp.planning.grid import Grid
from pbdp.planning.per_answer import per_answer_candidates
from pbdp.planning.scales import boosted_scale, plain_scale
from pbdp.planning.shapes import Goal, Problem, shapes_for
from pbdp.requirement.absolute import AbsoluteRegion
from pbdp.requirement.custom import CustomRegion
from pbdp.requirement.fixed import FixedRegion
from pbdp.requirement.region import Region
from pbdp.requirement.relative import RelativeRegion


def candidates(
    grid: Grid, region: Region, goal: Goal, families: tuple[str, ...], scale: float | None
) -> Iterator[Design]:
    """Designs for a region in steps of the grid; `scale` is the noise scale that a fixed range asks for."""
    match region:
        case AbsoluteRegion():
            yield from _absolute_candidates(grid, region, goal, families)
        case RelativeRegion() | CustomRegion():
            tightest = _tightest(region)
            yield from _absolute_candidates(grid, tightest, goal, families)
            yield from per_answer_candidates(grid, region, _problem(tightest, goal), families)
        case FixedRegion() if scale is not None:
            yield from _fixed_candidates(grid, region, goal, families, scale / grid.step)
        case _:
            raise InputError("region", "of a kind that plans are made for", region.describe())


def _problem(region: AbsoluteRegion, goal: Goal) -> Problem:
    """The region in whole steps; one-sided regions reach further than any table."""
    beyond = float(1 << 40)
    return Problem(below=int(min(region.below, beyond)), above=int(min(region.above, beyond)), goal=goal)


def _absolute_candidates(
    grid: Grid, region: AbsoluteRegion, goal: Goal, families: tuple[str, ...]
) -> Iterator[Design]:
    """Every shape around the middle of the region: plain at its largest scale, boosted at its best one."""
    offset = (
        math.floor((region.above - region.below) / 2) if math.isfinite(region.above + region.below) else 0
    )
    region = AbsoluteRegion(below=region.below + offset, above=region.above - offset)
    problem = _problem(region, goal)
    for shape in shapes_for(problem, families):
        try:
            plain = plain_scale(shape, problem)
        except InputError:
            continue  # the family has no table of this width
        if plain > 0:
            yield Design(grid=grid, kernel=shape.kernel(plain), region=region, offset=offset)
        best = boosted_scale(shape, problem, plain)
        if best is not None:
            kernel = shape.kernel(best)
            boost = boost_for(kernel, region, goal.confidence)
            yield Design(grid=grid, kernel=kernel, region=region, boost=boost, offset=offset)


def _tightest(region: RelativeRegion | CustomRegion) -> AbsoluteRegion:
    """The absolute region inside the region of every answer: meeting it meets the requirement."""
    if isinstance(region, RelativeRegion):
        return AbsoluteRegion.even(float(math.floor(region.tau)))
    below, above = region.offsets(np.arange(region.low, region.high + 1))
    return AbsoluteRegion(below=float(np.floor(np.min(below))), above=float(np.floor(np.min(above))))


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
