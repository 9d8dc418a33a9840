"""Noise of its own for each of several nested tables, which are then made to add up: a tree.

Tables t_0, t_1, ... from the coarsest to the finest; some of them are *measured*, the finest always.

**Up.** A group of a measured table j that is not the finest has its own noisy number y, and the sum of the
numbers of its groups in the next finer measured table. It gets (1 - a_j)·y + a_j·sum, with a_j the same for
all groups of a table, in 64ths (`upward`): where the a_j are those of least squares, that is the first half
of what Hay, Rastogi, Miklau and Suciu (2010) do. With e_i the noise of the rows of the measured table i, the
group v is off by c_jj·(sum of e_j in v) + c_ji·(sum of e_i in v) + ... over all finer i,

    c_jj = 1 - a_j,    c_ji = a_j·c_(j+1)i,    a = 0 for the finest.

A table that is not measured has the sums of the next finer one that is.

**Down.** From the coarsest on, the parts of every group share equally in what their sum lacks of the group's
number.

**Error.** Let v be one of n parts of the group u, and j the measured table that v has the rows of. Then

    E_v = (sum over i of c_ji·(e_i in v)) - 1/n·(sum over i of c_ji·(e_i in u)) + E_u/n,

and E_v is the first sum alone in the coarsest table. All noise of one table in u that is not in v has one
weight, and so on outwards: E_v is a weighted sum of independent noises with few weights.

**Rounding.** The numbers of the coarsest table are rounded to the nearest whole ones, unless they are whole
as they are. Others are rounded by less than 1; if that, and what was moved before, makes a group's number
differ by r from what is said above, its n parts differ by r/n before they are rounded themselves. An only
part has the number of its group.

**A total that is shared.** Where a person is replaced, a total may have noise of the same part as the groups
of the next finer measured table, and costs nothing then (`strategy`).

**Steps.** Sums of real numbers are rounded to steps row by row (`rows_rounded`). Such an error is added to
the noise of its row, and has the same weight in E_v: it is off by half a step times all weights at most.
Cells that were rounded before they were added up would each lose half a step of every sum that they are in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pbdp.noise.kernel import Array, Index
from pbdp.release.combination import Term, law_of_sum
from pbdp.tables.bounded import Aggregates
from pbdp.tables.estimates import Noises, near_width, spread_of
from pbdp.tables.margins import Margin, Margins, parents, summed
from pbdp.tables.numbers import Quantity
from pbdp.tables.strategies.cells import near_room_of_sum
from pbdp.tables.strategies.rounding import below, in_64_bits, rounded
from pbdp.tables.strategies.strategy import Change, Designs, Moves, Record, Strategy

# Groups that differ in more ways than this would take long to find the widths of; of how many an estimate is
# made, those with the least room.
MOST_KINDS, LOOKED_AT = 256, 3
# Cells that are added up are no further from zero, so that doubles hold them.
LARGEST_CELL = 1 << 53
# What goes up to coarser tables is in parts of one over this.
PARTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Separate(Strategy):
    """A part for each measured table (by its place among the tables), the others follow."""

    kind: ClassVar[str] = "separate"

    label: str
    margins: Margins
    change: Change
    measured: tuple[int, ...]
    # for each measured table, in 64ths; none where nothing goes up
    upward: tuple[int, ...] = ()
    # whether the only row of the coarsest measured table has noise of the next finer one's part
    shared: bool = False
    _known: dict[int, tuple[list[_Kind], Index]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    @property
    def order(self) -> list[int]:
        """The tables from the coarsest to the finest."""
        found = self.margins.chain
        if found is None:
            raise AssertionError("tables that are not nested have another strategy")
        return found

    def source(self, table: int) -> int:
        """The measured table whose rows a table is the sum of."""
        order = self.order
        return next(at for at in order[order.index(table) :] if at in self.measured)

    @property
    def variant(self) -> str:  # type: ignore[override]
        """Whether a total is shared."""
        return "shared" if self.shared else ""

    @property
    def can_be_shared(self) -> bool:
        """Whether the coarsest measured table is a total whose noise can be that of the next finer one."""
        change, chain = self.change, self.chain
        return (
            change.people == 2
            and not change.signed
            and len(chain) > 1
            and len(self.margins.tables[chain[0]]) == 1
        )

    def part_of(self, table: int) -> str:
        """The part that the rows of a measured table belong to."""
        chain = self.chain
        return self.name(chain[1] if self.shared and table == chain[0] else table)

    @property
    def parts(self) -> Mapping[str, Moves]:
        own = [at for at in self.measured if self.part_of(at) == self.name(at)]
        found = {self.name(at): moves_of(self.margins.tables[at], self.change) for at in own}
        if self.shared:
            found[self.part_of(self.chain[0])] = shared_moves(self.margins, self.change)
        return found

    def answers(self, cells: Index) -> dict[str, Index]:
        return self._together({at: self.margins.tables[at].sums(cells) for at in self.measured})

    def _together(self, rows: Mapping[int, Index]) -> dict[str, Index]:
        """The rows of each part, from those of the measured tables; a shared one comes last."""
        order = sorted(rows, key=lambda at: self.part_of(at) != self.name(at))
        return {
            name: np.concatenate([rows[at] for at in order if self.part_of(at) == name])
            for name in self.parts
        }

    def _rows(self, rows: Mapping[str, Index], table: int) -> Index:
        """Those of a measured table."""
        own, size = rows[self.part_of(table)], len(self.margins.tables[table])
        return own[:size] if self.part_of(table) == self.name(table) else own[-size:]

    def rows_of(
        self, quantity: Quantity, aggregates: Aggregates, steps: Callable[[str, Index | Array], Index]
    ) -> dict[str, Index]:
        if not self.change.rows_rounded:
            return Strategy.rows_of(self, quantity, aggregates, steps)
        tables = {at: self.part_of(at) for at in self.measured}
        return self._together(rounded_rows(tables, self.margins, quantity, aggregates, steps))

    def tables(self, rows: Mapping[str, Index]) -> list[Array | Index]:
        raised = self._raised(rows)
        made: dict[int, Index] = {}
        above: int | None = None
        for at in self.order:
            table, source = self.margins.tables[at], self.source(at)
            values, parts = raised[source]
            raw = summed(table, self.margins.tables[source], values)
            if above is None:
                made[at] = raw if parts == 1 else in_64_bits(rounded(raw, parts))
            else:
                made[at] = below(made[above], self._inside(above, at), raw, parts)
            above = at
        return [made[at] for at in range(len(self.margins))]

    def _raised(self, rows: Mapping[str, Index]) -> dict[int, tuple[Index, int]]:
        """The numbers of each measured table, with what finer ones add to them, in so many parts of one."""
        found: dict[int, tuple[Index, int]] = {}
        finer: int | None = None
        for at in reversed(self.chain):
            own, share, parts = self._rows(rows, at), self.share_of(at), 1
            if finer is not None and share:
                values, parts = found[finer]
                # whole numbers of any length, as products need not fit into 64 bits
                sums = summed(self.margins.tables[at], self.margins.tables[finer], values.astype(object))
                own = (PARTS - share) * parts * own.astype(object) + share * sums
                parts *= PARTS
            found[at], finer = (own, parts), at
        return found

    @property
    def chain(self) -> list[int]:
        """The measured tables, from the coarsest to the finest."""
        return [at for at in self.order if at in self.measured]

    def share_of(self, table: int) -> int:
        """The 64ths of a measured table's numbers that come from the next finer one."""
        return self.upward[self.measured.index(table)] if self.upward else 0

    def weights(self) -> dict[int, dict[int, Fraction]]:
        """c: for each measured table the weights of its own noise and of that of finer ones."""
        found: dict[int, dict[int, Fraction]] = {}
        finer: int | None = None
        for at in reversed(self.chain):
            share = Fraction(self.share_of(at), PARTS)
            below = found[finer] if finer is not None and share else {}
            found[at] = {at: 1 - share} | {other: share * weight for other, weight in below.items()}
            finer = at
        return found

    def _inside(self, coarse: int, fine: int) -> Index:
        """For each group of the finer table the group of the coarser one that it is in."""
        return parents(self.margins.tables[coarse], self.margins.tables[fine])

    @property
    def kinds(self) -> int:
        """How many kinds of groups there are, each with a width of its own."""
        return max(len(kinds) for kinds, _ in self._groups().values())

    def rows_weight(self, table: int) -> float:
        """The largest sum of the weights of all rows that a number of a table follows from."""
        return max(float(kind.weight) for kind in self._groups()[table][0])

    def widths(self, designs: Designs, table: int, confidence: float) -> Array:
        kinds, of_group = self._groups()[table]
        sizes = self.margins.tables[table].sizes
        # the number is whole, and next to one that is as near
        found = [
            float(math.ceil(width_of(self._noises(kind, designs), confidence) + kind.moved)) for kind in kinds
        ]
        return np.asarray(np.array(found)[of_group] + self._lost(kinds, of_group, sizes))

    def room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        rooms = (
            left / float(width_of(noises, confidence)) for noises, left in self._left(designs, table, width)
        )
        return min(rooms)

    def near_room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        every = self._left(designs, table, width)
        tightest = sorted(every, key=lambda entry: entry[1] / spread_of(entry[0]))[:LOOKED_AT]
        return min(_near_room(noises, confidence, left) for noises, left in tightest)

    def _left(self, designs: Designs, table: int, width: float) -> list[tuple[tuple[Noises, ...], float]]:
        """The noises of each kind of group, and how far off they may be for it to be within the width."""
        kinds, of_group = self._groups()[table]
        largest = np.zeros(len(kinds))
        np.maximum.at(largest, of_group, self._lost(kinds, of_group, self.margins.tables[table].sizes))
        return [
            (self._noises(kind, designs), max(math.floor(width - lost) - float(kind.moved), 1e-9))
            for kind, lost in zip(kinds, largest, strict=True)
        ]

    def _lost(self, kinds: Sequence[_Kind], of_group: Index, sizes: Index) -> Array:
        """What rounding to steps adds to each group's error: that of its cells, or of all rows behind it."""
        if not self.change.rows_rounded:
            return np.asarray(float(self.change.lost) * sizes)
        each = [float(self.change.lost * kind.weight) for kind in kinds]
        return np.asarray(np.array(each)[of_group])

    def _noises(self, kind: _Kind, designs: Designs) -> tuple[Noises, ...]:
        return tuple((designs[self.part_of(at)], weight, count) for at, weight, count in kind.terms)

    def _groups(self) -> dict[int, tuple[list[_Kind], Index]]:
        """For each table the kinds of its groups, and which kind each group is."""
        found = self._known
        if found:
            return found
        weights = self.weights()
        above: int | None = None
        for at in self.order:
            own = weights[self.source(at)]
            rows = self._rows_in(at, own)
            if above is None:
                kept, where = np.unique(rows, axis=0, return_inverse=True)
                made = [_Kind.first(own, one.tolist()) for one in kept]
            else:
                coarse, inside = self.margins.tables[above], self._inside(above, at)
                parts = np.bincount(inside, minlength=len(coarse))[inside]
                kinds, of_group = found[above]
                signs = np.column_stack([rows, self._rows_in(above, own)[inside], parts, of_group[inside]])
                kept, where = np.unique(signs, axis=0, return_inverse=True)
                made = [
                    kinds[kind].part(own, counts[: len(own)], counts[len(own) :], parts)
                    for *counts, parts, kind in kept.tolist()
                ]
            found[at] = made, where.reshape(-1).astype(np.int64)
            above = at
        return found

    def _rows_in(self, table: int, sources: Iterable[int]) -> Index:
        """How many rows of each source a group of the table has."""
        margin, every = self.margins.tables[table], [self.margins.tables[at] for at in sources]
        return np.column_stack([summed(margin, one, np.ones(len(one), dtype=np.int64)) for one in every])

    def record(self) -> Record:
        labels = [self.margins.labels[at] for at in self.measured]
        upward = {"upward": list(self.upward)} if self.upward else {}
        shared = {"shared": True} if self.shared else {}
        return {"kind": self.kind, "measured": labels} | upward | shared | rounding_record(self.change)

    def follows(self, table: int) -> str:
        return self.part_of(self.source(table))

    def rows(self, table: int) -> int:
        kinds, _ = self._groups()[table]
        return max(kind.rows for kind in kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A kind of group: the noise of its rows, and what its number is off by beyond these.

    `inner` has a measured table, the weight of its noise and how many of its rows are in the group, `outer`
    the same of rows that are not. `whole` says that no part of it will lack anything. Rounding may have moved
    its exact value by `moved`, and its number by `off`.
    """

    inner: tuple[tuple[int, Fraction, int], ...]
    outer: tuple[tuple[int, Fraction, int], ...] = ()
    whole: bool = False
    moved: Fraction = Fraction(0)
    off: Fraction = Fraction(0)

    @classmethod
    def first(cls, weights: Mapping[int, Fraction], counts: Sequence[int]) -> _Kind:
        """A group of the coarsest table, with the weights of the noise in it and how many rows it has."""
        inner = tuple(
            (at, weight, count) for (at, weight), count in zip(weights.items(), counts, strict=True)
        )
        whole = len(weights) == 1
        return cls(inner=inner, whole=whole, off=Fraction(0 if whole else 1, 2))

    @property
    def rows(self) -> int:
        """How many rows of its own source are in it."""
        return self.inner[0][2]

    @property
    def terms(self) -> tuple[tuple[int, Fraction, int], ...]:
        """Measured tables with weights and counts of their noise."""
        found: dict[tuple[int, Fraction], int] = {}
        for at, weight, count in (*self.inner, *self.outer):
            if weight and count:
                found[at, weight] = found.get((at, weight), 0) + count
        return tuple((at, weight, count) for (at, weight), count in found.items())

    @property
    def weight(self) -> Fraction:
        """The sum of the weights of all rows that its number follows from, whichever sign they have."""
        return sum((abs(weight) * count for _, weight, count in self.terms), Fraction(0))

    def part(
        self, weights: Mapping[int, Fraction], counts: Sequence[int], within: Sequence[int], parts: int
    ) -> _Kind:
        """One of so many parts, with so many rows of each source in it and in the group."""
        if self.whole and self.inner[0][0] == next(iter(weights)):
            # nothing coarser is measured, so that nothing lacks
            return _Kind.first(weights, counts)
        share = Fraction(1, parts)
        known = {at: weight for at, weight, _ in self.inner}
        inner, outer = [], [(at, share * weight, count) for at, weight, count in self.outer]
        for (at, weight), count, every in zip(weights.items(), counts, within, strict=True):
            far = share * (known.get(at, Fraction(0)) - weight)
            inner.append((at, far + weight, count))
            outer.append((at, far, every - count))
        outer += [(at, share * weight, count) for at, weight, count in self.inner if at not in weights]
        # an only part has the number of the group
        moved, off = (self.moved, self.off) if parts == 1 else (share * self.off, 1 + share * self.off)
        return _Kind(inner=tuple(inner), outer=tuple(outer), moved=moved, off=off)


def rounded_rows(
    tables: Mapping[int, str],
    margins: Margins,
    quantity: Quantity,
    aggregates: Aggregates,
    steps: Callable[[str, Index | Array], Index],
) -> dict[int, Index]:
    """Exact sums of cells for each of these tables, by the steps of their parts: private."""
    answers = quantity.answers(aggregates)
    whole = answers.dtype == np.int64
    cells = np.clip(answers if whole else answers / quantity.unit, -LARGEST_CELL, LARGEST_CELL).astype(
        np.int64
    )
    sums = {at: margins.tables[at].exact_sums(cells) for at in tables}
    return {
        at: steps(name, sums[at] if whole else sums[at].astype(np.float64) * quantity.unit)
        for at, name in tables.items()
    }


def rounding_record(change: Change) -> Record:
    """What a record says of how answers are rounded; nothing if it is the cells that are."""
    return {"rounded": "rows"} if change.rows_rounded else {}


def moves_of(table: Margin, change: Change) -> Moves:
    """What one person moves of a table whose rows have noise of their own; proved in `strategy`."""
    largest = int(table.sizes.max())
    cells = min(change.cells, len(table.of_cell))
    if largest == 1:
        return change.of_rows(cells, len(table))
    if len(table) == 1:
        return change.of_total(cells)
    if cells == 1:
        return change.of_rows(1, len(table))
    rows = change.people * (cells + 1)
    if change.people == 2 and change.signed:
        return Moves(numbers=1, steps=2 * change.steps * cells, laws=rows, concave=True)
    return Moves(numbers=change.people, steps=change.steps * cells, laws=rows, concave=True)


def shared_moves(margins: Margins, change: Change) -> Moves:
    """What one person moves of a table and of a total that shares its noise; proved in `strategy`."""
    cells = min(change.cells, len(margins.cells))
    steps = cells * (change.steps + change.rows_rounded)
    return Moves(numbers=change.people, steps=steps, laws=change.people * (cells + 1) + 1, concave=True)


def _near_room(noises: tuple[Noises, ...], confidence: float, left: float) -> float:
    if len(noises) == 1 and noises[0][1] == 1:
        return near_room_of_sum(noises[0][0], noises[0][2], confidence, left)
    return left / near_width(noises, confidence)


@lru_cache(maxsize=4096)
def width_of(noises: tuple[Noises, ...], confidence: float) -> Fraction:
    """How far a weighted sum of noises is from 0 at most, with the confidence."""
    terms = [Term(table=design.table_at(0.0), weight=weight, count=count) for design, weight, count in noises]
    return law_of_sum(terms).half_width(confidence)


def least_squares(rows: Sequence[int], widths: Sequence[float]) -> tuple[int, ...]:
    """The 64ths that go up to each measured table, from the coarsest to the finest, by their widths.

    `rows` is how many rows of the next finer one a group has. With w and W the widths of the finer and of the
    coarser table and n rows, the finer one's numbers have the variance b for which (1 - 1/n)·b + (W/n)² = w²
    once they are made to add up, and W² is the least variance of both if the share is W²/(n·b).
    """
    found = []
    for count, coarse, fine in zip(rows, widths, widths[1:], strict=False):
        alone = fine**2 - (coarse / count) ** 2
        share = coarse**2 * (1 - 1 / count) / (count * alone) if count > 1 and alone > 0 else 0.0
        found.append(min(round(PARTS * share), PARTS - 1))
    return (*found, 0)
