"""Hockey-stick divergence of log-concave kernels: five differences of the kernel's CDF, no integration.

The four region ends cut the line into five pieces. On each the log-ratio of the two laws is the kernel's own
loss log f(n) - log f(n - s), which falls as n grows, plus a constant. The outputs whose ratio exceeds e^eps
are therefore one interval a piece, from its left end to a crossing that the kernel knows in closed form.
On a lattice the ends sit on half-integers and the same argument holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pbdp.accounting.exact.pairs import Pairs
from pbdp.noise.kernel import Array, Kernel, LatticeKernel, LogConcave

# Relative error allowed for each tail probability and for each normalizer (see pbdp.noise.kernel).
RELATIVE_ERROR = 4e-12
# Slack in the level at which outputs are taken in, so that rounding leaves none out where the loss is flat.
# An output taken in too early lowers the figure by at most the slack times its mass: added to the error.
LEVEL_ERROR = 4e-12
# Above this, exp overflows; delta falls with epsilon, so the value at the cap is a bound for all beyond.
LARGEST_EPSILON = 690.0
PIECES = 5
# Pairs times epsilons in memory at once.
ENTRIES_AT_ONCE = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece of the line for every pair: its ends and the log-weights of the two laws on it."""

    left: Array
    right: Array
    log_weight1: Array
    log_weight2: Array

    @classmethod
    def joined(cls, parts: Iterable[Piece]) -> Piece:
        """Several pieces of every pair, one after the other."""
        listed = list(parts)
        return cls(
            left=np.concatenate([piece.left for piece in listed]),
            right=np.concatenate([piece.right for piece in listed]),
            log_weight1=np.concatenate([piece.log_weight1 for piece in listed]),
            log_weight2=np.concatenate([piece.log_weight2 for piece in listed]),
        )

    @property
    def offset(self) -> Array:
        """What the weights add to the kernel's loss; +inf where only the first law has mass here.

        Where it has none, there is no loss to speak of.
        """
        with np.errstate(invalid="ignore"):
            return self.log_weight1 - self.log_weight2


def pieces(kernel: Kernel, pairs: Pairs, boost_loss: float) -> Iterator[Piece]:
    """The five pieces of mirrored pairs (shift >= 0), empty ones included."""
    shift = pairs.shift
    ends = [-pairs.below1, pairs.above1, -pairs.below2, pairs.above2]
    if isinstance(kernel, LatticeKernel):
        ends = [
            np.ceil(ends[0]) - 0.5,
            np.floor(ends[1]) + 0.5,
            np.ceil(ends[2]) - 0.5,
            np.floor(ends[3]) + 0.5,
        ]
        low, high = np.floor(pairs.low) - 0.5, np.ceil(pairs.high) + 0.5
    else:
        low, high = pairs.low, pairs.high
    low1, high1, low2, high2 = ends[0], ends[1], ends[2] + shift, ends[3] + shift
    cuts = np.sort(np.stack([low1, high1, low2, high2]), axis=0)
    lefts = [low, *(np.clip(cut, low, high) for cut in cuts)]
    rights = [*lefts[1:], high]
    for left, right in zip(lefts, rights, strict=True):
        inside1 = (left >= low1) & (right <= high1)
        inside2 = (left >= low2) & (right <= high2)
        yield Piece(
            left=left,
            right=np.maximum(left, right),
            log_weight1=pairs.log_scale1 - np.where(inside1, 0.0, boost_loss),
            log_weight2=pairs.log_scale2 - np.where(inside2, 0.0, boost_loss),
        )


def interval_mass(kernel: Kernel, left: Array, right: Array) -> tuple[Array, Array]:
    """Mass of an interval and the size of the tail probabilities it was subtracted from.

    The kernel is symmetric, so only its left tail is ever evaluated, on the side of zero where it is small.
    """
    flip = left + right > 0
    low, high = np.where(flip, -right, left), np.where(flip, -left, right)
    near, far = kernel.cdf(np.stack([-np.abs(high), low]))
    one_sided = high <= 0
    mass = np.where(one_sided, near - far, 1.0 - near - far)
    # across zero the subtraction from one loses 1e-15 at most
    size = near + far + np.where(one_sided, 0.0, 1e-3)
    return np.maximum(mass, 0.0), size


def hockey_stick(kernel: Kernel, pairs: Pairs, boost_loss: float, epsilon: Array) -> tuple[Array, Array]:
    """Lower and upper value of the hockey-stick divergence of the first law from the second.

    One row a pair, one column an epsilon.
    """
    pairs = pairs.mirrored()
    eps = np.minimum(np.atleast_1d(np.asarray(epsilon, dtype=np.float64)), LARGEST_EPSILON)
    lower, upper = np.empty((2, len(pairs), len(eps)))
    rows = max(1, ENTRIES_AT_ONCE // len(eps))
    for start in range(0, len(pairs), rows):
        part = slice(start, start + rows)
        value, error = _gains(kernel, pairs[part], boost_loss, eps)
        lower[part] = np.maximum(value - error, 0.0)
        upper[part] = np.maximum(value, 0.0) + error
    return lower, upper


def _gains(kernel: Kernel, pairs: Pairs, boost_loss: float, eps: Array) -> tuple[Array, Array]:
    """The divergences and what rounding may have done to them, with the pieces of all pairs in one array."""
    monotone = kernel.loss_law
    if monotone is None:
        raise TypeError(f"{kernel.family} has no monotone loss")
    grown = np.exp(eps)
    piece = Piece.joined(pieces(kernel, pairs, boost_loss))
    occupied = np.flatnonzero((piece.right > piece.left) & ~np.isneginf(piece.log_weight1))
    left, right = piece.left[occupied, None], piece.right[occupied, None]
    moved = np.tile(pairs.shift, PIECES)[occupied, None]
    weight1 = np.exp(piece.log_weight1[occupied])[:, None]
    weight2 = np.exp(piece.log_weight2[occupied])[:, None]
    level = eps - piece.offset[occupied, None]
    with np.errstate(invalid="ignore"):
        slack = np.where(np.isfinite(level), LEVEL_ERROR * (1 + np.abs(level)), 0.0)
    crossing = _crossing(monotone, level - slack, moved)
    if isinstance(kernel, LatticeKernel):
        crossing = np.ceil(crossing) - 0.5
    (mass1, mass2), (size1, size2) = interval_mass(
        kernel, np.stack([left, left - moved]), np.stack([right, right - moved])
    )
    whole = crossing >= right
    gain = np.where(whole, weight1 * mass1 - grown * (weight2 * mass2), 0.0)
    spread = np.where(whole, weight1 * size1 + grown * (weight2 * size2), 0.0)
    taken = np.where(whole, weight1 * mass1, 0.0)
    row, column = np.nonzero((crossing > left) & ~whole)
    if row.size:
        start, stop, by = left[row, 0], crossing[row, column], moved[row, 0]
        (part1, part2), (part_size1, part_size2) = interval_mass(
            kernel, np.stack([start, start - by]), np.stack([stop, stop - by])
        )
        scale1, scale2 = weight1[row, 0], grown[column] * weight2[row, 0]
        gain[row, column] = scale1 * part1 - scale2 * part2
        spread[row, column] = scale1 * part_size1 + scale2 * part_size2
        taken[row, column] = scale1 * part1
    value, error = np.zeros((2, PIECES, len(pairs), len(eps)))
    value.reshape(-1, len(eps))[occupied] = gain
    error.reshape(-1, len(eps))[occupied] = RELATIVE_ERROR * spread + slack * taken
    return np.sum(value, axis=0), np.sum(error, axis=0)


def _crossing(law: LogConcave, level: Array, shift: Array) -> Array:
    """`loss_crossing`, also for a shift of zero, whose loss is zero everywhere."""
    moved = shift > 0
    if np.all(moved):
        return law.loss_crossing(level, shift)
    still = np.where(level < 0, np.inf, -np.inf)
    return np.where(moved, law.loss_crossing(level, np.where(moved, shift, 1.0)), still)
