"""The planner run backwards: the largest confidence, or the narrowest width, that an epsilon pays for.

Both are found by searching over requirements (paper, "Convert to a utility boosting framework"). The plan
that is returned was made for the requirement it carries, so width, confidence and epsilon hold together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from pbdp.domains import positive
from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.plan import Plan
from pbdp.planning.planner import plan_for

# How close (relative, on the searched scale) the search comes to the best value.
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """An epsilon that a plan may not exceed, and the families that may be used."""

    epsilon: float
    families: tuple[str, ...]

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon, "It is the privacy loss that you can afford; 1, say.")

    def plan(self, requirement: Requirement) -> Plan | None:
        """The plan for a requirement, if it fits."""
        try:
            made = plan_for(requirement, self.families, per_answer=False)
        except PbdpError:
            return None
        return made if made.epsilon <= self.epsilon else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthFamily:
    """Regions of different widths; `whole` says that only whole widths differ when answers are whole."""

    region: Callable[[float], Region]
    widest: float
    finest: float
    whole: bool


def largest_confidence(requirement: Requirement, budget: Budget) -> Plan:
    """The plan with the largest confidence; the one in `requirement` is only a place holder.

    Searched on the scale of log-odds, on which the price is close to linear.
    """

    def at(log_odds: float) -> Plan | None:
        confidence = 1 / (1 + math.exp(-log_odds))
        return budget.plan(replace(requirement, confidence=confidence)) if confidence < 1 else None

    return _furthest(
        at, -7.0, 30.0, f"Even a confidence of 0.1 % costs more than epsilon {budget.epsilon:g}."
    )


def narrowest(requirement: Requirement, budget: Budget, family: WidthFamily) -> Plan:
    """The plan with the narrowest width; the region in `requirement` is only a place holder."""

    def at(width: float) -> Plan | None:
        try:
            return budget.plan(replace(requirement, region=family.region(width)))
        except InputError:
            return None

    reason = f"Even {family.region(family.widest).describe()} costs more than epsilon {budget.epsilon:g}."
    if requirement.integer and family.whole:
        return _narrowest_whole(at, math.ceil(family.widest), reason)
    return _furthest(lambda x: at(math.exp(-x)), -math.log(family.widest), -math.log(family.finest), reason)


def _furthest(at: Callable[[float], Plan | None], easy: float, hard: float, reason: str) -> Plan:
    """The plan furthest from `easy` toward `hard` that exists, by halving."""
    best, low, high = None, easy, hard
    while high - low > TOLERANCE:
        middle = (low + high) / 2
        made = at(middle)
        if made is None:
            high = middle
        else:
            best, low = made, middle
    if best is None:
        raise CannotCertifyError(f"{reason} Allow a larger epsilon.")
    return best


def _narrowest_whole(at: Callable[[float], Plan | None], widest: int, reason: str) -> Plan:
    """The same over whole widths: doubled until one fits, then halved."""
    low, high = 0, 1
    best = at(high)
    while best is None:
        low, high = high, 2 * high
        if high > widest:
            raise CannotCertifyError(f"{reason} Allow a larger epsilon.")
        best = at(high)
    while high - low > 1:
        middle = (low + high) // 2
        made = at(middle)
        if made is None:
            low = middle
        else:
            best, high = made, middle
    return best
