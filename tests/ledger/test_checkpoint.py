"""Verifying again: what is unchanged is not added up again, what was changed is found all the same."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from pbdp.ledger import Ledger, verify_ledger
from pbdp.ledger.keys import Keyring, key_folder
from pbdp.ledger.record import Record
from pbdp.ledger.snapshot import packed_answer
from pbdp.ledger.stores.interface import Check, Stored
from pbdp.ledger.verification import Walk
from tests.ledger.asking import fill_at_once, ledger_with_visits, plan_number, request, spend
from tests.ledger.tampering import append, rewrite_from, take_back, tamper
from tests.ledger.test_key_changes import key_of

SHORTER = "UPDATE record SET payload = replace(payload, 'within 5', 'within 6') WHERE sequence = 4"
RELEASES = 1000


def taken(url: str, *, everything: bool = False) -> list[int]:
    """The numbers of the records that a verification, which finds nothing, adds up."""
    numbers: list[int] = []
    take = Walk.take

    def noted(walk: Walk, rows: list[Stored], check: Check) -> None:
        numbers.extend(row[0] for row in rows)
        take(walk, rows, check)

    with patch.object(Walk, "take", noted):
        found = verify_ledger(url, everything=everything)
    assert found.sound, found.fault
    assert found.macs
    return numbers


def test_only_what_is_new_is_added_up(filled: str) -> None:
    assert taken(filled) == list(range(16))
    assert taken(filled) == []
    with Ledger.open(filled) as ledger:
        spend(ledger, 1)
    assert taken(filled) == [16, 17]
    assert taken(filled, everything=True) == list(range(18))
    found = verify_ledger(filled)
    assert (found.records, found.spends, found.answers) == (18, 8, 7)
    assert any("Records 0 to 17 are byte for byte" in note for note in found.notes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (SHORTER, "record 4 does not match its hash"),
        ("UPDATE record SET dataset = NULL WHERE sequence = 6", "record 6 is filed under a wrong name"),
        ("UPDATE record SET mac = hash WHERE sequence = 5", "record 5 was not written by a holder"),
        ("DELETE FROM answer WHERE sequence = 9", "record 9 has lost its answer"),
        ("UPDATE answer SET content = (SELECT content FROM answer WHERE sequence = 7) WHERE sequence = 9",
         "record 9 has an answer that was changed"),
        ("DELETE FROM record WHERE sequence = 4", "where record 4 should be"),
        ("INSERT INTO answer SELECT 6, content FROM answer WHERE sequence = 7", "belongs to no record"),
    ],
)  # fmt: skip
def test_a_change_before_the_last_verification_is_found(filled: str, change: str, words: str) -> None:
    assert verify_ledger(filled).sound
    tamper(filled, change)
    assert words in str(verify_ledger(filled).fault)


def test_a_chain_rewritten_with_the_key_is_found_if_it_does_not_add_up(filled: str, state: Path) -> None:
    with Ledger.open(filled) as ledger:
        assert ledger.verify().sound
        key = key_of(ledger)
    kept = {path: path.read_bytes() for path in state.glob("*.verified")}
    shutil.rmtree(state)  # the witness would notice; here the checkpoint is alone
    for path, content in kept.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    rewrite_from(filled, 4, {"releases": 7}, key)
    assert "record 4 carries a wrong number of releases" in str(verify_ledger(filled).fault)


def test_what_comes_after_a_checkpoint_must_continue_it(filled: str) -> None:
    assert verify_ledger(filled).sound
    take_back(filled, 11)
    assert "taken back" in str(verify_ledger(filled).fault)


@pytest.mark.parametrize("change", ["damaged", "forged", "unknown key", "unreadable", "no key"])
def test_a_checkpoint_that_cannot_be_relied_on_is_passed_over(filled: str, state: Path, change: str) -> None:
    assert taken(filled) == list(range(16))
    (file,) = state.glob("*.verified")
    content = json.loads(file.read_text())
    if change == "damaged":
        file.write_text("[" * 10**5)
    elif change == "forged":
        file.write_text(json.dumps(content | {"spends": 1}))
    elif change == "unknown key":
        file.write_text(json.dumps(content | {"key": "0" * 16}))
    elif change == "unreadable":
        file.unlink()
        file.mkdir()
    else:
        keys = [path.read_bytes() for path in key_folder().iterdir()]
        names = list(key_folder().iterdir())
        shutil.rmtree(key_folder())
        found = verify_ledger(filled)
        assert (found.sound, found.macs, found.records) == (True, False, 16)
        key_folder().mkdir()
        for name, key in zip(names, keys, strict=True):
            name.write_bytes(key)
            name.chmod(0o600)
        assert taken(filled) == []
        return
    assert taken(filled) == list(range(16))


def test_keys_and_recoveries_before_a_checkpoint_are_known_after_it(url: str) -> None:
    with ledger_with_visits(url, limit=1000) as ledger:
        for number in range(3):
            spend(ledger, number)
        ledger.reserve(request(package=5, key="open"))
    take_back(url, 7)
    with Ledger.recover(url, "known") as ledger:
        assert ledger.verify().sound
        ledger.rotate_key()
        ledger.create_dataset("stays", {"renyi": 1}, {}, "add/remove")
        spend(ledger, 7)
        ledger.reserve(request(package=5, key="again"))
        assert ledger.verify().sound
    take_back(url, 12)
    with Ledger.recover(url, "known") as ledger:  # a recovery after the checkpoint
        assert ledger.verify().sound
        spend(ledger, 8)
        assert ledger.verify().sound
        assert ledger.verify(everything=True).sound


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("what", ["answer", "package"])
def test_what_a_recovery_closed_stays_closed_for_what_comes_later(url: str, when: str, what: str) -> None:
    """Verified before or after the recovery, the records from before are looked up, and are void."""
    with ledger_with_visits(url, limit=1000) as ledger:
        ledger.reserve(request(package=5, key="open"))
        if when == "before":
            assert ledger.verify().records == 3
        spend(ledger, 1)
    take_back(url, 2)
    with Ledger.recover(url, "known") as ledger:
        if when == "after":
            assert ledger.verify().records == 4
        head, paid = ledger._guard.read(lambda snapshot: (snapshot.head, snapshot.reading.record(2)))
        assert paid is not None
        if what == "answer":
            content, packed = packed_answer(b"fresh noise", 2)
            append(url, Record.after(head, "answer", content, key_of(ledger)), packed)
            words = "record 4 answers what is not waiting for an answer"
        else:
            drawn = {"key": "k", "used": 2, "cost": {"renyi": 0}, "spent": {"renyi": 20}, "releases": 2}
            asked = {"fingerprint": request(package=5).fingerprint("k")}
            append(url, Record.after(head, "spend", paid.content | drawn | asked, key_of(ledger)))
            words = "record 4 carries a wrong number of paid releases"
        assert ledger.verify().fault == words


def test_what_was_verified_without_one_of_the_keys_is_verified_again_with_it(filled: str) -> None:
    with Ledger.open(filled) as ledger:
        old = key_of(ledger)
        ledger.rotate_key()
    (key_folder() / f"{ledger.identity}-{old.id}.key").unlink()
    found = verify_ledger(filled)
    assert (found.sound, found.macs) == (True, False)
    Keyring(ledger.identity, key_folder()).add(old)
    assert taken(filled) == list(range(17))
    assert taken(filled) == []


def test_a_full_disk_costs_the_checkpoint_only(filled: str) -> None:
    with patch("pbdp.ledger.checkpoint.write_whole", side_effect=OSError(28, os.strerror(28))):
        assert verify_ledger(filled).sound
    assert taken(filled) == list(range(16))


def _fastest(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(5):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def test_opening_and_verifying_do_not_slow_down(file: Path) -> None:
    """A hundredth of 100,000 releases, where opening may take 5 ms and verifying 5 s (see `make bench`).

    Of the processor, as others may be busy here.
    """
    with ledger_with_visits(str(file), limit=10**9) as ledger:
        fill_at_once(ledger, (request(plan=plan_number(n), key=f"k{n}") for n in range(RELEASES)))
        assert ledger.verify().records == 2 * RELEASES + 2
    assert _fastest(lambda: Ledger.open(file).close()) < 0.005
    assert _fastest(lambda: verify_ledger(file)) < 5 * RELEASES / 100_000 + 0.005


def test_the_keyring_is_asked_again_when_a_key_was_missing(filled: str) -> None:
    with Ledger.open(filled) as ledger:
        key = key_of(ledger)
        ring = Keyring(ledger.identity, key_folder())
        shutil.rmtree(key_folder())
        assert ring.key(key.id) is None
        ring.add(key)
        assert ring.key(key.id) == key
