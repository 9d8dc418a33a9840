"""What an epsilon pays for: the largest confidence, or the narrowest width.

A plan takes a while, so few are made: the search closes in on the epsilon by false position, with the one law
that does best there, and asks all of them in the end whether another does better. How close it comes depends
on how much there is to compute for a plan, never on how long that took.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeGuard

from pbdp.digits import epsilon_text
from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.parameters import positive
from pbdp.planning.likely import cut_loss, gaussian_mean, sketched_loss

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan

# How close (relative) the search comes to the best value and to the epsilon given: for short tables; for
# widths of very many steps and for decoders, whose plans take longer; for several releases; and for both.
CLOSE, CLOSE_IF_SLOW, CLOSE_IF_SEVERAL, CLOSE_IF_BOTH = 1e-6, 1e-4, 5e-4, 2e-3
# Where the next ones have no plan at all; where these cost nothing and the next ones more than there is.
CLOSE_IF_NONE, CLOSE_IF_NOTHING = 1e-3, 1e-2
# Families that cost no more than so many times the best are asked again in the end; all if it is far away.
RIVAL, NEARBY = 1.2, 0.5
MANY_STEPS, VERY_MANY_STEPS = 1 << 13, 1 << 17
# Plans that a search makes for one family; fewer where they take long.
TRIES, TRIES_IF_SLOW = 40, 14
# The first stride where no price is known, and the longest that a price leads to.
STRIDE, LONGEST = 0.25, 4.0
# Going from hard to easy by that much, a price that falls by less than this share will not fall enough.
STUCK, HARDLY = 0.1, 0.02
# A logarithm of a price below this is that of no loss to speak of, and leads nowhere.
NOTHING = -20.0
# Work (see `planner.work_of`) after which a search is content with less, and with what fits.
MUCH_WORK, MOST_WORK, CLOSE_ENOUGH = 5000.0, 9000.0, 1e-2
# Halvings of the range of values in which a first guess is looked for; for several releases, looks at what
# they may cost, which end this close to the epsilon, as a logarithm.
ESTIMATES = 48
SKETCHES, SKETCHED = 8, 5e-3
# One family is looked at in a search; so often all are asked whether another does better there.
ROUNDS, ROUNDS_IF_SLOW = 3, 2
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

    def slope(log_odds: float) -> float:
        """Of ln(-ln(1 - confidence)), about which the logarithm of the price is."""
        return 1 / (1 + math.exp(-log_odds)) / math.log1p(math.exp(log_odds))

    # Laplace noise would have 1 - e^-loss, or Gaussian noise over many releases
    ratio = requirement.region.width / requirement.sensitivity
    mean = gaussian_mean(budget.epsilon, requirement.delta or 1e-6) / math.sqrt(requirement.releases)
    gaussian = -math.log(max(math.erfc(ratio * mean / math.sqrt(2)), 1e-15))
    loss = max(budget.epsilon * ratio / requirement.releases, gaussian)
    search = Search(
        budget=budget,
        asked=asked,
        easy=LEAST_LOG_ODDS,
        hard=MOST_LOG_ODDS,
        reason=f"Even a confidence of 1 % costs more than epsilon {epsilon_text(budget.epsilon)}.",
        slope=slope,
    )
    return search.furthest(math.log(math.expm1(min(max(loss, 1e-9), 50.0))))


def narrowest(requirement: Requirement, budget: Budget, family: WidthFamily) -> Plan:
    """The plan with the narrowest width; the region in `requirement` is only a place holder."""
    whole = requirement.integer and family.whole

    def asked(x: float) -> Requirement:
        width = math.exp(-x)
        return replace(requirement, region=family.region(float(round(width)) if whole else width))

    # what Laplace noise takes, or Gaussian noise over many releases
    missed, releases = max(1 - requirement.confidence_each, 1e-15), requirement.releases
    laplace = -math.log(missed) * releases / budget.epsilon
    gaussian = -NormalDist().inv_cdf(missed / 2) * math.sqrt(releases)
    gaussian /= gaussian_mean(budget.epsilon, requirement.delta or 1e-6)
    guess = min(laplace, gaussian) * requirement.sensitivity
    search = Search(
        budget=budget,
        asked=asked,
        easy=-math.log(family.widest),
        hard=0.0 if whole else -math.log(family.finest),
        reason=f"Even {family.region(family.widest).describe()} costs more than epsilon "
        f"{epsilon_text(budget.epsilon)}.",
        whole=whole,
    )
    return search.furthest(-math.log(guess))


def _one(x: float) -> float:
    """Of the logarithm of a price that is in proportion to one over the width."""
    del x
    return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The requirement furthest from `easy` toward `hard` that a budget pays for; its price rises that way.

    `slope` is about how fast the logarithm of the price does.
    """

    budget: Budget
    asked: Callable[[float], Requirement]
    easy: float
    hard: float
    reason: str
    slope: Callable[[float], float] = _one
    whole: bool = False
    _known: dict[tuple[float, tuple[str, ...]], Plan | None] = field(default_factory=dict)
    _work: list[float] = field(default_factory=list)

    def furthest(self, guess: float) -> Plan:
        """Found with the family that does best there; all of them are asked in the end."""
        every = self.budget.families
        at = self._snapped(min(max(self._likely(guess), self.easy), self.hard))
        # nothing can be planned at a guess that is too hard; an easier one tells what does well
        found, stride = self._at(at, every), STRIDE
        while found is None and at > self.easy:
            at, stride = self._snapped(max(at - stride, self.easy)), 2 * stride
            found = self._at(at, every)
        if found is None or (at == self.easy and not self.budget.fits(found)):
            raise self._refused()
        price = self._price(at, every)
        if -self._closeness(at) < price <= 0:
            return found
        for _ in range(ROUNDS if self._closeness(at) == CLOSE else ROUNDS_IF_SLOW):
            family, before = _family(found), at
            at = self._last_that_fits(at, family)
            asked_again = abs(at - before) > NEARBY or _has_rivals(found)
            among = self._at(at, every) if asked_again and self._worked < MOST_WORK else None
            # among others it may be left for a law that budgets can pay and that costs a little more
            found = among if self.budget.fits(among) else self._at(at, family)
            if found is None:
                raise AssertionError("there is a plan where one fits")
            if _family(found) == family:
                break
        return found

    def _refused(self) -> CannotCertifyError:
        return CannotCertifyError(f"{self.reason} Allow a larger epsilon.")

    def _likely(self, guess: float) -> float:
        """About where the epsilon given is spent; the guess where nothing is known."""
        if cut_loss(self.asked(self.easy)) is None:
            return self._sketched(guess)
        low, high, target = self.easy, self.hard, self.budget.epsilon * (1 - CLOSE_IF_SLOW / 2)
        for _ in range(ESTIMATES):
            middle = (low + high) / 2
            loss = cut_loss(self.asked(self._snapped(middle)))
            low, high = (middle, high) if loss is not None and loss <= target else (low, middle)
        return low

    def _sketched(self, guess: float) -> float:
        """Where estimates of several releases meet the epsilon: a few steps along lines through the last."""
        at, before = min(max(guess, self.easy), self.hard), None
        for _ in range(SKETCHES):
            loss = sketched_loss(self.asked(self._snapped(at)), self.budget.families)
            if loss is None or not 0 < loss < math.inf:
                return guess if before is None else before[0]
            here = at, math.log(loss / self.budget.epsilon)
            if abs(here[1]) < SKETCHED:
                break
            there = self._beyond(here, before, STRIDE, aim=-SKETCHED / 2)
            if there == at:
                break
            before, at = here, there
        return at

    def _last_that_fits(self, at: float, family: tuple[str, ...]) -> float:
        """The last value that fits."""
        close = self._closeness(at)
        low: tuple[float, float] | None = None  # the last that fits, and its price
        high: tuple[float, float] | None = None  # the first that fails
        before, again, stride = None, 0, STRIDE
        for _ in range(TRIES if close == CLOSE else TRIES_IF_SLOW):
            here = at, self._price(at, family)
            fits = here[1] <= 0
            again = again + 1 if before is not None and (before[1] <= 0) is fits else 0
            low, high = (here, high) if fits else (low, here)
            close = max(close, CLOSE_ENOUGH) if self._worked > MUCH_WORK else close
            near = low is not None and (low[1] > -close or low[0] == self.hard or self._worked > MOST_WORK)
            if near or (low is None and at == self.easy):
                break
            if low is not None and high is not None:
                # where the price jumps, values as close as that are as good
                jumps = CLOSE_IF_NONE if math.isinf(high[1]) else 0.0
                jumps = CLOSE_IF_NOTHING if low[1] < NOTHING else jumps
                if high[0] - low[0] <= max(close, jumps):
                    break
                # an end that stays counts half each time
                ends = [(x, price if x == at else price / 2.0**again) for x, price in (low, high)]
                there = self._between(*ends, aim=-close / 2)
            elif not fits and before is not None and _is_stuck(before, here):
                there = self.easy
            else:
                there = self._beyond(here, before, stride, aim=-close / 2)
                stride *= 2
            if there in {at, low and low[0], high and high[0]}:
                break
            before, at = here, there
        if low is None:
            raise self._refused()
        return low[0]

    def _between(self, low: tuple[float, float], high: tuple[float, float], *, aim: float) -> float:
        """A value between two, by false position on the logarithm of the price, or half-way."""
        share = 0.5
        if math.isfinite(high[1]) and low[1] > NOTHING:
            share = min(max((aim - low[1]) / (high[1] - low[1]), 0.02), 0.98)
        length = high[0] - low[0]
        there = self._snapped(low[0] + share * length)
        return self._snapped(low[0] + length / 2) if there in {low[0], high[0]} else there

    def _beyond(
        self, here: tuple[float, float], before: tuple[float, float] | None, stride: float, *, aim: float
    ) -> float:
        """A value further on, toward the price that is aimed at; by the stride where no price is known."""
        at, price = here
        sign = 1 if price <= 0 else -1
        if NOTHING < price < math.inf:
            slope = self.slope(at)
            if before is not None and NOTHING < before[1] < math.inf:
                seen = (price - before[1]) / (at - before[0])
                slope = min(max(seen, slope / 8), 8 * slope)
            # further each time, as it may seem nearer than it is
            stride = min(max(abs(aim - price) / slope, 4e-3 * stride), LONGEST)
        return self._snapped(min(max(at + sign * stride, self.easy), self.hard))

    def _closeness(self, x: float) -> float:
        """How close is close enough; decoders take a while, and make the price jump."""
        asked = self.asked(x)
        slow = self._is_wide(x) or asked.region.per_answer or asked.bounds is not None
        if asked.releases > 1:
            return CLOSE_IF_BOTH if slow else CLOSE_IF_SEVERAL
        return CLOSE_IF_SLOW if slow else CLOSE

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
            from pbdp.planning.planner import work_of

            try:
                made = self.budget.plan(self.asked(x), families)
            except InputError:
                made = None
            self._known[x, families] = made
            self._work.append(0.0 if made is None else work_of(made))
        return self._known[x, families]

    @property
    def _worked(self) -> float:
        """What was computed so far; a count, so that every machine ends with the same plan."""
        return math.fsum(self._work)

    def _price(self, x: float, families: tuple[str, ...]) -> float:
        """ln(epsilon / the one given): at most 0 where it fits, infinite where there is no plan."""
        made = self._known.get((x, self.budget.families))
        if made is None or (families != self.budget.families and _family(made) != families):
            made = self._at(x, families)
        return math.inf if made is None else math.log(max(made.epsilon, LEAST_EPSILON) / self.budget.epsilon)


def _family(made: Plan) -> tuple[str, ...]:
    """The family of a plan's noise."""
    return (_family_of(made.mechanism),)


def _family_of(design: AnyDesign) -> str:
    from pbdp.planning.plan import number_design

    return number_design(design).kernel.family


def _has_rivals(made: Plan) -> bool:
    """Whether another family came near the one that was taken."""
    family = _family(made)
    near = [other for other in made.others if other.certificate.epsilon <= RIVAL * made.epsilon]
    return any((_family_of(other.design),) != family for other in near)


def _is_stuck(before: tuple[float, float], here: tuple[float, float]) -> bool:
    """Whether the price hardly fell on the way from hard to easy."""
    moved = before[0] - here[0]
    return moved > STUCK and math.isfinite(before[1]) and here[1] > before[1] - HARDLY * moved
