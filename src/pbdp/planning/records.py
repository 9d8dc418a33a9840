"""Plans as versioned JSON: one object for every plan, which `store` reads again.

**Fingerprints are made of the records in it** (`pricing.priced`): those of requirements and designs, with the
regions, kernels, decoders and grids in them, and stand in ledgers and manifests for ever. So such a record
never changes for a plan that could be made before: a new field is left out where it has the value that it had
before there was one, as `change_norm`, `rounded_up`, `down` and `whole` are. What only the file needs stands
here, beside them. `tests/planning/test_pricing.py` has what a fingerprint covers written out, and
`tests/frozen` older ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.errors import InputError
from pbdp.mechanism.coordinates import Coordinates

if TYPE_CHECKING:
    from pbdp.planning.limit.of_plan import KnownLimit
    from pbdp.planning.plan import Part, Plan

Record = dict[str, Any]

FORMAT = "pbdp-plan"
VERSION = 2


def plan_record(plan: Plan) -> Record:
    """The plan as one JSON object: the public fields first, then what is needed to check it.

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
        "alternatives": [
            {"family": a.family, "epsilon": a.epsilon, "confidence": a.confidence, "guaranteed": a.guaranteed}
            for a in plan.alternatives
        ],
        "limit": _limit_record(plan.limit),
        "neighbors": plan.neighbors,
        "certificate": {
            "epsilon_lower": certificate.epsilon_lower,
            "method": certificate.method,
            "table_error": certificate.table_error,
        },
        "compared": [
            {**entry.design.record(), "epsilon": entry.certificate.epsilon} for entry in plan.others
        ],
        "assumptions": list(plan.assumptions),
    }


def _limit_record(limit: KnownLimit | None) -> Record | None:
    """The limit with the weights that prove it."""
    if limit is None:
        return None
    return {
        "epsilon": limit.epsilon,
        "kind": limit.kind,
        "holds_for": f"any {limit.subject}",
        "proof": limit.proof,
    }


def _part_record(part: Part) -> Record:
    asked = part.requirement
    whole = asked.coordinates
    return {
        "confidence": part.confidence,
        **({} if whole is None else _vector_record(whole)),
        "within": asked.width,
        "sensitivity": asked.sensitivity,
        "releases": asked.releases,
        "step": part.design.output_grid.step,
        "mechanism": part.design.record(),
        "requirement": asked.record(),
    }


def _vector_record(whole: Coordinates) -> Record:
    changed = {} if whole.change_norm is None else {"change_norm": whole.change_norm}
    return {"norm": whole.norm, **changed, "dimensions": whole.dimensions}


def plan_text(plan: Plan) -> str:
    """A plan as its file holds it."""
    return json.dumps(plan_record(plan), indent=2, allow_nan=False) + "\n"


def save_plan(plan: Plan, path: Path) -> None:
    """Write a plan."""
    text = plan_text(plan)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError("plan file", "a path that can be written", path, str(error.strerror)) from None
