"""The loss of any design: what a Rényi filter charges for it, and what it adds to a composition.

- Noise that only moves with the answer: the table of integer weights itself.
- Noise that changes with the answer: the exact law over all neighboring answers, with the distance of the
  tables from it (Rényi), or one dominating pair for all of them (`answer_profile`), where the law has no
  finite Rényi loss, and in compositions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from pbdp.accounting.composition.loss_distribution import LossDistribution
from pbdp.accounting.composition.loss_law import LossLaw, loss_law
from pbdp.accounting.composition.release import Release, distribution_release, table_release
from pbdp.accounting.exact.accountant import ExactAccountant
from pbdp.accounting.filters.answer_profile import answer_profile
from pbdp.accounting.filters.approximate_renyi import RenyiLoss, approximate_renyi
from pbdp.accounting.filters.log_moment import renyi_upper, worth_keeping
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import Design


@lru_cache(maxsize=1024)
def design_loss(design: Design, sensitivity: int, order: float, exchange: float) -> RenyiLoss:
    """The loss of one number at one order; `exchange` as in `approximate_renyi`."""
    if design.mechanism.follows_answer:
        return approximate_renyi(design.table_at(0.0), sensitivity, order, exchange)
    try:
        renyi = ExactAccountant(mechanism=design.mechanism, sensitivity=sensitivity).renyi_at(order).upper
    except CannotCertifyError:
        renyi = math.inf
    if math.isfinite(renyi):
        return RenyiLoss(renyi_upper=renyi, missing_upper=Fraction(0), distance=design.table_error())
    return profile_loss(answer_profile(design, sensitivity), order, exchange)


def profile_loss(profile: LossDistribution, order: float, exchange: float) -> RenyiLoss:
    """The loss of a dominating pair: its infinite losses are missing, its masses are rounded up already."""
    losses, masses = profile.losses(), profile.masses
    kept = worth_keeping(losses, masses, profile.infinity, order, exchange)
    left_out = np.ones(len(losses), dtype=bool)
    left_out[kept] = False
    missing = math.fsum([profile.infinity, *masses[left_out]])
    surplus = math.fsum([*masses[kept], -1.0]) + 2.0**-50
    return RenyiLoss(
        renyi_upper=renyi_upper(losses[kept], masses[kept], surplus, order),
        missing_upper=Fraction(missing * (1 + 2.0**-50)),
    )


def design_release(design: Design, sensitivity: int) -> Release:
    """What one number reveals in a composition that is fixed in advance."""
    if design.mechanism.follows_answer:
        return table_release(design.table_at(0.0), sensitivity)
    covered = distribution_release(answer_profile(design, sensitivity)).covered
    return Release(covered=covered, actual=(_worst_pair(design, sensitivity),))


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
