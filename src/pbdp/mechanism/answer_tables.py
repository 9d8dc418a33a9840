"""A law of its own for every answer of a short range: a table of whole weights for each, all listed.

Rows are answers `first`, `first` + 1, ..., columns outputs `start`, `start` + 1, ...; each row adds up to
2^62. A draw looks up the row of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.mechanism.region import Region
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Array, Index

# 2^62 such units are 2^53, up to which doubles hold all whole numbers.
UNIT = 1 << 9


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTables:
    """The weights of every output for every answer, in grid points."""

    first: int
    start: int
    rows: tuple[tuple[int, ...], ...]
    weights: Index = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = [number for row in self.rows for number in row]
        lengths = set(map(len, self.rows))
        if set(map(type, [self.first, self.start, *numbers])) != {int} or len(lengths) != 1:
            raise InputError("laws", "a table of whole weights, a row for each answer", "something else")
        if min(numbers) < 0 or any(sum(row) != TOTAL for row in self.rows):
            raise InputError("laws", "rows of weights that add up to 2^62", "others")
        object.__setattr__(self, "weights", np.array(self.rows, dtype=np.int64))

    @classmethod
    def of(cls, masses: Array, first: int, start: int) -> AnswerTables:
        """The tables of laws with these masses: rounded down; what is left goes to the likeliest output.

        Weights are multiples that doubles hold, as readers of files may take them for such.
        """
        units = np.floor(masses / masses.sum(axis=1, keepdims=True) * (1 - 2.0**-50) * (TOTAL / UNIT))
        rows = units.astype(np.int64) * UNIT
        rows[np.arange(len(rows)), rows.argmax(axis=1)] += TOTAL - rows.sum(axis=1)
        return cls(first=first, start=start, rows=tuple(map(tuple, rows.tolist())))

    @property
    def last(self) -> int:
        """The last answer."""
        return self.first + len(self.rows) - 1

    @property
    def least_noise(self) -> int:
        """The lowest output less the highest answer."""
        return self.start - self.last

    @property
    def cells(self) -> int:
        """How many values output less answer may have."""
        return len(self.rows) + len(self.rows[0]) - 1

    def table(self, answer: int) -> WeightTable:
        """The weights of output less answer."""
        return WeightTable(start=self.start - answer, weights=self.weights[answer - self.first])

    def weight_up_to(self, below: npt.ArrayLike, above: npt.ArrayLike, noise: npt.ArrayLike) -> Index:
        """Weight of what is at most so far above the answer that lies `below` above the first one."""
        del above
        row, moved = np.asarray(below, dtype=np.int64), np.asarray(noise, dtype=np.int64)
        sums = np.cumsum(np.pad(self.weights, ((0, 0), (1, 0))), axis=1)
        column = np.clip(moved + row + self.first + 1 - self.start, 0, sums.shape[1] - 1)
        return np.asarray(sums[row, column])

    def least_weight(self, region: Region) -> int:
        """The least weight, over all answers, of the outputs in the region of that answer."""
        answers = np.arange(self.first, self.last + 1)
        below, above = (np.asarray(side)[:, None] for side in region.offsets(answers.astype(np.float64)))
        noise = self.start + np.arange(self.weights.shape[1])[None, :] - answers[:, None]
        return int(np.where((noise >= -below) & (noise <= above), self.weights, 0).sum(axis=1).min())
