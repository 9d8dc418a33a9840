"""From the kernel's own epsilon_0, by which the paper counts, to the sigma of its Gaussian.

The paper does not say which conversion its figures use. Section II prints the classical one; the default
here is the exact one, which gives the least sigma with the promised epsilon_0.
"""

from __future__ import annotations

import math

from pbdp.domains import above_one, positive, probability
from pbdp.published.kernel_profile import GaussianProfile
from pbdp.root import bracketed_root


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
    return positive("sensitivity", sensitivity) / math.exp(bracketed_root(excess, low, high))


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
