"""The largest privacy loss of a pair of laws: its pure epsilon, infinite where it has none."""

from __future__ import annotations

import math

import numpy as np

from pbdp.accounting.exact.cells import cells, window
from pbdp.accounting.exact.pairs import Pairs
from pbdp.accounting.exact.pieces import pieces
from pbdp.noise.kernel import Array, Kernel, LatticeKernel, LogConcave

ROUNDING = 1e-12


def largest_loss(kernel: Kernel, pairs: Pairs, boost_loss: float) -> tuple[Array, Array]:
    """Lower and upper value of the supremum of log(first / second) for every pair."""
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
    for piece in pieces(kernel, pairs, boost_loss):
        occupied = (piece.right > piece.left) & ~np.isneginf(piece.log_weight1)
        start = np.where(np.isfinite(piece.left), piece.left + inward, 0.0)
        at_start = law.log_density(start) - law.log_density(start - pairs.shift)
        loss = np.where(np.isfinite(piece.left), at_start, plain) + piece.offset
        largest = np.where(occupied, np.maximum(largest, loss), largest)
    return largest


def _by_cells(kernel: Kernel, pairs: Pairs, boost_loss: float) -> Array:
    """Staircases repeat every width away from the mode, so a window of a few widths shows every loss."""
    reach, _ = window(kernel)
    return np.asarray(np.max(cells(kernel, pairs, boost_loss, reach).losses(), axis=1))
