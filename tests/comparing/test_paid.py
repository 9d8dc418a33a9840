"""Comparisons that a budget pays for: once for all looks, the same again for the same key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pbdp.comparing.plan import ComparisonPlan
from pbdp.comparing.search import plan_comparison
from pbdp.errors import ContradictionError, InputError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import PackageUsedUpError


@pytest.fixture
def budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Budget]:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    with Ledger.create(tmp_path / "budget.db") as ledger:
        yield Budget.create(ledger, "signups", epsilon=3, delta=1e-6, neighbors="replace")


@pytest.fixture(scope="module")
def once() -> ComparisonPlan:
    return plan_comparison(users=(1000, 2000), rate=0.2, wider=0.05)


@pytest.fixture(scope="module")
def trial() -> ComparisonPlan:
    return plan_comparison(users=(3000, 3000), rate=0.2, wider=0.2, looks=3)


def test_a_comparison_is_paid_and_repeated(budget: Budget, once: ComparisonPlan) -> None:
    first = once.paid(budget, [210, 400], key="march")
    spent = budget.spent
    assert spent > 0
    assert once.paid(budget, [210, 400], key="march") == first
    assert budget.spent == spent
    once.paid(budget, [210, 400])
    assert budget.spent > spent


def test_all_looks_are_paid_for_with_the_first(budget: Budget, trial: ComparisonPlan) -> None:
    first = trial.paid(budget, [190, 210], key="page")
    spent = budget.spent
    second = trial.paid(budget, [200, 190], after=first)
    third = trial.paid(budget, [200, 190], after=second, key="page")
    assert budget.spent == spent
    assert budget.spent == pytest.approx(budget.terms.share(budget.state.spent))
    # a look that is asked for again is the stored one
    assert trial.paid(budget, [200, 190], after=first) == second
    assert third.look == 3
    # another trial with the same plan pays for itself
    trial.paid(budget, [190, 210], key="other page")
    assert budget.spent > spent


def test_what_a_trial_paid_for_serves_no_other_release(budget: Budget, trial: ComparisonPlan) -> None:
    """Looks are disjoint, other releases are not: units of the one are no units of the other."""
    trial.paid(budget, [190, 210], key="page")
    spent = budget.spent
    budget.release(trial.noise, 1234)
    assert budget.spent > spent


def test_no_look_is_drawn_beyond_the_schedule(budget: Budget, trial: ComparisonPlan) -> None:
    last = None
    for _ in range(3):
        last = trial.paid(budget, [190, 210], key="page", after=last)
    # as if the last look had been lost
    assert last is not None
    forged = type(last)(plan=trial, published=last.published[:2])
    assert trial.paid(budget, [190, 210], after=forged) == last
    parts = {"disjoint": True, "parts": 3, "whole": "page", "key": "page, look 4"}
    with pytest.raises(PackageUsedUpError):
        budget.paid(trial.noise, 2, lambda: np.array([1, 2]), **parts)  # type: ignore[arg-type]


def test_refusals(budget: Budget, trial: ComparisonPlan, once: ComparisonPlan) -> None:
    with pytest.raises(InputError, match="groups must be two"):
        once.paid(budget, [1, 2, 3])
    free = trial.compare(190, 210)
    with pytest.raises(ContradictionError, match="looks that a budget paid for"):
        trial.paid(budget, [190, 210], after=free)
    first = trial.paid(budget, [190, 210], key="page")
    with pytest.raises(ContradictionError, match="looks without a ledger; got looks that a budget paid for"):
        trial.compare(190, 210, after=first)
    with pytest.raises(ContradictionError, match="'page', as at the first look"):
        trial.paid(budget, [190, 210], after=first, key="another")
    added = plan_comparison(users=(1000, 2000), rate=0.2, wider=0.05, neighbors="add/remove")
    with pytest.raises(InputError, match="neighbors must be 'replace'"):
        added.paid(budget, [210, 400])


def test_means_are_paid_for_as_one_release(budget: Budget) -> None:
    plan = plan_comparison(users=(400, 500), bounds=(0, 10), spread=2, wider=0.5)
    rng = np.random.default_rng(2)
    groups = [rng.uniform(0, 10, 400), rng.uniform(0, 10, 500)]
    first = plan.paid(budget, groups, key="hours")
    spent = budget.spent
    assert 0 < spent < 1
    assert plan.paid(budget, groups, key="hours") == first
    assert budget.spent == spent
    assert first.published[0].paid is not None
    assert first.published[0].paid["dataset"] == "signups"
