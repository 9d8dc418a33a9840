"""A plan in four panels: its noise, the privacy profiles, and what more or less accuracy would cost."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pbdp.accounting.exact.divergences import largest_deltas
from pbdp.accounting.exact.neighbors import listed_neighbors
from pbdp.accounting.exact.pairs import neighbors
from pbdp.digits import percent_down, rounded_up
from pbdp.errors import PbdpError
from pbdp.figures.canvas import COLORS, DASHES, new_figure, save
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.limit.of_plan import limit_of
from pbdp.planning.plan import Certified, Plan, number_design
from pbdp.planning.planner import certified_like

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Laws that are drawn beside the chosen one, and points on a curve.
MOST_CURVES = 5
POINTS = 9
EXAMPLE_ANSWER = 1000


def draw_plan(plan: Plan, path: Path) -> None:
    """Draw a plan into a file."""
    figure, panels = new_figure(2, 2)
    shown = (plan.chosen, *plan.others[:MOST_CURVES])
    _noise(panels[0], plan)
    _profiles(panels[1], plan, shown)
    designs = [number_design(entry.design) for entry in shown]
    _price_of_width(panels[2], plan, designs)
    _price_of_confidence(panels[3], plan, designs)
    figure.suptitle(
        f"{plan.requirement.describe()}, {percent_down(plan.requirement.confidence)} confidence: "
        f"epsilon {rounded_up(plan.epsilon)} ({plan.mechanism.name})"
    )
    save(figure, path)


def _noise(panel: Axes, plan: Plan) -> None:
    """The probability of each output around an answer, with the region shaded."""
    low, high = plan.requirement.region.answers
    answer = EXAMPLE_ANSWER if low <= EXAMPLE_ANSWER <= high else int((low + high) / 2)
    law = plan.law_at(answer)
    below, above = (float(offset) for offset in plan.requirement.region.offsets(float(answer)))
    kept = law.probability > 1e-3 * law.probability.max()
    panel.axvspan(
        answer - below, answer + above, color=COLORS[5], alpha=0.25, lw=0, label="meets the requirement"
    )
    if np.count_nonzero(kept) <= 120:
        panel.vlines(law.output[kept], 0, law.probability[kept], color=COLORS[0], lw=3)
    else:
        panel.fill_between(law.output[kept], law.probability[kept], color=COLORS[0], lw=0, step="mid")
    panel.set(
        title=f"Noise: what is published when the truth is {answer}",
        xlabel="published number",
        ylabel="probability",
    )
    panel.set_ylim(bottom=0)
    panel.legend(loc="upper right")


def _profiles(panel: Axes, plan: Plan, shown: tuple[Certified, ...]) -> None:
    """delta against epsilon of the laws that only move with the answer."""
    most = max(2.0 * plan.epsilon, 1e-6)
    epsilon = np.linspace(0.0, most, 160)
    for index, entry in enumerate(shown):
        listed = listed_neighbors(number_design(entry.design).mechanism, _steps(plan, entry.design))
        if listed is None:
            continue
        mechanism = number_design(entry.design).mechanism
        _, upper = partial(largest_deltas, mechanism, neighbors(mechanism, *listed))(epsilon)
        panel.plot(
            epsilon,
            np.maximum(upper, 1e-300),
            color=COLORS[index],
            ls=DASHES[index],
            label=entry.design.name,
        )
    floor = (plan.delta or 1e-6) * 1e-3
    if plan.delta is not None:
        panel.axhline(plan.delta, color="0.4", lw=1)
        panel.annotate(f"delta {plan.delta:g}", (most, plan.delta), ha="right", va="bottom", color="0.3")
        panel.plot([plan.epsilon], [plan.delta], "o", color=COLORS[0])
    panel.set(
        title="Privacy profile",
        xlabel="epsilon",
        ylabel="delta",
        yscale="log",
        ylim=(floor, 1),
        xlim=(0, most),
    )
    panel.legend(loc="upper right", fontsize=9)


def _steps(plan: Plan, design: AnyDesign) -> int:
    return design.grid.sensitivity_in_steps(plan.requirement.sensitivity)


def _price_of_width(panel: Axes, plan: Plan, designs: list[Design]) -> None:
    """epsilon against the width, the rest of the requirement kept."""
    region = plan.requirement.region
    factors = np.geomspace(0.4, 2.5, POINTS)
    requirements: list[tuple[float, Requirement]] = []
    for factor in factors:
        scaled = region.scaled(float(factor), plan.requirement.integer)
        if scaled is not None:
            x = float(np.mean(scaled.offsets(0.0))) if region.follows_answer else float(factor)
            requirements.append((x, replace(plan.requirement, region=scaled)))
    label = "width" if region.follows_answer else "width, as a multiple of the one asked for"
    _prices(panel, plan, designs, requirements, label)
    panel.set(title="What a wider or narrower width costs")


def _price_of_confidence(panel: Axes, plan: Plan, designs: list[Design]) -> None:
    """epsilon against the confidence, the rest of the requirement kept."""
    log_odds = math.log(plan.requirement.confidence / (1 - plan.requirement.confidence))
    points = 1 / (1 + np.exp(-np.linspace(log_odds - 2, log_odds + 2, POINTS)))
    requirements = [(float(c), replace(plan.requirement, confidence=float(c))) for c in points]
    _prices(panel, plan, designs, requirements, "confidence")
    panel.set(title="What more or less confidence costs")


def _prices(
    panel: Axes,
    plan: Plan,
    designs: list[Design],
    requirements: list[tuple[float, Requirement]],
    label: str,
) -> None:
    """One curve a law; the plan itself is marked."""
    curves: list[list[tuple[float, float]]] = [[] for _ in designs]
    limits: list[tuple[float, float]] = []
    for x, requirement in sorted(dict(requirements).items()):
        prices: list[float] = []
        for design, curve in zip(designs, curves, strict=True):
            price = _price(design, requirement)
            if price is not None:
                prices.append(price)
                curve.append((x, price))
        known = limit_of(requirement, min(prices)) if prices else None
        if known is not None:
            limits.append((x, known.epsilon))
    for index, (design, curve) in enumerate(zip(designs, curves, strict=True)):
        if curve:
            xs, ys = zip(*curve, strict=True)
            panel.plot(xs, ys, color=COLORS[index], ls=DASHES[index], marker=".", label=design.name)
    if limits:
        panel.plot(*zip(*limits, strict=True), color="black", lw=4, alpha=0.25, label="proven limit")
    panel.set(xlabel=label, ylabel="epsilon", yscale="log")
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter("{x:g}")
    panel.axhline(plan.epsilon, color="0.4", lw=1)
    panel.annotate(
        "this plan", (0.01, plan.epsilon), xycoords=("axes fraction", "data"), va="bottom", color="0.3"
    )
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize=9)


def _price(design: Design, requirement: Requirement) -> float | None:
    """What the law of a design would cost for another requirement."""
    try:
        entry = certified_like(design, requirement)
    except PbdpError:
        return None
    return None if entry is None else entry.certificate.epsilon
