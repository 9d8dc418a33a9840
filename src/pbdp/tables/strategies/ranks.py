"""All ranks of a histogram at once: how many rows are at or below each value, and how many are above it.

**Setting.** x holds how many rows of a group are at each of n values in order, F_j = x_1 + ... + x_j, and N
= F_n. Asked are all F_j and all N - F_j, each within w, all of them at once. Then F_j - tau·N is within w
for every j and every tau from 0 to 1, as (1 - tau)·F_j - tau·(N - F_j) is between both: any quantile that is
read off has a rank within w of the true one (`tables.distribution`).

**Rows.** F_j = (D_j + N)/2 and N - F_j = (N - D_j)/2, where D_j adds up x with the signs of a matrix D: 1 up
to j, -1 beyond it. D is *skew-circulant* (a Toeplitz matrix whose entry at lag t - n is minus that at lag
t), with eigenvalues of the size 1/sin(h_m/2), h_m = pi·(2m + 1)/n. The best Gaussian strategy for it asks
T·x with T = |D|^(1/2) (Mathias 1993), a symmetric Toeplitz matrix:

    t_l = (1/n)·(sum over m of cos(l·h_m)/sqrt(sin(h_m/2))),    t_(n - l) = -t_l.

Asked are y = A·x + z, where A has the rows T and one row of equal entries for N, all of them times a number
and rounded, and z is independent rounded Gaussian noise of one σ. F is about B·y, B from least squares.

**One person** adds u, and takes v where one is replaced: no entry is below 0, and those of a group add up to
r at most, in up to k groups, or to k·r in fewer groups of a coarser table. The squared length of A·(u - v)
is convex in u and v, so it is largest where each has all of it in one place. With a the squared length of a
column of A and b the largest squared distance of two (of all pairs at one lag it is the same), a group moves
the rows by at most a·r² if one person is in it and by max(a, b)·r² if two are, of k groups, or 2k if no two
are the same. That is one release of rounded Gaussian noise by that length (`strategy`).

**Error.** B·A is not exactly what it should be, and doubles are rounded: with counts that add up to
`FURTHEST` at most and noise within `_FAR`·σ, F is off by `Ranks.bias` at most besides B·z, all bounded from
B and A as they are. Rounding of z to whole numbers is covered by Hoeffding's inequality, and tables differ
from their laws by their total variation. What is left are 2n - 1 Gaussian numbers e with known variances and
covariances. Let A_1, A_2, ... say that one of a chain of them is above w. Then (Hunter 1976)

    P(any) <= P(A_1) + P(A_2) + ... - P(A_1 and A_2) - P(A_2 and A_3) - ...

Neighbors have correlations of about 0.8, so that this is a seventh less than the sum. P(A_i and A_(i + 1)) is
an integral over the first of them from w on, of which a lower sum is taken: the other one is the more likely
above w the higher the first is. There are two chains, of the F and of the N - F, on both sides.

**Whole numbers that never fall.** F_j and N are rounded to the nearest whole numbers, and then made

    F'_j = min(max(F_1, ..., F_j, 0), N'),    N' = max(N, 0).

Let w be whole. If F_j is off by less than w + 1/2 and N - F_j by less than w, both are within w once F_j and
N are rounded. So are the F'_j: the largest of the first j is at most the largest of F_i + w, and at least
F_j - w; N' is at least N - w. And N' - F'_j: above it is N - F_j, or 0, or N' = 0 where N itself is at most
w, or N where F_j is below 0, which is less than N - F_j as published; below it is N - F_i as published for
some i <= j, which is at least N - F_i - w >= N - F_j - w.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pbdp import special
from pbdp.noise.kernel import Array, Index
from pbdp.root_finding import least_enough
from pbdp.tables.measure_request import MOST_VALUES

# Rows of a group that the promise holds for; what is more at one value counts as that many.
FURTHEST, _HALF_BITS = 1 << 34, 17
# The rows of T are times so much before they are rounded; less where noise would be too wide for tables.
SCALES = (512, 128, 32)
# What the row of N weighs, where that of T is |D|^(1/2). It would be 1 if only the F_j that is furthest off
# counted.
_TOTAL_WEIGHT = 0.9
# Weights of a record add up to no more, so that products fit into doubles.
_MOST_WEIGHT = 1 << 32
# Noise of tables is nearer than so many σ; how likely rounding may add up to more than is said; rounding up.
_FAR, _DOUBT, _SAFE = 64.0, 1e-9, 1 + 1e-9
# The lower sum of an integral: so far beyond w, in so many steps, in standard deviations.
_BEYOND, _CELLS = 1.2, 80


@dataclass(frozen=True, kw_only=True)  # no slots: figures are found once
class Ranks:
    """The rows: the first row of T, as whole numbers, and the weight of the total."""

    weights: tuple[int, ...]
    total: int

    @property
    def bins(self) -> int:
        """How many values there are."""
        return len(self.weights)

    def __hash__(self) -> int:
        return hash((self.weights, self.total))

    @cached_property
    def _questions(self) -> Array:
        """A, in doubles that are whole numbers."""
        lags = np.abs(np.subtract.outer(np.arange(self.bins), np.arange(self.bins)))
        first = np.array(self.weights, dtype=np.float64)
        return np.vstack([first[lags], np.full((1, self.bins), float(self.total))])

    @cached_property
    def _answers(self) -> Array:
        """B: F from the rows, by least squares."""
        asked = self._questions
        return np.asarray(np.cumsum(np.linalg.solve(asked.T @ asked, asked.T), axis=0))

    @cached_property
    def _chains(self) -> list[tuple[Array, Array]]:
        """The standard deviations of both chains of errors for σ = 1, rounded up, and correlations, down."""
        up_to = self._answers
        found = []
        for errors in (up_to, (up_to[-1] - up_to)[:-1]):
            spreads = np.sqrt(np.sum(errors**2, axis=1)) * _SAFE
            both = np.sum(errors[1:] * errors[:-1], axis=1) / (spreads[1:] * spreads[:-1])
            found.append((spreads, np.clip(both - 1e-9, -1.0, 1 - 1e-9)))
        return found

    @cached_property
    def _off(self) -> tuple[float, float]:
        """What an F is off by besides its noise: for the counts, and for σ = 1."""
        asked, made = self._questions, self._answers
        rounding = (self.bins + 8) * 2.0**-53 * _SAFE
        wrong = float(np.max(np.abs(made @ asked - np.tri(self.bins))))
        sums = float(np.max(np.abs(made) @ np.abs(asked)))
        noise = float(np.max(np.sum(np.abs(made), axis=1)))
        # N - F is off by what both are
        return 2 * FURTHEST * (wrong + 2 * rounding * sums) * _SAFE, 2 * rounding * _FAR * noise * _SAFE

    def bias(self, sigma: float) -> float:
        """What an F or an N - F is off by besides its noise, at most."""
        counts, noise = self._off
        return counts + noise * sigma

    # ---- one person

    @cached_property
    def column(self) -> int:
        """The squared length of a column."""
        return sum(one * one for one in self.weights) + self.total**2

    @cached_property
    def distance(self) -> int:
        """The largest squared distance of two columns."""
        first = self._questions[0]
        # whole numbers below 2^53, as the weights are bounded
        return 2 * int(first @ first) - 2 * int(np.min(self._questions[:-1] @ first))

    def squared_length(self, *, people: int, groups: int, rows: int, finest: bool) -> int:
        """Of what a person moves all rows by, at most, in so many groups with so many rows each."""
        own = self.column if people == 1 else max(2 * self.column, self.distance)
        return own * rows**2 * (groups if finest else groups**2)

    # ---- drawing

    def asked(self, counts: Index) -> Index:
        """A·x, exactly; one group per row of `counts`."""
        kept = np.clip(counts, 0, FURTHEST)
        high, low = kept >> _HALF_BITS, kept & ((1 << _HALF_BITS) - 1)
        parts = ((half.astype(np.float64) @ self._questions.T).astype(np.int64) for half in (high, low))
        above, below = parts
        return np.asarray((above << _HALF_BITS) + below)

    def told(self, rows: Index) -> Index:
        """F' from the rows with noise."""
        found = np.rint(rows.astype(np.float64) @ self._answers.T).astype(np.int64)
        most = np.maximum(found[:, -1:], 0)
        return np.asarray(np.clip(np.maximum.accumulate(found, axis=1), 0, most))

    # ---- how near

    def widest_sigma(self, width: float, failing: float) -> float:
        """About the largest σ with which one of all is off by `width` or more so seldom."""
        spread = float(max(np.max(spreads) for spreads, _ in self._chains))
        start = -float(special.ndtri(failing / (4 * self.bins))) * spread / max(width - self.bias(1.0), 1e-9)

        def short(narrowness: float) -> float:
            found = self.failing(1 / narrowness, width, 0.0)
            return math.log(max(found, 1e-300) / failing)

        return 1 / least_enough(short, start, close=2e-5, most=1e3)

    def failing(self, sigma: float, width: float, error: float) -> float:
        """How often one of all is off by more than a whole `width`, at most.

        Each table differs by `error` from its law.
        """
        number = 4 * self.bins
        total = (self.bins + 1) * error + _DOUBT
        # a whole F is within w if it is off by less than w + 1/2 before it is rounded; N - F is rounded twice
        for (spreads, both), near in zip(self._chains, (width + 0.5, width), strict=True):
            rounded = spreads * math.sqrt(math.log(2 * number / _DOUBT) / 2)
            far = (near - self.bias(sigma) - rounded) / (spreads * sigma)
            if np.any(far <= 0):
                return 1.0
            alone = 2 * float(np.sum(special.ndtr(-far))) * _SAFE
            total += alone - 2 * float(np.sum(_both_beyond(far, both))) / _SAFE
        return total


def _both_beyond(far: Array, both: Array) -> Array:
    """For neighbors with these bounds and correlations how often both are beyond theirs, at least."""
    first, second = far[:-1, None], far[1:, None]
    ends = first + np.linspace(0.0, _BEYOND, _CELLS + 1)
    tails = special.ndtr(-ends)
    # a correlation below 0 would make the other less likely further out
    kept = np.where(both > 0, both, 0.0)[:, None]
    other = special.ndtr((kept * ends[:, :-1] - second) / np.sqrt(1 - kept**2))
    found = np.sum((tails[:, :-1] - tails[:, 1:]) * other, axis=1)
    return np.where(both > 0, found * (1 - 1e-6), 0.0)


@lru_cache(maxsize=16)
def ranks_of(bins: int, scale: int) -> Ranks:
    """Good rows for so many values."""
    angles = math.pi * (2 * np.arange(bins) + 1) / bins
    sizes = 1 / np.sin(angles / 2)
    half = bins // 2 + 1
    lags = np.cos(np.outer(np.arange(half), angles)) @ np.sqrt(sizes) / bins
    whole = np.rint(scale * lags).astype(np.int64).tolist()
    weights = [0] * bins
    for lag, one in enumerate(whole):
        if 2 * lag != bins:
            weights[lag] = one
        if lag and 2 * lag < bins:
            weights[bins - lag] = -one
    return known_ranks(tuple(weights), max(round(scale * _TOTAL_WEIGHT), 1))


@lru_cache(maxsize=16)
def known_ranks(weights: tuple[int, ...], total: int) -> Ranks:
    """These rows; one object for all that have them."""
    return Ranks(weights=weights, total=total)


def is_sound(weights: Sequence[object], total: object, bins: int) -> bool:
    """Whether these can be rows: whole numbers of a skew-circulant matrix that can be inverted."""
    whole = all(isinstance(one, int) and not isinstance(one, bool) for one in (*weights, total))
    if not whole or len(weights) != bins or not 2 <= bins <= MOST_VALUES:
        return False
    lags = [int(str(one)) for one in weights]
    skew = all(lags[bins - lag] == -lags[lag] for lag in range(1, bins))
    small = sum(map(abs, lags)) <= _MOST_WEIGHT >> 12 and 1 <= int(str(total)) <= 1 << 20
    angles = math.pi * (2 * np.arange(bins) + 1) / bins
    values = np.cos(np.outer(angles, np.arange(bins))) @ np.array(lags, dtype=np.float64) if small else 0.0
    return skew and small and bool(np.min(np.abs(values)) > 1e-6)
