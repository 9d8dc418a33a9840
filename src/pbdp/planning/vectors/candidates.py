"""What is tried for a vector, by how its error and one person's change are measured, and what is read back.

| noise | for changes | errors |
|---|---|---|
| its own in every coordinate, any family | so many coordinates, each by the sensitivity | any norm |
| Laplace in every coordinate, losses added up | in the sum of absolute values | any norm |
| the same in all directions | any, by their Euclidean length | Euclidean length, real numbers |

In the first row one person's changes are taken to be the largest in each of the coordinates that they may
change. That is exact for the norm linf and for one coordinate; for other changes of several coordinates it is
too much to be of use.
"""

from __future__ import annotations

from collections.abc import Iterator

from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.laplace import LAPLACE
from pbdp.planning.planner import FAMILIES
from pbdp.planning.vectors.design import Record, VectorDesign
from pbdp.planning.vectors.euclidean import read_spherical, spherical_designs
from pbdp.planning.vectors.independent import independent_designs
from pbdp.planning.vectors.product_laplace import product_designs, read_product


def vector_designs(requirement: Requirement, families: tuple[str, ...] = FAMILIES) -> Iterator[AnyDesign]:
    """The designs to be certified for a requirement whose vectors are more than so many single numbers."""
    coordinates = requirement.coordinates
    if coordinates is None:
        raise AssertionError("a vector has coordinates")
    if coordinates.changed_in == "l1" and LAPLACE.name in families:
        yield from product_designs(requirement)
    if coordinates.changed_in == "linf" or requirement.touched == 1:
        yield from independent_designs(requirement, families)
    if _may_be_spherical(requirement):
        yield from (design for design in spherical_designs(requirement) if family_of(design) in families)


def family_of(design: AnyDesign) -> str:
    """The family of the noise, boosted or not."""
    return design.kernel.family if isinstance(design, Design) else design.name.removeprefix("boosted ")


def read_vector_design(record: Record, requirement: Requirement) -> VectorDesign | None:
    """The design of a record, or None if the requirement may not have it."""
    coordinates = requirement.coordinates
    if coordinates is None:
        raise AssertionError("a vector has coordinates")
    if "scale_in_steps" in record:
        return read_product(record, requirement) if coordinates.changed_in == "l1" else None
    return read_spherical(record, requirement) if _may_be_spherical(requirement) else None


def _may_be_spherical(requirement: Requirement) -> bool:
    """Published numbers are real, on a fine grid of their own."""
    asked = requirement.coordinates
    return asked is not None and asked.norm == "l2" and not requirement.integer and requirement.step is None
