"""`pbdp.budget`: one call that opens a budget or makes it, and what a budget says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import pbdp
from pbdp.errors import ContradictionError, InputError, PbdpError
from pbdp.ledger import Ledger
from pbdp.ledger.errors import DatasetExistsError, NotALedgerError, RemovedLedgerError, UnknownDatasetError
from pbdp.tables import Count, Query

TERMS = {"epsilon": 3.0, "delta": 1e-6}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with no ledger named elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    return tmp_path


def test_the_same_call_makes_it_and_opens_it(here: Path) -> None:
    for run in range(2):
        budget = pbdp.budget("visits", epsilon=3, delta=1e-6)
        asked = budget.ask(1234, within=50, confidence=0.95, sensitivity=1, integer=True, key="march")
        assert asked.repeated == bool(run)
        budget.ledger.close()
    assert (here / "pbdp-ledger.db").is_file()
    opened = pbdp.budget("visits")
    assert (opened.epsilon, opened.delta) == (3, 1e-6)
    assert opened.spent > 0
    assert opened.left == 1 - opened.spent


def test_a_ledger_may_be_named(url: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pbdp.budget("visits", epsilon=3, delta=1e-6, ledger=url).ledger.close()
    with Ledger.open(url) as ledger:
        assert pbdp.budget("visits", ledger=ledger).ledger is ledger
    monkeypatch.setenv("PBDP_LEDGER", str(url))
    budget = pbdp.budget("visits")
    assert budget.epsilon == 3
    budget.ledger.close()
    assert not (here / "pbdp-ledger.db").exists()


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 5.0},
        {"delta": 1e-9},
        {"reserve": 0.1},
        {"blocks": ["a", "b"]},
        {"neighbors": "replace"},
        {"note": "of the clinic"},
    ],
)
def test_other_terms_are_refused_with_both(other: dict[str, object]) -> None:
    pbdp.budget("visits", epsilon=3, delta=1e-6)
    with pytest.raises(InputError, match="a second budget") as refused:
        pbdp.budget("visits", **(TERMS | other))  # type: ignore[arg-type]
    assert "epsilon 3 at delta 1e-06, add/remove" in str(refused.value)
    (value,) = other.values()
    words = (
        ", ".join(value) if isinstance(value, list) else f"{value:g}" if isinstance(value, float) else value
    )
    assert str(words) in str(refused.value)
    assert "another name" not in str(refused.value)


def test_what_cannot_be_opened_or_made_ends_in_a_sentence(here: Path) -> None:
    with pytest.raises(NotALedgerError, match="where there is nothing"):
        pbdp.budget("visits")
    assert not (here / "pbdp-ledger.db").exists()
    with pytest.raises(ContradictionError, match="given together"):
        pbdp.budget("visits", epsilon=3)
    budget = pbdp.budget("visits", epsilon=3, delta=1e-6)
    with pytest.raises(UnknownDatasetError, match="epsilon and delta"):
        pbdp.budget("others")
    with pytest.raises(DatasetExistsError, match="a second budget"):
        pbdp.Budget.create(budget.ledger, "visits", epsilon=3, delta=1e-6)
    with pytest.raises(InputError, match=r"pbdp\.budget\(dataset, ledger=place\)"):
        pbdp.Budget.create("x.db", "visits", epsilon=3, delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(PbdpError, match="needs sensitivity"):
        budget.ask(5)  # type: ignore[call-arg]


@pytest.mark.parametrize("wrong", [{"note": 5}, {"note": "\ud800"}, {"dataset": 5}, {"blocks": "ab"}])
def test_nothing_is_made_for_what_is_refused(wrong: dict[str, object], here: Path) -> None:
    named = {"dataset": "visits", **TERMS, **wrong}
    with pytest.raises(InputError):
        pbdp.budget(**named)  # type: ignore[arg-type]
    assert not (here / "pbdp-ledger.db").exists()


def test_everything_says_what_it_is_in_a_line() -> None:
    budget = pbdp.budget("visits", epsilon=3, delta=1e-6)
    plan = pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-8, integer=True)
    asked = budget.ask(1234, within=50, confidence=0.95, sensitivity=1, integer=True, key="march")
    reserved = budget.reserve(plan, key="april")
    ledger, paid = budget.ledger, budget.ledger.spend_of("march")
    things = [budget, ledger, budget.state, budget.terms, asked, *asked.looks, reserved, paid]
    for thing in [*things, budget.price(plan), *budget.history(), *ledger.history(), ledger.verify()]:
        assert len(repr(thing)) < 120, repr(thing)
    made, march, april = map(repr, budget.history())
    assert made.endswith("the budget was made, 0 %>")
    assert "within 50, confidence 0.95, sensitivity 1, whole, key 'march', 0.34" in march
    assert "laplace: 1 release reserved, key 'april', 2." in april


def test_a_ledger_that_was_removed_is_told_apart_from_one_that_never_was(here: Path) -> None:
    pbdp.budget("visits", epsilon=3, delta=1e-6).ledger.close()
    (here / "pbdp-ledger.db").unlink()
    with pytest.raises(RemovedLedgerError, match="a new one would forget what was spent"):
        pbdp.budget("visits", epsilon=3, delta=1e-6)
    assert pbdp.budget("visits", epsilon=3, delta=1e-6, trust=True).spent == 0


def test_the_history_says_when_what_and_how_much() -> None:
    budget = pbdp.budget("visits", epsilon=3, delta=1e-6)
    budget.ask(1234, within=50, confidence=0.95, sensitivity=1, integer=True, key="march")
    made, asked = budget.history()
    assert (made.asked, made.share, made.spent) == ("the budget was made", 0, 0)
    assert asked.key == "march"
    assert asked.asked.startswith("within 50, confidence 0.95")
    assert asked.share == asked.spent == budget.spent > 0
    assert made.time < asked.time


def test_queries_of_tables_have_a_price() -> None:
    budget = pbdp.budget("visits", epsilon=3, delta=1e-6)
    query = Query(
        unit="user",
        by={"city": ["a", "b"]},
        measures=[Count(within=50)],
        groups_per_person=1,
        rows_per_group=1,
        delta=1e-8,
    )
    plan = query.plan()
    assert budget.price(query).share == budget.price(plan).share == budget.price(plan.noise).share
    with pytest.raises(InputError, match="a plan or a claim"):
        budget.price(5)


def test_everything_shows_itself_in_a_line() -> None:
    budget = pbdp.budget("visits", epsilon=3, delta=1e-6)
    plan = pbdp.plan(within=20, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    assert repr(budget) == "<Budget of visits: epsilon 3 at delta 1e-06, 0 % spent>"
    asked = budget.ask(1234, within=50, confidence=0.95, sensitivity=1, integer=True)
    assert repr(asked).startswith(f"<Asked: {asked.value}, {asked.value - 50} to {asked.value + 50} with con")
    assert repr(budget.price(plan)).startswith("<Price of laplace: ")
    assert repr(budget.state) == "<visits as of record 2: 1 releases>"
    assert repr(budget.ledger) == f"<Ledger {budget.ledger.identity} at {budget.ledger.place}>"
