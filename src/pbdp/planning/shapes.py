"""The families that the planner tries, each as shapes with one free scale.

A shape is a log-density up to a constant, written for arrays so that the search can try many scales at once,
and the lattice kernel that is certified in the end. A family with a parameter besides the scale has one shape
for every value of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pbdp.accounting.root import bracketed_root
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.noise.cosine import Cosine
from pbdp.noise.discrete_gaussian import DiscreteGaussian
from pbdp.noise.discrete_laplace import DiscreteLaplace
from pbdp.noise.generalized_normal import GeneralizedNormal
from pbdp.noise.grid import GridKernel
from pbdp.noise.grid_staircase import GridStaircase
from pbdp.noise.huber import Huber
from pbdp.noise.kernel import Array, LatticeKernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is minimized (total epsilon at `delta`, or Rényi loss at `order`) and under what, in steps."""

    confidence: float
    sensitivity: int
    delta: float | None
    order: float | None
    releases: int = 1


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeFamily:
    """The shapes of a family; `parameters` are tried first, then values between them if that may pay.

    For one release Laplace noise and the staircase are nearly the best there is, so `few` are enough.
    """

    shape: Callable[[float], Shape]
    parameters: tuple[float, ...] = (0.0,)
    few: tuple[float, ...] = (0.0,)


def _gaussian(problem: Problem) -> ShapeFamily:
    return ShapeFamily(
        shape=lambda _: Shape(
            family="gaussian",
            start=problem.reach + 1.0,
            log_density=lambda x, scale: -0.5 * (x / scale) ** 2,
            kernel=lambda scale: DiscreteGaussian(sigma=scale),
        )
    )


def _laplace(problem: Problem) -> ShapeFamily:
    return ShapeFamily(
        shape=lambda _: Shape(
            family="laplace",
            start=problem.reach + 1.0,
            log_density=lambda x, scale: -np.abs(x) / scale,
            kernel=lambda scale: DiscreteLaplace(scale=scale),
        )
    )


def _staircase(problem: Problem) -> ShapeFamily:
    """Steps as wide as the sensitivity, one of their edges on the edge of the region."""
    width = problem.goal.sensitivity
    center = problem.reach % width
    return ShapeFamily(
        shape=lambda _: Shape(
            family="staircase",
            start=1.0,
            log_density=lambda x, scale: -np.maximum(np.ceil((np.abs(x) - center) / width), 0.0) / scale,
            kernel=lambda scale: GridStaircase(loss=1 / scale, width=width, center=center),
        )
    )


def _generalized_normal(problem: Problem) -> ShapeFamily:
    """exp(-|x/s|^shape) for shapes between Laplace and beyond Gaussian."""

    def shape(power: float) -> Shape:
        return Shape(
            family="generalized normal",
            start=problem.reach + 1.0,
            log_density=lambda x, scale: -((np.abs(x) / scale) ** power),
            kernel=lambda scale: GridKernel(continuous=GeneralizedNormal(scale=scale, shape=power)),
        )

    return ShapeFamily(shape=shape, parameters=(1.2, 1.5, 1.8, 2.5), few=(1.2, 2.5))


def _huber(problem: Problem) -> ShapeFamily:
    """The knee as a multiple of the half-width; the scale is the Gaussian's."""

    def shape(ratio: float) -> Shape:
        knee = ratio * (problem.reach + 0.5)

        def log_density(x: Array, scale: Array) -> Array:
            size = np.abs(x)
            near = np.minimum(size, knee)
            return np.asarray(-near * (size - near / 2) / scale**2)

        return Shape(
            family="huber",
            start=problem.reach + 1.0,
            log_density=log_density,
            kernel=lambda scale: GridKernel(continuous=Huber(sigma=scale, knee=knee)),
        )

    return ShapeFamily(shape=shape, parameters=(0.5, 0.8, 1.0, 1.2, 1.5), few=(0.5, 1.0))


def _cosine(problem: Problem) -> ShapeFamily:
    """The angle at the knee; with the knee on the edge of the region it is the law of least information."""

    def shape(angle: float) -> Shape:
        slope = 2 * angle * math.tan(angle)

        def log_density(x: Array, scale: Array) -> Array:
            size = np.abs(x) / scale
            near = np.minimum(size, 1.0)
            return np.asarray(2 * np.log(np.cos(angle * near)) - slope * (size - near))

        return Shape(
            family="cosine",
            start=problem.reach + 1.0,
            log_density=log_density,
            kernel=lambda scale: GridKernel(continuous=Cosine(knee=scale, angle=angle)),
        )

    least = _least_information_angle(problem.goal.confidence)
    around = (0.8 * least, 0.92 * least, least, 0.4 * least + 0.6 * math.pi / 2)
    return ShapeFamily(shape=shape, parameters=around, few=(least,))


def _least_information_angle(confidence: float) -> float:
    """The angle a at which the center holds the confidence p: (a + sin a cos a)(1 - p) = p cos²a / tan a."""

    def short(angle: float) -> float:
        center = angle + math.sin(angle) * math.cos(angle)
        tails = math.cos(angle) ** 2 / math.tan(angle)
        return confidence - center / (center + tails)

    return bracketed_root(short, 1e-6, math.pi / 2 - 1e-6)


_MAKERS: dict[str, Callable[[Problem], ShapeFamily]] = {
    "laplace": _laplace,
    "gaussian": _gaussian,
    "staircase": _staircase,
    "generalized normal": _generalized_normal,
    "huber": _huber,
    "cosine": _cosine,
}


def shape_families(problem: Problem, families: tuple[str, ...]) -> list[ShapeFamily]:
    """The families asked for; with steps of one point the staircase is the Laplace law and left out."""
    same = problem.goal.sensitivity == 1 and "laplace" in families
    return [
        _MAKERS[family](problem)
        for family in families
        if family in _MAKERS and not (family == "staircase" and same)
    ]
