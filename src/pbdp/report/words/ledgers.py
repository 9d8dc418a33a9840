"""Budgets in words: what is spent, what is left, and what a table was paid with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pbdp.digits import delta_text, epsilon_text, percent_up
from pbdp.report.text import bar, columns, paragraph

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.record import Entry
    from pbdp.ledger.verification import Verification
    from pbdp.planning.pricing import Terms
    from pbdp.tables.table import Payment

BAR = 20
# Characters of a query that are shown.
LONGEST = 40


def status_table(place: str, budgets: Sequence[Budget], *, explain: bool = False) -> str:
    """Every budget on a line, then what is left of each in words."""
    if not budgets:
        return f"{place}: no dataset yet. Make one: pbdp ledger create NAME --epsilon 3 --delta 1e-6"
    rows = [["dataset", "epsilon", "delta", "releases", "spent", ""]]
    remarks = []
    for budget in budgets:
        state, terms = budget.state, budget.terms
        share = terms.share(state.spent)
        rows.append(
            [
                state.name,
                epsilon_text(terms.epsilon),
                delta_text(terms.delta),
                f"{state.releases:,}",
                percent_up(share),
                f"[{bar(min(share, 1.0), 1.0, BAR):.<{BAR}}]",
            ]
        )
        told = budget.describe(explain=explain).split("\n")
        remarks += [*map(paragraph, told), f"Neighbors: {state.neighbors}.", ""]
    return "\n".join([f"Ledger {place}", "", columns(rows, right=(1, 2, 3, 4)), "", *remarks[:-1]])


def history_table(entries: Sequence[Entry], terms: Mapping[str, Terms]) -> str:
    """Every entry on a line, with what it cost and what was spent after it, as shares of the budget."""
    if not entries:
        return "Nothing yet."
    from pbdp.report.releases import cost_words

    rows = [["record", "time (UTC)", "dataset", "what was asked", "cost", "spent", "key"]]
    for entry in entries:
        own = terms[entry.dataset]
        rows.append(
            [
                str(entry.sequence),
                entry.time[:19].replace("T", " "),
                entry.dataset,
                _short(_asked_words(entry)),
                "" if entry.kind == "dataset" else cost_words(own, entry.cost, entry.spent, "paid"),
                percent_up(own.share(entry.spent)),
                _short(entry.key or ""),
            ]
        )
    return columns(rows, right=(0, 4, 5))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _asked_words(entry: Entry) -> str:
    """What was asked, in words: of a table its measures, else what the user said, else noise and numbers."""
    if entry.kind == "dataset":
        return f"budget given{f': {entry.note}' if entry.note else ''}"
    if entry.query:
        return _table_words(entry.query) or entry.query.replace("\n", " ")
    if entry.note:
        return f"{entry.plan_label}: {entry.note}" if entry.plan_label else entry.note
    count = "1 number" if entry.values == 1 else f"{entry.values:,} numbers"
    return f"{count}, {entry.plan_label} noise" if entry.plan_label else entry.kind


def _table_words(query: str) -> str:
    """The measures and columns of a table's query, which a record has as JSON; nothing of another one."""
    try:
        asked = json.loads(query)
        names = [str(one["name"]) for one in asked["measures"]]
        by = asked["by"].get("columns") or [
            name for part in (asked["by"].get("keys"), *asked["by"].get("only", ())) for name in part or ()
        ]
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""
    return f"table: {', '.join(names)}{f' by {chr(44).join(map(str, by))}' if by else ''}"


def verification_words(found: Verification) -> str:
    """What was checked, or the first fault."""
    if found.fault is not None:
        # where it cannot be opened at all, the reason is a sentence of its own
        return f"NOT SOUND: {found.place}: {found.fault}{'' if found.fault.endswith('.') else '.'}"
    releases, answers = ("" if count == 1 else "s" for count in (found.spends, found.answers))
    return (
        f"Sound: {found.place}: {found.records:,} records, {found.spends:,} release{releases}, "
        f"{found.answers:,} answer{answers}.\n"
        f"Every hash, {'MAC, ' if found.macs else ''}total, key and answer was checked. "
        f"Head: {found.head}"
    )


def table_paid_words(payment: Payment, budget: Budget | None) -> str:
    """One sentence on what a table was paid with and what is left."""
    if budget is None:
        return f"Paid from {payment.dataset}. Request key: {payment.key}"
    if payment.repeated:
        return (
            f"This is the stored table of request {payment.key!r}; nothing was drawn or spent. For a "
            "new one, which is paid for again, give another --key."
        )
    from pbdp.report.releases import cost_words

    state = budget.state
    cost = cost_words(budget.terms, payment.charged, state.spent, "nothing")
    spent = percent_up(budget.terms.share(state.spent))
    return (
        f"Paid from {payment.dataset} in {payment.place}: {cost}; {spent} of the budget is spent now. "
        f"Request key: {payment.key}"
    )
