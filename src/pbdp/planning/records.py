"""Regions, requirements and designs as JSON records, and back. What is read is checked, not believed.

**Fingerprints are made of these records** (`pricing.priced`), with those of regions, kernels, decoders and
vector designs in them, and stand in ledgers and manifests for ever. So a record never changes for a plan that
could be made before: a new field is left out where it has the value that it had before there was one, as
`change_norm`, `rounded_up`, `down` and `whole` are. What only the file needs goes into `store`, beside them.
`tests/planning/test_pricing.py` has what a fingerprint covers written out, and `tests/frozen` older ones.
"""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import Any

from pbdp.errors import PlanFileError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.coordinates import Coordinates
from pbdp.mechanism.decoder import Decoder
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.fixed import FixedRegion
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.log_grid import LogGrid
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import kernel_from, kernel_record
from pbdp.planning.vectors.design import VectorDesign

Record = dict[str, Any]

EDITED = "The file was edited, or is damaged; make the plan again."


def _end(offset: float) -> float | None:
    """How far a region reaches; JSON has no infinity, so null stands for a side that is open."""
    return None if math.isinf(offset) else offset


def width_record(requirement: Requirement) -> object:
    """The width as it was asked for."""
    width = requirement.region.within
    return [_end(offset) for offset in width] if isinstance(width, list) else width


_REGIONS = {region.kind: region.from_record for region in (AbsoluteRegion, RelativeRegion, FixedRegion)}


def region_from_record(record: Record) -> Region:
    """The region of `Region.record()`."""
    kind = record["kind"]
    if kind not in tuple(_REGIONS):
        raise PlanFileError("region", "absolute, relative or fixed", kind, "Make the plan again.")
    return _REGIONS[kind](record)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("not a flag")
    return value


def requirement_record(requirement: Requirement) -> Record:
    """What is asked as JSON; the public fields of the plan stand beside it. Part of its fingerprint."""
    record: Record = {
        "region": requirement.region.record(),
        "confidence": requirement.confidence,
        "simultaneous": requirement.simultaneous,
        "integer": requirement.integer,
        "step": requirement.step,
        "scale": requirement.scale,
        "bounds": None if requirement.bounds is None else list(requirement.bounds.answers),
    }
    if requirement.coordinates is not None:
        record["coordinates"] = {
            name: value
            for name, value in asdict(requirement.coordinates).items()
            # left out as before, where one norm measures both errors and changes
            if name != "change_norm" or value is not None
        }
    return record


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


def design_record(design: AnyDesign) -> Record:
    """A design as JSON. Part of a plan's fingerprint."""
    if isinstance(design, VectorDesign):
        return {"family": design.name, **design.record()}
    if not isinstance(design, Design):
        raise AssertionError("a design is for numbers or for vectors")
    record = {
        "family": design.name,
        "boost": design.boost,
        **kernel_record(design.kernel),
        "region_in_steps": design.region.record(),
        "offset_in_steps": design.offset,
        "clamp": design.clamp,
        "grid": _grid_record(design.grid),
    }
    if design.rounded_up:
        record["rounded_up"] = True
    return record if design.decoder is None else {**record, "decoder": design.decoder.record()}


def design_from_record(record: Record, requirement: Requirement) -> AnyDesign:
    """The design of a record, refused if it is not one that the requirement may have."""
    design: AnyDesign | None
    if not requirement.is_one_by_one and "grid" not in record:
        from pbdp.planning.vectors.norms import read_vector_design

        design = read_vector_design(record, requirement)
        if design is None:
            norm = requirement.coordinates and requirement.coordinates.norm
            raise PlanFileError("mechanism", f"one for the norm {norm}", record["kernel"], EDITED)
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
    if isinstance(grid, LinearGrid) and not grid.is_fine and not _publishes_one(decoder, grid):
        raise PlanFileError("grid", "one whose multiples are exact", grid.describe(), EDITED)
    return Design(
        grid=grid,
        kernel=kernel_from(record["kernel"], record["parameters_in_steps"]),
        region=region,
        boost=record["boost"],
        offset=record["offset_in_steps"],
        clamp=clamp,
        decoder=decoder,
        rounded_up=_flag(record.get("rounded_up", False)),
    )


def _serves(decoder: Decoder, requirement: Requirement, grid: Grid) -> bool:
    """Whether a decoder is for all answers of a requirement, and publishes nothing outside its range."""
    ends = [None if math.isinf(end) else int(end) for end in requirement.answers_on(grid)]
    low, high = (limit / grid.step for limit in requirement.output_limits(grid))
    return [decoder.first, decoder.last] == ends and low <= decoder.outputs[0] <= decoder.outputs[-1] <= high


def _publishes_one(decoder: Decoder | None, grid: LinearGrid) -> bool:
    """Whether all that is published is one multiple of the step, which is exact."""
    return decoder is not None and decoder.is_constant and grid.is_exact_at(decoder.outputs[0])


def _grid_record(grid: Grid) -> Record:
    kind = {LinearGrid: "linear", LogGrid: "log"}[type(grid)]
    names = [field.name for field in fields(grid) if field.init]  # type: ignore[arg-type]
    record = {"kind": kind} | {name: getattr(grid, name) for name in names}
    # left out as before, where answers are rounded to the nearest, and whole ones are taken as they are
    left_out = {"down", "whole"} if kind == "linear" else set()
    return {name: value for name, value in record.items() if name not in left_out or value}


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
    whole = requirement.integer and _flag(grid.rounded)
    asked = 1 if requirement.integer and not whole else requirement.step
    marks = _flag(grid.rounded), _flag(grid.whole), _flag(grid.down) and not requirement.lies_flush(grid.step)
    if marks != (whole or not requirement.integer, whole, False) or asked not in {None, grid.step}:
        raise PlanFileError(
            "grid", "the one that the requirement asks for", grid.describe(), "Make the plan again."
        )
    return grid
