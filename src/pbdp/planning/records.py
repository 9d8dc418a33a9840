"""Plans as versioned JSON: one object for every plan, which `store` reads again.

**Fingerprints are made of the records in it** (`pricing.priced`): those of requirements and designs, with the
regions, kernels, decoders and grids in them, and stand in ledgers and manifests for ever. What only the file
needs stands here, beside them. `tests/planning/test_pricing.py` has what a fingerprint covers written out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.json_records import write
from pbdp.mechanism.coordinates import Coordinates

if TYPE_CHECKING:
    from pbdp.planning.plan import Part, Plan

Record = dict[str, Any]

FORMAT = "pbdp-plan"
VERSION = 1


def plan_record(plan: Plan) -> Record:
    """The plan as one JSON object: request, noise and certificate.

    The fields of a plan's only part stand at the top; several parts, and one that has a name, are listed.
    """
    certificate = plan.certificate
    record: Record = {
        "format": FORMAT,
        "version": VERSION,
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "rdp_order": plan.rdp_order,
    }
    if plan.is_joint:
        record["missing"] = plan.missing
        record["parts"] = [{"name": part.name, **_part_record(part)} for part in plan.parts]
    else:
        record |= _part_record(plan.only)
    return record | {
        "neighbors": plan.neighbors,
        "certificate": {
            "epsilon_lower": certificate.epsilon_lower,
            "method": certificate.method,
            "table_error": certificate.table_error,
        },
        "assumptions": list(plan.assumptions),
    }


def shown_record(plan: Plan, *, explain: bool = False) -> Record:
    """What `pbdp plan --json` prints: the record of the file, the limit, and what else there is to `explain`.

    None of this is in a file, as whoever reads it would have to find it again to believe it.
    """
    limit = plan.limit
    record = plan_record(plan)
    record["limit"] = (
        None
        if limit is None
        else {"epsilon": limit.epsilon, "kind": limit.kind, "holds_for": f"any {limit.subject}"}
    )
    if explain:
        record["alternatives"] = [
            {"family": other.family, "epsilon": other.epsilon, "confidence": other.confidence}
            for other in plan.alternatives
        ]
    return record


def _part_record(part: Part) -> Record:
    asked = part.requirement
    whole = asked.coordinates
    return {
        "confidence": part.confidence,
        **({} if whole is None else _vector_record(whole)),
        "within": asked.width,
        "sensitivity": asked.sensitivity,
        "releases": asked.releases,
        "step": part.design.grid.step,
        "mechanism": part.design.record(),
        "requirement": asked.record(),
    }


def _vector_record(whole: Coordinates) -> Record:
    changed = {} if whole.change_norm is None else {"change_norm": whole.change_norm}
    return {"norm": whole.norm, **changed, "dimensions": whole.dimensions}


def plan_text(plan: Plan) -> str:
    """A plan as its file holds it."""
    return json.dumps(plan_record(plan), indent=2, allow_nan=False) + "\n"


def save_plan(plan: Plan, path: str | Path) -> None:
    """Write a plan."""
    write("plan file", path, plan_text(plan).encode())
