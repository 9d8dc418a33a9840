"""The pairs of any design: those of its table, or one for all answers where the noise changes with them.

**The dominating pair** of noise that changes with the answer comes from the exact delta at a row of epsilons.
Let D(eps) be an upper bound for the delta of all neighboring answers in both directions, eps >= 0. The tables
that are drawn from lie within v of the exact laws, so theirs is at most D(eps) + (1 + e^eps)·v; and as delta
falls with epsilon, so may the bound be made to. The pair of this curve that is its own reverse
(`steps.symmetric_law`) dominates every pair of neighbors, at negative epsilons too, and so in any composition
(lemma in `composition.loss_law`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from pbdp.accounting.composition.loss_law import LossLaw, loss_law
from pbdp.accounting.composition.release import Release, table_release
from pbdp.accounting.exact.accountant import ExactAccountant
from pbdp.accounting.filters.potential import potential
from pbdp.accounting.filters.steps import symmetric_law
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import Design
from pbdp.noise.rounded_gaussian import RoundedGaussian

# How many epsilons above zero are looked at, and how exactly. Each is a search over all answers.
_POINTS = 32
_TOLERANCE = 1e-4
# The row ends where delta is about the error of the tables, or at least this small, or at this epsilon.
_SMALL_DELTAS = (1e-9, 1e-6, 1e-3)
_FURTHEST = 20.0
# Rounding of the few sums and products here.
_ROUNDING = 1e-14
# The row of a Gaussian pair ends where delta is about 1e-17.
_GAUSSIAN_POINTS = 4096
_FURTHEST_NORMAL = 8.5


def design_release(design: Design, sensitivity: int) -> Release:
    """What one number reveals in a composition that is fixed in advance.

    Or, of rounded Gaussian noise, what any numbers reveal that one person moves by a Euclidean length of so
    many steps together: the noise is a function of Gaussian noise (`noise.rounded_gaussian`). Its table is
    close to that law; whoever draws several numbers from it accounts for the distance.
    """
    if isinstance(design.kernel, RoundedGaussian):
        return Release(covered=(gaussian_law(sensitivity / design.kernel.sigma * (1 + _ROUNDING)),))
    if design.mechanism.follows_answer:
        return table_release(design.table_at(0.0), sensitivity)
    covered = answer_law(design, sensitivity)
    return Release(covered=(covered,), actual=(_worst_pair(design, sensitivity),))


@lru_cache(maxsize=64)
def gaussian_law(mu: float) -> LossLaw:
    """A pair that dominates N(0, 1) and N(mu, 1), in both directions."""
    furthest = mu * (_FURTHEST_NORMAL + mu / 2)
    step = furthest / _GAUSSIAN_POINTS
    epsilons = step * np.arange(_GAUSSIAN_POINTS + 1, dtype=np.float64)
    found = potential(mu * mu * (1 + _ROUNDING), epsilons)
    return symmetric_law(step, (found.value + found.error) * (1 + _ROUNDING))


def _worst_pair(design: Design, sensitivity: int) -> LossLaw:
    """The tables of the two answers with the largest delta where it is small: a pair that really occurs."""
    accountant = ExactAccountant(mechanism=design.mechanism, sensitivity=sensitivity)
    epsilon = accountant.epsilon_at(1e-6).upper
    worst = accountant.worst_pair_at(min(epsilon, 20.0), tolerance=1e-2)
    first, second = design.table_at(worst.answer), design.table_at(worst.other)
    moved = round(worst.other - worst.answer)
    start = min(first.start, second.start + moved)
    length = max(first.stop, second.stop + moved) - start
    rows = np.zeros((2, length))
    rows[0, first.start - start : first.stop - start] = first.probabilities()
    rows[1, second.start + moved - start : second.stop + moved - start] = second.probabilities()
    return loss_law(rows[0], rows[1])


@lru_cache(maxsize=64)
def answer_law(design: Design, sensitivity: int) -> LossLaw:
    """The pair for all answers; kept, because it takes a second or so to find."""
    accountant = ExactAccountant(mechanism=design.mechanism, sensitivity=sensitivity)
    distance = design.table_error()
    step = _furthest(accountant, distance) / _POINTS
    epsilons = step * np.arange(_POINTS + 1)
    exact = np.array([accountant.delta_at(float(epsilon), _TOLERANCE).upper for epsilon in epsilons])
    deltas = (exact + (1 + np.exp(epsilons)) * distance) * (1 + _ROUNDING)
    return symmetric_law(step, deltas)


def _furthest(accountant: ExactAccountant, distance: float) -> float:
    for delta in (distance, *_SMALL_DELTAS):
        epsilon = accountant.epsilon_at(min(delta, 0.5)).upper
        if math.isfinite(epsilon):
            return min(max(epsilon, 1e-6), _FURTHEST)
    raise CannotCertifyError(
        "This noise has outputs that only one of two neighbors can produce, and they are too likely to be "
        "composed. Use a boost below 1, or noise that only moves with the answer."
    )
