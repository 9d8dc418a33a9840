"""What a published number says of the true answer: the likelihood of candidates, listed or drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pbdp.digits import percent_down
from pbdp.mechanism.log_grid import LogGrid
from pbdp.noise.kernel import Array
from pbdp.planning.plan import Plan
from pbdp.release.intervals import candidate_steps, likelihoods, output_steps
from pbdp.release.law import Weights
from pbdp.report.pictures.canvas import COLORS, new_figure, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Answers less likely than this share of the likeliest are left out, unless they are asked for.
SHOWN = 2e-3
# Points on the curve, and up to how many each answer gets a line of its own.
POINTS = 801
LINES = 120
SIZE = (9.6, 5.4)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LikelihoodCurve:
    """P(the number is published | answer) for hypothetical answers in order."""

    answers: Array
    likelihood: Array


def likelihood_curve(
    plan: Plan, published: float, *, most: int, between: tuple[float, float] | None = None
) -> LikelihoodCurve:
    """At most about `most` round answers over all likely ones, or between two that are given.

    They are evenly spaced, or as the grid is where that is logarithmic. Likelihoods are those of the table
    that is sampled. A number that the plan cannot publish is refused.
    """
    weights = Weights(publisher=plan.releaser.publisher)
    for end in between or ():
        plan.releaser.publisher.check_hypothetical(end)
    low, high = between or _likely(plan, weights, published)
    if isinstance(plan.grid, LogGrid):
        answers = _spread(plan, plan.grid, low, high, most)
    else:
        answers = _even(low, high, most, plan.requirement.integer)
    if between or not answers.size:
        answers = np.unique(np.concatenate(([low], answers, [high])))
    steps = plan.releaser.publisher.steps_of(answers)
    return LikelihoodCurve(answers=answers, likelihood=likelihoods(weights, published, steps))


def _likely(plan: Plan, weights: Weights, published: float) -> tuple[float, float]:
    """The first and the last answer that is not too unlikely."""
    candidates = candidate_steps(weights, *output_steps(weights.publisher, published))
    steps = np.arange(candidates.start, candidates.stop, dtype=np.int64)
    likelihood = likelihoods(weights, published, steps)
    kept = steps[likelihood > SHOWN * float(np.max(likelihood))]
    low, high = plan.grid.values_of(np.array([kept[0], kept[-1]], dtype=np.int64)).tolist()
    if plan.requirement.bounds is not None:
        first, last = plan.requirement.bounds.answers
        low, high = max(low, first), min(high, last)
    return low, high


def _even(low: float, high: float, most: int, whole: bool) -> Array:
    """Multiples of 1, 2 or 5 times a power of ten, whole ones where answers are."""
    spacing = _round_spacing((high - low) / (most - 1), whole)
    multiples = range(math.ceil(Fraction(low) / spacing), math.floor(Fraction(high) / spacing) + 1)
    return np.array([float(multiple * spacing) for multiple in multiples])


def _round_spacing(least: float, whole: bool) -> Fraction:
    if least <= 0:
        return Fraction(1)
    unit = Fraction(10) ** math.floor(math.log10(least))
    spacing = next(digit * unit for digit in (1, 2, 5, 10, 20) if digit * unit >= Fraction(least))
    return max(spacing, Fraction(1)) if whole else spacing


def _spread(plan: Plan, grid: LogGrid, low: float, high: float, most: int) -> Array:
    """Answers whose distance grows as the grid's does, with as many digits as tell them apart."""
    first, last = plan.releaser.publisher.steps_of(np.array([low, high])).tolist()
    answers = grid.values_of(np.linspace(first, last, most).astype(np.int64))
    digits = 2 + len(str(most))
    rounded = (
        np.rint(answers) if grid.whole else np.array([float(f"{x:.{digits}g}") for x in answers.tolist()])
    )
    return np.unique(np.clip(rounded, low, high))


def draw_likelihood(plan: Plan, published: float, confidence: float | None = None) -> Figure:
    """The likelihood of every likely answer, and the interval at a confidence (None: the plan's own)."""
    curve = likelihood_curve(plan, published, most=POINTS)
    interval = plan.releaser.intervals(np.array([float(published)]), confidence)
    figure, (panel,) = new_figure(1, 1)
    figure.set_size_inches(*SIZE)
    # whole numbers at the ends are inside, so half a unit more is shaded
    half = 0.5 if plan.requirement.integer else 0.0
    low, high = float(interval.low[0]) - half, float(interval.high[0]) + half
    _shade(panel, curve, low, high)
    _curve(panel, curve)
    panel.axvline(published, color=COLORS[1], lw=1.5, ls="--")
    asked = f"{plan.requirement.describe()}, {percent_down(plan.requirement.confidence)} of the time"
    panel.set(
        title=f"What {published:.12g} says of the true answer\n(plan: {asked})",
        xlabel="true answer",
        ylabel=f"likelihood: how often {published:.12g} is published",
    )
    panel.set_ylim(0, 1.2 * panel.get_ylim()[1])
    sure = percent_down(interval.confidence)
    say(
        panel,
        (f"published: {published:.12g}", COLORS[1]),
        (f"shaded: holds the true answer with confidence {sure}", COLORS[0]),
    )
    return figure


def _shade(panel: Axes, curve: LikelihoodCurve, low: float, high: float) -> None:
    """The interval; an end that is infinite is that of the panel."""
    first, last = float(curve.answers[0]), float(curve.answers[-1])
    margin = 0.03 * (last - first) or 1.0
    left = first - margin if math.isinf(low) else low
    right = last + margin if math.isinf(high) else high
    panel.axvspan(left, right, color=COLORS[5], alpha=0.25, lw=0)
    panel.set_xlim(min(first, left) - margin, max(last, right) + margin)


def _curve(panel: Axes, curve: LikelihoodCurve) -> None:
    if len(curve.answers) <= LINES:
        panel.vlines(curve.answers, 0, curve.likelihood, color=COLORS[0], lw=3)
    else:
        panel.fill_between(curve.answers, curve.likelihood, color=COLORS[0], lw=0, step="mid")
