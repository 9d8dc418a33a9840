"""Plain noise that meets a requirement: Gaussian, Laplace and the staircase, all continuous.

A relative region is smallest at an answer of zero, where it reaches τ either way, so the same noise serves
absolute and relative error.
"""

from __future__ import annotations

import math

from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Kernel
from pbdp.noise.laplace import Laplace
from pbdp.noise.staircase import Staircase
from pbdp.root import bracketed_root
from reproduction.accuracy.requirements import Aligned

# Scales are this much smaller than the root, so that rounding never takes from the confidence.
SAFE = 1 - 1e-12
# A remainder this small (relative) is a whole number of steps.
ROUNDING = 1e-9


def plain_kernels(aligned: Aligned) -> dict[str, Kernel]:
    """The widest plain noise of each kind that is within τ with the confidence."""
    tau, rho = aligned.half_width, aligned.confidence
    return {
        "plain gaussian": Gaussian(sigma=aligned.plain_sigma * SAFE),
        "plain laplace": Laplace(scale=tau / math.log(1 / (1 - rho)) * SAFE),
        "staircase": staircase(tau, rho, aligned.sensitivity),
    }


def staircase(half_width: float, confidence: float, sensitivity: float) -> Staircase:
    """Steps as wide as the sensitivity, one of their edges on the edge of the region (Geng, Viswanath 2014).

    Its loss is the one that just keeps the confidence: the tail mass beyond an edge falls as the loss grows.
    """
    rest = math.fmod(half_width, sensitivity)
    steps = round(half_width / sensitivity)
    if abs(half_width - steps * sensitivity) <= ROUNDING * sensitivity:
        # a plateau of one whole step is the law whose plateau has no length, one level higher
        rest = sensitivity

    def excess(loss: float) -> float:
        law = Staircase(loss=loss, width=sensitivity, center=rest)
        return float(law.mass(-half_width, half_width)) - confidence

    loss = bracketed_root(excess, 1e-9, 200.0)
    return Staircase(loss=loss / SAFE, width=sensitivity, center=rest)
