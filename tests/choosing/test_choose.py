"""Choices that a budget pays for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.choosing.choose import Chosen, choose_paid
from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.request import Asked, ChoiceRequest
from pbdp.choosing.search import plan_picks, plans_for, plans_of_epsilon
from pbdp.errors import ContradictionError, InputError, ParameterError, PbdpError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError

SCORES = {"north": 1200, "south": 1350, "west": 700, "east": 1349}
ASKED = Asked(options=4, sensitivity=1, integer=True, rising=True, top=3, delta=1e-6)
ALL = plans_for(ASKED, 50, 0.95)


@pytest.fixture
def budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Budget]:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    with Ledger.create(tmp_path / "budget.db") as ledger:
        yield Budget.create(ledger, "visits", epsilon=3, delta=1e-6)


def choose(budget: Budget, key: str | None = None, top: int = 1, scores: object = None) -> Chosen:
    given = SCORES if scores is None else scores
    return pbdp.choose(
        given,
        within=50,
        confidence=0.95,
        sensitivity=1,
        integer=True,
        rising=True,
        top=top,
        budget=budget,
        key=key,
    )


def test_it_is_paid_stored_and_repeated(budget: Budget) -> None:
    first = choose(budget, key="best region")
    assert first.option in SCORES
    assert 0 < first.share == first.spent == budget.spent
    again = choose(budget, key="best region")
    assert (again.option, again.repeated, again.share) == (first.option, True, 0.0)
    assert budget.spent == first.spent
    assert "Request key: best region" in first.describe()
    assert choose(budget).repeated is False
    assert budget.ledger.verify().sound


def test_it_costs_what_its_claims_cost_together(budget: Budget) -> None:
    for plan in ALL:
        price, before = budget.price((plan.claim, plan.times)), budget.state.spent
        paid = choose_paid(budget, plan, SCORES)
        assert isinstance(paid.option, list)
        assert price.cost is not None
        assert budget.state.spent == {name: before[name] + cost for name, cost in price.cost.items()}
    assert sorted(plan.times for plan in ALL) == [1, 1, 3]


def test_of_all_laws_the_one_that_costs_least_is_paid_for(budget: Budget) -> None:
    prices = [budget.price((plan.claim, plan.times)).share for plan in ALL]
    paid = choose(budget, top=3, key="three")
    assert paid.share == min(price for price in prices if price is not None)
    assert choose(budget, top=3, key="three").repeated


@pytest.mark.parametrize("plan", ALL, ids=lambda plan: plan.law)
def test_every_choice_is_paid_for_anew(budget: Budget, plan: ChoicePlan) -> None:
    spent = [0.0]
    for key in (None, None, "own", None):
        assert choose_paid(budget, plan, SCORES, key=key).repeated is False
        spent.append(budget.spent)
    assert np.all(np.diff(spent) > 0.9 * spent[1])
    assert choose_paid(budget, plan, SCORES, key="own").repeated
    assert budget.spent == spent[-1]
    assert budget.ledger.verify().sound


def test_a_budget_without_delta_pays_for_what_needs_none(budget: Budget) -> None:
    pure = Budget.create(budget.ledger, "pure", epsilon=3, delta=0)
    assert choose(pure, top=3).plan.law == "uniform noise of a random width"


def test_what_was_paid_for_as_picks_comes_back(budget: Budget) -> None:
    """It does not matter what would be cheaper by now."""
    picks = plan_picks(replace(ASKED, delta=0.0), 50, 0.95)
    first = choose_paid(budget, picks, SCORES, key="old")
    again = choose(budget, top=3, key="old")
    assert (again.option, again.repeated, again.plan.law) == (first.option, True, "permute and flip")
    given: dict[str, Any] = {"sensitivity": 1, "integer": True, "rising": True, "top": 3, "epsilon": 0.1}
    asked = ChoiceRequest(options=4, within=50, **given)
    spent = plans_of_epsilon(asked)[0]
    bought = choose_paid(budget, spent, SCORES, key="bought")
    again = pbdp.choose(SCORES, within=50, **given, budget=budget, key="bought")
    assert (again.option, again.repeated) == (bought.option, True)
    assert pbdp.choose(SCORES, within=50, **given, budget=budget).plan.confidence > spent.confidence


def test_a_key_stands_for_the_same_options(budget: Budget) -> None:
    choose(budget, key="a")
    with pytest.raises(KeyReusedError):
        choose(budget, key="a", scores={"north": 1, "south": 2, "west": 3, "center": 4})
    with pytest.raises(KeyReusedError):
        choose(budget, key="a", top=2)


def test_what_does_not_fit_is_refused_before_the_scores_are_looked_at(budget: Budget) -> None:
    with pytest.raises(BudgetExceededError):
        pbdp.choose([1, 2, 3], within=0, confidence=0.999999, sensitivity=1, integer=True, budget=budget)
    with pytest.raises(InputError, match="scores must be"):
        choose(budget, scores={"a": "x"})
    assert budget.spent == 0


def test_scores_that_are_no_use_are_paid_for_like_others(budget: Budget) -> None:
    """What is refused would tell of them."""
    costs = {choose(budget, scores=[value] * 4).plan.epsilon for value in (0, 1e300, float("nan"), None)}
    assert len(costs) == 1


def test_a_budget_has_its_own_delta_and_neighbors(budget: Budget) -> None:
    asked: dict[str, Any] = {"within": 50, "confidence": 0.95, "sensitivity": 1}
    with pytest.raises(ContradictionError, match="delta must be left out with a budget"):
        pbdp.choose(SCORES, **asked, delta=1e-9, budget=budget)
    with pytest.raises(PbdpError, match="neighbors"):
        pbdp.choose(SCORES, **asked, neighbors="replace", budget=budget)
    other = Budget.create(budget.ledger, "fixed size", epsilon=3, delta=1e-6, neighbors="replace")
    assert pbdp.choose(SCORES, **asked, budget=other).plan.asked.neighbors == "replace"
    assert budget.spent == 0


def test_a_key_needs_a_budget_and_scores_their_sensitivity(budget: Budget) -> None:
    choose_any: Any = pbdp.choose
    with pytest.raises(ContradictionError, match="key must be left out without a budget"):
        choose_any(SCORES, within=50, confidence=0.95, sensitivity=1, key="best region")
    with pytest.raises(ParameterError, match=r"choose\(\) needs sensitivity"):
        choose_any(SCORES, within=50, confidence=0.95, budget=budget)
