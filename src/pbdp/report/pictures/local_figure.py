"""Pictures of surveys: estimates with their intervals, and mechanisms compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pbdp.digits import percent_down, rounded_down, rounded_up
from pbdp.local import (
    Distribution,
    Estimate,
    LeastError,
    LeastMeanError,
    LeastShapeError,
    LocalPlan,
    ReportWithin,
)
from pbdp.local.plan import Candidate
from pbdp.report.pictures.canvas import COLORS, new_figure, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More names than these are not legible below an axis.
MOST_NAMES = 24


def draw_estimates(made: Estimate) -> Figure:
    """Shares with their intervals."""
    figure, (panel,) = new_figure(1, 1)
    refused = sum(made.refused.values())
    title = f"{made.users:,} reports" + (f", {refused:,} refused" if refused else "")
    mark = "; from a test seed, not private" if made.insecure_test else ""
    figure.suptitle(title + mark)
    mean = made.kind == "mean"
    places, percent = np.arange(len(made.names)), (1 if mean else 100) / made.users
    said = [("estimate (projected: biased)" if made.biased else "estimate", COLORS[1])]
    said.append((f"{percent_down(made.confidence)} interval ({made.method})", COLORS[0]))
    # caps, because intervals may be shorter than a dot is wide
    panel.errorbar(
        places,
        (made.low + made.high) / 2 * percent,
        yerr=(made.high - made.low) / 2 * percent,
        fmt="none",
        ecolor=COLORS[0],
        elinewidth=1.5,
        capsize=6 if len(places) <= MOST_NAMES else 2,
    )
    panel.plot(places, made.people * percent, "o", ms=3, color=COLORS[1])
    if not mean:
        panel.axhline(0, color="0.4", lw=1)
    _name_places(panel, made.names)
    title, unit = ("Mean", "") if mean else (f"Share of each {made.kind}", "per cent of people")
    panel.set(title=title, ylabel=unit)
    low, high = panel.get_ylim()
    panel.set_ylim(low, high + 0.07 * len(said) * (high - low))
    say(panel, *said)
    return figure


def draw_distribution(found: Distribution) -> Figure:
    """Shares, and the cumulative curve with its intervals."""
    figure, (shares, curve) = new_figure(1, 2)
    places = np.arange(len(found.names))
    how = "smoothed: biased" if found.smoothed else "cut at zero: biased"
    shares.step(places, 100 * found.share, where="mid", color=COLORS[1])
    curve.fill_between(places, 100 * found.low, 100 * found.high, color=COLORS[0], alpha=0.25, lw=0)
    curve.plot(places, 100 * found.cumulative, color=COLORS[1])
    said = [(f"estimate ({how})", COLORS[1])]
    sure = [*said, (f"{percent_down(found.confidence)} interval ({found.method})", COLORS[0])]
    for panel, title, words in ((shares, "Share of each value", said), (curve, "Up to each value", sure)):
        _name_places(panel, found.names)
        panel.set(title=title, ylabel="per cent of people")
        low, high = panel.get_ylim()
        panel.set_ylim(min(low, 0), high + 0.07 * len(words) * (high - low))
        say(panel, *words)
    mark = "; from a test seed, not private" if found.insecure_test else ""
    figure.suptitle(f"{found.users:,} reports{mark}")
    return figure


def _name_places(panel: Axes, names: Sequence[object]) -> None:
    """Names below the axis, as many as are legible."""
    places = np.arange(len(names))
    shown = places[:: max(1, -(-len(places) // MOST_NAMES))]
    panel.set_xticks(shown, [str(names[place]) for place in shown], rotation=60, ha="right", fontsize=8)


def draw_comparison(plan: LocalPlan) -> Figure:
    """The mechanisms that a plan compared: by epsilon if an accuracy was asked for, else by error.

    A line is what no mechanism can go below, where that is known.
    """
    figure, (panel,) = new_figure(1, 1)
    entries = [entry for entry in (plan.chosen, *plan.others) if np.isfinite(entry.cost)]
    lengths = [_length(plan, entry) for entry in entries]
    places = np.arange(len(entries))[::-1]
    panel.barh(places, lengths, color=[COLORS[0], *(["0.7"] * (len(entries) - 1))])
    for place, length in zip(places, lengths, strict=True):
        panel.annotate(f" {rounded_up(length)}", (length, place), va="center")
    panel.set_yticks(places, [entry.name for entry in entries])
    if plan.limit is not None and plan.limit.value > 0:
        panel.axvline(plan.limit.value, color=COLORS[1], lw=1.5)
        panel.annotate(
            f"limit {rounded_down(plan.limit.value)}",
            (plan.limit.value, len(entries) - 0.5),
            xytext=(4, 0),
            textcoords="offset points",
            color=COLORS[1],
            fontsize=10,
        )
    panel.set(xlabel=_axis(plan), title=f"Chosen: {plan.chosen.name}, epsilon {rounded_up(plan.epsilon)}")
    panel.margins(x=0.15)
    return figure


def _length(plan: LocalPlan, entry: Candidate) -> float:
    if plan.goal.asks:
        return entry.epsilon
    squared = isinstance(plan.goal, LeastError | LeastMeanError)
    return float(np.sqrt(entry.cost)) if squared else entry.cost


def _axis(plan: LocalPlan) -> str:
    if plan.goal.asks:
        return "epsilon that meets the accuracy"
    if isinstance(plan.goal, ReportWithin):
        return "share of reports that are not near enough"
    if isinstance(plan.goal, LeastShapeError):
        return "distance from the truth (simulated)"
    return (
        "error of shares x square root of users"
        if isinstance(plan.goal, LeastError)
        else ("error of the mean x square root of users")
    )
