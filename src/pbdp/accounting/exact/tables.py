"""Guarantees of a finite table of integer weights, from the weights themselves.

The hockey-stick is a finite sum, truncation included: an output that the neighbor cannot produce counts in
full. A finite table that moves with the answer therefore has no pure epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Array, Index

# By which shares a root is moved until the sum itself confirms it.
MARGINS = tuple(1e-14 * 4.0**tries for tries in range(23))

# Longer rows take a while to add up; the cells of so many neighbors are kept.
LONG = 1 << 18
FEW = 2
# From here on e^eps times the least weight is more than all of them: only outputs without a neighbor count.
LARGEST_EPSILON = 100.0
# Bound for the relative error of e^eps in the extended type, times a sum.
GROWTH_ERROR = 8 * float(np.finfo(np.longdouble).eps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """lower <= truth <= upper. The upper value is a guarantee, the lower one is reached by neighbors."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise AssertionError(f"bounds crossed: {self.lower!r} > {self.upper!r}")


def table_shifts(table: WeightTable, sensitivity: int, even: bool) -> list[int]:
    """Shifts that hold the worst one: the largest for a unimodal table (see `neighbors`), else all."""
    sizes = [sensitivity] if table.is_unimodal else list(range(1, sensitivity + 1))
    return sizes if even else [*sizes, *(-s for s in sizes)]


def table_epsilon(table: WeightTable, sensitivity: int, delta: float) -> Bounds:
    """Smallest epsilon with (epsilon, delta)-DP for a table that moves with the answer."""
    neighbors = _neighbors(table, sensitivity)
    upper = _above(neighbors, delta)
    return Bounds(lower=_below(neighbors, delta, upper), upper=upper)


def table_delta(table: WeightTable, sensitivity: int, epsilon: float) -> Bounds:
    """Smallest delta with (epsilon, delta)-DP for a table that moves with the answer, for epsilon >= 0."""
    bounds = [cells.delta(epsilon) for cells in _neighbors(table, sensitivity)()]
    return Bounds(lower=max(b.lower for b in bounds), upper=max(b.upper for b in bounds))


def _in_runs(first: Index, second: Index) -> tuple[Index, Index]:
    """Two rows of weights with equal pairs side by side taken together, which changes no sum of them.

    The steps of a long staircase are few such runs. The sums are exact, as all weights add up to 2^62.
    """
    if len(first) <= LONG:
        return first, second
    starts = np.flatnonzero((np.diff(first, prepend=-1) != 0) | (np.diff(second, prepend=-1) != 0))
    if 2 * len(starts) > len(first):
        return first, second
    return np.add.reduceat(first, starts), np.add.reduceat(second, starts)


def least_growth(first: Array, second: Array, delta: float) -> float:
    """About the least e^eps >= 1 at which the hockey-stick of two laws is at most delta; infinite if none is.

    By Newton's method on delta as a function of e^eps. It is a sum of falling lines, each cut off at zero:
    convex, so that the steps come from the left and never pass the root, and only cells that still count have
    to be looked at again.
    """
    growth, further = 0.0, 1.0
    while further > growth * (1 + 1e-14) and math.isfinite(further):
        growth = further
        counted = first > growth * second
        first, second = first[counted], second[counted]
        spare, rate = float(first.sum()) - delta, float(second.sum())
        further = spare / rate if rate > 0 else math.inf if spare > 0 else growth
    return max(growth, further)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cells:
    """Weights of the outputs that a table has more often than its neighbor, under both; as floats beside.

    All others add nothing to delta at an epsilon of zero or more.

    **Exact sums.** delta is the largest value over all sets A of outputs of P(A) - e^eps P'(A), reached by
    those with p > e^eps p'. Sums of whole weights are exact, so that of any A is a lower bound. Floats tell
    which outputs are in A: p, p', e^eps and their product are off by 2^-53, 2^-53, 2^-52 and 2^-53, so an
    output is on the wrong side only if |p - e^eps p'| is below 2^-50 of p, and its float then below 2^-49.
    No set gains more than 2^-50 of what these weigh.
    """

    first: Index
    second: Index
    about: Array
    other: Array

    @classmethod
    def of(cls, table: WeightTable, shift: int) -> _Cells:
        """Those of a table and the same one moved by a shift."""
        first, second = table.weights, np.zeros_like(table.weights)
        if 0 < shift < len(second):
            second[shift:] = first[:-shift]
        elif -len(second) < shift < 0:
            second[:shift] = first[-shift:]
        risky = first > second
        first, second = _in_runs(first[risky], second[risky])
        return cls(
            first=first, second=second, about=first.astype(np.float64), other=second.astype(np.float64)
        )

    def sums(self, counted: npt.NDArray[np.bool_]) -> tuple[np.longdouble, np.longdouble]:
        """P(A) and P'(A) of a set of outputs; what is added up is whole."""
        alone, both = (int((row * counted).sum()) for row in (self.first, self.second))
        return np.longdouble(alone) / TOTAL, np.longdouble(both) / TOTAL

    def delta(self, epsilon: float) -> Bounds:
        """delta at an epsilon."""
        epsilon = min(epsilon, LARGEST_EPSILON)
        gain = self.about - math.exp(epsilon) * self.other
        alone, both = self.sums(gain > 0)
        grown = both * np.exp(np.longdouble(epsilon))
        value, error = float(alone - grown), GROWTH_ERROR * float(alone + grown)
        unsure = float(self.about[np.abs(gain) <= 2.0**-49 * self.about].sum()) / TOTAL
        upper = value + 2**-52 * abs(value) + error + 2.0**-50 * unsure
        return Bounds(lower=max(value - 2**-52 * abs(value) - error, 0.0), upper=min(max(upper, 0.0), 1.0))

    def kept_at(self, delta: float) -> float:
        """An epsilon at which the sum itself confirms that delta is kept; infinite if there is none.

        On the stretch where exactly the outputs of A have a larger loss, delta = P(A) - e^eps P'(A), which is
        solved in closed form and moved up until that is confirmed.
        """
        growth = least_growth(self.about, self.other, delta * TOTAL)
        if math.isinf(growth):
            return math.inf
        alone, both = self.sums(self.about > growth * (1 - 1e-14) * self.other)
        solved = alone > delta and both > 0
        root = max(float(np.log((alone - delta) / both)), 0.0) if solved else 0.0
        raised = (root * (1 + margin) + margin * 1e-2 for margin in MARGINS)
        return next((epsilon for epsilon in raised if self.delta(epsilon).upper <= delta), math.inf)


def _neighbors(table: WeightTable, sensitivity: int) -> Callable[[], Iterable[_Cells]]:
    """Those that hold the worst one, as often as they are asked for; many of them are not kept."""
    shifts = table_shifts(table, sensitivity, table.is_symmetric)
    if len(shifts) > FEW:
        return lambda: (_Cells.of(table, shift) for shift in shifts)
    kept = [_Cells.of(table, shift) for shift in shifts]
    return lambda: kept


def _above(neighbors: Callable[[], Iterable[_Cells]], delta: float) -> float:
    """An epsilon at which the sums of all neighbors confirm that delta is kept; infinite if none does."""
    found: float | None = None
    for cells in neighbors():
        # one look tells that a neighbor is not the worst one
        if found is None or cells.delta(found).upper > delta:
            found = max(found or 0.0, cells.kept_at(delta))
    return found or 0.0


def _below(neighbors: Callable[[], Iterable[_Cells]], delta: float, upper: float) -> float:
    """The upper bound moved down until the sum of a neighbor confirms that delta is passed.

    It is infinite where outputs that only one of two neighbors can produce pass delta, and 0 where nothing
    is confirmed.
    """
    if math.isinf(upper):
        passed = any(cells.delta(LARGEST_EPSILON).lower > delta for cells in neighbors())
        return math.inf if passed else 0.0
    for margin in MARGINS:
        epsilon = upper * (1 - 4 * margin) - margin * 1e-2
        if epsilon < 0:
            break
        if any(cells.delta(epsilon).lower > delta for cells in neighbors()):
            return epsilon
    return 0.0
