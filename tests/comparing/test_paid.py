"""Comparisons that a budget pays for: the same again for the same key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pbdp.comparing.plan import ComparisonPlan, plan_comparison
from pbdp.errors import InputError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget


@pytest.fixture
def budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Budget]:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    with Ledger.create(tmp_path / "budget.db") as ledger:
        yield Budget.create(ledger, "signups", epsilon=3, delta=1e-6, neighbors="replace")


@pytest.fixture(scope="module")
def once() -> ComparisonPlan:
    return plan_comparison(users=(100, 200), rate=0.2, wider=0.05)


def test_a_comparison_is_paid_and_repeated(budget: Budget, once: ComparisonPlan) -> None:
    first = once.paid(budget, [21, 40], key="march")
    spent = budget.spent
    assert spent > 0
    assert once.paid(budget, [21, 40], key="march") == first
    assert budget.spent == spent
    once.paid(budget, [21, 40])
    assert budget.spent > spent


def test_refusals(budget: Budget, once: ComparisonPlan) -> None:
    with pytest.raises(InputError, match="groups must be two"):
        once.paid(budget, [1, 2, 3])
    added = plan_comparison(users=(100, 200), rate=0.2, wider=0.05, neighbors="add/remove")
    with pytest.raises(InputError, match="neighbors must be 'replace'"):
        added.paid(budget, [21, 40])


def test_means_are_paid_for_as_one_release(budget: Budget) -> None:
    plan = plan_comparison(users=(400, 500), bounds=(0, 10), spread=2, wider=0.5)
    rng = np.random.default_rng(2)
    groups = [rng.uniform(0, 10, 400), rng.uniform(0, 10, 500)]
    first = plan.paid(budget, groups, key="hours")
    spent = budget.spent
    assert 0 < spent < 1
    assert plan.paid(budget, groups, key="hours") == first
    assert budget.spent == spent
    assert first.paid is not None
    assert first.paid["dataset"] == "signups"
