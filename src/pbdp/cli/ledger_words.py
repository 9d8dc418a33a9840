"""What a ledger says, as tables and sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pbdp.cli.text import bar, columns

if TYPE_CHECKING:
    from pbdp.ledger.book import Entry
    from pbdp.ledger.budget import Budget, Paid
    from pbdp.ledger.dataset import DatasetState
    from pbdp.ledger.verification import Verification
    from pbdp.planning.plan import Plan

BAR = 20
WIDTH = 100
LONGEST = 40


def money(state: DatasetState) -> float:
    """The share of the budget that is spent: of the amount that is nearest its limit."""
    return max(
        (state.spent[name] / limit if limit else 1.0 for name, limit in state.limits.items()), default=0.0
    )


def _share(share: float) -> str:
    """Per cent, rounded up: what is spent is never understated."""
    hundredths = -int(-share * 10_000 // 1)
    return f"{hundredths / 100:.2f} %"


def paragraph(text: str) -> str:
    """A long text in lines that fit a terminal."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def status_table(place: str, budgets: Sequence[Budget]) -> str:
    """Every budget on a line, then which guarantee holds for each."""
    if not budgets:
        return f"{place}: no dataset yet. Make one: pbdp ledger create NAME --epsilon 3 --delta 1e-6"
    rows = [["dataset", "epsilon", "delta", "rule", "releases", "spent", ""]]
    remarks = []
    for budget in budgets:
        state, rule = budget.state, budget.rule
        share = money(state)
        rows.append(
            [
                state.name,
                f"{rule.epsilon:g}",
                f"{rule.delta:g}",
                rule.kind,
                f"{state.releases:,}",
                _share(share),
                f"[{bar(min(share, 1.0), 1.0, BAR):.<{BAR}}]",
            ]
        )
        left = " and ".join(rule.in_words(name, amount) for name, amount in _told(state).items())
        remarks.append(f"{state.name}: {left} left. Neighbors: {state.neighbors}.")
        if len(budgets) == 1:
            remarks.append(paragraph(rule.describe()))
    return "\n".join([f"Ledger {place}", "", columns(rows, right=(1, 2, 4, 5)), "", *remarks])


def _told(state: DatasetState) -> dict[str, int]:
    """What remains; of a long batch only what is used up least is not worth a line each."""
    return dict(list(state.remaining.items())[:4])


def history_table(entries: Sequence[Entry], states: dict[str, DatasetState]) -> str:
    """Every entry on a line, with the share of the budget that was spent after it."""
    if not entries:
        return "Nothing yet."
    rows = [["record", "time (UTC)", "dataset", "what", "numbers", "cost", "spent", "query"]]
    for entry in entries:
        limits = states[entry.dataset].limits
        what = entry.plan_label or ("budget given" if entry.kind == "dataset" else entry.kind)
        query = (entry.query or entry.note or "").replace("\n", " ")
        rows.append(
            [
                str(entry.sequence),
                entry.time[:19].replace("T", " "),
                entry.dataset,
                what,
                f"{entry.values:,}" if entry.values else "",
                _share(_largest(entry.cost, limits)) if any(entry.cost.values()) else "paid",
                _share(_largest(entry.spent, limits)),
                query if len(query) <= LONGEST else f"{query[: LONGEST - 3]}...",
            ]
        )
        if entry.kind == "dataset":
            rows[-1][5] = ""
    return columns(rows, right=(0, 4, 5, 6))


def _largest(amounts: dict[str, int], limits: dict[str, int]) -> float:
    return max((amounts[name] / limit if limit else 1.0 for name, limit in limits.items()), default=0.0)


def verification_words(found: Verification) -> str:
    """What was checked, or the first fault."""
    if found.fault is not None:
        return f"NOT SOUND: {found.place}: {found.fault}."
    return (
        f"Sound: {found.place}: {found.records:,} records, {found.spends:,} releases, {found.answers:,} "
        f"answers.\nEvery hash, total, key and answer was checked. Head: {found.head}"
    )


def paid_words(budget: Budget, plan: Plan, paid: Paid) -> str:
    """One sentence on what a release was paid with and what is left."""
    state, held = budget.state, paid.reservation
    if paid.repeated:
        return f"The stored answer to request {held.key!r}; nothing was drawn or spent."
    cost = "paid before" if not any(held.charged.values()) else _share(_largest(held.charged, state.limits))
    left = f"{_share(money(state))} of the budget of {budget.dataset} is spent now"
    covered = plan.requirement.releases
    rest = f"; {held.units_left} of the plan's {covered} releases left" if covered > 1 else ""
    return f"Counted in {budget.ledger.place}: cost {cost}; {left}{rest}. Request key: {held.key}"
