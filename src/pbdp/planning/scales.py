"""Scales worth certifying: the largest that meets the requirement unboosted, and the best boosted one.

Both are found on a table of the shape, many scales at once; nothing here is a guarantee. The objective over
scales is not always unimodal, so a coarse scan comes before any refinement.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from pbdp.accounting.exact.tables import least_growth
from pbdp.mechanism.design import KERNEL_ERROR
from pbdp.noise.family import BEYOND, Problem, Shape, Shapes
from pbdp.noise.grid_kernel import GridKernel
from pbdp.noise.kernel import Array
from pbdp.root_finding import bracketed_root

# Above this half-width the estimate uses a coarser table; the certificate never does.
FINEST_HALF_WIDTH = 64
# How far that table goes; an estimate for several releases takes ten times as long.
LONGEST, LONGEST_COMPOSED = 1 << 17, 1 << 14
# From so many shifts on, and beyond the region, cells are as long as this part of the distance.
GROWING = 64
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
    reach = min(math.ceil((widest + extra) / spacing), LONGEST if goal.releases == 1 else LONGEST_COMPOSED)
    once = goal.releases == 1 and goal.order is None
    x, log_size = _cells(problem, spacing, reach) if once else _even_cells(spacing, reach)
    column = scales[:, None]
    log_first, log_second = (shape.log_density(at, column) + log_size for at in (x, x - shift))
    # region ends half-way between two points of the table; the neighbor leaves it first on its shorter side
    below, above = (
        (round((end + 0.5) / spacing - 0.5) + 0.5) * spacing for end in sorted((problem.below, problem.above))
    )
    inside1 = (x >= -below) & (x <= above)
    inside2 = (x - shift >= -below) & (x - shift <= above)
    mass = np.exp(log_first)
    inside, total = np.sum(mass * inside1, axis=1, keepdims=True), np.sum(mass, axis=1, keepdims=True)
    p, rho = inside / total, goal.confidence
    boost = np.clip((rho - p) / (rho * np.maximum(1 - p, 1e-16)), 0.0, 1 - 1e-12)
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


def _even_cells(spacing: float, reach: int) -> tuple[Array, Array]:
    """A row of so many cells on either side of the middle one, and the logarithms of their lengths."""
    return np.asarray(spacing * np.arange(-reach, reach + 1.0)[None, :], dtype=np.float64), np.zeros(1)


def _cells(problem: Problem, spacing: float, reach: int) -> tuple[Array, Array]:
    """The same with cells that grow with the distance, far from where regions end.

    They are as long as some shifts, as the steps of a staircase are.
    """
    shift, ends = problem.goal.sensitivity, [problem.below, problem.above]
    furthest = max(end for end in ends if end < BEYOND)
    even = math.ceil(max(GROWING * shift, 2 * (furthest + shift)) / spacing)
    if reach <= 2 * even:
        return _even_cells(spacing, reach)
    start, stop = (even + 0.5) * spacing, reach * spacing
    count = math.ceil(math.log(stop / start) * GROWING)
    lengths = np.geomspace(start, stop, count + 1) - start
    edges = start + shift * np.unique(np.ceil(lengths / shift))
    middles, sizes = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    near = spacing * np.arange(-even, even + 1.0)
    x = np.concatenate((-middles[::-1], near, middles))[None, :]
    size = np.concatenate((sizes[::-1], np.full(len(near), spacing), sizes)) / spacing
    return np.asarray(x, dtype=np.float64), np.log(size)


def boosted_laplace_loss(problem: Problem, scales: Array) -> Array:
    """epsilon at delta of boosted Laplace noise for one release, but for rounding.

    Where the region is at least as wide as the shift d on either side, outputs x have few losses: d/scale up
    to 0 and 1/(1 - boost) times as much growth from the region's end on as far as the shift; then they fall.
    """
    goal, shift = problem.goal, problem.goal.sensitivity
    below, above = sorted((problem.below, problem.above))
    fall = np.exp(-1 / scales)
    one = -np.expm1(-1 / scales)
    outside = (fall ** (below + 1) + fall ** (above + 1)) / one
    inside = (1 + fall) / one - outside
    share = inside / (inside + outside)
    boost = np.clip(
        (goal.confidence - share) / (goal.confidence * np.maximum(1 - share, 1e-16)), 0, 1 - 1e-12
    )
    total = inside + (1 - boost) * outside
    edge = (fall ** (below - shift + 1) - fall ** (below + 1)) / one
    level = (1 - boost) * fall ** (below + 1) / one + (1 - fall ** (below - shift + 1)) / one
    falling = np.arange(1.0, (shift + 1) // 2)
    masses = (
        np.concatenate((edge[:, None], level[:, None], fall[:, None] ** falling), axis=1) / total[:, None]
    )
    losses = np.concatenate(
        (
            (shift / scales - np.log1p(-boost))[:, None],
            (shift - 2 * np.append(0.0, falling)) / scales[:, None],
        ),
        axis=1,
    )
    rows = zip(masses, masses * np.exp(-losses), strict=True)
    return np.array([math.log(least_growth(first, second, goal.delta or 0.0)) for first, second in rows])


def _renyi(log_first: Array, log_second: Array, order: float) -> Array:
    terms = order * log_first + (1 - order) * log_second
    top = np.max(terms, axis=1, keepdims=True)
    return np.asarray((top[:, 0] + np.log(np.sum(np.exp(terms - top), axis=1))) / (order - 1))


def _epsilon(log_first: Array, log_second: Array, delta: float) -> Array:
    """epsilon at delta of each row."""
    rows = zip(np.exp(log_first), np.exp(log_second), strict=True)
    return np.array([math.log(least_growth(first, second, delta)) for first, second in rows])


# Boosting helps when the width is close to the sensitivity; beyond this ratio it is not looked for.
LARGEST_RATIO = 256
# Longer shapes are not added up step by step: masses come from the kernel's own formulas, or from cells.
LONGEST_SUM = 1 << 18
CELLS, FEW_CELLS = 1 << 16, 1 << 10
# What cells may be off by, as a share of the mass outside.
CELL_ERROR = 1e-5
# Multiples of the plain scale that are tried first, then around the best of them.
SCAN = np.geomspace(1.0, 5.0, 8)
CLOSER = 7
# Where a region has one end, multiples of what it is wide are tried too, and may need next to no loss.
FAR_SCAN = np.geomspace(1e2, 1e4, 5)
# Scales below e to this leave all the mass at zero.
LEAST_LOG_SCALE = -7.0
ROUNDS, ROUNDS_IF_KNOWN = 3, 10
SHAPE_ROUNDS = 2


def plain_scale(shape: Shape, problem: Problem) -> float:
    """Largest scale at which the unboosted law keeps the confidence (0 if none does)."""
    wanted = problem.goal.confidence * (1 + KERNEL_ERROR)

    @cache
    def spare(log_scale: float) -> float:
        """Confidence beyond the one asked for."""
        scale = math.exp(log_scale)
        end = distance_to_tail(shape, problem, scale, 1e-18)
        if end > LONGEST_SUM:
            kernel = shape.kernel(scale)
            if not isinstance(kernel, GridKernel):
                return float(kernel.mass(-problem.below, problem.above)) - wanted
            # its own masses take a table each time; cells of several steps come close enough
            return _mass_in_cells(shape, problem, scale, end) - wanted - CELL_ERROR * (1 - wanted)
        noise = np.arange(math.ceil(end) + 1, dtype=np.float64)
        weight = np.exp(shape.log_density(noise, np.array(scale)))
        inside = np.sum(weight[: problem.above + 1]) + np.sum(weight[1 : problem.below + 1])
        return float(inside / (2 * np.sum(weight) - weight[0])) - wanted

    @cache
    def about(log_scale: float) -> float:
        """The same in few cells."""
        scale = math.exp(log_scale)
        end = distance_to_tail(shape, problem, scale, 1e-12)
        return _mass_in_cells(shape, problem, scale, end, FEW_CELLS) - wanted

    start, step = math.log(shape.start), 1.0
    if problem.reach > FEW_CELLS // 2:
        # few looks at long rows are left if one knows about where
        ends = _around(about, start, step)
        if ends is not None:
            start, step = bracketed_root(about, *ends), 1e-4
    ends = _around(spare, start, step)
    if ends is None:
        return 0.0
    root = bracketed_root(spare, *ends)
    while spare(root) < 0:
        root -= 1e-14 * max(1.0, abs(root))
    return math.exp(root)


def _around(spare: Callable[[float], float], start: float, step: float) -> tuple[float, float] | None:
    """Logarithms of two scales, the first with something to spare and the second with nothing."""
    up, place = spare(start) >= 0, start
    while True:
        before, place = place, place + step if up else place - step
        if place < LEAST_LOG_SCALE:
            return None
        if (spare(place) >= 0) != up:
            return (before, place) if up else (place, before)
        step = min(8 * step, 1.0)


def _mass_in_cells(shape: Shape, problem: Problem, scale: float, end: float, cells: int = CELLS) -> float:
    """Mass of the region, with the shape taken as constant over each of many cells."""
    cell = end / cells
    middle = np.asarray(cell * np.arange(cells + 1), dtype=np.float64)
    weight = np.exp(shape.log_density(middle, np.array(scale)))
    weight[0] /= 2
    sides = [np.clip((side + 0.5 - middle) / cell + 0.5, 0.0, 1.0) for side in (problem.below, problem.above)]
    return float((weight @ sides[0] + weight @ sides[1]) / (2 * np.sum(weight)))


def best_shape(
    shapes: Shapes, problem: Problem, scale_of: Callable[[Shape, Problem], float] = plain_scale
) -> tuple[Shape, float]:
    """The shape of least loss among the family's unboosted laws, and its plain scale.

    The parameters given are compared first; for several releases, where the shape matters more, values around
    the best of them follow.
    """
    parameters = shapes.parameters if problem.goal.releases > 1 else shapes.few
    if len(parameters) == 1:
        shape = shapes.shape(parameters[0])
        return shape, scale_of(shape, problem)
    tried: dict[float, tuple[float, Shape, float]] = {}

    def look(parameter: float) -> None:
        shape = shapes.shape(parameter)
        scale = scale_of(shape, problem)
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


def boosted_scale(
    shape: Shape,
    problem: Problem,
    plain: float,
    loss: Callable[[Array], Array] | None = None,
    enough: float = math.inf,
) -> float | None:
    """Best scale above `plain` for the boosted law, or None where boosting does not pay.

    Unless its `loss` is known in closed form it is estimated, and not looked for where the width is large
    against the sensitivity, nor closer where no scale that is tried first has a loss of `enough` or less.
    """
    if loss is None and problem.reach > LARGEST_RATIO * problem.goal.sensitivity:
        return None
    losses = partial(estimated_loss, shape, problem) if loss is None else loss
    scales = (plain or 0.25) * SCAN
    values = losses(scales)
    while int(np.argmin(values)) >= len(scales) - 2 and scales[-1] < 1e4 * (
        problem.reach + problem.goal.sensitivity
    ):
        further = scales[-1] * SCAN[1:]
        scales = np.concatenate([scales, further])
        values = np.concatenate([values, losses(further)])
    at = int(np.argmin(values))
    if problem.one_sided and problem.goal.releases == 1:
        # so wide that hardly an output lies between where the answer's region ends and its neighbor's does
        far = (problem.reach + problem.goal.sensitivity) * FAR_SCAN
        far = far[far <= LONGEST]
        found = losses(far) if len(far) else far
        if len(far) and float(np.min(found)) < values[at]:
            return float(far[int(np.argmin(found))])
    if values[at] > enough:
        return None
    # over several releases boosting changes little, and a look costs more
    for _ in range(ROUNDS_IF_KNOWN if loss is not None else ROUNDS - (problem.goal.releases > 1)):
        if not math.isfinite(values[at]):
            return None
        scales = np.geomspace(scales[max(at - 1, 0)], scales[min(at + 1, len(scales) - 1)], CLOSER)
        values = losses(scales)
        at = int(np.argmin(values))
    return float(scales[at]) if scales[at] > plain * (1 + 1e-9) else None
