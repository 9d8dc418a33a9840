"""What a published number says of the true answer: the likelihood of candidates, with an interval shaded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pbdp.digits import percent_down
from pbdp.figures.canvas import COLORS, new_figure
from pbdp.figures.likelihood_curve import LikelihoodCurve, likelihood_curve
from pbdp.planning.plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Points on the curve, and up to how many each answer gets a line of its own.
POINTS = 801
LINES = 120
SIZE = (9.6, 5.4)


def draw_likelihood(plan: Plan, published: float, confidence: float | None = None) -> Figure:
    """The likelihood of every likely answer, and the interval at a confidence (None: the plan's own)."""
    curve = likelihood_curve(plan, published, most=POINTS)
    interval = plan.releaser.intervals(np.array([float(published)]), confidence)
    figure, (panel,) = new_figure(1, 1)
    figure.set_size_inches(*SIZE)
    # whole numbers at the ends are inside, so half a unit more is shaded
    half = 0.5 if plan.requirement.integer else 0.0
    low, high = float(interval.low[0]) - half, float(interval.high[0]) + half
    _shade(
        panel, curve, low, high, f"holds the true answer with confidence {percent_down(interval.confidence)}"
    )
    _curve(panel, curve)
    panel.axvline(published, color=COLORS[1], lw=1.5, ls="--", label=f"published: {published:.12g}")
    asked = f"{plan.requirement.describe()}, {percent_down(plan.requirement.confidence)} of the time"
    panel.set(
        title=f"What {published:.12g} says of the true answer\n(plan: {asked})",
        xlabel="true answer",
        ylabel=f"likelihood: how often {published:.12g} is published",
    )
    panel.set_ylim(bottom=0)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def _shade(panel: Axes, curve: LikelihoodCurve, low: float, high: float, label: str) -> None:
    """The interval; an end that is infinite is that of the panel."""
    first, last = float(curve.answers[0]), float(curve.answers[-1])
    margin = 0.03 * (last - first) or 1.0
    left = first - margin if math.isinf(low) else low
    right = last + margin if math.isinf(high) else high
    panel.axvspan(left, right, color=COLORS[5], alpha=0.25, lw=0, label=label)
    panel.set_xlim(min(first, left) - margin, max(last, right) + margin)


def _curve(panel: Axes, curve: LikelihoodCurve) -> None:
    if len(curve.answers) <= LINES:
        panel.vlines(curve.answers, 0, curve.likelihood, color=COLORS[0], lw=3)
    else:
        panel.fill_between(curve.answers, curve.likelihood, color=COLORS[0], lw=0, step="mid")
