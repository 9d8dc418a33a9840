"""Noise on the cells alone: every number of a coarser table is a sum of published cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from pbdp.mechanism.design import Design
from pbdp.noise.kernel import Array, Index
from pbdp.release.combination import SumLaw, Term, law_of_sum
from pbdp.tables.estimates import near_width
from pbdp.tables.margins import Margins
from pbdp.tables.strategies.strategy import Change, Designs, Moves, Record, Strategy, spread

# Groups of so many different sizes have widths of their own; of more, those of the next larger size.
MOST_SIZES = 64
# So near a whole width (relative), how often a sum is within it says more than its own whole width.
BESIDE = 0.1
# Widths from which on it does not matter that numbers are whole, for an estimate.
MANY_STEPS = 256.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells(Strategy):
    """One part: the cells. Sums over cells have the widths of sums of independent noises."""

    kind: ClassVar[str] = "cells"

    label: str
    margins: Margins
    change: Change

    @property
    def parts(self) -> Mapping[str, Moves]:
        return {self.label: self.change.of_rows(self.change.cells, len(self.margins.cells))}

    def answers(self, cells: Index) -> dict[str, Index]:
        return {self.label: cells}

    def tables(self, rows: Mapping[str, Index]) -> list[Array | Index]:
        return [table.sums(rows[self.label]) for table in self.margins.tables]

    def widths(self, designs: Designs, table: int, confidence: float) -> Array:
        sizes = self.margins.tables[table].sizes
        kept = few(sizes)
        design, lost = designs[self.label], float(self.change.lost)
        found = {
            size: width_of_sum(design, size, confidence) + lost * size for size in np.unique(kept).tolist()
        }
        return spread(kept, found)

    def room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        # the largest sum is the widest one: noise is even and never more likely further out (Anderson 1955)
        largest = self.margins.tables[table].largest
        left = width - float(self.change.lost * largest)
        return room_of_sum(designs[self.label], largest, confidence, left)

    def near_room(self, designs: Designs, table: int, confidence: float, width: float) -> float:
        largest = self.margins.tables[table].largest
        left = width - float(self.change.lost * largest)
        return near_room_of_sum(designs[self.label], largest, confidence, left)

    def record(self) -> Record:
        return {"kind": self.kind}

    def follows(self, table: int) -> str:
        del table
        return self.label

    def rows(self, table: int) -> int:
        return self.margins.tables[table].largest


def few(sizes: Index) -> Index:
    """The sizes, each made the next larger of a few: sums of more numbers are never nearer."""
    kept = np.unique(sizes)
    if len(kept) <= MOST_SIZES:
        return sizes
    chosen = np.unique(np.geomspace(kept[0], kept[-1], MOST_SIZES).astype(np.int64) + 1)
    chosen[-1] = kept[-1]
    return np.asarray(chosen[np.searchsorted(chosen, sizes)])


@lru_cache(maxsize=1024)
def width_of_sum(design: Design, count: int, confidence: float) -> float:
    """How far a sum of so many numbers is off, in steps."""
    return float(math.ceil(_law(design, count).half_width(confidence)))


def room_of_sum(design: Design, count: int, confidence: float, width: float) -> float:
    """About how many times as wide the noise may be for a sum of so many numbers to be within so many steps.

    It is 1 or more if the sum is. Widths are whole: near them it goes by how often the sum is within.
    """
    have = width_of_sum(design, count, confidence)
    room = width / max(have, 0.5)
    if not 1 - BESIDE <= room <= 1 + BESIDE:
        return room
    inside = _law(design, count).within(math.floor(width))
    normal = NormalDist()
    often, asked = (normal.inv_cdf((1 + min(one, 1 - 1e-12)) / 2) for one in (inside, confidence))
    return max(often / asked, 1.0) if have <= width else min(often / asked, 1 - 1e-9)


def near_room_of_sum(design: Design, count: int, confidence: float, width: float) -> float:
    """About the same; by an estimate where whole numbers are of no account."""
    if width < MANY_STEPS:
        return room_of_sum(design, count, confidence, width)
    return width / near_width(((design, Fraction(1), count),), confidence)


@lru_cache(maxsize=64)
def _law(design: Design, count: int) -> SumLaw:
    return law_of_sum([Term(table=design.table_at(0.0), count=count)])
