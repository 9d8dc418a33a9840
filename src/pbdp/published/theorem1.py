"""One release: Theorem 1's mixture of shifted kernel losses, Propositions 1 and 2.

Theorem 1 says that the loss of the boosted mechanism is the kernel's loss Z plus L1, plus an independent
step of +L2, -L2 or 0 with weights W1, W2, W3. It is not so: which step is taken and how large Z is are both
decided by where y falls, and y follows the boosted law, not the kernel's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from pbdp.domains import above_one, probability
from pbdp.errors import InputError
from pbdp.published.kernel_profile import KernelProfile
from pbdp.published.label import LABEL
from pbdp.published.losses import Losses, Weights
from pbdp.published.root import epsilon_reaching

LARGEST_EXPONENT = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedLoss:
    """The published loss of one release, for one pair of answers."""

    profile: KernelProfile
    losses: Losses
    weights: Weights
    label: str = field(default=LABEL, init=False)

    def __post_init__(self) -> None:
        if not self.weights.is_law:
            raise InputError(
                "weights", "three probabilities", f"W3 = {self.weights.neither:g}",
                "Proposition 6 gives none for so wide a sensitivity; use another reading.",
            )  # fmt: skip

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Theorem 1 (literal) as (weight, offset): f_Gamma(z) is the sum of weight · f_Z(z - offset)."""
        shift, step = self.losses.shift, self.losses.step
        weights = self.weights
        offsets = ((weights.plus, shift + step), (weights.minus, shift - step), (weights.neither, shift))
        return tuple((weight, offset) for weight, offset in offsets if weight > 0)

    def loss_cdf(self, loss: float) -> float:
        """P(Gamma <= loss) under Theorem 1 (literal)."""
        return math.fsum(weight * self.profile.loss_cdf(loss - offset) for weight, offset in self.atoms)

    def delta_at(self, epsilon: float) -> float:
        """W1 delta_Z(e - L1 - L2) + W2 delta_Z(e - L1 + L2) + W3 delta_Z(e - L1) (Proposition 1, literal)."""
        return sum(weight * self.profile.delta_at(epsilon - offset) for weight, offset in self.atoms)

    def epsilon_at(self, delta: float) -> float:
        """The epsilon >= 0 at which Proposition 1 gives this delta; infinite if it never does (q = 1)."""
        probability("delta", delta)
        shift, step, left = self.losses.shift, self.losses.step, delta
        if self.weights.plus == 0:
            step = 0.0
        elif math.isinf(step):
            step, left = 0.0, delta - self.weights.plus
            if left <= 0:
                return math.inf
        atoms, delta_z = self.atoms, self.profile.delta_at

        def delta_of(epsilon: float) -> float:
            return sum(weight * delta_z(epsilon - offset) for weight, offset in atoms)

        return epsilon_reaching(delta_of, delta, max(0.0, shift + step + self.profile.ceiling(left)))

    def renyi_at(self, order: float) -> float:
        """epsilon_0 + L1 + log(W1 e^((alpha-1) L2) + W2 e^(-(alpha-1) L2) + W3) / (alpha-1).

        Proposition 2, literal; Definition 2 has a wrong sign and lacks the logarithm (see SLIPS.md).
        """
        alpha = above_one("order", order)
        return self.profile.renyi_at(alpha) + self.losses.shift + _log_mean(self, alpha - 1) / (alpha - 1)


def _log_mean(loss: BoostedLoss, scale: float) -> float:
    """log E e^(scale · R) of the step R, which is +L2, -L2 or 0."""
    plus, minus = loss.weights.plus, loss.weights.minus
    x = scale * loss.losses.step
    if x < LARGEST_EXPONENT:
        return math.log1p(plus * math.expm1(x) + minus * math.expm1(-x))
    rest = minus * math.exp(-x) + loss.weights.neither
    if plus == 0:
        return math.log(rest) if rest > 0 else -math.inf
    return x + math.log(plus + rest * math.exp(-x))
