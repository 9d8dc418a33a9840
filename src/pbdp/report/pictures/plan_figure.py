"""A plan in two panels: its noise, and its epsilon against other noise and the proven limit.

In full, two more show the privacy profile and what other widths would cost. Of a plan for several
requirements the noise of each is shown, and what it would cost alone.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.filters.steps import design_release
from pbdp.digits import delta_text, percent_down, rounded_up
from pbdp.errors import PbdpError
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.candidates import BOOSTED
from pbdp.planning.limit.closed_form import limit_of
from pbdp.planning.plan import Part, Plan, number_design
from pbdp.planning.planner import certified_laws
from pbdp.planning.together.joint import noise_epsilon, release_of
from pbdp.planning.vectors.plan import vector_plan
from pbdp.report.pictures.canvas import COLORS, DASHES, name_ends, new_figure
from pbdp.report.pictures.cards import epsilon_bars
from pbdp.report.pictures.svg import Bar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Laws that are drawn beside the chosen one, and points on a curve.
MOST_CURVES = 3
# Laws whose epsilons differ by less have one curve.
APART = 1.05
POINTS = 9
# The largest confidence in the middle of a curve.
MOST_OFTEN = 1 - 1e-9
EXAMPLE_ANSWER = 1000
# Characters of a name on one line.
NAME_WIDTH = 22


def plan_figure(plan: Plan, *, full: bool = False) -> Figure:
    """The noise and what it costs; in full with its profile, and what other widths and confidences cost."""
    if plan.is_joint:
        return _of_parts(plan)
    figure, panels = new_figure(2, 2) if full else new_figure(1, 2)
    _noise(panels[0], plan.only)
    bars(panels[1], epsilon_bars(plan))
    if full:
        shown = _distinct(plan)
        if isinstance(plan.mechanism, Design):
            _profiles(panels[2], plan, shown)
        else:
            _price_of_confidence(panels[2], plan, shown)
        _price_of_width(panels[3], plan, shown)
    figure.suptitle(
        f"{plan.requirement.describe()}, {percent_down(plan.requirement.confidence)} of the time: "
        f"epsilon {rounded_up(plan.epsilon)} ({plan.mechanism.name})"
    )
    return figure


def _distinct(plan: Plan) -> list[AnyDesign]:
    """The chosen noise and the best others, each some per cent further; lines that tie hide each other."""
    found, last = [plan.mechanism], plan.epsilon
    for entry in plan.others:
        if isinstance(entry.design, Design) != isinstance(plan.mechanism, Design):
            continue  # curves of one kind
        if entry.certificate.epsilon > APART * last:
            found.append(entry.design)
            last = entry.certificate.epsilon
    return found[: MOST_CURVES + 1]


def _of_parts(plan: Plan) -> Figure:
    """The noise of every part, and what each would cost by itself."""
    figure, panels = new_figure(-(-(len(plan.parts) + 1) // 2), 2)
    for panel, part in zip(panels, plan.parts, strict=False):
        _noise(panel, part)
    alone = []
    for part in plan.parts:
        found, _ = noise_epsilon([(release_of(part), part.composed)], part.requirement.delta or 0.0)
        alone.append((f"{part.name} alone", found.upper))
    rows = [Bar(name=name, value=epsilon, digits=rounded_up(epsilon)) for name, epsilon in alone]
    own = Bar(name="all together", value=plan.epsilon, digits=rounded_up(plan.epsilon), own=True)
    bars(panels[len(plan.parts)], [*rows, own])
    for panel in panels[len(plan.parts) + 1 :]:
        panel.set_axis_off()
    figure.suptitle(
        f"{len(plan.parts)} requirements together: epsilon {rounded_up(plan.epsilon)} at delta "
        f"{delta_text(plan.delta)}"
    )
    return figure


def bars(panel: Axes, rows: Sequence[Bar]) -> None:
    """An epsilon each, its digits behind it; one that is infinite has no bar."""
    most = max((row.value for row in rows if math.isfinite(row.value)), default=0.0) or 1.0
    for place, row in enumerate(rows):
        length = row.value if math.isfinite(row.value) else 0.0
        panel.barh(place, length, height=0.6, color=COLORS[0] if row.own else "0.7")
        panel.annotate(
            row.digits,
            (length, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            weight="bold" if row.own else "normal",
        )
    panel.set_yticks(range(len(rows)), [textwrap.fill(row.name, NAME_WIDTH) for row in rows])
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False)
    panel.set(
        title="Privacy loss: smaller is better",
        xlabel="epsilon",
        xlim=(0, 1.18 * most),
        ylim=(max(len(rows), 4) - 0.4, -0.6),
    )


def _noise(panel: Axes, part: Part) -> None:
    """The probability of each output around an answer, with the region shaded."""
    requirement = part.requirement
    coordinates = requirement.coordinates
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
    panel.set_ylim(0, 1.12 * panel.get_ylim()[1])


def _shade(panel: Axes, low: float, high: float) -> None:
    """The region, named where it is."""
    panel.axvspan(low, high, color=COLORS[5], alpha=0.25, lw=0)
    panel.annotate(
        "meets the requirement",
        (0.5 * (max(low, panel.get_xlim()[0]) + min(high, panel.get_xlim()[1])), 0.99),
        xycoords=("data", "axes fraction"),
        ha="center",
        va="top",
        fontsize=10,
        color=COLORS[0],
    )


def _profiles(panel: Axes, plan: Plan, shown: Sequence[AnyDesign]) -> None:
    """epsilon against delta, of all releases together; the chosen noise carries the plan's own point."""
    floor = (plan.delta or 1e-6) * 1e-3
    ends: list[tuple[float, float, str, str]] = []
    for index, design in enumerate(shown):
        composed = compose([(design_release(number_design(design), _steps(plan, design)), plan.releases)])
        most = composed.epsilon_at(floor).upper
        if not math.isfinite(most):
            most = 2.0 * plan.epsilon
        epsilon = np.union1d(np.linspace(0.0, most, 81), [min(plan.epsilon, most)])
        delta = np.array([composed.delta_at(float(x)).upper for x in epsilon])
        if index == 0 and plan.delta is not None:
            # certified, where the curve may be a little above
            delta[epsilon >= plan.epsilon] = np.minimum(delta[epsilon >= plan.epsilon], plan.delta)
        panel.plot(np.maximum(delta, floor), epsilon, color=COLORS[index], ls=DASHES[index])
        ends.append((floor, most, design.name, COLORS[index]))
    if plan.delta is not None:
        panel.axvline(plan.delta, color="0.4", lw=1)
        panel.plot([plan.delta], [plan.epsilon], "o", color=COLORS[0])
        own = f"this plan: {rounded_up(plan.epsilon)}"
        panel.annotate(own, (plan.delta, plan.epsilon), xytext=(6, -13), **_OFFSET, weight="bold")
    total = "" if plan.releases == 1 else f" of all {plan.releases} numbers together"
    panel.set(
        title=f"Privacy profile{total}",
        xlabel="delta",
        ylabel="epsilon",
        xscale="log",
        xlim=(1, floor),
        ylim=(0, None),
    )
    name_ends(panel, ends)


_OFFSET: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9}
_CLEAR = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}


def _steps(plan: Plan, design: AnyDesign) -> int:
    return design.grid.sensitivity_in_steps(plan.requirement.sensitivity)


def _price_of_width(panel: Axes, plan: Plan, designs: Sequence[AnyDesign]) -> None:
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
    own = float(np.mean(region.offsets(0.0))) if region.follows_answer else 1.0
    _prices(panel, plan, designs, requirements, label=label, own=own)
    panel.set(title="What a wider or narrower width costs")


def _price_of_confidence(panel: Axes, plan: Plan, designs: Sequence[AnyDesign]) -> None:
    """epsilon against the confidence, the rest of the requirement kept."""
    # a promise without exception has no odds: the curve leads up to it
    often = min(plan.requirement.confidence, MOST_OFTEN)
    log_odds = math.log(often / (1 - often))
    points = 1 / (1 + np.exp(-np.linspace(log_odds - 2, log_odds + 2, POINTS)))
    requirements = [(float(c), replace(plan.requirement, confidence=float(c))) for c in points]
    _prices(panel, plan, designs, requirements, label="confidence", own=plan.requirement.confidence)
    panel.set(title="What more or less confidence costs")


def _prices(
    panel: Axes,
    plan: Plan,
    designs: Sequence[AnyDesign],
    requirements: list[tuple[float, Requirement]],
    *,
    label: str,
    own: float,
) -> None:
    """One curve for each law, named at its end; the plan itself, at `own`, is marked."""
    curves: list[list[tuple[float, float]]] = [[] for _ in designs]
    limits: list[tuple[float, float]] = []
    for x, requirement in sorted(dict(requirements).items()):
        prices = _epsilons(designs, requirement)
        for price, curve in zip(prices, curves, strict=True):
            if price:  # the scale is logarithmic
                curve.append((x, price))
        reached = [price for price in prices if price is not None]
        known = limit_of(requirement) if reached else None
        if known is not None:
            limits.append((x, known.epsilon))
    ends: list[tuple[float, float, str, str]] = []
    for index, (design, curve) in enumerate(zip(designs, curves, strict=True)):
        if curve:
            xs, ys = zip(*curve, strict=True)
            panel.plot(xs, ys, color=COLORS[index], ls=DASHES[index], marker=".")
            ends.append((xs[-1], ys[-1], design.name, COLORS[index]))
    if limits:
        panel.plot(*zip(*limits, strict=True), color="black", lw=4, alpha=0.25)
        ends.append((*limits[-1], "proven limit", "0.3"))
    scale = "log" if plan.epsilon > 0 else "linear"
    panel.set(xlabel=label, ylabel="epsilon", yscale=scale)
    if scale == "log":
        from matplotlib.ticker import LogLocator, NullFormatter

        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.set_major_formatter("{x:g}")
    name_ends(panel, ends)
    panel.plot([own], [plan.epsilon], "o", ms=9, mfc="none", mew=2, color=COLORS[0])
    named = f"this plan: {rounded_up(plan.epsilon)}"
    panel.annotate(named, (own, plan.epsilon), xytext=(12, 14), **_OFFSET, weight="bold", bbox=_CLEAR)


def _epsilons(designs: Sequence[AnyDesign], requirement: Requirement) -> list[float | None]:
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
        laws = certified_laws(requirement, (design.kernel.family, BOOSTED + design.kernel.family))
    except PbdpError:
        return None
    return next((law.certificate.epsilon for law in laws if law.design.name == design.name), None)
