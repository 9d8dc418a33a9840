"""The grids that noise for a requirement may live on."""

from __future__ import annotations

import math

from pbdp.mechanism.grid import (
    STEPS_IN_WIDTH,
    Grid,
    LinearGrid,
    binary_grid_for,
    coarse_whole_grid_for,
    grid_for,
    grid_of_step,
    multiples_for,
    whole_grid_for,
    whole_numbers,
)
from pbdp.mechanism.log_grid import log_grid_for
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.decoder_search import MOST_ANSWERS

# Over several releases, noise over more steps than this takes long, and only simple laws are tried.
VERY_LARGE = 1 << 15
# A percentage with a floor of more whole numbers than this is decoded on multiples of one.
MOST_DECODED = 1 << 12
# Steps in a width for one release of a real answer: rounding takes half a step, 0.012 % of it.
FINE = 1 << 12


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


def _is_single(requirement: Requirement) -> bool:
    """Whether one number is published, within a width that is the same for every answer."""
    one = requirement.releases * requirement.touched == 1 and requirement.rdp_order is None
    return one and requirement.bounds is None and requirement.region.follows_answer


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
    grid = grid_for(width, sensitivity, FINE if _is_single(requirement) else STEPS_IN_WIDTH)
    if requirement.takes_more_regions(grid.step):
        binary = binary_grid_for(width, sensitivity)
        return binary if requirement.lies_flush(binary.step) else grid
    return grid
