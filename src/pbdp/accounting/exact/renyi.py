"""Rényi divergence of order alpha > 1, exact up to stated rounding.

D_alpha = log( integral of first^alpha · second^(1-alpha) ) / (alpha - 1), summed over the pieces on which the
weights are constant: in closed form for continuous log-concave kernels, by enumeration in logs on a lattice.
Figures are for the ideal, unbounded law: a law of finite support that moves with the answer has none.
"""

from __future__ import annotations

import math

import numpy as np

from pbdp.accounting.exact.cells import CELLS_AT_ONCE, cells
from pbdp.accounting.exact.pairs import Pairs
from pbdp.accounting.exact.pieces import pieces
from pbdp.digits import order_text
from pbdp.errors import CannotCertifyError
from pbdp.noise.kernel import Array, Kernel, LogConcaveKernel

# Slack for rounding in a log-moment: exponents of size x carry an error of about x·2^-52.
LOG_ERROR = 1e-13
# Terms this far below the largest (in logs) are left to the tail bound.
NEGLIGIBLE = 45.0
LARGEST_WINDOW = 1 << 23


def divergence(kernel: Kernel, pairs: Pairs, boost_loss: float, order: float) -> tuple[Array, Array]:
    """Lower and upper value of D_order(first || second) for every pair."""
    if math.isinf(boost_loss):
        return _truncated(pairs)
    if np.isfinite(kernel.support[0]) or np.isfinite(kernel.support[1]):
        infinite = np.where(pairs.shift == 0, 0.0, np.inf)
        return infinite, infinite
    if isinstance(kernel, LogConcaveKernel):
        low = high = _by_pieces(kernel, pairs.mirrored(), boost_loss, order)
    else:
        low, high = _by_cells(kernel, pairs, boost_loss, order)
    slack = LOG_ERROR * (1 + np.abs(high))
    return (low - slack) / (order - 1), (high + slack) / (order - 1)


def _truncated(pairs: Pairs) -> tuple[Array, Array]:
    """With q = 1 the divergence is infinite as soon as the first region reaches outside the second."""
    covered = (pairs.shift - pairs.below2 <= -pairs.below1) & (pairs.shift + pairs.above2 >= pairs.above1)
    if np.any(covered & (pairs.shift != 0)):
        raise CannotCertifyError(
            "Rényi figures for hard bounds (boost 1) are not available; use a boost below 1."
        )
    infinite = np.where(pairs.shift == 0, 0.0, np.inf)
    return infinite, infinite


def _by_pieces(kernel: LogConcaveKernel, pairs: Pairs, boost_loss: float, order: float) -> Array:
    """The log-moment from the kernel's closed forms on the five pieces."""
    shift = np.where(pairs.shift > 0, pairs.shift, np.finfo(float).tiny)
    total = np.full(len(pairs), -np.inf)
    for piece in pieces(kernel, pairs, boost_loss):
        occupied = piece.right > piece.left
        if not np.any(occupied):
            continue
        moment = kernel.log_moment(piece.left[occupied], piece.right[occupied], shift[occupied], order)
        weight = order * piece.log_weight1[occupied] + (1 - order) * piece.log_weight2[occupied]
        total[occupied] = np.logaddexp(total[occupied], moment + weight)
    return total


def _by_cells(kernel: Kernel, pairs: Pairs, boost_loss: float, order: float) -> tuple[Array, Array]:
    """log-moment bounds by enumeration in a window that is widened until the tails no longer matter."""
    low, high = np.empty(len(pairs)), np.empty(len(pairs))
    furthest = float(np.max(np.abs(pairs.shift), initial=1.0))
    reach = 2 * furthest + float(kernel.reach(2e-20))
    while True:
        rows = max(1, int(CELLS_AT_ONCE // (2 * reach + 1)))
        settled = True
        for start in range(0, len(pairs), rows):
            part = pairs[start : start + rows]
            inner, tail = _window_moment(kernel, part, boost_loss, order, reach)
            settled &= bool(np.all(tail <= inner - NEGLIGIBLE / 2))
            low[start : start + rows], high[start : start + rows] = inner, np.logaddexp(inner, tail)
        if settled:
            return low, high
        reach *= 2
        if reach > LARGEST_WINDOW:
            raise CannotCertifyError(
                f"The Rényi sum at order {order_text(order)} needs more than {LARGEST_WINDOW} terms. "
                "Use a lower order, or a coarser step."
            )


def _window_moment(
    kernel: Kernel, pairs: Pairs, boost_loss: float, order: float, reach: float
) -> tuple[Array, Array]:
    """Log of the sum inside |n| <= reach, and a bound for the log of the sum outside."""
    grid = cells(kernel, pairs, boost_loss, math.ceil(reach))
    with np.errstate(invalid="ignore"):
        terms = np.where(
            np.isneginf(grid.log_first), -np.inf, order * grid.log_first + (1 - order) * grid.log_second
        )
    inner = _log_sum(terms)
    # Outside the window the weights multiply the kernel's term by at most this.
    worst_weight = order * pairs.log_scale1 + (1 - order) * pairs.log_scale2 + (order - 1) * boost_loss
    outside = kernel.moment_tail(np.abs(pairs.shift), order, float(math.ceil(reach)))
    return inner, outside + worst_weight


def _log_sum(terms: Array) -> Array:
    """log of the sum of exp along the last axis."""
    top = np.max(terms, axis=-1)
    return np.asarray(top + np.log(np.sum(np.exp(terms - top[..., None]), axis=-1)))
