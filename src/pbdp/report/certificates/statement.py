"""What a certificate says of a plan, a release, a table or a budget, in words that need no mathematics.

Nothing private is in it: no true answer, no place of a ledger, and of a file its name alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pbdp.accounting.risk import risk_words
from pbdp.digits import (
    delta_text,
    epsilon_text,
    order_text,
    percent_down,
    percent_up,
    plain_column,
    rounded_down,
    rounded_up,
)
from pbdp.ledger.budget import Budget
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Terms, fingerprint
from pbdp.report.certificates.checker import LEDGER, lines_for
from pbdp.report.certificates.release_file import ReleaseFile
from pbdp.report.statement import Caution
from pbdp.report.tables import manifest_warnings
from pbdp.report.warnings import NO_LEDGER
from pbdp.tables.manifest import bounds_in_words
from pbdp.tables.numbers import TOUCHED
from pbdp.tables.plan import SELECTION, TablePlan
from pbdp.tables.top import TOP

Facts = list[tuple[str, str]]
BLANK = "_" * 32
# Rows of a page that are for parts of a plan, for measures, or for published numbers.
MOST_ROWS = 6
PROTECTED = (
    "The same could have been published {without}, with nearly the same chances: there is a limit to the "
    "difference. {risk} The attacker may know everything about everyone else, have any computer, "
    "and see all of it. Nothing that anyone computes from what is published can make this worse."
)
NO_TABLE = (
    "This noise has no short table of probabilities, or there is too much of it, so a few lines cannot "
    "check it. The command above computes the guarantee again from the noise itself."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What stands on the page. `lines` are Python that checks it, `data` the numbers that they read."""

    subject: str
    name: str
    claims: Sequence[str]
    numbers: Facts
    conditions: Sequence[str]
    source: Facts
    command: str
    lines: str = ""
    data: dict[str, Any] | None = None
    run_on: str = "certificate.html"
    run_note: str = "this page"
    warning: str = ""
    cautions: Sequence[Caution] = ()
    remark: str = NO_TABLE


def of_plan(plan: Plan, name: str) -> Statement:
    """The certificate of a plan: of all numbers that will be published with it, once."""
    lines, data = lines_for(plan) or ("", None)
    return Statement(
        subject="Plan",
        name=name,
        claims=[_protection(plan), *_accuracy(plan), _technical(plan)],
        numbers=_figures(plan),
        conditions=[PERSON, *_assumed(plan), ELSEWHERE, DRAWN],
        source=[("Plan", fingerprint(plan)[:32])],
        command=f"pbdp verify {name}",
        lines=lines,
        data=data,
    )


def of_release(release: ReleaseFile, name: str) -> Statement:
    """The certificate of numbers that were published at once."""
    made = of_plan(release.plan, name)
    listed = [(f"Published {part}".rstrip(), _shown(numbers)) for part, numbers in release.numbers.items()]
    paid = release.paid
    conditions = [*made.conditions]
    if release.disjoint:
        conditions.insert(1, "No person affects more than one of the published numbers.")
    source = [("Asked", release.query)] if release.query else []
    source += [("Published", release.created), *made.source, *paid_from(paid)]
    if paid is not None:
        conditions[conditions.index(ELSEWHERE)] = others_counted(paid)
    return Statement(
        subject="Release",
        name=name,
        claims=made.claims,
        numbers=[*listed, *made.numbers],
        conditions=conditions,
        source=source,
        command=made.command,
        lines=made.lines,
        data=made.data,
        warning=insecure(release.insecure_test_seed),
        cautions=() if paid is not None else (NO_LEDGER,),
    )


def of_table(plan: TablePlan, record: dict[str, Any], name: str) -> Statement:
    """The certificate of a published table, from its manifest and the plan that was certified again."""
    query, noise, table = plan.query, plan.noise, record["table"]
    lines, data = lines_for(noise) or ("", None)
    person = "one row" if query.unit is None else f"all rows with the same {query.unit}"
    alone = (
        "Nobody has two rows."
        if query.unit is None
        else f"Everyone who is to be protected has one {query.unit}, and nobody shares theirs."
    )
    relation = Neighbors(query.neighbors)
    paid: dict[str, Any] | None = record["ledger"]
    source = [
        ("Published", str(record["created"])),
        ("Table", f"{table['file']}, SHA-256 {table['sha256'][:32]}"),
        ("Plan", fingerprint(noise)[:32]),
        *paid_from(paid),
    ]
    conditions = [
        f"One person is {person}. {alone}",
        f"Neighbors: {relation.description}. {bounds_in_words(query)} Numbers outside their bounds were "
        "moved to the bound before they were added up. pbdp did this; the bounds were chosen without the "
        "data.",
        _groups(plan),
        others_counted(paid),
        DRAWN,
    ]
    return Statement(
        subject="Table",
        name=name,
        claims=[
            _protection(noise),
            "Each published number is as near to the truth (after the bounds) as the table below says.",
            _technical(noise),
        ],
        numbers=[
            *_figures(noise, counted=f"{table['rows']:,} groups", table=plan),
            *_derived(plan),
            *_whole_budget(paid),
        ],
        conditions=conditions,
        source=source,
        command=f"pbdp verify {name}",
        lines=lines,
        data=data,
        warning=insecure(record["insecure_test_seed"]),
        cautions=manifest_warnings(query, record),
    )


def paid_from(paid: Mapping[str, Any] | None) -> Facts:
    """Where the payment is recorded, if a ledger paid."""
    if paid is None:
        return []
    return [("Paid from", f"{paid['dataset']}, record {paid['sequence']} of ledger {paid['ledger']}")]


def others_counted(paid: Mapping[str, Any] | None) -> str:
    """Whether a ledger counts what else is published of the same people."""
    return ELSEWHERE if paid is None else COUNTED.format(dataset=paid["dataset"])


def of_budget(budget: Budget, head: str) -> Statement:
    """The certificate of a budget: of everything that its ledger will ever pay for."""
    terms, state = budget.terms, budget.state
    plural = "" if state.releases == 1 else "s"
    risk = risk_words(budget.risk(), Neighbors(terms.neighbors).question)
    blocks = f" Each of its blocks ({', '.join(terms.blocks)}) has this by itself." if terms.blocks else ""
    return Statement(
        subject="Budget",
        name=budget.dataset,
        claims=[
            f"Everything about the people in {budget.dataset} that this ledger pays for, now or ever, holds "
            f"to one limit. {PROTECTED.format(risk=risk, without=Neighbors(terms.neighbors).without)}",
            "That is so when all of it is spent, however releases are chosen, even after seeing "
            f"answers.{blocks}",
            f"In technical terms: all releases together are ({epsilon_text(terms.epsilon)}, "
            f"{delta_text(terms.delta)})-"
            f"differentially private where {Neighbors(terms.neighbors).description}.",
        ],
        numbers=[
            attacker(budget.risk()),
            (
                "Limit",
                f"epsilon {epsilon_text(terms.epsilon)} at delta {delta_text(terms.delta)}, for "
                "everything together",
            ),
            ("Spent", f"{percent_up(budget.spent)}, in {state.releases:,} release{plural}"),
        ],
        conditions=[
            PERSON,
            f"Neighbors: {Neighbors(terms.neighbors).description}.",
            "Every release has the sensitivity that its plan states, and read the people it says it read.",
            f"Everything that is published about these people is paid for here, except: {BLANK}",
            DRAWN,
        ],
        source=[
            ("Ledger", budget.ledger.identity),
            ("Last record", head[:32]),
            ("Since", state.created[:10]),
        ],
        command="pbdp ledger verify",
        lines=LEDGER,
        run_on="export.jsonl",
        run_note="what pbdp ledger export -o export.jsonl writes",
    )


# ------------------------------------------------------------------------------------------ sentences

PERSON = f"Who counts as one person: {BLANK}"
ELSEWHERE = f"Nothing else about the same people was or will be published, except: {BLANK}"
COUNTED = (
    f"Everything else that is published about the same people is paid for from {{dataset}}, except: {BLANK}"
)
# Parts of tables that are no measure.
_NAMES = {
    TOUCHED: "People, by what bounds cut",
    SELECTION: "People, to select groups",
    TOP: "Choice of the top groups",
}
DRAWN = "pbdp drew the noise, and the true numbers stayed secret."


def attacker(often: float) -> tuple[str, str]:
    """The row on how often an attacker is right."""
    return "Attacker", f"right at most {percent_up(often)} of the time, from even odds"


def loss(epsilon: float, at: str, what: str = "everything together") -> tuple[str, str]:
    """The row on epsilon, at a delta or an order."""
    return "Privacy loss", f"epsilon {rounded_up(epsilon)} at {at}, for {what}"


def insecure(seed: int | None) -> str:
    """The warning on numbers that protect nobody."""
    if seed is None:
        return ""
    return (
        "NOT PRIVATE: the noise came from a test seed, which anyone can take off again. Never publish this."
    )


def _protection(plan: Plan) -> str:
    return PROTECTED.format(risk=plan.risk_words(), without=plan.neighbors.without)


def _accuracy(plan: Plan) -> list[str]:
    if plan.is_joint:
        vectors = any(part.requirement.coordinates is not None for part in plan.parts)
        each = "Each published number, or vector," if vectors else "Each published number"
        return [f"{each} is as near to the truth as the table below says."]
    part = plan.only
    what = "The published vector" if part.requirement.coordinates else "Each published number"
    return [f"{what} is {part.requirement.describe()}, at least {percent_down(part.confidence)} of the time."]


def _technical(plan: Plan) -> str:
    total = f", for all {plan.releases} numbers that one person may affect" if plan.releases > 1 else ""
    where = f"where {plan.neighbors.description}{total}"
    if plan.delta is None:
        order = order_text(plan.rdp_order or 0.0)
        renyi = f"Rényi differential privacy of {rounded_up(plan.epsilon)} at order {order}"
        return f"In technical terms: {renyi}, {where}."
    return (
        f"In technical terms: ({rounded_up(plan.epsilon)}, {delta_text(plan.delta)})-differential privacy "
        f"{where}. "
        f"Proof: {plan.certificate.method}."
    )


def _figures(plan: Plan, counted: str = "", table: TablePlan | None = None) -> Facts:
    at = (
        f"order {order_text(plan.rdp_order or 0.0)}"
        if plan.delta is None
        else f"delta {delta_text(plan.delta)}"
    )
    rows = [
        attacker(plan.risk()),
        loss(plan.epsilon, at),
    ]
    if not plan.is_joint and plan.limit is not None and plan.limit.epsilon > 0:
        least = rounded_down(plan.limit.epsilon)
        rows.append(("Limit", f"no {plan.limit.subject} this accurate can go below epsilon {least}"))
    if counted:
        rows.append(("Size", counted))
    for part in plan.parts[:MOST_ROWS]:
        near = part.requirement.describe() if table is None else table.accuracy(part.name)
        sure = percent_down(part.confidence)
        picked = table is not None and part.name in table.picked
        words = near if picked else f"{near}, {sure} of the time at least; {part.design.name} noise"
        rows.append((_NAMES.get(part.name, part.name) or "Accuracy", words))
    if len(plan.parts) > MOST_ROWS:
        rows.append(("", f"and {len(plan.parts) - MOST_ROWS} more; the file lists them"))
    return rows


def _derived(plan: TablePlan) -> Facts:
    """The published columns that are made of other numbers: means and ratios."""
    rows: Facts = []
    for measure in plan.query.measures:
        if measure.chosen or not (measure.derived or measure.name in plan.follows):
            continue
        width, sure = measure.promised(plan), percent_down(measure.confidence_of(plan))
        near = "with an interval of its own in every group"
        if width is not None:
            near = f"within {rounded_up(width)} of the bounded number"
            if measure.at_least is not None:
                near += f" in groups of {measure.at_least:,} rows or more"
        rows.append((measure.name, f"{near}, {sure} of the time at least; made of the numbers above"))
    return rows


def _whole_budget(paid: Mapping[str, Any] | None) -> Facts:
    """What everything that the same budget may ever pay for comes to, in the words of this release."""
    if paid is None:
        return []
    terms = Terms.from_record(paid["rule"])
    at = f"epsilon {epsilon_text(terms.epsilon)} at delta {delta_text(terms.delta)}"
    often = percent_up(terms.risk())
    return [
        (
            "Whole budget",
            f"{at}, for all that {paid['dataset']} ever pays for; attacker right at most {often}",
        )
    ]


def _assumed(plan: Plan) -> list[str]:
    """What the plan rests on, but for remarks that are no one's to answer for."""
    found = list(plan.assumptions)
    kept = found[:MOST_ROWS]
    return [*kept, "(and the like for the other parts)"] if len(found) > len(kept) else kept


def _groups(plan: TablePlan) -> str:
    if plan.query.groups is None:
        return (
            "Groups are those in the data that a noisy count of their people let through; no one named them."
        )
    return "The list of groups was known without the data."


def _shown(numbers: Sequence[float]) -> str:
    texts = plain_column(numbers[:MOST_ROWS])
    more = f" and {len(numbers) - MOST_ROWS:,} more" if len(numbers) > MOST_ROWS else ""
    return ", ".join(texts) + more
