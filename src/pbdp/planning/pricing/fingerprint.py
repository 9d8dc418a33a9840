"""The fingerprint of a plan: what was asked and which noise answers it, nothing that may differ in a copy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pbdp.canonical import digest
from pbdp.planning.plan import Plan
from pbdp.planning.pricing.priced import Claim, Priced, scalar_plan
from pbdp.planning.storage import design_record, plan_record, requirement_record
from pbdp.planning.together import JointPlan
from pbdp.planning.vectors.plan import VectorPlan
from pbdp.spelling import as_before

# Certified figures are left out: two machines may differ in their last digits (see `storage`), and they
# follow from the rest. So are what else was compared, texts, and the version of the format.
_OF_PLANS = ("delta", "rdp_order", "sensitivity", "releases", "mechanism", "neighbors", "requirement")
_OF_VECTORS = ("delta", "norm", "dimensions", "within", "sensitivity", "neighbors", "requirement")

Record = dict[str, Any]


@lru_cache(maxsize=1024)
def fingerprint(plan: Priced) -> str:
    """SHA-256, in hexadecimal, of the plan's requirement and noise as canonical JSON."""
    return digest(_plain(as_before(_essence(plan))))


def _plain(value: object) -> object:
    """The value with every number as a float and without negative zeros: 5 and 5.0 are one plan."""
    match value:
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case bool():
            return value
        case int() | float():
            return float(value) + 0.0
    return value


def _essence(plan: Priced) -> Record:
    match plan:
        case Claim():
            figures = {"epsilon": float(plan.epsilon), "delta": float(plan.delta)}
            return {"kind": "claim", **figures, "neighbors": plan.neighbors, "label": plan.label}
        case VectorPlan():
            return _of_vector(plan)
        case JointPlan():
            return _of_joint(plan)
    return _of_plan(plan)


def _of_plan(plan: Plan) -> Record:
    plan.requirement.region.check_record("to be told apart from others")
    record = plan_record(plan)
    return {"kind": "plan"} | {name: record[name] for name in _OF_PLANS}


def _of_joint(plan: JointPlan) -> Record:
    parts: list[Record] = []
    for part in plan.parts:
        asked = part.requirement
        asked.region.check_record("to be told apart from others")
        parts.append(
            {
                "sensitivity": asked.sensitivity,
                "releases": asked.releases,
                "requirement": requirement_record(asked),
                "mechanism": design_record(part.design),
            }
        )
    figures = {"delta": plan.delta, "missing": plan.missing}
    return {"kind": "joint plan", **figures, "neighbors": plan.neighbors, "parts": parts}


def _of_vector(plan: VectorPlan) -> Record:
    record = plan.to_record()
    essence: Record = {"kind": "vector plan"} | {name: record[name] for name in _OF_VECTORS}
    scalar = scalar_plan(plan)
    if scalar is not None:
        return essence | {"mechanism": _of_plan(scalar)}
    mechanism = {name: value for name, value in record["mechanism"].items() if name != "description"}
    return essence | {"mechanism": mechanism}
