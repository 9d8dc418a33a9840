"""Noise boosted in the region of each answer, the paper's mechanism. Nothing here is a guarantee.

The best scale is looked for at a sample of neighboring answers; the certificate later takes them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from pbdp.accounting.exact.accountant import smallest_epsilon
from pbdp.accounting.exact.all_neighbors import some_neighbors
from pbdp.accounting.exact.divergences import Renyi, largest_deltas
from pbdp.accounting.exact.pairs import Pairs, neighbors
from pbdp.mechanism.design import Boosted, Design, boost_for
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.region import Region
from pbdp.noise.family import Goal, Shape, known_families
from pbdp.noise.kernel import Array, LatticeKernel
from pbdp.planning.candidates import problem_of, shapes_for
from pbdp.planning.scales import UNSCALED, least_on, plain_scale

# Multiples of the plain scale that are tried first, and the tolerance of their losses.
SCAN = np.geomspace(1.02, 12.0, 12)
SEARCH_TOLERANCE = 1e-4


def per_answer_candidates(
    grid: Grid, region: Region, goal: Goal, families: tuple[str, ...]
) -> Iterator[Design]:
    """The best boosted design of each family that a scale alone tells, at a sample of neighboring answers."""
    inner = problem_of(region.tightest(), goal)
    for shapes in shapes_for(inner, tuple(name for name in families if known_families()[name].of_scale)):
        shape = shapes.shape(shapes.parameters[0])
        laws: dict[float, _Sampled | None] = {}

        def losses(scales: Array, shape: Shape = shape, laws: dict[float, _Sampled | None] = laws) -> Array:
            laws |= {scale: _sampled(shape, region, goal, scale) for scale in scales.tolist()}
            found = [laws[scale] for scale in scales.tolist()]
            return np.array([math.inf if law is None else law.loss() for law in found])

        scale = least_on(losses, (plain_scale(shape, inner) or UNSCALED) * SCAN, 2)
        law = None if scale is None else laws[scale]
        if law is not None:
            yield Design(grid=grid, kernel=law.kernel, region=region, boost=law.mechanism.boost)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sampled:
    """A boosted law at some of the neighbors it must hide: over all of them its loss is no smaller."""

    kernel: LatticeKernel
    mechanism: Boosted
    pairs: Pairs
    goal: Goal

    def loss(self) -> float:
        """The loss of the sample, for the search."""
        if self.goal.order is not None:
            return float(np.max(Renyi(self.goal.order).of(self.mechanism, self.pairs)[0]))
        deltas = partial(largest_deltas, self.mechanism, self.pairs)
        return smallest_epsilon(deltas, self.goal.delta or 0.0, SEARCH_TOLERANCE).upper


def _sampled(shape: Shape, region: Region, goal: Goal, scale: float) -> _Sampled | None:
    """The law with the boost that the confidence asks for; None if that is no boost, or a hard bound."""
    kernel = shape.kernel(scale)
    boost = boost_for(kernel, region, goal.confidence)
    if boost in {0.0, 1.0}:
        return None
    mechanism = Boosted(kernel=kernel, region=region, boost=boost)
    pairs = neighbors(mechanism, *some_neighbors(mechanism, goal.sensitivity))
    return _Sampled(kernel=kernel, mechanism=mechanism, pairs=pairs, goal=goal)
