"""A privacy loss distribution on a grid: the form in which losses are composed and exchanged."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.accounting.composition.loss_law import LARGEST_LOSS, LossLaw
from pbdp.domains import positive
from pbdp.errors import InputError
from pbdp.noise.kernel import Array


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
        """delta of this distribution on its own, rounded up."""
        gains = -np.expm1(np.minimum(epsilon - self.losses(), 0.0))
        return min((self.infinity + math.fsum(gains * self.masses)) * (1 + 1e-14) + 1e-15, 1.0)

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
