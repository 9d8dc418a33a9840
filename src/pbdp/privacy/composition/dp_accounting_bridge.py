"""Exchange with dp-accounting: its privacy loss distributions in, ours out.

dp-accounting is imported when a function here is called, never before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pbdp.domains import positive
from pbdp.errors import InputError
from pbdp.privacy.composition.discretise import dominating
from pbdp.privacy.composition.loss_distribution import LossDistribution, on_grid
from pbdp.privacy.composition.release import Release


def to_dp_accounting(release: Release, step: float = 1e-4) -> Any:
    """A release as a pessimistic `PrivacyLossDistribution` with the given interval.

    All covered pairs become one dominating distribution, which serves dp-accounting as its "remove" and its
    "add" side alike; a release made `one_way` is therefore only good for that way.
    """
    from dp_accounting.pld import privacy_loss_distribution

    positive("step", step)
    return privacy_loss_distribution.PrivacyLossDistribution(_pmf(dominating(release.covered, step)))


def from_dp_accounting(distribution: Any) -> tuple[LossDistribution, ...]:
    """The dominating distributions of a `PrivacyLossDistribution`: one if symmetric, else "remove" and "add".

    They are taken over as they stand, so their own rounding is trusted. Composed one by one, the larger
    figure holds for all releases in the same direction; `distribution_release(*both)` covers every mixture
    of directions.
    """
    sides = [distribution._pmf_remove]
    if distribution._pmf_add is not distribution._pmf_remove:
        sides.append(distribution._pmf_add)
    return tuple(_distribution(side) for side in sides)


def _distribution(pmf: Any) -> LossDistribution:
    if not pmf._pessimistic_estimate:
        raise InputError("distribution", "pessimistic", "an optimistic estimate")
    dense = pmf.to_dense_pmf()
    masses = np.maximum(np.asarray(dense._probs, dtype=np.float64), 0.0)
    return on_grid(
        float(dense._discretization), int(dense._lower_loss), masses, infinity=float(dense._infinity_mass)
    )


def _pmf(distribution: LossDistribution) -> Any:
    """Dense: dp-accounting's sparse form drops its truncation."""
    from dp_accounting.pld import pld_pmf

    first, last = int(distribution.indices[0]), int(distribution.indices[-1])
    masses = np.zeros(last - first + 1)
    masses[distribution.indices - first] = distribution.masses
    return pld_pmf.DensePLDPmf(distribution.step, first, masses, distribution.infinity, True)
