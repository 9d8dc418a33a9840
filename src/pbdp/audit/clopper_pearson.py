"""Exact bounds for a probability from a count (Clopper and Pearson 1934), and exact binomial tails.

Of n independent draws k were hits. With I the regularized incomplete beta function,

    P(Bin(n, p) >= k) = I_p(k, n - k + 1),

so the lower bound solves I_p(k, n - k + 1) = error, and exceeds the true p with at most that probability,
whatever n and p are. The upper bound is its mirror image.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pbdp import special
from pbdp.noise.kernel import Array

# Far above the rounding error of the inverse beta function; bounds are moved outwards by it.
ROUNDING = 2.0**-36


def at_least(hits: npt.ArrayLike, draws: npt.ArrayLike, error: float) -> Array:
    """A bound that exceeds the true probability with at most the probability `error`; rounded down."""
    k, n = np.asarray(hits, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    bound = special.betaincinv(np.maximum(k, 1.0), n - np.maximum(k, 1.0) + 1, error)
    return np.where(k > 0, bound * (1 - ROUNDING), 0.0)


def at_most(hits: npt.ArrayLike, draws: npt.ArrayLike, error: float) -> Array:
    """A bound that is below the true probability with at most the probability `error`; rounded up."""
    k, n = np.asarray(hits, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    below = np.minimum(k, n - 1)
    bound = special.betainccinv(below + 1, n - below, error)
    return np.where(k < n, np.minimum(bound * (1 + ROUNDING), 1.0), 1.0)


def two_sided_p_value(hits: npt.ArrayLike, draws: int, probability: Array) -> Array:
    """Twice the smaller tail of Bin(draws, probability) at `hits`: at most u with probability at most u."""
    k = np.asarray(hits, dtype=np.float64)
    inner = np.clip(k, 1, draws)
    above = np.where(k > 0, special.betainc(inner, draws - inner + 1, probability), 1.0)
    inner = np.clip(k, 0, draws - 1)
    below = np.where(k < draws, special.betaincc(inner + 1, draws - inner, probability), 1.0)
    return np.asarray(np.minimum(2 * np.minimum(above, below), 1.0))
