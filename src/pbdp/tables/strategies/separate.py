"""Noise of its own for each of several nested tables, which are then made to add up.

Tables t_0, t_1, ... from the coarsest to the finest; some of them are *measured*, the finest always. A table
that is not has the sums of the next finer one that is. From the coarsest on, the parts of every group share
equally in what their sum lacks of the group's number.

**Error.** Let v be a group of a table with rows of the measured table j, N of them, and u the group of the
next coarser measured table that v is in, with M such rows. What u lacks is shared out level by level, so that
v gets the share f = 1/n_1·1/n_2·..., n_i how many parts each group on the way from u to v has. With e the
noise of the measured rows, all independent,

    E_v = (1 - f)·(sum of N of e_j) - f·(sum of the other M - N) + f·E_u,

and E_v is the sum of N of e_j where no coarser table is measured. The numbers of the coarsest table are whole
as they are. Others are rounded, by less than 1; if that, and what was moved before, makes a group's number
differ by r from what is said above, its n parts differ by r/n before they are rounded themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from pbdp.noise.kernel import Array, Index
from pbdp.release.combination import Term, law_of_sum
from pbdp.tables.margins import Margin, Margins, parents, summed
from pbdp.tables.strategies.cells import near_room_of_sum
from pbdp.tables.strategies.estimates import Noises, near_width, spread_of
from pbdp.tables.strategies.rounding import below
from pbdp.tables.strategies.strategy import Change, Designs, Moves, Record, Strategy

# Groups that differ in more ways than this would take long to find the widths of; of how many an estimate is
# made, those with the least room.
MOST_KINDS, LOOKED_AT = 256, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Separate(Strategy):
    """A part for each measured table (by its place among the tables), the others follow."""

    kind: ClassVar[str] = "separate"

    label: str
    margins: Margins
    change: Change
    measured: tuple[int, ...]
    rounded: bool = False
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
    def parts(self) -> Mapping[str, Moves]:
        return {self.name(at): moves_of(self.margins.tables[at], self.change) for at in self.measured}

    def answers(self, cells: Index) -> dict[str, Index]:
        return {self.name(at): self.margins.tables[at].sums(cells) for at in self.measured}

    def tables(self, rows: Mapping[str, Index]) -> list[Array | Index]:
        made: dict[int, Index] = {}
        above: int | None = None
        for at in self.order:
            table, source = self.margins.tables[at], self.source(at)
            raw = summed(table, self.margins.tables[source], rows[self.name(source)])
            made[at] = raw if above is None else below(made[above], self._inside(above, at), raw)
            above = at
        return [made[at] for at in range(len(self.margins))]

    def _inside(self, coarse: int, fine: int) -> Index:
        """For each group of the finer table the group of the coarser one that it is in."""
        return parents(self.margins.tables[coarse], self.margins.tables[fine])

    @property
    def kinds(self) -> int:
        """How many kinds of groups there are, each with a width of its own."""
        return max(len(kinds) for kinds, _ in self._groups().values())

    def widths(self, designs: Designs, table: int, confidence: float) -> Array:
        kinds, of_group = self._groups()[table]
        sizes = self.margins.tables[table].sizes
        # the number is whole, and next to one that is as near
        found = [
            float(math.ceil(width_of(self._noises(kind, designs), confidence) + kind.moved)) for kind in kinds
        ]
        return np.array(found)[of_group] + (0.5 * sizes if self.rounded else 0.0)

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
        np.maximum.at(largest, of_group, self.margins.tables[table].sizes if self.rounded else 0)
        return [
            (self._noises(kind, designs), max(math.floor(width - half) - float(kind.moved), 1e-9))
            for kind, half in zip(kinds, 0.5 * largest, strict=True)
        ]

    def _noises(self, kind: _Kind, designs: Designs) -> tuple[Noises, ...]:
        return tuple((designs[self.name(at)], weight, count) for at, weight, count in kind.terms)

    def _groups(self) -> dict[int, tuple[list[_Kind], Index]]:
        """For each table the kinds of its groups, and which kind each group is."""
        found = self._known
        if found:
            return found
        above: int | None = None
        for at in self.order:
            table, source = self.margins.tables[at], self.source(at)
            rows = self.margins.tables[source]
            every = np.ones(len(rows), dtype=np.int64)
            own = summed(table, rows, every)
            if above is None:
                kept, where = np.unique(own, return_inverse=True)
                made = [_Kind(source=source, rows=int(count)) for count in kept]
            else:
                coarse, inside = self.margins.tables[above], self._inside(above, at)
                parts = np.bincount(inside, minlength=len(coarse))[inside]
                kinds, of_group = found[above]
                within = summed(coarse, rows, every)[inside]
                signs = np.column_stack([own, parts, within, of_group[inside]])
                kept, where = np.unique(signs, axis=0, return_inverse=True)
                made = [kinds[kind].part(source, int(n), int(split), int(m)) for n, split, m, kind in kept]
            found[at] = made, where.reshape(-1).astype(np.int64)
            above = at
        return found

    def record(self) -> Record:
        return {"kind": self.kind, "measured": [self.margins.labels[at] for at in self.measured]}

    def follows(self, table: int) -> str:
        return self.name(self.source(table))

    def rows(self, table: int) -> int:
        kinds, _ = self._groups()[table]
        return max(kind.rows for kind in kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A kind of group: rows of its source in it, and what its number is off by beyond these.

    `source` and `rows` are its own; `anchor` is the nearest coarser measured group's error (terms), `inside`
    how many rows of this source that group has, and `share` what the group gets of what that one lacks.
    Rounding may have moved its exact value by `moved`, and its number by `off`.
    """

    source: int
    rows: int
    anchor: tuple[tuple[int, Fraction, int], ...] = ()
    inside: int = 0
    share: Fraction = Fraction(0)
    moved: Fraction = Fraction(0)
    off: Fraction = Fraction(0)

    @property
    def terms(self) -> tuple[tuple[int, Fraction, int], ...]:
        """Measured tables with weights and counts of their noise."""
        own = [(self.source, 1 - self.share, self.rows)]
        if self.share:
            own.append((self.source, -self.share, self.inside - self.rows))
        far = [(at, self.share * weight, count) for at, weight, count in self.anchor]
        return tuple(term for term in (*own, *far) if term[1] and term[2])

    def part(self, source: int, rows: int, parts: int, within: int) -> _Kind:
        """A part of such a group, which has so many, and so many rows of the source in all of them."""
        same = source == self.source
        if same and not self.share:
            # nothing coarser is measured, so that nothing lacks
            return _Kind(source=source, rows=rows)
        return _Kind(
            source=source,
            rows=rows,
            anchor=self.anchor if same else self.terms,
            inside=self.inside if same else within,
            share=(self.share if same else Fraction(1)) / parts,
            moved=self.off / parts,
            off=1 + self.off / parts,
        )


def moves_of(table: Margin, change: Change) -> Moves:
    """What one person moves of a table whose rows have noise of their own; proved in `strategy`."""
    largest = int(table.sizes.max())
    cells = min(change.cells, len(table.of_cell))
    if largest == 1:
        return Moves(numbers=min(change.people * cells, len(table)), steps=change.steps)
    if len(table) == 1:
        # where a person is replaced, one adds to it and the other takes away
        both = change.people if change.signed else 1
        return Moves(numbers=1, steps=change.steps * cells * both)
    if cells == 1:
        return Moves(numbers=min(change.people, len(table)), steps=change.steps)
    return Moves(
        numbers=change.people,
        steps=change.steps * cells,
        laws=change.people * (cells + 1),
        concave=True,
    )


def _near_room(noises: tuple[Noises, ...], confidence: float, left: float) -> float:
    if len(noises) == 1 and noises[0][1] == 1:
        return near_room_of_sum(noises[0][0], noises[0][2], confidence, left)
    return left / near_width(noises, confidence)


@lru_cache(maxsize=4096)
def width_of(noises: tuple[Noises, ...], confidence: float) -> Fraction:
    """How far a weighted sum of noises is from 0 at most, with the confidence."""
    terms = [Term(table=design.table_at(0.0), weight=weight, count=count) for design, weight, count in noises]
    return law_of_sum(terms).half_width(confidence)
