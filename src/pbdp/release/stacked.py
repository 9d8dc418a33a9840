"""Alias tables for every answer at once, for laws that change with the answer but have few answers or cells.

All of them are made at the first release, whatever its answer is, so that neither making nor keeping them
tells anything. A draw is then one look-up, as for a law that only moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.design import AnyDesign
from pbdp.release.alias import AliasTable, Index, Words, alias_table, bits_for

# Buckets of all tables together: 16 MB of memory, and about a quarter of a second to make them.
MOST_BUCKETS = 1 << 20
MOST_ANSWERS = 1 << 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StackedTables:
    """One alias table for each of the answers first, ..., last; those beyond have the law of the nearest."""

    first: int
    last: int
    bits: int
    thresholds: Words
    values: npt.NDArray[np.int32]

    def many(self, answers: Index, words: Words) -> Index:
        """The noise for many answers, a word each."""
        start = (np.minimum(np.maximum(answers, self.first), self.last) - self.first) << self.bits
        bucket = start + (words >> np.uint64(64 - self.bits)).astype(np.int64)
        rest = words << np.uint64(self.bits)
        found: Index = self.values[2 * bucket + (rest >= self.thresholds[bucket])].astype(np.int64)
        return found

    def table(self, answer: int) -> AliasTable:
        """The alias table of one answer."""
        row = min(max(answer, self.first), self.last) - self.first
        size = 1 << self.bits
        return AliasTable(
            bits=self.bits,
            thresholds=self.thresholds[row * size : (row + 1) * size],
            values=self.values[2 * row * size : 2 * (row + 1) * size],
        )


def stacked_tables(design: AnyDesign) -> StackedTables | None:
    """The tables of all answers, or None if they are too many."""
    base = design.reweighted()
    first, last = _answers(design, base.cells)
    bits = bits_for(base.cells)
    count = last - first + 1
    if count > MOST_ANSWERS or count << bits > MOST_BUCKETS:
        return None
    tables = [alias_table(design.table_at(float(answer)), bits) for answer in range(first, last + 1)]
    return StackedTables(
        first=first,
        last=last,
        bits=bits,
        thresholds=np.concatenate([table.thresholds for table in tables]),
        values=np.concatenate([table.values for table in tables]),
    )


def _answers(design: AnyDesign, cells: int) -> tuple[int, int]:
    """The answers whose laws differ."""
    low, high = design.region.answers
    furthest = float(np.ceil(design.region.settled_from(cells))) + 1
    return int(max(low, -furthest)), int(min(high, furthest))
