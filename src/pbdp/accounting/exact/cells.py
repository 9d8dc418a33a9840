"""Divergences of laws on a lattice, by enumeration.

Outputs beyond the enumerated window are counted as if all of their mass were lost, which only raises the
figure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbdp.accounting.exact.pairs import Pairs
from pbdp.accounting.exact.pieces import LARGEST_EPSILON, RELATIVE_ERROR
from pbdp.noise.kernel import Array, Kernel, LatticeKernel

# Mass left outside the window; far below any delta that can be asked for.
TAIL = 1e-40
CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Log-masses of the first law and of the second on the same cells, one row a pair."""

    log_first: Array
    log_second: Array

    def losses(self) -> Array:
        """log(first / second): +inf where only the first law has mass, -inf where it has none."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(self.log_first), -np.inf, self.log_first - self.log_second)


def cells(kernel: Kernel, pairs: Pairs, boost_loss: float, reach: int) -> Cells:
    """The whole numbers |n| <= reach for every pair."""
    points = np.arange(-reach, reach + 1, dtype=np.float64)[None, :]
    first = kernel.log_density(points)
    shifts, row = np.unique(pairs.shift, return_inverse=True)
    second = kernel.log_density(points - shifts[:, None])[row]
    low, high = np.floor(pairs.low)[:, None], np.ceil(pairs.high)[:, None]
    noise2 = points - pairs.shift[:, None]
    inside1 = (points >= -pairs.below1[:, None]) & (points <= pairs.above1[:, None])
    inside2 = (noise2 >= -pairs.below2[:, None]) & (noise2 <= pairs.above2[:, None])
    counted = (points >= low) & (points <= high)
    log_first = first + pairs.log_scale1[:, None] - np.where(inside1, 0.0, boost_loss)
    log_second = second + pairs.log_scale2[:, None] - np.where(inside2, 0.0, boost_loss)
    return Cells(log_first=np.where(counted, log_first, -np.inf), log_second=log_second)


def window(kernel: Kernel) -> tuple[int, float]:
    """A reach and the most that the kernel has beyond it."""
    if not isinstance(kernel, LatticeKernel):
        raise AssertionError("a continuous kernel is log-concave, and accounted for by its pieces")
    reach = kernel.reach(TAIL)
    low, high = kernel.support
    return reach, 0.0 if -low <= reach and high <= reach else TAIL


def hockey_stick(kernel: Kernel, pairs: Pairs, boost_loss: float, epsilon: Array) -> tuple[Array, Array]:
    """Lower and upper value of the hockey-stick divergence; one row a pair, one column an epsilon."""
    eps = np.minimum(np.atleast_1d(np.asarray(epsilon, dtype=np.float64)), LARGEST_EPSILON)
    reach, missed = window(kernel)
    value, error = np.zeros((len(pairs), len(eps))), np.zeros((len(pairs), len(eps)))
    rows = max(1, CELLS_AT_ONCE // (2 * reach + 1))
    for start in range(0, len(pairs), rows):
        part = cells(kernel, pairs[start : start + rows], boost_loss, reach)
        first, second = np.exp(part.log_first), np.exp(part.log_second)
        for column, growth in enumerate(np.exp(eps)):
            gain = first - growth * second
            counted = gain > 0
            value[start : start + rows, column] = np.sum(gain, axis=1, where=counted)
            error[start : start + rows, column] = np.sum(first + growth * second, axis=1, where=counted)
    error *= RELATIVE_ERROR
    # scale1 times the kernel's own missing mass bounds the missing mass of the first law
    return np.maximum(value - error, 0.0), value + error + missed * np.exp(pairs.log_scale1)[:, None]
