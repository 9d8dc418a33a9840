"""The three figures of a pair of laws: hockey-stick, Rényi divergence and largest loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbdp.accounting.exact import cells, loss, pieces, renyi
from pbdp.accounting.exact.pairs import Pairs
from pbdp.mechanism.boosted import Boosted
from pbdp.noise.kernel import Array, StepKernel

# Boxes of neighbors that a search looks at before it settles for the bounds it has.
MOST_BOXES = 1 << 19


def hockey_sticks(mechanism: Boosted, pairs: Pairs, epsilon: Array) -> tuple[Array, Array]:
    """Lower and upper delta for every pair (rows) and epsilon (columns), by the kernel's own method."""
    method = cells.hockey_stick if mechanism.kernel.loss_law is None else pieces.hockey_stick
    return method(mechanism.kernel, pairs, mechanism.boost_loss, epsilon)


def largest_deltas(mechanism: Boosted, pairs: Pairs, epsilon: Array) -> tuple[Array, Array]:
    """Lower and upper value of the largest delta among the pairs, for every epsilon."""
    lower, upper = hockey_sticks(mechanism, pairs, epsilon)
    return np.max(lower, axis=0), np.max(upper, axis=0)


@dataclass(frozen=True, slots=True)
class HockeyStick:
    """delta at one epsilon; the deltas of two sets of outputs add up."""

    epsilon: float

    def of(self, mechanism: Boosted, pairs: Pairs) -> tuple[Array, Array]:
        lower, upper = hockey_sticks(mechanism, pairs, np.array([self.epsilon]))
        return lower[:, 0], upper[:, 0]

    def joined(self, one: Array, two: Array) -> Array:
        return one + two

    def most_boxes(self, mechanism: Boosted) -> int:
        return _most_boxes(mechanism)


@dataclass(frozen=True, slots=True)
class Renyi:
    """Rényi divergence of one order; the moments of two sets of outputs add up."""

    order: float

    def of(self, mechanism: Boosted, pairs: Pairs) -> tuple[Array, Array]:
        return renyi.divergence(mechanism.kernel, pairs, mechanism.boost_loss, self.order)

    def joined(self, one: Array, two: Array) -> Array:
        scale = self.order - 1
        return np.asarray(np.logaddexp(one * scale, two * scale) / scale)

    def most_boxes(self, mechanism: Boosted) -> int:
        return _most_boxes(mechanism)


@dataclass(frozen=True, slots=True)
class LargestLoss:
    """The supremum of the loss; of two sets of outputs the larger counts."""

    def of(self, mechanism: Boosted, pairs: Pairs) -> tuple[Array, Array]:
        return loss.largest_loss(mechanism.kernel, pairs, mechanism.boost_loss)

    def joined(self, one: Array, two: Array) -> Array:
        return np.maximum(one, two)

    def most_boxes(self, mechanism: Boosted) -> int:
        return _most_boxes(mechanism)


def _most_boxes(mechanism: Boosted) -> int:
    """Fewer for step kernels, whose cells are counted one by one."""
    return MOST_BOXES >> 6 if isinstance(mechanism.kernel, StepKernel) else MOST_BOXES
