"""The largest coordinate: independent noise in every coordinate, planned as so many releases."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pbdp.errors import PlanFileError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.ask import plan
from pbdp.planning.plan import Alternative, Plan
from pbdp.planning.storage import plan_record
from pbdp.planning.vectors.design import Record, VectorCertificate, VectorDesign
from pbdp.planning.vectors.release import IndependentSampler
from pbdp.planning.vectors.requirement import VectorRequirement


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentNoise(VectorDesign):
    """The noise of a scalar plan in every coordinate.

    The scalar plan counts the coordinates that one person changes as releases. The others have the same law
    for both neighbors and add nothing. The confidence is joint for all coordinates.
    """

    plan: Plan

    @property
    def name(self) -> str:
        return self.plan.mechanism.name

    def describe(self, requirement: VectorRequirement) -> str:
        return (
            f"independent {self.name} noise in each of {requirement.dimensions} coordinates, on "
            f"{self.plan.grid.describe()}"
        )

    def certificate(self, requirement: VectorRequirement) -> VectorCertificate | None:
        if self.plan.requirement != scalar_requirement(requirement):
            return None
        confidence = joint(requirement, self.plan.chosen.certificate.confidence)
        if confidence < requirement.confidence:
            return None
        proof = self.plan.chosen.certificate
        return VectorCertificate(
            epsilon=proof.epsilon,
            epsilon_lower=proof.epsilon_lower,
            confidence=confidence,
            method=proof.method,
        )

    def sampler(self, requirement: VectorRequirement) -> IndependentSampler:  # noqa: ARG002 - any number of coordinates
        return IndependentSampler(releaser=self.plan.releaser)

    def record(self) -> Record:
        return {"kernel": "scalar plan", "plan": plan_record(self.plan)}

    def assumptions(self, requirement: VectorRequirement) -> tuple[str, ...]:
        return (
            f"One person changes at most {requirement.touched} of {requirement.dimensions} coordinates.",
            f"Outputs are {self.plan.grid.describe()}; rounding the answer to them is part of the guarantee.",
        )

    def alternatives(self, requirement: VectorRequirement) -> tuple[Alternative, ...]:
        each = {entry.design.name: entry.certificate.confidence for entry in self.plan.others}
        each[self.name] = self.plan.chosen.certificate.confidence
        return tuple(
            Alternative(
                family=other.family,
                epsilon=other.epsilon,
                confidence=joint(requirement, each[other.family.removesuffix(", as published")]),
                guaranteed=other.guaranteed,
            )
            for other in self.plan.alternatives
        )


def joint(requirement: VectorRequirement, each: float) -> float:
    """The joint confidence of all coordinates, rounded down."""
    return _all_coordinates(requirement).joint_confidence(each)


def independent_design(requirement: VectorRequirement) -> IndependentNoise:
    """The scalar plan with the least certified epsilon."""
    asked = scalar_requirement(requirement)
    return IndependentNoise(
        plan=plan(
            within=requirement.within,
            confidence=asked.confidence,
            sensitivity=asked.sensitivity,
            delta=asked.delta,
            integer=asked.integer,
            releases=asked.releases,
            simultaneous=asked.simultaneous,
            neighbors=asked.neighbors,
            step=asked.step,
        )
    )


def scalar_requirement(requirement: VectorRequirement) -> Requirement:
    """What every coordinate has to reach."""
    whole = _all_coordinates(requirement)
    if requirement.touched == requirement.dimensions:
        return whole
    return _releases(requirement, requirement.touched, whole.confidence_each, simultaneous=False)


def _all_coordinates(requirement: VectorRequirement) -> Requirement:
    return _releases(requirement, requirement.dimensions, requirement.confidence, simultaneous=True)


def _releases(
    requirement: VectorRequirement, releases: int, confidence: float, *, simultaneous: bool
) -> Requirement:
    return Requirement(
        region=AbsoluteRegion.even(requirement.within),
        confidence=confidence,
        sensitivity=requirement.sensitivity,
        delta=requirement.delta,
        releases=releases,
        simultaneous=simultaneous,
        neighbors=requirement.neighbors,
        integer=requirement.integer,
        step=requirement.step,
    )


def loaded_design(record: Record, requirement: VectorRequirement) -> IndependentNoise:
    """The design of a record, its scalar plan checked as any plan that is read."""
    with tempfile.TemporaryDirectory() as folder:
        # plans are checked on their way from a file
        path = Path(folder) / "plan.json"
        path.write_text(json.dumps(record["plan"]), encoding="utf-8")
        loaded = Plan.load(path, neighbors=requirement.neighbors)
    if loaded.requirement != scalar_requirement(requirement):
        raise PlanFileError(
            "scalar plan", "the one that the vector requirement asks for", "another", "Make the plan again."
        )
    return IndependentNoise(plan=loaded)
