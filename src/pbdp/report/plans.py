"""What a plan says: how near, at what loss, with which noise; why, and what to know before using it."""

from __future__ import annotations

from typing import Any

from pbdp.digits import rounded_up
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.noise.family import known_families
from pbdp.planning.assumptions import reserve_words
from pbdp.planning.plan import Part, Plan
from pbdp.report.explanation import explanation, published, remarks
from pbdp.report.statement import Caution, Fact, Rows, Statement, literal, statement

# A ratio to the limit from which it is shown as a multiple.
FAR = 1.5
# Other certified noise laws that are listed.
SHOWN = 8
RISK = "An attacker who starts at 50 : 50 on {question} guesses {risk} of the time."


@statement.register
def plan_statement(plan: Plan, *, explain: bool = False) -> Statement:
    """A plan's statement; to `explain` finds the other noise and the limit of any law."""
    if plan.is_joint:
        return _joint(plan)
    asked = plan.requirement
    facts = (
        Fact(name="asked", label="Requirement", value=asked.describe()),
        Fact(name="confidence", label="Confidence", value=plan.confidence, unit="%", safe="down"),
        *_loss(plan),
        *_limit(plan),
        Fact(name="noise", label="Noise", value=plan.mechanism.name, note=_parameters(plan.only)),
        Fact(name="neighbors", label="Neighbors", value=str(plan.neighbors), note=_person(plan)),
        Fact(name="proof", label="Proof", value=plan.certificate.method),
        *_assumed(plan),
    )
    limit = " (limit {limit})" if plan.limit is not None and plan.limit.epsilon > 0 else ""
    reasons = [*explanation(plan, in_seconds=True), *published(plan)] if explain and _explained(plan) else ()
    return Statement(
        kind="plan",
        headline=f"ε {{epsilon}}{limit} at {{at}}{_total(plan)} · {{asked}}, {{confidence}} · {{noise}}",
        sentences=(RISK,),
        facts=facts,
        warnings=plan_warnings(plan),
        rows=(_compared(plan),) if explain else (),
        reasons=tuple(map(literal, reasons)),
    )


def _explained(plan: Plan) -> bool:
    return plan.requirement.is_one_by_one


def _joint(plan: Plan) -> Statement:
    return Statement(
        kind="plan",
        headline=f"ε {{epsilon}} at {{at}}{_total(plan)} · {{count}} requirements together",
        sentences=(RISK,),
        facts=(
            Fact(name="count", value=len(plan.parts)),
            *_loss(plan),
            Fact(name="neighbors", label="Neighbors", value=str(plan.neighbors)),
            Fact(name="proof", label="Proof", value=plan.certificate.method),
        ),
        warnings=plan_warnings(plan),
        rows=(
            Rows(
                columns=(
                    Fact(name="name", label="", value=""),
                    Fact(name="asked", label="requirement", value=""),
                    Fact(name="confidence", label="confidence", value="", unit="%", safe="down"),
                    Fact(name="noise", label="noise", value=""),
                ),
                values=tuple(
                    (part.name, part.requirement.describe(), part.confidence, part.design.name)
                    for part in plan.parts
                ),
            ),
        ),
    )


def loss_facts(epsilon: float, delta: float | None, order: float | None) -> tuple[Fact, ...]:
    """A loss, and the delta or the order that it holds at."""
    at = (
        Fact(name="at", value=delta, unit="delta", before="delta", label="At", safe="up")
        if order is None
        else Fact(name="at", value=order, unit="order", before="Rényi order", label="At", safe="down")
    )
    return Fact(name="epsilon", label="Privacy loss", value=epsilon, safe="up"), at


def risk_facts(risk: float, question: str) -> tuple[Fact, ...]:
    """How often the best attacker is right, and about what."""
    return (
        Fact(name="risk", label="Attacker", value=risk, unit="%", safe="up", before="right at most"),
        Fact(name="question", value=question),
    )


def _loss(plan: Plan) -> tuple[Fact, ...]:
    return (
        *loss_facts(plan.epsilon, plan.delta, plan.rdp_order),
        *risk_facts(plan.risk(), plan.neighbors.question),
        Fact(name="releases", value=_releases(plan)),
    )


def _releases(plan: Plan) -> int:
    """How many releases epsilon is the total of; a vector is one."""
    return plan.releases if plan.is_joint else plan.package


def _total(plan: Plan) -> str:
    return " in total for {releases} releases" if _releases(plan) > 1 else ""


def _limit(plan: Plan) -> tuple[Fact, ...]:
    """How far the plan is from what nothing can go below, where that is known."""
    if plan.limit is None or not plan.limit.epsilon > 0:
        return ()
    ratio = plan.epsilon / plan.limit.epsilon
    above = (
        f"{rounded_up(100 * (ratio - 1), 2)} % above it"
        if ratio < FAR
        else f"{rounded_up(ratio, 3)} times that"
    )
    note = f"no {plan.limit.subject} can do better; this plan is {above}"
    return (Fact(name="limit", label="Limit", value=plan.limit.epsilon, safe="down", note=note),)


def _person(plan: Plan) -> str:
    asked = plan.requirement
    changed = "the answer" if asked.coordinates is None else asked.coordinates.change
    return f"one person changes {changed} by at most {asked.sensitivity:g}"


def _assumed(plan: Plan) -> tuple[Fact, ...]:
    if plan.requirement.coordinates is None:
        return ()
    return (Fact(name="assumes", label="Assumes", value=" ".join(plan.assumptions), detail=True),)


def plan_warnings(plan: Plan) -> tuple[Caution, ...]:
    """What to know before a plan is used: what its settings cost, and what a budget needs for it."""
    needs = None
    if plan.is_joint or plan.requirement.coordinates is None:
        needs = reserve_words(plan)
    found = remarks(plan)
    return (*found, Caution(code="reserve", text=literal(needs))) if needs is not None else found


def _compared(plan: Plan) -> Rows:
    laws = [("*", plan.mechanism.name, plan.epsilon, plan.confidence)]
    laws += [("", other.family, other.epsilon, other.confidence) for other in plan.alternatives[:SHOWN]]
    return Rows(
        title="Compared:",
        columns=(
            Fact(name="chosen", label="", value=""),
            Fact(name="noise", label="noise", value=""),
            Fact(name="epsilon", label="epsilon", value="", safe="up"),
            Fact(name="confidence", label="confidence", value="", unit="%", safe="down"),
        ),
        values=tuple(laws),
        detail=True,
    )


def _parameters(part: Part) -> str:
    """Of the noise, in the user's units (in steps on a logarithmic grid), and the grid."""
    design = part.design
    if not isinstance(design, Design):
        return part.describe()
    record = design.record()
    parameters: dict[str, Any] = record["parameters_in_steps"]
    lengths = known_families()[record["kernel"]].lengths
    linear = isinstance(design.grid, LinearGrid)
    step = design.grid.step if linear else 1.0
    found = [f"on {design.grid.describe()}"]
    if part.requirement.coordinates is not None:
        found = [f"independent in each of {part.requirement.dimensions} coordinates", *found]
    found += [
        f"{name} {value * step if name in lengths else value:.6g}"
        for name, value in parameters.items()
        if isinstance(value, int | float) and name != "start"
    ]
    if "probabilities" in parameters:
        found.append(f"a table of {len(parameters['probabilities'])} values")
    if 0 < design.boost < 1:
        found.append(f"boost {design.boost:.4g}")
    if design.offset:
        found.append(f"centered {design.offset * step:+.4g} from the answer")
    if design.decoder is not None:
        outputs = design.decoder.outputs
        constant = f"always published as {outputs[0] * step:.6g}"
        found.append(constant if design.decoder.is_constant else f"a decoder with {len(outputs)} entries")
    return f"{', '.join(found)}{'' if linear else ' (in steps)'}"
