"""Guarantees of a finite table of integer weights, from the weights themselves.

The hockey-stick is a finite sum, truncation included: an output that the neighbor cannot produce counts in
full. A finite table that moves with the answer therefore has no pure epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pbdp.accounting.bounds import Bounds
from pbdp.mechanism.weights import TOTAL, WeightTable

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
    """Smallest delta with (epsilon, delta)-DP for a table that moves with the answer."""
    bounds = [_shift_delta(table, s, epsilon) for s in table_shifts(table, sensitivity, table.is_symmetric)]
    return Bounds(lower=max(b.lower for b in bounds), upper=max(b.upper for b in bounds))


def _moved(table: WeightTable, shift: int) -> npt.NDArray[np.int64]:
    """Weights of the neighbor's table at the outputs of the first."""
    moved = np.zeros_like(table.weights)
    if 0 < shift < len(moved):
        moved[shift:] = table.weights[:-shift]
    elif -len(moved) < shift < 0:
        moved[:shift] = table.weights[-shift:]
    return moved


def _shift_delta(table: WeightTable, shift: int, epsilon: float) -> Bounds:
    first = table.weights.astype(np.longdouble) / TOTAL
    second = _moved(table, shift).astype(np.longdouble) / TOTAL * np.exp(np.longdouble(epsilon))
    gain = first - second
    counted = gain > 0
    value = float(np.sum(gain, where=counted))
    error = SUM_ERROR * float(np.sum(first + second, where=counted))
    return Bounds(lower=max(value - error, 0.0), upper=min(value * (1 + 2**-52) + error, 1.0))


def _shift_epsilon(table: WeightTable, shift: int, delta: float) -> Bounds:
    """Root of delta(epsilon): with the losses in falling order it is solved on one stretch in closed form.

    On the stretch where exactly the cells of A have a larger loss, delta = P(A) - e^eps P'(A).
    """
    first = table.weights
    second = _moved(table, shift)
    risky = first > second
    p, q = first[risky].astype(np.longdouble) / TOTAL, second[risky].astype(np.longdouble) / TOTAL
    with np.errstate(divide="ignore"):
        ratio = np.asarray(p / q, dtype=np.float64)
    order = np.argsort(-ratio)
    p_sum, q_sum = np.cumsum(p[order]), np.cumsum(q[order])
    ratio = ratio[order]
    with np.errstate(invalid="ignore"):
        reached = np.where(np.isinf(ratio), p_sum, p_sum - ratio * q_sum)
    beyond = np.flatnonzero(reached > delta)
    stretch = int(beyond[0]) - 1 if beyond.size else len(ratio) - 1
    if stretch < 0 or q_sum[stretch] == 0:
        if beyond.size and math.isinf(ratio[beyond[0]]):
            return Bounds(lower=math.inf, upper=math.inf)
        stretch = max(stretch, 0)
    root = float(np.log((p_sum[stretch] - delta) / q_sum[stretch])) if p_sum[stretch] > delta else 0.0
    return _checked(table, shift, delta, max(root, 0.0))


def _checked(table: WeightTable, shift: int, delta: float, root: float) -> Bounds:
    """The root moved to either side until the sum itself confirms it."""

    def moved(direction: int, confirmed: Callable[[float], bool]) -> float | None:
        margin = 1e-14
        while margin < 1:
            epsilon = root * (1 + direction * margin) + direction * margin * 1e-2
            if epsilon < 0 or confirmed(epsilon):
                return max(epsilon, 0.0)
            margin *= 4
        return None

    upper = moved(+1, lambda epsilon: _shift_delta(table, shift, epsilon).upper <= delta)
    lower = moved(-1, lambda epsilon: _shift_delta(table, shift, epsilon).lower > delta)
    return Bounds(lower=lower or 0.0, upper=math.inf if upper is None else upper)
