"""The paper's data-dependent mechanism: noise boosted in the region of each answer.

The best scale is looked for at a sample of neighboring answers; the certificate later takes them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from pbdp.accounting.exact.accountant import smallest_epsilon
from pbdp.accounting.exact.all_neighbors import some_neighbors
from pbdp.accounting.exact.divergences import Renyi, largest_deltas
from pbdp.accounting.exact.pairs import Pairs, neighbors
from pbdp.accounting.exact.pieces import LARGEST_EPSILON
from pbdp.mechanism.design import Boosted, Design, boost_for
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.region import Region
from pbdp.noise.family import Goal, Shape, known_families
from pbdp.noise.kernel import Array, LatticeKernel
from pbdp.planning.candidates import problem_of, shapes_for
from pbdp.planning.scales import plain_scale

# Multiples of the plain scale that are tried first, then around the best of them.
SCAN = np.geomspace(1.02, 12.0, 12)
CLOSER = 5
ROUNDS = 2
SEARCH_TOLERANCE = 1e-4
# Where every fourth scale misses delta by so many times, or every other one by so many, none keeps it.
HOPELESS = ((4, 1000.0), (2, 30.0))


def per_answer_candidates(
    grid: Grid, region: Region, goal: Goal, families: tuple[str, ...], reached: float = math.inf
) -> Iterator[Design]:
    """The best boosted design of each family that a scale alone tells.

    Left out are those that need more than the loss `reached` by another law. One look at that loss per scale
    tells, where the best scale takes many; mostly a look at a few of the scales does.
    """
    inner = problem_of(region.tightest(), goal)
    for shapes in shapes_for(inner, tuple(name for name in families if known_families()[name].of_scale)):
        shape = shapes.shape(shapes.parameters[0])
        law_at = partial(_sampled, shape, region, goal)
        scales = (plain_scale(shape, inner) or 0.25) * SCAN
        if math.isfinite(reached):
            excess = partial(_Sampled.excess, loss=reached)
            missed = goal.delta or math.inf
            if any(_least(law_at, scales[::few], excess)[0] > times * missed for few, times in HOPELESS):
                continue
            if _best(law_at, scales, excess)[0] > 0:
                continue
        loss, law = _best(law_at, scales, _Sampled.loss)
        if law is not None and math.isfinite(loss) and law.excess(reached) <= 0:
            yield Design(grid=grid, kernel=law.kernel, region=region, boost=law.mechanism.boost)


def _best(
    law_at: Callable[[float], _Sampled | None], scales: Array, figure: Callable[[_Sampled], float]
) -> tuple[float, _Sampled | None]:
    """The least figure among the laws of these scales and of some around the best of them."""
    for _ in range(ROUNDS):
        _, _, at = _least(law_at, scales, figure)
        scales = np.geomspace(scales[max(at - 1, 0)], scales[min(at + 1, len(scales) - 1)], CLOSER)
    return _least(law_at, scales, figure)[:2]


def _least(
    law_at: Callable[[float], _Sampled | None], scales: Array, figure: Callable[[_Sampled], float]
) -> tuple[float, _Sampled | None, int]:
    """The least figure among the laws of these scales, the law and its place."""
    laws = [law_at(float(scale)) for scale in scales]
    figures = [math.inf if law is None else figure(law) for law in laws]
    at = int(np.argmin(figures))
    return figures[at], laws[at], at


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sampled:
    """A boosted law at some of the neighbors it must hide: over all of them its loss is no smaller."""

    kernel: LatticeKernel
    mechanism: Boosted
    pairs: Pairs
    goal: Goal

    def excess(self, loss: float) -> float:
        """Above zero only if the sample proves that this loss is not enough."""
        if self.goal.order is not None:
            return self.loss() - loss
        lower, _ = largest_deltas(self.mechanism, self.pairs, np.array([min(loss, LARGEST_EPSILON)]))
        return float(lower[0]) - (self.goal.delta or 0.0)

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
