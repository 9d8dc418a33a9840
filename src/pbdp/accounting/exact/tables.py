"""Guarantees of a finite table of integer weights, from the weights themselves.

The hockey-stick is a finite sum, truncation included: an output that the neighbor cannot produce counts in
full. A finite table that moves with the answer therefore has no pure epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pbdp.accounting import Bounds
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Array, Index

Long = npt.NDArray[np.longdouble]

# Longer rows take seconds to sort and add up.
LONG = 1 << 18

# Bound for the relative rounding error of one sum of up to 2^26 terms in the extended type.
SUM_ERROR = float(np.finfo(np.longdouble).eps) * (1 << 12)


def table_shifts(table: WeightTable, sensitivity: int, even: bool) -> list[int]:
    """Shifts that hold the worst one: the largest for a unimodal table (see `neighbors`), else all."""
    sizes = [sensitivity] if table.is_unimodal else list(range(1, sensitivity + 1))
    return sizes if even else [*sizes, *(-s for s in sizes)]


def table_epsilon(table: WeightTable, sensitivity: int, delta: float) -> Bounds:
    """Smallest epsilon with (epsilon, delta)-DP for a table that moves with the answer."""
    bounds = [_shift_epsilon(table, s, delta) for s in table_shifts(table, sensitivity, table.is_symmetric)]
    return Bounds(lower=max(b.lower for b in bounds), upper=max(b.upper for b in bounds))


def table_delta(table: WeightTable, sensitivity: int, epsilon: float) -> Bounds:
    """Smallest delta with (epsilon, delta)-DP for a table that moves with the answer, for epsilon >= 0."""
    shifts = table_shifts(table, sensitivity, table.is_symmetric)
    bounds = [_delta(*_risky(table, shift), epsilon) for shift in shifts]
    return Bounds(lower=max(b.lower for b in bounds), upper=max(b.upper for b in bounds))


def _risky(table: WeightTable, shift: int) -> tuple[Long, Long]:
    """Probabilities of the outputs that the first table has more often than its neighbor, under both.

    All others add nothing to delta at an epsilon of zero or more.
    """
    first, second = table.weights, np.zeros_like(table.weights)
    if 0 < shift < len(second):
        second[shift:] = first[:-shift]
    elif -len(second) < shift < 0:
        second[:shift] = first[-shift:]
    risky = first > second
    first, second = _in_runs(first[risky], second[risky])
    return first.astype(np.longdouble) / TOTAL, second.astype(np.longdouble) / TOTAL


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


def _delta(first: Long, second: Long, epsilon: float) -> Bounds:
    grown = second * np.exp(np.longdouble(epsilon))
    gain = first - grown
    counted = gain > 0
    value = float(np.sum(gain[counted]))
    error = SUM_ERROR * float(np.sum(first[counted]) + np.sum(grown[counted]))
    return Bounds(lower=max(value - error, 0.0), upper=min(value * (1 + 2**-52) + error, 1.0))


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


def _shift_epsilon(table: WeightTable, shift: int, delta: float) -> Bounds:
    """Root of delta(epsilon): on the stretch where exactly the cells of A have a larger loss,
    delta = P(A) - e^eps P'(A), which is solved in closed form and then checked.
    """
    p, q = _risky(table, shift)
    growth = least_growth(p.astype(np.float64), q.astype(np.float64), delta)
    if math.isinf(growth):
        return Bounds(lower=math.inf, upper=math.inf)
    counted = p > growth * (1 - 1e-14) * q
    alone, both = np.sum(p[counted]), np.sum(q[counted])
    if alone <= delta or both == 0:
        return _checked(p, q, delta, 0.0, 0.0)
    root = max(float(np.log((alone - delta) / both)), 0.0)
    # what the errors of both sums come to, as a change of epsilon; half of that is not confirmed
    lost = SUM_ERROR * (float(alone / both) / growth + 1)
    return _checked(p, q, delta, root, lost / 2 / (root + 1e-2) if root > 0 else 0.0)


def _checked(first: Long, second: Long, delta: float, root: float, least: float) -> Bounds:
    """The root moved to either side, by more than the least share, until the sum itself confirms it."""

    def moved(direction: int, confirmed: Callable[[float], bool]) -> float | None:
        margin = 1e-14
        while margin < min(least, 1e-4):
            margin *= 4
        while margin < 1:
            epsilon = root * (1 + direction * margin) + direction * margin * 1e-2
            if epsilon < 0 or confirmed(epsilon):
                return max(epsilon, 0.0)
            margin *= 4
        return None

    upper = moved(+1, lambda epsilon: _delta(first, second, epsilon).upper <= delta)
    lower = moved(-1, lambda epsilon: _delta(first, second, epsilon).lower > delta)
    return Bounds(lower=lower or 0.0, upper=math.inf if upper is None else upper)
