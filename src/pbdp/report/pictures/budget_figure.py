"""A picture of budgets: how much of each is spent, release by release."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from pbdp.planning.pricing import Terms
from pbdp.report.pictures.canvas import COLORS, DASHES, name_ends, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pbdp.ledger.budget import Budget
    from pbdp.ledger.fold import DatasetState
    from pbdp.ledger.record import Entry


# Releases that are named, of all budgets, and characters of a name.
MOST_NAMED = 14
LONGEST = 34
# Below so many days the hours stand under the dates.
FEW_DAYS = 4


def draw_one(budget: Budget) -> Figure:
    """How much of one budget is spent, over time."""
    return draw_budget([(budget.state, list(budget.ledger.history(budget.dataset)))])


def draw_budget(budgets: Sequence[tuple[DatasetState, Sequence[Entry]]]) -> Figure:
    """The share of every budget that is spent, over time, with the limit as a line and the dearest named."""
    from matplotlib.dates import AutoDateLocator, DateFormatter, date2num

    figure, (panel,) = new_figure(1, 1, width=9.6, height=5.0)
    named: list[tuple[float, float, float, str, str]] = []
    for index, (state, entries) in enumerate(budgets):
        times = [np.datetime64(datetime.fromisoformat(entry.time).replace(tzinfo=None)) for entry in entries]
        terms = Terms.from_record(state.rule)
        shares = [100 * terms.share(entry.spent) for entry in entries]
        color = COLORS[index % len(COLORS)]
        panel.step(times, shares, where="post", color=color, linestyle=DASHES[index % len(DASHES)])
        panel.plot(times, shares, "o", color=color, markersize=4)
        of = f"{state.name}: " if len(budgets) > 1 else ""
        for place, entry in enumerate(entries):
            cost = shares[place] - (shares[place - 1] if place else 0.0)
            words = f"{of}{_what(entry)}"
            day = float(date2num(times[place]))  # type: ignore[no-untyped-call]
            if entry.kind != "dataset" or len(entries) == 1:
                named.append((cost, day, shares[place], words, color))
    panel.axhline(100, color="#000000", linewidth=1.2)
    panel.annotate(
        "limit",
        (0.01, 100),
        xycoords=("axes fraction", "data"),
        xytext=(0, -4),
        textcoords="offset points",
        va="top",
    )
    panel.set_ylim(0, 106)
    panel.set_ylabel("spent, per cent of the budget")
    panel.set_xlabel("date (UTC)")
    locator = AutoDateLocator(minticks=2, maxticks=5)  # type: ignore[no-untyped-call]
    panel.xaxis.set_major_locator(locator)
    first, last = panel.get_xlim()
    hours = "\n%H:%M:%S" if last - first < FEW_DAYS else ""
    panel.xaxis.set_major_formatter(DateFormatter(f"%d %b %Y{hours}"))  # type: ignore[no-untyped-call]
    title = budgets[0][0].name if len(budgets) == 1 else f"{len(budgets)} datasets"
    panel.set_title(f"Privacy budget of {title}")
    dearest = sorted(named, key=lambda one: -one[0])[:MOST_NAMED]
    name_ends(panel, [(x, y, words, color) for _, x, y, words, color in dearest])
    return figure


def _what(entry: Entry) -> str:
    """What was asked, in a few words."""
    if entry.kind == "dataset":
        return "budget given"
    words = " ".join((entry.query or entry.plan_label or entry.kind).split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
