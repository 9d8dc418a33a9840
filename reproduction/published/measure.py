"""What epsilon is counted at, and which Gaussian the paper's epsilon_0 stands for.

Epsilon is counted at a delta or a Rényi order, the same for kernel and whole (Section III-D). The paper does
not say which conversion from the kernel's own epsilon_0 to sigma its figures use. Section II prints the
classical one; the default here is the exact one, which gives the least sigma with the promised epsilon_0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from scipy.optimize import brentq

from pbdp.errors import ContradictionError
from pbdp.parameters import above_one, positive, probability
from reproduction.published.kernel_loss import GaussianProfile


def analytic_sigma(*, epsilon: float, delta: float, sensitivity: float) -> float:
    """The sigma whose exact profile passes through (epsilon, delta) (Balle and Wang 2018, algorithm 1)."""
    e, d = positive("epsilon", epsilon), probability("delta", delta)
    target, tail = math.log(d), math.sqrt(-2 * math.log(d))

    def excess(log_ratio: float) -> float:
        at = GaussianProfile(ratio=math.exp(log_ratio)).delta_at(e)
        return math.log(max(at, 5e-324)) - target

    # m²/2 + m·tail = epsilon is a ratio m that is small enough, whatever epsilon and delta
    low = math.log(2 * e / (tail + math.sqrt(tail**2 + 2 * e)))
    high = low + 1
    while excess(high) < 0:
        high += 1
    return positive("sensitivity", sensitivity) / math.exp(brentq(excess, low, high))


def classical_sigma(*, epsilon: float, delta: float, sensitivity: float) -> float:
    """sqrt(2 log(1.25/delta)) Delta / epsilon (Section II, literal).

    A theorem for epsilon below one only (Dwork and Roth 2014, theorem A.1); the paper does not repeat that.
    """
    e, d = positive("epsilon", epsilon), probability("delta", delta)
    return math.sqrt(2 * math.log(1.25 / d)) * positive("sensitivity", sensitivity) / e


def renyi_sigma(*, epsilon: float, order: float, sensitivity: float) -> float:
    """The sigma with Rényi epsilon_0 = alpha Delta² / (2 sigma²)."""
    alpha, e = above_one("order", order), positive("epsilon", epsilon)
    return positive("sensitivity", sensitivity) * math.sqrt(alpha / (2 * e))


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
