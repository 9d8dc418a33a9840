"""Several group-bys of one table: the groups of each, and which of the cells each of them is made of.

A *cell* is a group by all columns of the query together. Contributions of people are bounded there, once, so
that every number of a coarser table is the sum of bounded numbers of cells, and all tables agree before any
noise is added.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pbdp.errors import ContradictionError, InputError, did_you_mean, shown
from pbdp.noise.kernel import Index
from pbdp.tables.keys import KeyColumn, KeyTable

TOTAL = "total"
# Doubles hold sums of up to this exactly. Cells are added up in halves of so many bits.
FURTHEST_SUM = 1 << 52
_HALF_BITS = 26
Key = datetime.date | int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Margin:
    """One of several tables: its columns, its groups, and for each cell the row of its group."""

    label: str
    columns: tuple[str, ...]
    groups: KeyTable
    of_cell: Index

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def sizes(self) -> Index:
        """How many cells each group has."""
        return np.bincount(self.of_cell, minlength=len(self)).astype(np.int64)

    @property
    def largest(self) -> int:
        """How many cells the largest group has, whether it is published yet or not."""
        return int(self.sizes.max())

    def sums(self, cells: Index) -> Index:
        """Numbers of the cells, added up."""
        found = np.zeros(len(self), dtype=np.int64)
        np.add.at(found, self.of_cell, cells)
        return found

    def exact_sums(self, cells: Index) -> Index:
        """The same where sums need not fit into 64 bits: those beyond `FURTHEST_SUM` count as that.

        Cells are up to 2^53 in size, and fewer than 2^26 (`keys.MOST_GROUPS`).
        """
        high, low = self.sums(cells >> _HALF_BITS), self.sums(cells & ((1 << _HALF_BITS) - 1))
        kept = np.clip(high, -FURTHEST_SUM >> 16, FURTHEST_SUM >> 16) << _HALF_BITS
        return np.asarray(np.clip(kept + low, -FURTHEST_SUM, FURTHEST_SUM))

    def is_finer(self, other: Margin) -> bool:
        """Whether its groups are parts of those of the other table."""
        return set(self.columns) >= set(other.columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunningMargin(Margin):
    """Totals up to each key of one column ("day"), in every series by the others.

    `series` and `day` say for each cell which series it is of and which place it has in it, from 0 on. Every
    series has every day. The groups are those of the cells in `shown`, all days up to the last that is told.
    """

    series: Index
    day: Index
    shown: Index

    @property
    def shape(self) -> tuple[int, int]:
        """How many series there are, and how many days."""
        return int(self.series.max()) + 1, int(self.day.max()) + 1

    @property
    def sizes(self) -> Index:
        return self.day[self.shown] + 1

    @property
    def largest(self) -> int:
        return self.shape[1]

    def sums(self, cells: Index) -> Index:
        return self.listed(np.cumsum(self.by_day(cells), axis=1))[self.shown]

    def by_day(self, cells: Index) -> Index:
        """Numbers of the cells, with a row for each series and a column for each day."""
        grid = np.zeros(self.shape, dtype=np.int64)
        grid[self.series, self.day] = cells
        return grid

    def listed(self, grid: Index) -> Index:
        """Back in the order of the cells."""
        return np.asarray(grid[self.series, self.day])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Margins:
    """The tables of a query, by their columns, in the order in which they were asked for.

    `cells` are the groups by all columns. `codes` says for each column which of its keys a cell has, and
    `lengths` how many keys there are. With a `running` column there is one table, of the totals so far,
    up to the key `through` if that is not the last.
    """

    cells: KeyTable
    asked: tuple[tuple[str, ...], ...]
    running: str | None = None
    through: Key | None = None
    codes: tuple[Index, ...] = field(init=False, repr=False)
    lengths: tuple[int, ...] = field(init=False)
    tables: tuple[Margin, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        codes, lengths = [], []
        for column in self.cells.columns.values():
            values = column.values.astype(str) if column.kind == "text" else column.values
            kept, code = np.unique(values, return_inverse=True)
            codes.append(code.reshape(-1).astype(np.int64))
            lengths.append(len(kept))
        object.__setattr__(self, "codes", tuple(codes))
        object.__setattr__(self, "lengths", tuple(lengths))
        tables = tuple(map(self.margin, self.asked)) if self.running is None else (self._so_far(),)
        object.__setattr__(self, "tables", tables)

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        return tuple(self.cells.columns)

    @property
    def labels(self) -> list[str]:
        """What the tables are called: by their columns, or `total`."""
        return [table.label for table in self.tables]

    @property
    def is_grid(self) -> bool:
        """Whether every combination of keys is a cell."""
        return math.prod(self.lengths) == len(self.cells)

    @property
    def chain(self) -> list[int] | None:
        """The tables from the coarsest to the finest, if each is made of groups of the next; else None."""
        order = sorted(range(len(self.tables)), key=lambda at: len(self.tables[at].columns))
        nested = all(self.tables[fine].is_finer(self.tables[coarse]) for coarse, fine in pairwise(order))
        return order if nested else None

    def _so_far(self) -> RunningMargin:
        """The table of running totals: the keys of a column come in their own order."""
        whole = self.margin(self.columns)
        series = self.margin(name for name in self.columns if name != self.running).of_cell
        keys = self.cells.columns[str(self.running)].values
        told = (
            np.ones(len(keys), dtype=bool)
            if self.through is None
            else keys <= np.array(self.through, keys.dtype)
        )
        shown = np.flatnonzero(told).astype(np.int64)
        return RunningMargin(
            label=whole.label,
            columns=whole.columns,
            groups=self.cells.taken(shown),
            of_cell=whole.of_cell,
            series=series,
            day=self.codes[self.columns.index(str(self.running))],
            shown=shown,
        )

    def margin(self, columns: Iterable[str]) -> Margin:
        """The table by some of the columns; its groups come in the order of their first cells."""
        named = set(columns)
        of_cell = np.zeros(len(self.cells), dtype=np.int64)
        for name, code, length in zip(self.columns, self.codes, self.lengths, strict=True):
            if name in named:
                # numbered anew for every column, so that no number is above that of the cells
                of_cell = np.unique(of_cell * length + code, return_inverse=True)[1].reshape(-1)
        first = np.unique(of_cell, return_index=True)[1]
        place = np.empty(len(first), dtype=np.int64)
        place[np.argsort(first, kind="stable")] = np.arange(len(first))
        taken = self.cells.taken(np.sort(first).astype(np.int64)).columns
        kept = tuple(name for name in self.columns if name in named)
        return Margin(
            label=label_of(kept, self.columns),
            columns=kept,
            groups=KeyTable(columns={name: taken[name] for name in kept}),
            of_cell=place[of_cell],
        )


def parents(coarse: Margin, fine: Margin) -> Index:
    """For each group of a finer table its group in a coarser one."""
    found = np.zeros(len(fine), dtype=np.int64)
    found[fine.of_cell] = coarse.of_cell
    return found


def summed(coarse: Margin, fine: Margin, numbers: Index) -> Index:
    """Whole numbers of a finer table, added up to a coarser one."""
    if len(coarse) == len(fine):
        return numbers
    found = np.zeros(len(coarse), dtype=numbers.dtype)
    np.add.at(found, parents(coarse, fine), numbers)
    return found


def label_of(columns: Sequence[str], among: Sequence[str]) -> str:
    """A name for a table: its columns, or `total` (which a column may be called, too)."""
    if columns:
        return ", ".join(columns)
    return TOTAL if TOTAL not in among else f"grand {TOTAL}"


def check_running(running: object, groups: KeyTable | None, columns: Sequence[str]) -> str:
    """The column of running totals; refused if its public keys have no order, or not in every group."""
    how = 'Name one of the columns of by, with dates or whole numbers as keys: running="day".'
    if not isinstance(running, str) or running not in columns:
        near = did_you_mean(running, columns) if isinstance(running, str) else ""
        raise InputError("running", f"a column of by ({', '.join(columns)})", shown(running), near or how)
    if groups is None:
        remedy = "List the public keys of all columns, the days to come as well."
        raise ContradictionError("running", "used with public keys", "a selection of groups", remedy)
    kind = groups.columns[running].kind
    if kind not in ("date", "integer"):
        raise InputError(f"keys of {running}", "dates or whole numbers, which have an order", kind, how)
    if not Margins(cells=groups, asked=(tuple(columns),)).is_grid:
        remedy = "List the keys by column, or give the table of keys a row for every combination."
        raise InputError(f"keys of {running}", "the same for all other keys", "some left out", remedy)
    return running


def check_through(through: object, keys: KeyColumn) -> Key | None:
    """The last key of running totals that is told, None if all are; text is read as what the keys are."""
    found: object = through
    if isinstance(through, str):
        try:
            found = datetime.date.fromisoformat(through) if keys.kind == "date" else int(through)
        except ValueError:
            found = None
    every = keys.values.tolist()
    is_key = isinstance(found, datetime.date | int) and not isinstance(found, bool) and found in every
    if not is_key:
        remedy = "Totals are told up to and with it; the days to come are published later."
        raise InputError("through", "one of the keys of the running column", shown(through), remedy)
    return None if found == max(every) else found  # type: ignore[return-value]  # a key


def check_tables(tables: Sequence[Sequence[str]], columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The columns of each table, in the order of the query's; refused if they are none or twice the same."""
    how = f'Write tables = [["{columns[0]}"], []]: a list of columns for each table.' if columns else ""
    found: list[tuple[str, ...]] = []
    for table in tables:
        if strange := [str(name) for name in table if name not in columns]:
            near = did_you_mean(strange[0], columns) or how
            raise InputError(
                "columns of tables", f"among those of by ({', '.join(columns)})", ", ".join(strange), near
            )
        if len(set(table)) < len(table):
            raise InputError("columns of a table", "different", ", ".join(table))
        found.append(tuple(name for name in columns if name in table))
    if len(set(found)) < len(found):
        raise InputError("tables", "different from each other", "some twice")
    used = {name for table in found for name in table}
    if unused := [name for name in columns if name not in used]:
        remedy = "Leave it out of by: contributions are bounded in groups by all columns of by."
        raise InputError("columns of by", "used by a table", ", ".join(unused), remedy)
    return tuple(found)
