"""Integer weights: the finite table that is accounted and sampled in place of an ideal law.

Probabilities become whole multiples of 2^-62, rounded down; what is left over goes to the truth itself (noise
zero). Rounding down keeps a falling sequence falling, so a unimodal law stays unimodal, and the confidence
can only grow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError
from pbdp.noise.kernel import Array, LatticeKernel

BITS = 62
TOTAL = 1 << BITS
# Share given to the center up front, so that rounding of the ideal masses cannot leave it below a neighbor.
CENTER_SHARE = LatticeKernel.center_share
LARGEST_TABLE = 1 << 25


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightTable:
    """Noise start, start + 1, ... with probabilities weights / 2^62."""

    start: int
    weights: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.weights.min() < 0 or int(self.weights.sum()) != TOTAL:
            raise AssertionError("weights must be non-negative and add up to 2^62")

    @property
    def stop(self) -> int:
        """One past the last noise value."""
        return self.start + len(self.weights)

    def values(self) -> npt.NDArray[np.int64]:
        """The noise values."""
        return np.arange(self.start, self.stop)

    def probabilities(self) -> Array:
        """The probabilities as floats, each correct to one part in 2^53."""
        return self.weights / float(TOTAL)

    def weight_within(self, below: float, above: float) -> int:
        """Total weight of the noise values in [-below, above], exactly."""
        first = np.clip(np.ceil(-below) - self.start, 0, len(self.weights))
        end = np.clip(np.floor(above) + 1 - self.start, 0, len(self.weights))
        return int(self.weights[int(first) : int(end)].sum())

    def in_multiples(self, parts: int) -> WeightTable:
        """All weights rounded down to multiples; what is left over goes to the truth itself."""
        weights = self.weights - self.weights % parts
        weights[-self.start] += TOTAL - int(weights.sum())
        kept = np.flatnonzero(weights)
        first, last = int(kept[0]), int(kept[-1])
        return WeightTable(start=self.start + first, weights=weights[first : last + 1])

    def split(self, parts: int) -> WeightTable:
        """The noise in parts: each value stands for so many, equally likely; its weight is a multiple."""
        return WeightTable(start=self.start * parts, weights=np.repeat(self.weights // parts, parts))

    @property
    def is_unimodal(self) -> bool:
        """Whether weights never rise away from noise zero."""
        steps = np.diff(self.weights)
        center = -self.start
        return bool(np.all(steps[:center] >= 0) and np.all(steps[center:] <= 0))

    def log_concave_error(self) -> float:
        """The total-variation distance from some law with p(n)² >= p(n-1)·p(n+1), at most.

        That law follows the least concave curve above the logarithms of the weights, but for what noise zero
        has beyond its neighbors. The curve is nowhere below the weights, so the distance is at most the share
        that it has above them, and that of zero; logarithms are off by a few units, which is added.
        """
        weights, center = self.weights, -self.start
        if not np.all(weights) or not 1 < center < len(weights) - 2:
            return 1.0
        logs = np.log(weights.astype(np.longdouble))
        sides = (2 * logs[center + 1] - logs[center + 2], 2 * logs[center - 1] - logs[center - 2])
        most = min(logs[center], *sides)
        spike = float(-np.expm1(most - logs[center])) * int(weights[center]) / TOTAL
        logs[center] = most
        share = float(np.sum(np.expm1(_concave_above(logs) - logs) * np.exp(logs)) / TOTAL)
        return share + spike + (256 + len(logs)) * float(np.finfo(np.longdouble).eps)

    @property
    def is_symmetric(self) -> bool:
        """Whether noise and -noise have the same weight."""
        return self.start == 1 - self.stop and bool(np.array_equal(self.weights, self.weights[::-1]))


def _concave_above(values: npt.NDArray[np.longdouble]) -> npt.NDArray[np.longdouble]:
    """The least concave curve that is nowhere below the values, at their places.

    It bends at some of them. One that is not above the line between two others is none of these, so all such
    can be left out at once, again and again.
    """
    kept = np.arange(len(values))
    while True:
        run, rise = np.diff(kept), np.diff(values[kept])
        bends = np.concatenate([[True], rise[:-1] * run[1:] > rise[1:] * run[:-1], [True]])
        if np.all(bends):
            break
        kept = kept[bends]
    places, ends = np.arange(len(values)), kept
    start = ends[np.clip(np.searchsorted(ends, places, side="right") - 1, 0, max(len(ends) - 2, 0))]
    stop = ends[np.minimum(np.searchsorted(ends, start) + 1, len(ends) - 1)]
    share = (places - start).astype(np.longdouble) / np.maximum(stop - start, 1)
    return np.asarray(values[start] + (values[stop] - values[start]) * share)


def integer_weights(masses: Array, start: int, center_share: float = CENTER_SHARE) -> WeightTable:
    """The table of an ideal law with the given masses at start, start + 1, ...; zero must be among them."""
    if len(masses) > LARGEST_TABLE:
        raise CannotCertifyError(
            f"The noise would need a table of {len(masses):,} values. Use a coarser step."
        )
    weights = np.floor(np.asarray(masses) * (TOTAL * (1 - center_share))).astype(np.int64)
    center = -start
    weights[center] = 0
    weights[center] = TOTAL - int(weights.sum())
    if weights[center] < 0:
        raise AssertionError("masses add up to more than one")
    kept = np.flatnonzero(weights)
    first, last = int(kept[0]), int(kept[-1])
    return WeightTable(start=start + first, weights=weights[first : last + 1])
