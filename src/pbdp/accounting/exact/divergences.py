"""The three figures of a pair of laws: hockey-stick, Rényi divergence and largest loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbdp.accounting.exact import cells, pieces, renyi
from pbdp.accounting.exact.pairs import Pairs
from pbdp.mechanism.design import Boosted
from pbdp.noise.kernel import Array, Kernel, LatticeKernel, LogConcave

# Boxes of neighbors that a search looks at before it settles for the bounds it has.
MOST_BOXES = 1 << 19
# Slack for the rounding of a largest loss.
ROUNDING = 1e-12


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

    most_boxes: ClassVar[int] = MOST_BOXES

    epsilon: float

    def of(self, mechanism: Boosted, pairs: Pairs) -> tuple[Array, Array]:
        lower, upper = hockey_sticks(mechanism, pairs, np.array([self.epsilon]))
        return lower[:, 0], upper[:, 0]

    def joined(self, one: Array, two: Array) -> Array:
        return one + two


@dataclass(frozen=True, slots=True)
class Renyi:
    """Rényi divergence of one order; the moments of two sets of outputs add up."""

    most_boxes: ClassVar[int] = MOST_BOXES

    order: float

    def of(self, mechanism: Boosted, pairs: Pairs) -> tuple[Array, Array]:
        return renyi.divergence(mechanism.kernel, pairs, mechanism.boost_loss, self.order)

    def joined(self, one: Array, two: Array) -> Array:
        scale = self.order - 1
        return np.asarray(np.logaddexp(one * scale, two * scale) / scale)


@dataclass(frozen=True, slots=True)
class LargestLoss:
    """The supremum of the loss; of two sets of outputs the larger counts."""

    most_boxes: ClassVar[int] = MOST_BOXES

    def of(self, mechanism: Boosted, pairs: Pairs) -> tuple[Array, Array]:
        return largest_loss(mechanism.kernel, pairs, mechanism.boost_loss)

    def joined(self, one: Array, two: Array) -> Array:
        return np.maximum(one, two)


def largest_loss(kernel: Kernel, pairs: Pairs, boost_loss: float) -> tuple[Array, Array]:
    """Lower and upper value of the supremum of log(first / second) for every pair: its pure epsilon.

    Infinite where it has none.
    """
    if math.isinf(kernel.largest_loss(float(np.max(np.abs(pairs.shift), initial=0.0)))):
        infinite = np.where(pairs.shift == 0, 0.0, np.inf)
        return infinite, infinite
    if kernel.loss_law is None:
        value = _by_cells(kernel, pairs, boost_loss)
    else:
        value = _by_pieces(kernel, kernel.loss_law, pairs.mirrored(), boost_loss)
    slack = np.where(np.isfinite(value), ROUNDING * (1 + np.abs(value)), 0.0)
    return value - slack, value + slack


def _by_pieces(kernel: Kernel, law: LogConcave, pairs: Pairs, boost_loss: float) -> Array:
    """The loss falls along each piece, so its supremum there is at the left end."""
    inward = 0.5 if isinstance(kernel, LatticeKernel) else 0.0
    plain = np.array([kernel.largest_loss(float(s)) if s > 0 else 0.0 for s in pairs.shift])
    largest = np.full(len(pairs), -np.inf)
    for piece in pieces.pieces(kernel, pairs, boost_loss):
        occupied = (piece.right > piece.left) & ~np.isneginf(piece.log_weight1)
        start = np.where(np.isfinite(piece.left), piece.left + inward, 0.0)
        at_start = law.log_density(start) - law.log_density(start - pairs.shift)
        loss = np.where(np.isfinite(piece.left), at_start, plain) + piece.offset
        largest = np.where(occupied, np.maximum(largest, loss), largest)
    return largest


def _by_cells(kernel: Kernel, pairs: Pairs, boost_loss: float) -> Array:
    """Staircases repeat every width away from the mode, so a window of a few widths shows every loss."""
    reach, _ = cells.window(kernel)
    return np.asarray(np.max(cells.cells(kernel, pairs, boost_loss, reach).losses(), axis=1))
