"""The printed formulas of a mechanism that `pbdp.boosted` made: what the paper would say of it.

A comparison, never a claim: figures may lie on either side of the exact ones that the mechanism has itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pbdp.errors import InputError
from pbdp.parameters import whole
from pbdp.planning.boosted import BoostedMechanism
from reproduction.published.boosted_loss import BoostedLoss, ComposedLoss, Losses, Weights
from reproduction.published.figure import case_of
from reproduction.published.kernel_loss import LABEL, has_profile
from reproduction.published.special_cases import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedMechanism:
    """Propositions 1 to 3 with the weights of Propositions 4 to 6; not a guarantee."""

    loss: BoostedLoss
    releases: int = 1
    label: str = field(default=LABEL, init=False)

    @property
    def added_losses(self) -> Losses:
        """L1 and L2 (Equation 4)."""
        return self.loss.losses

    @property
    def weights(self) -> Weights:
        """W1 and W2, and W3, which is what they leave."""
        return self.loss.weights

    def delta(self, epsilon: float) -> float:
        """Proposition 1, or its T-fold form (Algorithm 1)."""
        return self._accounted.delta_at(epsilon)

    def epsilon(self, delta: float) -> float:
        """The epsilon at which that is `delta`."""
        return self._accounted.epsilon_at(delta)

    def renyi(self, order: float) -> float:
        """Proposition 2; several releases add up (Remark 2)."""
        return self.releases * self.loss.renyi_at(order)

    def compose(self, releases: int) -> PublishedMechanism:
        """Theorem 2 for so many releases."""
        return PublishedMechanism(loss=self.loss, releases=self.releases * whole("releases", releases))

    @property
    def _accounted(self) -> BoostedLoss | ComposedLoss:
        return self.loss if self.releases == 1 else ComposedLoss(single=self.loss, releases=self.releases)

    def __repr__(self) -> str:
        return f"<{self.label}: L2 = {self.added_losses.step:.4g}, W1 = {self.weights.plus:.4g}>"


def published(made: BoostedMechanism, reading: Reading = Reading.PRINTED) -> PublishedMechanism:
    """What the paper's formulas, letter by letter or as another `reading`, say of a mechanism.

    Noise on whole numbers stands for the continuous noise of the same scale, which the paper has in mind.
    """
    kernel: Any = made.kernel.loss_law
    case = case_of(made.region)
    if kernel is None or not has_profile(kernel):
        rule = "Gaussian or Laplace, for which the paper's kernel loss has a closed form"
        raise InputError("kernel", rule, made.kernel.family)
    if case is None:
        rule = "absolute, relative or fixed, of which the paper has formulas"
        raise InputError("region", rule, made.region.describe())
    loss = case.loss_or_none(kernel, boost=made.boost, sensitivity=made.sensitivity, reading=reading)
    if loss is None:
        rule = "one whose printed weights are probabilities"
        raise InputError("mechanism", rule, made.describe(), "Another reading of the formulas may do.")
    return PublishedMechanism(loss=loss)
