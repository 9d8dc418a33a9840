"""Figure 5: feasible (ε, δ) on a fixed range, and the loss that boosting adds to the kernel's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbdp.figures.canvas import COLORS, DASHES, legend_below, new_figure
from reproduction.experiment import Experiment, Row
from reproduction.ranges.fixed_range import (
    BOOSTED,
    BOUNDED,
    CLASSICAL,
    EACH,
    KERNEL_EPSILON,
    ONE,
    ONE_DELTA,
    ORDERS,
    OTHER_SIGMAS,
    RANGES,
    SENSITIVITIES,
    SENSITIVITY,
    SIGMA,
    cases,
    compute,
)
from reproduction.ranges.fixed_range_findings import findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(rows: list[Row]) -> Figure:
    """Left: epsilon against delta, a panel for each range. The rest: L1 against ρ, for each range and Δ."""
    figure, panels = new_figure(2, 3, width=4.6, height=5.0)
    for place, (low, high) in enumerate(RANGES):
        _profile_panel(panels[3 * place], [r for r in _drawn_profile(rows) if r["low"] == low])
        panels[3 * place].set_title(f"(a) S = [{low:g}, {high:g}], Δ = {SENSITIVITY:g}")
        for column, sensitivity in enumerate(SENSITIVITIES):
            panel = panels[3 * place + 1 + column]
            found = [
                row
                for row in rows
                if row["part"] == "b" and (row["low"], row["sensitivity"]) == (low, sensitivity)
            ]
            _added_panel(panel, [row for row in found if row["sigma"] == SIGMA])
            panel.set_title(f"(b) S = [{low:g}, {high:g}], Δ = {sensitivity:g}")
    return figure


def _drawn_profile(rows: list[Row]) -> list[Row]:
    return [
        row
        for row in rows
        if row["part"] == "a" and (row["kernel"], row["sensitivity"]) == (EACH, SENSITIVITY)
    ]


def _profile_panel(panel: Axes, rows: list[Row]) -> None:
    curves = [
        (mechanism, column, label)
        for column, label in (("epsilon_published", "as published"), ("epsilon_exact", "exact"))
        for mechanism, label in ((BOOSTED, f"boosted, {label}"), (BOUNDED, f"bounded (q = 1), {label}"))
    ]
    for index, (mechanism, column, label) in enumerate(curves):
        found: Any = [row for row in rows if row["mechanism"] == mechanism]
        style: Any = {"color": COLORS[index], "ls": DASHES[index], "marker": "osDv"[index], "ms": 4}
        panel.plot([row["delta"] for row in found], [row[column] for row in found], label=label, **style)
    panel.set(xscale="log", xlabel="δ", ylabel="ε (feasible above the curve)")
    panel.set_ylim(bottom=0)
    legend_below(panel)


def _added_panel(panel: Axes, rows: list[Row]) -> None:
    first: Any = [row for row in rows if row["order"] == ORDERS[0]]
    rho = [row["confidence"] for row in first]
    panel.plot(rho, [row["l1_published"] for row in first], color=COLORS[0], lw=2, label="L1 as published")
    if any(row["l1_mended"] != row["l1_published"] for row in first):
        mended = [row["l1_mended"] for row in first]
        panel.plot(rho, mended, color=COLORS[4], ls=DASHES[3], lw=2, label="L1, neighbor inside the range")
    for index, order in enumerate(ORDERS, start=1):
        found: Any = [row for row in rows if row["order"] == order and row["added_exact"] is not None]
        panel.plot(
            [row["confidence"] for row in found],
            [row["added_exact"] for row in found],
            color=COLORS[index],
            ls=DASHES[index],
            marker="osD"[index],
            ms=4,
            label=f"really added, α = {order:g}",
        )
    panel.axhline(0, color="0.4", lw=1)
    panel.set(xlabel=f"ρ (σ = {SIGMA:g})", ylabel="loss added to the kernel's")
    legend_below(panel)


EXPERIMENT = Experiment(
    number=5,
    name="5-feasible-region",
    title="Feasible (ε, δ) on a fixed range, and the loss that boosting adds",
    claim="(a) On a fixed range, soft bounds (q < 1) make values of (ε, δ) feasible that a bounded "
    "Gaussian (q = 1) with "
    "the same kernel cannot reach: ε0 = 0.1, ρ = 0.8. (b) With the kernel's variance fixed, ε = ε0 + L1 "
    "falls as "
    "ρ falls from 1 to 0.7; the decrease does not depend on α and is larger for a narrower range and a "
    "larger Δ. "
    "The authors bound the loss by the kernel's plus L1, for an answer at the end of the range and its "
    "neighbor Δ "
    "further in.",
    chosen=f"Not given: in (a) the ranges, Δ, and at which δ the kernel has ε0 = {KERNEL_EPSILON:g}. "
    f"Chosen: the ranges of "
    f"(b), Δ = {SENSITIVITY:g}, and for each δ the Gaussian with exactly ({KERNEL_EPSILON:g}, δ). Varied: "
    f"Δ = 4; one "
    f"kernel with δ = {ONE_DELTA:g} for the whole curve ({ONE}); the classical σ ({CLASSICAL}). In (b) σ "
    f"is not given. "
    f"Chosen: {SIGMA:g}; varied: {', '.join(f'{sigma:g}' for sigma in OTHER_SIGMAS)}. Exact figures are "
    f"worked out to "
    "one part in a thousand, upper and lower values are in the CSV.",
    cases=cases,
    compute=compute,
    draw=draw,
    findings=findings,
)
