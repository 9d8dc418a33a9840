"""Scales worth certifying: the largest that meets the requirement unboosted, and the best boosted one.

Both are found on a table of the shape, many scales at once; nothing here is a guarantee. The objective over
scales is not always unimodal, so a coarse scan comes before any refinement.
"""

from __future__ import annotations

import math

import numpy as np

from pbdp.mechanism.boosted import KERNEL_ERROR
from pbdp.noise.family import Problem, Shape, Shapes
from pbdp.planning.estimate import distance_to_tail, estimated_loss
from pbdp.root import bracketed_root

# Boosting pays when the width is of the order of the sensitivity; beyond this ratio it is not looked for.
LARGEST_RATIO = 256
# Above this half-width masses come from the kernel's own formulas and not from a sum over the shape.
LARGEST_SUM = 1 << 20
LONGEST_SUM = 1 << 22
# Multiples of the plain scale that are tried first, then around the best of them.
SCAN = np.geomspace(1.0, 5.0, 8)
CLOSER = 7
# Scales below e to this leave all the mass at zero.
LEAST_LOG_SCALE = -7.0
ROUNDS = 3
SHAPE_ROUNDS = 2


def plain_scale(shape: Shape, problem: Problem) -> float:
    """Largest scale at which the unboosted law keeps the confidence (0 if none does)."""
    wanted = problem.goal.confidence * (1 + KERNEL_ERROR)
    closed = max(problem.reach, problem.goal.sensitivity) > LARGEST_SUM

    def spare(log_scale: float) -> float:
        """Confidence beyond the one asked for."""
        scale = math.exp(log_scale)
        end = distance_to_tail(shape, problem, scale, 1e-18)
        if closed or end > LONGEST_SUM:
            return float(shape.kernel(scale).mass(-problem.below, problem.above)) - wanted
        noise = np.arange(math.ceil(end) + 1, dtype=np.float64)
        weight = np.exp(shape.log_density(noise, np.array(scale)))
        inside = np.sum(weight[: problem.above + 1]) + np.sum(weight[1 : problem.below + 1])
        return float(inside / (2 * np.sum(weight) - weight[0])) - wanted

    low = high = math.log(shape.start)
    while spare(low) < 0:
        low -= 1.0
        if low < LEAST_LOG_SCALE:
            return 0.0
    while spare(high) >= 0:
        high += 1.0
    root = bracketed_root(spare, low, high)
    while spare(root) < 0:
        root -= 1e-14 * max(1.0, abs(root))
    return math.exp(root)


def best_shape(shapes: Shapes, problem: Problem) -> tuple[Shape, float]:
    """The shape of least loss among the family's unboosted laws, and its plain scale.

    The parameters given are compared first; for several releases, where the shape matters more, values around
    the best of them follow.
    """
    parameters = shapes.parameters if problem.goal.releases > 1 else shapes.few
    if len(parameters) == 1:
        shape = shapes.shape(parameters[0])
        return shape, plain_scale(shape, problem)
    tried: dict[float, tuple[float, Shape, float]] = {}

    def look(parameter: float) -> None:
        shape = shapes.shape(parameter)
        scale = plain_scale(shape, problem)
        loss = float(estimated_loss(shape, problem, np.array([scale]))[0]) if scale > 0 else math.inf
        tried[parameter] = (loss, shape, scale)

    for parameter in parameters:
        look(parameter)
    for _ in range(SHAPE_ROUNDS if problem.goal.releases > 1 else 0):
        known = sorted(tried)
        at = known.index(min(tried, key=lambda parameter: tried[parameter][0]))
        for neighbor in (known[max(at - 1, 0)], known[min(at + 1, len(known) - 1)]):
            if neighbor != known[at]:
                look((known[at] + neighbor) / 2)
    _, shape, scale = min(tried.values(), key=lambda entry: entry[0])
    return shape, scale


def boosted_scale(shape: Shape, problem: Problem, plain: float) -> float | None:
    """Best scale above `plain` for the boosted law, or None where boosting does not pay."""
    if problem.reach > LARGEST_RATIO * problem.goal.sensitivity:
        return None
    scales = (plain or 0.25) * SCAN
    values = estimated_loss(shape, problem, scales)
    while int(np.argmin(values)) >= len(scales) - 2 and scales[-1] < 1e4 * (
        problem.reach + problem.goal.sensitivity
    ):
        further = scales[-1] * SCAN[1:]
        scales = np.concatenate([scales, further])
        values = np.concatenate([values, estimated_loss(shape, problem, further)])
    at = int(np.argmin(values))
    # over several releases boosting changes little, and a look costs more
    for _ in range(ROUNDS if problem.goal.releases == 1 else ROUNDS - 1):
        if not math.isfinite(values[at]):
            return None
        scales = np.geomspace(scales[max(at - 1, 0)], scales[min(at + 1, len(scales) - 1)], CLOSER)
        values = estimated_loss(shape, problem, scales)
        at = int(np.argmin(values))
    return float(scales[at]) if scales[at] > plain * (1 + 1e-9) else None
