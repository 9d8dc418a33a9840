"""The hypothetical answers that a plan takes: its range, its grid points, and the hardest to get right."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pbdp.audit.samples import acceptable
from pbdp.mechanism.boosted import region_masses
from pbdp.mechanism.log_grid import LogGrid
from pbdp.planning.plan import Plan

Answer = int | float

# How many times tau/theta an answer is to be looked at on a logarithmic grid.
MAGNITUDES = (1, 10, 100, 1000, 10_000)


def answer_range(plan: Plan) -> tuple[float, float]:
    """The lowest and highest answer that may occur; infinite where any may."""
    low, high = (plan.requirement.bounds or plan.requirement.region).answers
    if plan.requirement.integer and math.isfinite(high - low):
        return math.ceil(low), math.floor(high)
    return low, high


def as_planned(plan: Plan, answer: Answer) -> Answer:
    """The answer as the plan takes it, whole or a float, inside the range; others are refused."""
    plan.answer_in_steps(answer)
    low, high = answer_range(plan)
    inside = max(low, min(high, answer))
    return int(inside) if plan.requirement.integer else float(inside)


def answer_at(plan: Plan, steps: int) -> Answer:
    """An answer on the grid point itself, or at the end of the range that cuts it off."""
    return as_planned(plan, float(plan.grid.values_of(np.array([steps], dtype=np.int64))[0]))


def hardest_answer(plan: Plan, drawn: list[Answer]) -> Answer:
    """The answer with the least confidence, of those drawn at and those that may be harder."""
    return min([*drawn, *_hard_answers(plan)], key=lambda answer: confidence_of_law(plan, answer))


def confidence_of_law(plan: Plan, answer: Answer) -> float:
    """How often the public law meets the requirement at an answer."""
    law = plan.law_at(answer)
    low, high = acceptable(plan, answer)
    return float(np.sum(law.probability[(law.output >= low) & (law.output <= high)]))


def _hard_answers(plan: Plan) -> Iterator[Answer]:
    """Answers that may be harder than others; none where all are alike.

    Publishing outputs inside a range, or not below zero, moves them nearer to answers at its ends, so that
    answers away from the ends are harder. Elsewhere the hardest has the least kernel mass in its region.
    """
    design, region = plan.design, plan.requirement.region
    if plan.requirement.bounds is not None:
        low, high = answer_range(plan)
        yield from (as_planned(plan, answer) for answer in ((low + high) // 2, 0))
    elif isinstance(plan.grid, LogGrid):
        unit = math.ceil(plan.grid.tau / plan.grid.theta)
        yield from (as_planned(plan, size * unit) for size in MAGNITUDES)
    elif not region.follows_answer:
        inner = plan.grid.region_in_steps(region)
        listed = inner.hardest_answers(design.kernel)
        below, above = inner.offsets(listed)
        inside, _ = region_masses(design.kernel, below + design.offset, above - design.offset)
        yield answer_at(plan, int(listed[int(np.argmin(inside))]))
