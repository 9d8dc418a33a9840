"""Budgets: plans are priced and paid, answers are never drawn twice, on both stores."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pbdp
from pbdp.errors import InputError, PbdpError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError, PackageUsedUpError
from pbdp.ledger.request import Request
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Claim, Terms
from pbdp.planning.together.search import plan_together
from tests.planning.kinds import VECTORS, answers_of, plan_of


@cache
def plan(releases: int = 1) -> Plan:
    return pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-8, integer=True, releases=releases)


def test_a_release_is_paid_and_a_retry_brings_the_same_number_back(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=1e-6)
        before = budget.price(plan())
        first = budget.release(plan(), 1234, key="march", query="visits in March")
        spent = budget.state.spent
        assert spent == before.cost
        # the answer may have changed meanwhile: the record tells nothing of it, and neither does the retry
        assert budget.release(plan(), 999, key="march", query="visits in March") == first
        assert budget.state.spent == spent
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


def test_what_does_not_fit_is_refused_with_what_would_and_nothing_is_spent(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=0.5, delta=1e-6)
        fitting, counted = budget.price(plan()).times
        assert fitting is not None
        assert counted
        for _ in range(fitting):
            budget.release(plan(), 1234, again=True)
        before = budget.state
        with pytest.raises(BudgetExceededError, match=r"% of it is spent, and too little is left") as refusal:
            budget.release(plan(), 1234, again=True)
        assert "1234" not in str(refusal.value)
        assert "would fit" in refusal.value.remedy
        assert refusal.value.exit_code == 3
        assert budget.state == before
        assert not budget.price(plan()).fits


def test_the_plan_of_the_readme_fits_seven_times(url: str) -> None:
    readme = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        assert budget.price(readme).times == (7, True)
        for _ in range(7):
            budget.release(readme, 1234, again=True)
        with pytest.raises(BudgetExceededError):
            budget.release(readme, 1234, again=True)


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
        assert all(budget.state.spent[name] > amount for name, amount in paid.items())
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
        budget = Budget.create(ledger, "visits", epsilon=20, delta=1e-6)
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
        before = budget.price(joint)
        answers: dict[str, Any] = {"visits": [1, 2], "nights": 3}
        first = budget.release(joint, answers, key="march")
        assert (len(first["visits"]), type(first["nights"])) == (2, int)
        assert budget.release(joint, {"visits": [9, 9], "nights": 9}, key="march") == first
        assert budget.state.spent == before.cost
        # as many numbers, but of other parts, would be told as what they are not
        with pytest.raises(KeyReusedError):
            budget.release(joint, {"visits": 1, "nights": [2, 3]}, key="march")


WHOLE = [*VECTORS, "joint"]


@pytest.mark.parametrize("kind", WHOLE)
def test_a_vector_and_a_joint_plan_are_paid_once_and_come_back_the_same(kind: str, tmp_path: Path) -> None:
    made, answers = plan_of(kind), answers_of(kind)
    with Ledger.create(str(tmp_path / "budget.db")) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=9, delta=1e-3, reserve=0.01)
        before = budget.price(made)
        first = budget.release(made, answers, key="march")
        assert budget.state.spent == before.cost
        assert any(budget.state.spent.values())
        assert type(first) is type(answers)
        assert budget.release(made, answers, key="march") == first
        assert budget.state.spent == before.cost
        # the answer is one release: there is no second one without paying again
        with pytest.raises(PackageUsedUpError, match="again"):
            budget.release(made, answers, key="april")
        second = budget.price(made).cost
        assert second is not None
        assert budget.release(made, answers, key="april", again=True) != first
        assert budget.state.spent == {name: cost + second[name] for name, cost in before.cost.items()}
        assert ledger.verify().sound


@pytest.mark.parametrize("kind", WHOLE)
def test_what_does_not_fit_or_is_wrong_is_refused_before_anything_is_drawn(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, answers = plan_of(kind), answers_of(kind)
    drawn: list[str] = []
    monkeypatch.setattr("pbdp.ledger.budget.SecureKeystream", lambda: drawn.append(kind))
    with Ledger.create(str(tmp_path / "budget.db")) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=0.001, delta=1e-9)
        for wrong in (None, 5, [1.0, "2"], {"visits": 1}):
            with pytest.raises(InputError):
                budget.release(made, wrong)
        with pytest.raises(BudgetExceededError, match="too little is left"):
            budget.release(made, answers)
        assert not any(budget.state.spent.values())
        assert budget.state.releases == 0
    assert not drawn


def test_groups_of_people_in_the_parts_of_a_joint_plan_are_one_release(tmp_path: Path) -> None:
    joint = plan_of("joint")
    groups: dict[str, Any] = {"visits": np.arange(40), "nights": [1, 2, 3]}
    with Ledger.create(str(tmp_path / "budget.db")) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=9, delta=1e-3)
        with pytest.raises(InputError, match="disjoint"):
            budget.release(joint, groups)
        before = budget.price(joint)
        found = budget.release(joint, groups, disjoint=True)
        assert len(found["visits"]) == 40
        assert len(found["nights"]) == 3
        assert budget.state.spent == before.cost


def test_relations_are_never_mixed(url: str) -> None:
    other = pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-8, integer=True, neighbors="replace")
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=1e-6)
        with pytest.raises(InputError, match="neighbors"):
            budget.release(other, 5)


def test_limits_above_what_the_terms_prove_are_not_trusted(url: str) -> None:
    terms = Terms(epsilon=1, delta=1e-6)
    with Ledger.create(url) as ledger:
        raised = terms.limits() | {"variance": terms.limits()["variance"] * 2}
        ledger.create_dataset("visits", raised, terms.record(), "add/remove")
        with pytest.raises(PbdpError, match="above those"):
            Budget.of(ledger, "visits")
        ledger.create_dataset("other", {"variance": 1}, terms.record(), "add/remove")
        with pytest.raises(PbdpError, match="above those"):
            Budget.of(ledger, "other")


def test_limits_that_another_machine_rounds_otherwise_are_kept(url: str) -> None:
    terms = Terms(epsilon=1, delta=1e-6)
    with Ledger.create(url) as ledger:
        # a unit more than here, as exp may differ in its last digit
        limits = terms.limits() | {"variance": terms.limits()["variance"] + 1}
        ledger.create_dataset("visits", limits, terms.record(), "add/remove")
        assert Budget.of(ledger, "visits").spent == 0


# --------------------------------------------------------------------------------------------- packages


def test_packages_are_paid_together_and_used_bit_by_bit(url: str) -> None:
    weekly, monthly = plan(), plan(3)
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        told = budget.price((weekly, 4), (monthly, 2))
        paid = budget.reserve((weekly, 4), (monthly, 2), key="the year")
        assert (paid.repeated, paid.key, paid.label) == (False, "the year", told.label)
        assert paid.share == told.share == paid.spent == budget.spent
        spent = budget.state.spent
        assert spent == told.cost
        # the same key pays once
        again = budget.reserve((weekly, 4), (monthly, 2), key="the year")
        assert (again.repeated, again.share, again.spent) == (True, paid.share, paid.spent)
        with pytest.raises(KeyReusedError):
            budget.reserve((weekly, 5), (monthly, 2), key="the year")
        with pytest.raises(KeyReusedError):
            budget.release(weekly, 1, key="the year")
        for week in range(4):
            budget.release(weekly, 1234, key=f"week {week}")
        budget.release(monthly, [1, 2, 3])
        assert budget.state.spent == spent
    with Ledger.open(url) as ledger:
        budget = Budget.of(ledger, "visits")
        budget.release(monthly, [1, 2, 3])
        assert budget.state.spent == spent
        for used in (weekly, monthly):
            with pytest.raises(PackageUsedUpError, match="again"):
                budget.release(used, 1)
        assert [entry.kind for entry in ledger.history("visits")][:3] == ["dataset", "purchase", "purchase"]
        assert ledger.verify().sound
        budget.release(weekly, 1, again=True)
        assert budget.state.spent != spent


def test_a_package_serves_another_process(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        budget.reserve((plan(), 2))
        spent = budget.state.spent
    program = (
        "import pbdp, sys\n"
        "from pbdp.ledger import Ledger\n"
        "from pbdp.ledger.budget import Budget\n"
        "plan = pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-8, integer=True)\n"
        "with Ledger.open(sys.argv[1]) as ledger:\n"
        "    budget = Budget.of(ledger, 'visits')\n"
        "    print(budget.release(plan, 5, key='there'), budget.spent)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, check=True)
    with Ledger.open(url) as ledger:
        budget = Budget.of(ledger, "visits")
        assert done.stdout.split() == [str(budget.release(plan(), 5, key="there")), str(budget.spent)]
        assert budget.state.spent == spent
        budget.release(plan(), 6)
        with pytest.raises(PackageUsedUpError):
            budget.release(plan(), 7)


def test_packages_that_do_not_fit_are_told_how_many_would(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=1e-6)
        budget.release(plan(), 5)
        with pytest.raises(BudgetExceededError, match=r"of the 1,000 would fit") as refusal:
            budget.reserve((plan(), 1000))
        number = int(refusal.value.remedy.split()[0])
        assert not budget.price((plan(), number + 1)).fits
        budget.reserve((plan(), number))


def test_a_plan_with_too_many_releases_is_told_how_many_would_fit(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=0.5, delta=1e-6)
        many = plan(60)
        with pytest.raises(BudgetExceededError, match=r"releases of this plan would fit") as refusal:
            budget.release(many, 5)
        number = int(refusal.value.remedy.split()[0])
        assert 1 < number < 60
        part = replace(many.only, requirement=replace(many.requirement, releases=number))
        assert budget.price(replace(many, parts=(part,))).fits


def test_a_plan_that_is_named_twice_is_meant_twice(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        assert budget.price(plan(), plan()).cost == budget.price((plan(), 2)).cost
        budget.reserve(plan(), plan())
        budget.release(plan(), 1)
        budget.release(plan(), 1)
        with pytest.raises(PackageUsedUpError):
            budget.release(plan(), 1)


@pytest.mark.parametrize("wrong", [(), ((5, 1),), ((None, 1),), ("plan.json",)])
def test_only_plans_are_reserved(wrong: Any, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "budget.db") as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        with pytest.raises(InputError):
            budget.reserve(*wrong)
        for times in (0, -1, 1.5, True):
            with pytest.raises(InputError, match="times"):
                budget.reserve((plan(), times))  # type: ignore[arg-type]
        assert not any(budget.state.spent.values())


def test_a_claim_is_paid_for(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=1e-6, reserve=0.1)
        paid = budget.reserve(Claim(epsilon=0.2, delta=1e-8, label="survey of 2020"), key="survey")
        assert paid.label == "survey of 2020"
        assert 0 < paid.spent < 1
        # a little of its reach may be paid from the reserve
        assert 1.99 * 10**11 < budget.state.spent["reach"] <= 2 * 10**11
        assert budget.reserve(Claim(epsilon=0.2, delta=1e-8, label="survey of 2020"), key="survey").repeated
        with pytest.raises(BudgetExceededError, match="in reserve"):
            budget.reserve(Claim(epsilon=0.1, delta=9.5e-8))


def test_a_purchase_of_before_a_recovery_is_void(file: Path) -> None:
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        budget.reserve((plan(), 3), key="three")
        spent = budget.state.spent
    backup = file.read_bytes()
    with Ledger.open(file) as ledger:
        Budget.of(ledger, "visits").release(plan(), 1)
    file.write_bytes(backup)
    with Ledger.repair(file, "known") as ledger:
        budget = Budget.of(ledger, "visits")
        # its releases may have been used in what was lost
        with pytest.raises(KeyReusedError, match="recovery"):
            budget.reserve((plan(), 3), key="three")
        assert budget.state.spent == spent
        budget.release(plan(), 1)
        assert budget.state.spent != spent


def test_a_budget_that_was_recovered_with_all_of_its_gap_gives_nothing(file: Path) -> None:
    with Ledger.create(file) as ledger:
        Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
    backup = file.read_bytes()
    with Ledger.open(file) as ledger:
        Budget.of(ledger, "visits").release(plan(), 1)
    file.write_bytes(backup)
    with Ledger.repair(file, "all") as ledger:
        budget = Budget.of(ledger, "visits")
        assert budget.spent == 1
        with pytest.raises(BudgetExceededError, match="100 % of it is spent"):
            budget.release(plan(), 1)
        assert "100 %" in budget.describe()
        assert "still fit" not in budget.describe()


# ----------------------------------------------------------------------------------------------- blocks


def test_only_the_blocks_that_are_read_pay(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=1e-6, blocks=["north", "south"])
        assert budget.terms.blocks == ("north", "south")
        budget.release(plan(), 5, blocks="north", key="a")
        spent = budget.state.spent
        assert {name for name, amount in spent.items() if amount} == {
            f"{kind} of north" for kind in ("variance", "reach", "reserve")
        }
        north = budget.spent
        budget.release(plan(), 5, blocks=["south"], key="b")
        # each person is in one of them: the other costs the same, and no more is spent of any
        assert budget.spent == north
        budget.release(plan(), 5, key="c")
        assert budget.spent > north
        assert Budget.of(ledger, "visits").describe().count("%") >= 3
        assert "By block: north" in budget.describe()
        with pytest.raises(InputError, match="among north, south"):
            budget.release(plan(), 5, blocks="west", again=True)
        with pytest.raises(KeyReusedError):
            budget.release(plan(), 5, blocks="south", key="a")
        assert ledger.verify().sound


def test_a_package_of_one_block_is_of_no_use_for_others(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6, blocks=["north", "south", "west"])
        budget.reserve((plan(), 2), blocks=["south", "north"])
        spent = budget.state.spent
        for blocks in ("north", ["south", "west"], None):
            budget.release(plan(), 5, blocks=blocks)
            assert budget.state.spent != spent, blocks
            spent = budget.state.spent
        # in whatever order they are named
        budget.release(plan(), 5, blocks=["north", "south"])
        budget.release(plan(), 5, blocks=["south", "north", "south"])
        assert budget.state.spent == spent
        with pytest.raises(PackageUsedUpError):
            budget.release(plan(), 5, blocks=["north", "south"])


def test_a_package_of_all_blocks_is_for_all_of_them(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6, blocks=["north", "south"])
        budget.reserve((plan(), 2))
        spent = budget.state.spent
        budget.release(plan(), 5)
        budget.release(plan(), 5, blocks=["south", "north"])
        assert budget.state.spent == spent


def test_one_full_block_does_not_stop_the_others(url: str) -> None:
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=0.5, delta=1e-6, blocks=["north", "south"])
        while budget.price(plan(), blocks="north").fits:
            budget.release(plan(), 5, blocks="north", again=True)
        with pytest.raises(BudgetExceededError):
            budget.release(plan(), 5, blocks="north", again=True)
        with pytest.raises(BudgetExceededError):
            budget.release(plan(), 5, again=True)
        budget.release(plan(), 5, blocks="south", again=True)


def test_blocks_are_refused_under_replace(tmp_path: Path) -> None:
    with (
        Ledger.create(tmp_path / "budget.db") as ledger,
        pytest.raises(InputError, match="may change two blocks"),
    ):
        Budget.create(ledger, "visits", epsilon=1, delta=1e-6, blocks=["n", "s"], neighbors="replace")


# ------------------------------------------------------------------------------------------ words, risk


def test_status_speaks_of_shares_and_of_more_like_the_last(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "budget.db") as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        words = budget.describe()
        assert words.startswith("visits: 0 % of epsilon 3 at delta 1e-06 is spent, in 0 releases.")
        assert "like the last one" not in words
        assert "guesses right at most 95.26 % of the time" in words
        assert budget.risk() == pytest.approx(0.952574, abs=1e-6)
        budget.release(plan(), 5)
        fits, _ = budget.price(plan()).times
        assert fits is not None
        told = int(
            re.findall(r"About ([\d,]+) more like the last one", budget.describe())[0].replace(",", "")
        )
        assert abs(told - fits) <= 0.3 * fits
        assert "DP" not in budget.describe()
        assert "(3, 1e-06)-DP" in budget.describe(explain=True)


def test_when_the_variance_is_gone_epsilons_that_add_up_are_told(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "budget.db") as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1, delta=1e-6)
        cost = {"variance": budget.terms.limits()["variance"], "reach": 6 * 10**11, "reserve": 0}
        ledger.reserve(
            Request(
                dataset="visits",
                plans=(("ab" * 32, "all of it", 1),),
                cost=cost,
                values=1,
                neighbors="add/remove",
            )
        )
        assert budget.spent == 1
        left = re.findall(r"epsilons add up to no more than (\S+)\.\s", budget.describe())
        assert left
        budget.reserve(Claim(epsilon=float(left[0])))
