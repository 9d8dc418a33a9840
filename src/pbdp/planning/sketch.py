"""A sketch of the line of answers: about what is spare for a law of noise, in a fraction of the time.

It works like `thresholds` where regions have very many points, but on every few outputs only, and with real
numbers: thresholds between them lie on lines, and so do the sums of the noise. What is rounded there is added
on average. A search begins with it, and decides nothing by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.noise.family import Shape
from pbdp.noise.kernel import Array, Index

# Outputs of the narrowest region that are worked on.
OUTPUTS = 160


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SketchedLaw:
    """P(noise < places) = sums, for noise that is the same seen from the other end."""

    places: Array
    sums: Array

    @classmethod
    def of(cls, shape: Shape, scale: float, reach: int, stride: int) -> SketchedLaw:
        """The shape, taken as constant over so many values each."""
        middles = np.arange(0.0, reach + stride, stride)
        masses = np.exp(shape.log_density(middles, np.array(scale)))
        masses[0] /= 2
        above = np.cumsum(masses)
        above /= 2 * above[-1]
        # what is below a whole number ends half-way to the one before
        places = middles + stride / 2 + 0.5
        return cls(
            places=np.concatenate((1 - places[::-1], places)),
            sums=np.concatenate((0.5 - above[::-1], 0.5 + above)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SketchedHalf:
    """One part of a cut line: some of its outputs, at even strides, and the answer that decides each.

    `before` is the output, counted in strides, whose threshold decides; `free` are thresholds that none does.
    """

    rounded: float
    free: Array
    origin: Array
    before: Array
    starts: tuple[int, ...]

    @classmethod
    def of(
        cls, zero: int, stride: int, block: int, free: Array, answers: tuple[Index, Index, Index]
    ) -> SketchedHalf:
        """For thresholds that are free at first; answers come in order, with lowest and highest outputs."""
        origin, lowest, highest = answers
        outputs = zero + stride * np.arange(len(free))
        deciding = np.searchsorted(highest, outputs - 1, side="right") - 1
        first = int(np.searchsorted(deciding, 0))
        deciding = deciding[first:]
        before = (lowest[deciding] - zero) / stride
        starts, known = [first], np.maximum.accumulate(np.ceil(before))
        while starts[-1] < len(free):
            more = first + int(np.searchsorted(known, starts[-1]))
            starts.append(max(more, starts[-1] + 1))
        return cls(
            rounded=block / 2,
            free=free,
            origin=origin[deciding].astype(np.float64),
            before=before,
            starts=tuple(starts),
        )

    def least(self, law: SketchedLaw, wanted: float) -> Array | None:
        """About the least thresholds, or None if there are none."""
        found, first = self.free.copy(), self.starts[0]
        for start, stop in zip(self.starts[:-1], self.starts[1:], strict=True):
            run = slice(start - first, stop - first)
            origin = self.origin[run]
            needed = wanted + np.interp(_at(found, self.before[run]) - origin, law.places, law.sums)
            if needed.max() >= 1:
                return None
            least = origin + self.rounded + np.interp(needed, law.sums, law.places)
            least[0] = max(least[0], found[start - 1])
            found[start:stop] = np.maximum(np.maximum.accumulate(least), found[start:stop])
        return found


def _at(values: Array, places: Array) -> Array:
    """Values between those at whole places, and beyond the last."""
    below = np.minimum(places.astype(np.int64), len(values) - 1)
    above = np.minimum(below + 1, len(values) - 1)
    share = np.minimum(places - below, 1.0)
    return np.asarray(values[below] + share * (values[above] - values[below]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sketch:
    """Both parts of a cut line, the upper one seen in a mirror, and the answers between."""

    lower: SketchedHalf
    upper: SketchedHalf
    origin: Array
    lowest: Array
    above: Array

    def spare(self, law: SketchedLaw, wanted: float) -> float:
        """About what the answer that has least is sure of beyond what is wanted; -infinity if far from it."""
        least = self.lower.least(law, wanted)
        greatest = None if least is None else self.upper.least(law, wanted)
        if least is None or greatest is None:
            return -math.inf
        low, high = _at(least, self.lowest), -_at(greatest, self.above)
        inside = np.interp(high - self.origin, law.places, law.sums)
        inside -= np.interp(low - self.origin, law.places, law.sums)
        return float(inside.min() - wanted)
