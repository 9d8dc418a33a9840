"""Noise of its own for every table, whose numbers do not add up: people in several groups, or on request.

Whoever was in two hours of a zone counts in both hours, and once in the zone. So the number of people in a
zone is not the sum of those in its hours, and every table has its own. Rows and sums do add up before noise
is added; where a query says that they need not afterwards (`add_up`), each table has noise of its own, which
can cost less for a few tables that are not nested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbdp.noise.kernel import Array, Index
from pbdp.tables.bounded import Aggregates
from pbdp.tables.margins import Margins
from pbdp.tables.numbers import Quantity
from pbdp.tables.strategies.cells import room_of_sum, width_of_sum
from pbdp.tables.strategies.separate import moves_of, rounded_rows, rounding_record
from pbdp.tables.strategies.strategy import Change, Designs, Moves, Record, Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentTables(Strategy):
    """A part for each table, published as it is."""

    adds_up: ClassVar[bool] = False

    label: str
    margins: Margins
    change: Change

    def tables(self, rows: Mapping[str, Index]) -> list[Array | Index]:
        return [rows[self.name(at)] for at in range(len(self.margins))]

    def widths(self, designs: Designs, table: int, confidence: float) -> Array:
        width = width_of_sum(designs[self.name(table)], 1, confidence)
        return np.full(len(self.margins.tables[table]), width)

    def room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        return room_of_sum(designs[self.name(table)], 1, confidence, width)

    def record(self) -> Record:
        return {"kind": self.kind}

    def follows(self, table: int) -> str:
        return self.name(table)

    def rows(self, table: int) -> int:
        del table
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentPeople(IndependentTables):
    """People: one person moves as many groups of a table as they have cells, each by one."""

    kind: ClassVar[str] = "independent people"

    @property
    def parts(self) -> Mapping[str, Moves]:
        most = self.change.people * self.change.cells
        return {
            self.name(at): Moves(numbers=min(most, len(table)), steps=self.change.steps)
            for at, table in enumerate(self.margins.tables)
        }

    def answers(self, cells: Index) -> dict[str, Index]:
        del cells
        raise AssertionError("people are counted for every table by itself")

    def rows_of(
        self, quantity: Quantity, aggregates: Aggregates, steps: Callable[[str, Index | Array], Index]
    ) -> dict[str, Index]:
        del quantity
        names = [self.name(at) for at in range(len(self.margins))]
        return {name: steps(name, people) for name, people in zip(names, aggregates.people_in, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentSums(IndependentTables):
    """Rows and sums, on request; what one person moves of a table is proved in `strategy`."""

    kind: ClassVar[str] = "independent sums"

    @property
    def parts(self) -> Mapping[str, Moves]:
        tables = enumerate(self.margins.tables)
        return {self.name(at): moves_of(table, self.change) for at, table in tables}

    def answers(self, cells: Index) -> dict[str, Index]:
        return {self.name(at): table.sums(cells) for at, table in enumerate(self.margins.tables)}

    def rows_of(
        self, quantity: Quantity, aggregates: Aggregates, steps: Callable[[str, Index | Array], Index]
    ) -> dict[str, Index]:
        if not self.change.rows_rounded:
            return Strategy.rows_of(self, quantity, aggregates, steps)
        tables = {at: self.name(at) for at in range(len(self.margins))}
        found = rounded_rows(tables, self.margins, quantity, aggregates, steps)
        return {tables[at]: rows for at, rows in found.items()}

    def widths(self, designs: Designs, table: int, confidence: float) -> Array:
        return IndependentTables.widths(self, designs, table, confidence) + self._lost(table)

    def room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        return IndependentTables.room(
            self, designs, table, confidence, width - float(np.max(self._lost(table)))
        )

    def _lost(self, table: int) -> Array:
        """What rounding to steps adds to the error of each group: of its cells, or of its own row."""
        sizes = self.margins.tables[table].sizes
        rounded = np.ones_like(sizes) if self.change.rows_rounded else sizes
        return np.asarray(float(self.change.lost) * rounded)

    def record(self) -> Record:
        return {"kind": self.kind} | rounding_record(self.change)
