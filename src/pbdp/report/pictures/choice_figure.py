"""A plan that chooses: what an option's distance from another means, and its epsilon against others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbdp.choosing.plan import ChoicePlan
from pbdp.digits import percent_down, rounded_up
from pbdp.report.pictures.canvas import COLORS, new_figure
from pbdp.report.pictures.cards import choice_bars
from pbdp.report.pictures.plan_figure import bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def choice_figure(plan: ChoicePlan) -> Figure:
    """What an option's distance from the best, or from another, means for it, and what that costs."""
    figure, panels = new_figure(1, 2)
    title, unit, shown, chances = plan.way.chances(plan.scale)
    panels[0].axvspan(0, plan.within, color=COLORS[0], alpha=0.12, lw=0)
    panels[0].annotate("near enough", (plan.within / 2, 0.97), ha="center", va="top")
    panels[0].plot(shown * plan.scale.step, chances, color=COLORS[0])
    panels[0].set(
        title=title, xlabel=unit, xlim=(0, max(shown[-1] * plan.scale.step, plan.within)), ylim=(0, 1.02)
    )
    bars(panels[1], choice_bars(plan))
    asked = plan.asked
    best = (
        "the best"
        if asked.top == 1
        else "an order"
        if asked.top == asked.options
        else f"the best {asked.top}"
    )
    figure.suptitle(
        f"{best} of {asked.options:,}, within {plan.within:g}, {percent_down(plan.confidence)} of the "
        f"time: epsilon {rounded_up(plan.epsilon)}"
    )
    return figure
