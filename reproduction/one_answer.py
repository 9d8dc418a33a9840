"""The boosted law of one answer, as the paper draws it: what pbdp draws from is its table."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.design import Boosted, region_masses
from pbdp.noise.kernel import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedLaw:
    """The law of the output for one true answer; outputs are absolute, not relative to the answer."""

    mechanism: Boosted
    answer: float
    below: float
    above: float

    @classmethod
    def at(cls, mechanism: Boosted, answer: float) -> BoostedLaw:
        """The law when this is the true answer, clamped into those that may occur."""
        low, high = mechanism.region.answers
        answer = min(max(answer, low), high)
        below, above = mechanism.region.offsets(answer)
        return cls(mechanism=mechanism, answer=answer, below=float(below), above=float(above))

    @property
    def _constant(self) -> float:
        return float(self.mechanism.normalizer(self.below, self.above))

    def log_density(self, y: npt.ArrayLike) -> Array:
        """Log density (continuous) or log mass (lattice) at outputs y."""
        noise = np.asarray(y, dtype=np.float64) - self.answer
        inside = (noise >= -self.below) & (noise <= self.above)
        outside_weight = -self.mechanism.boost_loss
        weight = np.where(inside, 0.0, outside_weight)
        return self.mechanism.kernel.log_density(noise) + weight - math.log(self._constant)

    def density(self, y: npt.ArrayLike) -> Array:
        """Density or mass at outputs y."""
        return np.exp(self.log_density(y))


def confidence_at(mechanism: Boosted, answer: npt.ArrayLike) -> Array:
    """Probability that the output meets the requirement when this is the true answer."""
    inside, outside = region_masses(mechanism.kernel, *mechanism.region.offsets(answer))
    return inside / (inside + (1 - mechanism.boost) * outside)
