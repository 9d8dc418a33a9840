"""What epsilon is counted at: a delta or a Rényi order, the same for kernel and whole (Section III-D)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pbdp.domains import above_one, probability
from pbdp.errors import ContradictionError
from pbdp.published.kernel_scale import analytic_sigma, renyi_sigma


class Accounted(Protocol):
    """Anything with a privacy profile and a Rényi divergence: a kernel, one release or several."""

    def epsilon_at(self, delta: float) -> float:
        """Epsilon at a delta."""

    def renyi_at(self, order: float) -> float:
        """Rényi epsilon at an order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtDelta:
    """(epsilon, delta) at a fixed delta."""

    delta: float

    def __post_init__(self) -> None:
        probability("delta", self.delta)

    def epsilon_of(self, loss: Accounted) -> float:
        """Proposition 1 or 3 solved for epsilon."""
        return loss.epsilon_at(self.delta)

    def sigma_of(self, kernel_epsilon: float, sensitivity: float) -> float:
        """The Gaussian with this epsilon_0, by its exact profile."""
        return analytic_sigma(epsilon=kernel_epsilon, delta=self.delta, sensitivity=sensitivity)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOrder:
    """(alpha, epsilon) at a fixed Rényi order alpha."""

    order: float

    def __post_init__(self) -> None:
        above_one("order", self.order)

    def epsilon_of(self, loss: Accounted) -> float:
        """Proposition 2."""
        return loss.renyi_at(self.order)

    def sigma_of(self, kernel_epsilon: float, sensitivity: float) -> float:
        """The Gaussian with this epsilon_0."""
        return renyi_sigma(epsilon=kernel_epsilon, order=self.order, sensitivity=sensitivity)


Measure = AtDelta | AtOrder


def measure_of(delta: float | None, order: float | None) -> Measure:
    """The one of the two that was given."""
    if delta is not None and order is None:
        return AtDelta(delta=delta)
    if order is not None and delta is None:
        return AtOrder(order=order)
    raise ContradictionError(
        "delta", "given, or else order, and not both", f"delta {delta} and order {order}"
    )
