"""A mechanism of which only its (epsilon, delta) is known: randomized response stands for it.

**Theorem** (Kairouz, Oh and Viswanath 2015, theorem 3.1 and its proof). Let randomized response with
(epsilon, delta) give, for one neighbor,

    output          0            1                       2                       3
    probability     delta   (1-delta)/(1+e^-epsilon)   (1-delta)/(1+e^epsilon)    0

and for the other the same row reversed. If P and Q are the laws of an (epsilon, delta)-DP mechanism, some
Markov kernel maps the two rows to P and Q. So whatever is proved for the rows, at any order and in any
composition, holds for the mechanism.
"""

from __future__ import annotations

import math

import numpy as np

from pbdp.accounting.composition.loss_law import LARGEST_LOSS, LossLaw
from pbdp.accounting.composition.release import Release
from pbdp.domains import fraction, non_negative
from pbdp.noise.kernel import Array

# The masses of outputs 2 and 1 are raised by this share, which covers their rounding.
_RAISED = 2.0**-49


def claimed_release(epsilon: float, delta: float) -> Release:
    """A release that dominates the mechanism in any composition; no pair is known to reach it."""
    losses, masses = _rows(epsilon, delta)
    if epsilon >= LARGEST_LOSS:
        law = LossLaw(losses=np.zeros(0), masses=np.zeros(0), infinite=1.0)
    elif epsilon == 0:
        law = LossLaw(losses=np.zeros(1), masses=np.sum(masses, keepdims=True), infinite=delta)
    else:
        law = LossLaw(losses=losses, masses=masses, infinite=delta)
    return Release(covered=(law,))


def _rows(epsilon: float, delta: float) -> tuple[Array, Array]:
    """Losses of outputs 2 and 1, and their masses, rounded up."""
    non_negative("epsilon", epsilon)
    fraction("delta", delta)
    smaller = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    masses = (1 - delta) * np.array([smaller, 1 / (1 + math.exp(-epsilon))])
    return np.array([-epsilon, epsilon]), masses * (1 + _RAISED)
