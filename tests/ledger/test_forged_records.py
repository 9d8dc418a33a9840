"""Somebody who can only append, and has no key, cannot refill a budget: what they write is never believed."""

from __future__ import annotations

import shutil
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pbdp.json_records import canonical
from pbdp.ledger import Ledger, LedgerError, verify_ledger
from pbdp.ledger.errors import BudgetExceededError, DamagedLedgerError, MissingKeyError
from pbdp.ledger.guard import signing_key
from pbdp.ledger.keys import Key, Keyring, key_folder
from pbdp.ledger.record import Record, hash_of
from tests.ledger.asking import RULE, ledger_with_visits, plan_number, request, spend
from tests.ledger.tampering import append, tamper

FORGED = "was not written by a holder of the ledger's key"


def exhausted(url: str) -> Ledger:
    """A ledger whose budget of 20 is spent (records 2 and 4)."""
    ledger = ledger_with_visits(url, limit=20)
    for number in (1, 2):
        spend(ledger, number)
    return ledger


def head_of(ledger: Ledger) -> Record:
    return ledger._guard.read(lambda snapshot: snapshot.head)


def key_of(ledger: Ledger) -> Key:
    return ledger._guard.read(lambda snapshot: signing_key(snapshot, ledger._guard.ring))


def refilled(ledger: Ledger) -> dict[str, Any]:
    """What would make the budget whole again: the last spend once more, with nothing spent."""
    spent = ledger._guard.read(lambda snapshot: snapshot.reading.record(4))
    assert spent is not None
    return spent.content | {"key": "forged", "cost": {"renyi": 0}, "spent": {"renyi": 0}, "releases": 3}


def forged(ledger: Ledger, kind: str, content: dict[str, Any], key: Key) -> Record:
    """A record that continues the ledger, under somebody's key."""
    return Record.after(head_of(ledger), kind, content, key)


def test_one_insert_does_not_refill_a_budget(url: str) -> None:
    """As found: open, opened anew, or with the witness gone, the forged total was spent from."""
    with exhausted(url) as ledger:
        own = Key.fresh()
        record = forged(ledger, "spend", refilled(ledger), own)
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
        append(url, forged(ledger, "spend", refilled(ledger), Key.fresh()))
        with pytest.raises(MissingKeyError):
            spend(ledger, 3)
    with pytest.raises(DamagedLedgerError, match="record 6 is under another key than those before it"):
        Ledger.open(url)


def test_a_key_that_the_forger_says_was_replaced_is_not_taken(url: str, state: Path) -> None:
    own = Key.fresh()
    with exhausted(url) as ledger:
        export = {"sequence": 5, "hash": "0" * 64}
        content = {"key": own.id, "before": key_of(ledger).id, "change": "replaced", "export": export}
        append(url, forged(ledger, "key", content, own))
        before = {path: path.read_bytes() for path in state.iterdir()}
        with pytest.raises(MissingKeyError, match=own.id):
            spend(ledger, 3)
    with Ledger.open(url) as ledger:
        assert any("can only be read" in note for note in ledger.notes)
        assert ledger.dataset("visits").remaining == {"renyi": 0}
        with pytest.raises(MissingKeyError, match="somebody without one has written to the ledger"):
            spend(ledger, 3)
    # the witness was not told: it goes on asking for what it could not judge
    assert {path: path.read_bytes() for path in state.iterdir()} == before


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("dataset", {"dataset": "visits", "limits": {"renyi": 1000}, "spent": {"renyi": 0}, "releases": 0}),
        ("recovery", {"charged": {"visits": {"renyi": -20}}, "spent": {"visits": {"renyi": 0}}}),
        ("answer", {"spend": 1, "bytes": 1, "sha256": "0" * 64}),
    ],
)
def test_no_other_record_helps_them_either(url: str, kind: str, content: dict[str, Any]) -> None:
    usual: dict[str, Any] = {
        "dataset": {"rule": RULE, "neighbors": "add/remove", "note": None},
        "recovery": {"gap": "known", "base": None, "witness": {}, "lost": []},
        "answer": {},
    }
    with exhausted(url) as ledger:
        append(url, _relabeled(forged(ledger, kind, content | usual[kind], Key.fresh()), key_of(ledger).id))
        with pytest.raises(DamagedLedgerError):
            spend(ledger, 3)


def test_a_record_before_the_first_is_not_taken_for_the_budget(url: str) -> None:
    """The store would find it first when it looks for the record that gave the budget."""
    with exhausted(url) as ledger:
        made = ledger._guard.read(lambda snapshot: snapshot.reading.dataset_made("visits"))
        assert made is not None
        content = made.content | {"limits": {"renyi": 1000}}
        key = key_of(ledger)
        for sequence in (-1, -7):
            payload = canonical(content)
            append(url, _numbered(made, sequence, payload, key))
        with pytest.raises(LedgerError, match="a number or a key that no ledger gives"):
            spend(ledger, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spent": {"renyi": 0}}, "carries a wrong total of what is spent"),
        ({"cost": {"renyi": 0}, "spent": {"renyi": 10}}, "carries a wrong total of what is spent"),
        ({"cost": {"renyi": 10}, "spent": {"renyi": 30}}, "spends more than the limit"),
        ({"releases": 1}, "carries a wrong number of releases"),
        ({"bought": 7}, "carries a wrong number of paid releases"),
        ({"dataset": "stays"}, "spends on a dataset that does not exist"),
    ],
)
def test_what_does_not_add_up_is_refused_even_under_the_key(
    url: str, change: dict[str, Any], words: str
) -> None:
    """A holder of the key with a faulty program, on another machine: the walk from the witness sees it."""
    with exhausted(url) as ledger:
        asked = request(plan=plan_number(3), dataset=change.get("dataset", "visits"))
        good = refilled(ledger) | {"spent": {"renyi": 20}, "bought": 1, "used": 1, "plan": plan_number(3)}
        content = good | {"fingerprint": asked.fingerprint("forged")} | change
        append(url, forged(ledger, "spend", content, key_of(ledger)))
        with pytest.raises(DamagedLedgerError, match=words):
            spend(ledger, 3)
        with pytest.raises(DamagedLedgerError, match=words):
            Ledger.open(url)


def test_records_in_between_are_checked_when_others_have_gone_on(url: str) -> None:
    """A forged total under later genuine records: the last record alone would not show it."""
    with exhausted(url) as ledger, Ledger.open(url) as idle:
        key = key_of(ledger)
        first = forged(ledger, "spend", refilled(ledger), key)
        append(url, first)
        last = Record.after(first, "answer", {"spend": 6, "bytes": 1, "sha256": "0" * 64}, key)
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
            other.settle(first, b"x")
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
        append(url, forged(ledger, "spend", refilled(ledger), key_of(ledger)))
    shutil.rmtree(state)
    with pytest.raises(DamagedLedgerError, match="record 6"):
        Ledger.open(url, trust=True)


def test_without_the_key_a_ledger_is_read_and_says_so(url: str, state: Path) -> None:
    with exhausted(url) as ledger:
        key = key_of(ledger)
    before = {path: path.read_bytes() for path in state.iterdir()}
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
    assert {path: path.read_bytes() for path in state.iterdir()} == before


def test_what_could_not_be_judged_when_it_was_opened_is_judged_when_the_key_is_back(url: str) -> None:
    """A forged record that adds up, with a genuine one after it."""
    with exhausted(url) as ledger:
        key = key_of(ledger)
        made = ledger._guard.read(lambda snapshot: snapshot.reading.record(1))
        assert made is not None
        more = made.content | {"dataset": "more"}
        false = _relabeled(forged(ledger, "dataset", more, Key.fresh()), key.id)
        append(url, false)
        append(url, Record.after(false, "dataset", made.content | {"dataset": "even more"}, key))
    shutil.rmtree(key_folder())
    with Ledger.open(url) as ledger:
        assert ledger.verify().sound
        Keyring(ledger.identity, key_folder()).add(key)
        with pytest.raises(DamagedLedgerError, match=f"record 6 {FORGED}"):
            spend(ledger, 2)


def test_an_old_record_that_was_changed_in_place_is_noticed_when_it_is_looked_up(url: str) -> None:
    """By the owner of the table, without the key: its hash fits, its MAC does not."""
    with exhausted(url) as ledger:
        made = ledger._guard.read(lambda snapshot: snapshot.reading.record(1))
        assert made is not None
        richer = Record.after(
            ledger._guard.read(lambda snapshot: snapshot.reading.record(0)),
            "dataset",
            made.content | {"limits": {"renyi": 1000}},
            Key.fresh(),
        )
        changed = _relabeled(richer, key_of(ledger).id)
        tamper(url, "DELETE FROM record WHERE sequence = 1")
        append(url, changed)
        with pytest.raises(DamagedLedgerError, match=f"record 1 {FORGED}"):
            spend(ledger, 3)


def _relabeled(record: Record, key_id: str) -> Record:
    """The same under another key's id: the hash fits, the MAC cannot."""
    own = hash_of(record.sequence, record.time, record.kind, key_id, record.payload, record.previous)
    return replace(record, key_id=key_id, hash=own)


def _numbered(record: Record, sequence: int, payload: str, key: Key) -> Record:
    """A record that no ledger gives, so that it cannot be made in the usual way; the key is the right one."""
    own = hash_of(sequence, record.time, record.kind, key.id, payload, record.previous)
    made = copy(record)
    changes = {"sequence": sequence, "payload": payload, "hash": own, "key_id": key.id, "mac": key.mac(own)}
    for name, value in changes.items():
        object.__setattr__(made, name, value)
    return made
