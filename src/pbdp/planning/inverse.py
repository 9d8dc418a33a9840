"""What an epsilon pays for: the largest confidence, or the narrowest widths, of one requirement or several.

A narrower width and a larger confidence cost more, so each is a root search over plans. The plan that is
returned was made for what it carries, and fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from pbdp.digits import epsilon_text
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, PbdpError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.parameters import positive
from pbdp.planning.grids import FINE
from pbdp.planning.limit.closed_form import RESERVE
from pbdp.planning.plan import Plan
from pbdp.root_finding import least_enough, least_whole

# How close (relative) the factor of several widths comes to the least one: an epsilon is spent but for that.
CLOSE = 2e-3
# Widths of more sensitivities than this, or of as many times what was given, are not tried: epsilon is next
# to nothing there.
FURTHEST = 1e6
# Odds of a miss below what laws have in reserve are not told from none; beyond these, a confidence of 1 %, it
# is worth nothing.
MOST_ODDS = 100.0


class Priced(Protocol):
    """A plan, as far as it is looked at here."""

    @property
    def epsilon(self) -> float:
        """Its certified privacy loss."""


Asked = TypeVar("Asked")
Found = TypeVar("Found", bound=Priced)


@dataclass(slots=True)
class Search(Generic[Asked, Found]):
    """Plans for what is asked at a number x, which cost less as x grows, against an epsilon.

    What was asked before, where `make` rounds, is not planned again.
    """

    make: Callable[[float], Asked]
    plan: Callable[[Asked], Found]
    epsilon: float
    known: list[tuple[Asked, Found]] = field(default_factory=list)
    reasons: list[PbdpError] = field(default_factory=list)

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon, "It is the privacy loss that you can afford; 1, say.")

    def planned(self, x: float) -> Found:
        """The plan at x."""
        asked = self.make(x)
        found = next((found for before, found in self.known if before == asked), None)
        if found is None:
            found = self.plan(asked)
            self.known.append((asked, found))
        return found

    def beyond(self, x: float) -> float:
        """Epsilon of the plan at x less the one given; infinite where there is no plan."""
        try:
            return self.planned(x).epsilon - self.epsilon
        except ContradictionError:
            raise
        except (InputError, CannotCertifyError) as error:
            self.reasons.append(error)
            return math.inf

    def least(
        self, start: float, *, close: float, beside: float = 1.02, most: float = math.inf, spare: float = 0.0
    ) -> Found:
        """The plan of the least x that costs no more than epsilon; its terms are those of `least_enough`."""
        return self._found(
            least_enough(self.beyond, start, close=close, beside=beside, most=most, spare=spare)
        )

    def least_whole(self, start: float, most: float) -> Found:
        """The same for the least whole number from 1 on."""
        return self._found(least_whole(self.beyond, start, most))

    def _found(self, x: float | None) -> Found:
        if x is not None and math.isfinite(x):
            return self.planned(x)
        if not self.known:
            raise self.reasons[0]
        least = epsilon_text(min(found.epsilon for _, found in self.known))
        raise CannotCertifyError(
            f"Nothing was found that costs at most epsilon {epsilon_text(self.epsilon)}; the least was "
            f"{least}. Allow a larger epsilon, fewer releases or a smaller confidence."
        )

    def start(self, x: float) -> float:
        """About where a width costs epsilon, from what one costs: prices fall about as one over widths."""
        first = self.beyond(x) + self.epsilon
        return x * first / self.epsilon if 0 < first < math.inf else x


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """Regions of different widths; `whole` says that only whole widths differ."""

    region: Callable[[float], Region]
    widest: float
    whole: bool


def largest_confidence(requirement: Requirement, epsilon: float, plan: Callable[[Requirement], Plan]) -> Plan:
    """The plan with the largest confidence; the one in `requirement` is only a place holder."""

    def at(odds: float) -> Requirement:
        if odds < RESERVE:
            raise CannotCertifyError("No law keeps so large a confidence.")
        return replace(requirement, confidence=1 / (1 + odds))

    search = Search(at, plan, epsilon)
    # Laplace noise of one release misses with e^-loss
    loss = epsilon * requirement.region.width / requirement.sensitivity / requirement.releases
    start = 1 / math.expm1(min(max(loss, 1 / MOST_ODDS), -math.log(RESERVE)))
    return search.least(min(max(start, 2 * RESERVE), MOST_ODDS), close=1e-6, most=MOST_ODDS)


def narrowest_width(
    requirement: Requirement, epsilon: float, plan: Callable[[Requirement], Plan], widths: Widths
) -> Plan:
    """The plan with the narrowest width; the region in `requirement` is only a place holder."""

    def at(width: float) -> Requirement:
        return replace(requirement, region=widths.region(width))

    search = Search(at, plan, epsilon)
    laplace = -math.log(max(1 - requirement.confidence_each, RESERVE)) / epsilon
    first = min(laplace * _composed(requirement) * requirement.sensitivity, widths.widest)
    if widths.whole:
        return search.least_whole(search.start(max(float(round(first)), 1.0)), widths.widest)
    # half a step of a grid: costs do not tell closer widths apart
    start = min(search.start(first), widths.widest)
    return search.least(start, close=0.5 / FINE, most=widths.widest)


def _composed(requirement: Requirement) -> float:
    """About how many times as much all releases lose as one of them (Dwork, Rothblum and Vadhan, 2010)."""
    releases, delta = requirement.releases, requirement.delta
    return releases if not delta else min(releases, math.sqrt(2 * releases * math.log(1 / delta)))


def narrowest(
    make: Callable[[float], Asked], plan: Callable[[Asked], Found], epsilon: float, *, spare: float = 0.0
) -> Found:
    """The plan of `make(s)` with the smallest factor s that costs at most epsilon.

    One that leaves no more than a share `spare` of epsilon over is taken as it is. That no smaller factor
    fits rests on prices that fall as widths grow.
    """
    search = Search(make, plan, epsilon)
    return search.least(search.start(1.0), close=CLOSE, beside=1.1, most=FURTHEST, spare=spare * epsilon)


def widened(requirement: Requirement, factor: float) -> Requirement:
    """The same with all of its width multiplied; of whole answers rounded down, which asks for no less."""
    region, whole = requirement.region, requirement.integer
    if isinstance(region, AbsoluteRegion):
        sides = (float(side) * factor for side in (region.below, region.above))
        below, above = (math.floor(side) if whole and math.isfinite(side) else side for side in sides)
        return replace(requirement, region=AbsoluteRegion(below=float(below), above=float(above)))
    if isinstance(region, RelativeRegion):
        wider = replace(region, theta=region.theta * factor, tau=region.tau * factor)
        return replace(requirement, region=wider)
    raise ContradictionError(
        "epsilon",
        "left out where a requirement has no width",
        requirement.describe(),
        "Widths shrink in proportion until they cost epsilon: give each requirement one.",
    )
