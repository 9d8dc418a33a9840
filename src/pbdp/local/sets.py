"""What reports that are sets of values say about people: estimates, their exact variances, and contrasts.

Sets are of d out of the n values of a block (see `subset`); a block is a category, or all values are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pbdp.local.contrast import Contrast, contrast_of
from pbdp.local.domain import CategoryDomain, Domain
from pbdp.local.estimators import group_weights
from pbdp.local.spread import DenseSpread, GroupSpread, Spread, ValueSpread, reach_of, unknowable
from pbdp.noise.kernel import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chances:
    """For each block of n values and sets of d: how likely a report holds a value, or is of the block.

    A report holds value v with probability `own` if v is true, `same` if the true value is another of the
    block, `far` if it is of another block. It is of the block with probability `never` if the true value is
    not, and `never` + `boost` if it is. Reports that hold v, and reports of its block, give the coefficients
        f_v: [v in the set]/(own - same) - [of the block] (same - far)/(boost (own - same)) + a constant.
    """

    n: Array
    d: Array
    other: Array
    boost: float

    @property
    def own(self) -> Array:
        """Of the true value."""
        return self.far + self.boost

    @property
    def far(self) -> Array:
        """Of a value of another block."""
        return self.d * self.other

    @property
    def same(self) -> Array:
        """Of another value of the block; in a block of one value there is none, and its estimate is the
        block's.
        """
        return self.far + self.boost * (self.d - 1) / np.maximum(self.n - 1, 1)

    @property
    def never(self) -> Array:
        """A report of the block if the true value is not of it."""
        return self.n * self.other

    @property
    def values_known(self) -> bool:
        """Whether values, and not only blocks, can be estimated."""
        return bool(np.all((self.d < self.n) | (self.n == 1)))

    def group_coefficients(self) -> tuple[Array, Array]:
        """What a report of the block, and any other, adds to the people of the block."""
        return (1 - self.never) / self.boost, -self.never / self.boost

    def value_coefficients(self) -> tuple[Array, Array, Array]:
        """What is added to a value for a report that holds it, for one of its block, and for any."""
        gap = self.own - self.same
        slope = (self.same - self.far) / (self.boost * gap)
        return 1 / gap, -slope, slope * self.never - self.far / gap

    def subset_moments(
        self, picked: Array, out_of: Array, total: Array, squares: Array
    ) -> tuple[Array, Array]:
        """Mean and mean square of the sum of a random set of `picked` out of numbers with that sum and
        squares.
        """
        one = picked / np.maximum(out_of, 1)
        two = one * (picked - 1) / np.maximum(out_of - 1, 1)
        return one * total, one * squares + two * (total**2 - squares)


def chances_of(blocks: Sequence[int], sizes: Sequence[int], other: Sequence[float], boost: float) -> Chances:
    """The chances of a law."""
    return Chances(
        n=np.array(blocks, dtype=np.float64),
        d=np.array(sizes, dtype=np.float64),
        other=np.array(other, dtype=np.float64),
        boost=boost,
    )


def subset_spread(domain: Domain, chances: Chances, *, values: bool) -> Spread:
    """Exact variances of the estimates of values, or of groups."""
    several = len(chances.n) > 1
    if values and not chances.values_known:
        return unknowable(domain.count, domain.count)
    if not values and not several:
        return _grouped(domain, chances)
    if not values:
        high, low = chances.group_coefficients()
        never, always = chances.never, chances.never + chances.boost
        inside, outside = (p * (1 - p) / chances.boost**2 for p in (always, never))
        return GroupSpread(domain=domain, inside=inside, outside=outside, reach=reach_of(low, high))
    held, inside, anyone = chances.value_coefficients()

    def squared(value: Array, block: Array) -> Array:
        """E[L^2], by the probabilities of the value and of the block."""
        return (
            (held**2 + 2 * held * (inside + anyone)) * value
            + (inside**2 + 2 * inside * anyone) * block
            + anyone**2
        )

    always = chances.never + chances.boost
    parts = [
        squared(chances.own, always) - 1,
        squared(chances.same, always),
        squared(chances.far, chances.never) if several else squared(chances.same, always),
    ]
    ends = np.stack([held + inside + anyone, inside + anyone, anyone if several else inside + anyone])
    reach = reach_of(ends.min(axis=0), ends.max(axis=0))
    if not several:
        groups = len(domain.sizes) if isinstance(domain, CategoryDomain) else 1
        parts, reach = [np.repeat(part, groups) for part in parts], np.repeat(reach, domain.count)
    else:
        reach = np.repeat(reach, chances.n.astype(np.int64))
    own, same, other = parts
    return ValueSpread(domain=domain, own=own, same=same, other=other, reach=reach)


def _grouped(domain: Domain, chances: Chances) -> Spread:
    """Of groups of values where sets are of all values: as a group sees them, people are in it or not."""
    if not isinstance(domain, CategoryDomain):
        return weighted_spread(domain, chances, group_weights(domain))
    sizes = np.array(domain.sizes, dtype=np.float64)
    (p,), (q,), (n,), (d,) = chances.own, chances.same, chances.n, chances.d
    # the true value and another, or two others, are in a set together
    with_own = p * (d - 1) / (n - 1)
    others = (p * (d - 1) * (d - 2) + (1 - p) * d * (d - 1)) / max((n - 1) * (n - 2), 1.0)

    def variance(rest: Array) -> Array:
        """Of how many of so many values, none of them the true one, a set holds."""
        return np.asarray(rest * q * (1 - q) + rest * (rest - 1) * (others - q * q))

    rest = sizes - 1
    inside = p * (1 - p) + variance(rest) + 2 * rest * (with_own - p * q)
    scale = (p - q) ** 2
    low, high = -sizes * q / (p - q), (np.minimum(sizes, d) - sizes * q) / (p - q)
    return GroupSpread(
        domain=domain, inside=inside / scale, outside=variance(sizes) / scale, reach=reach_of(low, high)
    )


def weighted_spread(domain: Domain, chances: Chances, weights: Array) -> Spread:
    """Exact variances of sums over people, weights[group, value] for one who holds the value.

    A report adds T = held (sum of weights in the set) + inside (sum of weights of its block) + a constant.
    With the weight `never` it is a random set of its block, and with `boost` one of the true value's block
    that holds it.
    """
    if not chances.values_known:
        return unknowable(len(weights), domain.count)
    n, d = chances.n, chances.d
    ends = np.cumsum(n).astype(np.int64)
    starts, at = ends - n.astype(np.int64), np.repeat(np.arange(len(n)), n.astype(np.int64))
    held, inside, anyone = chances.value_coefficients()
    total = np.add.reduceat(weights, starts, axis=1)
    squares = np.add.reduceat(weights**2, starts, axis=1)
    level = inside * total + (total @ anyone)[:, None]
    mean, square = chances.subset_moments(d, n, total, squares)
    anywhere = (held**2 * square + 2 * held * level * mean + level**2) @ chances.never
    rest, rest_squares = total[:, at] - weights, squares[:, at] - weights**2
    mean, square = chances.subset_moments((d - 1)[at], (n - 1)[at], rest, rest_squares)
    known = held[at] * weights + level[:, at]
    chosen = known**2 + 2 * known * held[at] * mean + held[at] ** 2 * square
    # the few that are left over of 2^62 are far below the rounding of floats
    variances = anywhere[:, None] + chances.boost * chosen - weights**2
    up = np.minimum(
        np.add.reduceat(np.maximum(weights, 0.0), starts, axis=1),
        d * np.maximum.reduceat(weights, starts, axis=1),
    )
    down = np.maximum(
        np.add.reduceat(np.minimum(weights, 0.0), starts, axis=1),
        d * np.minimum.reduceat(weights, starts, axis=1),
    )
    low, high = (held * down + level).min(axis=1), (held * up + level).max(axis=1)
    reach = reach_of(low, high, weights.min(axis=1), weights.max(axis=1))
    return DenseSpread(matrix=np.maximum(variances, 0.0), reach=reach)


def subset_contrasts(chances: Chances) -> tuple[Contrast, ...]:
    """Of two values of one block, and of two blocks, for blocks that differ.

    Equal keys may put two values side by side a little less or more often than at random; fewer sets that
    hold both are the safe side. (They and as many that hold neither give way to sets that hold one: the loss
    then has the same mean and is spread more widely.)
    """
    parts = Counter(zip(chances.n.tolist(), chances.d.tolist(), chances.other.tolist(), strict=True))
    found = []
    for n, d, other in parts:
        if n > 1:
            joint = max(d * (d - 1) / (n - 1) - n**2 * 2.0**-33, 0.0) if d < n else d
            found.append(
                _classes([(d - joint, 1, 0), (d - joint, 0, 1), (joint, 1, 1)], d, other, chances.boost)
            )
    for one, many in parts.items():
        for two in parts:
            if one is not two or many > 1:
                (_, d, other), (_, e, another) = one, two
                gain, more = chances.boost / d, chances.boost / e
                rest = 1 - d * (other + gain) - e * another
                found.append(
                    contrast_of(
                        [
                            (d * (other + gain), d * other, d * other),
                            (e * another, e * (another + more), e * another),
                            (rest, rest, rest),
                        ]
                    )
                )
    return tuple(found)


def _classes(starts: list[tuple[float, int, int]], size: float, other: float, boost: float) -> Contrast:
    """Classes of starts of one block by what they hold; all that hold neither value are one class."""
    gain = boost / size
    rows = [
        (number * (other + one * gain), number * (other + two * gain), number * other)
        for number, one, two in starts
    ]
    rest = 1 - sum(row[0] for row in rows)
    return contrast_of([*rows, (rest, rest, rest)])
