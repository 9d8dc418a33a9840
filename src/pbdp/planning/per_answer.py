"""The paper's data-dependent mechanism: noise boosted in the region of each answer.

The best scale is looked for at a sample of neighbouring answers; the certificate later takes them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pbdp.mechanism.boosted import Boosted
from pbdp.mechanism.rate import boost_for
from pbdp.noise.kernel import Array, LatticeKernel
from pbdp.planning.design import Design
from pbdp.planning.scales import plain_scale
from pbdp.planning.shapes import Goal, Problem, shapes_for
from pbdp.privacy.exact.accountant import smallest_epsilon
from pbdp.privacy.exact.divergences import Renyi, hockey_sticks
from pbdp.privacy.exact.pairs import neighbours
from pbdp.requirement.region import Region
from pbdp.requirement.relative import RelativeRegion

FAMILIES = ("laplace", "gaussian")
# Multiples of the plain scale that are tried first, then around the best of them.
SCAN = np.geomspace(1.02, 12.0, 12)
CLOSER = 5
ROUNDS = 2
SEARCH_TOLERANCE = 1e-4


def per_answer_candidates(region: Region, tightest: Problem, families: tuple[str, ...]) -> Iterator[Design]:
    """The best boosted design of each family; `tightest` is the absolute problem inside every region."""
    for shape in shapes_for(tightest, tuple(f for f in families if f in FAMILIES)):
        scales = (plain_scale(shape, tightest) or 0.25) * SCAN
        losses = [_loss(shape.kernel(float(scale)), region, tightest.goal) for scale in scales]
        for _ in range(ROUNDS):
            at = int(np.argmin(losses))
            scales = np.geomspace(scales[max(at - 1, 0)], scales[min(at + 1, len(scales) - 1)], CLOSER)
            losses = [_loss(shape.kernel(float(scale)), region, tightest.goal) for scale in scales]
        at = int(np.argmin(losses))
        if math.isfinite(losses[at]):
            kernel = shape.kernel(float(scales[at]))
            yield Design(
                kernel=kernel, region=region, boost=boost_for(kernel, region, tightest.goal.confidence)
            )


def _loss(kernel: LatticeKernel, region: Region, goal: Goal) -> float:
    """Privacy loss over a sample of neighbours: a lower value for the search, not a guarantee."""
    boost = boost_for(kernel, region, goal.confidence)
    if boost in {0.0, 1.0}:
        return math.inf
    mechanism = Boosted(kernel=kernel, region=region, boost=boost)
    pairs = neighbours(mechanism, *_sample_pairs(region, kernel, goal.sensitivity))
    if goal.order is not None:
        return float(np.max(Renyi(goal.order).of(mechanism, pairs)[0]))

    def deltas(epsilon: Array) -> tuple[Array, Array]:
        lower, upper = hockey_sticks(mechanism, pairs, epsilon)
        return np.max(lower, axis=0), np.max(upper, axis=0)

    return smallest_epsilon(deltas, goal.delta or 0.0, SEARCH_TOLERANCE).upper


def _sample_pairs(region: Region, kernel: LatticeKernel, sensitivity: int) -> tuple[Array, Array]:
    """Answers spread over all that differ, with the largest shift either way."""
    low, high = region.answers
    if isinstance(region, RelativeRegion):
        last = math.ceil((float(kernel.upper_quantile(1e-18)) + 1) / region.theta)
        spread = np.concatenate([np.linspace(0, last, 24), np.geomspace(1, max(last, 2), 24)])
    else:
        spread = np.linspace(low, high, 200)
    answers = np.unique(np.rint(spread))
    first = np.concatenate([answers, answers])
    other = np.concatenate([answers + sensitivity, answers - sensitivity])
    kept = (other >= low) & (other <= high)
    return first[kept], other[kept]
