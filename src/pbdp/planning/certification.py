"""A design for a requirement, certified, and the plan of it: what searches end with, and loading checks.

**What budgets can pay.** Noise that ends has outputs that a neighbor can never produce. A budget pays for
them from the reserve that it sets aside of its delta, 0.1 % unless told otherwise, and refuses a law that
needs more. Laws that fit such a reserve of their own delta are therefore preferred, see `cheapest`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from pbdp.mechanism.design import AnyDesign, Design, rounded_down
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.family import Goal
from pbdp.planning.certificate import certify, meets
from pbdp.planning.plan import Certified, Part, Plan
from pbdp.planning.vectors.design import VectorDesign

# The share of delta that a budget sets aside unless told otherwise; `accounting.filters.rule`, which says so,
# loads more than planning needs.
RESERVE = 0.001
# What a law that needs more than that has to save to be chosen.
WORTH = 0.01

T = TypeVar("T")


def goal_on(grid: Grid, requirement: Requirement) -> Goal:
    """What a design on a grid has to reach."""
    return Goal(
        confidence=requirement.confidence_each,
        sensitivity=grid.sensitivity_in_steps(requirement.sensitivity),
        delta=requirement.delta,
        order=requirement.rdp_order,
        releases=requirement.releases,
    )


def certified(requirement: Requirement, design: AnyDesign) -> Certified | None:
    """A design with its certificate, or None if some answer would fall short of the confidence."""
    if isinstance(design, VectorDesign):
        found = design.certificate(requirement)
        return None if found is None else Certified(design=design, certificate=found)
    joint = proven_confidence(requirement, design)
    if joint is None:
        return None
    if not isinstance(design, Design):
        raise AssertionError("a design is for numbers or for vectors")
    each = requirement.each
    certificate = certify(design, design.grid.region_in_steps(each.region), goal_on(design.grid, each))
    if requirement.rdp_order is not None:
        # that of the law before it is rounded to a table
        joint = requirement.joint_confidence_of(certificate.confidence)
    return Certified(design=design, certificate=replace(certificate, confidence=joint))


def proven_confidence(requirement: Requirement, design: AnyDesign) -> float | None:
    """The confidence that every answer has, from the table, or None if one falls short of what is asked."""
    if isinstance(design, VectorDesign):
        found = design.certificate(requirement)
        return None if found is None else found.confidence
    if not isinstance(design, Design):
        raise AssertionError("a design is for numbers or for vectors")
    if requirement.coordinates is not None and requirement.coordinates.norm != "linf":
        joint = confidence_of_sum(requirement, design)
        return None if joint < requirement.confidence else joint
    each = requirement.each
    region = design.grid.region_in_steps(each.region)
    if not meets(design, region, each.confidence_each):
        return None
    return requirement.joint_confidence_of(rounded_down(design.least_weight(region)))


@lru_cache(maxsize=64)
def confidence_of_sum(requirement: Requirement, design: Design) -> float:
    """P(the error of a whole vector is within the width), from the table of its coordinates; kept."""
    from pbdp.planning.vectors.error_law import Sizes

    if not isinstance(design.grid, LinearGrid) or not design.follows_answer or design.offset:
        return 0.0
    return Sizes.allowed(requirement, design.grid).mass(design.table_at(0.0))


def plan_of(requirement: Requirement, chosen: Certified, others: Sequence[Certified] = ()) -> Plan:
    """The plan of one part that was certified, with what was compared."""
    part = Part(requirement=requirement, design=chosen.design, confidence=chosen.certificate.confidence)
    return Plan(parts=(part,), certificate=chosen.certificate, compared=lambda: tuple(others))


def unhidden(requirement: Requirement, design: AnyDesign) -> float:
    """P(some output is one that a neighbor can never produce) over all releases, at most.

    It is the mass at an end of the table, as wide as the sensitivity. Noise that changes with the answer, and
    that of whole vectors, has its own proof of privacy and no such ends.
    """
    if requirement.delta is None or not isinstance(design, Design) or not design.follows_answer:
        return 0.0
    steps = design.grid.sensitivity_in_steps(requirement.sensitivity)
    weights = design.table_at(0.0).weights
    ends = max(int(weights[:steps].sum()), int(weights[-steps:].sum()))
    return requirement.releases * requirement.touched * ends / TOTAL


def is_payable(requirement: Requirement, design: AnyDesign) -> bool:
    """Whether the reserve of a budget with the requirement's own delta covers what a neighbor never has."""
    return requirement.delta is None or unhidden(requirement, design) <= RESERVE * requirement.delta


def cheapest(entries: Sequence[T], epsilon: Callable[[T], float], payable: Callable[[T], bool]) -> list[T]:
    """The entries to choose from, least epsilon first: payable ones unless another saves more than 1 %."""
    ranked = sorted(entries, key=epsilon)
    paid = [entry for entry in ranked if payable(entry)]
    return paid if paid and epsilon(paid[0]) * (1 - WORTH) <= epsilon(ranked[0]) else ranked
