"""One release on its own: no grid, no transform, sums over the atoms themselves."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pbdp.accounting.bounds import Bounds
from pbdp.accounting.composition.loss_law import UNIT, LossLaw, loss_margin


def law_delta(law: LossLaw, epsilon: float) -> Bounds:
    """delta of one pair: losses moved by their margin, sums of positive terms rounded to either side."""
    margin = loss_margin(law.losses)
    error = (64 + 2 * len(law.losses)) * UNIT
    upper = float(law.masses @ -np.expm1(np.minimum(epsilon - law.losses - margin, 0.0)))
    lower = float(law.masses @ -np.expm1(np.minimum(epsilon - law.losses + margin, 0.0)))
    return Bounds(
        lower=law.infinite_below + lower * (1 - error),
        upper=min(law.infinite_above + upper * (1 + error), 1.0),
    )


def law_epsilon(law: LossLaw, delta: float) -> Bounds:
    """Smallest epsilon >= 0 of one pair at delta > 0; each end was seen to be on its side."""
    if law.infinite_above >= delta:
        certain = law.infinite_below > delta
        return Bounds(lower=math.inf if certain else 0.0, upper=math.inf)
    root = _root(law, delta)
    upper = _confirmed(root, +1, lambda epsilon: law_delta(law, epsilon).upper <= delta)
    lower = _confirmed(root, -1, lambda epsilon: law_delta(law, epsilon).lower > delta)
    return Bounds(lower=0.0 if lower is None else lower, upper=math.inf if upper is None else upper)


def _root(law: LossLaw, delta: float) -> float:
    """Root of the curve, which is a straight line in x = e^epsilon between neighboring losses.

    With Q_i the second law's mass above loss i: delta_i = infinite + sum over j >= i of (x_(j+1) - x_j)·Q_j.
    """
    if not len(law.losses):
        return 0.0
    x = np.exp(law.losses)
    masses = np.cumsum((law.masses / x)[::-1])[::-1]  # at or above
    steps = np.diff(x)
    deltas = np.zeros(len(x))
    deltas[:-1] = np.cumsum((steps * masses[1:])[::-1])[::-1]
    deltas += law.infinite + law.neglected
    # deltas falls with the index: the first one that meets delta ends the stretch.
    stretch = int(np.searchsorted(-deltas, -delta))
    if stretch == len(x):
        return float(law.losses[-1])
    meeting = x[stretch] - (delta - deltas[stretch]) / masses[stretch]
    return math.log(meeting) if meeting > 1 else 0.0


def _confirmed(root: float, direction: int, holds: Callable[[float], bool]) -> float | None:
    if root == 0:
        return 0.0 if direction < 0 or holds(0.0) else _confirmed(1e-14, direction, holds)
    margin = 1e-14
    while margin < 1e3:
        epsilon = root * (1 + direction * margin) + direction * margin * 1e-2
        if epsilon <= 0 and direction < 0:
            return 0.0
        if holds(epsilon):
            return epsilon
        margin *= 4
    return None
