"""Which weights the residuals of margins get: what a residual adds to a table, costs, and should weigh.

**Which noise.** The least sum of cost_B/s_B for which all tables have their variances, s_B the variance of a
row over a_B²: s_B = sqrt(cost_B / sum of l_T·K_TB), K_TB what s_B adds to the variance of T, and l_T are
moved until the variances are those that are asked for. Weights are whole, so they are large, and each is
moved by one while that helps.

**How many rows.** Differences along a column of n keys cost n/(n - 1) times less than its keys themselves,
but one person moves n - 1 of them, and the tables of as many rows differ from their laws. Where that is too
much of a small delta, fewer columns are short.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np

from pbdp.noise.kernel import Array
from pbdp.tables.margins import Margins
from pbdp.tables.strategies.joint import FIRST_SIGMA, largest_sigma
from pbdp.tables.strategies.strategy import Change

Columns = frozenset[int]
# Columns of up to so many keys have all their differences asked.
MOST_KEYS = 24
# Rows of one residual at most, and columns and margins that are looked at.
MOST_ROWS = 1 << 22
MOST_COLUMNS, MOST_RESIDUALS = 12, 1 << 12
LEAST_WEIGHT = 300
ROUNDS, MOST_PASSES = 400, 20
SIGMAS = np.linspace(0.7, 1.0, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """How many keys the columns of a grid have, and of how many keys the longest `short` column may be."""

    lengths: tuple[int, ...]
    short: int = MOST_KEYS

    def differences(self, columns: Columns) -> Columns:
        """The columns along which all differences are asked: short ones, unless rows are too many."""
        return _differences(self, columns)

    def spread(self, part: Columns) -> float:
        """e where a residual has noise of the covariance e·(P x P x ...), for rows of variance, weight 1."""
        return 1 / math.prod(self.lengths[i] for i in self.differences(part))

    def variance(self, part: Columns, columns: Columns) -> float:
        """What a residual adds to the variance of a margin, over that of a row with the weight 1."""
        found = self.spread(part)
        for i in columns:
            found *= 1 - 1 / self.lengths[i] if i in part else 1 / self.lengths[i] ** 2
        return found

    def moved(self, part: Columns) -> int:
        """How many rows of a residual one cell moves."""
        return math.prod(self.lengths[i] - 1 for i in self.differences(part))

    def cost(self, part: Columns, change: Change) -> float:
        """The squared length that one person moves the rows of a residual by, with the weight 1."""
        one, cells = self.moved(part), change.cells
        longest = max((self.lengths[i] - 1 for i in self.differences(part)), default=1)
        same = one if len(part) < len(self.lengths) else max(1, one // longest)
        return float(max(cells * one + cells * (cells - 1) * same, 1))

    def coarser(self) -> Iterator[Axes]:
        """These, and with fewer short columns: one person then moves fewer rows, which cost more."""
        yield self
        for keys in sorted({one for one in self.lengths if 2 < one <= self.short}, reverse=True):
            yield replace(self, short=keys - 1)


@lru_cache(maxsize=4096)
def _differences(axes: Axes, columns: Columns) -> Columns:
    lengths = axes.lengths
    rows, found = math.prod(lengths[i] for i in columns), set()
    for i in sorted(columns, key=lambda i: (lengths[i], i)):
        longer = rows // lengths[i] * max(lengths[i] * (lengths[i] - 1) // 2, 1)
        if lengths[i] <= axes.short and longer <= MOST_ROWS:
            found.add(i)
            rows = longer
    return frozenset(found)


def residuals_of(margins: Margins) -> list[Columns]:
    """All residuals that the tables are made of, those of fewer columns first."""
    found: set[Columns] = set()
    for table in margins.tables:
        axes = [i for i, name in enumerate(margins.columns) if name in table.columns]
        found |= set(subsets(axes))
    return sorted(found, key=lambda one: (len(one), sorted(one)))


def best_weights(
    margins: Margins,
    change: Change,
    variances: Mapping[int, float],
    delta: float,
    *,
    axes: Axes | None = None,
    least: float = FIRST_SIGMA,
) -> dict[Columns, int]:
    """The weights with which tables (by their places) have these variances at about the least cost.

    They are for noise with a σ of `least` steps or more.
    """
    axes, parts = axes or Axes(lengths=margins.lengths), residuals_of(margins)
    costs = np.array([axes.cost(part, change) for part in parts])
    tables = [
        frozenset(i for i, name in enumerate(margins.columns) if name in margins.tables[at].columns)
        for at in variances
    ]
    shares = np.array(
        [[axes.variance(part, one) if part <= one else 0.0 for part in parts] for one in tables]
    )
    shares /= np.array(list(variances.values()))[:, None]
    levels = np.ones(len(shares))
    found = np.ones(len(parts))
    for _ in range(ROUNDS):
        found = np.sqrt(costs / np.maximum(levels @ shares, 1e-300))
        levels = levels * np.sqrt(shares @ found)
    spreads = np.sqrt(found / float(np.max(shares @ found)))
    touched = sum(map(axes.moved, parts)) * change.cells * change.people
    mean = change.steps * math.sqrt(float(costs @ spreads**-2.0))
    largest = largest_sigma(touched, mean, delta)
    sigma = min(max(least, LEAST_WEIGHT * float(spreads.max())), max(largest, least))
    tried = [_better(np.maximum(np.rint(part * sigma / spreads), 1.0), costs, shares) for part in SIGMAS]
    best = min(tried, key=lambda weights: _loss(weights, costs, shares))
    return dict(zip(parts, best.astype(int).tolist(), strict=True))


def _loss(weights: Array, costs: Array, shares: Array) -> float:
    """What weights cost once the noise is scaled to the widest table."""
    return float(costs @ weights**2) * float(np.max(shares @ weights**-2.0))


def _better(weights: Array, costs: Array, shares: Array) -> Array:
    """Whole weights near these with a smaller cost at the same widths: one is moved by one at a time."""

    def loss(tried: Array) -> float:
        return _loss(tried, costs, shares)

    best = loss(weights)
    for _ in range(MOST_PASSES):
        before = best
        for place in range(len(weights)):
            for by in (-1.0, 1.0):
                tried = weights.copy()
                tried[place] = max(tried[place] + by, 1.0)
                if (found := loss(tried)) < best:
                    weights, best = tried, found
        if best >= before * (1 - 1e-5):
            break
    return weights


def subsets(columns: Iterable[int]) -> list[Columns]:
    """All sets of some of the columns, the smaller ones first."""
    named = sorted(columns)
    return [frozenset(one) for size in range(len(named) + 1) for one in combinations(named, size)]
