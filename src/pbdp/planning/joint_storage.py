"""Joint plans as plain JSON records. A record that is read is checked, not believed."""

from __future__ import annotations

import math

from pbdp.errors import PlanFileError
from pbdp.planning.certificate import meets
from pbdp.planning.storage import (
    SAME,
    Record,
    design_from_record,
    design_record,
    refused_if_broken,
    requirement_from_record,
    requirement_record,
)
from pbdp.planning.together.joint_plan import JointPlan, Part, joint_epsilon
from pbdp.spelling import read_now

FORMAT = "pbdp-joint-plan"
VERSION = 1

_EDITED = "The record was edited, or is damaged; make the plan again."


def joint_record(joint: JointPlan) -> Record:
    """The plan as one JSON object: the figures that are promised, then what is needed to check them."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "epsilon": joint.epsilon,
        "epsilon_lower": joint.epsilon_lower,
        "delta": joint.delta,
        "missing": joint.missing,
        "method": joint.method,
        "neighbors": joint.neighbors,
        "parts": [_part_record(part) for part in joint.parts],
    }


def joint_from_record(record: object) -> JointPlan:
    """The plan of a record; its epsilon and every confidence are computed again, and have to agree."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise PlanFileError("record", "a joint plan", "something else", "Make it with `joint_record`.")
    version = record.get("version")
    if version != VERSION or isinstance(version, bool):
        later = isinstance(version, int) and version > VERSION
        remedy = "It was made by a later pbdp; upgrade." if later else "Make the plan again."
        raise PlanFileError("version of the record", f"{VERSION}", version, remedy)
    with refused_if_broken("joint plan"):
        return _rebuilt(read_now(record))


def _part_record(part: Part) -> Record:
    asked = part.requirement
    asked.region.check_record("to be saved")
    return {
        "confidence": part.confidence,
        "sensitivity": asked.sensitivity,
        "releases": asked.releases,
        "requirement": requirement_record(asked),
        "mechanism": design_record(part.design),
    }


def _rebuilt(record: Record) -> JointPlan:
    delta, missing = _number(record["delta"]), _number(record["missing"])
    parts = tuple(_part(claim, delta, record["neighbors"]) for claim in record["parts"])
    if not parts:
        raise LookupError("no parts")
    bounds, method = joint_epsilon([(part.release(), part.releases) for part in parts], delta, missing)
    _check("epsilon", record["epsilon"], bounds.upper)
    _check("epsilon_lower", record["epsilon_lower"], bounds.lower)
    if record["method"] != method:
        raise PlanFileError("method of the joint plan", repr(method), repr(record["method"]), _EDITED)
    return JointPlan(
        parts=parts,
        epsilon=bounds.upper,
        epsilon_lower=bounds.lower,
        delta=delta,
        missing=missing,
        method=method,
    )


def _part(claim: Record, delta: float, neighbors: object) -> Part:
    requirement = requirement_from_record(
        {**claim, "delta": delta, "rdp_order": None, "neighbors": neighbors}
    )
    part = Part(requirement=requirement, design=design_from_record(claim["mechanism"], requirement))
    region = part.design.grid.region_in_steps(requirement.region)
    if not meets(part.design, region, requirement.confidence_each):
        raise PlanFileError("confidence of a part", f"at least {requirement.confidence:g}", "less", _EDITED)
    _check("confidence of a part", claim["confidence"], part.confidence)
    return part


def _check(name: str, claimed: object, actual: float) -> None:
    """Refuse a figure that is not the one that was computed, but for the last digits (see `storage`)."""
    if not math.isclose(_number(claimed), actual, rel_tol=SAME):
        raise PlanFileError(name, f"{actual:.9g}, as the accounting gives", claimed, _EDITED)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    return float(value)
