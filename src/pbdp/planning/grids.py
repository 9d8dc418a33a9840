"""The grids that noise for a requirement may live on."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.grid import (
    LARGEST_FACTOR,
    Grid,
    LinearGrid,
    binary_grid_for,
    coarse_whole_grid_for,
    grid_for,
    grid_of_step,
    multiples_for,
    power_of_two_below,
    whole_grid_for,
    whole_numbers,
)
from pbdp.mechanism.log_grid import log_grid_for
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL
from pbdp.planning.limit.cut_staircase import cut_epsilon
from pbdp.planning.limit.question import Question
from pbdp.planning.thresholds import MOST_ANSWERS

# Over several releases, noise over more steps than this takes long, and only simple laws are tried.
VERY_LARGE = 1 << 15
# A percentage with a floor of more whole numbers than this is decoded on multiples of one.
MOST_DECODED = 1 << 12
# Widths of so many sensitivities, and no more than so many steps beyond a whole number of them, may lose
# much by rounding. What a finer grid has to save; the most steps it has to the sensitivity, and the units of
# weight that are left to each of them; steps that stand for a continuum.
MOST_STAIRS, MOST_BEYOND = 8, 32
WORTH_ALIGNING, FINEST_STEPS, LEAST_UNITS = 4e-3, 1 << 15, 8
FINEST = 1 << 24


def grids_of(requirement: Requirement) -> list[Grid]:
    """The grids that designs for a requirement may live on."""
    if requirement.step is not None:
        grid = grid_of_step(requirement.step, requirement.integer)
    elif requirement.integer:
        grid = _grid_of_whole(requirement)
    else:
        grid = _grid_of_reals(requirement)
    if not grid.down and requirement.lies_flush(grid.step):
        grid = LinearGrid(step=grid.step, rounded=True, down=True)
    logarithmic = log_grid_for(requirement.region, requirement.integer)
    return [grid] if logarithmic is None else [grid, logarithmic]


def _grid_of_whole(requirement: Requirement) -> LinearGrid:
    """All whole numbers, or multiples of one where noise would be spread over too many of them."""
    region, bounds = requirement.region, requirement.bounds
    if region.follows_answer and bounds is None and math.isfinite(region.width):
        grid = whole_grid_for(region.width, requirement.sensitivity)
        return _of_fewer(requirement) if grid.step == 1 and _is_very_large(requirement) else grid
    if bounds is None:
        decoded = isinstance(region, RelativeRegion) and region.width > MOST_DECODED
    else:
        low, high = bounds.answers
        decoded = region.follows_answer and high - low >= MOST_ANSWERS
    if not decoded or not math.isfinite(region.width):
        return whole_numbers()
    grid = coarse_whole_grid_for(region.width, requirement.sensitivity)
    # decoders of wide noise take long over several releases
    long = requirement.releases > 1 and region.width > MOST_DECODED * grid.step
    return whole_numbers() if long or requirement.takes_more_regions(grid.step) else grid


def _is_very_large(requirement: Requirement) -> bool:
    """Whether noise for several releases would be spread over very many whole numbers."""
    several = requirement.releases * requirement.touched > 1 and requirement.delta is not None
    reach = requirement.region.width / requirement.confidence_each + requirement.sensitivity
    return several and reach > VERY_LARGE


def _of_fewer(requirement: Requirement) -> LinearGrid:
    """Multiples of a whole number that divides the sensitivity, or else of one that does so nearly."""
    width, sensitivity = requirement.region.width, requirement.sensitivity
    grid = coarse_whole_grid_for(width, sensitivity)
    if grid.step >= width / VERY_LARGE * 4:
        return grid
    return multiples_for(width, sensitivity)


def _grid_of_reals(requirement: Requirement) -> LinearGrid:
    """The one that suits the sensitivity; for a range, a power of two where only that lies flush with it."""
    width, sensitivity = requirement.region.width, requirement.sensitivity
    if requirement.region.stands_still:
        return binary_grid_for(width, sensitivity)
    grid = grid_for(width, sensitivity)
    if requirement.takes_more_regions(grid.step):
        binary = binary_grid_for(width, sensitivity)
        return binary if requirement.lies_flush(binary.step) else _of_one_region(requirement) or grid
    return _aligned(grid, requirement) if _is_steep(grid, requirement) else grid


def _of_one_region(requirement: Requirement) -> LinearGrid | None:
    """Multiples of the width, if one of them is acceptable for every answer: 0..0.2 within 0.1, say.

    Widths and ends are the doubles that were given, and what is published is one, too: it has to be an exact
    multiple. Decimals would not do, as a double is a little off the one that it stands for.
    """
    sides = [float(offset) for offset in requirement.region.offsets(0.0)]
    if requirement.bounds is None or not 0 < min(sides) <= max(sides) < math.inf:
        return None
    step = min(sides)
    low, high, below, above = (
        Fraction(length) / Fraction(step) for length in (*requirement.bounds.answers, *sides)
    )
    grid = LinearGrid(step=step, rounded=True, down=True)
    fitting = range(math.ceil(high - above), math.floor(low + below) + 1)
    exact = all(grid.is_exact_at(number) for number in fitting)
    return grid if fitting and exact and requirement.lies_flush(step) else None


def _is_steep(grid: LinearGrid, requirement: Requirement) -> bool:
    """Whether half a step of rounding may be much of what a width has beyond a whole number of sensitivities.

    The best noise is a staircase: just beyond such a width a few values in its middle weigh as much as all
    others, and without them it costs up to twice as much.
    """
    region = requirement.region
    one = requirement.releases == 1 and requirement.delta is not None and requirement.bounds is None
    if not one or not isinstance(region, AbsoluteRegion) or math.isinf(region.below + region.above):
        return False
    stairs = region.width / requirement.sensitivity
    beyond = 2 * (stairs - math.floor(stairs)) * grid.sensitivity_in_steps(requirement.sensitivity)
    return 1 <= stairs <= MOST_STAIRS and beyond < MOST_BEYOND


def _aligned(grid: LinearGrid, requirement: Requirement) -> LinearGrid:
    """The coarsest grid of whose rounding the width loses next to nothing; the one given if none saves much.

    Steps in each octave are compared by the points of the region for each step of the sensitivity.
    """
    width, sensitivity = requirement.region.width, requirement.sensitivity
    ideal = _loss(FINEST, math.floor(2 * width / sensitivity * FINEST), requirement)
    best, least = grid, _loss(*_steps_and_points(grid, requirement), requirement) * (1 - WORTH_ALIGNING)
    half = LARGEST_FACTOR // 2
    steps = power_of_two_below(grid.step) / half * np.arange(half, 2 * half)
    # whole weights are too coarse for more steps at a very small delta
    finest = sensitivity / min(FINEST_STEPS, (requirement.delta or 0.0) * TOTAL / LEAST_UNITS)
    while steps[-1] > finest and least > ideal:
        points = np.floor(width / steps - 0.5) / np.ceil(sensitivity / steps)
        other = LinearGrid(step=float(steps[np.argmax(points)]), rounded=True)
        loss = _loss(*_steps_and_points(other, requirement), requirement)
        if loss < least:
            best, least = other, loss * (1 - WORTH_ALIGNING)
        steps /= 2
    return best


def _steps_and_points(grid: LinearGrid, requirement: Requirement) -> tuple[int, int]:
    """The sensitivity in steps, and the points of the region."""
    inside = grid.region_in_steps(requirement.region).tightest()
    return grid.sensitivity_in_steps(requirement.sensitivity), int(inside.below + inside.above + 1)


def _loss(steps: int, points: int, requirement: Requirement) -> float:
    """What the cut staircase loses, but for rounding."""
    return cut_epsilon(
        Question(
            points=points,
            sensitivity=steps,
            confidence=requirement.confidence_each,
            delta=requirement.delta or 0.0,
        )
    )
