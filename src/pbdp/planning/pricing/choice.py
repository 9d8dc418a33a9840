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
from pbdp.digits import percent_down, rounded_up
from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.free_form import FREE_FORM
from pbdp.planning.certificate import certified
from pbdp.planning.plan import Plan, plan_of
from pbdp.planning.planner import certified_laws, joint_families, plan_for
from pbdp.planning.pricing.priced import Priced
from pbdp.planning.pricing.terms import Amounts, Price, Terms, amount_name
from pbdp.root_finding import least_enough, least_whole

# Laws are also looked for as if so many releases were made.
MANY = 100
# Below so many of the same, how many fit decides, and not the cost of the first.
FEW = 30
# Where a law takes less than this share of the whole budget, none is looked for that would take still less.
NEGLIGIBLE = 1e-9
# When a width or a confidence is searched for, these stand for all.
QUICK = ("laplace", "huber")
# What a share buys is looked for up to so many sensitivities, beyond which next to nothing is left, up to the
# odds of a miss at a confidence of 10 %, and so closely (relative).
WIDEST, MOST_ODDS = 1e4, 9.0
TOLERANCE = 1e-2
# The largest reserve that is advised: what is left of delta is for the losses.
MOST_RESERVE = 0.5
# Confidences that are advised.
TENTHS = tuple(tenths / 10 for tenths in range(9, 4, -1))
# How many of the easiest requests are tried before it is said that none would fit.
_ENDS = 3


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
    families: tuple[str, ...] | None = None

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
            if requirement.always:
                return next(iter(self._fitting((self.ended(requirement),))), None)
            fitting = self._fitting(laws_for_one(requirement, self.families))
            if not any((entry.price.share or 0.0) < NEGLIGIBLE for entry in fitting):
                fitting += self._fitting(laws_for_many(requirement, self.families))
        except PbdpError:
            return None
        if not fitting:
            return None
        best = min(fitting, key=lambda entry: _costs(entry.price))
        spent = (best.price.share or 0.0) / max(1 - best.price.spent_before, math.ulp(1.0))
        if spent < 1 / FEW:
            return best
        # where few fit, their number is what counts
        return max(fitting, key=lambda entry: (entry.price.times[0] or 0, *(-c for c in _costs(entry.price))))

    def ended(self, requirement: Requirement) -> Plan:
        """The plan of least epsilon without exception: what is left of the reserve pays for its ends."""
        return plan_for(requirement, reserve=self.terms.reserve_left(self.spent))

    def _fitting(self, laws: tuple[Plan, ...]) -> list[Choice]:
        """Those of the laws that fit, with their prices."""
        priced = [Choice(plan=plan, price=self._price(plan)) for plan in laws]
        return [entry for entry in priced if self._is_within(entry.price)]

    def largest_confidence(self, requirement: Requirement) -> Plan:
        """The plan with the largest confidence; the one in `requirement` is only a place holder."""

        def at(odds: float) -> Requirement:
            return replace(requirement, confidence=1 / (1 + odds))

        return self._least(at, MOST_ODDS, "a confidence of 10 %")

    def narrowest(self, requirement: Requirement) -> Plan:
        """The plan with the narrowest width on both sides; that in `requirement` is only a place holder."""

        def at(width: float) -> Requirement:
            return replace(requirement, region=AbsoluteRegion.even(width))

        widest, whole = WIDEST * requirement.sensitivity, requirement.integer
        easiest = AbsoluteRegion.even(widest).describe()
        return self._least(at, float(math.ceil(widest)) if whole else widest, easiest, whole=whole)

    def _least(
        self, at: Callable[[float], Requirement], most: float, easiest: str, *, whole: bool = False
    ) -> Plan:
        """The plan of the least number whose requirement fits; the easiest, `most`, is looked at first."""
        made: dict[float, Plan | None] = {}

        def short(x: float) -> float:
            try:
                made[x] = self.plan(at(x))
            except InputError:
                made[x] = None
            return 1.0 if made[x] is None else -1.0

        if whole:
            found: float | None = least_whole(short, most, most)
        else:
            found = least_enough(short, most, close=TOLERANCE, beside=2.0, most=most)
        plan = None if found is None else made.get(found)
        if plan is None:
            raise CannotCertifyError(f"Even {easiest} costs more than {self.limit}. Allow more.")
        return plan

    def fits_planned(self, requirement: Requirement) -> bool:
        """Whether the plan that the planner makes for a requirement and this budget fits."""
        reserve = self.terms.reserve_left(self.spent)
        try:
            return self._is_within(self._price(plan_for(requirement, self.families, reserve)))
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


def laws_for(requirement: Requirement, families: tuple[str, ...] | None = None) -> tuple[Plan, ...]:
    """Every certified law for the requirement, as a plan of one release."""
    return laws_for_one(requirement, families) + laws_for_many(requirement, families)


@lru_cache
def laws_for_one(requirement: Requirement, families: tuple[str, ...] | None) -> tuple[Plan, ...]:
    """The laws that are certified for the requirement."""
    return tuple(plan_of(requirement, entry) for entry in certified_laws(requirement, families))


@lru_cache
def laws_for_many(requirement: Requirement, families: tuple[str, ...] | None) -> tuple[Plan, ...]:
    """Further laws, which are best for many releases."""
    seen = [plan.mechanism for plan in laws_for_one(requirement, families)]
    if not seen[0].follows_answer or requirement.releases > 1:
        return ()
    try:
        many = certified_laws(
            replace(requirement, releases=MANY), families or (*joint_families(requirement), FREE_FORM.name)
        )
    except CannotCertifyError:
        return ()
    designs = [entry.design for entry in many]
    found = (certified(requirement, design) for design in designs if design not in seen)
    return tuple(plan_of(requirement, entry) for entry in found if entry is not None)


def reserve_needed(terms: Terms, requirement: Requirement) -> str:
    """A sentence on the reserve of a new budget that could pay for noise which ends; empty without one."""
    if not requirement.always or terms.delta == 0:
        return ""

    def short(share: float) -> float:
        other = replace(terms, reserve=share)
        asked = replace(requirement, delta=other.noise_delta)
        start = dict.fromkeys(other.limits(), 0)
        payer = Affordable(terms=other, spent=start, blocks=other.every_block)
        return -1.0 if payer.plan(asked) is not None else 1.0

    found = least_enough(short, terms.reserve, close=0.05, beside=4.0, most=MOST_RESERVE)
    if math.isinf(found):
        return "No reserve of a budget of this epsilon and delta could pay for its ends."
    return f"A budget made with a reserve of {rounded_up(found)} or more (--reserve) could pay for its ends."


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
        [replace(asked, confidence=less) for less in TENTHS if less < asked.confidence],
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
        fewer = replace(plan, parts=(part,))
        return _number_that_fits(affordable, fewer, 2) == 1

    return _most(plan.requirement.releases, fits)


def _most(below: int, fits: Callable[[int], bool]) -> int:
    """The largest number below this one that fits, if smaller ones do."""
    first = least_whole(lambda count: 1.0 if fits(count) else -1.0, 1.0, below - 1)
    return max((below if first is None else first) - 1, 0)
