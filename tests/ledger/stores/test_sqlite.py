"""The SQLite file: its settings, what it refuses, damage to it, and errors in words."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import shutil
import signal
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import InputError, PbdpError
from pbdp.ledger import Ledger, LedgerError, verify_ledger
from pbdp.ledger.errors import (
    DamagedLedgerError,
    LedgerExistsError,
    LockedLedgerError,
    NotALedgerError,
    ReadOnlyLedgerError,
    UnlockableLedgerError,
)
from pbdp.ledger.stores import sqlite
from pbdp.ledger.stores.sqlite import APPLICATION_ID, SqliteStore, unshared
from tests.ledger.asking import fill, fill_at_once, ledger_with_visits, plan_number, request

NOBODY = 65534
FLIPS = 200


def test_the_file_is_private_and_marked(file: Path) -> None:
    ledger_with_visits(str(file)).close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with closing(sqlite3.connect(file)) as plain:
        assert plain.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_commits_are_as_durable_as_sqlite_can_make_them(file: Path) -> None:
    with ledger_with_visits(str(file)) as ledger:
        connection = ledger._log.store._connection  # type: ignore[attr-defined]
        settings = ("synchronous", "journal_mode", "fullfsync")
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in settings]
        assert found == [3, "delete", 1]  # 3 is EXTRA


def test_records_cannot_be_changed_by_accident(file: Path) -> None:
    ledger_with_visits(str(file)).close()
    with closing(sqlite3.connect(file)) as plain:
        for change in ("UPDATE record SET time = ''", "DELETE FROM record"):
            with pytest.raises(sqlite3.IntegrityError, match="only ever appended"):
                plain.execute(change)


def test_a_place_that_is_taken_is_refused(file: Path, tmp_path: Path) -> None:
    ledger_with_visits(str(file)).close()
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to look like one" * 100)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as plain:
        plain.execute("CREATE TABLE t (x)")
    for taken in (file, text, other, tmp_path):
        with pytest.raises(LedgerExistsError):
            Ledger.create(taken)
    assert text.read_text().startswith("not a database")
    with Ledger.open(file) as ledger:
        assert ledger.dataset("visits").limits == {"renyi": 100}


def test_what_is_not_a_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to look like one" * 100)
    (tmp_path / "empty").touch()
    with closing(sqlite3.connect(tmp_path / "other")) as plain:
        plain.execute("CREATE TABLE t (x)")
    for name in ("text", "empty", "other", "missing", "."):
        with pytest.raises(NotALedgerError, match=r"Make one: pbdp\.budget"):
            Ledger.open(tmp_path / name)
    assert not (tmp_path / "missing").exists()


def test_a_ledger_of_another_version_or_with_other_tables_is_refused(file: Path) -> None:
    ledger_with_visits(str(file)).close()
    with closing(sqlite3.connect(file)) as plain:
        plain.execute("PRAGMA user_version = 2")
    with pytest.raises(NotALedgerError, match="version 2"):
        Ledger.open(file)
    with closing(sqlite3.connect(file)) as plain:
        plain.execute("PRAGMA user_version = 1")
        plain.execute("DROP TRIGGER not_to_delete")
    with pytest.raises(DamagedLedgerError, match="its table or what protects it was changed"):
        Ledger.open(file)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="in a folder that exists"):
        Ledger.create(tmp_path / "nowhere" / "budget.db")


def test_an_odd_file_name_is_a_file_name(tmp_path: Path) -> None:
    for name in (":memory:", "a?mode=memory", "with space#%41é.db"):
        ledger_with_visits(str(tmp_path / name)).close()
        assert (tmp_path / name).is_file()
        with Ledger.open(tmp_path / name) as ledger:
            assert ledger.datasets()


def test_a_lock_that_is_held_too_long_is_said_and_nothing_is_spent(file: Path) -> None:
    ledger_with_visits(str(file)).close()
    with Ledger.open(file, wait=0.1) as ledger, closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LockedLedgerError, match=r"more than 0\.1 seconds. Nothing was spent"):
            ledger.reserve(request())
        other.execute("ROLLBACK")
        assert ledger.dataset("visits").spent == {"renyi": 0}
        ledger.reserve(request())


@contextmanager
def powerless() -> Iterator[None]:
    """As a user who may write nothing of root's."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_cannot_be_written_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(tempfile.mkdtemp(prefix="pbdp-read-only-"))
    try:
        (folder / "state").mkdir()
        monkeypatch.setenv("PBDP_STATE", str(folder / "state"))
        monkeypatch.delenv("PBDP_KEYS")
        file = folder / "budget.db"
        with ledger_with_visits(str(file)) as ledger:
            ledger.release(request(), lambda: b"x")
        file.chmod(0o444)
        folder.chmod(0o555)
        (folder / "state").chmod(0o777)
        for kept in (folder / "state").iterdir():
            if kept.suffix == ".key" and os.geteuid() == 0:
                os.chown(kept, NOBODY, NOBODY)
            elif kept.suffix != ".key":
                kept.chmod(0o666)
        with powerless():
            with Ledger.open(file) as ledger:
                assert ledger.dataset("visits").spent == {"renyi": 10}
                assert ledger.verify().sound
                with pytest.raises(ReadOnlyLedgerError, match="Nothing was spent"):
                    ledger.reserve(request(plan=plan_number(1)))
            with pytest.raises(ReadOnlyLedgerError):
                Ledger.create(folder / "another.db")
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_state_folder_that_cannot_be_written_stops_spending_before_it_is_paid(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger_with_visits(str(file)).close()
    (tmp_path / "a file").touch()
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "a file" / "state"))
    with Ledger.open(file, trust=True) as ledger:
        assert any("cannot be noted" in note for note in ledger.notes)
        with pytest.raises(LedgerError, match="PBDP_STATE"):
            ledger.reserve(request())
        assert ledger.dataset("visits").spent == {"renyi": 0}
        assert ledger.verify().sound


def test_a_file_that_is_replaced_while_it_is_open_is_noticed(file: Path, tmp_path: Path) -> None:
    with ledger_with_visits(str(file)) as ledger:
        shutil.copy(file, tmp_path / "copy")
        ledger.reserve(request())
        (tmp_path / "copy").replace(file)
        with pytest.raises(LedgerError, match="taken back"):
            ledger.reserve(request(plan=plan_number(1)))


def test_a_file_that_is_removed_while_it_is_open_is_noticed(file: Path) -> None:
    with ledger_with_visits(str(file)) as ledger:
        file.unlink()
        with pytest.raises(NotALedgerError, match="where there is nothing"):
            ledger.reserve(request())


def test_a_forked_process_has_to_open_the_ledger_again(file: Path) -> None:
    with ledger_with_visits(str(file)) as ledger:
        child = os.fork()
        if child == 0:
            try:
                ledger.reserve(request())
            except LedgerError as error:
                os._exit(7 if "open it again" in str(error) else 1)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7
        ledger.reserve(request())


def test_a_file_that_sqlite_cannot_read_is_reported(file: Path) -> None:
    ledger_with_visits(str(file)).close()
    content = bytearray(file.read_bytes())
    content[0] ^= 1
    file.write_bytes(content)
    outcome = verify_ledger(file)
    assert not outcome.sound
    assert outcome.fault is not None
    assert "not an SQLite database" in outcome.fault


def test_a_release_reads_only_what_is_new(file: Path) -> None:
    """The 10,000th release costs what the 10th did: rows are read by their numbers, from the head on."""
    with ledger_with_visits(str(file), limit=10**6) as ledger:
        fill_at_once(ledger, (request(plan=plan_number(number), key=f"{number}") for number in range(300)))
        ledger.dataset("visits")
        connection, counts = ledger._log.store._connection, []  # type: ignore[attr-defined]
        rows = type(ledger._log.store).rows

        def counted(store: SqliteStore, *asked: Any, **how: Any) -> Any:
            found = rows(store, *asked, **how)
            counts.append(len(found))
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SqliteStore, "rows", counted)
            for key in ("new", "new", "7"):
                ledger.release(request(plan=plan_number(7), key=key, again=True), lambda: b"x")
        assert max(counts) == 1
        statement = "SELECT payload FROM record WHERE sequence BETWEEN 5 AND 6 ORDER BY sequence LIMIT 9"
        plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}"))
        assert "USING INTEGER PRIMARY KEY" in plan


def test_every_flipped_bit_is_found_or_changes_nothing(file: Path) -> None:
    fill(str(file), releases=30)
    with Ledger.open(file) as ledger:
        before = list(ledger.export())
    content = file.read_bytes()
    rng = random.Random(7)
    found = harmless = 0
    for _ in range(FLIPS):
        damaged = bytearray(content)
        damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        if verify_ledger(file).sound:
            with Ledger.open(file) as ledger:
                assert list(ledger.export()) == before
            harmless += 1
        else:
            found += 1
    assert found > FLIPS / 5
    assert harmless + found == FLIPS


def test_every_flipped_bit_of_the_header_and_of_a_record_is_found_or_changes_nothing(file: Path) -> None:
    fill(str(file), releases=1)
    with Ledger.open(file) as ledger:
        before = list(ledger.export())
    content = file.read_bytes()
    # the 100 bytes that say what the file is, and a record's payload, which has no byte to spare
    payload = content.index(b'{"cost"')
    for place in [*range(100), *range(payload, payload + 200)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        file.write_bytes(damaged)
        outcome = verify_ledger(file)
        if place >= payload:
            assert not outcome.sound
        elif outcome.sound:
            with Ledger.open(file) as ledger:
                assert list(ledger.export()) == before


def test_a_truncated_file_is_found(file: Path) -> None:
    fill(str(file), releases=30)
    content = file.read_bytes()
    for kept in (0, 50, 100, 4096, 5000, len(content) // 2, len(content) - 4096, len(content) - 1):
        file.write_bytes(content[:kept])
        assert not verify_ledger(file).sound, kept
        with pytest.raises(PbdpError), Ledger.open(file) as ledger:
            ledger.release(request(plan=plan_number(1)), lambda: b"x")


LOCAL = "29 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw,discard"
MOUNTS = {
    "nfs with nolock": "50 29 0:45 / /data rw,relatime shared:2 - nfs srv:/x rw,vers=3,nolock,addr=10.0.0.1",
    "nfs local_lock": "50 29 0:45 / /data rw shared:2 - nfs4 srv:/x rw,local_lock=all",
    "cifs nobrl": "50 29 0:45 / /data rw - cifs //srv/x rw,nobrl",
    "sshfs": "50 29 0:45 / /data rw - fuse.sshfs me@srv: rw",
}
KEEPING = {
    "nfs": "50 29 0:45 / /data rw,relatime shared:2 - nfs4 srv:/x rw,vers=4.2,local_lock=none",
    "local": LOCAL,
    "elsewhere": "50 29 0:45 / /dat rw - nfs srv:/x rw,nolock",
    "deeper": "50 29 0:45 / /data/team/other rw - nfs srv:/x rw,nolock",
    "broken": "50 29 - nfs",
}


@pytest.mark.parametrize("line", MOUNTS.values(), ids=MOUNTS)
def test_mounts_that_do_not_share_locks_are_seen(line: str) -> None:
    for lines in ([LOCAL, line], [line, LOCAL]):
        assert unshared("/data/team", lines)
        assert unshared("/data", lines)


@pytest.mark.parametrize("line", KEEPING.values(), ids=KEEPING)
def test_others_are_not(line: str) -> None:
    assert unshared("/data/team", [LOCAL, line]) is None


def test_the_innermost_mount_counts() -> None:
    outer = MOUNTS["sshfs"]
    inner = "60 50 0:46 / /data/my\\040team rw - ext4 /dev/x rw"
    assert unshared("/data/my team/x", [LOCAL, outer, inner]) is None
    assert unshared("/data/my", [LOCAL, outer, inner])


def _pretend(*_: Any) -> int:
    return 0


def _refuse(*_: Any) -> int:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


@pytest.mark.parametrize(
    ("behavior", "words"), [(_pretend, "two programs have the same lock"), (_refuse, "keeps no locks")]
)
def test_a_file_system_that_keeps_no_locks_is_refused_before_anything_is_made_or_spent(
    file: Path, monkeypatch: pytest.MonkeyPatch, behavior: Any, words: str
) -> None:
    ledger_with_visits(str(file)).close()
    monkeypatch.setattr(fcntl, "fcntl", behavior)
    with pytest.raises(UnlockableLedgerError, match=words):
        Ledger.create(file.with_name("other.db"))
    assert not file.with_name("other.db").exists()
    with Ledger.open(file) as ledger:
        with pytest.raises(UnlockableLedgerError, match="use PostgreSQL"):
            ledger.reserve(request())
        assert ledger.dataset("visits").spent == {"renyi": 0}


def test_mounts_are_asked_for_a_real_ledger(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mounts"
    table.write_text(f"{LOCAL}\n50 29 0:45 / {file.parent} rw - nfs srv:/x rw,nolock\n")
    monkeypatch.setattr(sqlite, "MOUNTS", table)
    with pytest.raises(UnlockableLedgerError, match="nfs mounted with nolock"):
        Ledger.create(file)


def test_nothing_is_left_in_the_folder(file: Path) -> None:
    ledger_with_visits(str(file)).close()
    assert {path.name for path in file.parent.iterdir()} == {file.name, "state", "keys"}
