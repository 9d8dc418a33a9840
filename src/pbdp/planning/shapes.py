"""The families that the planner tries, each as a shape with one free scale.

A shape is a log-density up to a constant, written for arrays so that the search can try many scales at once,
and the lattice kernel that is certified in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pbdp.noise.discrete_gaussian import DiscreteGaussian
from pbdp.noise.discrete_laplace import DiscreteLaplace
from pbdp.noise.generalised_normal import GeneralisedNormal
from pbdp.noise.grid import GridKernel
from pbdp.noise.grid_staircase import GridStaircase
from pbdp.noise.huber import Huber
from pbdp.noise.kernel import Array, LatticeKernel
from pbdp.requirement.absolute import AbsoluteRegion


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is minimised (epsilon at `delta`, or the Rényi loss at `order`) and under what, in steps."""

    confidence: float
    sensitivity: int
    delta: float | None
    order: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An absolute requirement on a grid: at most `below` and `above` steps off."""

    below: int
    above: int
    goal: Goal

    @property
    def reach(self) -> int:
        """The smaller offset: the half-width that a symmetric law has to fit."""
        return min(self.below, self.above)


def problem_of(region: AbsoluteRegion, goal: Goal) -> Problem:
    """A region in whole steps; one-sided regions reach further than any table."""
    beyond = float(1 << 40)
    return Problem(below=int(min(region.below, beyond)), above=int(min(region.above, beyond)), goal=goal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One family at a fixed shape, and a scale to start looking from."""

    family: str
    start: float
    log_density: Callable[[Array, Array], Array]
    kernel: Callable[[float], LatticeKernel]


def _gaussian(problem: Problem) -> Shape:
    return Shape(
        family="gaussian",
        start=problem.reach + 1.0,
        log_density=lambda x, scale: -0.5 * (x / scale) ** 2,
        kernel=lambda scale: DiscreteGaussian(sigma=scale),
    )


def _laplace(problem: Problem) -> Shape:
    return Shape(
        family="laplace",
        start=problem.reach + 1.0,
        log_density=lambda x, scale: -np.abs(x) / scale,
        kernel=lambda scale: DiscreteLaplace(scale=scale),
    )


def _generalised_normal(problem: Problem, shape: float) -> Shape:
    return Shape(
        family="generalised normal",
        start=problem.reach + 1.0,
        log_density=lambda x, scale: -((np.abs(x) / scale) ** shape),
        kernel=lambda scale: GridKernel(continuous=GeneralisedNormal(scale=scale, shape=shape)),
    )


def _huber(problem: Problem, knee: float) -> Shape:
    def log_density(x: Array, scale: Array) -> Array:
        size = np.abs(x) / scale
        return np.where(size <= knee, -0.5 * size**2, -knee * size + 0.5 * knee**2)

    return Shape(
        family="huber",
        start=problem.reach + 1.0,
        log_density=log_density,
        kernel=lambda scale: GridKernel(continuous=Huber(sigma=scale, knee=knee * scale)),
    )


def _staircase(problem: Problem) -> Shape:
    """Steps as wide as the sensitivity, one of their edges on the edge of the region."""
    width = problem.goal.sensitivity
    centre = problem.reach % width
    return Shape(
        family="staircase",
        start=1.0,
        log_density=lambda x, scale: -np.maximum(np.ceil((np.abs(x) - centre) / width), 0.0) / scale,
        kernel=lambda scale: GridStaircase(loss=1 / scale, width=width, centre=centre),
    )


GENERALISED_NORMAL_SHAPES = (1.5, 3.0)
HUBER_KNEES = (0.7, 1.6)


def shapes_for(problem: Problem, families: tuple[str, ...]) -> list[Shape]:
    """Every shape of the families asked for."""
    every = [
        _laplace(problem),
        _gaussian(problem),
        # with steps of one point the staircase is the Laplace law
        *([_staircase(problem)] if problem.goal.sensitivity > 1 else []),
        *(_generalised_normal(problem, shape) for shape in GENERALISED_NORMAL_SHAPES),
        *(_huber(problem, knee) for knee in HUBER_KNEES),
    ]
    return [shape for shape in every if shape.family in families]
