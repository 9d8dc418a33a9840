"""One dominating pair for noise that changes with the answer, from its exact delta at a row of epsilons.

Let D(eps) be an upper bound for the delta of all neighboring answers in both directions, eps >= 0. The
tables that are drawn from lie within v of the exact laws, so theirs is at most D(eps) + (1 + e^eps)·v; and as
delta falls with epsilon, so may the bound be made to. For negative epsilons

    delta_-eps(P, Q) = 1 - e^-eps·(1 - delta_eps(Q, P)).

A pair whose curve lies above all of these dominates every pair of neighbors in any composition (lemma in
`composition.loss_law`), and by Blackwell (1953) each of them is a function of it. `profile_distribution`
joins the points by straight lines in e^eps, which only raises the curve: the true one is convex there.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from pbdp.accounting.composition.discretize import profile_distribution
from pbdp.accounting.composition.loss_distribution import LossDistribution
from pbdp.accounting.exact.accountant import ExactAccountant
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import Design

# How many epsilons above zero are looked at, and how exactly. Each is a search over all answers.
_POINTS = 32
_TOLERANCE = 1e-4
# The row ends where delta is about the error of the tables, or at least this small, or at this epsilon.
_SMALL_DELTAS = (1e-9, 1e-6, 1e-3)
_FURTHEST = 20.0
# Rounding of the few sums and products here.
_ROUNDING = 1e-14


@lru_cache(maxsize=64)
def answer_profile(design: Design, sensitivity: int) -> LossDistribution:
    """The pair as a distribution of its loss; kept, because it takes a second or so to find."""
    accountant = ExactAccountant(mechanism=design.mechanism, sensitivity=sensitivity)
    distance = design.table_error()
    step = _furthest(accountant, distance) / _POINTS
    epsilons = step * np.arange(_POINTS + 1)
    exact = np.array([accountant.delta_at(float(epsilon), _TOLERANCE).upper for epsilon in epsilons])
    deltas = (exact + (1 + np.exp(epsilons)) * distance) * (1 + _ROUNDING)
    deltas = np.minimum.accumulate(np.minimum(deltas, 1.0))
    mirrored = 1 - np.exp(-epsilons[:0:-1]) * (1 - deltas[:0:-1]) + _ROUNDING
    return profile_distribution(-_POINTS, step, np.concatenate([mirrored, deltas]))


def _furthest(accountant: ExactAccountant, distance: float) -> float:
    for delta in (distance, *_SMALL_DELTAS):
        epsilon = accountant.epsilon_at(min(delta, 0.5)).upper
        if math.isfinite(epsilon):
            return min(max(epsilon, 1e-6), _FURTHEST)
    raise CannotCertifyError(
        "This noise has outputs that only one of two neighbors can produce, and they are too likely to be "
        "composed. Use a boost below 1, or noise that only moves with the answer."
    )
