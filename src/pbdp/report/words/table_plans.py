"""Plans of tables in words and as objects: what they cost, before any data is read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.accounting.risk import delta_words
from pbdp.digits import delta_text, percent_down, rounded_up
from pbdp.errors import PbdpError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.relative import RelativeRegion
from pbdp.planning.pricing import fingerprint
from pbdp.report.record import warning_records
from pbdp.report.statement import statement as said
from pbdp.report.text import columns, facts, paragraph
from pbdp.tables.manifest import bounds_in_words, statement
from pbdp.tables.measure import Measure
from pbdp.tables.numbers import TOUCHED
from pbdp.tables.query_record import query_text

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.planning.plan import Part
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query

Record = dict[str, Any]
# What noise on each table by itself must save to be worth a word.
CHEAPER = 0.98
BOUNDED = "Accuracy excludes whatever your bounds cut off."
NOT_TOLD = "The number of people affected is not published (bounds_touched = false)."
TOLD = "The number of people affected is published too."
RANKS = (
    "A rank within 50 of the true one: at most 50 rows too many, or too few, are below the published value. "
    "How far that is in its own unit depends on the data: little where values are dense."
)


def plan_words(plan: TablePlan, budget: Budget | None) -> str:
    """The plan as a short table."""
    query = plan.query
    lines = [
        ("Groups", _groups(query)),
        *([("", query.keys_assumed)] if query.by else []),
        *_selection(plan),
        *([] if plan.top is None else [("Top", f"{plan.top.describe()} {plan.top.how()}")]),
        ("A person", "one row" if query.unit is None else f"all rows with the same {query.unit}"),
        ("Bounds", bounds_in_words(query)),
        ("Privacy", f"{loss_line(plan)} (certified)"),
        ("", plan.risk_words()),
        ("", f"neighbors: {Neighbors(query.neighbors).description}"),
        *(("Note", words) for words in [delta_words(plan.delta)] if words is not None),
        ("Proof", plan.noise.certificate.method),
    ]
    rows = [["number", "accuracy", "confidence", "noise", "one person"]]
    for measure in query.measures:
        if measure.chosen:
            rows += _chosen_rows(plan, measure)
        else:
            rows += _rows(plan, measure) if query.margins is None else _several_rows(plan, measure)
    if query.aggregation.touched:
        part = plan.part(TOUCHED)
        words = [part.requirement.describe(), percent_down(part.confidence), part.design.name]
        whose = "people cut, per bound" if query.bounds_touched is None else "people touched"
        rows.append([whose, *words, f"changes at most {part.releases} of them, by at most 1"])
    parts = [facts(lines), "", columns(rows, right=(2,)), ""]
    if any(map(query.is_bounded, query.measures)):
        parts.append(f"{BOUNDED} {TOLD if query.aggregation.touched else NOT_TOLD}")
    parts += [*_floors(plan), *_alone(plan), *([paragraph(RANKS)] if plan.choices else [])]
    if budget is not None:
        parts += ["", *_budget_words(plan, budget)]
    return "\n".join([*parts, "", "Nothing was read and nothing was spent.", ""])


def _chosen_rows(plan: TablePlan, measure: Measure) -> list[list[str]]:
    """How near the ranks of chosen values are."""
    return [
        [
            choice.label,
            choice.describe(),
            percent_down(choice.asked),
            choice.way,
            f"changes at most {choice.groups_touched} of them",
        ]
        for choice in plan.choices
        if choice.measure == measure.name
    ]


def _several_rows(plan: TablePlan, measure: Measure) -> list[list[str]]:
    """How near the numbers of each of several tables are, and then the noise that they follow from."""
    labels = [] if plan.query.margins is None else plan.query.margins.labels
    rows = []
    for label in measure.labels_in(plan.query):
        of = "of the bounded number" if plan.query.is_bounded(measure) else "of the truth"
        for which, table in enumerate(labels):
            widths, confidence = plan.widths(label, which)
            words = f"within {_shown(float(np.max(widths)))} {of}"
            rows.append([f"{label}: {table}", words, percent_down(confidence), "", ""])
        strategy = plan.strategies[label]
        for name, moves in strategy.parts.items():
            part = plan.part(name)
            moved = f"changes at most {moves.numbers} of them, by at most {part.requirement.sensitivity:g}"
            if moves.numbers == 1 and moves.laws:
                moved = f"changes them by at most {part.requirement.sensitivity:g} in all"
            rows.append([f"  from {name}", "", "", part.design.name, moved])
    return rows


def _shown(width: float) -> str:
    """A width of four digits, rounded up."""
    unit = 10.0 ** min(math.floor(math.log10(width)) - 3, 0) if width > 0 else 1.0
    return f"{math.ceil(width / unit) * unit:,.10g}"


def _alone(plan: TablePlan) -> list[str]:
    """What it costs that several tables add up, where that is something."""
    if plan.query.margins is None or plan.query.running is not None or not plan.query.add_up:
        return []
    from pbdp.tables.strategies.planning import epsilon_alone

    alone = epsilon_alone(plan.query)
    if alone is None or alone >= plan.epsilon * CHEAPER:
        return []
    return [
        f"Noise on each table by itself would cost epsilon {rounded_up(alone)}, but then the tables would "
        "not add up (add_up = false)."
    ]


def _floors(plan: TablePlan) -> list[str]:
    """What sets the price of relative widths: groups near 0 are published too, and have the floor alone."""
    regions = {number.label: number.requirement.region for number in plan.numbers}
    return [
        f"{label}: a group near 0 must be within {region.tau:g}, and that sets the price of it, not the "
        f"{region.theta * 100:g} %."
        for label, region in regions.items()
        if isinstance(region, RelativeRegion)
    ]


def plan_facts(plan: TablePlan, budget: Budget | None) -> Record:
    """The same for a program to read."""
    query, threshold = plan.query, plan.threshold
    selection = None
    if threshold is not None and query.select is not None:
        part = plan.noise.parts[-1]
        selection = {
            "people": query.select.people,
            "confidence": part.confidence,
            "threshold": threshold.threshold,
            "noise": part.design.name,
        }
    return {
        "epsilon": plan.epsilon,
        "epsilon_lower": plan.noise.certificate.epsilon_lower,
        "delta": plan.delta,
        "guessed_right": plan.risk(),
        "neighbors": query.neighbors,
        "method": plan.noise.certificate.method,
        "statement": statement(plan, rounded_up(plan.epsilon, digits=6)),
        "unit": query.unit,
        "bounds": bounds_in_words(query),
        "by": list(query.columns),
        "groups": None if query.groups is None else len(query.groups),
        "selection": selection,
        **({} if plan.top is None else {"top": plan.top.facts()}),
        "numbers": [fact for measure in query.measures for fact in _facts(plan, measure)],
        **({} if query.margins is None else {"tables": _several_facts(plan)}),
        "means": {
            measure.name: {"within": measure.promised(plan), "at_least": measure.at_least}
            for measure in query.measures
            if (measure.derived and not measure.chosen) or measure.name in plan.follows
        },
        "plan": fingerprint(plan.noise),
        "warnings": warning_records(said(plan)),
        "budget": None if budget is None else _budget_facts(plan, budget),
    }


def loss_line(plan: TablePlan) -> str:
    """What the whole table costs."""
    return f"epsilon {rounded_up(plan.epsilon)} for the whole table at delta {delta_text(plan.delta)}"


def _groups(query: Query) -> str:
    """How many groups there are, and by what."""
    empty = "published too" if all(one.chosen for one in query.measures) else "published as noise around 0"
    by = f" by {', '.join(query.columns)}" if query.columns else ""
    if query.groups is None:
        which = "those" if query.listed is None else f"the top {query.listed.groups:,} of those"
        return f"{which} in the data{by}, as far as they are selected"
    if query.running is not None and query.margins is not None:
        (table,) = query.margins.tables
        return f"{len(table):,} by {table.label}; every number is the total up to its {query.running}"
    if query.margins is not None:
        each = [
            f"{len(table):,} by {table.label}" if table.columns else "the total"
            for table in query.margins.tables
        ]
        agree = "" if query.add_up else "; tables need not add up"
        return f"{', '.join(each)}; empty ones are {empty}{agree}"
    count = len(query.groups)
    if query.listed is not None:
        return f"the top {query.listed.groups:,} of {count:,} public groups{by}"
    return f"{count:,} public group{'s' if count > 1 else ''}{by}; empty ones are {empty}"


def _selection(plan: TablePlan) -> list[tuple[str, str]]:
    if plan.threshold is None or plan.query.select is None:
        return []
    part = plan.noise.parts[-1]
    words = (
        f"groups of {plan.query.select.people:,} people are published with confidence "
        f"{percent_down(part.confidence)}: where a count of their people, with {part.design.name} noise of "
        f"its own, reaches {plan.threshold.threshold:,}"
    )
    return [("Selection", words)]


def _parts(plan: TablePlan, measure: Measure) -> list[tuple[str, Part]]:
    """The released numbers behind a measure."""
    if plan.query.margins is None:
        own = plan.labels(measure)
        if measure.name in plan.follows:
            # the count has a row of its own, and means share that of the sum
            own = () if measure.derived else own[:1]
        return [(label, plan.part(label)) for label in own]
    names = [name for label in measure.labels_in(plan.query) for name in plan.strategies[label].parts]
    return [(name, plan.part(name)) for name in names]


def _rows(plan: TablePlan, measure: Measure) -> list[list[str]]:
    rows = [
        [
            label,
            plan.accuracy(label),
            percent_down(part.confidence),
            part.design.name,
            _changed(plan, label, part),
        ]
        for label, part in _parts(plan, measure)
    ]
    if measure.derived or measure.name in plan.follows:
        width = measure.promised(plan)
        words = (
            "an interval of its own for each group"
            if width is None
            else f"within {rounded_up(width)} in groups of {measure.at_least:,} rows or more"
            if measure.at_least is not None
            else f"within {rounded_up(width)} of the bounded number"
        )
        of = plan.follows.get(measure.name)
        told = percent_down(measure.confidence_of(plan))
        noise = "from the two above" if of is None else f"from {of[1]} and {of[0]}"
        rows.append([measure.name, words, told, noise, ""])
    return rows


def _groups_changed(plan: TablePlan, label: str, part: Part) -> int:
    """In how many groups one person changes a number."""
    return min(2 * part.releases, plan.query.groups_touched) if label in plan.paired else part.releases


def _changed(plan: TablePlan, label: str, part: Part) -> str:
    """What one person does to a number of each group."""
    moved = part.requirement.sensitivity
    words = f"changes at most {part.releases} of them, by at most {moved:g}"
    most = _groups_changed(plan, label, part)
    return f"{words}, or {most} by {moved / 2:g}" if label in plan.paired else words


def _several_facts(plan: TablePlan) -> list[Record]:
    """How near the numbers of each of several tables are."""
    if plan.query.margins is None:
        raise AssertionError("one table has no others")
    found = []
    for which, table in enumerate(plan.query.margins.tables):
        known = {label: plan.widths(label, which) for label in plan.strategies}
        widths = {label: float(np.max(widths)) for label, (widths, _) in known.items()}
        sure = {label: confidence for label, (_, confidence) in known.items()}
        made = {"table": table.label, "by": list(table.columns), "groups": len(table)}
        found.append(made | {"within": widths, "confidence": sure})
    return found


def _facts(plan: TablePlan, measure: Measure) -> list[Record]:
    if measure.chosen:
        return [
            {
                "measure": measure.name,
                "number": choice.label,
                "rank_within": choice.within,
                "accuracy": choice.describe(),
                "confidence": choice.asked,
                "noise": choice.way,
                "candidates": choice.grid.candidates,
                "groups_touched": choice.groups_touched,
            }
            for choice in plan.choices
            if choice.measure == measure.name
        ]
    return [
        {
            "measure": measure.name,
            "number": label,
            "within": part.requirement.region.within,
            "accuracy": plan.accuracy(label),
            "confidence": part.confidence,
            "noise": part.design.name,
            "sensitivity": part.requirement.sensitivity,
            "groups_touched": _groups_changed(plan, label, part),
        }
        for label, part in _parts(plan, measure)
    ]


def _budget_words(plan: TablePlan, budget: Budget) -> list[str]:
    """What it costs, what is left after it, and whether it was paid before."""
    head = f"Budget of {budget.dataset} in {budget.ledger.place}:"
    try:
        words = budget.price(plan.noise).describe()
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
        return facts | budget.price(plan.noise).record() | {"paid_before_as": _paid_key(plan, budget)}
    except PbdpError as refusal:
        return facts | {"fits": False, "refusal": str(refusal)}


def _paid_key(plan: TablePlan, budget: Budget) -> str | None:
    """The key of the last request for the same table, if there was one."""
    asked = (fingerprint(plan.noise), query_text(plan.query))
    keys = [
        entry.key for entry in budget.ledger.history(budget.dataset) if (entry.plan, entry.query) == asked
    ]
    return keys[-1] if keys else None
