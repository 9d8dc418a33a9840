"""The paper's data-dependent mechanism: noise boosted in the region of each answer.

The best scale is looked for at a sample of neighboring answers; the certificate later takes them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from pbdp.accounting.exact.accountant import smallest_epsilon
from pbdp.accounting.exact.divergences import Renyi, largest_deltas
from pbdp.accounting.exact.neighbors import some_neighbors
from pbdp.accounting.exact.pairs import neighbors
from pbdp.mechanism.boosted import Boosted
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.rate import boost_for
from pbdp.mechanism.region import Region
from pbdp.noise.family import Goal, known_families
from pbdp.noise.kernel import LatticeKernel
from pbdp.planning.candidates import problem_of, shapes_for
from pbdp.planning.scales import plain_scale

# Multiples of the plain scale that are tried first, then around the best of them.
SCAN = np.geomspace(1.02, 12.0, 12)
CLOSER = 5
ROUNDS = 2
SEARCH_TOLERANCE = 1e-4


def per_answer_candidates(
    grid: Grid, region: Region, goal: Goal, families: tuple[str, ...]
) -> Iterator[Design]:
    """The best boosted design of each family that a scale alone tells."""
    inner = problem_of(region.tightest(), goal)
    for shapes in shapes_for(inner, tuple(name for name in families if known_families()[name].of_scale)):
        shape = shapes.shape(shapes.parameters[0])
        scales = (plain_scale(shape, inner) or 0.25) * SCAN
        losses = [_loss(shape.kernel(float(scale)), region, goal) for scale in scales]
        for _ in range(ROUNDS):
            at = int(np.argmin(losses))
            scales = np.geomspace(scales[max(at - 1, 0)], scales[min(at + 1, len(scales) - 1)], CLOSER)
            losses = [_loss(shape.kernel(float(scale)), region, goal) for scale in scales]
        at = int(np.argmin(losses))
        if math.isfinite(losses[at]):
            kernel = shape.kernel(float(scales[at]))
            boost = boost_for(kernel, region, goal.confidence)
            yield Design(grid=grid, kernel=kernel, region=region, boost=boost)


def _loss(kernel: LatticeKernel, region: Region, goal: Goal) -> float:
    """Privacy loss over a sample of neighbors: a lower value for the search, not a guarantee."""
    boost = boost_for(kernel, region, goal.confidence)
    if boost in {0.0, 1.0}:
        return math.inf
    mechanism = Boosted(kernel=kernel, region=region, boost=boost)
    pairs = neighbors(mechanism, *some_neighbors(mechanism, goal.sensitivity))
    if goal.order is not None:
        return float(np.max(Renyi(goal.order).of(mechanism, pairs)[0]))

    deltas = partial(largest_deltas, mechanism, pairs)
    return smallest_epsilon(deltas, goal.delta or 0.0, SEARCH_TOLERANCE).upper
