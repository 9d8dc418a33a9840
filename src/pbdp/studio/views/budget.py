"""Budget: what a ledger says of every dataset."""

from __future__ import annotations

from pbdp.studio.answer import Answer
from pbdp.studio.opened import Opened
from pbdp.studio.view import (
    NUMBER,
    TEXT,
    WHOLE,
    Described,
    Given,
    View,
    an_object,
    content,
    list_of,
    operation,
    ref,
    texts,
)


def _budget(opened: Opened, _: Given) -> Answer:
    from pbdp.studio.budgets import budget_view

    return Answer.of(budget_view(opened))


def _described() -> Described:
    entry = an_object(
        {
            "record": WHOLE,
            **texts("time", "what", "noise", "key", "cost_text", "spent_text"),
            "spent": NUMBER,
        }
    )
    dataset = an_object(
        {
            **texts("name", "epsilon_text", "delta_text", "neighbors", "note", "spent_text", "left_text"),
            "epsilon": NUMBER,
            "releases": WHOLE,
            "spent": NUMBER,
            "words": list_of(TEXT),
            "entries": list_of(entry),
            "more": WHOLE,
        }
    )
    budgets = {"ledger": TEXT, "notes": list_of(TEXT), "datasets": list_of(dataset)}
    return Described(
        schemas={"Budgets": an_object(budgets)},
        operations={"budget": operation("What the ledger says", content(ref("Budgets")))},
    )


BUDGET = View(name="budget", described=_described, tells={"budget": _budget}, needs="ledger")
