"""The law that costs least of what is left, and the accuracy that a share of it buys.

Which noise is best depends on what else will be asked: for a few releases the law with the least epsilon, for
many one whose losses are nearly Gaussian. A budget knows neither; it knows what is left. Every law that is
certified for the requirement, and every one that is best for many releases of it, is priced, and the one that
leaves the most is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from pbdp.errors import CannotCertifyError, PbdpError
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certification import certified, plan_of
from pbdp.planning.plan import Plan
from pbdp.planning.planner import FAMILIES, plan_for
from pbdp.planning.pricing.price import Price
from pbdp.planning.pricing.terms import Amounts, Terms

# Laws are also looked for as if so many releases were made.
MANY = 100
# When a width or a confidence is searched for, these stand for all.
QUICK = ("laplace", "huber")


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
    tolerance: float = 1e-2

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
        best: tuple[tuple[float, int], Choice] | None = None
        try:
            for plan in laws_for(requirement, self.families):
                price = Price(terms=self.terms, plans=((plan, 1),), blocks=self.blocks, spent=self.spent)
                if price.spent_after is None or price.cost is None:
                    continue
                order = price.spent_after, sum(price.cost.values())
                if best is None or order < best[0]:
                    best = order, Choice(plan=plan, price=price)
        except PbdpError:
            return None
        if best is None:
            return None
        price = best[1].price
        left = 1 - price.spent_before
        return best[1] if (price.share or 0.0) <= self.share * left * (1 + 1e-12) else None


@lru_cache(maxsize=256)
def laws_for(requirement: Requirement, families: tuple[str, ...] = FAMILIES) -> tuple[Plan, ...]:
    """Every certified law for the requirement, as a plan of one release."""
    return tuple(_laws(requirement, families))


def _laws(requirement: Requirement, families: tuple[str, ...]) -> Iterator[Plan]:
    single = plan_for(requirement, families)
    seen = []
    for entry in (single.chosen, *single.others):
        seen.append(entry.design)
        yield plan_of(requirement, entry)
    if not single.mechanism.follows_answer or requirement.releases > 1:
        return
    try:
        many = plan_for(replace(requirement, releases=MANY), families, per_answer=False)
    except CannotCertifyError:
        return
    for entry in (many.chosen, *many.others):
        found = None if entry.design in seen else certified(requirement, entry.design)
        if found is not None:
            yield plan_of(requirement, found)


def what_fits(affordable: Affordable, plan: Plan) -> str:
    """A sentence on what would fit instead of a plan that does not; empty if nothing simple does."""
    quick = replace(affordable, families=QUICK)
    words = []
    if plan.is_joint or plan.requirement.coordinates is not None:
        return ""
    asked = plan.requirement
    if asked.releases > 1:
        count = _releases_that_fit(quick, plan)
        if count:
            words.append(f"{count} release{'s' if count > 1 else ''} of this plan would fit")
    single = replace(asked, releases=1)
    for factor in (1.25, 1.5, 2, 3, 5, 10, 30, 100):
        region = asked.region.scaled(factor, asked.integer)
        wider = None if region is None else replace(single, region=region)
        if wider is not None and quick.plan(wider) is not None:
            words.append(f"{'one ' if asked.releases > 1 else ''}{wider.region.describe()} would fit")
            break
    for confidence in (0.9, 0.8, 0.7, 0.6, 0.5):
        if confidence < asked.confidence and quick.plan(replace(single, confidence=confidence)) is not None:
            lower = f"a confidence of {confidence:.0%}"
            words.append(f"so would {lower}" if words else f"{lower} would fit")
            break
    if not words:
        return ""
    text = "; ".join(words)
    return f"{text[0].upper()}{text[1:]}."


def _releases_that_fit(affordable: Affordable, plan: Plan) -> int:
    """How many of the plan's releases fit as one package, by halving."""

    def fits(count: int) -> bool:
        part = replace(plan.only, requirement=replace(plan.requirement, releases=count))
        fewer = replace(plan, parts=(part,), compared=tuple, proved=None)
        price = Price(
            terms=affordable.terms, plans=((fewer, 1),), blocks=affordable.blocks, spent=affordable.spent
        )
        return price.fits

    low, high = 0, plan.requirement.releases
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
