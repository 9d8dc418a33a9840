"""The families of noise: each stands in one module of this folder, which says all that others need of it.

A module declares its family as a constant of type `Family`; nothing else has to know of it. A family without
a declaration can be accounted for, but is not planned with and not stored.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import pbdp.noise
from pbdp.noise.grid import GridKernel
from pbdp.noise.kernel import LatticeKernel, LogConcaveKernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of noise on the whole numbers.

    `law` makes a kernel of it, or the continuous kernel that it follows on the grid; its fields are the
    parameters, and their names are those in files. Of two families that do equally well the one with the
    lower `rank` is taken. `character` ends a sentence that begins with the name.
    """

    name: str
    rank: int
    law: Callable[..., LatticeKernel | LogConcaveKernel]
    character: str
    on_request: bool = False

    def kernel(self, **parameters: Any) -> LatticeKernel:
        """The kernel with these parameters."""
        law = self.law(**parameters)
        return law if isinstance(law, LatticeKernel) else law.on_grid()


@lru_cache(maxsize=1)
def families() -> Mapping[str, Family]:
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
    names = [field.name for field in fields(families()[kernel.family].law)]  # type: ignore[arg-type]
    return {"kernel": kernel.family, "parameters_in_steps": {name: getattr(source, name) for name in names}}


def kernel_from(family: str, parameters: Mapping[str, Any]) -> LatticeKernel:
    """The kernel of a record; parameters that the family does not have are left out."""
    known = families()[family]
    names = [field.name for field in fields(known.law)]  # type: ignore[arg-type]
    return known.kernel(**{name: parameters[name] for name in names})
