"""T releases: Theorem 2, Proposition 3 and Algorithm 1.

After T releases the loss is that of T kernels, plus T·L1, plus (e1 - e2)·L2 where e1 and e2 count the steps
up and down: 2T+1 offsets, whose probabilities are those of a trinomial summed over e1 - e2.

Algorithm 1 is mended: as printed its index e1 - e2 - 1 + T starts at -1, its last loop runs to one entry too
many, and it evaluates the profile at epsilon minus a *probability* and forgets to weigh the result. What is
meant is sum over k of V[k + T] · delta_Z^T(epsilon - T·L1 - k·L2), and that is what is computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from pbdp.domains import above_one, probability, whole
from pbdp.errors import InputError
from pbdp.noise.kernel import Array
from pbdp.published.kernel_profile import KernelProfile
from pbdp.published.label import LABEL
from pbdp.published.losses import Weights
from pbdp.published.root import epsilon_reaching
from pbdp.published.theorem1 import BoostedLoss


def step_probabilities(weights: Weights, releases: int) -> Array:
    """P(e1 - e2 = k) for k = -T..T: the vector V of Algorithm 1, with its index mended.

    The coefficients of (W2 + W3 x + W1 x²)^T, by repeated squaring. All terms are non-negative, so nothing
    cancels and no binomial is ever large; the work is of order T², as Remark 1 says, in a few array passes.
    """
    T = whole("releases", releases)
    if not weights.is_law:
        raise InputError("weights", "three probabilities", f"W3 = {weights.neither:g}")
    power, square = np.ones(1), np.array([weights.minus, weights.neither, weights.plus])
    while True:
        if T & 1:
            power = np.convolve(power, square)
        T >>= 1
        if not T:
            return power
        square = np.convolve(square, square)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedLoss:
    """The published loss of `releases` equal releases, for one pair of answers."""

    single: BoostedLoss
    releases: int
    label: str = field(default=LABEL, init=False)
    _kernel: KernelProfile = field(init=False, repr=False, compare=False)
    _weight: Array = field(init=False, repr=False, compare=False)
    _offset: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        T, losses = whole("releases", self.releases), self.single.losses
        moves = self.single.weights.plus > 0 or self.single.weights.minus > 0
        if moves and math.isinf(losses.step):
            raise InputError("boost", "below 1", 1, "Infinite losses of both signs have no sum.")
        weight = step_probabilities(self.single.weights, T)
        steps = np.arange(-T, T + 1) * (losses.step if moves else 0.0)
        occurs = weight > 0
        object.__setattr__(self, "_kernel", self.single.profile.composed(T))
        object.__setattr__(self, "_weight", weight[occurs])
        object.__setattr__(self, "_offset", T * losses.shift + steps[occurs])

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Theorem 2 as (weight, offset): the sum of weight · f_Z^T(z - offset).

        Literal but for the argument, which is printed as epsilon and must be gamma.
        """
        return tuple(zip(self._weight.tolist(), self._offset.tolist(), strict=True))

    def delta_at(self, epsilon: float) -> float:
        """Sum of weight · delta_Z^T(epsilon - offset) (Proposition 3 literal, Algorithm 1 mended)."""
        return float(self._weight @ self._kernel.deltas_at(epsilon - self._offset))

    def epsilon_at(self, delta: float) -> float:
        """The epsilon >= 0 at which Proposition 3 gives this delta."""
        probability("delta", delta)
        ceiling = float(self._offset.max()) + self._kernel.ceiling(delta)
        return epsilon_reaching(self.delta_at, delta, max(0.0, ceiling))

    def renyi_at(self, order: float) -> float:
        """T times the Rényi epsilon of one release (Remark 2, literal)."""
        return self.releases * self.single.renyi_at(above_one("order", order))
