"""The boost that a confidence asks for, in the worst case over answers (paper, Eq. 3)."""

from __future__ import annotations

import math

import numpy as np

from pbdp.domains import probability
from pbdp.mechanism.boosted import Boosted, region_masses
from pbdp.mechanism.region import Region
from pbdp.noise.kernel import Kernel

# What the kernel's own rounding (1e-12 relative, see pbdp.noise.kernel) can take off a confidence.
KERNEL_ERROR = 4e-12


def least_confidence(mechanism: Boosted) -> float:
    """Smallest confidence over all answers, rounded down."""
    answers = mechanism.region.hardest_answers(mechanism.kernel)
    return float(np.min(mechanism.confidence_at(answers))) * (1 - KERNEL_ERROR)


def boost_for(kernel: Kernel, region: Region, confidence: float) -> float:
    """Smallest boost with which every answer keeps the confidence, rounded up.

    q = max(0, (rho - p) / (rho (1 - p))) with p the least kernel mass of a region; 1 - p is computed as the
    mass outside, so that it keeps its digits when p is near 1.
    """
    rho = probability("confidence", confidence) * (1 + KERNEL_ERROR)
    if rho >= 1:
        rho = math.nextafter(1.0, 0.0)
    inside, outside = region_masses(kernel, *region.offsets(region.hardest_answers(kernel)))
    worst = int(np.argmin(inside - outside))
    p, pbar = float(inside[worst]), float(outside[worst])
    if p >= rho:
        return 0.0
    # rho - p = pbar - (1 - rho), without subtracting two numbers near one
    return min(1.0, math.nextafter((pbar - (1 - rho)) / (rho * pbar), 2.0))
