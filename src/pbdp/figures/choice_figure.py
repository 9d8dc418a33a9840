"""A plan that chooses: the coins of options behind the best, and its epsilon against others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pbdp.choosing.plan import ChoicePlan
from pbdp.digits import percent_down, rounded_up
from pbdp.figures.canvas import COLORS, new_figure
from pbdp.figures.cards import choice_bars
from pbdp.figures.plan_figure import bars
from pbdp.mechanism.weights import TOTAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def choice_figure(plan: ChoicePlan) -> Figure:
    """What an option's distance from the best means for it, and what that costs."""
    figure, panels = new_figure(1, 2)
    shown = min(2 * plan.scale.gap, plan.coins.last)
    gaps = np.unique(np.linspace(0, shown, 500).astype(np.int64))
    panels[0].axvspan(0, plan.within, color=COLORS[0], alpha=0.12, lw=0)
    panels[0].annotate("near enough", (plan.within / 2, 0.97), ha="center", va="top")
    panels[0].plot(gaps * plan.scale.step, plan.coins.weights[gaps] / TOTAL, color=COLORS[0])
    panels[0].set(
        title="How likely an option's coin shows heads",
        xlabel="distance from the best score",
        xlim=(0, max(shown * plan.scale.step, plan.within)),
        ylim=(0, 1.02),
    )
    bars(panels[1], choice_bars(plan))
    best = "the best" if plan.asked.top == 1 else f"the best {plan.asked.top}"
    figure.suptitle(
        f"{best} of {plan.asked.options:,}, within {plan.within:g}, {percent_down(plan.confidence)} of the "
        f"time: epsilon {rounded_up(plan.epsilon)}"
    )
    return figure
