"""The law that costs least of what is left, and the accuracy that a share of it buys.

Which noise is best depends on what else will be asked: for a few releases the law with the least epsilon, for
many one whose losses are nearly Gaussian. A budget knows neither; it knows what is left. Every law that is
certified for the requirement, and every one that is best for many releases of it, is priced, and the one that
takes least is taken; where few of them fit, the one of which most do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from pbdp.accounting.filters.rule import NATS
from pbdp.digits import percent_down
from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import certified
from pbdp.planning.plan import Plan, plan_of
from pbdp.planning.planner import FAMILIES, moving_designs, plan_for
from pbdp.planning.pricing.priced import Priced
from pbdp.planning.pricing.quote import Price
from pbdp.planning.pricing.terms import Amounts, Terms, amount_name

# Laws are also looked for as if so many releases were made.
MANY = 100
# Where widths are so many sensitivities, few laws are tried, and none is certified for all of those releases.
LONG = 1 << 17
# Below so many of the same, how many fit decides, and not the cost of the first.
FEW = 30
# Where a law takes less than this share of the whole budget, none is looked for that would take still less.
NEGLIGIBLE = 1e-9
# When a width or a confidence is searched for, these stand for all.
QUICK = ("laplace", "huber")
# What a share buys is looked for up to this many sensitivities, beyond which there is next to nothing left,
# down to one over so many, and so closely (relative, on the searched scale).
WIDEST, FINEST = 1e4, 1e6
TOLERANCE = 1e-2
# How many of the easiest requests are tried before it is said that none would fit.
_ENDS = 3
# Odds of a tenth, and of all but 1e-13.
LEAST_LOG_ODDS, MOST_LOG_ODDS = -2.1972, 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A plan and its price."""

    plan: Plan
    price: Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Affordable:
    """Plans for requirements that cost at most a share of what is left; all of it, unless told."""

    terms: Terms
    spent: Amounts
    blocks: tuple[str, ...]
    share: float = 1.0
    families: tuple[str, ...] = FAMILIES

    @property
    def limit(self) -> str:
        """What a plan may cost, in words."""
        return "what is left" if self.share == 1 else f"{self.share:.3g} of what is left"

    def plan(self, requirement: Requirement) -> Plan | None:
        """The cheapest plan for a requirement, if it fits."""
        found = self.choice(requirement)
        return None if found is None else found.plan

    def choice(self, requirement: Requirement) -> Choice | None:
        """The same with its price."""
        try:
            fitting = self._fitting(laws_for_one(requirement, self.families))
            if not any((entry.price.share or 0.0) < NEGLIGIBLE for entry in fitting):
                fitting += self._fitting(laws_for_many(requirement, self.families))
        except PbdpError:
            return None
        if not fitting:
            return None
        best = min(fitting, key=lambda entry: _costs(entry.price))
        spent = (best.price.share or 0.0) / max(1 - best.price.spent_before, 1e-300)
        if spent < 1 / FEW:
            return best
        # where few fit, their number is what counts
        return max(fitting, key=lambda entry: (entry.price.times[0] or 0, *(-c for c in _costs(entry.price))))

    def _fitting(self, laws: tuple[Plan, ...]) -> list[Choice]:
        """Those of the laws that fit, with their prices."""
        priced = [Choice(plan=plan, price=self._price(plan)) for plan in laws]
        return [entry for entry in priced if self._is_within(entry.price)]

    def largest_confidence(self, requirement: Requirement) -> Plan:
        """The plan with the largest confidence; the one in `requirement` is only a place holder.

        Searched on the scale of log-odds, on which the price is close to linear.
        """

        def at(log_odds: float) -> Plan | None:
            confidence = 1 / (1 + math.exp(-log_odds))
            return self.plan(replace(requirement, confidence=confidence)) if confidence < 1 else None

        return self._furthest(at, LEAST_LOG_ODDS, MOST_LOG_ODDS, "a confidence of 10 %")

    def narrowest(self, requirement: Requirement) -> Plan:
        """The plan with the narrowest width on both sides; that in `requirement` is only a place holder."""

        def at(width: float) -> Plan | None:
            try:
                return self.plan(replace(requirement, region=AbsoluteRegion.even(width)))
            except InputError:
                return None

        widest = WIDEST * requirement.sensitivity
        words = AbsoluteRegion.even(widest).describe()
        if requirement.integer:
            return self._narrowest_whole(at, math.ceil(widest), words)
        finest = requirement.sensitivity / FINEST
        return self._furthest(lambda x: at(math.exp(-x)), -math.log(widest), -math.log(finest), words)

    def _furthest(self, at: Callable[[float], Plan | None], easy: float, hard: float, easiest: str) -> Plan:
        """The plan furthest from `easy` toward `hard` that exists, by halving."""
        best, low, high = at(easy), easy, hard
        if best is None:
            raise self._too_much(easiest)
        while high - low > TOLERANCE:
            middle = (low + high) / 2
            made = at(middle)
            if made is None:
                high = middle
            else:
                best, low = made, middle
        return best

    def _narrowest_whole(self, at: Callable[[float], Plan | None], widest: int, easiest: str) -> Plan:
        """The same over whole widths: doubled until one fits, then halved."""
        if at(widest) is None:
            raise self._too_much(easiest)
        low, high = 0, 1
        best = at(high)
        while best is None:
            low, high = high, min(2 * high, widest)
            best = at(high)
        while high - low > 1:
            middle = (low + high) // 2
            made = at(middle)
            if made is None:
                low = middle
            else:
                best, high = made, middle
        return best

    def _too_much(self, easiest: str) -> CannotCertifyError:
        return CannotCertifyError(f"Even {easiest} costs more than {self.limit}. Allow more.")

    def fits_planned(self, requirement: Requirement) -> bool:
        """Whether the plan that the planner makes for a requirement fits."""
        try:
            return self._is_within(self._price(plan_for(requirement, self.families)))
        except PbdpError:
            return False

    def _price(self, plan: Plan) -> Price:
        return Price(terms=self.terms, plans=((plan, 1),), blocks=self.blocks, spent=self.spent)

    def _is_within(self, price: Price) -> bool:
        """Whether it fits, and takes no more than the share of what is left."""
        if price.cost is None or price.share is None:
            return False
        if self.share == 1 or price.share <= self.share * (1 - price.spent_before):
            return True
        reach = max(price.cost[amount_name("reach", block)] for block in self.blocks)
        return price.spent_before == 1 and reach <= self.share * self.terms.adds_up(self.spent) * NATS


def _costs(price: Price) -> tuple[float, int]:
    """What it takes, the variance first, then the reach."""
    cost = price.cost or {}
    return (price.share or 0.0), max(cost.get(amount_name("reach", block), 0) for block in price.blocks)


def laws_for(requirement: Requirement, families: tuple[str, ...] = FAMILIES) -> tuple[Plan, ...]:
    """Every certified law for the requirement, as a plan of one release."""
    return laws_for_one(requirement, families) + laws_for_many(requirement, families)


@lru_cache(maxsize=256)
def laws_for_one(requirement: Requirement, families: tuple[str, ...]) -> tuple[Plan, ...]:
    """The laws that are certified for the requirement."""
    single = plan_for(requirement, families)
    return tuple(plan_of(requirement, entry) for entry in (single.chosen, *single.others))


@lru_cache(maxsize=256)
def laws_for_many(requirement: Requirement, families: tuple[str, ...]) -> tuple[Plan, ...]:
    """Further laws, which are best for many releases."""
    seen = [plan.mechanism for plan in laws_for_one(requirement, families)]
    if not seen[0].follows_answer or requirement.releases > 1:
        return ()
    asked = replace(requirement, releases=MANY)
    if requirement.region.width > LONG * requirement.sensitivity:
        designs: list[AnyDesign] = list(moving_designs(asked.each, families))
    else:
        try:
            many = plan_for(asked, families, per_answer=False)
        except CannotCertifyError:
            return ()
        designs = [entry.design for entry in (many.chosen, *many.others)]
    found = (certified(requirement, design) for design in designs if design not in seen)
    return tuple(plan_of(requirement, entry) for entry in found if entry is not None)


def what_fits(affordable: Affordable, plan: Priced, times: int = 1, *, any_law: bool = False) -> str:
    """A sentence on what would fit instead of a plan that does not; empty if nothing simple can be said.

    What is advised is planned anew: with any law, as a budget chooses, or with the one that the planner does.
    """
    fewer = _number_that_fits(affordable, plan, times)
    if fewer:
        return f"{fewer:,} of the {times:,} would fit."
    if not isinstance(plan, Plan) or plan.is_joint or plan.requirement.coordinates is not None:
        return ""
    count = _releases_that_fit(affordable, plan) if plan.requirement.releases > 1 else 0
    if count:
        return f"{count:,} release{'s' if count > 1 else ''} of this plan would fit."
    payer = replace(affordable, families=QUICK)
    fits = (lambda asked: payer.plan(asked) is not None) if any_law else affordable.fits_planned
    text = "; ".join(_easier(fits, replace(plan.requirement, releases=1)))
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _easier(fits: Callable[[Requirement], bool], asked: Requirement) -> list[str]:
    """A wider width, and a lower confidence, that would fit once."""
    regions = [asked.region.scaled(factor, asked.integer) for factor in (1.25, 1.5, 2, 3, 5, 10, 30, 100)]
    wider = _first_fit(fits, [replace(asked, region=region) for region in regions if region is not None])
    lower = _first_fit(
        fits,
        [replace(asked, confidence=less) for less in (0.9, 0.8, 0.7, 0.6, 0.5) if less < asked.confidence],
    )
    words = [] if wider is None else [f"one {wider.region.describe()} would fit"]
    if lower is not None:
        text = f"one with a confidence of {percent_down(lower.confidence)}"
        words.append(f"so would {text}" if words else f"{text} would fit")
    return words


def _first_fit(fits: Callable[[Requirement], bool], easier: list[Requirement]) -> Requirement | None:
    """The first that fits, where those after it are easier; by halving, as each takes a plan.

    The easiest may get noise that gains by rare large losses, which the end of a budget cannot pay: then one
    of the next easiest may fit.
    """
    ends = range(len(easier), max(len(easier) - _ENDS, 0), -1)
    count = next((end for end in ends if fits(easier[end - 1])), 0)
    return easier[_most(count, lambda tried: not fits(easier[tried - 1]))] if count else None


def _number_that_fits(affordable: Affordable, plan: Priced, times: int) -> int:
    """How many of so many would fit as one package, by halving."""
    return _most(
        times,
        lambda count: (
            affordable.terms.cost(((plan, count),), affordable.spent, affordable.blocks) is not None
        ),
    )


def _releases_that_fit(affordable: Affordable, plan: Plan) -> int:
    """How many of the plan's releases would fit as one package."""

    def fits(count: int) -> bool:
        part = replace(plan.only, requirement=replace(plan.requirement, releases=count))
        fewer = replace(plan, parts=(part,), compared=tuple, proved=None)
        return _number_that_fits(affordable, fewer, 2) == 1

    return _most(plan.requirement.releases, fits)


def _most(below: int, fits: Callable[[int], bool]) -> int:
    """The largest number below this one that fits, if smaller ones do."""
    low, high = 0, below
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
