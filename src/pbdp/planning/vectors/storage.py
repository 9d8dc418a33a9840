"""Vector plans as JSON records. A record that is read is checked, not believed."""

from __future__ import annotations

import json
import math
from pathlib import Path

from pbdp.errors import InputError, PbdpError, PlanFileError
from pbdp.mechanism.grid import LinearGrid, whole_numbers
from pbdp.planning.storage import read_json
from pbdp.planning.vectors.design import Record, VectorCertified, VectorDesign
from pbdp.planning.vectors.independent import loaded_design
from pbdp.planning.vectors.plan import VectorPlan
from pbdp.planning.vectors.product_laplace import ProductLaplace
from pbdp.planning.vectors.requirement import VectorRequirement
from pbdp.planning.vectors.rounding import Rounding
from pbdp.planning.vectors.spherical_gaussian import SphericalGaussian
from pbdp.planning.vectors.spherical_laplace import SphericalLaplace
from pbdp.spelling import read_now

FORMAT = "pbdp-vector-plan"
# 2: Euclidean plans have the steps that answers and outputs are rounded to
VERSION = 2
# Two machines may differ in the last digits of a certificate; a loaded plan has the figure of the second.
SAME = 1e-9

_EDITED = "The record was edited, or is damaged; make the plan again."


def vector_plan_record(plan: VectorPlan) -> Record:
    """The plan as one JSON object: the public fields first, then what is needed to check it."""
    asked = plan.requirement
    return {
        "format": FORMAT,
        "version": VERSION,
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "confidence": plan.confidence,
        "norm": asked.norm,
        "dimensions": asked.dimensions,
        "within": asked.within,
        "sensitivity": asked.sensitivity,
        "neighbors": asked.neighbors,
        "mechanism": _claim(plan, plan.chosen),
        "alternatives": [
            {"family": a.family, "epsilon": a.epsilon, "confidence": a.confidence, "guaranteed": a.guaranteed}
            for a in plan.alternatives
        ],
        "requirement": {
            "confidence": asked.confidence,
            "integer": asked.integer,
            "touches": asked.touches,
            "step": asked.step,
        },
        "certificate": {
            "epsilon_lower": plan.certificate.epsilon_lower,
            "method": plan.certificate.method,
            "sampling_error": plan.certificate.sampling_error,
        },
        "compared": [{**_claim(plan, entry), "epsilon": entry.certificate.epsilon} for entry in plan.others],
        "assumptions": list(plan.assumptions),
    }


def vector_plan_from(record: object) -> VectorPlan:
    """The plan of a record: every certificate in it is computed again, and has to agree."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise PlanFileError("record", "a vector plan", "something else", "Make it with VectorPlan.to_record.")
    version = record.get("version")
    if version != VERSION or isinstance(version, bool):
        later = isinstance(version, int) and version > VERSION
        raise PlanFileError(
            "version of the record",
            f"{VERSION}",
            version,
            "It was made by a later pbdp; upgrade." if later else "Make the plan again.",
        )
    try:
        return _rebuilt(read_now(record))
    except PlanFileError:
        raise
    except PbdpError as error:
        raise PlanFileError(
            "record", "a valid plan", "one that is not", f"{error} Make the plan again."
        ) from None
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, MemoryError):
        # whatever a figure that no plan was made with leads to
        raise PlanFileError(
            "record", "a complete plan", "one with missing or broken fields", "Make the plan again."
        ) from None


def save_vector_plan(plan: VectorPlan, path: Path) -> None:
    """Write a plan."""
    text = json.dumps(vector_plan_record(plan), indent=2, allow_nan=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError("plan file", "a path that can be written", path, str(error.strerror)) from None


def load_vector_plan(path: Path, neighbors: str | None = None) -> VectorPlan:
    """Read a plan and check it; refused if it is for another relation than the one relied on."""
    plan = vector_plan_from(read_json(path, "Make it with `pbdp vector -o FILE`."))
    if neighbors is not None and plan.requirement.neighbors != neighbors:
        raise PlanFileError(
            "plan",
            f"for {neighbors} neighbors",
            plan.requirement.neighbors,
            "A guarantee for one relation says nothing about the other; make a plan for yours.",
        )
    return plan


def _claim(plan: VectorPlan, entry: VectorCertified) -> Record:
    return {
        "family": entry.design.name,
        "description": entry.design.describe(plan.requirement),
        **entry.design.record(),
    }


def _rebuilt(record: Record) -> VectorPlan:
    asked = record["requirement"]
    requirement = VectorRequirement(
        within=record["within"],
        confidence=asked["confidence"],
        dimensions=record["dimensions"],
        norm=record["norm"],
        sensitivity=record["sensitivity"],
        delta=record["delta"],
        integer=asked["integer"],
        neighbors=record["neighbors"],
        touches=asked["touches"],
        step=asked["step"],
    )

    def checked(claim: Record) -> VectorCertified:
        design = _design(claim, requirement)
        certificate = design.certificate(requirement)
        if certificate is None:
            raise PlanFileError(
                "confidence of the plan", f"at least {requirement.confidence:g}", "less", _EDITED
            )
        _same("epsilon of the plan", certificate.epsilon, claim["epsilon"])
        return VectorCertified(design=design, certificate=certificate)

    plan = VectorPlan(
        requirement=requirement,
        chosen=checked({**record["mechanism"], "epsilon": record["epsilon"]}),
        others=tuple(checked(claim) for claim in record["compared"]),
    )
    _same("confidence of the plan", plan.confidence, record["confidence"])
    fresh = vector_plan_record(plan)
    if len(fresh["alternatives"]) != len(record["alternatives"]):
        raise PlanFileError(
            "alternatives", f"{len(fresh['alternatives'])}", len(record["alternatives"]), _EDITED
        )
    for now, then in zip(fresh["alternatives"], record["alternatives"], strict=True):
        if (now["family"], now["guaranteed"]) != (then["family"], then["guaranteed"]):
            raise PlanFileError("alternatives", "those that were compared", "others", _EDITED)
        _same(f"epsilon of {now['family']}", now["epsilon"], then["epsilon"])
        _same(f"confidence of {now['family']}", now["confidence"], then["confidence"])
    return plan


def _same(name: str, actual: float, claimed: float) -> None:
    if not math.isclose(actual, claimed, rel_tol=SAME):
        raise PlanFileError(name, f"{actual:.9g}, as the accounting gives", f"{claimed:.9g}", _EDITED)


def _design(claim: Record, requirement: VectorRequirement) -> VectorDesign:
    design: VectorDesign
    match requirement.norm, claim["kernel"]:
        case "linf", "scalar plan":
            design = loaded_design(claim, requirement)
        case "l2", "gaussian":
            design = SphericalGaussian(sigma=claim["sigma"], kept=claim["kept"], rounding=_rounding(claim))
        case "l2", "laplace":
            design = SphericalLaplace(scale=claim["scale"], rounding=_rounding(claim))
        case "l1", "laplace":
            grid = LinearGrid(step=claim["step"], rounded=True)
            if requirement.integer:
                grid = whole_numbers()
            if claim["step"] != grid.step or requirement.step not in (None, grid.step):
                raise PlanFileError("step", "the one that the requirement asks for", claim["step"], _EDITED)
            design = ProductLaplace(scale_in_steps=claim["scale_in_steps"], grid=grid)
        case _:
            raise PlanFileError("mechanism", f"one for the norm {requirement.norm}", claim["kernel"], _EDITED)
    if claim["family"] != design.name:
        raise PlanFileError("family", design.name, claim["family"], _EDITED)
    return design


def _rounding(claim: Record) -> Rounding:
    return Rounding(step=claim["step"], answer_step=claim["answer_step"])
