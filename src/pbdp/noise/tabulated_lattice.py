"""A symmetric lattice law whose tails are sums of its masses, added from the far end inward."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.noise.kernel import Array
from pbdp.noise.symmetric_lattice import SymmetricLattice

# Masses below exp(-705) are left out: all of them together weigh less than 1e-300 (see `TailTable`).
LOG_FLOOR = -705.0
LONGEST_TABLE = 2**23

# Up to this length plain doubles keep 5e-13 whatever happens; beyond it, extended precision if there is any.
_SHORT = 4096

# Tails down to exp(-60) come from a table of the masses down to exp(-150). The log-mass falls by more than
# 130 over it, so what is left out is at most exp(-150) 2**23/130: less than 1e-34 of such a tail.
_SHORT_FLOOR, _SHORT_TAIL = -150.0, -60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TailTable:
    """The sums S(i) = p(M) + p(M-1) + ... + p(M+1-i), i = 0..M+1, of a law that falls away from zero.

    P(noise >= n) = S(M+1-n). All terms are positive and the smallest come first, so a sum of N terms is off
    by at most N roundings. A run of masses is S(i) - S(j), off by at most P(noise >= n)/p(n) roundings, about
    the scale in steps of a log-concave law. Both are below 1e-12 for the longest table where `longdouble` has
    64 bits or more, and up to 4096 entries where it is a double.

    What lies beyond M weighs less than 1e-300 for a log-concave law: its log-mass falls by more than 680 over
    0..M, hence by more than 680/M per step from there on, and the rest is at most exp(-705) M/680.
    """

    sums: npt.NDArray[np.floating[Any]]

    @classmethod
    def of(cls, log_masses: Array, floor: float, *, extended: bool) -> TailTable:
        """The table of a law with these log-masses at 0, 1, 2, ..., cut where they are below `floor`."""
        kept = log_masses[: np.count_nonzero(log_masses >= floor)]
        exact: type[np.floating[Any]] = np.longdouble if extended else np.float64
        sums: npt.NDArray[np.floating[Any]] = np.zeros(kept.size + 1, dtype=exact)
        # A mass needs no more digits than its logarithm has; only the adding does.
        np.cumsum(np.exp(kept[::-1]), out=sums[1:], dtype=exact)
        sums.flags.writeable = False
        return cls(sums=sums)

    def tail(self, n: Array) -> npt.NDArray[np.floating[Any]]:
        """P(noise >= n) for whole n >= 0, zero beyond the table."""
        end = self.sums.size - 1
        return self.sums[end - np.minimum(n, end).astype(np.intp)]

    def knows(self, n: Array, least: float) -> bool:
        """Whether all P(noise >= n) are at least so large, or none as n lies beyond every table."""
        told = (n < self.sums.size) & (self.tail(n) >= least)
        return bool(np.all(told | (n >= LONGEST_TABLE)))

    def first_at_most(self, u: Array) -> Array:
        """Smallest n with P(noise >= n) <= u."""
        return self.sums.size - np.searchsorted(self.sums, u, side="right").astype(np.float64)


def first_end(is_far: Callable[[Array], npt.NDArray[np.bool_]]) -> int:
    """A whole n, at most LONGEST_TABLE, that `is_far`, as all beyond it; at most a sixteenth too large.

    Two looks at a few points each: first at powers of two, then within the octave.
    """
    octaves = np.exp2(np.arange(LONGEST_TABLE.bit_length(), dtype=np.float64))
    far = octaves[np.append(is_far(octaves[:-1]), True).argmax()]
    parts = np.ceil(np.linspace(far / 2, far, 17))
    return int(parts[np.append(is_far(parts[:-1]), True).argmax()])


class TabulatedLattice(SymmetricLattice):
    """A symmetric lattice law known by weights that need a normalizer and have no closed-form tail.

    Normalizer and tables are computed when first asked for and kept with the object, outside its fields;
    masses alone never need a table, and the long one is for very small tails only.
    """

    __slots__ = ("_known_log_total", "_known_short_table", "_known_table")

    _known_log_total: float
    _known_short_table: TailTable
    _known_table: TailTable

    @abstractmethod
    def _log_weight(self, n: Array) -> Array:
        """Log of the mass at whole n >= 0 up to a constant: falling, below LOG_FLOOR before LONGEST_TABLE."""

    @abstractmethod
    def _sum_of_weights(self) -> float:
        """Log of the sum of the weights over all whole numbers."""

    @property
    def _log_total(self) -> float:
        try:
            return self._known_log_total
        except AttributeError:
            object.__setattr__(self, "_known_log_total", self._sum_of_weights())
            return self._known_log_total

    @property
    def _table(self) -> TailTable:
        try:
            return self._known_table
        except AttributeError:
            object.__setattr__(self, "_known_table", self._build_table(LOG_FLOOR))
            return self._known_table

    @property
    def _short_table(self) -> TailTable:
        try:
            return self._known_short_table
        except AttributeError:
            object.__setattr__(self, "_known_short_table", self._build_table(_SHORT_FLOOR))
            return self._known_short_table

    def _table_for(self, n: Array) -> TailTable:
        """A table that tells P(noise >= n) to the last place."""
        short = self._short_table
        return short if short.knows(n, math.exp(_SHORT_TAIL)) else self._table

    def _build_table(self, floor: float) -> TailTable:
        """The table of the masses whose log is at least `floor`."""
        end = first_end(lambda n: self._log_mass(n) < floor)
        # as the longest table needs it, so that all of them agree
        extended = bool(self._log_mass(np.asarray(float(_SHORT))) >= LOG_FLOOR)
        return TailTable.of(self._log_mass(np.arange(end, dtype=np.float64)), floor, extended=extended)

    def reach(self, tail: float) -> int:
        """Smallest n >= 0 with 2 P(noise >= n + 1) <= tail."""
        if not tail / 2 > math.exp(_SHORT_TAIL):
            return SymmetricLattice.reach(self, tail)
        return max(int(self._short_table.first_at_most(np.asarray(tail / 2))) - 1, 0)

    def _log_mass(self, n: Array) -> Array:
        return self._log_weight(n) - self._log_total

    def _tail(self, n: Array) -> Array:
        return np.asarray(self._table_for(n).tail(n), dtype=np.float64)

    def _run(self, first: Array, last: Array) -> Array:
        table = self._table_for(first)
        return np.asarray(table.tail(first) - table.tail(last + 1), dtype=np.float64)

    def _tail_guess(self, u: Array) -> Array:
        return self._table.first_at_most(u)
