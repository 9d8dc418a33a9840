"""Plans in words: what they promise and cost, and what they were compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbdp.digits import (
    NO_LOSS,
    epsilon_text,
    percent_down,
    rounded_down,
    rounded_up,
)
from pbdp.report.text import columns, facts
from pbdp.report.words.releases import loss_words

if TYPE_CHECKING:
    from pbdp.planning.plan import Part, Plan

# A ratio to the limit from which it is shown as a multiple.
FAR = 1.5
# Other certified noise laws that are listed.
SHOWN = 8

Facts = list[tuple[str, str]]


def plan_words(plan: Plan, *, explain: bool = False) -> str:
    """A plan as a short table; to `explain` adds the other noise, and several parts have a row each."""
    if plan.is_joint:
        return _joint_words(plan)
    requirement, coordinates = plan.requirement, plan.requirement.coordinates
    loss = loss_words(plan.epsilon, plan.delta, plan.rdp_order, requirement.releases)
    changed = "the answer" if coordinates is None else coordinates.change
    person = f"one person changes {changed} by at most {requirement.sensitivity:g}"
    lines: Facts = [
        ("Requirement", f"{requirement.describe()}, {percent_down(requirement.confidence)} of the time"),
        ("Privacy", f"{loss}   (certified)"),
        ("", plan.risk_words()),
        *_limit(plan),
        *_remarks(plan),
        ("Confidence", f"{percent_down(plan.confidence)} for every true answer"),
        ("Noise", _noise(plan.only)),
        ("Neighbors", f"{plan.neighbors}; {person}"),
        ("Proof", plan.certificate.method),
    ]
    if coordinates is not None:
        lines.append(("Assumes", " ".join(plan.assumptions)))
    else:
        lines += _reserve(plan)
    return f"{facts(lines)}\n{_compared(plan) if explain else ''}"


def _compared(plan: Plan) -> str:
    rows = [["", "noise", "epsilon", "confidence"]]
    rows.append(["*", plan.mechanism.name, _listed(plan.epsilon), percent_down(plan.confidence)])
    rows += [
        ["", other.family, _listed(other.epsilon), percent_down(other.confidence)]
        for other in plan.alternatives[:SHOWN]
    ]
    if len(plan.alternatives) > SHOWN:
        rows.append(["", f"({len(plan.alternatives) - SHOWN} more with --json)", "", ""])
    return f"\nCompared:\n{columns(rows, right=(2, 3))}\n"


def _listed(epsilon: float) -> str:
    """A loss in a row of the comparison."""
    return "next to 0" if epsilon <= NO_LOSS else epsilon_text(epsilon)


def _joint_words(plan: Plan) -> str:
    loss = loss_words(plan.epsilon, plan.delta, releases=plan.releases)
    lines: Facts = [
        ("Privacy", f"{loss}   (certified)"),
        ("", f"all parts together: {plan.risk_words()}"),
        *_remarks(plan),
        ("Proof", plan.certificate.method),
    ]
    lines += _reserve(plan)
    rows = [["", "requirement", "confidence", "noise"]]
    rows += [
        [part.name, part.requirement.describe(), percent_down(part.confidence), part.design.name]
        for part in plan.parts
    ]
    return f"{facts(lines)}\n\n{columns(rows, right=(2,))}\n"


def _reserve(plan: Plan) -> Facts:
    """What a budget must set aside for the plan, where that is more than usual."""
    from pbdp.planning.assumptions import reserve_words

    words = reserve_words(plan)
    return [] if words is None else [("Needs", words)]


def _remarks(plan: Plan) -> Facts:
    """What a reader would ask: why there is no loss to speak of, and what a step of one's own costs."""
    from pbdp.report.explanation import remarks

    return [("Note", remark) for remark in remarks(plan)]


def _limit(plan: Plan) -> Facts:
    """How far the plan is from what nothing can go below, where that is known."""
    if plan.limit is None or not plan.limit.epsilon > 0:
        return []
    ratio = plan.epsilon / plan.limit.epsilon
    above = (
        f"{rounded_up(100 * (ratio - 1), 2)} % above it"
        if ratio < FAR
        else f"{rounded_up(ratio, 3)} times that"
    )
    least = f"epsilon {rounded_down(plan.limit.epsilon)}: no {plan.limit.subject} can do better"
    return [("Limit", f"{least}; this plan is {above}")]


def published_words(plan: Plan) -> list[str]:
    """What the paper's own formulas give the boosted laws among those compared; they guarantee nothing.

    Nothing where the paper's reproduction is not installed.
    """
    from importlib import import_module

    from pbdp.mechanism.design import Design

    try:
        published_figures = import_module("reproduction.published.figure").published_figures
    except ModuleNotFoundError:
        return []
    laws = [entry.design for entry in (plan.chosen, *plan.others)]
    figures = published_figures(plan.requirement, [law for law in laws if isinstance(law, Design)])
    return [
        f"{figure.design.name}, as published: epsilon {epsilon_text(figure.epsilon)}. That is not a "
        "guarantee."
        for figure in figures
    ]


def _noise(part: Part) -> str:
    """The noise, with its parameters in the user's units (in steps on a logarithmic grid)."""
    from pbdp.mechanism.design import Design
    from pbdp.mechanism.grid import LinearGrid
    from pbdp.noise.family import known_families

    design = part.design
    if not isinstance(design, Design):
        return part.describe()
    record = design.record()
    parameters: dict[str, Any] = record["parameters_in_steps"]
    lengths = known_families()[record["kernel"]].lengths
    linear = isinstance(design.grid, LinearGrid)
    step = design.grid.step if linear else 1.0
    parts = [
        f"{name} {value * step if name in lengths else value:.6g}"
        for name, value in parameters.items()
        if isinstance(value, int | float) and name != "start"
    ]
    if "probabilities" in parameters:
        parts.append(f"a table of {len(parameters['probabilities'])} values")
    if 0 < design.boost < 1:
        parts.append(f"boost {design.boost:.4g}")
    if design.offset:
        parts.append(f"centered {design.offset * step:+.4g} from the answer")
    if design.decoder is not None:
        outputs = design.decoder.outputs
        constant = f"always published as {outputs[0] * step:.6g}"
        parts.append(constant if design.decoder.is_constant else f"a decoder with {len(outputs)} entries")
    return f"{part.describe()}: {', '.join(parts)}{'' if linear else ' (in steps)'}"
