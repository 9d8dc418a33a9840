"""What a machine remembers of a ledger: the head and the totals, in whatever order it hears of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pbdp.ledger import Ledger
from pbdp.ledger.witness import Memory, Totals, Witness, state_folder
from tests.ledger.asking import ledger_with_visits, spend
from tests.ledger.tampering import take_back


def test_the_witness_knows_the_head_and_the_totals(url: str, state: Path) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        witness = json.loads((state / f"{ledger.identity}.json").read_text())
        outcome = ledger.verify()
    assert (witness["sequence"], witness["hash"]) == (outcome.records - 1, outcome.head)
    assert witness["datasets"]["visits"]["spent"] == {"renyi": 10}


def test_the_state_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PBDP_STATE", "/one")
    monkeypatch.setenv("XDG_STATE_HOME", "/two")
    monkeypatch.setenv("HOME", "/three")
    assert state_folder() == Path("/one")
    monkeypatch.delenv("PBDP_STATE")
    assert state_folder() == Path("/two/pbdp")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert state_folder() == Path("/three/.local/state/pbdp")


def test_a_new_machine_is_noted_once(url: str, state: Path) -> None:
    with ledger_with_visits(url) as ledger:
        quiet = ledger.notes
    shutil.rmtree(state)
    with Ledger.open(url) as ledger:
        assert len(ledger.notes) == len(quiet) + 1
        assert "did not exist and was begun now" in ledger.notes[0]
    with Ledger.open(url) as ledger:
        assert ledger.notes == quiet


def test_an_unreadable_witness_counts_as_missing_and_is_noted(url: str, state: Path) -> None:
    with ledger_with_visits(url) as ledger:
        file = state / f"{ledger.identity}.json"
    for content in ("", "{", "[]", '{"sequence": 1, "hash": "zz", "datasets": {}}', "\udcff"):
        file.write_text(content, errors="surrogateescape")
        with Ledger.open(url) as ledger:
            assert "could not be read and was begun now" in ledger.notes[0]
    with Ledger.open(url) as ledger:
        spend(ledger, 1)


def test_the_order_in_which_processes_tell_the_witness_does_not_matter(tmp_path: Path) -> None:
    first = Memory(sequence=5, hash="5" * 64, datasets={"a": Totals(sequence=5, spent={"x": 1})})
    second = Memory(sequence=6, hash="6" * 64, datasets={"b": Totals(sequence=6, spent={"x": 2})})
    third = Memory(sequence=7, hash="7" * 64, datasets={"a": Totals(sequence=7, spent={"x": 3})})
    left = []
    for number, order in enumerate(([first, second, third], [third, second, first], [second, third, first])):
        witness = Witness("id", tmp_path / str(number))
        for memory in order:
            witness.note(memory)
        left.append(witness.read())
    assert left[0] == left[1] == left[2]
    assert left[0] == Memory(
        sequence=7,
        hash="7" * 64,
        datasets={"a": Totals(sequence=7, spent={"x": 3}), "b": Totals(sequence=6, spent={"x": 2})},
    )


def test_amounts_in_the_witness_are_exact(url: str) -> None:
    huge = 2**300 + 1
    with ledger_with_visits(url, limit=2 * huge) as ledger:
        spend(ledger, 1, cost=huge)
    take_back(url, 1)
    with Ledger.recover(url, "known") as ledger:
        assert ledger.dataset("visits").spent == {"renyi": huge}


def test_a_witness_that_has_gone_on_is_not_taken_back_by_a_late_restart(tmp_path: Path) -> None:
    old = Memory(sequence=9, hash="9" * 64, datasets={"lost": Totals(sequence=8, spent={"x": 1})})
    recovered = Memory(sequence=5, hash="5" * 64, datasets={"a": Totals(sequence=5, spent={"x": 1})})
    after = Memory(sequence=6, hash="6" * 64, datasets={"a": Totals(sequence=6, spent={"x": 2})})
    witness = Witness("id", tmp_path)
    witness.note(old)
    witness.restart(old, recovered)
    known = witness.read()
    assert known == Memory(sequence=5, hash="5" * 64, datasets={**old.datasets, **recovered.datasets})
    witness.note(after)
    witness.restart(old, recovered)
    assert witness.read() == Memory(sequence=6, hash="6" * 64, datasets={**old.datasets, **after.datasets})
