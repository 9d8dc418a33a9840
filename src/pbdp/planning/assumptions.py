"""What the guarantee of a plan rests on: neighbors, sensitivity, releases, rounding, what answers must be."""

from __future__ import annotations

import math

from pbdp.accounting import RESERVE
from pbdp.digits import delta_text, rounded_up
from pbdp.mechanism.coordinates import NORMS
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import ProvenDesign, unhidden
from pbdp.planning.plan import Part, Plan


def reserve_words(plan: Plan) -> str | None:
    """What a budget needs to pay for noise that ends; None where the reserve that is usual covers it."""
    needed = math.fsum(unhidden(part.requirement, part.design) for part in plan.parts)
    if plan.delta is None or needed <= RESERVE * plan.delta:
        return None
    return (
        f"A neighbor can never produce some of the outputs, which have probability {rounded_up(needed)}. A "
        f"budget pays for it from its reserve, {100 * RESERVE:g} % of its delta unless told otherwise: its "
        f"delta must be at least {rounded_up(needed / RESERVE)}, or its reserve larger."
    )


def assumptions_of(plan: Plan) -> tuple[str, ...]:
    """Neighbors and sensitivity, releases, rounding, and what the true answers must be."""
    lines: list[str] = []
    for part in plan.parts:
        own = _of_vector(part) if part.requirement.coordinates is not None else _of_number(part)
        lines += [f"{part.name}: {line}" for line in own] if plan.is_joint else own
    if plan.missing:
        lines.append(
            f"{delta_text(plan.missing)} of delta is set aside for outputs that a neighbor can never produce."
        )
    if (needs := reserve_words(plan)) is not None:
        lines.append(needs)
    if plan.rdp_order is not None:
        lines.append(
            "The Rényi figure is for the law before it is rounded to a table of whole weights; a table "
            f"adds (1 + e^epsilon) · {rounded_up(plan.certificate.table_error, 1)} to delta on conversion."
        )
    return tuple(lines)


def _of_number(part: Part) -> list[str]:
    requirement, grid = part.requirement, part.design.grid
    steps = grid.sensitivity_in_steps(requirement.sensitivity)
    lines = [
        f"Neighbors: {Neighbors(requirement.neighbors).description}; that changes the true answer by at most "
        f"{requirement.sensitivity:g} ({steps} step{'s' if steps > 1 else ''} of the grid).",
        _releases_in_words(requirement),
        f"Outputs are {grid.describe()}; rounding the answer to them is part of the guarantee.",
    ]
    return [*lines, *requirement.assumptions]


def _of_vector(part: Part) -> list[str]:
    asked, coordinates = part.requirement, part.requirement.coordinates
    if coordinates is None:
        raise AssertionError("a vector has coordinates")
    norm = coordinates.changed_in
    changed = "each coordinate of the true answer" if norm == "linf" else "the true answer"
    how = "" if norm == "linf" else f" {NORMS[norm]}"
    lines = [
        f"Neighbors: {Neighbors(asked.neighbors).description}; that changes {changed} by at most "
        f"{asked.sensitivity:g}{how}.",
        f"One vector of {asked.dimensions} number{'s' if asked.dimensions > 1 else ''} is released; more "
        "releases add to the loss.",
    ]
    if isinstance(part.design, ProvenDesign):
        return [*lines, *part.design.assumptions(asked)]
    return [
        *lines,
        f"One person changes at most {asked.touched} of {asked.dimensions} coordinates.",
        f"Outputs are {part.design.grid.describe()}; rounding the answer to them is part of the guarantee.",
    ]


def _releases_in_words(requirement: Requirement) -> str:
    if requirement.releases == 1:
        return "One number is released; more releases add to the loss."
    joint = "; the confidence is joint for all of them" if requirement.simultaneous else ""
    return (
        f"{requirement.releases} numbers are released that one person may affect, planned in advance; "
        f"epsilon is the total for all{joint}."
    )
