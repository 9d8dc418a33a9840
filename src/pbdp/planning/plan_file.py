"""Plan files: versioned JSON, one object for every plan. What is read is checked, not believed.

What will be drawn is certified again when it is read.

**Fingerprints are made of the records in it** (`pricing.priced`): those of requirements and designs, with the
regions, kernels, decoders and grids in them, and stand in ledgers and manifests for ever. What only the file
needs stands here, beside them. `tests/planning/test_pricing.py` has what a fingerprint covers written out.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from pbdp.digits import percent_down
from pbdp.errors import PlanFileError
from pbdp.json_records import (
    EDITED,
    VERSION,
    broken_refused,
    check_claims,
    file_content,
    number_in,
    of_format,
    record_in,
    write,
)
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.coordinates import Coordinates
from pbdp.mechanism.decoder import Decoder
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.log_grid import LogGrid
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import kernel_from
from pbdp.planning.certificate import certified
from pbdp.planning.plan import Part, Plan, plan_of

Record = dict[str, Any]

FORMAT = "pbdp-plan"


# ----------------------------------------------------------------------------- writing


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
    return file_content(plan_record(plan)).decode()


def save_plan(plan: Plan, path: str | Path) -> None:
    """Write a plan."""
    write("plan file", path, file_content(plan_record(plan)))


# ----------------------------------------------------------------------------- reading


def load_plan(path: str | Path, neighbors: str | None = None) -> Plan:
    """Read a plan and check it; refused if it is for another relation than the one relied on."""
    plan = plan_from_record(record_in("plan file", path, FORMAT), str(path))
    if neighbors is not None and plan.neighbors != Neighbors(neighbors):
        raise PlanFileError(
            "plan",
            f"for {neighbors} neighbors",
            plan.neighbors,
            "A guarantee for one relation says nothing about the other; make a plan for yours.",
        )
    return plan


def plan_from_record(record: object, name: str = "record") -> Plan:
    """The plan of a record; its certificate is computed again, and has to agree."""
    given = dict(of_format(record, FORMAT, name))
    with broken_refused(name):
        plan = _joint(given) if "parts" in given else _single(given)
        check_claims(plan_record(plan), given, "plan")
        return plan


def _single(record: Record) -> Plan:
    requirement = requirement_from_record(record)
    entry = certified(requirement, design_from_record(record["mechanism"], requirement))
    if entry is None:
        asked = f"at least {percent_down(requirement.confidence)}"
        raise PlanFileError("confidence of the plan", asked, "less", EDITED)
    return plan_of(requirement, entry)


def _joint(record: Record) -> Plan:
    """Several parts; the epsilon of all of them is composed again."""
    from pbdp.planning.together.joint import joint_plan

    common = {name: record[name] for name in ("delta", "rdp_order", "neighbors")}
    parts = []
    for claim in record["parts"]:
        requirement = requirement_from_record({**claim, **common})
        design = design_from_record(claim["mechanism"], requirement)
        parts.append((claim["name"], requirement, design))
    return joint_plan(parts, missing=number_in(record["missing"]))


# ----------------------------------------------------------------------------- requirements and designs


_REGIONS = {region.kind: region.from_record for region in (AbsoluteRegion, RelativeRegion, FixedRegion)}


def region_from_record(record: Record) -> Region:
    """The region of `Region.record()`."""
    kind = record["kind"]
    if kind not in tuple(_REGIONS):
        raise PlanFileError("region", "absolute, relative or fixed", kind, "Make the plan again.")
    return _REGIONS[kind](record)


def requirement_from_record(record: Record) -> Requirement:
    """The requirement of a plan's record: its own part and the public fields beside it."""
    asked = record["requirement"]
    return Requirement(
        region=region_from_record(asked["region"]),
        confidence=asked["confidence"],
        sensitivity=record["sensitivity"],
        delta=record["delta"],
        rdp_order=record["rdp_order"],
        releases=record["releases"],
        simultaneous=_flag(asked["simultaneous"]),
        neighbors=record["neighbors"],
        integer=_flag(asked["integer"]),
        step=asked["step"],
        scale=asked["scale"],
        bounds=None
        if asked["bounds"] is None
        else FixedRegion(low=asked["bounds"][0], high=asked["bounds"][1]),
        coordinates=Coordinates(**asked["coordinates"]) if "coordinates" in asked else None,
    )


def design_from_record(record: Record, requirement: Requirement) -> AnyDesign:
    """The design of a record, refused if it is not one that the requirement may have."""
    design: AnyDesign | None
    if not requirement.is_one_by_one and "grid" not in record:
        from pbdp.planning.vectors.product_laplace import read_product

        design = read_product(record, requirement)
        if design is None:
            norm = requirement.coordinates and requirement.coordinates.norm
            raise PlanFileError("mechanism", f"one for the norm {norm}", record["kernel"], EDITED)
    elif "weights" in record:
        from pbdp.planning.answer_laws import read_answer_laws

        design = read_answer_laws(record)
    else:
        design = _design(record, requirement.each)
    if record["family"] != design.name:
        raise PlanFileError("family", design.name, record["family"], EDITED)
    return design


def _design(record: Record, requirement: Requirement) -> Design:
    region = region_from_record(record["region_in_steps"])
    clamp = _flag(record["clamp"])
    if not isinstance(record["offset_in_steps"], int):
        raise TypeError("an offset is a whole number")
    grid = _grid(record["grid"], requirement)
    # the least confidence is looked for where it is known to be for these two kinds of region only
    moves_along = region.follows_answer and not clamp
    if not moves_along and (region, record["offset_in_steps"]) != (
        grid.region_in_steps(requirement.region),
        0,
    ):
        raise PlanFileError(
            "region of the mechanism", "the one that the requirement asks for", region.describe(), EDITED
        )
    decoder = Decoder.from_record(record["decoder"]) if "decoder" in record else None
    if decoder is not None and not _serves(decoder, requirement, grid):
        raise PlanFileError("decoder", "one for the answers that the plan serves", "another", EDITED)
    return Design(
        grid=grid,
        kernel=kernel_from(record["kernel"], record["parameters_in_steps"]),
        region=region,
        boost=record["boost"],
        offset=record["offset_in_steps"],
        clamp=clamp,
        decoder=decoder,
    )


def _serves(decoder: Decoder, requirement: Requirement, grid: Grid) -> bool:
    """Whether a decoder is for all answers of a requirement, and publishes nothing outside its range."""
    ends = [None if math.isinf(end) else int(end) for end in requirement.answers_on(grid)]
    low, high = (limit / grid.step for limit in requirement.output_limits(grid))
    return [decoder.first, decoder.last] == ends and low <= decoder.outputs[0] <= decoder.outputs[-1] <= high


def _grid(record: Record, requirement: Requirement) -> Grid:
    """A grid that the requirement allows; a relative requirement's own figures are checked by the grid."""
    if record["kind"] == "log":
        log = LogGrid(**{name: record[name] for name in ("theta", "tau", "nonnegative", "step", "whole")})
        if _flag(log.whole) is not requirement.integer:
            raise PlanFileError(
                "grid", "whole exactly for whole answers", log.describe(), "Make the plan again."
            )
        return log
    grid = LinearGrid(**{name: record[name] for name in ("step", "rounded", "down", "whole")})
    whole = requirement.integer and _flag(grid.rounded)
    if requirement.step not in {None, grid.step}:
        raise PlanFileError("step", f"{grid.step:g}, as the grid's", requirement.step, "Make the plan again.")
    asked = 1 if requirement.integer and not whole else requirement.step
    marks = _flag(grid.rounded), _flag(grid.whole), _flag(grid.down) and not requirement.lies_flush(grid.step)
    if marks != (whole or not requirement.integer, whole, False) or asked not in {None, grid.step}:
        raise PlanFileError(
            "grid", "the one that the requirement asks for", grid.describe(), "Make the plan again."
        )
    return grid


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("not a flag")
    return value
