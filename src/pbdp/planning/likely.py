"""What a requirement is likely to cost, found in milliseconds: where a search over requirements begins.

Nothing here is a guarantee, and nothing is decided by it. The planner is imported where it is used, as it is
large and some requests are refused without it.
"""

from __future__ import annotations

import math

import numpy as np

from pbdp.errors import PbdpError
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import Problem

# Halvings of the range in which a mean is looked for.
HALVINGS = 48
# Families of which one shape each tells about what several releases cost.
TELLING = ("cosine", "gaussian", "laplace")


def gaussian_mean(epsilon: float, delta: float) -> float:
    """About the sensitivity over sigma at which Gaussian noise loses this much, to start from."""

    def lost(mean: float) -> float:
        near, far = (epsilon / mean + side * mean / 2 for side in (-1, 1))
        # beyond so much the second term is of no account
        other = math.exp(epsilon) * math.erfc(far / math.sqrt(2)) if epsilon < 600 else 0.0
        return (math.erfc(near / math.sqrt(2)) - other) / 2

    low, high = -20.0, 20.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if lost(math.exp(middle)) <= delta else (low, middle)
    return math.exp(low)


def cut_loss(requirement: Requirement) -> float | None:
    """What the cut staircase loses, but for rounding; None for what it does not serve."""
    from pbdp.planning.certificate import goal_on
    from pbdp.planning.grids import grids_of
    from pbdp.planning.limit.cut_staircase import cut_epsilon
    from pbdp.planning.limit.question import Question

    region = requirement.region
    if requirement.releases > 1 or requirement.delta is None or not _has_one_width(requirement):
        return None
    try:
        grid = grids_of(requirement)[0]
        inside = grid.region_in_steps(region).tightest()
        points = int(inside.below + inside.above) + 1
        goal = goal_on(grid, requirement)
        return cut_epsilon(
            Question.about(points - 1, 0, goal.confidence, goal.sensitivity, requirement.delta)
        )
    except PbdpError:
        return None


def sketched_loss(requirement: Requirement, families: tuple[str, ...]) -> float | None:
    """What the better of some usual laws loses over several releases; None where a decoder may do better.

    Like the planner, wide noise is of few families only.
    """
    from pbdp.planning.candidates import affordable_families, shapes_for
    from pbdp.planning.certificate import goal_on
    from pbdp.planning.grids import grids_of
    from pbdp.planning.scales import estimated_loss, plain_scale

    if requirement.releases == 1 or not _has_one_width(requirement):
        return None
    losses = []
    try:
        grid = grids_of(requirement)[0]
        region = grid.region_in_steps(requirement.region).tightest()
        both = int(region.below + region.above)
        problem = Problem(below=both // 2, above=both - both // 2, goal=goal_on(grid, requirement))
        names = affordable_families(problem, families)
        telling = tuple(name for name in names if name in TELLING)
        for shapes in shapes_for(problem, telling or names):
            shape = shapes.shape(shapes.few[0])
            scale = plain_scale(shape, problem)
            if scale > 0:
                losses.append(float(estimated_loss(shape, problem, np.array([scale]))[0]))
    except PbdpError:
        return None
    return min(losses, default=None)


def _has_one_width(requirement: Requirement) -> bool:
    """Whether the same finite width holds for every answer."""
    region = requirement.region
    if not region.follows_answer or requirement.bounds is not None:
        return False
    return math.isfinite(sum(map(float, region.offsets(0.0))))
