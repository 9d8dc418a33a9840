"""Tables used by several tests."""

from __future__ import annotations

import numpy as np

from pbdp.mechanism.weights import WeightTable, integer_weights

# Scales with P(|noise| <= 20) = 0.9 exactly.
LAPLACE_20, GAUSSIAN_20 = 8.909127075709916, 12.466457857050985


def gaussian_table(sigma: float) -> WeightTable:
    reach = int(10 * sigma) + 2
    masses = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    return integer_weights(masses / masses.sum(), -reach)


def laplace_table(scale: float) -> WeightTable:
    reach = int(45 * scale) + 2
    masses = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    return integer_weights(masses / masses.sum(), -reach)
