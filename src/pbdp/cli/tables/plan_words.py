"""A table's plan before any data is read: what it costs, and how accurate every number will be."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from pbdp.cli.ledger_words import WIDTH, paragraph
from pbdp.cli.text import columns, percent, rounded_up
from pbdp.errors import PbdpError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.pricing import fingerprint
from pbdp.tables.manifest import bounds_in_words, statement
from pbdp.tables.measures import Measure
from pbdp.tables.query_record import query_text

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.planning.together import Part
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query

Record = dict[str, Any]
SPEAK = "Accuracies speak of the bounded numbers: what the bounds leave out is not known to them."


def plan_words(plan: TablePlan, budget: Budget | None) -> str:
    """The plan as a short table."""
    query = plan.query
    lines = [
        ("Groups", groups_in_words(query)),
        ("A person", whose_in_words(query)),
        ("Bounds", bounds_in_words(query)),
        (
            "Privacy",
            f"epsilon {rounded_up(plan.epsilon)} for the whole table at delta {plan.delta:g} (certified)",
        ),
        ("", f"neighbors: {Neighbors(query.neighbors).description}"),
        ("Proof", plan.joint.method),
    ]
    if plan.threshold is not None and query.select is not None:
        part = plan.joint.parts[-1]
        words = (
            f"groups of {query.select.people:,} people are published with confidence "
            f"{percent(part.confidence)}: where a count of their people, with {part.design.name} noise of "
            f"its own, reaches {plan.threshold.threshold:,}"
        )
        lines.insert(1, ("Selection", words))
    rows = [["number", "accuracy", "confidence", "noise", "one person"]]
    for measure in query.measures:
        rows += _rows(plan, measure)
    listed = [_line(name, words) for name, words in lines]
    parts = [*listed, "", columns(rows, right=(2,)), "", SPEAK]
    if budget is not None:
        parts += ["", *_budget_words(plan, budget)]
    return "\n".join([*parts, "", "Nothing was read and nothing was spent.", ""])


def _line(name: str, words: str) -> str:
    """A fact, in lines that fit a terminal."""
    return textwrap.fill(
        words, WIDTH, initial_indent=f"{name:<12} ", subsequent_indent=" " * 13, break_on_hyphens=False
    )


def plan_facts(plan: TablePlan, budget: Budget | None) -> Record:
    """The same for a program to read."""
    query, threshold = plan.query, plan.threshold
    selection = None
    if threshold is not None and query.select is not None:
        part = plan.joint.parts[-1]
        selection = {
            "people": query.select.people,
            "confidence": part.confidence,
            "threshold": threshold.threshold,
            "noise": part.design.name,
        }
    return {
        "epsilon": plan.epsilon,
        "epsilon_lower": plan.joint.epsilon_lower,
        "delta": plan.delta,
        "neighbors": query.neighbors,
        "method": plan.joint.method,
        "statement": statement(plan, rounded_up(plan.epsilon, digits=6)),
        "unit": query.unit,
        "bounds": bounds_in_words(query),
        "by": list(query.columns),
        "groups": None if query.groups is None else len(query.groups),
        "selection": selection,
        "numbers": [fact for measure in query.measures for fact in _facts(plan, measure)],
        "means": {
            measure.name: {"within": measure.promised(plan), "at_least": measure.at_least}
            for measure in query.measures
            if measure.derived
        },
        "plan": fingerprint(plan.joint),
        "budget": None if budget is None else _budget_facts(plan, budget),
    }


def groups_in_words(query: Query) -> str:
    """How many groups there are, and by what."""
    by = f" by {', '.join(query.columns)}" if query.columns else ""
    if query.groups is None:
        return f"those in the data{by}, as far as they are selected"
    count = len(query.groups)
    return f"{count:,} public group{'s' if count > 1 else ''}{by}; zeros and noise where there is no data"


def whose_in_words(query: Query) -> str:
    """What counts as one person."""
    return "one row" if query.unit is None else f"all rows with the same {query.unit}"


def _parts(plan: TablePlan, measure: Measure) -> list[tuple[str, Part]]:
    """The released numbers behind a measure."""
    return [(label, plan.part(label)) for label in measure.labels]


def _rows(plan: TablePlan, measure: Measure) -> list[list[str]]:
    rows = [
        [
            label,
            part.requirement.describe(),
            percent(part.confidence),
            part.design.name,
            f"moves {part.releases} of them by {part.requirement.sensitivity:g} at most",
        ]
        for label, part in _parts(plan, measure)
    ]
    if measure.derived:
        width = measure.promised(plan)
        words = (
            "an interval of its own for each group"
            if width is None
            else f"within {rounded_up(width)} in groups of {measure.at_least:,} rows or more"
        )
        both = 1.0
        for _, part in _parts(plan, measure):
            both *= part.confidence
        rows.append([measure.name, words, percent(both), "of the two above", ""])
    return rows


def _facts(plan: TablePlan, measure: Measure) -> list[Record]:
    return [
        {
            "measure": measure.name,
            "number": label,
            "within": part.requirement.region.within,
            "accuracy": part.requirement.describe(),
            "confidence": part.confidence,
            "noise": part.design.name,
            "sensitivity": part.requirement.sensitivity,
            "groups_touched": part.releases,
        }
        for label, part in _parts(plan, measure)
    ]


def _budget_words(plan: TablePlan, budget: Budget) -> list[str]:
    """What it costs, what is left after it, and whether it was paid before."""
    head = f"Budget of {budget.dataset} in {budget.ledger.place}:"
    try:
        words = budget.price(plan.joint).describe()
    except PbdpError as refusal:
        return [head, f"It would be refused: {refusal}"]
    lines = [head, words]
    if key := _paid_key(plan, budget):
        lines.append(
            paragraph(
                f"The same query was paid for before, as request {key!r}. Asked again of the same data, or "
                "with that --key, it brings back that table and costs nothing."
            )
        )
    return lines


def _budget_facts(plan: TablePlan, budget: Budget) -> Record:
    facts: Record = {"dataset": budget.dataset, "ledger": budget.ledger.place}
    try:
        return facts | budget.price(plan.joint).record() | {"paid_before_as": _paid_key(plan, budget)}
    except PbdpError as refusal:
        return facts | {"fits": False, "refusal": str(refusal)}


def _paid_key(plan: TablePlan, budget: Budget) -> str | None:
    """The key of the last request for the same table, if there was one."""
    asked = (fingerprint(plan.joint), query_text(plan.query))
    keys = [
        entry.key for entry in budget.ledger.history(budget.dataset) if (entry.plan, entry.query) == asked
    ]
    return keys[-1] if keys else None
