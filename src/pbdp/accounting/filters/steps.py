"""What a filter sees of a step: pairs of laws that dominate it, as laws of their privacy loss.

**Which pairs.** Noise that only moves with the answer: its table of whole weights against its copy moved by
as much as one person can move the answer, in either direction; a table that never rises away from its mode
needs the largest move only:

    Let P_s be the table and Q_s the table moved by s, 0 < s < t. By (1) of `exact.all_neighbors`
    delta_eps(P_s, Q_s) <= delta_eps(P_t, Q_t) for eps >= 0, and the same with the laws exchanged. Since
    delta_-eps(P, Q) = 1 - e^-eps + e^-eps·delta_eps(Q, P), it holds for every real eps.

Noise that changes with the answer: one pair for all neighbors (`changing`). A mechanism of which only its
(epsilon, delta) is known: randomized response (`claimed`). A package: the pairs of its releases, multiplied.

**Set aside.** The last weights of a table are 1, 2, 3, ... units of 2^-62, whose ratios are those of
rounding, not of the law. Let R be a limit for losses. An output with p > e^R·q is made two: one with e^R·q
and q, so a loss of R, and one with the rest of p and none of q. Likewise if q > e^R·p. The pair is a function
of the new one, which has the same curve from -R to R and a flat one beyond: all finite losses are within R,
and the mass at infinity is delta at R. So any R will do as reach whose delta is paid for. If one curve lies
above another, so it does after this.

**On a grid.** An output with masses p and q and a loss between two points of the grid becomes two outputs at
these points with the same p and q in total (`composition.loss_distribution`, (1)). The pair is a function of
the new one, so the new one dominates it; and the reverse of the new one is the new one of the reverse.

**One symmetric pair for a curve.** Let delta_0 >= delta_1 >= ... bound delta at 0, g, 2g, ..., for all pairs
and their reverses. The largest delta of these, D, is convex in x = e^eps, and

    D(1/x) = 1 - 1/x + D(x)/x,    so that    delta_0 <= (delta_k + d/2) / (1 + d/2),    d = e^(kg) - 1,

for D(1) lies below the chord from 1/x to x. Lower delta_0 to that for all k. The largest convex curve below
the bounds is still above D, and it is that of a pair: masses m_k = x_k·(slope before - slope after) at kg,
m_k/x_k at -kg, the last delta at infinity, and the rest at zero, which is 1 - delta_0 - 2·(first slope) >= 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pbdp.accounting.composition.loss_distribution import split
from pbdp.accounting.composition.loss_law import LossLaw, law_epsilon, loss_margin
from pbdp.noise.kernel import Array

UNIT = 2.0**-53
# Finer than this, relative to the reach, no grid need be.
_MOST_POINTS = 1 << 14


@dataclass(frozen=True, slots=True)
class GridLaw:
    """Masses, rounded up, of the losses first·step, (first + 1)·step, ..."""

    step: float
    first: int
    masses: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """The good parts of the pairs, the mass of the bad parts, rounded up, and the largest good |loss|."""

    laws: tuple[LossLaw, ...]
    missing: float
    reach: float

    @property
    def variance(self) -> float:
        """About the variance of the loss: what the step would cost if it were Gaussian."""
        return second_moment(self.laws)

    def on_grid(self, number: int, width: float) -> GridLaw:
        """One of the laws on a grid of about this width, on which the reach lies."""
        law = self.laws[number]
        if not len(law.losses) or self.reach == 0:
            return GridLaw(step=max(width, 1e-12), first=0, masses=np.array([_total(law)]))
        reach = self.reach + 4 * float(loss_margin(np.array(self.reach)))
        points = min(max(math.ceil(reach / width), 1), _MOST_POINTS)
        found = split(law, max(reach / points, width / 2))
        first = int(found.indices[0])
        masses = np.zeros(int(found.indices[-1]) - first + 1)
        masses[found.indices - first] = found.masses
        return GridLaw(step=found.step, first=first, masses=masses)


def second_moment(laws: Sequence[LossLaw]) -> float:
    """The largest mean of a squared loss; not by `@`, whose threads cost more than they bring."""
    return max((float(np.sum(law.masses * np.square(law.losses))) for law in laws), default=0.0)


def step_of(laws: Sequence[LossLaw], aside: float) -> Step:
    """The step of these pairs, with the least reach for which at most `aside` of each is set aside."""
    reach = max((_least_reach(law, aside) for law in laws), default=0.0)
    limited = tuple(_limited(law, reach) for law in laws)
    return Step(laws=limited, missing=max((law.infinite_above for law in limited), default=0.0), reach=reach)


def _total(law: LossLaw) -> float:
    return float(np.sum(law.masses)) * (1 + (len(law.masses) + 8) * UNIT)


def _least_reach(law: LossLaw, aside: float) -> float:
    """The least R at which delta of the finite losses is at most `aside`, or about the largest |loss|."""
    largest = float(np.max(np.abs(law.losses) + 2 * loss_margin(law.losses), initial=0.0))
    if aside <= 0 or largest == 0:
        return largest
    finite = LossLaw(losses=law.losses, masses=law.masses, infinite=0.0)
    return min(law_epsilon(finite, aside).upper, largest)


def _limited(law: LossLaw, reach: float) -> LossLaw:
    """The law with losses within the reach; what exceeds it is neglected mass."""
    excess = np.maximum(law.losses + loss_margin(law.losses) - reach, 0.0)
    beyond = law.masses * -np.expm1(-excess)
    return LossLaw(
        losses=np.clip(law.losses, -reach, reach),
        masses=law.masses * np.exp(-excess) * (1 + 8 * UNIT),
        infinite=law.infinite,
        neglected=law.neglected + float(np.sum(beyond)) * (1 + (len(beyond) + 16) * UNIT),
    )


def symmetric_law(step: float, deltas: Array) -> LossLaw:
    """The pair of these upper bounds for delta at 0, step, 2·step, ...; proved above.

    A mass is a difference of slopes, each known to a few units and as many as the loss is large.
    """
    values = np.minimum.accumulate(np.minimum(deltas, 1.0))
    losses = step * np.arange(len(values))
    halves = np.expm1(losses[1:]) / 2
    values[0] = min(values[0], float(np.min((values[1:] + halves) / (1 + halves))) * (1 + 8 * UNIT))
    at = _lower_hull(np.exp(losses), values)
    values, losses = values[at], losses[at]
    x = np.exp(losses)
    slopes = np.append(-np.diff(values) / (x[:-1] * np.expm1(np.diff(losses))), 0.0)
    change = np.maximum(slopes[:-1] - slopes[1:], 0.0)
    change += 16 * (8 + losses[1:]) * UNIT * (slopes[:-1] + slopes[1:])
    masses = x[1:] * change * (1 + 64 * UNIT)
    middle = max(1 - float(values[0]) - 2 * float(slopes[0]), 0.0) + 64 * UNIT
    return LossLaw(
        losses=np.concatenate([-losses[:0:-1], [0.0], losses[1:]]),
        masses=np.concatenate([(masses / x[1:])[::-1], [middle], masses]),
        infinite=float(values[-1]) * (1 + 64 * UNIT),
    )


def _lower_hull(x: Array, y: Array) -> list[int]:
    """The points of the largest convex curve below all of them."""
    hull: list[int] = []
    for k in range(len(x)):
        while len(hull) > 1:
            i, j = hull[-2:]
            if (y[j] - y[i]) * (x[k] - x[j]) < (y[k] - y[j]) * (x[j] - x[i]):
                break
            hull.pop()
        hull.append(k)
    return hull
