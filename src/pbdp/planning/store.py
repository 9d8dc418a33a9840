"""Plans as versioned JSON: one store for every plan, which also reads the files of earlier versions.

A plan that is read is checked, not believed. What will be drawn is certified again when it is read; what else
was compared, and the limit, when somebody asks for them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.digits import percent_down
from pbdp.errors import InputError, PbdpError, PlanFileError
from pbdp.mechanism.coordinates import Coordinates
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import SPLIT, Certified, certified
from pbdp.planning.plan import Part, Plan, plan_of, proved_limit
from pbdp.planning.records import (
    EDITED,
    Record,
    design_from_record,
    design_record,
    requirement_from_record,
    requirement_record,
    width_record,
)
from pbdp.spelling import NotJsonError, content_of, json_of, kind_of, kind_of_record

if TYPE_CHECKING:
    from pbdp.planning.limit.of_plan import KnownLimit

FORMAT = "pbdp-plan"
VERSION = 2
# Two machines may differ in the last digits of a certificate; a loaded plan has the figure of the second.
SAME = 1e-9


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
            {**design_record(entry.design), "epsilon": entry.certificate.epsilon} for entry in plan.others
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
        "within": width_record(asked),
        "sensitivity": asked.sensitivity,
        "releases": asked.releases,
        "step": part.design.output_grid.step,
        "mechanism": design_record(part.design),
        "requirement": requirement_record(asked),
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


def load_plan(path: Path, neighbors: str | None = None) -> Plan:
    """Read a plan and check it; refused if it is for another relation than the one relied on."""
    content = content_of("plan file", path, PlanFileError)
    try:
        record = json_of(content)
    except NotJsonError:
        raise PlanFileError(str(path), "a plan", kind_of(content), _HOW) from None
    plan = plan_from_record(record, str(path))
    if neighbors is not None and plan.neighbors != Neighbors(neighbors):
        raise PlanFileError(
            "plan",
            f"for {neighbors} neighbors",
            plan.neighbors,
            "A guarantee for one relation says nothing about the other; make a plan for yours.",
        )
    return plan


_HOW = "Make it with `pbdp plan -o FILE`."


def plan_from_record(record: object, name: str = "record") -> Plan:
    """The plan of a record of any version; its certificate is computed again, and has to agree."""
    from pbdp.planning.older_files import as_written_now

    with _refused_if_broken(name):
        known = record if _is_current(record) else as_written_now(record, name)
        if not isinstance(known, dict) or known.get("format") != FORMAT:
            raise PlanFileError(name, "a plan", kind_of_record(known), _HOW)
        version = known.get("version")
        if version not in (1, VERSION) or isinstance(version, bool):
            later = isinstance(version, int) and version > VERSION
            raise PlanFileError(
                f"version of {name}",
                f"{VERSION}",
                version,
                "It was made by a later pbdp; upgrade." if later else "Make the plan again.",
            )
        return _joint(known) if "parts" in known else _single(known)


def _is_current(record: object) -> bool:
    return isinstance(record, dict) and (record.get("format"), record.get("version")) == (FORMAT, VERSION)


@contextmanager
def _refused_if_broken(name: str) -> Iterator[None]:
    """Whatever a record that no plan was made with leads to becomes a `PlanFileError` about `name`."""
    try:
        yield
    except PlanFileError:
        raise
    except PbdpError as error:
        raise PlanFileError(
            name, "a valid plan", "one that is not", f"{error} Make the plan again."
        ) from None
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, AssertionError, MemoryError):
        raise PlanFileError(
            name, "a complete plan", "one with missing or broken fields", "Make the plan again."
        ) from None


def _single(record: Record) -> Plan:
    requirement = requirement_from_record(record)
    chosen = _checked(requirement, {**record["mechanism"], "epsilon": record["epsilon"]})
    plan = plan_of(requirement, chosen)
    _check_part(plan.only, record)
    claims, shown = record["compared"], record.get("alternatives")
    if not isinstance(claims, list) or not isinstance(shown, list | None):
        raise TypeError("not a list")
    return replace(
        plan,
        compared=partial(_compared, requirement, claims, shown),
        proved=partial(_proved_again, record["limit"]),
    )


def _joint(record: Record) -> Plan:
    """Several parts; the epsilon of all of them is composed again."""
    from pbdp.planning.together.joint import joint_plan

    common = {name: record[name] for name in ("delta", "rdp_order", "neighbors")}
    parts = []
    for claim in record["parts"]:
        requirement = requirement_from_record({**claim, **common})
        design = design_from_record(claim["mechanism"], requirement)
        parts.append((claim["name"], requirement, design))
    # a plan is certified by the argument that it names
    split = record["certificate"]["method"] == SPLIT
    plan = joint_plan(parts, missing=_number(record["missing"]), split=split)
    for part, claim in zip(plan.parts, record["parts"], strict=True):
        _check_part(part, claim)
    _same("epsilon", plan.epsilon, record["epsilon"])
    _same("epsilon_lower", plan.certificate.epsilon_lower, record["certificate"]["epsilon_lower"])
    if record["certificate"]["method"] != plan.certificate.method:
        method = record["certificate"]["method"]
        raise PlanFileError("method of the plan", repr(plan.certificate.method), repr(method), EDITED)
    return plan


def _checked(requirement: Requirement, claim: Record) -> Certified:
    """The design of a record with its certificate; the epsilon that it claims has to be the one found."""
    entry = certified(requirement, design_from_record(claim, requirement))
    if entry is None:
        raise PlanFileError(
            "confidence of the plan", f"at least {percent_down(requirement.confidence)}", "less", EDITED
        )
    _same("epsilon of the plan", entry.certificate.epsilon, claim["epsilon"])
    return entry


def _check_part(part: Part, claim: Record) -> None:
    """The public fields say the same as what was found."""
    _same("confidence of the plan", part.confidence, claim["confidence"])
    for name, actual in (("step", part.design.output_grid.step), ("within", width_record(part.requirement))):
        if name in claim and claim[name] != actual:
            raise PlanFileError(name, f"{actual}, as the mechanism has", claim[name], EDITED)


def _compared(
    requirement: Requirement, claims: list[Record], shown: list[Record] | None
) -> tuple[Certified, ...]:
    """What the plan was compared with; the figures that are shown of it have to be those that were found."""
    with _refused_if_broken("what the plan was compared with"):
        found = tuple(_checked(requirement, claim) for claim in claims)
        if shown is None:
            return found
        # figures as published, which guarantee nothing, stood there too
        guaranteed = [claim for claim in shown if claim["guaranteed"] is not False]
        if [claim["family"] for claim in guaranteed] != [entry.design.name for entry in found]:
            raise PlanFileError("alternatives", "those that were compared", "others", EDITED)
        for entry, claim in zip(found, guaranteed, strict=True):
            _same(f"epsilon of {entry.design.name}", entry.certificate.epsilon, claim["epsilon"])
            _same(f"confidence of {entry.design.name}", entry.certificate.confidence, claim["confidence"])
        return found


def _proved_again(claim: Record | None, plan: Plan) -> KnownLimit | None:
    """The limit of a file: its proof is checked, nothing is searched for.

    Files of before hold no proof. What can be proved is found again and the smaller of the two is shown, as
    how far a search came depended on the machine; that a plan beats its own limit cannot be.
    """
    if claim is None:
        return None
    with _refused_if_broken("limit"):
        claimed = _number(claim["epsilon"])
        if not 0 <= claimed <= plan.epsilon * (1 + SAME):
            raise PlanFileError("limit", f"0 to the plan's {plan.epsilon:.9g}", f"{claimed:.9g}", EDITED)
        if claim.get("proof") is not None:
            from pbdp.planning.limit.of_plan import limit_from_record

            return limit_from_record(claim, plan.requirement)
        found = proved_limit(plan)
        return None if found is None else replace(found, epsilon=min(found.epsilon, claimed))


def _same(name: str, actual: float, claimed: Any) -> None:
    """Refuse a figure that is not the one that was computed, but for the last digits."""
    if not math.isclose(actual, _number(claimed), rel_tol=SAME):
        raise PlanFileError(name, f"{actual:.9g}, as the accounting gives", f"{claimed:.9g}", EDITED)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    return float(value)
