"""The families of noise: each stands in one module of this folder, which says all that others need of it.

A module declares its family as a constant of type `Family`: how its laws are made, kept in files and
described, and which of them are worth trying for a requirement. Nothing else has to know of it. A kernel of
no family can be accounted for, but is not planned with and not stored.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import pbdp.noise
from pbdp.noise.grid_kernel import GridKernel
from pbdp.noise.kernel import Array, LatticeKernel, LogConcave

# Further than any table reaches: where the open side of a region is taken to end.
BEYOND = 1 << 40


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

    @property
    def one_sided(self) -> bool:
        """Whether the region goes further to one side than any table."""
        return max(self.below, self.above) >= BEYOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A family with one free scale, and a scale to start looking from.

    `log_density` is known up to a constant and written for arrays, so that a search can try many scales at
    once; `kernel` is the law that is certified in the end.
    """

    start: float
    log_density: Callable[[Array, Array], Array]
    kernel: Callable[[float], LatticeKernel]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """A shape for every value of a parameter besides the scale, if the family has one.

    `parameters` are tried first, then values between them if that may pay. `same_as` is a simpler family that
    has the same laws for this problem.
    """

    shape: Callable[[float], Shape]
    parameters: tuple[float, ...] = (0.0,)
    same_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of noise on the whole numbers.

    `law` makes a kernel of it, or the density that it follows on the grid; its fields are the parameters, and
    their names are those in files. `lengths` names those that scale with the step. Of two families that do
    equally well the one with the lower `rank` is taken. `character` goes on after the name, as in a sentence.

    `shapes` are what the planner tries; a family without them has a search of its own, in planning. A family
    that a scale alone tells makes its kernel with `of_scale`, and is tried also where the scale is given (in
    a range), where only a threshold sees the noise, and where each try is slow (noise that changes with the
    answer).

    `concave` says that its laws are log-concave, as long as they are not boosted. `formula` writes the weight
    of k steps of noise, up to a constant factor, for the manifest of a table: a Python expression in numpy's
    names, made of the parameters. A law without one is a list of probabilities there.
    """

    name: str
    rank: int
    law: Callable[..., LatticeKernel | LogConcave]
    character: str
    lengths: tuple[str, ...] = ()
    shapes: Callable[[Problem], Shapes] | None = None
    of_scale: Callable[[float], LatticeKernel] | None = None
    concave: bool = False
    formula: Callable[..., str] | None = None

    def kernel(self, **parameters: Any) -> LatticeKernel:
        """The kernel with these parameters."""
        law = self.law(**parameters)
        return law if isinstance(law, LatticeKernel) else law.on_grid()


@lru_cache(maxsize=1)
def known_families() -> Mapping[str, Family]:
    """Every family by its name, the simplest first."""
    modules = [
        importlib.import_module(f"{pbdp.noise.__name__}.{module.name}")
        for module in pkgutil.iter_modules(pbdp.noise.__path__)
    ]
    found = [entry for module in modules for entry in vars(module).values() if isinstance(entry, Family)]
    return {family.name: family for family in sorted(found, key=lambda family: family.rank)}


def kernel_record(kernel: LatticeKernel) -> dict[str, Any]:
    """The family and the parameters of a kernel, as the record of a design has them."""
    source = kernel.continuous if isinstance(kernel, GridKernel) else kernel
    names = [field.name for field in fields(known_families()[kernel.family].law)]  # type: ignore[arg-type]
    return {"kernel": kernel.family, "parameters_in_steps": {name: getattr(source, name) for name in names}}


def kernel_from(family: str, parameters: Mapping[str, Any]) -> LatticeKernel:
    """The kernel of a record; parameters that the family does not have are left out."""
    known = known_families()[family]
    names = [field.name for field in fields(known.law)]  # type: ignore[arg-type]
    return known.kernel(**{name: parameters[name] for name in names})


def stretched(kernel: LatticeKernel, factor: float) -> LatticeKernel:
    """The kernel of wider noise: all lengths of its law times a factor."""
    record = kernel_record(kernel)
    lengths, parameters = known_families()[kernel.family].lengths, record["parameters_in_steps"]
    longer = {name: value * factor if name in lengths else value for name, value in parameters.items()}
    return kernel_from(kernel.family, longer)
