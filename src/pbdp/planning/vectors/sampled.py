"""What the distance of a sampler from its ideal law costs.

What is published differs from the ideal law, rounded, by at most η in total variation, for every answer. If
the ideal law has (eps, delta'), then for every set S of outputs

    P(S) <= P_ideal(S) + η <= e^eps P'_ideal(S) + delta' + η <= e^eps P'(S) + delta' + (1 + e^eps) η,

so the ideal law is accounted at delta' = delta - (1 + e^eps) η. A confidence loses η.
"""

from __future__ import annotations

import math

from pbdp.planning.vectors.requirement import VectorRequirement

# Bounds that are computed with a few roundings are moved by this share of them.
SAFE = 2.0**-45


def charge(epsilon: float, error: float) -> float:
    """(1 + e^epsilon) η, rounded up."""
    return (1 + math.exp(min(epsilon, 700.0))) * error * (1 + SAFE)


def covered(error: float) -> str:
    """What the plan says of its sampler."""
    return (
        f"What is published is within {error:.2g} of the law in total variation; (1 + e^epsilon) times that "
        "is charged to delta."
    )


def not_covered(name: str, requirement: VectorRequirement, epsilon: float, error: float) -> str:
    """Why a plan is refused whose sampler delta does not cover."""
    return (
        f"delta {requirement.delta:g} is too small for {name} noise: at epsilon {epsilon:.4g} drawing "
        f"{requirement.in_words} uses up {charge(epsilon, error):.2g} of it. Use a larger delta or a larger "
        "width."
    )
