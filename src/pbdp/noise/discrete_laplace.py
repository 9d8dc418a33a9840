"""Laplace noise on the whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.noise.family import Family
from pbdp.noise.kernel import Array
from pbdp.noise.symmetric_lattice import SymmetricLattice, scale_in_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace(SymmetricLattice):
    """Noise on the whole numbers with P(noise = n) = (1-r)/(1+r) r^|n|, r = exp(-1/scale).

    The geometric mechanism of Ghosh, Roughgarden and Sundararajan (2009). Its loss never exceeds shift/scale,
    and equals it outside [0, shift]. Every figure is a closed form, within 1e-12 relatively down to 1e-250.
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", scale_in_steps("scale", self.scale))

    @property
    def family(self) -> str:
        """`laplace`."""
        return "laplace"

    @property
    def is_log_concave(self) -> bool:
        """Always: the log-mass is linear on each side of zero."""
        return True

    @property
    def _ratio(self) -> float:
        return math.exp(-1 / self.scale)

    def _pure_loss(self, shift: int) -> float:
        return shift / self.scale

    def _log_mass(self, n: Array) -> Array:
        # (1-r)/(1+r) is a hyperbolic tangent, which keeps its digits for a large scale.
        return np.asarray(math.log(math.tanh(0.5 / self.scale)) - n / self.scale)

    def _tail(self, n: Array) -> Array:
        """r^n/(1+r)."""
        return np.asarray(np.exp(-n / self.scale) / (1 + self._ratio))

    def _run(self, first: Array, last: Array) -> Array:
        """r^first (1 - r^(last-first+1)) / (1+r)."""
        count = np.maximum(last - first + 1, 0.0)
        return np.asarray(-np.exp(-first / self.scale) * np.expm1(-count / self.scale) / (1 + self._ratio))

    def _tail_guess(self, u: Array) -> Array:
        return np.asarray(np.ceil(-self.scale * np.log(u * (1 + self._ratio))))


LAPLACE = Family(
    name="laplace",
    rank=1,
    law=DiscreteLaplace,
    character="loses the same amount at almost every output, which suits one release",
)
