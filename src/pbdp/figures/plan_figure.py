"""A plan in four panels: its noise, the privacy profiles, and what more or less accuracy would cost.

Of a plan for several requirements the noise of each is shown, and what it would cost alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pbdp.accounting.exact.all_neighbors import listed_neighbors
from pbdp.accounting.exact.divergences import largest_deltas
from pbdp.accounting.exact.pairs import neighbors
from pbdp.digits import percent_down, rounded_up
from pbdp.errors import PbdpError
from pbdp.figures.canvas import COLORS, DASHES, new_figure, save
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.limit.of_plan import limit_of
from pbdp.planning.plan import Certified, Part, Plan, number_design
from pbdp.planning.planner import certified_like
from pbdp.planning.together.joint import noise_epsilon, release_of
from pbdp.planning.vectors.ask import vector_plan
from pbdp.planning.vectors.spherical import SphericalDesign

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Laws that are drawn beside the chosen one, and points on a curve.
MOST_CURVES = 5
POINTS = 9
EXAMPLE_ANSWER = 1000
# Lengths of vectors are shown up to so many times the width, in cells.
LENGTHS, CELLS = 2.0, 200


def draw_plan(plan: Plan, path: Path) -> None:
    """Draw a plan into a file."""
    save(_of_parts(plan) if plan.is_joint else _of_one(plan), path)


def _of_one(plan: Plan) -> Figure:
    figure, panels = new_figure(2, 2)
    shown = (plan.chosen, *plan.others[:MOST_CURVES])
    _noise(panels[0], plan.only)
    if isinstance(plan.mechanism, Design):
        _profiles(panels[1], plan, shown)
    else:
        _bars(panels[1], [(entry.design.name, entry.certificate.epsilon) for entry in shown])
    designs = [entry.design for entry in shown]
    _price_of_width(panels[2], plan, designs)
    _price_of_confidence(panels[3], plan, designs)
    figure.suptitle(
        f"{plan.requirement.describe()}, {percent_down(plan.requirement.confidence)} confidence: "
        f"epsilon {rounded_up(plan.epsilon)} ({plan.mechanism.name})"
    )
    return figure


def _of_parts(plan: Plan) -> Figure:
    """The noise of every part, and what each would cost by itself."""
    figure, panels = new_figure(-(-(len(plan.parts) + 1) // 2), 2)
    for panel, part in zip(panels, plan.parts, strict=False):
        _noise(panel, part)
    alone = []
    for part in plan.parts:
        found, _ = noise_epsilon([(release_of(part), part.releases)], part.requirement.delta or 0.0)
        alone.append((f"{part.name} alone", found.upper))
    _bars(panels[len(plan.parts)], [*alone, ("all together", plan.epsilon)])
    for panel in panels[len(plan.parts) + 1 :]:
        panel.set_axis_off()
    figure.suptitle(
        f"{len(plan.parts)} requirements together: epsilon {rounded_up(plan.epsilon)} at delta {plan.delta:g}"
    )
    return figure


def _bars(panel: Axes, epsilons: list[tuple[str, float]]) -> None:
    """An epsilon each, from above; one that is infinite has no bar."""
    finite = [epsilon for _, epsilon in epsilons if math.isfinite(epsilon)]
    for row, (name, epsilon) in enumerate(epsilons):
        if math.isfinite(epsilon):
            panel.barh(row, epsilon, height=0.4, color=COLORS[row % len(COLORS)])
        panel.annotate(f"{name}: {rounded_up(epsilon)}", (0.0, row - 0.25), va="bottom", fontsize=10)
    panel.set(
        title="Privacy loss",
        xlabel="epsilon",
        xlim=(0, 1.1 * max(finite)),
        ylim=(len(epsilons) - 0.5, -1.0),
        yticks=[],
    )


def _noise(panel: Axes, part: Part) -> None:
    """The probability of each output around an answer, or of each length, with the region shaded."""
    requirement = part.requirement
    coordinates = requirement.coordinates
    if isinstance(part.design, SphericalDesign):
        _length(panel, requirement, part.design)
    else:
        low, high = (requirement.bounds or requirement.region).answers
        answer = EXAMPLE_ANSWER if low <= EXAMPLE_ANSWER <= high else int((low + high) / 2)
        law = part.law_at(answer)
        below, above = (float(offset) for offset in requirement.region.offsets(float(answer)))
        kept = law.probability > 1e-3 * law.probability.max()
        # a sum over the coordinates says nothing of one of them
        if coordinates is None or coordinates.norm == "linf":
            _shade(panel, answer - below, answer + above)
        if np.count_nonzero(kept) <= 120:
            panel.vlines(law.output[kept], 0, law.probability[kept], color=COLORS[0], lw=3)
        else:
            panel.fill_between(law.output[kept], law.probability[kept], color=COLORS[0], lw=0, step="mid")
        truth = "the truth" if coordinates is None else "a coordinate of the truth"
        panel.set(
            title=f"{part.name or 'Noise'}: what is published when {truth} is {answer}",
            xlabel="published number",
            ylabel="probability",
        )
    panel.set_ylim(bottom=0)
    if panel.get_legend_handles_labels()[0]:
        panel.legend(loc="upper right")


def _length(panel: Axes, requirement: Requirement, design: SphericalDesign) -> None:
    """How long the noise of a whole vector is: shares of its law in cells of equal width."""
    edges = np.linspace(0.0, LENGTHS * requirement.half_width, CELLS + 1)
    share = np.diff(design.length_below(requirement, edges))
    _shade(panel, 0.0, requirement.half_width)
    panel.fill_between(edges[1:], share, color=COLORS[0], lw=0, step="pre")
    panel.set(
        title="Noise: its Euclidean length, the same in all directions",
        xlabel="length",
        ylabel=f"probability, in cells of {edges[1]:.3g}",
    )


def _shade(panel: Axes, low: float, high: float) -> None:
    panel.axvspan(low, high, color=COLORS[5], alpha=0.25, lw=0, label="meets the requirement")


def _profiles(panel: Axes, plan: Plan, shown: tuple[Certified, ...]) -> None:
    """delta against epsilon, for one number, of the laws that only move with the answer."""
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
        total = None if plan.releases == 1 else f"all {plan.releases} together"
        panel.plot([plan.epsilon], [plan.delta], "o", color=COLORS[0], label=total)
    panel.set(
        title="Privacy profile"
        if plan.releases == 1
        else f"Privacy profile of one of {plan.releases} numbers",
        xlabel="epsilon",
        ylabel="delta",
        yscale="log",
        ylim=(floor, 1),
        xlim=(0, most),
    )
    panel.legend(loc="upper right", fontsize=9)


def _steps(plan: Plan, design: AnyDesign) -> int:
    return design.grid.sensitivity_in_steps(plan.requirement.sensitivity)


def _price_of_width(panel: Axes, plan: Plan, designs: list[AnyDesign]) -> None:
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


def _price_of_confidence(panel: Axes, plan: Plan, designs: list[AnyDesign]) -> None:
    """epsilon against the confidence, the rest of the requirement kept."""
    log_odds = math.log(plan.requirement.confidence / (1 - plan.requirement.confidence))
    points = 1 / (1 + np.exp(-np.linspace(log_odds - 2, log_odds + 2, POINTS)))
    requirements = [(float(c), replace(plan.requirement, confidence=float(c))) for c in points]
    _prices(panel, plan, designs, requirements, "confidence")
    panel.set(title="What more or less confidence costs")


def _prices(
    panel: Axes,
    plan: Plan,
    designs: list[AnyDesign],
    requirements: list[tuple[float, Requirement]],
    label: str,
) -> None:
    """One curve a law; the plan itself is marked."""
    curves: list[list[tuple[float, float]]] = [[] for _ in designs]
    limits: list[tuple[float, float]] = []
    for x, requirement in sorted(dict(requirements).items()):
        prices = _epsilons(designs, requirement)
        for price, curve in zip(prices, curves, strict=True):
            if price:  # the scale is logarithmic
                curve.append((x, price))
        reached = [price for price in prices if price is not None]
        known = limit_of(requirement, min(reached)) if reached and requirement.coordinates is None else None
        if known is not None:
            limits.append((x, known.epsilon))
    for index, (design, curve) in enumerate(zip(designs, curves, strict=True)):
        if curve:
            xs, ys = zip(*curve, strict=True)
            panel.plot(xs, ys, color=COLORS[index], ls=DASHES[index], marker=".", label=design.name)
    if limits:
        panel.plot(*zip(*limits, strict=True), color="black", lw=4, alpha=0.25, label="proven limit")
    panel.set(xlabel=label, ylabel="epsilon", yscale="log" if plan.epsilon > 0 else "linear")
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter("{x:g}")
    panel.axhline(plan.epsilon, color="0.4", lw=1)
    panel.annotate(
        "this plan", (0.01, plan.epsilon), xycoords=("axes fraction", "data"), va="bottom", color="0.3"
    )
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize=9)


def _epsilons(designs: list[AnyDesign], requirement: Requirement) -> list[float | None]:
    """What the law of each design would cost for another requirement."""
    if all(isinstance(design, Design) for design in designs):
        return [_epsilon(number_design(design), requirement) for design in designs]
    try:
        made = vector_plan(requirement)
    except PbdpError:
        return [None for _ in designs]
    known = {entry.design.name: entry.certificate.epsilon for entry in (made.chosen, *made.others)}
    return [known.get(design.name) for design in designs]


def _epsilon(design: Design, requirement: Requirement) -> float | None:
    try:
        entry = certified_like(design, requirement)
    except PbdpError:
        return None
    return None if entry is None else entry.certificate.epsilon
