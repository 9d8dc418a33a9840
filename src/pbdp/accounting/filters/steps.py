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
rounding, not of the law. Outputs with the largest |loss| that have next to no mass are left out and their
mass is paid for as an infinite loss. *Bad* are those that are left out of a pair and of its reverse: any
other one is within the reach of one of them, and to count more losses as infinite only raises a curve.

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
from pbdp.accounting.composition.loss_law import LossLaw, loss_margin
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
        points = min(max(math.ceil(self.reach / width), 1), _MOST_POINTS)
        found = split(law, max(self.reach / points, width / 2))
        first = int(found.indices[0])
        masses = np.zeros(int(found.indices[-1]) - first + 1)
        masses[found.indices - first] = found.masses
        return GridLaw(step=found.step, first=first, masses=masses)


def second_moment(laws: Sequence[LossLaw]) -> float:
    """The largest mean of a squared loss; not by `@`, whose threads cost more than they bring."""
    return max((float(np.sum(law.masses * np.square(law.losses))) for law in laws), default=0.0)


def step_of(laws: Sequence[LossLaw], aside: float) -> Step:
    """The step of these pairs; of each, outputs of mass at most `aside` are left out."""
    trimmed = [_without_extremes(law, aside) for law in laws]
    missing = max((law.infinite_above for law in trimmed), default=0.0)
    sizes = [
        float(np.max(np.abs(law.losses) + 2 * loss_margin(law.losses))) for law in trimmed if len(law.losses)
    ]
    return Step(laws=tuple(trimmed), missing=missing, reach=max(sizes, default=0.0))


def _total(law: LossLaw) -> float:
    return float(np.sum(law.masses)) * (1 + (len(law.masses) + 8) * UNIT)


def _without_extremes(law: LossLaw, aside: float) -> LossLaw:
    """The law without its largest |losses|, whose mass is counted as neglected."""
    order = np.argsort(-np.abs(law.losses), kind="stable")
    outside = np.cumsum(law.masses[order])
    number = int(np.searchsorted(outside, aside, side="right"))
    if number == 0:
        return law
    kept = np.sort(order[number:])
    return LossLaw(
        losses=law.losses[kept],
        masses=law.masses[kept],
        infinite=law.infinite,
        neglected=law.neglected + float(outside[number - 1]) * (1 + (number + 8) * UNIT),
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
