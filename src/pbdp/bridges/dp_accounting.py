"""Exchange of privacy loss distributions with dp-accounting: ours out, its own in.

`plan_to_pld(plan)` takes a plan among dp-accounting's mechanisms; `priced_pld(distribution)` is such a
mechanism as a budget pays for it.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_distribution import LossDistribution, distribution_release, dominating
from pbdp.accounting.composition.loss_law import LARGEST_LOSS, Release
from pbdp.bridges import curve, needed_by
from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.kernel import Array
from pbdp.parameters import positive
from pbdp.planning.pricing.priced import Measured, Priced, compose_plans

with needed_by("The bridge to dp-accounting", "dp-accounting"):
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

# dp-accounting's own default interval.
STEP = 1e-4
# A distribution is written out cell by cell; more than this many are refused.
MOST_CELLS = 1 << 23
# Masses may miss one by their rounding; a distribution that lacks more is not an upper bound.
_LARGEST_LACK = 1e-9


def plan_to_pld(plan: Priced, step: float = STEP) -> privacy_loss_distribution.PrivacyLossDistribution:
    """All releases of a plan as one pessimistic `PrivacyLossDistribution`, to be composed with others.

    It holds for the plan's own neighboring relation, which the distribution does not carry: compose it with
    those of the same relation only, and of the same interval `step`. One release is an upper bound with all
    rounding included (see `to_dp_accounting`). What is done from there on, the composition of several
    releases to begin with, is dp-accounting's arithmetic: pessimistic in its steps, but its Fourier
    transforms round to nearest, about 1e-16 a cell.
    """
    positive("step", step)
    made = [
        to_dp_accounting(release, step).self_compose(count)
        for release, count in compose_plans([(plan, 1)]).parts
    ]
    return (
        reduce(lambda one, two: one.compose(two), made) if made else privacy_loss_distribution.identity(step)
    )


def to_dp_accounting(
    release: Release, step: float = STEP
) -> privacy_loss_distribution.PrivacyLossDistribution:
    """A release as a pessimistic `PrivacyLossDistribution` with the given interval.

    All covered pairs become one dominating distribution, which serves dp-accounting as its "remove" and its
    "add" side alike; a release made `one_way` is therefore only good for that way.
    """
    positive("step", step)
    return privacy_loss_distribution.PrivacyLossDistribution(_pmf(dominating(release.covered, step)))


def from_dp_accounting(distribution: Any) -> tuple[LossDistribution, ...]:
    """The dominating distributions of a `PrivacyLossDistribution`: one if symmetric, else "remove" and "add".

    They are taken over as they stand, so their own rounding is trusted; losses beyond the largest that pbdp
    computes with are raised, to infinity or to the smallest. Composed one by one, the larger figure holds
    for all releases in the same direction; `distribution_release(*both)` covers every mixture of directions.
    """
    if not isinstance(distribution, privacy_loss_distribution.PrivacyLossDistribution):
        rule = "a PrivacyLossDistribution of dp-accounting"
        raise InputError("distribution", rule, f"a {type(distribution).__name__}")
    sides = [distribution._pmf_remove]
    if distribution._pmf_add is not distribution._pmf_remove:
        sides.append(distribution._pmf_add)
    return tuple(_distribution(side) for side in sides)


def priced_pld(
    distribution: Any, *, neighbors: str = Neighbors.ADD_REMOVE, label: str = "mechanism"
) -> Measured:
    """A `PrivacyLossDistribution` as something a budget can pay for: `budget.reserve(priced_pld(...))`.

    Several mechanisms that are fixed in advance are composed first, there. The distribution does not carry
    its neighboring relation, so `neighbors` says it.
    """
    sides = [compose([(distribution_release(side), 1)]) for side in from_dp_accounting(distribution)]
    return curve(
        lambda epsilon: max(side.delta_at(epsilon).upper for side in sides),
        lambda delta: max(side.epsilon_at(delta).upper for side in sides),
        neighbors,
        label,
    )


def _distribution(pmf: Any) -> LossDistribution:
    if not pmf._pessimistic_estimate:
        raise InputError("distribution", "pessimistic", "an optimistic estimate")
    indices, masses = _cells(pmf)
    step, infinity = float(pmf._discretization), float(pmf._infinity_mass)
    total = math.fsum(masses) + infinity
    if not total >= 1 - _LARGEST_LACK:
        raise InputError("distribution", "of total mass one or more", f"one of {total!r}")
    furthest = math.floor(LARGEST_LOSS / step)
    above = indices > furthest
    infinity += math.fsum(masses[above])
    indices, masses = np.maximum(indices[~above], -furthest), masses[~above]
    raised, where = np.unique(indices, return_inverse=True)
    return LossDistribution(
        step=step,
        indices=raised,
        masses=np.bincount(where, weights=masses, minlength=len(raised)).astype(np.float64),
        infinity=infinity,
    )


def _cells(pmf: Any) -> tuple[npt.NDArray[np.int64], Array]:
    """Losses in steps with their masses; negative ones, which transforms leave behind, count as zero."""
    if isinstance(pmf, pld_pmf.SparsePLDPmf):
        indices = np.array(list(pmf._loss_probs.keys()), dtype=np.int64)
        masses = np.array(list(pmf._loss_probs.values()), dtype=np.float64)
    else:
        masses = np.asarray(pmf._probs, dtype=np.float64)
        indices = int(pmf._lower_loss) + np.arange(len(masses), dtype=np.int64)
    kept = np.flatnonzero(masses > 0)
    return indices[kept], masses[kept]


def _pmf(distribution: LossDistribution) -> Any:
    """Dense: dp-accounting's sparse form drops its truncation."""
    indices = distribution.indices
    first, last = (int(indices[0]), int(indices[-1])) if len(indices) else (0, 0)
    if last - first >= MOST_CELLS:
        raise InputError(
            "step",
            f"coarse enough for the losses to fit into {MOST_CELLS:,} cells",
            f"{distribution.step:g}, which takes {last - first + 1:,}",
        )
    masses = np.zeros(last - first + 1)
    masses[indices - first] = distribution.masses
    return pld_pmf.DensePLDPmf(distribution.step, first, masses, min(distribution.infinity, 1.0), True)
