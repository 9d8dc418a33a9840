"""What a ledger says of each dataset: what was spent, on what, what is left, and prices. It is only read."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from pbdp.digits import delta_text, epsilon_text, percent_down, percent_up
from pbdp.errors import InputError, PbdpError
from pbdp.ledger.budget import Budget
from pbdp.ledger.ledger import Ledger
from pbdp.ledger.record import Entry
from pbdp.planning.pricing import Price, Priced, Terms
from pbdp.studio.explore import plan_of
from pbdp.studio.form import Form, read_form
from pbdp.studio.opened import Opened
from pbdp.studio.words import noise_words

Record = dict[str, Any]
# Spends that are listed for each dataset, the last ones, and characters of a query.
MOST_LISTED = 200
LONGEST = 160


def budget_view(opened: Opened) -> Record:
    """Every budget of the ledger, with its last spends."""
    with opened.read_ledger() as ledger:
        budgets = [_budget(ledger, state.name) for state in ledger.datasets()]
        return {"ledger": ledger.place, "notes": list(ledger.notes), "datasets": budgets}


def _budget(ledger: Ledger, name: str) -> Record:
    budget = Budget.of(ledger, name)
    state, terms = budget.state, budget.terms
    spent = terms.share(state.spent)
    last: deque[Entry] = deque(maxlen=MOST_LISTED)
    count = 0
    for entry in ledger.history(name):
        last.append(entry)
        count += 1
    return {
        "name": name,
        "epsilon": terms.epsilon,
        "epsilon_text": epsilon_text(terms.epsilon),
        "delta_text": delta_text(terms.delta),
        "neighbors": state.neighbors,
        "note": state.note or "",
        "releases": state.releases,
        "spent": spent,
        "spent_text": percent_up(spent),
        "left_text": left_words(spent),
        "words": budget.describe().split("\n")[1:],
        "entries": [_entry(terms, entry) for entry in last],
        "more": count - len(last),
    }


def _entry(terms: Terms, entry: Entry) -> Record:
    cost = terms.share_of_cost(entry.cost, entry.spent) if any(entry.cost.values()) else 0.0
    spent = terms.share(entry.spent)
    return {
        "record": entry.sequence,
        "time": entry.time[:19],
        "what": _what(entry),
        "noise": noise_words(entry.plan_label or ""),
        "key": entry.key or "",
        "cost_text": percent_up(cost) if cost else "",
        "spent": spent,
        "spent_text": percent_up(spent),
    }


def _what(entry: Entry) -> str:
    """What was asked, in a few words."""
    if entry.kind == "dataset":
        return "budget given"
    words = " ".join((_table_words(entry.query) or entry.query or entry.note or entry.kind).split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def _table_words(query: str | None) -> str:
    """The measures and groups of a table, whose query is stored as a record."""
    try:
        record = json.loads(query or "")
        names = ", ".join(measure["name"] for measure in record["measures"])
        by = ", ".join(record["by"]["columns"])
    except (ValueError, LookupError, TypeError):
        return ""
    return f"table: {names}{f' by {by}' if by else ''}"


def left_words(spent: float) -> str:
    """What is left of a budget, never more than there is."""
    return percent_down(max(0.0, 1.0 - spent))


def price_view(opened: Opened, form: Form) -> Record:
    """What a plan would cost in each budget; nothing is spent."""
    plan = plan_of(read_form(form))
    with opened.read_ledger() as ledger:
        return {"prices": [priced(Budget.of(ledger, state.name), plan) for state in ledger.datasets()]}


def blocks_in(given: Mapping[str, Any]) -> list[str] | None:
    """The blocks of people that a request names; None for all of them."""
    blocks = given.get("blocks")
    if blocks is not None and not (isinstance(blocks, list) and all(isinstance(one, str) for one in blocks)):
        raise InputError("blocks", "a list of names", type(blocks).__name__)
    return blocks


def priced(budget: Budget, plan: Priced, blocks: list[str] | None = None) -> Record:
    """The price of a plan in a budget, or why it would be refused."""
    try:
        price = budget.price(plan, blocks=blocks)
        return {"dataset": budget.dataset, **_price(price)}
    except PbdpError as refusal:
        spent = budget.spent
        return {
            "dataset": budget.dataset,
            "fits": False,
            "share": None,
            "share_text": "",
            "before": spent,
            "before_text": percent_up(spent),
            "after": None,
            "after_text": "",
            "left_text": left_words(spent),
            "words": str(refusal),
        }


def _price(price: Price) -> Record:
    share, after, before = price.share, price.spent_after, price.spent_before
    return {
        "fits": price.fits,
        "share": share,
        "share_text": "" if share is None else percent_up(share),
        "before": before,
        "before_text": percent_up(before),
        "after": after,
        "after_text": "" if after is None else percent_up(after),
        "left_text": left_words(before if after is None else after),
        "words": noise_words(price.describe()),
    }
