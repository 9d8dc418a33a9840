"""Tampering: whatever is changed behind the ledger's back is found, by the walk, the witness or an export."""

from __future__ import annotations

import base64
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pbdp.ledger import Ledger, RolledBackError, verify_export, verify_ledger
from pbdp.ledger.errors import DamagedLedgerError
from pbdp.ledger.verification import walk_of
from tests.ledger.asking import fill, ledger_with_visits, request
from tests.ledger.tampering import key_of, quoted, rewrite_from, swap, take_back, tamper

CHEAPER = """UPDATE record SET payload = replace(payload, '"renyi":10', '"renyi":1')
    WHERE sequence = {:d}"""
OTHERS_ANSWER = """UPDATE record SET answer = (SELECT answer FROM record WHERE sequence = 7)
    WHERE sequence = 9"""


def fault_of(url: str) -> str:
    outcome = verify_ledger(url)
    assert outcome.fault is not None
    assert not outcome.sound
    return outcome.fault


def test_an_untouched_ledger_is_sound(filled: str) -> None:
    outcome = verify_ledger(filled)
    assert outcome.sound
    assert (outcome.records, outcome.spends, outcome.answers) == (16, 7, 6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (CHEAPER.format(3), "record 3 does not match its hash"),
        (
            "UPDATE record SET time = '2020-01-01T00:00:00.000000Z' WHERE sequence = 6",
            "record 6 does not match",
        ),
        ("UPDATE record SET kind = 'spend' WHERE sequence = 5", "record 5 does not match its hash"),
        ("UPDATE record SET kind = 'gift' WHERE sequence = 5", "record 5 is of an unknown kind"),
        ("DELETE FROM record WHERE sequence = 4", "where record 4 should be: records are missing"),
        ("DELETE FROM record WHERE sequence = 0", "first record is missing"),
        (OTHERS_ANSWER, "the answer of record 9 is missing or was changed"),
        ("UPDATE record SET answer = NULL WHERE sequence = 9", "the answer of record 9 is missing"),
        ("UPDATE record SET answer = '9' WHERE sequence = 9", "the answer of record 9 is missing"),
    ],
)
def test_a_changed_store_is_found(filled: str, change: str, words: str) -> None:
    tamper(filled, change)
    assert words in fault_of(filled)


def test_swapped_records_are_found(filled: str) -> None:
    swap(filled, 4, 6)  # two spends
    assert "record 4 does not match its hash" in fault_of(filled)


def test_a_rewritten_chain_that_adds_up_is_found_by_the_witness(filled: str) -> None:
    with Ledger.open(filled) as ledger:
        key = key_of(ledger)
    rewrite_from(filled, 4, {"query": "another"}, key)
    with pytest.raises(RolledBackError, match="its record 15 is not the one that this machine saw"):
        Ledger.open(filled)
    assert "taken back" in fault_of(filled)


def test_a_record_of_another_ledger_is_found(tmp_path: Path) -> None:
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    fill(first)
    fill(second)
    tamper(
        first,
        f"ATTACH {quoted(second)} AS other",
        "DELETE FROM record WHERE sequence = 3",
        "INSERT INTO record SELECT * FROM other.record WHERE sequence = 3",
    )
    assert "record 3 does not continue the record before it" in fault_of(first)


def test_spending_from_a_changed_head_is_refused(filled: str) -> None:
    longer = """UPDATE record SET payload = replace(payload, '"bytes":8', '"bytes":9') WHERE sequence = 15"""
    tamper(filled, longer)
    with pytest.raises(DamagedLedgerError, match="record 15 does not match its hash"):
        Ledger.open(filled)


def test_a_total_that_was_changed_is_not_the_one_that_is_spent_from(filled: str) -> None:
    """What is spent is known from when the record was read."""
    with Ledger.open(filled) as ledger:
        tamper(filled, CHEAPER.format(14))
        assert ledger.dataset("visits").spent == {"renyi": 10}
        assert ledger.verify().fault == "record 14 does not match its hash"


def test_removed_last_records_are_found_by_the_witness_only(filled: str, state: Path) -> None:
    take_back(filled, 11)
    with pytest.raises(RolledBackError, match="it ends at record 11, but this machine has seen record 15"):
        Ledger.open(filled)
    shutil.rmtree(state)
    outcome = verify_ledger(filled)
    assert outcome.sound
    assert any("has no witness of it" in note for note in outcome.notes)


def test_an_export_verifies_as_the_ledger_does(filled: str) -> None:
    with Ledger.open(filled) as ledger:
        outcome, told = verify_export(ledger.export()), ledger.verify()
    assert outcome.sound
    assert (outcome.records, outcome.spends, outcome.answers) == (told.records, told.spends, told.answers)
    assert (outcome.ledger, outcome.head) == (told.ledger, told.head)


def test_an_export_holds_every_answer(lines: list[str]) -> None:
    answers = [json.loads(line) for line in lines if '"answer"' in line]
    assert [base64.b64decode(one["answer"]) for one in answers] == [b"answer %d" % n for n in range(6)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[:-1], "cut short"),
        (lambda lines: lines[:5], "cut short"),
        (lambda lines: lines[:5] + lines[6:], "records are missing"),
        (lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]], "records are missing"),
        (lambda lines: [*lines[:-3], lines[-1]], "cut short"),
        (lambda lines: [*lines, lines[-1]], "more after its last line"),
        (lambda lines: [line.replace(r"renyi\":10", r"renyi\":1") for line in lines], "does not match"),
        (lambda lines: ["{}", *lines[1:]], "line 1 cannot be read"),
        (lambda lines: [lines[0].replace("ledger 1", "ledger 2"), *lines[1:]], "it is not one that"),
        (lambda lines: [lines[0][:-4] + 'f"}', *lines[1:]], "names another ledger"),
        (lambda lines: [*lines[:6], "garbage", *lines[6:]], "line 7 cannot be read"),
        (lambda lines: [*lines[:6], '"end"', *lines[6:]], "line 7 cannot be read"),
        (lambda lines: [*lines[:6], "[" * 10**5, *lines[6:]], "line 7 cannot be read"),
        (lambda _: [], "cut short"),
    ],
)  # fmt: skip
def test_a_changed_export_is_found(
    lines: list[str], change: Callable[[list[str]], list[str]], words: str
) -> None:
    outcome = verify_export(change(lines))
    assert outcome.fault is not None
    assert words in outcome.fault


def test_any_changed_character_is_found(filled_file: Path) -> None:
    with Ledger.open(filled_file) as ledger:
        lines, ring = list(ledger.export()), ledger._log.ring
    rng = random.Random(1)
    for _ in range(300):
        number = rng.randrange(len(lines))
        place = rng.randrange(len(lines[number]))
        new = rng.choice('0a"}9Z')
        line = lines[number][:place] + new + lines[number][place + 1 :]
        if line != lines[number]:
            changed = [*lines[:number], line, *lines[number + 1 :]]
            # without the key a changed MAC, which binds nothing, cannot be told from the right one
            assert walk_of(changed, ring).outcome("").fault, (number, place)


def test_nothing_but_released_numbers_and_what_was_said_is_kept(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        ledger.release(request(key="k", query="count of visits"), lambda: b"released")
        text = "\n".join(ledger.export())
    payloads = [json.loads(json.loads(line)["payload"]) for line in text.splitlines()[1:-1]]
    assert set(payloads[2]) == {
        "dataset", "plans", "query", "key", "machine", "neighbors", "values", "disjoint", "units_left",
        "cost", "spent",
    }  # fmt: skip
    assert set(payloads[3]) == {"spend", "key", "bytes", "sha256"}
