"""The limit that stands beside a plan: what no mechanism could beat for the same requirement.

- Whole-number answers: the region holds floor(below + above) + 1 whole numbers wherever it lies, also for
  outputs that are not whole.
- Real answers: among them are the multiples of a fraction of the sensitivity, so the limit for those holds.
- Several releases with independent noise: if all numbers have the same true answer, the median of an odd
  number m of them misses the region only if more than half of them do. It is one release, so its limit at
  the confidence P(Bin(m, rho) > m/2) holds for all of them together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import bdtrc

from pbdp.planning.limit.search import least_epsilon
from pbdp.requirement.absolute import AbsoluteRegion
from pbdp.requirement.requirement import Requirement

# Real answers are compared on a lattice of this many points to the sensitivity.
POINTS_IN_SENSITIVITY = 32
# Beyond this many points the lattice is made coarser.
MOST_POINTS = 1 << 13
# A limit is shown beside every plan, so it may not take long.
TIME_LIMIT = 2.0
ROUNDED_DOWN = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLimit:
    """No mechanism that meets the requirement has a smaller epsilon; `kind` says how that is proved."""

    epsilon: float
    kind: str


def limit_of(requirement: Requirement, reached: float) -> KnownLimit | None:
    """The limit for a requirement that a plan meets at epsilon `reached`, or None where none is proved."""
    region = requirement.region
    if not isinstance(region, AbsoluteRegion) or requirement.delta is None or requirement.bounds is not None:
        return None
    if not math.isfinite(region.below + region.above):
        return None
    width = region.below + region.above
    sensitivity, points = _lattice(width, requirement.sensitivity, requirement.integer)
    confidence, how = _strongest_confidence(requirement)
    if points > MOST_POINTS and sensitivity == 1:
        return None
    found = least_epsilon(
        points - 1, 0, confidence, sensitivity, requirement.delta, start=reached, time_limit=TIME_LIMIT
    )
    if found is None:
        return None
    return KnownLimit(epsilon=min(found.epsilon, reached), kind=f"{found.kind}{how}")


def _lattice(width: float, sensitivity: float, integer: bool) -> tuple[int, int]:
    """Sensitivity in points of a lattice, and the points in any region."""
    if integer:
        return max(1, math.floor(sensitivity)), math.floor(width) + 1
    steps = POINTS_IN_SENSITIVITY
    while steps > 1 and width / sensitivity * steps > MOST_POINTS:
        steps //= 2
    return steps, math.floor(width / sensitivity * steps * (1 + 1e-12)) + 1


def _strongest_confidence(requirement: Requirement) -> tuple[float, str]:
    """The confidence of the median of all releases (of one fewer if their number is even), rounded down."""
    each = requirement.confidence_each
    odd = requirement.releases - (requirement.releases + 1) % 2
    if odd <= 1 or each <= 0.5:
        return each, ""
    joint = float(bdtrc(odd // 2, odd, each)) * ROUNDED_DOWN
    return max(each, joint), f"; median of {odd} releases with independent noise"
