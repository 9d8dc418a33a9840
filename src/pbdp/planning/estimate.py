"""The privacy loss of a candidate, estimated: good enough to choose a scale by, never a guarantee."""

from __future__ import annotations

import math

import numpy as np

from pbdp.noise.family import Problem, Shape
from pbdp.noise.kernel import Array

# Above this half-width the estimate uses a coarser table; the certificate never does.
FINEST_HALF_WIDTH = 64
# Where the end of a shape is looked for, in units of its scale, width and shift together.
DISTANCES = np.geomspace(0.5, 2e4, 96)


def distance_to_tail(shape: Shape, problem: Problem, scale: float, tail: float) -> float:
    """A distance beyond which the shape has less than about `tail` of its mass."""
    distance = np.asarray((scale + problem.reach + problem.goal.sensitivity) * DISTANCES, dtype=np.float64)
    fallen = shape.log_density(distance, np.array(scale)) - shape.log_density(np.zeros(1), np.array(scale))
    return float(distance[int(np.argmax(fallen < math.log(tail) - 2))])


def estimated_loss(shape: Shape, problem: Problem, scales: Array) -> Array:
    """Approximate total epsilon of the boosted law at each scale, on a table of moderate size."""
    goal, shift = problem.goal, problem.goal.sensitivity
    # the shift is a whole number of spacings, or the outputs that only one answer prefers would be missed
    spacing = max(1.0, shift / math.ceil(shift * FINEST_HALF_WIDTH / (problem.reach + 1)))
    tail = goal.delta * 1e-3 / goal.releases if goal.delta is not None else 1e-16
    widest = distance_to_tail(shape, problem, float(scales[-1]), tail)
    extra = (goal.order or 0.0) * shift
    reach = min(math.ceil((widest + extra) / spacing), 1 << 17)
    x = np.asarray(spacing * np.arange(-reach, reach + 1.0)[None, :], dtype=np.float64)
    column = scales[:, None]
    log_first, log_second = shape.log_density(x, column), shape.log_density(x - shift, column)
    # region ends half-way between two points of the table
    below, above = (
        (round((end + 0.5) / spacing - 0.5) + 0.5) * spacing for end in (problem.below, problem.above)
    )
    inside1 = (x >= -below) & (x <= above)
    inside2 = (x - shift >= -below) & (x - shift <= above)
    mass = np.exp(log_first)
    inside, total = np.sum(mass * inside1, axis=1, keepdims=True), np.sum(mass, axis=1, keepdims=True)
    p, rho = inside / total, goal.confidence
    boost = np.clip((rho - p) / (rho * np.maximum(1 - p, 1e-300)), 0.0, 1 - 1e-12)
    log_total = np.log(inside + (1 - boost) * (total - inside))
    lost = np.log1p(-boost)
    log_first += np.where(inside1, -log_total, lost - log_total)
    log_second += np.where(inside2, -log_total, lost - log_total)
    if goal.order is not None:
        return np.asarray(goal.releases * _renyi(log_first, log_second, goal.order))
    if goal.releases > 1:
        from pbdp.accounting.composition.estimate import approximate_epsilon

        return approximate_epsilon(
            np.exp(log_first), round(shift / spacing), goal.releases, goal.delta or 0.0
        )
    # outputs at or beyond the neighbor's answer never have a loss above zero
    kept = x[0] < shift
    return _epsilon(log_first[:, kept], log_second[:, kept], goal.delta or 0.0)


def _renyi(log_first: Array, log_second: Array, order: float) -> Array:
    terms = order * log_first + (1 - order) * log_second
    top = np.max(terms, axis=1, keepdims=True)
    return np.asarray((top[:, 0] + np.log(np.sum(np.exp(terms - top), axis=1))) / (order - 1))


def _epsilon(log_first: Array, log_second: Array, delta: float) -> Array:
    """epsilon at delta of each row, from the losses in falling order (as for a certified table)."""
    loss = log_first - log_second
    order = np.argsort(-loss, axis=1)
    p = np.cumsum(np.exp(np.take_along_axis(log_first, order, axis=1)), axis=1)
    q = np.cumsum(np.exp(np.take_along_axis(log_second, order, axis=1)), axis=1)
    level = np.take_along_axis(loss, order, axis=1)
    above = p - np.exp(np.minimum(level, 700.0)) * q > delta
    stretch = np.maximum(np.argmax(above, axis=1) - 1, 0)
    rows = np.arange(len(loss))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.log((p[rows, stretch] - delta) / q[rows, stretch])
        # a row that never gets above delta within the window is solved on all of it
        whole = np.log(np.maximum(p[:, -1] - delta, 1e-300) / q[:, -1])
    return np.asarray(np.maximum(np.where(np.any(above, axis=1), root, whole), 0.0))
