"""The limit that stands beside a plan: what no mechanism could beat for the same requirement.

- Whole-number answers: the region holds floor(below + above) + 1 whole numbers wherever it lies, also for
  outputs that are not whole.
- Real answers: among them are the multiples of a fraction of the sensitivity, so the limit for those holds.
- Several releases with independent noise: if all numbers have the same true answer, the median of an odd
  number m of them misses the region only if more than half of them do. It is one release, so its limit at
  the confidence P(Bin(m, rho) > m/2) holds for all of them together.
- A joint confidence for several releases may be shared out unevenly, so all that it says of one of them is
  that this one keeps it too: the limit is that of one release, for any mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pbdp import special
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.limit.search import least_epsilon

# Real answers are compared on a lattice of this many points to the sensitivity.
POINTS_IN_SENSITIVITY = 32
# Beyond this many points the lattice is made coarser.
MOST_POINTS = 1 << 13
# A limit is shown beside every plan, so it may not take long.
TIME_LIMIT = 2.0
ROUNDED_DOWN = 1 - 1e-9

ANY_MECHANISM = "mechanism"
INDEPENDENT = "mechanism with independent noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLimit:
    """No `subject` that meets the requirement has a smaller epsilon; `kind` says how that is proved."""

    epsilon: float
    kind: str
    subject: str


def limit_of(requirement: Requirement, reached: float) -> KnownLimit | None:
    """The limit for a requirement that a plan meets at epsilon `reached`, or None where none is proved."""
    region = requirement.region
    if not region.follows_answer or requirement.delta is None or requirement.bounds is not None:
        return None
    width = sum(float(offset) for offset in region.offsets(0.0))
    if not math.isfinite(width) or region.answers != (-math.inf, math.inf):
        return None
    if requirement.integer and requirement.sensitivity < 1:
        return None  # whole answers that differ by less than one do not differ
    sensitivity, points = _lattice(width, requirement.sensitivity, requirement.integer)
    confidence, releases = _strongest_confidence(requirement)
    if points > MOST_POINTS and sensitivity == 1:
        return None
    found = least_epsilon(
        points - 1, 0, confidence, sensitivity, requirement.delta, start=reached, time_limit=TIME_LIMIT
    )
    if found is None:
        return None
    if releases == 1:
        return KnownLimit(epsilon=min(found.epsilon, reached), kind=found.kind, subject=ANY_MECHANISM)
    how = f"{found.kind}; median of {releases} releases with independent noise"
    return KnownLimit(epsilon=min(found.epsilon, reached), kind=how, subject=INDEPENDENT)


def _lattice(width: float, sensitivity: float, integer: bool) -> tuple[int, int]:
    """Sensitivity in points of a lattice, and the points in any region."""
    if integer:
        return math.floor(sensitivity), math.floor(width) + 1
    steps = POINTS_IN_SENSITIVITY
    while steps > 1 and width / sensitivity * steps > MOST_POINTS:
        steps //= 2
    return steps, math.floor(width / sensitivity * steps * (1 + 1e-12)) + 1


def _strongest_confidence(requirement: Requirement) -> tuple[float, int]:
    """A confidence that one release made from an odd number of those asked for has, and that number."""
    each = requirement.confidence
    odd = requirement.releases - (requirement.releases + 1) % 2
    if requirement.simultaneous or odd <= 1 or each <= 0.5:
        return each, 1
    median = float(special.bdtrc(odd // 2, odd, each)) * ROUNDED_DOWN
    return (median, odd) if median > each else (each, 1)
