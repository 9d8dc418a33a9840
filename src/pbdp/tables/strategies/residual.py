"""Residuals of all margins with Gaussian noise: the best of Gaussian strategies for tables of a grid of keys.

**Residuals.** Let the cells be all combinations of the keys of some columns, n_i keys each, and X_B the sums
of the cells by the columns B. With P = I - J/n, J a matrix of ones, for each column in B, R_B =
(P x P x ...)·X_B is what X_B says beyond the margins with fewer columns, and

    X_T = sum over B within T of R_B / (product of n_j over the columns j of T that are not in B).        (1)

Residuals are orthogonal, so noise on each of them can be chosen by itself: no Gaussian strategy for margins
needs less (Xiao, He, Zhang and Kifer 2023, "ResidualPlanner"; there the noise of a residual is correlated).

**Whole-number rows.** D holds all differences of two keys, n(n-1)/2 rows with entries 1 and -1: D'D = n·P. So

    Y_B = a_B·(D x D x ...)·X_B + z,    R_B is about (D' x D' x ...)·Y_B / (a_B·n_1·n_2·...),

with independent noise z of one table and a whole number a_B is the residual with the noise that it should
have: the error of every entry is that of (n_1 - 1)·(n_2 - 1)·... noises. For columns of many keys D would be
long and P is almost I, so Y_B has X_B itself along them, and P is applied to what comes out.

**One person** with one cell moves (n_i - 1) rows of each column by a_B, one row of a long one. Two cells that
have the same keys in the columns E, and others in the rest, move rows with the inner product

    g_B(E) = product over B of (n_i - 1 in E, -1 otherwise; for long columns 1 in E, 0 otherwise).

With G(E) the sum of a_B²·g_B(E), k cells that move by s have a squared length of at most

    s²·(k·G(all) + k·(k - 1)·max over E of G(E)),

with |G(E)| where cells may move either way. A replaced person at most doubles the length; where cells only
move up the squares add up, and twice the most negative G(E) for every pair of cells. Everything is one
release of rounded Gaussian noise by that length (`strategy`).

**Error.** (1) is a weighted sum of independent noises (`joint`).

**Which noise.** The least sum of cost_B/s_B for which all tables have their variances, s_B the variance of a
row over a_B²: s_B = sqrt(cost_B / sum of l_T·K_TB), K_TB what s_B adds to the variance of T, and l_T are
moved until the variances are those that are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from pbdp.mechanism.design import Design
from pbdp.noise.kernel import Array, Index
from pbdp.tables.margins import Margins
from pbdp.tables.strategies.joint import (
    FIRST_SIGMA,
    LARGEST_SIGMA,
    MOST_TOUCHED,
    JointStrategy,
    gaussian_width,
)
from pbdp.tables.strategies.rounding import below, rounded, two_way
from pbdp.tables.strategies.strategy import Change, Designs, Record

Columns = frozenset[int]
# Columns of up to so many keys have all their differences asked.
MOST_KEYS = 24
# Rows of one residual at most, and columns and margins that are looked at.
MOST_ROWS = 1 << 22
MOST_COLUMNS, MOST_RESIDUALS = 12, 1 << 12
# Numbers that cannot be whole are multiples of one over this.
FINE = 1 << 20
LEAST_WEIGHT = 160
ROUNDS, MOST_PASSES = 400, 20
SIGMAS = np.linspace(0.7, 1.0, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual(JointStrategy):
    """The rows of all residuals, those of columns B with the weight `weights[B]`."""

    kind: ClassVar[str] = "residual"

    label: str
    margins: Margins
    change: Change
    weights: Mapping[Columns, int]
    _places: Index = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # where each cell is in an array with one axis for each column
        shape = self.margins.lengths
        flat = np.ravel_multi_index(self.margins.codes, shape) if shape else np.zeros(1, dtype=np.int64)
        object.__setattr__(self, "_places", np.asarray(flat, dtype=np.int64))

    # ---- what is asked

    @property
    def touched(self) -> int:
        change = self.change
        each = sum(math.prod(_moved_rows(columns, self.margins.lengths)) for columns in self.weights)
        return change.people * min(change.cells, len(self.margins.cells)) * each

    def squared_length(self) -> int:
        change, everywhere = self.change, frozenset(range(len(self.margins.lengths)))
        single = self.gram(everywhere)
        others = [
            self.gram(frozenset(same))
            for same in _subsets(sorted(everywhere))
            if frozenset(same) != everywhere
            and all(self.margins.lengths[i] > 1 for i in everywhere - set(same))
        ]
        cells, steps = change.cells, change.steps
        joint = max((abs(one) if change.signed else one for one in others), default=0)
        alone = cells * single + cells * (cells - 1) * max(joint, 0)
        if change.people == 1:
            return steps**2 * alone
        apart = max((-one for one in others), default=0)
        added = 2 * alone + 2 * cells**2 * max(apart, 0)
        return steps**2 * (4 * alone if change.signed else min(4 * alone, added))

    def gram(self, same: Columns) -> int:
        """The inner product of what two cells with the same keys in these columns move, by one step each."""
        total = 0
        for columns, weight in self.weights.items():
            part = 1
            for i in columns:
                if self._is_short(columns, i):
                    part *= self.margins.lengths[i] - 1 if i in same else -1
                else:
                    part *= i in same
            total += weight**2 * part
        return total

    def _is_short(self, columns: Columns, column: int) -> bool:
        """Whether all differences along a column are asked for this residual."""
        return column in short_columns(columns, self.margins.lengths)

    def answers(self, cells: Index) -> dict[str, Index]:
        lengths = self.margins.lengths
        full = np.zeros(math.prod(lengths), dtype=np.int64)
        full[self._places] = cells
        grid = full.reshape(lengths)
        rows = []
        for columns, weight in self.weights.items():
            made = grid.sum(axis=tuple(i for i in range(len(lengths)) if i not in columns))
            for axis, i in enumerate(sorted(columns)):
                if self._is_short(columns, i):
                    made = _along(_differences(lengths[i]), made, axis)
            rows.append(weight * np.asarray(made, dtype=np.int64).ravel())
        return {self.label: np.concatenate(rows)}

    # ---- what follows

    def tables(self, rows: Mapping[str, Index]) -> list[Array | Index]:
        found = self._margins_of(rows[self.label])
        order = self.margins.chain
        tables = [self._axes(at) for at in range(len(self.margins))]
        if order is not None:
            return self._nested(order, found)
        if len(self.margins.lengths) == 2:
            return self._two_way(tables, found)
        exact = _added_up(found)
        return [self._listed(at, exact[columns]) / FINE for at, columns in enumerate(tables)]

    @property
    def is_whole(self) -> bool:
        return self.margins.chain is not None or len(self.margins.lengths) == 2

    def _margins_of(self, rows: Index) -> dict[Columns, Any]:
        """The margins by all columns that residuals are of, in parts of `FINE`, by (1)."""
        lengths = self.margins.lengths
        known: dict[Columns, Any] = {}
        start = 0
        for columns, weight in self.weights.items():
            axes = sorted(columns)
            shape = tuple(
                len(_differences(lengths[i])) if self._is_short(columns, i) else lengths[i] for i in axes
            )
            stop = start + math.prod(shape)
            # whole numbers of any length: sums of these do not fit into 64 bits for sure
            largest = int(np.max(np.abs(rows[start:stop]), initial=0)) * FINE * 4 * math.prod(lengths) ** 2
            made: Any = rows[start:stop].reshape(shape)
            made = made.astype(object) if largest >= 1 << 62 else made
            for axis, i in enumerate(axes):
                if self._is_short(columns, i):
                    made = _along(_differences(lengths[i]).T, made, axis)
                else:
                    made = lengths[i] * made - made.sum(axis=axis, keepdims=True)
            known[columns] = np.asarray(made * FINE, dtype=made.dtype), weight
            start = stop
        found = {}
        for columns in self.weights:
            axes = sorted(columns)
            total: Any = np.zeros([lengths[i] for i in axes], dtype=np.int64)
            size = math.prod(lengths[i] for i in axes)
            for part, (made, weight) in known.items():
                if part <= columns:
                    shape = tuple(lengths[i] if i in part else 1 for i in axes)
                    total = total + (made.reshape(shape) // (weight * size))
            found[columns] = np.asarray(total, dtype=np.int64)
        return found

    def _axes(self, table: int) -> Columns:
        named = self.margins.tables[table].columns
        return frozenset(i for i, name in enumerate(self.margins.columns) if name in named)

    def _listed(self, table: int, numbers: Index) -> Index:
        """The numbers of an array in the order of the groups of a table."""
        margin, axes = self.margins.tables[table], sorted(self._axes(table))
        flat = np.zeros(len(margin), dtype=np.int64)
        codes = [self.margins.codes[i] for i in axes]
        places = np.ravel_multi_index(codes, [self.margins.lengths[i] for i in axes]) if axes else 0
        flat[margin.of_cell] = numbers.ravel()[places]
        return flat

    def _nested(self, order: Sequence[int], found: Mapping[Columns, Index]) -> list[Array | Index]:
        made: dict[int, Index] = {}
        above: int | None = None
        for at in order:
            own = self._listed(at, found[self._axes(at)])
            if above is None:
                made[at] = rounded(own, FINE)
            else:
                coarse, fine = self.margins.tables[above], self.margins.tables[at]
                inside = np.zeros(len(fine), dtype=np.int64)
                inside[fine.of_cell] = coarse.of_cell
                made[at] = below(made[above], inside, own, FINE)
            above = at
        return [made[at] for at in range(len(self.margins))]

    def _two_way(self, tables: Sequence[Columns], found: Mapping[Columns, Index]) -> list[Array | Index]:
        none, both = frozenset[int](), frozenset({0, 1})
        total = rounded(found[none].reshape(1), FINE)
        made: dict[Columns, Index] = {none: total}
        for i in (0, 1):
            one = found[frozenset({i})]
            made[frozenset({i})] = below(total, np.zeros(len(one), dtype=np.int64), one, FINE)
        if both in found:
            made[both] = two_way(made[frozenset({0})], made[frozenset({1})], found[both], FINE)
        return [self._listed(at, made[columns]) for at, columns in enumerate(tables)]

    # ---- how near

    def factor(self, columns: Columns) -> float:
        """The variance of a number of the margin by these columns, over that of a row."""
        total = 0.0
        for part, weight in self.weights.items():
            if part <= columns:
                total += variance_of(part, columns, self.margins.lengths) / weight**2
        return total

    def widths(self, designs: Designs, table: int, confidence: float) -> Array:
        margin, columns = self.margins.tables[table], self._axes(table)
        width = self._width(designs[self.label], columns, confidence) + self._moved(columns)
        found = float(math.ceil(width)) if self.is_whole else width
        return np.asarray(found + float(self.change.lost) * margin.sizes)

    def _width(self, design: Design, columns: Columns, confidence: float) -> float:
        """How far a number is off before anything is rounded."""
        noises = sum(math.prod(self._rows_of(part)) for part in self.weights if part <= columns)
        return gaussian_width(design, self.factor(columns), noises, confidence)

    def room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        columns = self._axes(table)
        width -= float(self.change.lost) * float(self.margins.tables[table].sizes.max())
        left = (math.floor(width) if self.is_whole else width) - self._moved(columns)
        return max(left, 1e-9) / self._width(designs[self.label], columns, confidence)

    def _rows_of(self, columns: Columns) -> list[int]:
        lengths = self.margins.lengths
        return [lengths[i] - 1 if self._is_short(columns, i) else lengths[i] for i in columns]

    def _moved(self, columns: Columns) -> float:
        """How far rounding may have moved the exact value of a number, before it is rounded itself."""
        lengths, fine = self.margins.lengths, 2.0 ** len(columns) / FINE
        if not self.is_whole:
            return _moved_by_filling(columns, lengths) / FINE
        if self.margins.chain is None:
            # the total is off by 1/2, rows and columns by less than 1 more than what they got of that
            rows, wide = lengths
            each = (1 + 0.5 / rows) / wide + (1 + 0.5 / wide) / rows + 0.5 / (rows * wide)
            shares = {0: 0.0, 1: 0.5 / min(lengths), 2: each}
            return shares[len(columns)] + 2 * fine
        moved, off = 0.0, 0.0
        before: Columns | None = None
        for at in self.margins.chain:
            own = self._axes(at)
            if before is None:
                moved, off = fine, 0.5 + fine
            else:
                moved = off / math.prod(lengths[i] for i in own - before) + 2 * fine
                off = 1 + moved
            if own == columns:
                return moved
            before = own
        raise AssertionError("a table of the chain")

    def record(self) -> Record:
        names = self.margins.columns
        return {
            "kind": self.kind,
            "weights": [
                [[names[i] for i in sorted(columns)], weight] for columns, weight in self.weights.items()
            ],
        }

    def rough_cost(self, widths: Mapping[int, float]) -> float:
        far = max(self.factor(self._axes(table)) / width**2 for table, width in widths.items())
        return self.squared_length() * far

    def rows(self, table: int) -> int:
        return int(self.margins.tables[table].sizes.max())


@lru_cache(maxsize=4096)
def short_columns(columns: Columns, lengths: tuple[int, ...]) -> Columns:
    """The columns along which all differences are asked: those with few keys, unless rows are too many."""
    rows, found = math.prod(lengths[i] for i in columns), set()
    for i in sorted(columns, key=lambda i: (lengths[i], i)):
        longer = rows // lengths[i] * max(lengths[i] * (lengths[i] - 1) // 2, 1)
        if lengths[i] <= MOST_KEYS and longer <= MOST_ROWS:
            found.add(i)
            rows = longer
    return frozenset(found)


def variance_of(part: Columns, columns: Columns, lengths: tuple[int, ...]) -> float:
    """What a residual adds to the variance of a margin, over that of a row with the weight 1."""
    short, found = short_columns(part, lengths), 1.0
    for i in columns:
        n = lengths[i]
        if i not in part:
            found /= n**2
        elif i in short:
            found *= (n - 1) / n**2
        else:
            found *= 1 - 1 / n
    return found


def residuals_of(margins: Margins) -> list[Columns]:
    """All residuals that the tables are made of, those of fewer columns first."""
    found: set[Columns] = set()
    for table in margins.tables:
        axes = [i for i, name in enumerate(margins.columns) if name in table.columns]
        found |= set(_subsets(axes))
    return sorted(found, key=lambda one: (len(one), sorted(one)))


def best_weights(margins: Margins, change: Change, variances: Mapping[int, float]) -> dict[Columns, int]:
    """The weights with which tables (by their places) have these variances at about the least cost."""
    lengths, parts = margins.lengths, residuals_of(margins)
    costs = np.array([_cost(part, lengths, change) for part in parts])
    axes = [
        frozenset(i for i, name in enumerate(margins.columns) if name in margins.tables[at].columns)
        for at in variances
    ]
    shares = np.array(
        [[variance_of(part, one, lengths) if part <= one else 0.0 for part in parts] for one in axes]
    )
    shares /= np.array(list(variances.values()))[:, None]
    levels = np.ones(len(shares))
    found = np.ones(len(parts))
    for _ in range(ROUNDS):
        found = np.sqrt(costs / np.maximum(levels @ shares, 1e-300))
        levels = levels * np.sqrt(shares @ found)
    spreads = np.sqrt(found / float(np.max(shares @ found)))
    touched = sum(math.prod(_moved_rows(part, lengths)) for part in parts) * change.cells * change.people
    largest = min(LARGEST_SIGMA, MOST_TOUCHED / touched)
    sigma = min(max(FIRST_SIGMA, LEAST_WEIGHT * float(spreads.max())), max(largest, FIRST_SIGMA))
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


def _moved_rows(part: Columns, lengths: tuple[int, ...]) -> list[int]:
    """By column, how many rows of a residual one cell moves."""
    short = short_columns(part, lengths)
    return [lengths[i] - 1 if i in short else 1 for i in sorted(part)]


def _cost(part: Columns, lengths: tuple[int, ...], change: Change) -> float:
    """The squared length that one person moves the rows of a residual by, with the weight 1."""
    short = short_columns(part, lengths)
    one = math.prod(_moved_rows(part, lengths))
    same = one if len(part) < len(lengths) else max(1, one // max((lengths[i] - 1 for i in short), default=1))
    cells = change.cells
    return float(max(cells * one + cells * (cells - 1) * (same if cells > 1 else 0), 1))


def _differences(keys: int) -> Index:
    """A row for every two keys, with 1 at one and -1 at the other; of one key nothing."""
    first, second = np.triu_indices(keys, 1)
    made = np.zeros((len(first), keys), dtype=np.int64)
    made[np.arange(len(first)), first] = 1
    made[np.arange(len(first)), second] = -1
    return made


def _along(matrix: Index, array: Any, axis: int) -> Any:
    """A matrix applied along an axis."""
    return np.moveaxis(np.tensordot(matrix.astype(array.dtype), array, axes=(1, axis)), 0, axis)


def _added_up(found: Mapping[Columns, Index]) -> dict[Columns, Index]:
    """Margins that add up exactly: along each column the last key has what the others leave."""
    made: dict[Columns, Index] = {}
    for columns in sorted(found, key=len):
        numbers = found[columns].copy()
        for axis, i in enumerate(sorted(columns)):
            rest = np.moveaxis(numbers, axis, 0)
            rest[-1] = made[columns - {i}] - rest[:-1].sum(axis=0)
        made[columns] = numbers
    return made


def _moved_by_filling(columns: Columns, lengths: tuple[int, ...]) -> int:
    """How far `_added_up` moves a number at most, in parts of `FINE`, with the rounding to these."""
    known: dict[Columns, int] = {}
    for part in _subsets(columns):
        off = 2 ** len(part)
        for i in sorted(part):
            off = max(off, known[part - {i}] + (lengths[i] - 1) * off)
        known[part] = off
    return known[columns]


def _subsets(columns: Iterable[int]) -> list[Columns]:
    """All sets of some of the columns, the smaller ones first."""
    named = sorted(columns)
    return [frozenset(one) for size in range(len(named) + 1) for one in combinations(named, size)]
