"""The law that costs least of what is left, what a share of it buys, and what would fit instead."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

import pytest

import pbdp
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_within
from pbdp.planning.plan import Plan
from pbdp.planning.planner import plan_for
from pbdp.planning.pricing import Amounts, Claim, Terms, price
from pbdp.planning.pricing.choice import FEW, QUICK, Affordable, laws_for, what_fits

TERMS = Terms(epsilon=3, delta=1e-6)
NOTHING = dict.fromkeys(TERMS.limits(), 0)


def asked(within: float = 20, confidence: float = 0.95, releases: int = 1) -> Requirement:
    return Requirement(
        region=region_within(within),
        confidence=confidence,
        sensitivity=1,
        delta=1e-6,
        integer=True,
        releases=releases,
    )


def payer(spent: Amounts = NOTHING, terms: Terms = TERMS, share: float = 1.0) -> Affordable:
    return Affordable(terms=terms, spent=spent, blocks=terms.every_block, share=share)


@lru_cache(maxsize=4)
def nearly_spent(share: float, terms: Terms = TERMS) -> Amounts:
    """A state in which about this share is spent, in small steps."""
    spent = dict.fromkeys(terms.limits(), 0)
    step = Claim(epsilon=0.25 * terms.epsilon / 3)
    while terms.share(spent) < share:
        cost = terms.cost(((step, 1),), spent)
        assert cost is not None
        spent = {name: amount + cost[name] for name, amount in spent.items()}
    return spent


# --------------------------------------------------------------------------------------------- the choice


def test_every_law_keeps_what_is_asked() -> None:
    laws = laws_for(asked())
    assert len({law.mechanism for law in laws}) == len(laws) > 3
    for law in laws:
        assert law.requirement == asked()
        assert law.confidence >= 0.95
        noise = law.law_at(0)
        inside = noise.probability[abs(noise.output) <= 20].sum()
        assert inside >= 0.95 - 1e-9


def test_the_cheapest_law_is_chosen_where_many_fit() -> None:
    found = payer().choice(asked(50))
    assert found is not None
    prices = {law: price(TERMS, ((law, 1),)) for law in laws_for(asked(50))}
    least = min(priced.share for priced in prices.values() if priced.share is not None)
    assert found.price.share == least
    assert found.price.share < 1 / FEW
    # not the one with the least epsilon of its own
    own = price(TERMS, ((pbdp.plan(within=50, confidence=0.95, sensitivity=1, delta=1e-6, integer=True), 1),))
    assert own.share is not None
    assert own.share > 1.5 * least


def test_the_number_that_fits_decides_where_few_do() -> None:
    found = payer().choice(asked(5))
    assert found is not None
    counts = [price(TERMS, ((law, 1),)).times[0] or 0 for law in laws_for(asked(5))]
    assert found.price.times[0] == max(counts)


def test_what_does_not_fit_is_not_chosen() -> None:
    assert payer().choice(asked(1, 0.999)) is None
    assert payer().plan(asked(1, 0.999)) is None
    assert payer(TERMS.limits()).choice(asked(1000)) is None


def test_a_share_is_a_share_of_what_is_left() -> None:
    spent = nearly_spent(0.5)
    left = 1 - TERMS.share(spent)
    found = payer(spent, share=0.1).choice(asked(50))
    assert found is not None
    assert found.price.share is not None
    assert found.price.share <= 0.1 * left
    tight = payer(spent, share=found.price.share / left * 0.5)
    assert tight.choice(asked(50)) is None or tight.choice(asked(50)).price.share <= tight.share * left  # type: ignore[union-attr,operator]
    assert payer(spent, share=0.1).limit == "0.1 of what is left"
    assert payer(spent).limit == "what is left"


def test_laws_of_a_relation_and_of_several_releases() -> None:
    for requirement in (replace(asked(), neighbors="replace"), asked(releases=3)):
        laws = laws_for(requirement, QUICK)
        assert laws
        assert all(law.requirement == requirement for law in laws)


# ------------------------------------------------------------------------------------------ what would fit


def planned(within: float, confidence: float) -> Plan:
    return pbdp.plan(within=within, confidence=confidence, sensitivity=1, delta=1e-6, integer=True)


ADVICE = re.compile(
    r"one within (\S+) of the truth would fit(?:; so would one with a confidence of (\S+) %)?", re.I
)


@pytest.mark.parametrize("share", [0.9, 0.97])
@pytest.mark.parametrize(("within", "confidence"), [(2, 0.99), (5, 0.99), (5, 0.9999)])
def test_the_wider_width_and_the_lower_confidence_fit_when_planned(
    share: float, within: int, confidence: float
) -> None:
    spent = nearly_spent(share)
    plan = planned(within, confidence)
    assert not price(TERMS, ((plan, 1),), spent).fits
    words = what_fits(payer(spent), plan)
    found = ADVICE.search(words)
    assert found is not None, words
    reserve = TERMS.reserve_left(spent)
    easier = [replace(plan.requirement, region=region_within(float(found[1])))]
    if found[2] is not None:
        easier.append(replace(plan.requirement, confidence=float(found[2]) / 100))
    for requirement in easier:
        assert price(TERMS, ((plan_for(requirement, None, reserve), 1),), spent).fits


def test_what_a_budget_may_choose_fits_with_some_law() -> None:
    spent = nearly_spent(0.97)
    cheapest = laws_for(asked(5, 0.99))[0]
    words = what_fits(payer(spent), cheapest, any_law=True)
    found = ADVICE.search(words)
    assert found is not None, words
    assert payer(spent).plan(asked(float(found[1]), 0.99)) is not None


def test_the_number_that_fits_is_the_largest() -> None:
    plan = planned(10, 0.9)
    words = what_fits(payer(), plan, 500)
    number = int(words.split()[0])
    assert words.startswith(f"{number} of the 500 would fit")
    assert price(TERMS, ((plan, number),)).fits
    assert not price(TERMS, ((plan, number + 1),)).fits


def test_claims_are_told_their_number_only() -> None:
    assert what_fits(payer(), Claim(epsilon=1.0), 5) == "3 of the 5 would fit."
    assert what_fits(payer(), Claim(epsilon=4.0)) == ""


def test_nothing_is_advised_where_nothing_fits() -> None:
    assert what_fits(payer(TERMS.limits()), planned(5, 0.9)) == ""
