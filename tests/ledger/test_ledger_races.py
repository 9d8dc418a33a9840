"""Many processes at once: never more than fits, never a second answer to one key."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pbdp.ledger import BudgetExceededError, Ledger
from pbdp.ledger.budget import Budget
from pbdp.planning.pricing import Terms
from tests.effort import FULL
from tests.ledger.asking import ledger_with_visits, plan_number, request
from tests.ledger.races import claim, paid_as_priced

ROOT = Path(__file__).resolve().parents[2]
# More than cores and connections in waiting; `make soak` starts more.
PROCESSES = 32 if FULL else 12


def race(what: str, url: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.ledger.races", what, url, str(PROCESSES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["errors"] == []
    assert report["fault"] is None
    return report


def test_as_many_fit_as_the_limit_allows(url: str) -> None:
    report = race("limit", url)
    assert report["fits"] == report["fit"] == report["spends"] == report["answers"]
    assert report["refused"] == report["asked"] - report["fit"]
    assert report["spent"] == 10 * report["fit"]


def test_as_many_draw_from_a_package_as_it_holds(url: str) -> None:
    report = race("units", url)
    assert report["fits"] == report["fit"] == report["spends"]
    assert report["refused"] == report["asked"] - report["fit"]
    assert report["spent"] == 10


def test_one_key_is_paid_once_and_answered_once(url: str) -> None:
    report = race("storm", url)
    assert report["said"] == report["asked"]
    assert (report["different"], report["spends"], report["answers"], report["spent"]) == (1, 1, 1, 10)


def test_every_price_is_of_the_state_that_it_was_paid_in(url: str) -> None:
    report = race("prices", url)
    assert report["fits"] == report["paid"] > 0
    assert report["fits"] + report["refused"] == report["asked"]
    assert report["wrong"] == []
    assert report["adds_up"]


def test_threads_pay_prices_of_their_own_states(url: str) -> None:
    threads = 64 if FULL else 24
    with Ledger.create(url) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1.0, delta=1e-6)
        outcomes: list[str] = []

        def work(number: int) -> None:
            try:
                budget.reserve(claim(number))
                outcomes.append("fits")
            except BudgetExceededError:
                outcomes.append("refused")

        running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    report = paid_as_priced(url)
    assert len(outcomes) == threads
    assert outcomes.count("fits") == report["paid"]
    assert (report["wrong"], report["adds_up"], report["fault"]) == ([], True, None)


def test_the_store_is_free_while_a_price_is_found(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else pays in the middle of it, at once; then the price is found again for the new state."""
    states: list[dict[str, int]] = []
    price = Terms.cost
    with Ledger.create(url) as ledger, Ledger.open(url, wait=1) as other:
        budget = Budget.create(ledger, "visits", epsilon=1.0, delta=1e-6)
        busy = Budget.of(other, "visits")

        def slow(terms: Terms, plans: Any, spent: Any, blocks: Any = None) -> Any:
            found = price(terms, plans, spent, blocks)
            if plans[0][0].label == "claim 1":
                states.append(dict(spent))
                if len(states) <= 5:
                    busy.reserve(claim(1 + len(states)))
            return found

        monkeypatch.setattr(Terms, "cost", slow)
        budget.reserve(claim(1))
        monkeypatch.undo()
        labels = [entry.plan_label for entry in ledger.history("visits") if entry.kind == "purchase"]
    assert labels == [*(f"claim {number}" for number in range(2, 7)), "claim 1"]
    assert len(states) == 6
    report = paid_as_priced(url)
    assert (report["wrong"], report["adds_up"], report["fault"]) == ([], True, None)


def test_threads_share_a_ledger(url: str) -> None:
    outcomes: list[str] = []
    with ledger_with_visits(url, limit=100) as ledger:

        def work(number: int) -> None:
            for attempt in range(4):
                try:
                    ledger.release(request(plan=plan_number(number * 4 + attempt)), lambda: b"x")
                    outcomes.append("fits")
                except BudgetExceededError:
                    outcomes.append("refused")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (outcomes.count("fits"), outcomes.count("refused")) == (10, 10)
        assert ledger.verify().sound
    with Ledger.open(url) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 100}
