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

from pbdp.errors import InputError
from pbdp.ledger import Ledger, LedgerError, RolledBackError
from pbdp.ledger.errors import UntrustedLedgerError, WitnessError
from pbdp.ledger.keys import state_folder
from pbdp.ledger.witness import Memory, Totals, Witness
from tests.ledger.asking import ledger_with_visits, request, spend
from tests.ledger.tampering import remove, take_back


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
    ["", "{", "[]", "[" * 10**5, '{"sequence": 1, "hash": "zz", "datasets": {}}', "\udcff", "{} {}"],
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


def test_the_list_of_heads_knows_what_a_lost_witness_knew(url: str, state: Path) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        (state / f"{ledger.identity}.json").unlink()
    with Ledger.open(url) as ledger, pytest.raises(UntrustedLedgerError):
        spend(ledger, 2)
    take_back(url, 1)
    with pytest.raises(RolledBackError):
        Ledger.open(url, trust=True)
    with pytest.raises(InputError, match="the totals that this machine knew are lost"):
        Ledger.recover(url, "known")
    with Ledger.recover(url, "all") as ledger:
        assert ledger.dataset("visits").remaining == {"renyi": 0}


def test_a_head_that_only_the_list_knows_counts(url: str, state: Path) -> None:
    """As after a crash between the two files."""
    with ledger_with_visits(url) as ledger:
        witness = state / f"{ledger.identity}.json"
        before = witness.read_bytes()
        spend(ledger, 1)
    witness.write_bytes(before)
    take_back(url, 2)
    with pytest.raises(RolledBackError, match="has seen record 3"):
        Ledger.open(url)


def test_a_full_disk_loses_nothing_that_was_known(file: Path, state: Path) -> None:
    """The real limit of a file's size: the first write is cut short, the next one refused."""
    with ledger_with_visits(str(file)) as ledger:
        spend(ledger, 1)
        kept = {path: path.read_bytes() for path in state.iterdir() if path.suffix == ".json"}
        many = {f"dataset {number}": Totals(sequence=9, spent={"x": number}) for number in range(1000)}
        witness = Witness(ledger.identity, state, place=ledger.place, wait=1)
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, usual[1]))
        try:
            with pytest.raises(LedgerError, match="cannot be noted"):
                witness.note(Memory(sequence=9, hash="9" * 64, datasets=many))
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
    with Ledger.open(file, wait=0.1) as ledger, (state / f"{ledger.identity}.heads").open() as heads:
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
    with pytest.raises(UntrustedLedgerError, match="which this machine knows, is gone"):
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
    first = Memory(sequence=5, hash="5" * 64, datasets={"a": Totals(sequence=5, spent={"x": 1})})
    second = Memory(sequence=6, hash="6" * 64, datasets={"b": Totals(sequence=6, spent={"x": 2})})
    third = Memory(sequence=7, hash="7" * 64, datasets={"a": Totals(sequence=7, spent={"x": 3})})
    left = []
    for number, order in enumerate(([first, second, third], [third, second, first], [second, third, first])):
        witness = Witness("id", tmp_path / str(number), place="here", wait=1)
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
    witness = Witness("id", tmp_path, place="here", wait=1)
    witness.note(old)
    witness.restart(old, recovered)
    known = witness.read()
    assert known == Memory(sequence=5, hash="5" * 64, datasets={**old.datasets, **recovered.datasets})
    witness.note(after)
    witness.restart(old, recovered)
    assert witness.read() == Memory(sequence=6, hash="6" * 64, datasets={**old.datasets, **after.datasets})
