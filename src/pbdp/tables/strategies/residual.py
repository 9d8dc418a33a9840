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

with |G(E)| where cells may move either way.

*A person is replaced.* Let u be what the new rows add and v what the old ones do, in at most k cells each.

- Cells only move up, by at most s. |u - v|² is convex in each of the moves, so all of them are 0 or s: l
  cells of u and m of v. With J >= 0 at least G(E) for any two cells, and g the least G(E), that of one cell
  with itself too, |u - v|² <= s²·(l·G(all) + l·(l - 1)·J + m·G(all) + m·(m - 1)·J - 2·l·m·g). That is convex
  in l and in m, so l and m are 0 or k: the larger of what one person moves, and of twice that less 2·k²·s²·g.
  What both move alike, a total say, is in G and in g, and is gone. And |u - v| is at most twice the length of
  what one moves.
- They move either way. j cells that both are in move by at most S, and 2(k - j) by s. With A at least |G(E)|
  for any two cells, |u - v|² <= (j·S² + 2(k - j)·s²)·(G(all) - A) + (j·S + 2(k - j)·s)²·A, where A <= G(all):
  convex in j, so j is 0 or k.

Everything is one release of rounded Gaussian noise by that length (`strategy`). Which weights are good:
`residual_weights`.

**Error.** (1) is a weighted sum of independent noises (`joint`). Numbers are whole as differences of rounded
sums (`cumulative`), or as they are, where noise is too narrow for that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from pbdp.mechanism.design import Design
from pbdp.noise.kernel import Array, Index
from pbdp.tables.margins import Margins
from pbdp.tables.strategies.cumulative import Corners, corners_of, whole_numbers
from pbdp.tables.strategies.joint import (
    JointStrategy,
    gaussian_width,
    sigma_of,
)
from pbdp.tables.strategies.residual_weights import MOST_KEYS, Axes, Columns, subsets
from pbdp.tables.strategies.rounding import in_64_bits, rounded
from pbdp.tables.strategies.strategy import Change, Designs, Record

# Numbers that are not whole are multiples of one over this.
FINE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual(JointStrategy):
    """The rows of all residuals, those of columns B with the weight `weights[B]`.

    With `cumulative`, numbers are whole as differences of rounded sums, whichever tables there are. Columns
    of at most `short` keys have all their differences asked.
    """

    kind: ClassVar[str] = "residual"

    label: str
    margins: Margins
    change: Change
    weights: Mapping[Columns, int]
    cumulative: bool = False
    short: int = MOST_KEYS
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
        each = sum(map(self._grid.moved, self.weights))
        return change.people * min(change.cells, len(self.margins.cells)) * each

    def squared_length(self) -> int:
        change, everywhere = self.change, frozenset(range(len(self.margins.lengths)))
        single = self.gram(everywhere)
        others = [
            self.gram(frozenset(same))
            for same in subsets(sorted(everywhere))
            if frozenset(same) != everywhere
            and all(self.margins.lengths[i] > 1 for i in everywhere - set(same))
        ]
        cells, steps = change.cells, change.steps
        if change.signed:
            largest = max(map(abs, others), default=0)
            moved = [(cells, steps)] if change.people == 1 else [(2 * cells, steps), (cells, change.both)]
            return max(one**2 * (n * single + n * (n - 1) * largest) for n, one in moved)
        alone = cells * single + cells * (cells - 1) * max([0, *others])
        if change.people == 1:
            return steps**2 * alone
        both = 2 * alone - 2 * cells**2 * min([single, *others])
        return steps**2 * max(alone, min(4 * alone, both))

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
        return column in self._grid.differences(columns)

    @property
    def _grid(self) -> Axes:
        return Axes(lengths=self.margins.lengths, short=self.short)

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
        residuals = self._residuals_of(rows[self.label])
        tables = [self._axes(at) for at in range(len(self.margins))]
        if self.cumulative:
            whole = whole_numbers(self._cumulative_of(residuals))
            return [self._listed(at, whole[columns]) for at, columns in enumerate(tables)]
        exact = _added_up(self._margins_of(residuals))
        return [self._listed(at, exact[columns]) / FINE for at, columns in enumerate(tables)]

    @property
    def is_whole(self) -> bool:
        return self.cumulative

    def _residuals_of(self, rows: Index) -> dict[Columns, tuple[Any, int]]:
        """The residuals with noise, times their weights and their numbers of keys, in parts of `FINE`."""
        lengths = self.margins.lengths
        known: dict[Columns, Any] = {}
        start = 0
        for columns, weight in self.weights.items():
            axes = sorted(columns)
            shape = self._shape(columns)
            stop = start + math.prod(shape)
            # whole numbers of any length: sums of these do not fit into 64 bits for sure
            largest = int(np.max(np.abs(rows[start:stop]), initial=0)) * FINE * 4 * math.prod(lengths) ** 3
            made: Any = rows[start:stop].reshape(shape)
            made = made.astype(object) if largest >= 1 << 62 else made
            for axis, i in enumerate(axes):
                if self._is_short(columns, i):
                    made = _along(_differences(lengths[i]).T, made, axis)
                else:
                    made = lengths[i] * made - made.sum(axis=axis, keepdims=True)
            known[columns] = np.asarray(made * FINE, dtype=made.dtype), weight
            start = stop
        return known

    def _margins_of(self, residuals: Mapping[Columns, tuple[Any, int]]) -> dict[Columns, Any]:
        """The margins by all columns that residuals are of, in parts of `FINE`, by (1)."""
        lengths, found = self.margins.lengths, {}
        for columns in self.weights:
            axes = sorted(columns)
            total: Any = np.zeros([lengths[i] for i in axes], dtype=np.int64)
            size = math.prod(lengths[i] for i in axes)
            for part, (made, weight) in residuals.items():
                if part <= columns:
                    shape = tuple(lengths[i] if i in part else 1 for i in axes)
                    total = total + (made.reshape(shape) // (weight * size))
            found[columns] = np.asarray(total, dtype=np.int64)
        return found

    def _cumulative_of(self, residuals: Mapping[Columns, tuple[Any, int]]) -> dict[Columns, Index]:
        """The cumulative sums of these margins, rounded; a residual counts once per key of other columns."""
        lengths, found = self.margins.lengths, {}
        for columns in self.weights:
            axes = sorted(columns)
            size = math.prod(lengths[i] for i in axes)
            total: Any = 0
            for part, (made, weight) in residuals.items():
                if part <= columns:
                    own = made.reshape([lengths[i] if i in part else 1 for i in axes])
                    for axis, i in enumerate(axes):
                        far = np.arange(1, lengths[i] + 1).reshape([-1 if j == i else 1 for j in axes])
                        own = np.cumsum(own, axis=axis) if i in part else own * far
                    total = total + own // (weight * size)
            found[columns] = in_64_bits(rounded(np.asarray(total), FINE))
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

    # ---- how near

    def factor(self, columns: Columns) -> float:
        """The variance of a number of the margin by these columns, over that of a row."""
        total = 0.0
        for part, weight in self.weights.items():
            if part <= columns:
                total += self._grid.variance(part, columns) / weight**2
        return total

    def widths(self, designs: Designs, table: int, confidence: float) -> Array:
        margin, columns = self.margins.tables[table], self._axes(table)
        if self.cumulative:
            found = float(math.ceil(self._half_width(designs[self.label], columns, confidence) - 0.5))
        else:
            found = self._width(designs[self.label], columns, confidence) + self._moved(columns)
        return np.asarray(found + float(self.change.lost) * margin.sizes)

    def _width(self, design: Design, columns: Columns, confidence: float) -> float:
        """How far a number is off before anything is rounded."""
        return gaussian_width(design, self.factor(columns), self._noises(columns), confidence)

    def _noises(self, columns: Columns) -> int:
        """How many noises a number has."""
        return sum(math.prod(self._rows_of(part)) for part in self.weights if part <= columns)

    def _half_width(self, design: Design, columns: Columns, confidence: float) -> float:
        """The least w + 1/2 with which numbers from rounded sums are within w."""
        rows = sum(math.prod(self._shape(part)) for part in self.weights if part <= columns)
        off = rows * design.table_error()
        at_corners = self._at_corners(columns)
        return at_corners.half_width(sigma_of(design), 1 - confidence - off, at_corners.count / FINE)

    def _at_corners(self, columns: Columns) -> Corners:
        """The noise of the cumulative sums of a margin, which are off by as many parts of `FINE` at most."""
        spreads = ((one, self._grid.spread(one) / weight**2) for one, weight in self.weights.items())
        return corners_of(columns, self.margins.lengths, tuple(spreads))

    def variances(self, widths: Mapping[int, float], confidence: float) -> dict[int, float] | None:
        """About the variances of numbers of tables that are within so many steps; None if there are none."""
        found = {}
        for table, width in widths.items():
            columns = self._axes(table)
            left = self._left(table, width)
            if self.cumulative:
                at_corners = self._at_corners(columns)
                found[table] = at_corners.variance(left, 1 - confidence, at_corners.count / FINE)
            else:
                found[table] = (left / NormalDist().inv_cdf((1 + confidence) / 2)) ** 2
        return found if all(one > 0 for one in found.values()) else None

    def cost(self, widths: Mapping[int, float], confidence: float) -> float:
        """About the variance of the privacy loss with these widths; infinite where there is no such noise."""
        square = self._widest(widths, confidence)
        if self.cumulative and square > 0:
            every = (self._at_corners(self._axes(table)) for table in range(len(self.margins)))
            uneven = 2 * max(one.unevenness(math.sqrt(square)) for one in every)
            square = self._widest(widths, confidence + uneven) if confidence + uneven < 1 else 0.0
        return self.squared_length() / square if square > 0 else math.inf

    def _widest(self, widths: Mapping[int, float], confidence: float) -> float:
        """About the largest σ² with these widths, 0 if there is none."""
        variances = self.variances(widths, confidence) or {}
        return min((one / self.factor(self._axes(table)) for table, one in variances.items()), default=0.0)

    def _left(self, table: int, width: float) -> float:
        """What is left of a width for noise."""
        width -= float(self.change.lost) * float(self.margins.tables[table].sizes.max())
        if self.cumulative:
            return max(math.floor(width), 0) + 0.5
        return max(width - self._moved(self._axes(table)), 1e-9)

    def room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        columns, far = self._axes(table), self._half_width if self.cumulative else self._width
        return self._left(table, width) / far(designs[self.label], columns, confidence)

    def _shape(self, columns: Columns) -> list[int]:
        """By column, how many rows a residual has."""
        lengths = self.margins.lengths
        return [
            math.comb(lengths[i], 2) if self._is_short(columns, i) else lengths[i] for i in sorted(columns)
        ]

    def _rows_of(self, columns: Columns) -> list[int]:
        lengths = self.margins.lengths
        return [lengths[i] - 1 if self._is_short(columns, i) else lengths[i] for i in columns]

    def _moved(self, columns: Columns) -> float:
        """How far a number may be from its exact value, as numbers are made to add up."""
        return _moved_by_filling(columns, self.margins.lengths) / FINE

    def record(self) -> Record:
        names = self.margins.columns
        return {
            "kind": self.kind,
            **({"cumulative": True} if self.cumulative else {}),
            **({"short": self.short} if self.short != MOST_KEYS else {}),
            "weights": [
                [[names[i] for i in sorted(columns)], weight] for columns, weight in self.weights.items()
            ],
        }

    def rough_cost(self, widths: Mapping[int, float]) -> float:
        far = max(self.factor(self._axes(table)) / width**2 for table, width in widths.items())
        return self.squared_length() * far

    def rows(self, table: int) -> int:
        return int(self.margins.tables[table].sizes.max())


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
    for part in subsets(columns):
        off = 2 ** len(part)
        for i in sorted(part):
            off = max(off, known[part - {i}] + (lengths[i] - 1) * off)
        known[part] = off
    return known[columns]
