"""The loss of several releases with independent noise, as one step of a filter.

Each release is a pair that is its own reverse, on a grid that is symmetric about zero. Pairs multiply by
convolution of their losses: sums of positive terms only, so that the smallest masses keep their digits. A
power is taken by squaring. On the way

- the largest |losses| are set aside: their mass counts as an infinite loss, and
- every second point of the grid is dropped when there are too many: its mass goes to its two neighbors, p and
  q kept, as in `steps`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.accounting.composition.loss_distribution import grid_curve, split
from pbdp.accounting.composition.loss_law import LossLaw
from pbdp.accounting.filters.steps import Step, step_of, symmetric_law
from pbdp.noise.kernel import Array

UNIT = 2.0**-53
# Points on either side of zero: more are made fewer.
_MOST = 2048
# The first grid, as a share of the spread of a release's loss.
_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class _Centered:
    """Masses, rounded up, at the losses -k·step, ..., k·step, and the mass set aside."""

    step: float
    masses: Array
    bad: float

    @property
    def points(self) -> int:
        return len(self.masses) // 2

    def trimmed(self, aside: float) -> _Centered:
        """Without the outermost points, as far as their mass is at most `aside`."""
        k = self.points
        outside = np.cumsum((self.masses[k + 1 :] + self.masses[:k][::-1])[::-1])[::-1]
        kept = int(np.searchsorted(-outside, -aside))
        if kept == k:
            return self
        bad = self.bad + float(outside[kept]) * (1 + (k + 8) * UNIT)
        return _Centered(self.step, self.masses[k - kept : k + kept + 1], bad)

    def coarser(self) -> _Centered:
        """On every second point."""
        masses = np.pad(self.masses, self.points % 2)
        odd = masses[1::2]
        share = 1 / (1 + math.exp(-self.step))
        even = masses[::2].copy()
        even[1:] += share * odd
        even[:-1] += (1 - share) * odd
        return _Centered(2 * self.step, even * (1 + 8 * UNIT), self.bad)

    def times(self, other: _Centered, aside: float) -> _Centered:
        """Both together; each bad if one of them is."""
        one, two = self, other
        while one.step < two.step * (1 - 1e-9):
            one = one.coarser()
        while two.step < one.step * (1 - 1e-9):
            two = two.coarser()
        rounding = 1 + (2 * min(len(one.masses), len(two.masses)) + 16) * UNIT
        found = _Centered(one.step, np.convolve(one.masses, two.masses) * rounding, one.bad + two.bad)
        found = found.trimmed(aside)
        while found.points > _MOST:
            found = found.coarser()
        return found


def package_law(
    parts: Sequence[tuple[Sequence[LossLaw], int]], aside: float, reaches: Sequence[Fraction | None] = ()
) -> tuple[LossLaw, Fraction]:
    """One law for all releases together, each made so many times, and the reach of the package.

    At most about `aside` is set aside. The pair of the package is the product of those that belong, for each
    release, to the largest curve of its pairs, what step_of leaves out counted as infinite. That curve is
    flat beyond the release's reach, so none of its finite losses is larger, and the reaches add up. The law
    lies above the product's curve: losses spread or cut off on the grid raise it. `reaches` bound the finite
    |losses| of each part, where more is known of them than its laws show in rounded numbers.
    """
    releases = sum(count for _, count in parts)
    share = aside / (2 * (releases.bit_length() + len(parts)))
    steps = [step_of(laws, share / releases) for laws, _ in parts]
    spread = math.sqrt(min(step.variance for step in steps))
    # the losses of the part with the most to say lie on the grid, and any two grids fit together
    largest = max(zip(steps, parts, strict=True), key=lambda both: both[0].variance * both[1][1])[0]
    width = max(largest.reach, 1e-9)
    width /= 2.0 ** max(math.ceil(math.log2(width / max(_SHARE * spread, 1e-9))), 0)
    total, reach = None, Fraction(0)
    for step, (_, count), known in zip(steps, parts, reaches or [None] * len(parts), strict=True):
        own = Fraction(step.reach)
        reach += count * (own if known is None else min(own, known))
        found = _power(_centered(step, width), count, share / releases)
        total = found if total is None else total.times(found, share)
    if total is None:
        raise AssertionError("a package has releases")
    losses: Array = total.step * np.arange(-total.points, total.points + 1, dtype=np.float64)
    filled = total.masses > 0
    law = LossLaw(losses=losses[filled], masses=total.masses[filled], infinite=min(total.bad, 1.0))
    return law, reach


def _power(single: _Centered, count: int, aside: float) -> _Centered:
    """The release made `count` times; `aside` is for each of them and each squaring."""
    result: _Centered | None = None
    power, uses = single, 1
    while True:
        if count & 1:
            result = power if result is None else result.times(power, aside * uses)
        count >>= 1
        if not count:
            return result if result is not None else power
        uses *= 2
        power = power.times(power, aside * uses)


def _centered(good: Step, step: float) -> _Centered:
    """One symmetric pair for all pairs of a release."""
    points = max(math.ceil(good.reach / step), 1)
    while points > _MOST:
        step, points = 2 * step, -(-points // 2)
    law, missing = good.laws[0], good.missing
    if len(good.laws) > 1:
        parts = [split(law, step) for law in good.laws]
        first = min(0, *(int(np.min(part.indices, initial=0)) for part in parts))
        last = max(1, *(int(np.max(part.indices, initial=1)) for part in parts))
        curves = np.array([grid_curve(part, first, last) for part in parts], dtype=np.float64)
        deltas = curves.max(axis=0)
        # each curve is summed to within 4 units a cell, its exponentials to one unit per unit of loss
        deltas *= 1 + 8 * (last - first + 8 + step * (last - first)) * UNIT
        law = symmetric_law(step, deltas[-first:])
        missing = law.infinite_above
    found = split(law, step)
    points = max(points, int(np.max(np.abs(found.indices), initial=0)))
    masses = np.zeros(2 * points + 1)
    masses[found.indices + points] = found.masses
    return _Centered(step, masses, missing)
