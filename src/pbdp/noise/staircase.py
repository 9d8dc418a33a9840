"""Staircase noise on the whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.errors import InputError
from pbdp.noise.family import Family, Problem, Shape, Shapes
from pbdp.noise.kernel import Array
from pbdp.noise.symmetric_lattice import FARTHEST, SymmetricLattice
from pbdp.parameters import positive, whole


@dataclass(frozen=True, slots=True)
class Staircase(SymmetricLattice):
    """Noise on the whole numbers with P(noise = n) ∝ exp(-loss max(0, ceil((|n| - center)/width))).

    A plateau of 2 center + 1 points, then steps of `width` points, each exp(-loss) times as high as the one
    before (Geng and Viswanath 2014, with a plateau of any length). Width and center are in steps of the grid.
    Every figure is a finite geometric sum of positive terms, within 1e-12 relatively down to 1e-250.
    """

    loss: float
    width: int
    center: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", positive("loss", self.loss))
        object.__setattr__(self, "width", whole("width", self.width))
        object.__setattr__(self, "center", whole("center", self.center, least=0))
        if not self.center + self.width * (1 + 750 / self.loss) <= FARTHEST:
            reach = f"width {self.width}, center {self.center} and loss {self.loss:g}"
            raise InputError("center + 750 width/loss", "at most 2**52", reach, "Use a coarser step.")

    @property
    def family(self) -> str:
        """`staircase`."""
        return "staircase"

    def _pure_loss(self, shift: int) -> float:
        """loss ceil(shift/width).

        Proof. With k(n) = max(0, ceil((|n| - center)/width)) the loss at n is loss (k(n - s) - k(n)). As
        |n - s| <= |n| + s, with equality for n <= 0, and k never falls away from 0, the largest is that of
        k(v + s) - k(v) over v >= 0. For v = center + t with t >= 0 it is ceil((t + s)/width) - ceil(t/width),
        at most ceil(s/width) as ceil(a + b) <= ceil(a) + ceil(b). For v < center it is k(v + s) <=
        k(center + s) = ceil(s/width). It is attained at v = center.
        """
        return self.loss * -(-shift // self.width)

    @property
    def _beyond(self) -> float:
        """Σ_{j >= 1} width exp(-loss j): what lies below a step, counted in points of the step's height."""
        return self.width * math.exp(-self.loss) / -math.expm1(-self.loss)

    @property
    def _total(self) -> float:
        """The sum of exp(-loss k(n)) over all n."""
        return 2 * (self.center + self._beyond) + 1

    def _level(self, n: Array) -> Array:
        return np.maximum(np.ceil((n - self.center) / self.width), 0.0)

    def _log_mass(self, n: Array) -> Array:
        return -self.loss * self._level(n) - math.log(self._total)

    def _tail(self, n: Array) -> Array:
        """What is left of n's own step from n on, and all the steps below it."""
        level = self._level(n)
        left = self.center + self.width * level - n + 1
        return np.asarray(np.exp(-self.loss * level) * ((left + self._beyond) / self._total))

    def _run(self, first: Array, last: Array) -> Array:
        """Part of the step of `first`, the whole steps between, and part of the step of `last`."""
        top, bottom = self._level(first), self._level(last)
        left = self.center + self.width * top - first + 1
        right = last - (self.center + self.width * (bottom - 1))
        between = self.width * np.expm1(-self.loss * np.maximum(bottom - top - 1, 0)) / math.expm1(-self.loss)
        several = (
            np.exp(-self.loss * top) * left
            + np.exp(-self.loss * (top + 1)) * between
            + np.exp(-self.loss * bottom) * right
        )
        one = np.exp(-self.loss * top) * (last - first + 1)
        return np.asarray(np.where(top == bottom, one, several) / self._total)

    def _tail_guess(self, u: Array) -> Array:
        """Inverse of the tail at the ends of the steps, then along the step."""
        points = u * self._total
        level = np.maximum(np.ceil(np.log(self._beyond / points) / self.loss), 0.0)
        left = points * np.exp(self.loss * level) - self._beyond
        return np.asarray(np.ceil(self.center + self.width * level + 1 - left))

    def moment_tail(self, shift: Array, order: float, reach: float) -> Array:
        """k(n) lies between (|n| - center)/width and that plus one, so the log-term lies below a line."""
        rate = self.loss / self.width
        peak = float(self.log_density(0.0)) + self.loss * (order - 1)
        edges = [peak - rate * (reach - self.center + sign * (order - 1) * shift) for sign in (1, -1)]
        return np.asarray(np.logaddexp(*edges) - math.log(rate))


def _shapes(problem: Problem) -> Shapes:
    """Steps as wide as the sensitivity, one of their edges on the edge of the region.

    With steps of one point it is the Laplace law.
    """
    width = problem.goal.sensitivity
    center = problem.reach % width
    return Shapes(
        shape=lambda _: Shape(
            start=1.0,
            log_density=lambda x, scale: -np.maximum(np.ceil((np.abs(x) - center) / width), 0.0) / scale,
            kernel=lambda scale: Staircase(loss=1 / scale, width=width, center=center),
        ),
        same_as="laplace" if width == 1 else None,
    )


STAIRCASE = Family(
    name="staircase",
    rank=3,
    law=Staircase,
    lengths=("width", "center"),
    character="is flat over stretches as wide as the sensitivity, with an edge on the edge of the region",
    shapes=_shapes,
    formula=lambda loss, width, center: f"exp(-{loss!r}*maximum(0, ceil((abs(k)-{center!r})/{width!r})))",
)
