"""A design for a requirement, certified, and the plan of it: what searches end with, and loading checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import Goal
from pbdp.planning.certificate import certify, meets
from pbdp.planning.plan import Certified, Part, Plan
from pbdp.planning.vectors.design import VectorDesign


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
    if not isinstance(design, Design):
        raise AssertionError("a design is for numbers or for vectors")
    each = requirement.each
    region = design.grid.region_in_steps(each.region)
    if not meets(design, region, each.confidence_each):
        return None
    certificate = certify(design, region, goal_on(design.grid, each))
    joint = requirement.joint_confidence_of(certificate.confidence)
    return Certified(design=design, certificate=replace(certificate, confidence=joint))


def plan_of(requirement: Requirement, chosen: Certified, others: Sequence[Certified] = ()) -> Plan:
    """The plan of one part that was certified, with what was compared."""
    part = Part(requirement=requirement, design=chosen.design, confidence=chosen.certificate.confidence)
    return Plan(parts=(part,), certificate=chosen.certificate, compared=lambda: tuple(others))
