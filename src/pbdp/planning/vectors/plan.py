"""The noise with the least certified privacy loss for an answer with several coordinates.

What is tried, by how its error and one person's change are measured:

| noise | for changes | errors |
|---|---|---|
| its own in every coordinate, any family | so many coordinates, each by the sensitivity | any norm |
| Laplace in every coordinate, losses added up | in the sum of absolute values, of several | any norm |

In the first row one person's changes are taken to be the largest in each of the coordinates that they may
change. That is exact for the norm linf and for one coordinate; for sums over several it is too much to be of
use.
"""

from __future__ import annotations

from collections.abc import Iterator

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.laplace import LAPLACE
from pbdp.planning.certificate import Certified
from pbdp.planning.plan import Plan, plan_of
from pbdp.planning.planner import certify, joint_families, plan_for, simplest
from pbdp.planning.vectors.independent import independent_designs
from pbdp.planning.vectors.product_laplace import product_designs


def vector_plan(requirement: Requirement, families: tuple[str, ...] | None = None) -> Plan:
    """The plan for a checked requirement that has coordinates."""
    if requirement.is_one_by_one:
        # noise of its own in every coordinate
        return plan_for(requirement, families)
    return plan_of(requirement, simplest(certified_vectors(requirement, families)))


def certified_vectors(requirement: Requirement, families: tuple[str, ...] | None = None) -> list[Certified]:
    """What could be certified for a vector whose errors or changes are measured as a whole, best first."""
    best: dict[str, Certified] = {}
    reasons: list[str] = []
    for design in vector_designs(requirement, families or joint_families(requirement)):
        certify(requirement, design, best, reasons)
    if not best:
        raise CannotCertifyError(
            "No noise could be certified for this requirement. "
            + (reasons[0] if reasons else "Ask for a larger width or a lower confidence.")
        )
    return sorted(best.values(), key=lambda entry: entry.certificate.epsilon)


def vector_designs(requirement: Requirement, families: tuple[str, ...]) -> Iterator[AnyDesign]:
    """The designs to be certified for a requirement whose vectors are more than so many single numbers."""
    coordinates = requirement.coordinates
    if coordinates is None:
        raise AssertionError("a vector has coordinates")
    if coordinates.changed_in == "linf" or requirement.touched == 1:
        yield from independent_designs(requirement, families)
    elif LAPLACE.name in families:
        yield from product_designs(requirement)
