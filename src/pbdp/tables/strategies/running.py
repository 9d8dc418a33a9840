"""Running totals: noise on weighted sums of the days so far, so that a year of totals costs little.

**Setting.** x_1, ..., x_n are the days of one series (a zone, or everything), and X_t = x_1 + ... + x_t the
totals that are published. a_0 >= a_1 >= ... >= a_(n-1) >= 0 are whole numbers, a_0 >= 1. Asked are

    y_t = a_0·x_t + a_1·x_(t-1) + ... + a_(t-1)·x_1 + z_t,

with independent rounded Gaussian noise z of one σ. y_t knows nothing of the days after t. As power series,
y = a·x + z and X = x/(1 - q) = b·(a·x) with b = 1/((1 - q)·a), so that X is about b·y, and off by b·z. Good a
and b are equal but for a constant, both 1/sqrt(1 - q) = 1 + q/2 + 3q²/8 + ... (Fichtenberger, Henzinger and
Upadhyay 2023; Henzinger, Upadhyay and Upadhyay 2023); a is that times a number and rounded.

**One person.** Let g(d, e) be the inner product of what one step on day d moves and one on day e. For d <= e,
with m = n + 1 - e days from e on and l = e - d,

    g(d, e) = a_0·a_l + a_1·a_(l+1) + ... + a_(m-1)·a_(m-1+l).

No term is negative, none grows with l, and there are fewer with fewer days left. Steps in different series
have the inner product 0. So of all ways to be in at most k days of one series, by at most s steps each:

- *A person is added or removed.* The squared length of u = sum of v_i·(column d_i), |v_i| <= s, is at most
  s²·(sum of g(d_i, d_j)). Number the days, d_1 < d_2 < ...: d_j >= j and d_j - d_i >= j - i, so that
  g(d_i, d_j) <= g(i, j). The first k days are the worst: f(k) = sum over t of (a_(t-1) + ... + a_(t-k))²,
  with a_i = 0 for i < 0, times s². That is exact, and holds whether values may be negative or not.
- *Several series.* j of the days in one series are at most f(j) <= j·(largest f(i)/i, i <= min(k, n)), so
  that k days in all are at most k times that ratio.
- *A person is replaced.* |u - v|² = |u|² + |v|² - 2·(u, v) <= |u|² + |v|², as (u, v) >= 0 where values are
  not negative: twice the above; four times where they may be. For one day d < e each in one series, rows
  before e move by what the first does, and the others by the larger of both, a_(t-e)·s, at most: in all
  s²·(S(e - d) + S(n + 1 - e)), S(m) = a_0² + ... + a_(m-1)². S is concave and rises, so that is at most S at
  n/2 rounded up and S at n/2 rounded down; if d = e it is at most S(n), which is no more.

**As it goes.** Rows are published day by day, when their days are over, and what is known of earlier days may
have changed by then. Nothing above needs it to be the same: v_i may be another number for every row, as long
as one person has no more than k cells in all of them. As Gaussian noise it is private also if the days to
come depend on what was published (Denisov, McMahan, Rush, Smith and Thakurta 2022): the noise of
a row is independent of all before, so losses add up as a sum of Gaussian steps whose squared lengths add up
to no more than that of the worst person.

All rows together are one release of rounded Gaussian noise by that length (`strategy`).

**As exact as can be.** b is held in parts of 2^P: b_t = floor((2^P - a_1·b_(t-1) - ... - a_t·b_0)/a_0). Then
a·b = 2^P/(1 - q) - r with 0 <= r_t < a_0, and with days of at most `FURTHEST` steps, which is where they are
clamped, a total is off by less than n·a_0·FURTHEST/2^P besides its noise; `BIAS` covers it.

**Error.** b_0·z_t + b_1·z_(t-1) + ... is a weighted sum of independent noises (`joint`). A total is rounded
to the nearest whole number. For a whole width w and a whole truth that costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import FURTHEST_STEP
from pbdp.noise.kernel import Array, Index
from pbdp.tables.margins import Margins, RunningMargin
from pbdp.tables.strategies.joint import LARGEST_SIGMA, MOST_TOUCHED, SAFE, JointStrategy, gaussian_width
from pbdp.tables.strategies.rounding import rounded
from pbdp.tables.strategies.strategy import Change, Designs, Record

Weights = tuple[int, ...]
# Days of one series, and products of days with days in all series, that are worked through.
MOST_DAYS, MOST_PRODUCTS = 1 << 12, 1 << 27
# The weights add up to no more, so that rows of clamped days fit (`release`).
MOST_WEIGHT = 1 << 20
FURTHEST = FURTHEST_STEP // MOST_WEIGHT
# b is in parts of 2 to this power; n·a_0·FURTHEST/2^P <= 2^(12 + 20 + 32 - 128).
PRECISION = 128
BIAS = 2.0**-60
# Weights are tried that are the root times so much of what there is room for.
SHARES = np.linspace(0.6, 1.0, 24)
# Weights that are rounded from less than this are too coarse to be worth it.
LEAST_FIRST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Running(JointStrategy):
    """A row for each day of each series, all days up to it with the `weights`, the latest first."""

    kind: ClassVar[str] = "running"

    label: str
    margins: Margins
    change: Change
    weights: Weights

    @property
    def margin(self) -> RunningMargin:
        """The table of the totals."""
        (table,) = self.margins.tables
        if not isinstance(table, RunningMargin):
            raise AssertionError("running totals have a table of their own")
        return table

    @property
    def touched(self) -> int:
        return touched_rows(self.margin, self.change)

    def squared_length(self) -> int:
        return squared_length(self.weights, self.change, self.margin.shape[0])

    def answers(self, cells: Index) -> dict[str, Index]:
        grid, weights = self.margin.by_day(cells), np.array(self.weights, dtype=np.int64)
        rows = np.zeros_like(grid)
        for lag, weight in enumerate(weights):
            rows[:, lag:] += weight * grid[:, : grid.shape[1] - lag]
        return {self.label: self.margin.listed(rows)}

    def tables(self, rows: Mapping[str, Index]) -> list[Array | Index]:
        # products do not fit into 64 bits
        grid = self.margin.by_day(rows[self.label]).astype(object)
        inverse = np.array(totals_of(self.weights), dtype=object)
        totals = np.empty_like(grid)
        for day in range(grid.shape[1]):
            totals[:, day] = grid[:, : day + 1] @ inverse[day::-1]
        found = self.margin.listed(rounded(totals, 1 << PRECISION).astype(np.int64))
        return [found[self.margin.shown]]

    def widths(self, designs: Designs, table: int, confidence: float) -> Array:
        del table
        design = designs[self.label]
        widths = np.array(
            [float(math.ceil(width + BIAS)) for width in self._widths_by_day(design, confidence)]
        )
        return np.asarray(widths[self.margin.sizes - 1] + float(self.change.lost) * self.margin.sizes)

    def _widths_by_day(self, design: Design, confidence: float) -> list[float]:
        squares = squares_of(self.weights)
        return [gaussian_width(design, one, day + 1, confidence) for day, one in enumerate(squares)]

    def room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        del table
        days = self.margin.shape[1]
        width -= float(self.change.lost * days)
        last = gaussian_width(designs[self.label], squares_of(self.weights)[-1], days, confidence)
        return max(math.floor(width) - BIAS, 1e-9) / last

    def record(self) -> Record:
        return {"kind": self.kind, "weights": list(self.weights)}

    def rough_cost(self, widths: Mapping[int, float]) -> float:
        return float(self.squared_length()) * squares_of(self.weights)[-1] / min(widths.values()) ** 2

    def rows(self, table: int) -> int:
        del table
        return self.margin.shape[1]


# ---- one person


def touched_rows(margin: RunningMargin, change: Change) -> int:
    """The rows that one person moves, or two where one is replaced: all days of as many series, at most."""
    series, days = margin.shape
    return min(change.people * change.cells, series) * days


def squared_length(weights: Weights, change: Change, series: int) -> int:
    """The largest squared length of what one person moves the rows of all series by, in steps."""
    own = np.array(weights, dtype=np.int64)
    most = min(change.cells, len(weights))
    if series == 1:
        alone = _first_days(own, most)
    else:
        ratio = max(Fraction(_first_days(own, days), days) for days in range(1, most + 1))
        alone = math.ceil(ratio * change.cells)
    if change.people == 1:
        length = alone
    elif change.signed:
        length = 4 * alone
    elif series == 1 and change.cells == 1:
        half = len(own) // 2
        length = int(np.sum(own[:half] ** 2) + np.sum(own[: len(own) - half] ** 2))
    else:
        length = 2 * alone
    return change.steps**2 * length


def _first_days(weights: Index, days: int) -> int:
    """f: the squared length of one step on each of the first days."""
    sums = np.cumsum(weights)
    moved = sums - np.concatenate([np.zeros(days, dtype=np.int64), sums[:-days]])
    # whole numbers of any length
    return int(np.sum(moved.astype(object) ** 2))


# ---- what follows


@lru_cache(maxsize=64)
def totals_of(weights: Weights) -> tuple[int, ...]:
    """b in parts of 2^P: how a total follows from the rows up to its day, the latest first."""
    own: Any = np.array(weights, dtype=object)
    found: Any = np.zeros(len(weights), dtype=object)
    for day in range(len(weights)):
        before = own[1 : day + 1] @ found[day - 1 :: -1] if day else 0
        found[day] = ((1 << PRECISION) - before) // weights[0]
    return tuple(found.tolist())


@lru_cache(maxsize=64)
def squares_of(weights: Weights) -> tuple[float, ...]:
    """For each day the sum of the squares of b up to it; rounded up."""
    total, found = 0, []
    for one in totals_of(weights):
        total += one * one
        found.append(float(Fraction(total, 1 << (2 * PRECISION))) * SAFE)
    return tuple(found)


# ---- which weights


def is_sound(weights: object, days: int) -> bool:
    """Whether these can be the weights: whole numbers that never rise, one for each day."""
    if not isinstance(weights, list | tuple) or len(weights) != days or days > MOST_DAYS:
        return False
    whole = all(isinstance(one, int) and not isinstance(one, bool) for one in weights)
    if not whole or weights[0] < 1 or weights[-1] < 0 or sum(weights) > MOST_WEIGHT:
        return False
    return all(one >= after for one, after in pairwise(weights))


def root_weights(margin: RunningMargin, change: Change, spread: float) -> Weights | None:
    """Weights near the root for totals with this standard deviation in steps; None if they are too coarse."""
    series, days = margin.shape
    if days < 2 or days > MOST_DAYS or series * days**2 > MOST_PRODUCTS:
        return None
    root = np.cumprod(np.concatenate([[1.0], 1 - 0.5 / np.arange(1, days)]))
    length = math.sqrt(float(np.sum(root**2)))
    sigma = min(LARGEST_SIGMA, MOST_TOUCHED / touched_rows(margin, change))
    first = min(sigma * length / spread, (MOST_WEIGHT - days) / float(root.sum()))
    tried = {tuple(np.rint(share * first * root).astype(int).tolist()) for share in SHARES}
    fine = [weights for weights in tried if weights[0] >= LEAST_FIRST]

    def loss(weights: Weights) -> float:
        found = _totals(np.array(weights, dtype=np.float64))
        return float(squared_length(weights, change, series)) * float(np.sum(found**2))

    return min(sorted(fine), key=loss, default=None)


def _totals(weights: Array) -> Array:
    """b as doubles."""
    found = np.zeros(len(weights))
    for day in range(len(weights)):
        before = weights[1 : day + 1] @ found[:day][::-1] if day else 0.0
        found[day] = (1 - before) / weights[0]
    return found
