"""The grids that noise for a requirement may live on."""

from __future__ import annotations

import math
from fractions import Fraction

from pbdp.mechanism.grid import (
    MOST_STEPS,
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
from pbdp.planning.limit.closed_form import Question
from pbdp.planning.limit.cut_staircase import staircase_epsilon

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
    found: list[Grid] = [grid, *_finer(requirement, grid)]
    logarithmic = log_grid_for(requirement.region, requirement.integer)
    return found if logarithmic is None else [*found, logarithmic]


def _finer(requirement: Requirement, grid: LinearGrid) -> list[Grid]:
    """A finer grid where a width just above a whole number of sensitivities has one more stair on it.

    Its tables are longer, and at a small delta may have no certificate.
    """
    if requirement.integer or requirement.step is not None or not _is_single(requirement):
        return []
    if not math.isfinite(sum(float(side) for side in requirement.region.offsets(0.0))):
        return []
    width, sensitivity = requirement.region.width, requirement.sensitivity
    finer = grid_for(width, sensitivity, MOST_STEPS)
    saved = 1 - _loss_on(requirement, finer) / _loss_on(requirement, grid)
    # no less than rounding to other grids takes
    return [finer] if saved > 1 / STEPS_IN_WIDTH else []


def _loss_on(requirement: Requirement, grid: LinearGrid) -> float:
    """What a staircase costs on a grid, in closed form."""
    inner = grid.region_in_steps(requirement.region).tightest()
    both, sensitivity = int(inner.below + inner.above), grid.sensitivity_in_steps(requirement.sensitivity)
    question = Question.about(both // 2, both - both // 2, requirement.confidence_each, sensitivity, 0.0)
    return staircase_epsilon(question)


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
        return binary if requirement.lies_flush(binary.step) else _of_one_region(requirement) or grid
    return grid


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
