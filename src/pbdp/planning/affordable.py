"""What an epsilon pays for: the largest confidence, or the narrowest width.

A plan takes a while, so few are made: the search closes in on the epsilon by false position, with the one
family that does best there, and asks all of them in the end whether another does better.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeGuard

from pbdp.digits import epsilon_text
from pbdp.domains import positive
from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan

# How close (relative, on the searched scale) the search comes to the best value.
TOLERANCE = 1e-6
# So close below the epsilon given nothing is left to gain; for several releases, and for widths of very many
# steps, each of which takes a while, a little less will do.
SPENT, SPENT_ON_SEVERAL, NEARLY_SPENT = 1e-7, 1e-5, 1e-4
MANY_STEPS, VERY_MANY_STEPS = 1 << 13, 1 << 17
# Tries between two values of which one fits; whole numbers are halved to the end.
TRIES = 24
# Halvings of the range of values in which a first guess is looked for.
ESTIMATES = 48
# One family is looked at in a search; so often all are asked whether another does better there.
ROUNDS = 3
# Certified losses are no smaller: nothing tells them from none.
LEAST_EPSILON = 1e-15
# Odds of a hundredth, and of all but 5e-12: nearer to 1 than rounding leaves a search, prices jump.
LEAST_LOG_ODDS, MOST_LOG_ODDS = -4.6, 26.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """An epsilon that a plan may not exceed, and the families that may be used."""

    epsilon: float
    families: tuple[str, ...]

    def __post_init__(self) -> None:
        remedy = "It is the privacy loss that you can afford; 1, say."
        if positive("epsilon", self.epsilon, remedy) < LEAST_EPSILON:
            raise InputError(
                "epsilon",
                f"at least {LEAST_EPSILON:g}",
                f"{self.epsilon:g}",
                "So small a loss cannot be told from none; 1 is common.",
            )

    def plan(self, requirement: Requirement, families: tuple[str, ...] | None = None) -> Plan | None:
        """The plan for a requirement, whether it fits or not; None if there is none."""
        from pbdp.planning.planner import plan_for

        try:
            return plan_for(requirement, families or self.families, per_answer=False, tables=False)
        except PbdpError:
            return None

    def fits(self, made: Plan | None) -> TypeGuard[Plan]:
        """Whether a plan costs no more."""
        return made is not None and made.epsilon <= self.epsilon


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

    def asked(log_odds: float) -> Requirement:
        return replace(requirement, confidence=1 / (1 + math.exp(-log_odds)))

    # Laplace noise would have 1 - e^-loss
    loss = budget.epsilon * requirement.region.width / requirement.sensitivity / requirement.releases
    search = Search(
        budget=budget,
        asked=asked,
        easy=LEAST_LOG_ODDS,
        hard=MOST_LOG_ODDS,
        reason=f"Even a confidence of 1 % costs more than epsilon {epsilon_text(budget.epsilon)}.",
    )
    return search.furthest(math.log(math.expm1(min(max(loss, 1e-9), 50.0))), stride=0.25)


def narrowest(requirement: Requirement, budget: Budget, family: WidthFamily) -> Plan:
    """The plan with the narrowest width; the region in `requirement` is only a place holder."""
    whole = requirement.integer and family.whole

    def asked(x: float) -> Requirement:
        width = math.exp(-x)
        return replace(requirement, region=family.region(float(round(width)) if whole else width))

    # what Laplace noise takes, or Gaussian noise over many releases
    tail, releases = -math.log(max(1 - requirement.confidence_each, 1e-15)), requirement.releases
    many = 2 * math.sqrt(releases * tail * -math.log(requirement.delta or 1e-6))
    guess = min(tail * releases, many) * requirement.sensitivity / budget.epsilon
    search = Search(
        budget=budget,
        asked=asked,
        easy=-math.log(family.widest),
        hard=0.0 if whole else -math.log(family.finest),
        reason=f"Even {family.region(family.widest).describe()} costs more than epsilon "
        f"{epsilon_text(budget.epsilon)}.",
        whole=whole,
    )
    return search.furthest(-math.log(guess), stride=0.25)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The requirement furthest from `easy` toward `hard` that a budget pays for; its price rises that way."""

    budget: Budget
    asked: Callable[[float], Requirement]
    easy: float
    hard: float
    reason: str
    whole: bool = False
    _known: dict[tuple[float, tuple[str, ...]], Plan | None] = field(default_factory=dict)

    def furthest(self, guess: float, stride: float) -> Plan:
        """Found with the few families that do best there; all of them are asked in the end."""
        at = self._snapped(min(max(self._estimated() or guess, self.easy), self.hard))
        # nothing can be planned at a guess that is too hard; at the easy end it tells what does well
        found = self._at(at, self.budget.families) or self._at(self.easy, self.budget.families)
        if at == self.easy and not self.budget.fits(found):
            raise CannotCertifyError(f"{self.reason} Allow a larger epsilon.")
        if self.budget.fits(found) and self._is_wide(at) and self._price(at, ()) > -NEARLY_SPENT:
            return found
        for _ in range(ROUNDS):
            families = _best_family(found, self.budget.families)
            at = self._crossing(at, stride, families)
            found = self._at(at, families if self._is_wide(at) else self.budget.families)
            if _best_family(found, self.budget.families) == families:
                break
        if found is None:
            raise AssertionError("more families find more plans")
        return found

    def _estimated(self) -> float | None:
        """Where the cut staircase, the best law for one release or nearly, takes the epsilon given."""
        if cut_loss(self.asked(self.easy)) is None:
            return None
        low, high, target = self.easy, self.hard, self.budget.epsilon * (1 - NEARLY_SPENT / 2)
        for _ in range(ESTIMATES):
            middle = (low + high) / 2
            loss = cut_loss(self.asked(self._snapped(middle)))
            low, high = (middle, high) if loss is not None and loss <= target else (low, middle)
        return low

    def _crossing(self, at: float, stride: float, families: tuple[str, ...]) -> float:
        """The last value that fits: in growing strides until that changes, then closed in on."""
        here = self._price(at, families)
        fits = here <= 0
        end = self.hard if fits else self.easy
        while at != end:
            there = self._snapped(min(at + stride, end) if fits else max(at - stride, end))
            price = self._price(there, families)
            if (price <= 0) is not fits:
                fitting, failing = sorted([(at, here), (there, price)])
                return self._between(fitting, failing, families)
            at, here, stride = there, price, 2 * stride
        if not fits:
            raise CannotCertifyError(f"{self.reason} Allow a larger epsilon.")
        return at

    def _between(
        self, fitting: tuple[float, float], failing: tuple[float, float], families: tuple[str, ...]
    ) -> float:
        """By false position on the logarithm of the price; an end that stays counts half the next time."""
        (low, at_low), (high, at_high) = fitting, failing
        side = 0
        for _ in range(TRIES):
            # where the price jumps, values as close as that are as good
            if high - low <= max(TOLERANCE, self._spent(low) / 10) or at_low > -self._spent(low):
                break
            share = at_low / (at_low - at_high) if math.isfinite(at_high) else 0.5
            middle = self._snapped(low + (high - low) * min(max(share, 0.02), 0.98))
            if middle in (low, high):
                middle = self._snapped((low + high) / 2)
                if middle in (low, high):
                    break
            here = self._price(middle, families)
            if here <= 0:
                low, at_low, at_high = middle, here, at_high / (2 if side < 0 else 1)
                side = -1
            else:
                high, at_high, at_low = middle, here, at_low / (2 if side > 0 else 1)
                side = 1
        return low

    def _spent(self, x: float) -> float:
        """How close to the epsilon given is close enough; decoders take a while, and make the price jump."""
        asked = self.asked(x)
        if self._is_wide(x) or asked.region.per_answer or asked.bounds is not None:
            return NEARLY_SPENT
        return SPENT_ON_SEVERAL if asked.releases > 1 else SPENT

    def _is_wide(self, x: float) -> bool:
        asked = self.asked(x)
        width = asked.region.width
        return width > MANY_STEPS * asked.sensitivity or (asked.integer and width > VERY_MANY_STEPS)

    def _snapped(self, x: float) -> float:
        """The value of a whole width, e^-x rounded up, where widths are whole."""
        # the logarithm of a whole number may come back a little larger
        return -math.log(max(math.ceil(math.exp(-x) * (1 - 1e-12)), 1)) if self.whole else x

    def _at(self, x: float, families: tuple[str, ...]) -> Plan | None:
        if (x, families) not in self._known:
            try:
                self._known[x, families] = self.budget.plan(self.asked(x), families)
            except InputError:
                self._known[x, families] = None
        return self._known[x, families]

    def _price(self, x: float, families: tuple[str, ...]) -> float:
        """ln(epsilon / the one given): at most 0 where it fits, infinite where there is no plan."""
        made = self._known.get((x, self.budget.families))
        if made is None or (families and _best_family(made, self.budget.families) != families):
            made = self._at(x, families or self.budget.families)
        return math.inf if made is None else math.log(max(made.epsilon, LEAST_EPSILON) / self.budget.epsilon)


def _best_family(found: Plan | None, families: tuple[str, ...]) -> tuple[str, ...]:
    """The family of a plan's noise; all of them where there is no plan."""
    if found is None:
        return families
    from pbdp.planning.plan import number_design

    return (number_design(found.mechanism).kernel.family,)


def cut_loss(requirement: Requirement) -> float | None:
    """What the cut staircase loses, but for rounding; None for what it does not serve."""
    from pbdp.planning.certification import goal_on
    from pbdp.planning.limit.cut_staircase import cut_epsilon
    from pbdp.planning.limit.question import Question
    from pbdp.planning.planner import grids_of

    region = requirement.region
    if requirement.releases > 1 or requirement.delta is None or not region.follows_answer:
        return None
    if requirement.bounds is not None or not math.isfinite(sum(map(float, region.offsets(0.0)))):
        return None
    try:
        grid = grids_of(requirement)[0]
        inside = grid.region_in_steps(region).tightest()
        points = int(inside.below + inside.above) + 1
        goal = goal_on(grid, requirement)
        return cut_epsilon(
            Question.about(points - 1, 0, goal.confidence, goal.sensitivity, requirement.delta)
        )
    except PbdpError:
        return None
