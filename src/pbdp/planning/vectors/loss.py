"""What noise that is drawn for whole vectors reveals in a composition.

If D(eps) bounds the delta of the ideal law for all neighbors, in both directions, and what is published is
within η of that law, then D(eps) + (1 + e^eps) η bounds the delta of what is published (`design`), and the
pair of this curve dominates it (`accounting.filters.steps`). Noise that is known to be (eps, delta)-DP counts
as randomized response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from pbdp.accounting.composition.loss_law import LossLaw, Release
from pbdp.accounting.filters.steps import claimed_release
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.vectors.design import VectorDesign


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VectorRelease(Release):
    """What one vector reveals: its pair, and its certificates, which are exact where it is alone."""

    design: VectorDesign
    requirement: Requirement

    def epsilon_at(self, delta: float) -> float:
        """The certified epsilon at a delta; infinite where there is none."""
        try:
            found = self.design.certificate(replace(self.requirement, delta=delta))
        except CannotCertifyError:
            return math.inf
        return math.inf if found is None else found.epsilon


@lru_cache(maxsize=64)
def vector_release(design: VectorDesign, requirement: Requirement) -> VectorRelease:
    """What one vector with this noise reveals; kept, as its curve may take a second."""
    law = design.loss_law(requirement)
    return VectorRelease(covered=(law,), design=design, requirement=requirement)


def claimed_law(epsilon: float, delta: float) -> LossLaw:
    """The loss of what is known to be (epsilon, delta)-DP; of a delta of one or more nothing is known."""
    if delta >= 1:
        return LossLaw(losses=np.zeros(0), masses=np.zeros(0), infinite=1.0)
    return claimed_release(epsilon, delta).covered[0]
