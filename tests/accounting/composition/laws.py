"""Tables used by several tests, and the delta of a distribution."""

from __future__ import annotations

import math

import numpy as np

from pbdp.accounting.composition.loss_distribution import LossDistribution
from pbdp.accounting.composition.loss_law import loss_law, table_loss_law
from pbdp.mechanism.weights import WeightTable, integer_weights

# Scales with P(|noise| <= 20) = 0.9 exactly.
LAPLACE_20, GAUSSIAN_20 = 8.909127075709916, 12.466457857050985


def delta_of(distribution: LossDistribution, epsilon: float) -> float:
    """delta of a distribution on its own, rounded up."""
    gains = -np.expm1(np.minimum(epsilon - distribution.losses(), 0.0))
    return min((distribution.infinity + math.fsum(gains * distribution.masses)) * (1 + 1e-14) + 1e-15, 1.0)


def gaussian_table(sigma: float) -> WeightTable:
    reach = int(10 * sigma) + 2
    masses = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    return integer_weights(masses / masses.sum(), -reach)


def laplace_table(scale: float) -> WeightTable:
    reach = int(45 * scale) + 2
    masses = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    return integer_weights(masses / masses.sum(), -reach)


LAWS = [
    table_loss_law(gaussian_table(6.0), 2),
    table_loss_law(laplace_table(4.0), 1),
    loss_law([0.7, 0.2, 0.1], [0.3, 0.7, 0.0]),
]
