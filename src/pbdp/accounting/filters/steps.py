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
rounding, not of the law. Outputs with the largest |loss| that have next to no mass under both laws are *bad*:
left out, and their mass (the larger of both) is paid for. A pair and its reverse leave out the same.

**On a grid.** An output with masses p and q and a loss between two points of the grid becomes two outputs at
these points with the same p and q in total (`composition.loss_distribution`, (1)). The pair is a function of
the new one, so the new one dominates it; and the reverse of the new one is the new one of the reverse.

**One symmetric pair for a curve.** Let delta_0 >= delta_1 >= ... bound delta at 0, g, 2g, ..., for all pairs
and their reverses. Joined by straight lines in e^eps and made convex it is the curve of a pair with masses
m_k = x_k·(slope_k - slope_(k+1)) at kg, m_k/x_k at -kg, delta at the end at infinity, and the rest at zero:
1 - delta_0 - 2·slope_1, which is not negative if delta_0 <= (delta_1 + d/2)/(1 + d/2), d = e^g - 1. Every
pair that is its own reverse obeys this, and so may delta_0 be lowered to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pbdp.accounting.composition.loss_distribution import split
from pbdp.accounting.composition.loss_law import LossLaw, loss_margin
from pbdp.errors import CannotCertifyError
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
        return max((float(law.masses @ np.square(law.losses)) for law in self.laws), default=0.0)

    def on_grid(self, number: int, width: float) -> GridLaw:
        """One of the laws on a grid of about this width, on which the reach lies."""
        law = self.laws[number]
        if not len(law.losses) or self.reach == 0:
            return GridLaw(step=max(width, 1e-12), first=0, masses=np.array([_total(law)]))
        points = min(max(math.ceil(self.reach / width), 1), _MOST_POINTS)
        found = split(law, self.reach / points)
        first = int(found.indices[0])
        masses = np.zeros(int(found.indices[-1]) - first + 1)
        masses[found.indices - first] = found.masses
        return GridLaw(step=found.step, first=first, masses=masses)


def step_of(laws: Sequence[LossLaw], aside: float) -> Step:
    """The step of these pairs; of each, bad outputs of mass at most `aside` under either law are left out."""
    trimmed = [_without_extremes(law, aside) for law in laws]
    missing = max((law.infinite_above for law in trimmed), default=0.0)
    sizes = [
        float(np.max(np.abs(law.losses) + 2 * loss_margin(law.losses))) for law in trimmed if len(law.losses)
    ]
    return Step(laws=tuple(trimmed), missing=missing, reach=max(sizes, default=0.0))


def _total(law: LossLaw) -> float:
    return float(np.sum(law.masses)) * (1 + (len(law.masses) + 8) * UNIT)


def _without_extremes(law: LossLaw, aside: float) -> LossLaw:
    """The law without its largest |losses|, counted as neglected with the larger of their two masses."""
    sizes = np.abs(law.losses)
    order = np.argsort(-sizes, kind="stable")
    with np.errstate(over="ignore"):
        larger = np.cumsum(np.maximum(law.masses, law.masses * np.exp(-law.losses))[order])
    number = int(np.searchsorted(larger, aside, side="right"))
    # losses of one size go together: its reverse must leave out the same
    while 0 < number < len(order) and sizes[order[number]] >= sizes[order[number - 1]] * (1 - 1e-12):
        number -= 1
    if number == 0:
        return law
    kept = np.sort(order[number:])
    return LossLaw(
        losses=law.losses[kept],
        masses=law.masses[kept],
        infinite=law.infinite,
        neglected=law.neglected + float(larger[number - 1]) * (1 + (number + 8) * UNIT),
    )


def symmetric_law(step: float, deltas: Array) -> LossLaw:
    """The pair of these upper bounds for delta at 0, step, 2·step, ...; proved above."""
    values = np.minimum.accumulate(np.minimum(deltas, 1.0))
    x = np.exp(step * np.arange(len(values)))
    gap = math.expm1(step)
    values[0] = min(values[0], (values[1] + gap / 2) / (1 + gap / 2))
    slopes = np.zeros(len(values) + 1)
    slopes[1:-1] = (values[:-1] - values[1:]) / (x[:-1] * gap)
    slopes = np.maximum.accumulate(slopes[::-1])[::-1]
    error = 32 * (len(values) + 4) * UNIT
    masses = x[1:] * (slopes[1:-1] - slopes[2:]) * (1 + error)
    largest = float(values[-1] + np.sum(np.diff(x) * slopes[1:-1]))
    middle = 1 - largest - 2 * float(slopes[1])
    if middle < -1e-9:
        raise CannotCertifyError("The bounds for delta of this noise do not fit together.")
    losses = step * np.arange(1, len(values))
    return LossLaw(
        losses=np.concatenate([-losses[::-1], [0.0], losses]),
        masses=np.concatenate([(masses / x[1:])[::-1], [max(middle, 0.0) + error], masses]),
        infinite=float(values[-1]) * (1 + error),
    )
