"""The norms whose vectors have noise as a whole: what is tried for each, and how a record becomes a design.

In the norm `linf` every coordinate has noise of its own, that of so many releases of a number; it is planned
and stored like any number, and has no entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pbdp.mechanism.requirement import Requirement
from pbdp.planning.vectors.design import Record, VectorDesign
from pbdp.planning.vectors.euclidean import read_spherical, spherical_designs
from pbdp.planning.vectors.product_laplace import product_designs, read_product


@dataclass(frozen=True, slots=True, kw_only=True)
class NormNoise:
    """The designs to be certified for a requirement, and the one of a record (None if it has no such)."""

    designs: Callable[[Requirement], Iterable[VectorDesign]]
    read: Callable[[Record, Requirement], VectorDesign | None]


WHOLE_VECTORS = {
    "l2": NormNoise(designs=spherical_designs, read=read_spherical),
    "l1": NormNoise(designs=product_designs, read=read_product),
}
