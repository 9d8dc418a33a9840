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
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pbdp.accounting.filters.design_loss import RenyiLoss, renyi_upper
from pbdp.domains import above_one, fraction, non_negative
from pbdp.noise.kernel import Array

if TYPE_CHECKING:
    from pbdp.accounting.composition.release import Release

# The masses of outputs 2 and 1 are raised by this share, which covers their rounding.
_RAISED = 2.0**-49


def claimed_loss(epsilon: float, delta: float, order: float) -> RenyiLoss:
    """The loss of order `order`: output 0 is missing, the others have a Rényi loss."""
    above_one("order", order)
    losses, masses = _rows(epsilon, delta)
    surplus = 4 * _RAISED - delta * (1 - _RAISED)
    return RenyiLoss(renyi_upper=renyi_upper(losses, masses, surplus, order), missing_upper=Fraction(delta))


def claimed_release(epsilon: float, delta: float) -> Release:
    """A release that dominates the mechanism in any composition; no pair is known to reach it."""
    # a filter alone composes nothing
    from pbdp.accounting.composition.loss_law import LARGEST_LOSS, LossLaw
    from pbdp.accounting.composition.release import Release

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
