"""What a ledger says is shown as it is, prices are those of the ledger, and looking changes nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import pbdp
from pbdp import Budget, Ledger
from pbdp.digits import percent_up
from pbdp.studio import budgets
from pbdp.studio.budgets import budget_view, price_view
from pbdp.studio.explore import plan_of
from pbdp.studio.form import read_form
from pbdp.studio.opened import Opened
from tests.studio.running import COUNT


@pytest.fixture
def opened(shop: Path) -> Opened:
    return Opened(ledger=str(shop / "budget.db"))


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


def test_budgets_are_shown_as_the_ledger_has_them(opened: Opened) -> None:
    view = budget_view(opened)
    visits, members = view["datasets"]
    with Ledger.open(str(opened.ledger)) as ledger:
        budget = Budget.of(ledger, "visits")
        assert visits["spent"] == budget.spent
        assert visits["spent_text"] == percent_up(budget.spent)
        assert visits["words"] == budget.describe().split("\n")[1:]
    assert visits["note"] == "people who came"
    given, march = visits["entries"]
    assert (given["what"], given["cost_text"], given["spent"]) == ("budget given", "", 0.0)
    assert (march["what"], march["key"], march["noise"]) == ("visits in March", "march", "laplace")
    assert march["cost_text"] == march["spent_text"] == visits["spent_text"]
    assert (members["spent"], members["left_text"], members["releases"]) == (0.0, "100 %", 0)


def test_prices_are_those_of_the_ledger(opened: Opened) -> None:
    form = COUNT | {"delta": "1e-8"}
    plan = plan_of(read_form(form))
    prices = {price["dataset"]: price for price in price_view(opened, form)["prices"]}
    with Ledger.open(str(opened.ledger)) as ledger:
        for name in ("visits", "members"):
            price = Budget.of(ledger, name).price(plan)
            assert prices[name]["share"] == price.share
            assert prices[name]["after"] == price.spent_after
            assert prices[name]["words"] == price.describe()


def test_what_does_not_fit_or_cannot_be_asked_is_said(opened: Opened) -> None:
    (visits, members) = price_view(opened, COUNT | {"within": "1", "delta": "1e-8"})["prices"]
    assert visits["fits"]
    assert not members["fits"]
    assert "does not fit" in members["words"]
    (other, _) = price_view(opened, COUNT | {"neighbors": "replace"})["prices"]
    assert not other["fits"]
    assert "neighbors" in other["words"]


def test_looking_changes_no_file(opened: Opened, shop: Path) -> None:
    budget_view(opened)
    before = digests(shop)
    budget_view(opened)
    price_view(opened, COUNT)
    assert digests(shop) == before


def test_only_the_last_spends_are_listed(
    opened: Opened, small: pbdp.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "MOST_LISTED", 2)
    with Ledger.open(str(opened.ledger)) as ledger:
        Budget.of(ledger, "visits").release(small, 1, key="april", again=True)
    visits, _ = budget_view(opened)["datasets"]
    assert [entry["key"] for entry in visits["entries"]] == ["march", "april"]
    assert visits["more"] == 1


def test_without_a_ledger_there_is_no_budget() -> None:
    with pytest.raises(pbdp.InputError, match="ledger must be named when the studio is opened"):
        budget_view(Opened())
