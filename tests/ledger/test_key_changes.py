"""The life of a key: brought to other machines, rotated, lost and replaced; and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import InputError
from pbdp.ledger import Ledger, LedgerError, RolledBackError, verify_ledger
from pbdp.ledger.errors import DamagedLedgerError, KeyFileError, MissingKeyError
from pbdp.ledger.keys import Key, Keyring, key_folder
from pbdp.ledger.verification import walk_of
from tests.ledger.asking import fill, ledger_with_visits, spend
from tests.ledger.tampering import after, append, key_of, record_of, rewrite_from, take_back

Machine = Callable[[str], None]


@pytest.fixture
def on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Go to another machine, with a state folder and keys of its own."""

    def there(name: str) -> None:
        monkeypatch.setenv("PBDP_STATE", str(tmp_path / name))
        monkeypatch.delenv("PBDP_KEYS", raising=False)

    there("here")
    return there


def lose_keys() -> None:
    for file in key_folder().glob("*.key"):
        file.unlink()


def test_a_ledger_is_made_with_a_key_in_the_state_folder(url: str, on: Machine, tmp_path: Path) -> None:
    on("here")
    with ledger_with_visits(url) as ledger:
        (file,) = (tmp_path / "here").glob("*.key")
        assert file.name == f"{ledger.identity}-{key_of(ledger).id}.key"
        assert file.stat().st_mode & 0o777 == 0o600
        assert all(json.loads(line)["key_id"] == key_of(ledger).id for line in list(ledger.export())[1:-1])


def test_keys_are_never_kept_beside_the_ledger(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PBDP_KEYS", str(file.parent / "state" / ".."))
    with pytest.raises(InputError, match="who copies the ledger must not get its key"):
        Ledger.create(file)
    assert list(file.parent.glob("*.key*")) == []


def test_a_second_machine_needs_the_key_to_spend(url: str, on: Machine) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        keys = ledger.exported_keys()
    on("there")
    with Ledger.open(url, trust=True) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 10}
        with pytest.raises(MissingKeyError):
            spend(ledger, 2)
        ledger.take_keys(json.loads(keys))
        spend(ledger, 2)
    on("here")
    with Ledger.open(url) as ledger:
        spend(ledger, 3)
        assert ledger.verify().macs


@pytest.mark.parametrize("content", [None, [], {}, {"keys": "pbdp ledger keys 1"}, {"secrets": ["00"]}])
def test_what_is_no_key_file_is_not_taken(url: str, content: object) -> None:
    with ledger_with_visits(url) as ledger:
        exported = json.loads(ledger.exported_keys())
        wrong = exported | content if isinstance(content, dict) and "secrets" in content else content
        with pytest.raises(InputError, match="what `pbdp ledger key export` writes"):
            ledger.take_keys(wrong)
        with pytest.raises(InputError, match="that of another one"):
            ledger.take_keys(exported | {"ledger": "0" * 32})


def test_after_a_rotation_new_records_are_under_the_new_key(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        old = key_of(ledger)
        digest = ledger.keyed_digest("data", b"rows")
        spend(ledger, 1)
        new = ledger.rotate_key()
        spend(ledger, 2)
        assert key_of(ledger).id == new != old.id
        records = [json.loads(line) for line in list(ledger.export())[1:-1]]
        assert [record["key_id"] for record in records] == [old.id] * 5 + [new] * 2
        assert ledger.verify().macs
        # what was under the old key can still be compared
        assert ledger.keyed_digest("data", b"rows") != digest
        assert ledger.keyed_digest("data", b"rows", like=digest) == digest
        third = ledger.rotate_key()
        assert walk_of(ledger.export(), ledger._log.ring).fault is None
    with Ledger.open(url) as ledger:
        spend(ledger, 3)
        assert key_of(ledger).id == third
        assert ledger.verify().sound


def test_machines_without_the_new_key_only_read(url: str, on: Machine) -> None:
    with ledger_with_visits(url) as ledger:
        keys = json.loads(ledger.exported_keys())
    on("there")
    with Ledger.open(url, trust=True) as other:
        other.take_keys(keys)
        spend(other, 1)
        on("here")
        with Ledger.open(url) as ledger:
            new = ledger.rotate_key()
            spend(ledger, 2)
            keys = json.loads(ledger.exported_keys())
        on("there")
        with pytest.raises(MissingKeyError, match=new):
            spend(other, 3)
        with Ledger.open(url) as reader:
            assert any(new in note for note in reader.notes)
            assert reader.dataset("visits").spent == {"renyi": 20}
            assert not reader.verify().macs
        other.take_keys(keys)
        spend(other, 3)
        assert other.verify().macs


def test_the_old_key_is_of_no_use_after_a_rotation(url: str) -> None:
    """A key that leaked is rotated: who has it can append nothing that is believed."""
    with ledger_with_visits(url) as ledger:
        leaked = key_of(ledger)
        ledger.rotate_key()
        content = record_of(ledger, 1).content | {"dataset": "more"}
        append(url, after(ledger, "dataset", content, leaked))
        with pytest.raises(DamagedLedgerError, match="record 3 is under another key than those before it"):
            spend(ledger, 1)


def test_a_key_that_was_kept_and_never_used_does_no_harm(url: str) -> None:
    """As after a crash in the middle of a rotation."""
    with ledger_with_visits(url) as ledger:
        Keyring(ledger.identity, key_folder()).add(Key.fresh())
        spend(ledger, 1)
        ledger.rotate_key()
        spend(ledger, 2)
        assert ledger.verify().sound


def test_a_lost_key_is_replaced_from_an_export(url: str) -> None:
    with ledger_with_visits(url, limit=50) as ledger:
        old = key_of(ledger)
        spend(ledger, 1)
        export = list(ledger.export())
        spend(ledger, 2)
    lose_keys()
    with Ledger.open(url) as ledger, pytest.raises(MissingKeyError):
        spend(ledger, 3)
    with Ledger.replace_key(url, export) as ledger:
        new = key_of(ledger)
        assert new.id != old.id
        assert spend(ledger, 2) == b"2"  # what was answered is still the answer
        spend(ledger, 3)
        records = [json.loads(line) for line in list(ledger.export())[1:-1]]
        assert json.loads(records[6]["payload"]) == {
            "key": new.id,
            "before": old.id,
            "change": "replaced",
            "export": {"sequence": 3, "hash": json.loads(export[-1])["end"]},
        }
        found = ledger.verify()
        assert (found.sound, found.macs) == (True, False)
        assert any(f"does not have the key {old.id}" in note for note in found.notes)
        again = ledger.verify()
        assert (again.sound, again.macs) == (True, False)
    with Ledger.open(url) as ledger:
        spend(ledger, 4)
        assert ledger.dataset("visits").spent == {"renyi": 40}
    with pytest.raises(InputError, match="key must be lost"):
        Ledger.replace_key(url, export)


def test_other_machines_take_the_new_key_together_with_what_was_lost(url: str, on: Machine) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        export = list(ledger.export())
    lose_keys()
    with Ledger.replace_key(url, export) as ledger:
        keys = json.loads(ledger.exported_keys())
    on("there")
    with Ledger.open(url, trust=True) as ledger:
        ledger.take_keys(keys)
        spend(ledger, 2)
        assert ledger.verify().sound


def test_a_lost_key_vouches_for_nothing_new(url: str) -> None:
    """Its id is public: records that name it after it was replaced are not believed."""
    with ledger_with_visits(url, limit=20) as ledger:
        old = key_of(ledger)
        spend(ledger, 1)
        spend(ledger, 2)
        export = list(ledger.export())
    lose_keys()
    with Ledger.replace_key(url, export) as ledger:
        content = {"key": old.id, "before": key_of(ledger).id, "change": "replaced", "export": {}}
        append(url, after(ledger, "key", content, old))  # its MAC cannot be checked any more
        with pytest.raises(MissingKeyError):
            spend(ledger, 3)
    with Ledger.open(url) as ledger:
        assert any("can only be read" in note for note in ledger.notes)
        with pytest.raises(MissingKeyError):
            spend(ledger, 3)


def test_a_machine_that_lost_everything_goes_on_from_the_export(url: str, on: Machine) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        export = list(ledger.export())
    on("a new one")
    with Ledger.replace_key(url, export) as ledger:
        assert any("is taken on trust" in note for note in ledger.notes)
        spend(ledger, 2)
    with Ledger.open(url) as ledger:
        spend(ledger, 3)


@pytest.mark.parametrize("damage", ["shorter", "rewritten", "other ledger", "cut export"])
def test_a_key_is_not_replaced_unless_the_ledger_continues_the_export(
    url: str, on: Machine, tmp_path: Path, damage: str
) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        spend(ledger, 2)
        export, key = list(ledger.export()), key_of(ledger)
    on("a new one")
    refused: tuple[type[Exception], str] = (DamagedLedgerError, "")
    if damage == "shorter":
        take_back(url, 3)
        refused = (DamagedLedgerError, "it ends at record 3, unchanged, but the export goes on to record 5")
    elif damage == "rewritten":
        rewrite_from(url, 2, {"query": "another"}, key)
        refused = (DamagedLedgerError, "it was rewritten: record 2 is not the one in the export")
    elif damage == "other ledger":
        with ledger_with_visits(str(tmp_path / "other.db")) as other:
            export = list(other.export())
        refused = (InputError, "export must be of the ledger")
    else:
        export.pop()
        refused = (InputError, "export must be sound")
    with pytest.raises(refused[0], match=refused[1]):
        Ledger.replace_key(url, export)
    with Ledger.open(url, trust=True) as ledger, pytest.raises(MissingKeyError):
        spend(ledger, 3)


def test_what_was_forged_after_the_export_must_add_up(url: str) -> None:
    with ledger_with_visits(url, limit=10) as ledger:
        spend(ledger, 1)
        export = list(ledger.export())
        content = record_of(ledger, 2).content | {
            "key": "forged",
            "spent": {"renyi": 0},
            "cost": {"renyi": 0},
        }
        forged = after(ledger, "spend", content, key_of(ledger))
    lose_keys()
    append(url, forged)
    with pytest.raises(DamagedLedgerError, match="record 4"):
        Ledger.replace_key(url, export)


def test_a_witness_still_counts_when_a_key_is_replaced(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        spend(ledger, 1)
        export = list(ledger.export())
        spend(ledger, 2)
    take_back(url, 3)
    lose_keys()
    with pytest.raises(RolledBackError):
        Ledger.replace_key(url, export)


def test_what_comes_while_a_key_is_being_replaced_is_not_overlooked(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine still had the key: nothing is replaced then, and a second try sees it."""
    with ledger_with_visits(url) as ledger:
        export = list(ledger.export())
        kept = {path: path.read_bytes() for path in key_folder().glob("*.key")}
        other = Ledger.open(url)
        fault = type(ledger._log.store).fault

        def comes(store: Any) -> Any:
            spend(other, 1)
            return fault(store)

        lose_keys()
        with monkeypatch.context() as patch:
            patch.setattr(type(ledger._log.store), "fault", comes)
            with pytest.raises(LedgerError, match="Another program wrote"):
                Ledger.replace_key(url, export)
        other.close()
    assert kept
    with Ledger.replace_key(url, export) as ledger:
        spend(ledger, 2)
        assert ledger.dataset("visits").spent == {"renyi": 20}


def test_a_damaged_key_file_is_an_error_and_not_a_missing_key(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        (file,) = key_folder().glob("*.key")
        before = file.read_bytes()
    file.write_bytes(before[:-9])
    with pytest.raises(KeyFileError, match="Put it back from a copy"):
        Ledger.open(url)
    file.write_bytes(before)
    with Ledger.open(url) as ledger:
        spend(ledger, 1)


def test_a_ledger_is_held_against_an_export(filled: str) -> None:
    with Ledger.open(filled) as ledger:
        export, key = list(ledger.export()), key_of(ledger)
    assert verify_ledger(filled, against=export).sound
    with Ledger.open(filled) as ledger:
        spend(ledger, 1)
    found = verify_ledger(filled, against=export)
    assert found.sound
    assert "The export ends at record 15." in found.notes
    with Ledger.open(filled) as ledger:
        newer = list(ledger.export())
    # on a machine that knows nothing of it, only the export can tell
    shutil.rmtree(key_folder().parent / "state")
    take_back(filled, 15)
    assert verify_ledger(filled).sound
    assert "it ends at record 15, unchanged" in str(verify_ledger(filled, against=newer).fault)
    rewrite_from(filled, 4, {"query": "another"}, key)
    assert verify_ledger(filled).sound
    for kept in (export, newer):
        fault = verify_ledger(filled, against=kept).fault
        assert fault == "it was rewritten: record 4 is not the one in the export"


def test_an_export_that_says_nothing_of_the_ledger_is_refused(filled: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    fill(other)
    with Ledger.open(filled) as ledger, Ledger.open(other) as another:
        with pytest.raises(InputError, match="export must be of the ledger"):
            ledger.verify(against=another.export())
        with pytest.raises(InputError, match="export must be sound"):
            ledger.verify(against=list(ledger.export())[:-2])
