"""A picture of budgets: how much of each is spent, release by release."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from pbdp.figures.canvas import COLORS, DASHES, new_figure
from pbdp.planning.pricing import Terms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pbdp.ledger.book import DatasetState, Entry


def draw_budget(budgets: Sequence[tuple[DatasetState, Sequence[Entry]]]) -> Figure:
    """The share of every budget that is spent, over time, with the limit as a line."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    figure, (panel,) = new_figure(1, 1)
    for index, (state, entries) in enumerate(budgets):
        times = [np.datetime64(datetime.fromisoformat(entry.time).replace(tzinfo=None)) for entry in entries]
        terms = Terms.from_record(state.rule)
        shares = [100 * terms.share(entry.spent) for entry in entries]
        color = COLORS[index % len(COLORS)]
        panel.step(
            times, shares, where="post", color=color, linestyle=DASHES[index % len(DASHES)], label=state.name
        )
        panel.plot(times, shares, "o", color=color, markersize=4)
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
    panel.set_xlabel("time (UTC)")
    locator = AutoDateLocator(maxticks=6)  # type: ignore[no-untyped-call]
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    panel.set_title("Privacy budget over time")
    if budgets:
        panel.legend(loc="best", frameon=False)
    return figure
