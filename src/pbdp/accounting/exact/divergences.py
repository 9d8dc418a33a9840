"""The three figures of a pair of laws: hockey-stick, Rényi divergence and largest loss.

Log-concave kernels have closed forms on pieces of the line (`pieces`). The others are laws on a lattice,
whose outputs are enumerated; those beyond the enumerated window are counted as if all of their mass were
lost, which only raises the figure.

The Rényi divergence of order alpha > 1 is D_alpha = log( integral of first^alpha · second^(1-alpha) ) /
(alpha - 1), exact up to stated rounding, for the ideal, unbounded law: a law of finite support that moves
with the answer has none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.accounting.exact import pieces
from pbdp.accounting.exact.pairs import Pairs
from pbdp.accounting.exact.pieces import LARGEST_EPSILON, RELATIVE_ERROR
from pbdp.digits import order_text
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import Boosted
from pbdp.noise.kernel import Array, Kernel, LatticeKernel, LogConcave, LogConcaveKernel

# Slack for the rounding of a largest loss.
ROUNDING = 1e-12
# Mass left outside the enumerated window; far below any delta that can be asked for.
TAIL = 1e-40
CELLS_AT_ONCE = 1 << 22
# Slack for rounding in a log-moment: exponents of size x carry an error of about x·2^-52.
LOG_ERROR = 1e-13
# Terms this far below the largest (in logs) are left to the tail bound.
NEGLIGIBLE = 45.0
LARGEST_WINDOW = 1 << 23


def hockey_sticks(mechanism: Boosted, pairs: Pairs, epsilon: Array) -> tuple[Array, Array]:
    """Lower and upper delta for every pair (rows) and epsilon (columns), by the kernel's own method."""
    method = _enumerated if mechanism.kernel.loss_law is None else pieces.hockey_stick
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


@dataclass(frozen=True, slots=True)
class Renyi:
    """Rényi divergence of one order; the moments of two sets of outputs add up."""

    order: float

    def of(self, mechanism: Boosted, pairs: Pairs) -> tuple[Array, Array]:
        return renyi_divergence(mechanism.kernel, pairs, mechanism.boost_loss, self.order)

    def joined(self, one: Array, two: Array) -> Array:
        scale = self.order - 1
        return np.asarray(np.logaddexp(one * scale, two * scale) / scale)


@dataclass(frozen=True, slots=True)
class LargestLoss:
    """The supremum of the loss; of two sets of outputs the larger counts."""

    def of(self, mechanism: Boosted, pairs: Pairs) -> tuple[Array, Array]:
        return largest_loss(mechanism.kernel, pairs, mechanism.boost_loss)

    def joined(self, one: Array, two: Array) -> Array:
        return np.maximum(one, two)


def largest_loss(kernel: Kernel, pairs: Pairs, boost_loss: float) -> tuple[Array, Array]:
    """Lower and upper value of the supremum of log(first / second) for every pair: its pure epsilon.

    Infinite where it has none.
    """
    bounded = math.isinf(boost_loss) and np.all(np.isfinite(pairs.below1) & np.isfinite(pairs.above1))
    if math.isinf(kernel.largest_loss(float(np.max(np.abs(pairs.shift), initial=0.0)))) and not bounded:
        infinite = np.where(pairs.shift == 0, 0.0, np.inf)
        return infinite, infinite
    if kernel.loss_law is None:
        value = _loss_by_cells(kernel, pairs, boost_loss)
    else:
        value = _loss_by_pieces(kernel, kernel.loss_law, pairs.mirrored(), boost_loss)
    slack = np.where(np.isfinite(value), ROUNDING * (1 + np.abs(value)), 0.0)
    return value - slack, value + slack


def _loss_by_pieces(kernel: Kernel, law: LogConcave, pairs: Pairs, boost_loss: float) -> Array:
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


def _loss_by_cells(kernel: Kernel, pairs: Pairs, boost_loss: float) -> Array:
    """Staircases repeat every width away from the mode, so a window of a few widths shows every loss."""
    reach, _ = _window(kernel)
    return np.asarray(np.max(cells(kernel, pairs, boost_loss, reach).losses(), axis=1))


# ---------------------------------------------------------------------------------------- by enumeration


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


def _window(kernel: Kernel) -> tuple[int, float]:
    """A reach and the most that the kernel has beyond it."""
    if not isinstance(kernel, LatticeKernel):
        raise AssertionError("a continuous kernel is log-concave, and accounted for by its pieces")
    reach = kernel.reach(TAIL)
    low, high = kernel.support
    return reach, 0.0 if -low <= reach and high <= reach else TAIL


def _enumerated(kernel: Kernel, pairs: Pairs, boost_loss: float, epsilon: Array) -> tuple[Array, Array]:
    """Lower and upper value of the hockey-stick divergence; one row a pair, one column an epsilon."""
    eps = np.minimum(np.atleast_1d(np.asarray(epsilon, dtype=np.float64)), LARGEST_EPSILON)
    reach, missed = _window(kernel)
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


# ---------------------------------------------------------------------------------------- Rényi


def renyi_divergence(kernel: Kernel, pairs: Pairs, boost_loss: float, order: float) -> tuple[Array, Array]:
    """Lower and upper value of D_order(first || second) for every pair."""
    finite = np.isfinite(kernel.support[0]) or np.isfinite(kernel.support[1])
    if finite and not math.isinf(boost_loss):
        infinite = np.where(pairs.shift == 0, 0.0, np.inf)
        return infinite, infinite
    if isinstance(kernel, LogConcaveKernel):
        low = high = _moment_by_pieces(kernel, pairs.mirrored(), boost_loss, order)
    else:
        low, high = _moment_by_cells(kernel, pairs, boost_loss, order)
    if math.isinf(boost_loss) and not finite:
        bare = _reaches_outside(kernel, pairs)
        low, high = np.where(bare, np.inf, low), np.where(bare, np.inf, high)
    slack = np.where(np.isfinite(high), LOG_ERROR * (1 + np.abs(high)), 0.0)
    return (low - slack) / (order - 1), (high + slack) / (order - 1)


def _reaches_outside(kernel: Kernel, pairs: Pairs) -> npt.NDArray[np.bool_]:
    """Whether some output of the first region is not in the second: with q = 1 its loss is infinite."""
    first = [-pairs.below1, pairs.above1]
    second = [pairs.shift - pairs.below2, pairs.shift + pairs.above2]
    if isinstance(kernel, LatticeKernel):
        first, second = ([np.ceil(low), np.floor(high)] for low, high in (first, second))
    return np.asarray((first[0] < second[0]) | (first[1] > second[1]))


def _moment_by_pieces(kernel: LogConcaveKernel, pairs: Pairs, boost_loss: float, order: float) -> Array:
    """The log-moment from the kernel's closed forms on the five pieces."""
    shift = np.where(pairs.shift > 0, pairs.shift, np.finfo(float).tiny)
    total = np.full(len(pairs), -np.inf)
    for piece in pieces.pieces(kernel, pairs, boost_loss):
        occupied = (piece.right > piece.left) & ~np.isneginf(piece.log_weight1)
        if not np.any(occupied):
            continue
        moment = kernel.log_moment(piece.left[occupied], piece.right[occupied], shift[occupied], order)
        weight = order * piece.log_weight1[occupied] + (1 - order) * piece.log_weight2[occupied]
        total[occupied] = np.logaddexp(total[occupied], moment + weight)
    return total


def _moment_by_cells(kernel: Kernel, pairs: Pairs, boost_loss: float, order: float) -> tuple[Array, Array]:
    """log-moment bounds by enumeration in a window that is widened until the tails no longer matter."""
    low, high = np.empty(len(pairs)), np.empty(len(pairs))
    furthest = float(np.max(np.abs(pairs.shift), initial=1.0))
    ends = max(map(abs, kernel.support))
    reach = furthest + ends if math.isfinite(ends) else 2 * furthest + float(kernel.reach(2e-20))
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
    if reach >= max(map(abs, kernel.support)):
        return inner, np.full(len(pairs), -np.inf)
    # Outside the window the weights multiply the kernel's term by at most this. With hard bounds all that
    # counts there lies in both regions, or the divergence is infinite (see `_reaches_outside`).
    lost = boost_loss if math.isfinite(boost_loss) else 0.0
    worst_weight = order * pairs.log_scale1 + (1 - order) * pairs.log_scale2 + (order - 1) * lost
    outside = kernel.moment_tail(np.abs(pairs.shift), order, float(math.ceil(reach)))
    return inner, outside + worst_weight


def _log_sum(terms: Array) -> Array:
    """log of the sum of exp along the last axis."""
    top = np.max(terms, axis=-1)
    known = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(over="ignore"):
        return np.asarray(known + np.log(np.sum(np.exp(terms - known[..., None]), axis=-1)))
