"""Scales worth certifying: the largest that meets the requirement unboosted, and the best boosted one.

Nothing here is a guarantee: what is found is certified by its table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from pbdp.accounting.exact.tables import least_growth
from pbdp.mechanism.design import KERNEL_ERROR
from pbdp.mechanism.weights import BITS
from pbdp.noise.family import Problem, Shape, Shapes
from pbdp.noise.kernel import Array
from pbdp.planning.limit.closed_form import ULP
from pbdp.root_finding import CLOSEST, least_enough

# Scales below one over this leave all the mass at zero: 1 - P(noise = 0) is less than a unit of weight.
STEEPEST = BITS * math.log(2)
# Cells in a half-width, and in all, of the tables that estimates are made on: errors fall with their square.
CELLS_IN_WIDTH, MOST_CELLS = 64, 1 << 14
# Where the end of a shape is looked for, in units of its scale, width and shift together.
DISTANCES = np.geomspace(0.5, 2e4, 96)
# Multiples of the plain scale that are tried first. The loss of boosted laws is not always unimodal in it.
SCAN = np.geomspace(1.0, 5.0, 8)
# Those of a closer row; the best one before is the middle of them.
CLOSER = 7
# The first of them, in steps, where no plain law keeps the confidence.
UNSCALED = 0.25


def distance_to_tail(shape: Shape, problem: Problem, scale: float, tail: float) -> float:
    """A distance beyond which the shape has less than about `tail` of its mass."""
    distance = np.asarray((scale + problem.reach + problem.goal.sensitivity) * DISTANCES, dtype=np.float64)
    fallen = shape.log_density(distance, np.array(scale)) - shape.log_density(np.zeros(1), np.array(scale))
    return float(distance[int(np.argmax(fallen < math.log(tail) - 2))])


def plain_scale(shape: Shape, problem: Problem) -> float:
    """The largest scale at which the unboosted law keeps the confidence; 0 if none does."""
    wanted = problem.goal.confidence * (1 + KERNEL_ERROR)

    def short(steepness: float) -> float:
        return wanted - float(shape.kernel(1 / steepness).mass(-problem.below, problem.above))

    return 1 / least_enough(short, 1 / shape.start, close=CLOSEST, beside=2.0, most=STEEPEST)


def best_shape(
    shapes: Shapes, problem: Problem, scale_of: Callable[[Shape, Problem], float] = plain_scale
) -> tuple[Shape, float]:
    """The shape of least loss among the family's unboosted laws, and its largest scale.

    The parameters that the family gives are compared first, then the values half-way to their neighbors.
    """
    if len(shapes.parameters) == 1:
        shape = shapes.shape(shapes.parameters[0])
        return shape, scale_of(shape, problem)

    @cache
    def looked(parameter: float) -> tuple[float, Shape, float]:
        shape = shapes.shape(parameter)
        scale = scale_of(shape, problem)
        loss = float(estimated_loss(shape, problem, np.array([scale]))[0]) if scale > 0 else math.inf
        return loss, shape, scale

    known = list(shapes.parameters)
    for _ in range(2):
        at = min(range(len(known)), key=lambda at: looked(known[at])[0])
        beside = known[max(at - 1, 0) : at + 2]
        known = sorted({*known, *((one + known[at]) / 2 for one in beside)})
    _, shape, scale = min((looked(parameter) for parameter in known), key=lambda entry: entry[0])
    return shape, scale


def boosted_scale(shape: Shape, problem: Problem, plain: float) -> float | None:
    """The best scale above `plain` for the boosted law, or None where boosting does not pay."""
    losses = partial(estimated_loss, shape, problem)
    scales = (plain or UNSCALED) * SCAN
    while int(np.argmin(losses(scales))) >= len(scales) - 2 and scales[-1] < problem.reach * DISTANCES[-1]:
        scales = np.append(scales, scales[-1] * SCAN[1:])
    best = least_on(losses, scales, 3)
    return best if best is not None and best > plain * (1 + CLOSEST) else None


def least_on(losses: Callable[[Array], Array], scales: Array, rounds: int) -> float | None:
    """The scale of least loss: the best of a row, and of rows around it that are closer; None without any."""
    for _ in range(rounds):
        values = losses(scales)
        at = int(np.argmin(values))
        if not math.isfinite(values[at]):
            return None
        scales = np.geomspace(scales[max(at - 1, 0)], scales[min(at + 1, len(scales) - 1)], CLOSER)
    return float(scales[int(np.argmin(losses(scales)))])


def estimated_loss(shape: Shape, problem: Problem, scales: Array) -> Array:
    """Approximate total epsilon of the boosted law at each scale, on a table of moderate size."""
    goal, shift = problem.goal, problem.goal.sensitivity
    # the shift is a whole number of cells, or the outputs that only one answer prefers would be missed
    cell = max(1.0, shift / math.ceil(shift * CELLS_IN_WIDTH / (problem.reach + 1)))
    tail = 2.0**-BITS if goal.delta is None else goal.delta * 1e-3 / goal.releases
    widest = distance_to_tail(shape, problem, float(scales[-1]), tail) + (goal.order or 0.0) * shift
    reach = min(math.ceil(widest / cell), MOST_CELLS)
    x = np.asarray(cell * np.arange(-reach, reach + 1.0)[None, :], dtype=np.float64)
    log_first, log_second = (shape.log_density(at, scales[:, None]) for at in (x, x - shift))
    # region ends half-way between two points of the table; the neighbor leaves it first on its shorter side
    below, above = (
        (round((end + 0.5) / cell - 0.5) + 0.5) * cell for end in sorted((problem.below, problem.above))
    )
    inside1 = (x >= -below) & (x <= above)
    inside2 = (x - shift >= -below) & (x - shift <= above)
    mass = np.exp(log_first)
    inside, total = np.sum(mass * inside1, axis=1, keepdims=True), np.sum(mass, axis=1, keepdims=True)
    p, rho = inside / total, goal.confidence
    boost = np.clip((rho - p) / (rho * np.maximum(1 - p, ULP)), 0.0, 1.0 if rho == 1 else 1 - ULP)
    with np.errstate(divide="ignore"):
        lost = np.log1p(-boost)
    log_total = np.log(inside + (1 - boost) * (total - inside))
    log_first += np.where(inside1, 0.0, lost) - log_total
    log_second += np.where(inside2, 0.0, lost) - log_total
    if goal.order is not None:
        terms = goal.order * log_first + (1 - goal.order) * log_second
        top = np.max(terms, axis=1, keepdims=True)
        sums = top[:, 0] + np.log(np.sum(np.exp(terms - top), axis=1))
        return np.asarray(goal.releases * sums / (goal.order - 1))
    first, delta = np.exp(log_first), goal.delta or 0.0
    if goal.releases > 1:
        from pbdp.accounting.composition.truncation import estimated_epsilon

        pairs = zip(first, np.exp(log_second), strict=True)
        return np.array([estimated_epsilon(*pair, goal.releases, delta) for pair in pairs])
    rows = zip(first, np.exp(log_second), strict=True)
    return np.array([math.log(least_growth(one, other, delta)) for one, other in rows])
