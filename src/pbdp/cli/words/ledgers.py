"""Budgets in words: what is spent, what is left, and what a release was paid with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pbdp.cli.words.layout import bar, columns, paragraph
from pbdp.digits import percent_up
from pbdp.ledger.book import share_spent

if TYPE_CHECKING:
    from pbdp.ledger.book import DatasetState, Entry
    from pbdp.ledger.budget import Budget, Paid
    from pbdp.ledger.verification import Verification
    from pbdp.planning.plan import Plan
    from pbdp.tables.table import Payment

BAR = 20
# Characters of a query that are shown, and amounts of a long batch.
LONGEST = 40
TOLD = 4


def status_table(place: str, budgets: Sequence[Budget]) -> str:
    """Every budget on a line, then which guarantee holds for each."""
    if not budgets:
        return f"{place}: no dataset yet. Make one: pbdp ledger create NAME --epsilon 3 --delta 1e-6"
    rows = [["dataset", "epsilon", "delta", "rule", "releases", "spent", ""]]
    remarks = []
    for budget in budgets:
        state, rule = budget.state, budget.rule
        share = share_spent(state.spent, state.limits)
        rows.append(
            [
                state.name,
                f"{rule.epsilon:g}",
                f"{rule.delta:g}",
                rule.kind,
                f"{state.releases:,}",
                percent_up(share),
                f"[{bar(min(share, 1.0), 1.0, BAR):.<{BAR}}]",
            ]
        )
        left = _amounts(budget, dict(list(state.remaining.items())[:TOLD]))
        remarks.append(f"{state.name}: {left} left. Neighbors: {state.neighbors}.")
        if len(budgets) == 1:
            remarks.append(paragraph(rule.describe()))
    return "\n".join([f"Ledger {place}", "", columns(rows, right=(1, 2, 4, 5)), "", *remarks])


def history_table(entries: Sequence[Entry], states: Mapping[str, DatasetState]) -> str:
    """Every entry on a line, with the share of the budget that was spent after it."""
    if not entries:
        return "Nothing yet."
    rows = [["record", "time (UTC)", "dataset", "what", "numbers", "cost", "spent", "query"]]
    for entry in entries:
        limits = states[entry.dataset].limits
        given = entry.kind == "dataset"
        query = (entry.query or entry.note or "").replace("\n", " ")
        rows.append(
            [
                str(entry.sequence),
                entry.time[:19].replace("T", " "),
                entry.dataset,
                entry.plan_label or ("budget given" if given else entry.kind),
                f"{entry.values:,}" if entry.values else "",
                "" if given else _cost(entry.cost, limits, "paid"),
                percent_up(share_spent(entry.spent, limits)),
                query if len(query) <= LONGEST else f"{query[: LONGEST - 3]}...",
            ]
        )
    return columns(rows, right=(0, 4, 5, 6))


def verification_words(found: Verification) -> str:
    """What was checked, or the first fault."""
    if found.fault is not None:
        return f"NOT SOUND: {found.place}: {found.fault}."
    return (
        f"Sound: {found.place}: {found.records:,} records, {found.spends:,} releases, {found.answers:,} "
        f"answers.\nEvery hash, {'MAC, ' if found.macs else ''}total, key and answer was checked. "
        f"Head: {found.head}"
    )


def paid_words(budget: Budget, plan: Plan, paid: Paid) -> str:
    """One sentence on what a release was paid with and what is left."""
    state, held = budget.state, paid.reservation
    if paid.repeated:
        return f"The stored answer to request {held.key!r}; nothing was drawn or spent."
    cost = _cost(held.charged, state.limits, "paid before")
    spent = percent_up(share_spent(state.spent, state.limits))
    covered = plan.package
    rest = f"; {held.units_left} of the plan's {covered} releases left" if covered > 1 else ""
    return (
        f"Counted in {budget.ledger.place}: cost {cost}; {spent} of the budget of {budget.dataset} is spent "
        f"now{rest}. Request key: {held.key}"
    )


def table_paid_words(payment: Payment | None, budget: Budget | None) -> str:
    """The same for a table."""
    if payment is None or budget is None:
        return (
            "No ledger counts this release: every further one of the same people adds to its epsilon "
            "(--ledger and --dataset keep an account)."
        )
    if payment.repeated:
        return (
            f"This is the stored table of request {payment.key!r}; nothing was drawn or spent. For a "
            "new one, which is paid for again, give another --key."
        )
    charged = {name: amount for name, amount in payment.charged.items() if amount}
    cost = _amounts(budget, charged) or "nothing"
    left = _amounts(budget, {name: budget.state.remaining[name] for name in charged}) or "as much as before"
    return f"Paid from {payment.dataset} in {payment.place}: {cost}; {left} left. Request key: {payment.key}"


def _amounts(budget: Budget, amounts: Mapping[str, int]) -> str:
    return " and ".join(budget.rule.in_words(name, amount) for name, amount in amounts.items())


def _cost(charged: Mapping[str, int], limits: Mapping[str, int], free: str) -> str:
    return percent_up(share_spent(charged, limits)) if any(charged.values()) else free
