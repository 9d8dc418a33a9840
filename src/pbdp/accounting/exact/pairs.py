"""Pairs of output laws, in a form that serves single neighbors and whole boxes of neighbors alike.

With n = y - Q the noise of the first answer and s = Q' - Q, the two densities of a boosted mechanism are

    first(n)  = scale1 · w(n;     -below1, above1) · f(n)
    second(n) = scale2 · w(n - s; -below2, above2) · f(n - s)

where w is 1 inside the interval and 1 - q outside. For one pair of neighbors the scales are 1/C(Q) and
1/C(Q'). For a box of neighbors (Q in one interval, s in another) an envelope of the same form bounds all of
them at once: the widest first region with the smallest C above, the narrowest second region with the largest
C below, and outputs counted only on the side where one end of the interval of shifts gives the smaller
second density (f and w never rise away from zero, so it is always one of the two ends).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pbdp.mechanism.design import Boosted
from pbdp.noise.kernel import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Arrays of equal length, one entry a pair; only outputs with low <= n <= high are counted."""

    shift: Array
    log_scale1: Array
    below1: Array
    above1: Array
    log_scale2: Array
    below2: Array
    above2: Array
    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.shift)

    def __getitem__(self, index: slice | Array | np.ndarray) -> Pairs:
        return Pairs(**{f.name: getattr(self, f.name)[index] for f in fields(self)})

    def mirrored(self) -> Pairs:
        """The same pairs seen in a mirror wherever the shift is negative; exact for a symmetric kernel."""
        flip = self.shift < 0

        def swap(kept: Array, other: Array) -> Array:
            return np.where(flip, other, kept)

        return Pairs(
            shift=np.abs(self.shift),
            log_scale1=self.log_scale1,
            below1=swap(self.below1, self.above1),
            above1=swap(self.above1, self.below1),
            log_scale2=self.log_scale2,
            below2=swap(self.below2, self.above2),
            above2=swap(self.above2, self.below2),
            low=swap(self.low, -self.high),
            high=swap(self.high, -self.low),
        )


def neighbors(mechanism: Boosted, answer: Array, other: Array) -> Pairs:
    """The laws of single neighboring answers."""
    answer, other = np.broadcast_arrays(
        np.atleast_1d(np.asarray(answer, float)), np.atleast_1d(np.asarray(other, float))
    )
    below1, above1 = mechanism.region.offsets(answer)
    below2, above2 = mechanism.region.offsets(other)
    everywhere = np.full(answer.shape, np.inf)
    return Pairs(
        shift=other - answer,
        log_scale1=-np.log(mechanism.normalizer(below1, above1)),
        below1=below1,
        above1=above1,
        log_scale2=-np.log(mechanism.normalizer(below2, above2)),
        below2=below2,
        above2=above2,
        low=-everywhere,
        high=everywhere,
    )


def envelopes(
    mechanism: Boosted, answers: tuple[Array, Array], others: tuple[Array, Array], shifts: tuple[Array, Array]
) -> tuple[Pairs, Pairs]:
    """Two sets of pairs whose divergences add up to at least that of every neighbor in each box.

    A box holds the pairs with answer, other answer and shift in the given intervals. The first set counts the
    outputs below the largest shift with the second law moved there, the second set the outputs above the
    smallest shift. Where the shift is a single number the first set alone covers the line.
    """
    one = mechanism.region.offset_range(*answers)
    two = mechanism.region.offset_range(*others)
    least_constant = mechanism.normalizer(one.below_least, one.above_least)
    most_constant = mechanism.normalizer(two.below_most, two.above_most)
    shift_least, shift_most = shifts
    single = shift_least == shift_most
    everywhere = np.full(shift_least.shape, np.inf)

    def half(shift: Array, low: Array, high: Array) -> Pairs:
        return Pairs(
            shift=shift,
            log_scale1=-np.log(least_constant),
            below1=one.below_most,
            above1=one.above_most,
            log_scale2=-np.log(most_constant),
            below2=two.below_least,
            above2=two.above_least,
            low=low,
            high=high,
        )

    return (
        half(shift_most, -everywhere, np.where(single, np.inf, shift_most)),
        half(shift_least, np.where(single, np.inf, shift_least), everywhere),
    )
