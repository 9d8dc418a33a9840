"""Pictures of surveys: estimates with their intervals, and mechanisms compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pbdp.digits import percent_down, rounded_up
from pbdp.errors import InputError
from pbdp.figures.canvas import COLORS, new_figure, say
from pbdp.local.estimate import Estimate
from pbdp.local.goal import Within
from pbdp.local.plan import LocalPlan
from pbdp.noise.kernel import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More names than these are not legible below an axis.
MOST_NAMES = 24


def draw_estimates(*estimates: Estimate, truth: Array | None = None) -> Figure:
    """A panel for each estimate: shares with their intervals, and the truth beside one if it is known."""
    if not estimates or (truth is not None and len(estimates) != 1):
        raise InputError("estimates", "one or more, and one beside a truth", len(estimates))
    figure, panels = new_figure(1, len(estimates))
    for panel, made in zip(panels, estimates, strict=True):
        _intervals(panel, made, truth)
    users = estimates[0].users
    refused = sum(estimates[0].refused.values())
    title = f"{users:,} reports" + (f", {refused:,} refused" if refused else "")
    mark = "; from a test seed, not private" if estimates[0].insecure_test else ""
    figure.suptitle(title + mark)
    return figure


def _intervals(panel: Axes, made: Estimate, truth: Array | None) -> None:
    places, percent = np.arange(len(made.names)), 100 / made.users
    said = [("estimate (projected: biased)" if made.biased else "estimate", COLORS[1])]
    said.append((f"{percent_down(made.confidence)} interval ({made.method})", COLORS[0]))
    if truth is not None:
        panel.step(places, truth * percent, where="mid", color=COLORS[6])
        said.append(("truth", COLORS[6]))
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
    panel.plot(places, 100 * made.share, "o", ms=3, color=COLORS[1])
    panel.axhline(0, color="0.4", lw=1)
    shown = places[:: max(1, -(-len(places) // MOST_NAMES))]
    panel.set_xticks(shown, [str(made.names[place]) for place in shown], rotation=60, ha="right", fontsize=8)
    panel.set(title=f"Share of each {made.kind}", ylabel="per cent of people")
    low, high = panel.get_ylim()
    panel.set_ylim(low, high + 0.07 * len(said) * (high - low))
    say(panel, *said)


def draw_comparison(plan: LocalPlan) -> Figure:
    """The mechanisms that a plan compared: by epsilon if an accuracy was asked for, else by error."""
    figure, (panel,) = new_figure(1, 1)
    entries = [entry for entry in (plan.chosen, *plan.others) if np.isfinite(entry.cost)]
    by_epsilon = isinstance(plan.goal, Within)
    lengths = [entry.epsilon if by_epsilon else float(np.sqrt(entry.cost)) for entry in entries]
    places = np.arange(len(entries))[::-1]
    panel.barh(places, lengths, color=[COLORS[0], *(["0.7"] * (len(entries) - 1))])
    for place, length in zip(places, lengths, strict=True):
        panel.annotate(f" {rounded_up(length)}", (length, place), va="center")
    panel.set_yticks(places, [entry.family for entry in entries])
    label = "epsilon that meets the accuracy" if by_epsilon else "error of shares x square root of users"
    panel.set(xlabel=label, title=f"Chosen: {plan.chosen.family}, epsilon {rounded_up(plan.epsilon)}")
    panel.margins(x=0.15)
    return figure
