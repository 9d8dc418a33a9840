"""What the records say to people: the history, and names in any script."""

from __future__ import annotations

import pytest

from pbdp.ledger import BudgetExceededError, Ledger
from tests.ledger.asking import PLAN, RULE, ledger_with_visits, plan_number, request


def test_names_and_queries_in_any_script_come_back(url: str) -> None:
    with Ledger.create(url) as ledger:
        ledger.create_dataset("Überweisungen 訪問 100%?", {"ε": 5}, {"kind": "rényi"}, "add/remove")
        name, query = "Überweisungen 訪問 100%?", "SELECT count(*)\nFROM t -- 'é' %s ? \x00"
        ledger.reserve(request(dataset=name, cost={"ε": 2}, query=query, key="schlüssel"))
        spend = list(ledger.history(name))[-1]
        assert (spend.query, spend.key, spend.spent) == (query, "schlüssel", {"ε": 2})
        assert ledger.verify().sound


def test_changing_what_was_returned_changes_no_budget(url: str) -> None:
    with ledger_with_visits(url, limit=10) as ledger:
        state = ledger.dataset("visits")
        state.limits["renyi"] = 10**9
        state.spent["renyi"] = -(10**9)
        reservation = ledger.reserve(request())
        reservation.spent["renyi"] = 0
        with pytest.raises(BudgetExceededError):
            ledger.reserve(request(plan=plan_number(1)))


def test_history_tells_what_was_spent_on_what(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        ledger.create_dataset("stays", {"renyi": 50}, RULE, "add/remove")
        ledger.release(request(package=3, values=2, query="count", key="k1"), lambda: b"1")
        ledger.reserve(request(dataset="stays", cost={"renyi": 7}))
        ledger.reserve(request(package=3))

        entries = list(ledger.history("visits"))

        assert [entry.kind for entry in entries] == ["dataset", "spend", "spend"]
        first, second = entries[1], entries[2]
        assert (first.plan_label, first.plan, first.query, first.key) == (
            "laplace, within 5",
            PLAN,
            "count",
            "k1",
        )
        assert (first.values, first.units, first.units_left) == (2, 2, 1)
        assert (first.cost, first.spent) == ({"renyi": 10}, {"renyi": 10})
        assert (second.cost, second.spent, second.units_left) == ({"renyi": 0}, {"renyi": 10}, 0)
        assert [entry.dataset for entry in ledger.history()].count("stays") == 2
