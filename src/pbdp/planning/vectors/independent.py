"""Noise of its own in every coordinate of a vector: the widest law of each family that the norm allows.

The law of one coordinate is that of a number; as many releases count as one person changes coordinates. What
differs from single numbers is the confidence, which is that of the error of the whole vector (`error_law`).
A family's shape and scale are searched with estimates; what is found is certified by its table.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid, grid_for, whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import Problem, Shape, Shapes
from pbdp.planning.candidates import shapes_for
from pbdp.planning.certificate import TIE, confidence_of_sum, goal_on
from pbdp.planning.scales import STEEPEST, best_shape, distance_to_tail, estimated_loss
from pbdp.planning.vectors.error_law import Sizes
from pbdp.root_finding import CLOSEST, least_enough

# How close to the confidence the widest scale comes, in log-odds.
CLOSE = 1e-5
# Other families that need up to so many times the least epsilon are shown too.
NEAR = 1.25
LONGEST = 1 << 18


def independent_designs(requirement: Requirement, families: tuple[str, ...]) -> Iterator[Design]:
    """The widest design of each family that comes near the best, for a requirement with coordinates."""
    grid = grid_of(requirement)
    sizes = Sizes.allowed(requirement, grid)
    if sizes.most < 0:
        return
    problem = problem_of(requirement, grid, sizes)
    found = [
        _best(shapes, problem, sizes, requirement.confidence) for shapes in shapes_for(problem, families)
    ]
    enough = math.inf
    # the simpler families come first, and win ties
    for _, law in sorted(enumerate(found), key=lambda entry: entry[1].loss * (1 + TIE * entry[0])):
        if law.loss > enough or not math.isfinite(law.loss):
            break
        with suppress(InputError, CannotCertifyError):
            design = law.widest(requirement, grid, problem.reach)
            if design is not None:
                yield design
                enough = min(enough, law.loss * (NEAR if sizes.is_quick else 1.0))


def problem_of(requirement: Requirement, grid: LinearGrid, sizes: Sizes) -> Problem:
    """What the noise of one coordinate is asked for."""
    reach = max(1, math.floor(sizes.typical))
    # no confidence that boosting could raise: the error of a vector is not that of any coordinate
    goal = replace(goal_on(grid, requirement.each), confidence=1e-3)
    return Problem(below=reach, above=reach, goal=goal)


def grid_of(requirement: Requirement) -> LinearGrid:
    """Whole numbers, the step that was given, or one that is fine against what a coordinate may be off."""
    if requirement.integer:
        return whole_numbers()
    if requirement.step is not None:
        return LinearGrid(step=requirement.step, rounded=True)
    return grid_for(requirement.half_width / error_share(requirement), requirement.sensitivity)


def error_share(requirement: Requirement) -> float:
    """How many times as large as that of each coordinate the error of a whole vector is."""
    coordinates = requirement.coordinates
    if coordinates is None:
        raise AssertionError("a vector has coordinates")
    return float(coordinates.dimensions ** {"linf": 0.0, "l2": 0.5, "l1": 1.0}[coordinates.norm])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Law:
    """A shape, one over the largest scale that keeps the confidence, and its estimated loss there."""

    shape: Shape
    loss: float
    steepness: float

    def widest(self, requirement: Requirement, grid: LinearGrid, reach: int) -> Design | None:
        """The design whose proven confidence is the one asked for, or barely more."""
        region = AbsoluteRegion.even(float(reach))

        def at(steepness: float) -> Design:
            return Design(grid=grid, kernel=self.shape.kernel(1 / steepness), region=region)

        def short(steepness: float) -> float:
            proven = confidence_of_sum(requirement, at(steepness))
            return log_odds(requirement.confidence) - log_odds(proven)

        found = least_enough(short, self.steepness, close=CLOSEST, most=STEEPEST, spare=CLOSE)
        return at(found) if math.isfinite(found) else None


def log_odds(probability: float) -> float:
    """ln(p / (1 - p)), held where that is finite."""
    held = min(max(probability, sys.float_info.min), math.nextafter(1.0, 0.0))
    return math.log(held / (1 - held))


def _best(shapes: Shapes, problem: Problem, sizes: Sizes, confidence: float) -> _Law:
    """The shape of least estimated loss."""

    def scale_of(shape: Shape, problem: Problem) -> float:
        return 1 / estimated_steepness(shape, problem, sizes, confidence)

    shape, scale = best_shape(shapes, problem, scale_of)
    if scale == 0:
        return _Law(shape=shape, loss=math.inf, steepness=math.inf)
    loss = float(estimated_loss(shape, problem, np.array([scale]))[0])
    return _Law(shape=shape, loss=loss, steepness=1 / scale)


def estimated_steepness(shape: Shape, problem: Problem, sizes: Sizes, confidence: float) -> float:
    """About one over the largest scale that keeps the confidence; infinite if none does."""

    def short(steepness: float) -> float:
        scale = 1 / steepness
        end = min(math.ceil(distance_to_tail(shape, problem, scale, 1e-12)), LONGEST)
        noise = np.arange(end + 1, dtype=np.float64)
        masses = np.exp(shape.log_density(noise, np.array(scale)))
        masses[1:] *= 2
        return log_odds(confidence) - log_odds(sizes.estimate(noise, masses / np.sum(masses)))

    return least_enough(short, 1 / shape.start, most=STEEPEST)
