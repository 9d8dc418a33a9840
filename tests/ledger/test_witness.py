"""What a machine remembers of a ledger: the head and the totals, in whatever order it hears of them."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shutil
import stat
import time
from pathlib import Path

import pytest

from pbdp.ledger import Ledger, LedgerError, RolledBackError
from pbdp.ledger.errors import RemovedLedgerError, UntrustedLedgerError, WitnessError
from pbdp.ledger.keys import state_folder
from pbdp.ledger.witness import Memory, Witness
from tests.ledger.asking import ledger_with_visits, request, spend
from tests.ledger.tampering import remove, take_back


def test_the_witness_knows_the_head_and_the_totals(url: str, state: Path) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        witness = json.loads((state / f"{ledger.identity}.json").read_text())
        outcome = ledger.verify()
    assert (witness["sequence"], witness["hash"]) == (outcome.records - 1, outcome.head)
    assert witness["spent"]["visits"] == {"renyi": 10}


def test_the_state_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PBDP_STATE", "/one")
    monkeypatch.setenv("XDG_STATE_HOME", "/two")
    monkeypatch.setenv("HOME", "/three")
    assert state_folder() == Path("/one")
    monkeypatch.delenv("PBDP_STATE")
    assert state_folder() == Path("/two/pbdp")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert state_folder() == Path("/three/.local/state/pbdp")


def test_a_machine_without_a_witness_reads_but_spends_nothing_unless_it_is_told_to_trust(
    url: str, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ledger_with_visits(url) as ledger:
        quiet = ledger.notes
        spend(ledger, 1)
    shutil.rmtree(state)
    for _ in range(2):  # reading does not make it known
        with Ledger.open(url) as ledger:
            assert ledger.dataset("visits").spent == {"renyi": 10}
            assert "has no witness of it" in ledger.notes[0]
            assert ledger.verify().sound
            with pytest.raises(UntrustedLedgerError, match="trust=True"):
                spend(ledger, 2)
    assert caplog.messages == []
    with Ledger.open(url, trust=True) as ledger:
        assert len(ledger.notes) == len(quiet) + 1
        for number in (2, 3):
            spend(ledger, number)
            assert [("is taken on trust" in said) for said in caplog.messages] == [True] * (number - 1)
    with Ledger.open(url) as ledger:
        assert ledger.notes == quiet
        spend(ledger, 4)
    assert len(caplog.messages) == 2


def test_to_trust_does_not_help_against_what_is_known(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
    take_back(url, 1)
    with pytest.raises(RolledBackError):
        Ledger.open(url, trust=True)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "[" * 10**5,
        '{"sequence": 1, "hash": "zz", "spent": {}, "since": []}',
        "\udcff",
        "{} {}",
    ],
    ids=lambda content: content[:10],
)
def test_a_witness_that_says_nothing_is_an_error_and_is_left_alone(
    file: Path, state: Path, content: str
) -> None:
    with ledger_with_visits(str(file)) as ledger:
        witness = state / f"{ledger.identity}.json"
        witness.write_text(content, errors="surrogateescape")
        with pytest.raises(WitnessError, match="Put it back from a copy"):
            spend(ledger, 1)
    for trust in (False, True):
        with pytest.raises(WitnessError, match="remove the file and open the ledger once with trust=True"):
            Ledger.open(file, trust=trust)
    assert witness.read_text(errors="surrogateescape") == content
    witness.unlink()
    with Ledger.open(file, trust=True) as ledger:
        spend(ledger, 1)


def test_every_cut_of_a_witness_is_an_error(file: Path, state: Path) -> None:
    with ledger_with_visits(str(file)) as ledger:
        spend(ledger, 1)
        witness = state / f"{ledger.identity}.json"
    whole = witness.read_bytes()
    for kept in range(len(whole)):
        witness.write_bytes(whole[:kept])
        with pytest.raises(WitnessError):
            Ledger.open(file)


def test_a_witness_that_cannot_be_read_is_an_error(file: Path, state: Path) -> None:
    with ledger_with_visits(str(file)) as ledger:
        witness = state / f"{ledger.identity}.json"
    witness.unlink()
    witness.mkdir()
    with pytest.raises(WitnessError, match="cannot be read"):
        Ledger.open(file, trust=True)


def test_a_full_disk_loses_nothing_that_was_known(file: Path, state: Path) -> None:
    """The real limit of a file's size: the first write is cut short, the next one refused."""
    with ledger_with_visits(str(file)) as ledger:
        spend(ledger, 1)
        kept = {path: path.read_bytes() for path in state.iterdir() if path.suffix == ".json"}
        many = {f"dataset {number}": {"x": number} for number in range(1000)}
        witness = Witness(ledger.identity, state, place=ledger.place, wait=1)
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, usual[1]))
        try:
            with pytest.raises(LedgerError, match="cannot be noted"):
                witness.note(Memory(sequence=9, hash="9" * 64, spent=many))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        assert {path: path.read_bytes() for path in state.iterdir() if path.suffix == ".json"} == kept


def test_short_writes_are_written_on(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:7]))
    with ledger_with_visits(str(file)) as ledger:
        spend(ledger, 1)
    with Ledger.open(file) as ledger:
        assert ledger.verify().sound


def test_the_witness_is_forced_to_the_disk_before_and_after_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        done.append("renamed")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    Witness("id", tmp_path, place="here", wait=1).note(Memory(sequence=5, hash="5" * 64))
    assert done == ["file", "renamed", "folder"]


def test_a_witness_that_is_held_too_long_is_said(file: Path, state: Path) -> None:
    ledger_with_visits(str(file)).close()
    with Ledger.open(file, wait=0.1) as ledger, (state / f"{ledger.identity}.lock").open() as heads:
        fcntl.flock(heads, fcntl.LOCK_EX)
        began = time.monotonic()
        with pytest.raises(LedgerError, match=r"locked by another program for more than 0\.1 seconds"):
            ledger.reserve(request(key="k"))
        assert time.monotonic() - began < 5
        fcntl.flock(heads, fcntl.LOCK_UN)
        assert ledger.release(request(key="k"), lambda: b"x") == b"x"
        assert ledger.dataset("visits").spent == {"renyi": 10}


def test_a_ledger_that_was_removed_and_made_again_is_noticed(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
    remove(url)
    with pytest.raises(RemovedLedgerError, match="which this machine knows, is gone"):
        Ledger.create(url)
    with ledger_with_visits(url, trust=True) as ledger:
        spend(ledger, 1)
    with Ledger.open(url) as ledger:
        spend(ledger, 2)


def test_a_ledger_made_elsewhere_and_put_in_the_place_of_another_is_noticed(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ledger_with_visits(str(file)) as ledger:
        spend(ledger, 1)
    here = os.environ["PBDP_STATE"]
    for state in (here, str(tmp_path / "elsewhere")):  # known to this machine at another place, or not at all
        monkeypatch.setenv("PBDP_STATE", state)
        other = tmp_path / "other.db"
        ledger_with_visits(str(other)).close()
        other.replace(file)
        monkeypatch.setenv("PBDP_STATE", here)
        with Ledger.open(file) as ledger, pytest.raises(UntrustedLedgerError, match="removed or replaced"):
            spend(ledger, 1)


def test_the_order_in_which_processes_tell_the_witness_does_not_matter(tmp_path: Path) -> None:
    first, second, third = (Memory(sequence=n, hash=f"{n}" * 64, spent={"a": {"x": n}}) for n in (5, 6, 7))
    for number, order in enumerate(([first, second, third], [third, second, first], [second, third, first])):
        witness = Witness("id", tmp_path / str(number), place="here", wait=1)
        for memory in order:
            witness.note(memory)
        assert witness.read() == third


def test_amounts_in_the_witness_are_exact(url: str) -> None:
    huge = 2**300 + 1
    with ledger_with_visits(url, limit=2 * huge) as ledger:
        spend(ledger, 1, cost=huge)
    take_back(url, 1)
    with Ledger.repair(url, "known") as ledger:
        assert ledger.dataset("visits").spent == {"renyi": huge}


def test_a_witness_that_has_gone_on_is_not_taken_back_by_a_late_restart(tmp_path: Path) -> None:
    old = Memory(sequence=9, hash="9" * 64, spent={"lost": {"x": 1}})
    recovered = Memory(sequence=5, hash="5" * 64, spent={"a": {"x": 1}})
    after = Memory(sequence=6, hash="6" * 64, spent={"a": {"x": 2}})
    witness = Witness("id", tmp_path, place="here", wait=1)
    witness.note(old)
    witness.restart(old, recovered)
    assert witness.read() == recovered
    witness.note(after)
    witness.restart(old, recovered)
    assert witness.read() == after
