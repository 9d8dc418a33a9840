"""Plan files of earlier versions, as they would be written now.

Vectors and plans for several requirements had formats of their own:

- `pbdp-vector-plan` (version 2): for the largest coordinate the whole plan of one number was part of the
  mechanism; the other norms had their noise there;
- `pbdp-joint-plan` (version 1): parts had no names.
"""

from __future__ import annotations

from typing import Any

from pbdp.errors import PlanFileError
from pbdp.json_records import read_now

Record = dict[str, Any]

_VERSIONS = {"pbdp-vector-plan": 2, "pbdp-joint-plan": 1}


def as_written_now(record: object, name: str) -> Any:
    """The record with the names and fields of today; unchanged if it is no plan file of an earlier one."""
    if not isinstance(record, dict) or not isinstance(record.get("format"), str):
        return record
    kind, version = record["format"], record.get("version")
    known = _VERSIONS.get(kind)
    if known is not None and (version != known or isinstance(version, bool)):
        raise PlanFileError(f"version of {name}", f"{known}", version, "Make the plan again.")
    now = read_now(record)
    if kind == "pbdp-vector-plan":
        return _vector(now)
    if kind == "pbdp-joint-plan":
        return _joint(now)
    return now


def _vector(record: Record) -> Record:
    asked, mechanism, compared = record["requirement"], record["mechanism"], record["compared"]
    inner = mechanism.get("plan")
    if inner is not None:
        mechanism, compared = inner["mechanism"], inner["compared"]
    width = record["within"]
    return {
        "format": "pbdp-plan",
        "version": 2,
        "epsilon": record["epsilon"],
        "delta": record["delta"],
        "rdp_order": None,
        "confidence": record["confidence"],
        "sensitivity": record["sensitivity"],
        "releases": 1,
        "mechanism": mechanism,
        "limit": None,
        "neighbors": record["neighbors"],
        "requirement": {
            "region": {"kind": "absolute", "below": width, "above": width},
            "confidence": asked["confidence"],
            "simultaneous": False,
            "integer": asked["integer"],
            "step": asked["step"],
            "scale": None,
            "bounds": None,
            "coordinates": {
                "dimensions": record["dimensions"],
                "norm": record["norm"],
                "touches": asked["touches"],
            },
        },
        "compared": compared,
    }


def _joint(record: Record) -> Record:
    return {
        "format": "pbdp-plan",
        "version": 2,
        "epsilon": record["epsilon"],
        "delta": record["delta"],
        "rdp_order": None,
        "missing": record["missing"],
        "parts": [{"name": f"part {n}", **part} for n, part in enumerate(record["parts"], start=1)],
        "neighbors": record["neighbors"],
        "certificate": {"epsilon_lower": record["epsilon_lower"], "method": record["method"]},
    }
