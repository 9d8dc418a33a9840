"""Somebody who can only append, and has no key, cannot refill a budget: what they write is never believed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pbdp.ledger import Ledger, verify_ledger
from pbdp.ledger.errors import BudgetExceededError, DamagedLedgerError, MissingKeyError
from pbdp.ledger.keys import Key, Keyring, key_folder
from pbdp.ledger.record import Record, hash_of
from tests.ledger.asking import RULE, ledger_with_visits, plan_number, request, spend
from tests.ledger.tampering import after, append, key_of, record_of, tamper

FORGED = "was not written by a holder of the ledger's key"


def exhausted(url: str) -> Ledger:
    """A ledger whose budget of 20 is spent (records 2 and 4)."""
    ledger = ledger_with_visits(url, limit=20)
    for number in (1, 2):
        spend(ledger, number)
    return ledger


def refilled(ledger: Ledger) -> dict[str, Any]:
    """What would make the budget whole again: the last spend once more, with nothing spent."""
    return record_of(ledger, 4).content | {"key": "forged", "cost": {"renyi": 0}, "spent": {"renyi": 0}}


def test_one_insert_does_not_refill_a_budget(url: str) -> None:
    """As found: open, opened anew, or with the witness gone, the forged total was spent from."""
    with exhausted(url) as ledger:
        own = Key.fresh()
        record = after(ledger, "spend", refilled(ledger), own)
        # the id of the ledger's key is public, its MACs cannot be made
        named = _relabeled(record, key_of(ledger).id)
        append(url, named)
        for asked in (lambda: spend(ledger, 3), lambda: ledger.dataset("visits")):
            with pytest.raises(DamagedLedgerError, match=f"record 6 {FORGED}"):
                asked()
    with pytest.raises(DamagedLedgerError, match=f"record 6 {FORGED}"):
        Ledger.open(url)
    found = verify_ledger(url)
    assert found.fault == f"record 6 {FORGED}"


def test_a_record_under_a_key_of_the_forger_is_not_spent_from(url: str) -> None:
    with exhausted(url) as ledger:
        append(url, after(ledger, "spend", refilled(ledger), Key.fresh()))
        with pytest.raises(DamagedLedgerError, match="record 6 is under another key than those before it"):
            spend(ledger, 3)
    with pytest.raises(DamagedLedgerError, match="record 6 is under another key than those before it"):
        Ledger.open(url)


def test_a_key_that_the_forger_says_was_replaced_is_not_taken(url: str, state: Path) -> None:
    own = Key.fresh()
    with exhausted(url) as ledger:
        export = {"sequence": 5, "hash": "0" * 64}
        content = {"key": own.id, "before": key_of(ledger).id, "change": "replaced", "export": export}
        append(url, after(ledger, "key", content, own))
        before = {path: path.read_bytes() for path in state.glob("*.json")}
        with pytest.raises(MissingKeyError, match=own.id):
            spend(ledger, 3)
    with Ledger.open(url) as ledger:
        assert any("can only be read" in note for note in ledger.notes)
        assert ledger.dataset("visits").remaining == {"renyi": 0}
        with pytest.raises(MissingKeyError, match="somebody without one has written to the ledger"):
            spend(ledger, 3)
    # the witness was not told: it goes on asking for what it could not judge
    assert {path: path.read_bytes() for path in state.glob("*.json")} == before


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("dataset", {"dataset": "visits", "limits": {"renyi": 1000}, "spent": {"renyi": 0}}),
        ("recovery", {"charged": {"visits": {"renyi": -20}}, "spent": {"visits": {"renyi": 0}}}),
        ("answer", {"spend": 1, "key": "key 1", "bytes": 1, "sha256": "0" * 64}),
    ],
)
def test_no_other_record_helps_them_either(url: str, kind: str, content: dict[str, Any]) -> None:
    usual: dict[str, Any] = {
        "dataset": {"rule": RULE, "neighbors": "add/remove", "note": None},
        "recovery": {"gap": "known", "witness": None, "dropped": 0, "answers": [], "lost": []},
        "answer": {},
    }
    with exhausted(url) as ledger:
        append(url, _relabeled(after(ledger, kind, content | usual[kind], Key.fresh()), key_of(ledger).id))
        with pytest.raises(DamagedLedgerError):
            spend(ledger, 3)


def test_a_record_before_the_first_says_nothing(url: str) -> None:
    """Numbers below zero are never read."""
    with exhausted(url) as ledger:
        made = record_of(ledger, 1)
        richer = Record.after(
            -8, made.previous, "dataset", made.content | {"limits": {"renyi": 1000}}, key_of(ledger)
        )
        append(url, richer)
        with pytest.raises(BudgetExceededError):
            spend(ledger, 3)
    with Ledger.open(url) as ledger:
        assert ledger.dataset("visits").remaining == {"renyi": 0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spent": {"renyi": 0}}, "carries a wrong total of what is spent"),
        ({"cost": {"renyi": 0}, "spent": {"renyi": 10}}, "carries a wrong total of what is spent"),
        ({"cost": {"renyi": 10}, "spent": {"renyi": 30}}, "spends more than the limit"),
        ({"units_left": 7}, "carries a wrong number of paid releases"),
        ({"disjoint": 1}, "has a payload that no ledger writes"),
        ({"dataset": "stays"}, "spends on a dataset that does not exist"),
    ],
)
def test_what_does_not_add_up_is_refused_even_under_the_key(
    url: str, change: dict[str, Any], words: str
) -> None:
    """A holder of the key with a faulty program, on another machine: the walk from the witness sees it."""
    with exhausted(url) as ledger:
        plans = [[plan_number(3), "another", 1]]
        content = refilled(ledger) | {"spent": {"renyi": 20}, "units_left": 0, "plans": plans} | change
        append(url, after(ledger, "spend", content, key_of(ledger)))
        with pytest.raises(DamagedLedgerError, match=words):
            spend(ledger, 3)
        with pytest.raises(DamagedLedgerError, match=words):
            Ledger.open(url)


def test_records_in_between_are_checked_when_others_have_gone_on(url: str) -> None:
    """A forged total under later genuine records: the last record alone would not show it."""
    with exhausted(url) as ledger, Ledger.open(url) as idle:
        key = key_of(ledger)
        first = after(ledger, "spend", refilled(ledger), key)
        append(url, first)
        answer = {"spend": 6, "key": "forged", "bytes": 1, "sha256": "0" * 64}
        last = Record.after(6, first.hash, "answer", answer, key)
        append(url, last, b"x")
        with pytest.raises(DamagedLedgerError, match="record 6"):
            spend(idle, 3)
        with pytest.raises(DamagedLedgerError, match="record 6"):
            Ledger.open(url)


def test_what_others_have_done_is_followed(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Datasets, packages and answers from before the witness's head are looked up, and add up."""
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    monkeypatch.setenv("PBDP_STATE", here)
    with ledger_with_visits(url, limit=100) as ledger:
        first = ledger.reserve(request(package=3, key="waiting"))
        monkeypatch.setenv("PBDP_STATE", there)
        with Ledger.open(url, trust=True) as other:
            other.settle(first, lambda: b"x")
            other.release(request(package=3, key="from the same package"), lambda: b"y")
            other.create_dataset("stays", {"renyi": 5}, RULE, "add/remove")
            for number in range(600):  # more than a batch
                plan = plan_number(number)
                other.reserve(request(plan=plan, dataset="stays", cost={"renyi": 0}, key=f"k{number}"))
        monkeypatch.setenv("PBDP_STATE", here)
        assert ledger.release(request(package=3, key="third"), lambda: b"z") == b"z"
        assert ledger.dataset("visits").spent == {"renyi": 10}
    with Ledger.open(url) as ledger:
        assert ledger.verify().sound


def test_a_ledger_taken_on_trust_is_walked_through(url: str, state: Path) -> None:
    with exhausted(url) as ledger:
        append(url, after(ledger, "spend", refilled(ledger), key_of(ledger)))
    shutil.rmtree(state)
    with pytest.raises(DamagedLedgerError, match="record 6"):
        Ledger.open(url, trust=True)


def test_without_the_key_a_ledger_is_read_and_says_so(url: str, state: Path) -> None:
    with exhausted(url) as ledger:
        key = key_of(ledger)
    before = {path: path.read_bytes() for path in state.glob("*.json")}
    shutil.rmtree(key_folder())
    with Ledger.open(url) as ledger:
        assert any("can only be read" in note and key.id in note for note in ledger.notes)
        assert ledger.dataset("visits").spent == {"renyi": 20}
        assert len(list(ledger.history())) == 3
        found = ledger.verify()
        assert found.sound
        assert any("MACs were not checked" in note for note in found.notes)
        with pytest.raises(MissingKeyError, match="pbdp ledger key import"):
            spend(ledger, 2)
        with pytest.raises(MissingKeyError):
            ledger.create_dataset("stays", {"renyi": 1}, RULE, "add/remove")
        with pytest.raises(MissingKeyError):
            ledger.keyed_digest("data", b"rows")
        # brought back while it is open
        Keyring(ledger.identity, key_folder()).add(key)
        with pytest.raises(BudgetExceededError):
            spend(ledger, 3)
        assert spend(ledger, 2) == b"2"
    assert {path: path.read_bytes() for path in state.glob("*.json")} == before


def test_what_could_not_be_judged_when_it_was_opened_is_judged_when_the_key_is_back(url: str) -> None:
    """A forged record that adds up, with a genuine one after it."""
    with exhausted(url) as ledger:
        key = key_of(ledger)
        made = record_of(ledger, 1)
        more = made.content | {"dataset": "more"}
        false = _relabeled(after(ledger, "dataset", more, Key.fresh()), key.id)
        append(url, false)
        append(
            url,
            Record.after(false.sequence, false.hash, "dataset", made.content | {"dataset": "even more"}, key),
        )
    shutil.rmtree(key_folder())
    with Ledger.open(url) as ledger:
        assert ledger.verify().sound
        Keyring(ledger.identity, key_folder()).add(key)
        with pytest.raises(DamagedLedgerError, match=f"record 6 {FORGED}"):
            spend(ledger, 2)


def test_an_old_record_that_was_changed_in_place_is_not_spent_from(url: str) -> None:
    """What is spent is what was read when the record came; verifying reads all of them again."""
    with exhausted(url) as ledger:
        made = record_of(ledger, 1)
        richer = Record.after(
            0, made.previous, "dataset", made.content | {"limits": {"renyi": 1000}}, key_of(ledger)
        )
        tamper(url, "DELETE FROM record WHERE sequence = 1")
        append(url, richer)
        with pytest.raises(BudgetExceededError):
            spend(ledger, 3)
        assert ledger.verify().fault == "record 2 does not continue the record before it"
        (key_folder().parent / "state" / f"{ledger.identity}.cache").unlink()
    with pytest.raises(DamagedLedgerError, match="record 2 does not continue the record before it"):
        Ledger.open(url)


def _relabeled(record: Record, key_id: str) -> Record:
    """The same under another key's id: the hash fits, the MAC cannot."""
    own = hash_of(record.sequence, record.time, record.kind, key_id, record.payload, record.previous)
    return record._replace(key_id=key_id, hash=own)
