"""A comparison of two groups: how often a difference is found, how wide intervals are, and what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pbdp.comparing.compared import Compared
from pbdp.comparing.plan import ComparisonPlan
from pbdp.digits import percent_down, percent_up, rounded_up
from pbdp.report.pictures.canvas import COLORS, DASHES, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Changes at which the power is computed, from none to so many widths.
POINTS, WIDTHS = 13, 2.2
WITH, WITHOUT = "with noise", "without noise"


def plan_figure(plan: ComparisonPlan) -> Figure:
    """The power, and the widths of intervals, each with and without noise."""
    figure, panels = new_figure(1, 2)
    _power(panels[0], plan)
    _widths(panels[1], plan)
    words = plan.asked.describe()
    figure.suptitle(f"{words[0].upper()}{words[1:]}\nepsilon {rounded_up(plan.epsilon)}")
    return figure


def half_widths(plan: ComparisonPlan) -> tuple[float, float]:
    """Half the width of the interval, as planned: with noise and without it."""
    asked = plan.asked
    return asked.width(plan.analysis), asked.width(asked.without)


def _power(panel: Axes, plan: ComparisonPlan) -> None:
    asked = plan.asked
    base = asked.planned[1]
    reach = half_widths(plan)[0] * (base if asked.measure == "ratio" else 1.0)
    furthest = min(max(asked.lift, WIDTHS * reach), (1 - base) * 0.999 if asked.counted else np.inf)
    changes = np.linspace(0, furthest, POINTS)
    for place, (analysis, name) in enumerate(((plan.analysis, WITH), (asked.without, WITHOUT))):
        found = [100 * asked.power_at(analysis, base + change, base) for change in changes.tolist()]
        panel.plot(changes, found, color=COLORS[place], linestyle=DASHES[place], label=name)
    panel.axhline(100 * asked.missed, color="0.6", linewidth=0.8)
    if asked.lift:
        panel.axvline(asked.lift, color="0.4", linewidth=0.8)
        panel.annotate(
            f"planned lift: {percent_down(plan.power(*asked.planned))}",
            (asked.lift, 10),
            xytext=(4, 0),
            textcoords="offset points",
            fontsize=10,
        )
    panel.set(
        title="How often a difference is found",
        xlabel=f"first {asked.one} minus second, which is {base:g}",
        ylabel="per cent",
        xlim=(0, furthest),
        ylim=(0, 102),
    )
    panel.locator_params(axis="x", nbins=5)
    panel.legend(frameon=False, fontsize=10, loc="center right")


def _widths(panel: Axes, plan: ComparisonPlan) -> None:
    noisy, clear = half_widths(plan)
    unit = "of the ratio r, as r / (1 + r)" if plan.asked.measure == "ratio" else "of the difference"
    panel.set(title=f"Intervals {unit}: plus and minus")
    rows = [(WITH, noisy, COLORS[0]), (WITHOUT, clear, "0.7")]
    for place, (_, width, color) in enumerate(rows):
        panel.barh(place, width, height=0.6, color=color)
        panel.annotate(f"{width:.4g}", (width, place), xytext=(5, 0), textcoords="offset points", va="center")
    panel.set_yticks(range(2), [name for name, _, _ in rows])
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False)
    first, second = plan.users
    panel.annotate(
        f"{percent_up(max(plan.wider, 0.0))} wider: without noise, groups\nsmaller by {first:,} and "
        f"{second:,} would do as well",
        (0.02, 0.06),
        xycoords="axes fraction",
        fontsize=10,
    )
    panel.set(xlim=(0, 1.3 * max(noisy, clear)), ylim=(3.2, -0.8))


def compared_figure(found: Compared) -> Figure:
    """The interval, how wide it would be without noise, and where no difference would be."""
    figure, (panel,) = new_figure(1, 1, width=8.4, height=2.6)
    interval = found.interval
    noisy, clear = half_widths(found.plan)
    for place, (part, color) in enumerate(((1.0, COLORS[0]), (clear / noisy, "0.7"))):
        low = interval.estimate - part * (interval.estimate - interval.low)
        high = interval.estimate + part * (min(interval.high, _cap(found)) - interval.estimate)
        panel.plot([low, high], [place, place], color=color, linewidth=4, solid_capstyle="butt")
        panel.plot([interval.estimate], [place], "o", color=color, markersize=7)
    panel.axvline(found.none, color="#000000", linewidth=1)
    panel.set_yticks([0, 1], ["published", "as wide without noise"])
    panel.set(ylim=(1.7, -0.7), xlabel=f"{found.measure} of the two {found.plan.asked.kind}")
    first, second = (f"{level:.4g}" for level in found.levels)
    verdict = "a difference is found" if found.decided else "no difference is found"
    figure.suptitle(f"{first} and {second}: {verdict}")
    return figure


def _cap(found: Compared) -> float:
    """How far intervals are drawn: a ratio without an upper end as far as three times its estimate."""
    if found.measure == "difference":
        return np.inf
    return 3 * found.estimate if np.isfinite(found.estimate) else 3.0
