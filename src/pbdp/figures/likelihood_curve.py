"""The likelihood of the answers that a published number may come from, for a listing or a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.mechanism.log_grid import LogGrid
from pbdp.noise.kernel import Array
from pbdp.planning.plan import Plan
from pbdp.release.intervals import candidate_steps, likelihoods, output_steps
from pbdp.release.law import Weights

# Answers less likely than this share of the likeliest are left out, unless they are asked for.
SHOWN = 2e-3


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
