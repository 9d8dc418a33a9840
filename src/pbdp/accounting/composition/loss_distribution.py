"""A privacy loss distribution on a grid: the form in which losses are composed and exchanged.

Losses are put on it pessimistically, by connecting the dots.

**One pair.** Every atom is split between the two points of the grid around it (`loss_law.split_atoms`). delta
is unchanged at grid points and joined by straight lines in e^epsilon between them: this is the "connect the
dots" law of Doroshenko, Ghazi, Kamath, Kumar and Manurangsi (2022).

**Several pairs.** A maximum of curves that are convex in x = e^epsilon is convex, so it is the curve of one
distribution again: its mass at x_k is x_k times the change of slope there. Slopes are made to rise toward
the left after rounding, which only raises the curve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.accounting.composition.loss_law import (
    LARGEST_LOSS,
    UNIT,
    LossLaw,
    Release,
    law_delta,
    loss_margin,
    split_atoms,
    split_error,
)
from pbdp.errors import CannotCertifyError, InputError
from pbdp.noise.kernel import Array
from pbdp.parameters import non_negative, positive

MOST_CELLS = 1 << 22
# Laws with more atoms are searched with as shorter ones.
MOST_SHORT = 1 << 14
# Mass per release of the lowest losses that several pairs may have raised to one common lowest loss.
_LOWEST_MASS = 1e-14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossDistribution:
    """Losses indices · step with their masses, and a mass at +infinity; pessimistic.

    Its curve lies on or above that of every pair of neighbors it was built for, at every real epsilon.
    Rounding went up, so the masses may add up to a little more than one: by a share of at most `excess`, and
    after losses were raised by at most `raised`. Both say how far below it the truth may lie.
    """

    step: float
    indices: npt.NDArray[np.int64]
    masses: Array
    infinity: float
    excess: float = 0.0
    raised: float = 0.0

    def __post_init__(self) -> None:
        positive("step", self.step)
        if self.indices.shape != self.masses.shape or np.any(np.diff(self.indices) <= 0):
            raise InputError("indices", "rising and one for each mass", "others")
        if np.any(self.masses < 0) or not self.infinity >= 0:
            raise InputError("masses", "not negative", "a negative one")

    def losses(self) -> Array:
        """The finite losses."""
        return np.asarray(self.indices * self.step, dtype=np.float64)

    def delta_at(self, epsilon: float) -> float:
        """The smallest delta of one release at an epsilon of zero or more, rounded up."""
        return law_delta(self.law(), non_negative("epsilon", epsilon)).upper

    def to_dp_accounting(self) -> Any:
        """The same as a `PrivacyLossDistribution` of dp-accounting, which has to be installed."""
        bridge = import_module("pbdp.bridges.dp_accounting")
        return bridge.to_dp_accounting(distribution_release(self), self.step)

    def law(self) -> LossLaw:
        """The same losses as a law that can be put on another grid."""
        losses = self.losses()
        if np.any(np.abs(losses) > LARGEST_LOSS):
            raise InputError("losses", f"at most {LARGEST_LOSS:g} in size", f"{np.max(np.abs(losses)):g}")
        return LossLaw(losses=losses, masses=self.masses, infinite=self.infinity)


def on_grid(
    step: float, first: int, masses: Array, *, infinity: float, excess: float = 0.0, raised: float = 0.0
) -> LossDistribution:
    """A distribution from masses at first, first + 1, ...; empty cells are left out."""
    filled = np.flatnonzero(masses)
    return LossDistribution(
        step=step,
        indices=filled + first,
        masses=masses[filled],
        infinity=infinity,
        excess=excess,
        raised=raised,
    )


def cell_sums(cells: npt.NDArray[np.int64], masses: Array, length: int = 0) -> Array:
    """Total mass of each cell 0, 1, ..., at least `length` of them."""
    return np.asarray(np.bincount(cells, weights=masses, minlength=length), dtype=np.float64)


def split(law: LossLaw, step: float) -> LossDistribution:
    """The dominating distribution of one pair on the grid."""
    positive("step", step)
    if not len(law.losses):
        return on_grid(step, 0, np.zeros(0), infinity=law.infinite_above)
    cells, masses = split_atoms(law, step)
    first, last = int(cells.min()), int(cells.max())
    raised = 3 * float(np.max(loss_margin(law.losses)))
    excess = 2.1 * split_error(law) + max(float(np.sum(masses)) + law.infinite_above - 1, 0.0)
    if last - first < max(MOST_CELLS, 8 * len(cells)):
        summed = cell_sums(cells - first, masses)
        return on_grid(step, first, summed, infinity=law.infinite_above, excess=excess, raised=raised)
    indices, where = np.unique(cells, return_inverse=True)
    return LossDistribution(
        step=step,
        indices=indices,
        masses=cell_sums(where, masses),
        infinity=law.infinite_above,
        excess=excess,
        raised=raised,
    )


def dominating(laws: Sequence[LossLaw], step: float) -> LossDistribution:
    """One distribution that dominates every one of the pairs."""
    if len(laws) == 1:
        return split(laws[0], step)
    lowest = min(_lowest_kept(law) for law in laws)
    raised = [_raised_to(law, lowest) for law in laws]
    parts = [split(law, step) for law in raised]
    first = min(int(part.indices[0]) for part in parts if len(part.indices))
    last = max(int(part.indices[-1]) for part in parts if len(part.indices))
    if last - first > MOST_CELLS:
        raise CannotCertifyError(
            f"Losses from {first * step:g} to {last * step:g} need over {MOST_CELLS:,} cells of {step:g}."
        )
    curves = [grid_curve(part, first, last) for part in parts]
    deltas = np.max(curves, axis=0)
    # Each curve is summed to within 4 units a cell, its exponentials to one unit per unit of loss.
    error = 8 * (last - first + 8 + step * max(abs(first), abs(last))) * UNIT
    return profile_distribution(first, step, deltas * (1 + error))


def outline(laws: Sequence[LossLaw], cells: int) -> LossDistribution:
    """A dominating distribution of about `cells` cells, for a first look at many atoms or several pairs."""
    lowest = min(_lowest_kept(law) for law in laws)
    highest = max((float(law.losses[-1]) for law in laws if len(law.losses)), default=0.0)
    step = max((highest - lowest) / cells, 1e-12)
    return dominating([_raised_to(law, lowest) for law in laws], step)


def shortened(release: Release, neglected: float) -> Release:
    """A release that reveals no less, with fewer losses where it has many; to search with.

    The rarest losses, of a mass of `neglected` at either end, count as infinite. Its lower bounds are of no
    meaning.
    """
    if all(law.atoms <= MOST_SHORT for law in release.covered):
        return release
    laws = []
    for law in release.covered:
        kept = law.without_extremes(neglected).with_equal_merged()
        laws.append(outline([kept], MOST_SHORT // 2).law() if len(kept.losses) > MOST_SHORT else kept)
    return Release(covered=tuple(laws), actual=tuple(laws))


def profile_distribution(first: int, step: float, deltas: npt.ArrayLike) -> LossDistribution:
    """The dominating distribution of upper bounds of delta at epsilon = first·step, (first + 1)·step, ...

    The bounds may come from any exact accountant, for all neighbors at once. Mass below the first point is
    raised to it, and what is left at the last point counts as infinite.
    """
    positive("step", step)
    values = np.minimum(np.asarray(deltas, dtype=np.float64), 1.0)
    if values.ndim != 1 or not len(values) or not np.all(values >= 0):
        raise InputError("deltas", "a vector of probabilities", "others")
    points = np.arange(first, first + len(values))
    if max(abs(first), abs(first + len(values))) * step > LARGEST_LOSS:
        raise InputError("epsilon", f"at most {LARGEST_LOSS:g} in size at the grid's ends", first * step)
    x = np.exp(points * step)
    slopes = np.zeros(len(values) + 1)
    slopes[0] = (1 - values[0]) / x[0]
    slopes[1:-1] = (values[:-1] - values[1:]) / (x[:-1] * math.expm1(step))
    slopes = np.maximum.accumulate(np.maximum(slopes, 0.0)[::-1])[::-1]
    error = 16 * (len(values) + 4) * UNIT * (1 + float(np.max(np.abs(points * step))) / len(values))
    masses = x * (slopes[:-1] - slopes[1:]) * (1 + error)
    infinity = float(values[-1]) * (1 + error)
    excess = 2.1 * error + max(float(np.sum(masses)) + infinity - 1, 0.0)
    return on_grid(step, first, masses, infinity=infinity, excess=excess)


def _lowest_kept(law: LossLaw) -> float:
    if not len(law.losses):
        return 0.0
    kept = int(np.searchsorted(np.cumsum(law.masses), _LOWEST_MASS))
    return float(law.losses[min(kept, len(law.losses) - 1)])


def _raised_to(law: LossLaw, lowest: float) -> LossLaw:
    losses = np.maximum(law.losses, lowest)
    return replace(law, losses=losses)


def grid_curve(part: LossDistribution, first: int, last: int) -> Array:
    """delta at the grid points, as sums of positive terms only.

    With Q_k the second law's mass above x_k: delta_k = infinity + sum over i >= k of (x_(i+1) - x_i)·Q_i.
    """
    masses = np.zeros(last - first + 1)
    masses[part.indices - first] = part.masses
    x = np.exp(np.arange(first, last + 1) * part.step)
    beyond = np.zeros(len(x))
    beyond[:-1] = np.cumsum((masses / x)[:0:-1])[::-1]
    gains = x * math.expm1(part.step) * beyond
    return np.asarray(part.infinity + np.cumsum(gains[::-1])[::-1])


def distribution_release(*distributions: LossDistribution) -> Release:
    """Dominating distributions from elsewhere: an upper bound only, for all of them at once."""
    return Release(covered=tuple(distribution.law() for distribution in distributions))
