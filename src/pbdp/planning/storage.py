"""Plans as versioned JSON. A plan that is read is checked, not believed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pbdp.errors import InputError, PbdpError, PlanFileError
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed import FixedRegion
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.log_grid import LogGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_from_record
from pbdp.noise.family import kernel_from, kernel_record
from pbdp.planning.limit.of_plan import limit_of
from pbdp.planning.plan import Certified, Plan
from pbdp.planning.planner import certified
from pbdp.spelling import read_now

FORMAT = "pbdp-plan"
VERSION = 1
# Two machines may differ in the last digits of a certificate; a loaded plan then takes the larger figure.
SAME = 1e-9

Record = dict[str, Any]


def plan_record(plan: Plan) -> Record:
    """The plan as one JSON object: the public fields first, then what is needed to check it."""
    requirement, certificate = plan.requirement, plan.chosen.certificate
    return {
        "format": FORMAT,
        "version": VERSION,
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "rdp_order": plan.rdp_order,
        "confidence": plan.confidence,
        "within": _within(plan),
        "sensitivity": requirement.sensitivity,
        "releases": requirement.releases,
        "step": plan.grid.step,
        "mechanism": design_record(plan.chosen.design),
        "alternatives": [
            {"family": a.family, "epsilon": a.epsilon, "confidence": a.confidence, "guaranteed": a.guaranteed}
            for a in plan.alternatives
        ],
        "limit": None if plan.limit is None else {"epsilon": plan.limit.epsilon, "kind": plan.limit.kind},
        "published_epsilon": plan.published,
        "neighbors": requirement.neighbors,
        "requirement": requirement_record(requirement),
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


def save_plan(plan: Plan, path: Path) -> None:
    """Write a plan."""
    plan.requirement.region.check_record("to be saved")
    try:
        path.write_text(json.dumps(plan_record(plan), indent=2, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError("plan file", "a path that can be written", path, str(error.strerror)) from None


def load_plan(path: Path, neighbors: str | None = None) -> Plan:
    """Read a plan, compute every certificate in it again, and refuse it if a claim no longer holds."""
    record = _read(path)
    with refused_if_broken(str(path)):
        plan = _rebuilt(record)
    if neighbors is not None and plan.requirement.neighbors != neighbors:
        raise PlanFileError(
            "plan",
            f"for {neighbors} neighbors",
            plan.requirement.neighbors,
            "A guarantee for one relation says nothing about the other; make a plan for yours.",
        )
    return plan


@contextmanager
def refused_if_broken(name: str) -> Iterator[None]:
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


def read_json(path: Path, remedy: str) -> Any:
    """The JSON of a plan file, whatever it holds."""
    try:
        return read_now(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise PlanFileError("plan file", "readable", path, f"{error.strerror}.") from None
    except (ValueError, RecursionError):
        raise PlanFileError(str(path), "a plan in JSON", "something else", remedy) from None


def _read(path: Path) -> Record:
    record = read_json(path, "Make it with `pbdp plan -o FILE`.")
    if isinstance(record, dict) and record.get("format") == "pbdp-vector-plan":
        raise PlanFileError(
            str(path),
            "a plan for single numbers",
            "one for vectors",
            "Release it in Python: VectorPlan.load(FILE).release(vector).",
        )
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise PlanFileError(str(path), "a pbdp plan", "other JSON", "Make it with `pbdp plan -o FILE`.")
    version = record.get("version")
    if version != VERSION:
        later = isinstance(version, int) and version > VERSION
        raise PlanFileError(
            f"version of {path}",
            f"{VERSION}",
            version,
            "It was made by a later pbdp; upgrade." if later else "Make the plan again.",
        )
    return record


def _rebuilt(record: Record) -> Plan:
    requirement = requirement_from_record(record)

    def checked(claim: Record) -> Certified:
        entry = certified(requirement, design_from_record(claim, requirement))
        if entry is None:
            raise PlanFileError(
                "confidence of the plan",
                f"at least {requirement.confidence:g}",
                "less",
                "The file was edited, or is damaged; make the plan again.",
            )
        actual = entry.certificate.epsilon
        if not math.isclose(actual, claim["epsilon"], rel_tol=SAME):
            raise PlanFileError(
                "epsilon of the plan",
                f"{actual:.9g}, as the accounting gives",
                f"{claim['epsilon']:.9g}",
                "The file was edited, or is damaged; make the plan again.",
            )
        return entry

    chosen = checked({**record["mechanism"], "epsilon": record["epsilon"]})
    if not math.isclose(
        requirement.joint_confidence(chosen.certificate.confidence), record["confidence"], rel_tol=SAME
    ):
        raise PlanFileError(
            "confidence of the plan",
            f"{chosen.certificate.confidence:.9g}, as the table gives",
            f"{record['confidence']:.9g}",
            "The file was edited, or is damaged; make the plan again.",
        )
    plan = Plan(
        requirement=requirement,
        chosen=chosen,
        others=tuple(checked(claim) for claim in record["compared"]),
    )
    if record["limit"] is not None:
        plan = replace(plan, limit=limit_of(requirement, plan.epsilon))
        if plan.limit is None or not math.isclose(
            plan.limit.epsilon, record["limit"]["epsilon"], rel_tol=SAME
        ):
            raise PlanFileError("limit", "the one that is proved", "another", "Make the plan again.")
    if record["step"] != plan.grid.step:
        raise PlanFileError(
            "step", f"{plan.grid.step:g}, as the grid has", record["step"], "Make the plan again."
        )
    if record["within"] != _within(plan):
        raise PlanFileError(
            "within", f"{plan.within} for this region", record["within"], "Make the plan again."
        )
    return plan


def _end(offset: float) -> float | None:
    """How far a region reaches; JSON has no infinity, so null stands for a side that is open."""
    return None if math.isinf(offset) else offset


def _within(plan: Plan) -> object:
    return [_end(offset) for offset in plan.within] if isinstance(plan.within, list) else plan.within


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("not a flag")
    return value


def requirement_record(requirement: Requirement) -> Record:
    """What is asked of one number as JSON; the public fields of the plan stand beside it."""
    return {
        "region": requirement.region.record(),
        "confidence": requirement.confidence,
        "simultaneous": requirement.simultaneous,
        "integer": requirement.integer,
        "step": requirement.step,
        "scale": requirement.scale,
        "bounds": None if requirement.bounds is None else list(requirement.bounds.answers),
    }


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
    )


def design_record(design: Design) -> Record:
    """A design as JSON."""
    return {
        "family": design.name,
        "boost": design.boost,
        **kernel_record(design.kernel),
        "region_in_steps": design.region.record(),
        "offset_in_steps": design.offset,
        "clamp": design.clamp,
        "grid": _grid_record(design.grid),
    }


def design_from_record(record: Record, requirement: Requirement) -> Design:
    """The design of a record, refused if it is not one that the requirement may have."""
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
            "region of the mechanism",
            "the one that the requirement asks for",
            region.describe(),
            "The file was edited, or is damaged; make the plan again.",
        )
    design = Design(
        grid=grid,
        kernel=kernel_from(record["kernel"], record["parameters_in_steps"]),
        region=region,
        boost=record["boost"],
        offset=record["offset_in_steps"],
        clamp=clamp,
    )
    if record["family"] != design.name:
        raise PlanFileError("family", design.name, record["family"], "Make the plan again.")
    return design


def _grid_record(grid: Grid) -> Record:
    kind = {LinearGrid: "linear", LogGrid: "log"}[type(grid)]
    return {"kind": kind} | {field.name: getattr(grid, field.name) for field in fields(grid)}  # type: ignore[arg-type]


def _grid(record: Record, requirement: Requirement) -> Grid:
    """A grid that the requirement allows; a relative requirement's own figures are checked by the grid."""
    values = {name: value for name, value in record.items() if name != "kind"}
    if record["kind"] == "log":
        log = LogGrid(**values)
        if _flag(log.whole) is not requirement.integer:
            raise PlanFileError(
                "grid", "whole exactly for whole answers", log.describe(), "Make the plan again."
            )
        return log
    grid = LinearGrid(**values)
    asked = 1 if requirement.integer else requirement.step
    if _flag(grid.rounded) is requirement.integer or asked not in {None, grid.step}:
        raise PlanFileError(
            "grid", "the one that the requirement asks for", grid.describe(), "Make the plan again."
        )
    return grid
