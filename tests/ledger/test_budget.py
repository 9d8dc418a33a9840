"""Budgets: plans are priced and paid under a rule, answers are never drawn twice, on both stores."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pbdp
from pbdp.errors import InputError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError, PackageUsedUpError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.plan import Plan
from pbdp.planning.together import plan_together
from tests.planning.kinds import VECTORS, answers_of, plan_of


@cache
def plan(releases: int = 1) -> Plan:
    return pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-8, integer=True, releases=releases)


def test_a_release_is_paid_and_a_retry_brings_the_same_number_back(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=1e-6)
        first = budget.release(plan(), 1234, key="march", query="visits in March")
        spent = budget.state.spent
        # the answer may have changed meanwhile: the record tells nothing of it, and neither does the retry
        assert budget.release(plan(), 999, key="march", query="visits in March") == first
        assert budget.state.spent == spent == budget.price(plan()).cost
        assert isinstance(first, int)
    with Ledger.open(url) as ledger:
        assert Budget.of(ledger, "visits").release(plan(), 0, key="march", query="visits in March") == first
        assert ledger.verify().sound


def test_a_key_stands_for_one_request(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=1e-6)
        budget.release(plan(), 1234, key="march")
        with pytest.raises(KeyReusedError):
            budget.release(plan(), 1234, key="march", query="another")
        with pytest.raises(KeyReusedError):
            budget.release(plan(2), [1, 2], key="march")


def test_what_does_not_fit_is_refused_with_the_numbers_and_nothing_is_spent(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=0.5, delta=1e-6)
        price = budget.price(plan())
        fitting = price.times
        assert fitting is not None
        for _ in range(fitting):
            budget.release(plan(), 1234, again=True)
        before = budget.state
        with pytest.raises(
            BudgetExceededError, match=r"costs 0\.\d+ of Rényi loss .* is left of 0\."
        ) as refusal:
            budget.release(plan(), 1234, again=True)
        assert "1234" not in str(refusal.value)
        assert refusal.value.exit_code == 3
        assert budget.state == before
        assert not budget.price(plan()).fits


def test_the_releases_of_a_plan_are_counted_across_calls(url: str) -> None:
    several = plan(3)
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        assert len(budget.release(several, [1, 2])) == 2
        paid = budget.state.spent
        budget.release(several, 3)
        assert budget.state.spent == paid, "the package was paid as a whole"
        with pytest.raises(PackageUsedUpError, match="again"):
            budget.release(several, 4)
        budget.release(several, 4, again=True)
        assert budget.state.spent == {name: 2 * amount for name, amount in paid.items()}
        with pytest.raises(InputError, match="at most"):
            budget.release(several, [1, 2, 3, 4])
        assert len(budget.release(several, list(range(50)), disjoint=True)) == 50


def test_bad_answers_are_refused_before_anything_is_paid(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=1e-6)
        for bad in ("12", [1, "2"], [], np.array(["1"]), True, None, {"visits": 1}):
            with pytest.raises(InputError):
                budget.release(plan(), bad, disjoint=True)
        assert not any(budget.state.spent.values())
        assert budget.state.releases == 0


def test_answers_come_back_in_their_form(url: str) -> None:
    real = pbdp.plan(within=2.5, confidence=0.9, sensitivity=1, delta=1e-8)
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=20, delta=1e-6, rule="sum")
        column = pd.Series([1.5, 2.25], index=["a", "b"], name="amount")
        first = budget.release(real, column, disjoint=True, key="k")
        again = budget.release(real, column, disjoint=True, key="k")
        assert first.equals(again)
        assert first.index.equals(column.index)
        assert type(budget.release(real, Decimal("1.1"), again=True)) is Decimal


def test_all_parts_of_a_plan_are_paid_together_and_never_mixed_up(url: str) -> None:
    def asked(releases: int) -> Requirement:
        region = AbsoluteRegion.even(20)
        return Requirement(
            region=region, confidence=0.9, sensitivity=1, delta=1e-8, integer=True, releases=releases
        )

    joint = plan_together({"visits": asked(2), "nights": asked(2)})
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "shop", epsilon=3, delta=1e-6)
        first = budget.release(joint, {"visits": [1, 2], "nights": 3}, key="march")
        assert (len(first["visits"]), type(first["nights"])) == (2, int)
        assert budget.release(joint, {"visits": [9, 9], "nights": 9}, key="march") == first
        assert budget.state.spent == budget.price(joint).cost
        # as many numbers, but of other parts, would be told as what they are not
        with pytest.raises(KeyReusedError):
            budget.release(joint, {"visits": 1, "nights": [2, 3]}, key="march")


def test_rules_other_than_the_first_work_too(url: str) -> None:
    with Ledger.create(url) as ledger:
        added = Budget.create(ledger, "sums", epsilon=1, delta=1e-6, rule="sum")
        added.release(plan(), 5)
        batch = Budget.create(ledger, "batch", epsilon=1, delta=1e-6, rule="batch", plans=[(plan(), 2)])
        batch.release(plan(), 5)
        batch.release(plan(), 5, again=True)
        with pytest.raises(BudgetExceededError):
            batch.release(plan(), 5, again=True)
        with pytest.raises(InputError, match="batch"):
            batch.release(plan(2), 5)
        assert Budget.of(ledger, "batch").rule.kind == "batch"
        assert ledger.verify().sound


WHOLE = [*VECTORS, "joint"]


@pytest.mark.parametrize("rule", ["renyi", "sum"])
@pytest.mark.parametrize("kind", WHOLE)
def test_a_vector_and_a_joint_plan_are_paid_once_and_come_back_the_same(
    kind: str, rule: str, tmp_path: Path
) -> None:
    made, answers = plan_of(kind), answers_of(kind)
    with Ledger.create(str(tmp_path / "budget.db")) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=9, delta=1e-3, rule=rule)
        first = budget.release(made, answers, key="march")
        assert budget.state.spent == budget.price(made).cost
        assert any(budget.state.spent.values())
        assert type(first) is type(answers)
        assert budget.release(made, answers, key="march") == first
        assert budget.state.spent == budget.price(made).cost
        # the answer is one release: there is no second one without paying again
        with pytest.raises(PackageUsedUpError, match="again"):
            budget.release(made, answers, key="april")
        assert budget.release(made, answers, key="april", again=True) != first
        assert budget.state.spent == {name: 2 * cost for name, cost in budget.price(made).cost.items()}
        assert ledger.verify().sound


@pytest.mark.parametrize("kind", WHOLE)
def test_what_does_not_fit_or_is_wrong_is_refused_before_anything_is_drawn(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, answers = plan_of(kind), answers_of(kind)
    drawn: list[str] = []
    monkeypatch.setattr("pbdp.ledger.budget.SecureKeystream", lambda: drawn.append(kind))
    with Ledger.create(str(tmp_path / "budget.db")) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=0.01, delta=1e-3, rule="sum")
        for wrong in (None, 5, [1.0, "2"], {"visits": 1}):
            with pytest.raises(InputError):
                budget.release(made, wrong)
        with pytest.raises(BudgetExceededError, match="epsilon"):
            budget.release(made, answers)
        assert not any(budget.state.spent.values())
        assert budget.state.releases == 0
    assert not drawn


def test_groups_of_people_in_the_parts_of_a_joint_plan_are_one_release(tmp_path: Path) -> None:
    joint, groups = plan_of("joint"), {"visits": np.arange(40), "nights": [1, 2, 3]}
    with Ledger.create(str(tmp_path / "budget.db")) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=9, delta=1e-3)
        with pytest.raises(InputError, match="disjoint"):
            budget.release(joint, groups)
        found = budget.release(joint, groups, disjoint=True)
        assert len(found["visits"]) == 40
        assert len(found["nights"]) == 3
        assert budget.state.spent == budget.price(joint).cost


def test_relations_are_never_mixed(url: str) -> None:
    other = pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-8, integer=True, neighbors="replace")
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=1e-6)
        with pytest.raises(InputError, match="neighbors"):
            budget.release(other, 5)


def test_limits_above_what_the_rule_proves_are_not_trusted(url: str) -> None:
    from pbdp.errors import PbdpError
    from pbdp.planning.pricing import make_rule

    rule = make_rule("renyi", epsilon=1, delta=1e-6)
    with Ledger.create(url) as ledger:
        raised = {name: 2 * limit for name, limit in rule.limits().items()}
        ledger.create_dataset("visits", raised, rule.record(), "add/remove")
        with pytest.raises(PbdpError, match="above those"):
            Budget.of(ledger, "visits")
