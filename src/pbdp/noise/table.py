"""Noise given by a table of probabilities."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pbdp.errors import InputError
from pbdp.noise.family import Family
from pbdp.noise.kernel import Array, ArrayLike, LatticeKernel
from pbdp.noise.symmetric_lattice import FARTHEST, without_nan
from pbdp.parameters import whole

# Longer rows are added up in extended precision: the sum is off by a few units in the last place at most.
EXACTLY_ADDED = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Sums of a row of N probabilities, in every form a question about them needs.

    lower[i] is the sum of the first i and upper[i] that of all but the first i, each added from its own end.
    pairs[0] is the row and pairs[k+1] the sums of neighbors in pairs[k], so that any run is a sum of at most
    two terms of each.
    """

    lower: Array
    upper: Array
    pairs: tuple[Array, ...]

    @classmethod
    def of(cls, row: Array) -> _Sums:
        lower = np.concatenate(([0.0], np.cumsum(row, dtype=np.longdouble).astype(np.float64)))
        upper = np.concatenate((np.cumsum(row[::-1], dtype=np.longdouble).astype(np.float64)[::-1], [0.0]))
        pairs = [row]
        while pairs[-1].size > 1:
            last = pairs[-1]
            last = np.append(last, 0.0) if last.size % 2 else last
            pairs.append(last[0::2] + last[1::2])
        # The row adds up to one but for rounding; a cdf ends at one.
        lower[-1] = upper[0] = 1.0
        return cls(lower=np.minimum(lower, 1.0), upper=np.minimum(upper, 1.0), pairs=tuple(pairs))

    def run(self, first: Array, stop: Array) -> Array:
        """Sum of the entries first, ..., stop-1 of the row, two terms of each level at most."""
        i, j = first.astype(np.intp), np.maximum(first, stop).astype(np.intp)
        total = np.zeros(i.shape)
        for row in self.pairs:
            odd = (i < j) & (i % 2 == 1)
            total = total + np.where(odd, row[np.minimum(i, row.size - 1)], 0.0)
            i = i + odd
            odd = (i < j) & (j % 2 == 1)
            total = total + np.where(odd, row[np.clip(j - 1, 0, row.size - 1)], 0.0)
            i, j = i // 2, (j - odd) // 2
        return total


class _KeepsSums(LatticeKernel):
    """A place for the sums of a table, outside its fields."""

    __slots__ = ("_known_sums",)

    _known_sums: _Sums


@dataclass(frozen=True, slots=True)
class TableKernel(_KeepsSums):
    """Noise on the whole numbers start, start+1, ... with the given probabilities.

    They must add up to 1 within 1e-9, and are divided by their sum unless it is 1 but for rounding; zeros at
    either end are dropped. They need not be symmetric, nor fall away from zero. The support is finite, so
    there is no pure epsilon. Every figure is a sum of entries: nothing cancels, however uneven the table.
    """

    probabilities: Sequence[float] | Array
    start: int

    def __post_init__(self) -> None:
        row, start = self._checked(np.asarray(self.probabilities, dtype=np.float64), self.start)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "probabilities", tuple(row.tolist()))

    @classmethod
    def of_row(cls, row: Array, start: int) -> TableKernel:
        """The same, kept as the row that it is: a long one takes much less memory, but is not compared."""
        made = cls(probabilities=(1.0,), start=0)
        kept, first = made._checked(row, start)
        object.__setattr__(made, "start", first)
        object.__setattr__(made, "probabilities", kept)
        return made

    @staticmethod
    def _checked(row: Array, start: int) -> tuple[Array, int]:
        """The row without zeros at its ends, adding up to one, and where it starts."""
        if row.ndim != 1 or not (np.isfinite(row) & (row >= 0)).all():
            raise InputError("probabilities", "a row of finite numbers, 0 or more", "something else")
        total = math.fsum(row) if row.size <= EXACTLY_ADDED else float(np.sum(row, dtype=np.longdouble))
        if not abs(total - 1) <= 1e-9:
            raise InputError("probabilities", "a row that adds up to 1 within 1e-9", f"a sum of {total:.12g}")
        some = np.flatnonzero(row)
        row = row[some[0] : some[-1] + 1]
        # A table that was divided once stays as it is, so that a copy is equal to its original.
        row = row / total if abs(total - 1) > 1e-15 else row
        first = whole("start", start, least=-int(FARTHEST)) + int(some[0])
        if first + row.size > FARTHEST:
            raise InputError("start", "such that the table ends below 2**52", first)
        return row, first

    @property
    def _sums(self) -> _Sums:
        try:
            return self._known_sums
        except AttributeError:
            object.__setattr__(self, "_known_sums", _Sums.of(np.array(self.probabilities, dtype=np.float64)))
            return self._known_sums

    @property
    def _row(self) -> Array:
        # the sums of a long row take a while, and are not always asked for
        kept = self.probabilities
        return kept if isinstance(kept, np.ndarray) else self._sums.pairs[0]

    @property
    def family(self) -> str:
        """`table`."""
        return "table"

    @property
    def support(self) -> tuple[float, float]:
        """From the first to the last entry that is not zero."""
        return (float(self.start), float(self.start + len(self.probabilities) - 1))

    @property
    def is_symmetric(self) -> bool:
        """Whether the table, centered at zero, reads the same from both ends."""
        low, high = self.support
        return low == -high and bool((self._row == self._row[::-1]).all())

    @property
    def is_unimodal(self) -> bool:
        """Whether zero is within the table and no entry is larger than its neighbor toward zero."""
        low, high = self.support
        if not low <= 0 <= high:
            return False
        rises = np.diff(self._row)
        return bool((rises[: -self.start] >= 0).all() and (rises[-self.start :] <= 0).all())

    def _index(self, n: Array) -> Array:
        """How many entries lie below the whole number n."""
        return np.clip(n - self.start, 0.0, float(len(self.probabilities)))

    def log_density(self, x: ArrayLike) -> Array:
        """Log of the entry at x, -inf where there is none."""
        x = without_nan(x)
        low, high = self.support
        inside = (x >= low) & (x <= high) & (x == np.floor(x))
        entry = np.where(inside, self._row[np.where(inside, x - low, 0.0).astype(np.intp)], 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(entry))

    def cdf(self, x: ArrayLike) -> Array:
        """Sum of the entries up to x, added from the left."""
        return self._sums.lower[self._index(np.floor(without_nan(x)) + 1).astype(np.intp)]

    def survival(self, x: ArrayLike) -> Array:
        """Sum of the entries beyond x, added from the right."""
        return self._sums.upper[self._index(np.floor(without_nan(x)) + 1).astype(np.intp)]

    def mass(self, low: ArrayLike, high: ArrayLike) -> Array:
        """Sum of the entries from low to high, added directly."""
        first, last = np.broadcast_arrays(np.ceil(without_nan(low)), np.floor(without_nan(high)))
        return self._sums.run(self._index(first), self._index(last + 1))

    def masses(self, reach: int) -> Array:
        """Masses at -reach..reach: the table itself, cut or filled with zeros."""
        filled = np.zeros(2 * reach + 1)
        first, stop = max(self.start, -reach), min(self.start + len(self.probabilities), reach + 1)
        if first < stop:
            filled[first + reach : stop + reach] = self._row[first - self.start : stop - self.start]
        return filled

    def largest_loss(self, shift: float) -> float:
        """Infinite for any shift but zero: the shifted table leaves the support."""
        return 0.0 if shift == 0 else math.inf


class MadeOfTable(LatticeKernel):
    """A law that a few parameters tell, whose figures are those of the table that they make."""

    __slots__ = ()

    @property
    @abstractmethod
    def _table(self) -> TableKernel:
        """The table; kept, as it is asked for again and again."""

    @property
    def support(self) -> tuple[float, float]:
        return self._table.support

    def reach(self, tail: float) -> int:  # noqa: ARG002 - the same for every tail
        """All that there is, which misses nothing."""
        return int(max(map(abs, self.support)))

    def masses(self, reach: int) -> Array:
        return self._table.masses(reach)

    def log_density(self, x: ArrayLike) -> Array:
        return self._table.log_density(x)

    def cdf(self, x: ArrayLike) -> Array:
        return self._table.cdf(x)

    def survival(self, x: ArrayLike) -> Array:
        return self._table.survival(x)

    def mass(self, low: ArrayLike, high: ArrayLike) -> Array:
        return self._table.mass(low, high)

    def largest_loss(self, shift: float) -> float:
        return self._table.largest_loss(shift)


TABLE = Family(
    name="table",
    rank=12,
    law=TableKernel,
    character="is a list of probabilities",
)
