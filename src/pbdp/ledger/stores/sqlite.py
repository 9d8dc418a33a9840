"""A ledger in one SQLite file.

Settings, and why:

- rollback journal, never WAL: in WAL mode SQLite 3.7.0 to 3.51.2 can, rarely, damage a file that two programs
  write (sqlite.org/wal.html#walresetbug), and the versions that systems ship are older than the cure;
- synchronous=EXTRA: a commit is on the disk when it returns, including the removal of the journal from its
  folder, so that a power loss after the commit cannot bring the journal back and undo it;
- the file is made with mode 0600, marked with an application id, and refused if its table is not ours.

The locks are those of the file system. One that does not keep them is refused where that can be seen, by two
looks: a file there is opened twice and locked twice, which must fail the second time; and the table of mounts
says which network file systems were told not to share locks with other machines. What neither shows (a server
that only pretends) cannot be known from here: use PostgreSQL there.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from pbdp.errors import InputError
from pbdp.ledger.errors import (
    DamagedLedgerError,
    LedgerError,
    LedgerExistsError,
    LockedLedgerError,
    NotALedgerError,
    ReadOnlyLedgerError,
    UnlockableLedgerError,
    UnreachableLedgerError,
)
from pbdp.ledger.keys import random_bytes, synced
from pbdp.ledger.record import Row
from pbdp.ledger.stores.sql import APPEND, TABLE, Run, SqlStore

APPLICATION_ID = int.from_bytes(b"pbdp")
SCHEMA_VERSION = 1
_EXTRA = 3

MOUNTS = Path("/proc/self/mountinfo")
# File systems that machines share, and the settings with which each machine keeps its locks to itself.
_UNSHARED: dict[str, tuple[str, ...]] = {
    "nfs": ("nolock", "local_lock=all", "local_lock=posix"),
    "nfs4": ("nolock", "local_lock=all", "local_lock=posix"),
    "cifs": ("nobrl", "noposixbrl", "forcemandatorylock"),
    "smb3": ("nobrl", "noposixbrl", "forcemandatorylock"),
    "ceph": ("nolock",),
    "lustre": ("localflock", "noflock"),
    "glusterfs": ("nolock",),
}
# These never share them.
_NEVER = ("fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "fuse.goofys", "vboxsf")
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)

_APPEND_ONLY = tuple(
    f"CREATE TRIGGER not_to_{change} BEFORE {change} ON record "
    f"BEGIN SELECT RAISE(ABORT, 'a ledger is only ever appended to'); END"
    for change in ("update", "delete")
)
_SCHEMA = (TABLE.format(number="INTEGER", blob="BLOB"), *_APPEND_ONLY)
_TAKEN = (
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
    sqlite3.SQLITE_CONSTRAINT_ROWID,
    sqlite3.SQLITE_CONSTRAINT_UNIQUE,
)


class SqliteStore(SqlStore):
    """`path` is the file; `wait` is how many seconds to wait for another program's lock."""

    def __init__(self, path: Path, *, wait: float) -> None:
        super().__init__(wait)
        self._path = path.absolute()
        self._file = (0, 0)
        self._locks_known = False

    @property
    def place(self) -> str:
        return str(self._path)

    def create(self, rows: Iterable[Row]) -> None:
        """Make the file; see the interface."""

        def make(run: Run) -> None:
            if run("SELECT 1 FROM sqlite_master", ()) or run("PRAGMA application_id", ())[0][0] != 0:
                raise LedgerExistsError(self.place)
            run(f"PRAGMA application_id = {APPLICATION_ID}", ())
            run(f"PRAGMA user_version = {SCHEMA_VERSION}", ())
            for statement in _SCHEMA:
                run(statement, ())
            self._path.chmod(0o600)
            for row in rows:
                run(APPEND, row)

        self._refuse_without_locks()
        with self._words():
            # A file that an interrupted `create` left empty is taken over; the transaction decides who wins.
            try:
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            except FileExistsError:
                if not self._path.is_file():
                    raise LedgerExistsError(self.place) from None
            except FileNotFoundError:
                raise InputError("ledger", "in a folder that exists", self.place) from None
            except PermissionError:
                raise ReadOnlyLedgerError(self.place, "a file cannot be made there") from None
        try:
            with self._words():
                self._transaction("BEGIN EXCLUSIVE", make, fresh=True)
        except (DamagedLedgerError, NotALedgerError):  # something is there, whatever it is
            raise LedgerExistsError(self.place) from None

    def append(self, row: Row) -> bool:
        """Add a row, unless there is one of its number."""
        self._refuse_without_locks()
        with self._words():
            try:
                self._transaction("BEGIN IMMEDIATE", lambda run: run(APPEND, row))
            except sqlite3.IntegrityError as refused:
                if refused.sqlite_errorcode in _TAKEN:
                    return False
                raise
        return True

    def _reading(self) -> str:
        return "BEGIN"

    def _refuse_without_locks(self) -> None:
        """Looked at once for each ledger that is open: a mount does not change under an open file."""
        if not self._locks_known:
            refuse_without_locks(self._path)
            self._locks_known = True

    def fault(self) -> str | None:
        """What SQLite finds wrong with its file."""
        try:
            with self._words():
                found = self._transaction("BEGIN", lambda run: run("PRAGMA integrity_check(1)", ()))
        except DamagedLedgerError as damage:
            return damage.fault
        if [tuple(row) for row in found] != [("ok",)]:
            return f"SQLite finds its file inconsistent ({str(found[0][0]).splitlines()[-1]})"
        return None

    def salvage(self) -> Iterator[Row]:
        """Every row that SQLite still gives; nothing of the file is taken for granted."""
        if not self._path.is_file():
            raise NotALedgerError(self.place, "where there is no file")
        with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=rw", uri=True)) as connection:
            connection.text_factory = lambda text: text.decode(errors="surrogateescape")
            # else SQLite reads nothing of a file that was cut short
            connection.execute("PRAGMA writable_schema = ON")
            # what lies beyond a broken page is read from the other end
            for order in ("", "DESC"):
                with suppress(sqlite3.Error):
                    yield from connection.execute(f"SELECT * FROM record ORDER BY sequence {order}")  # noqa: S608
                    return

    def replace(self, rows: Iterable[Row]) -> str:
        """A new file in the place of this one, which is kept beside it."""
        fresh = self._path.with_name(f"{self._path.name}.repaired")
        old = self._path.with_name(f"{self._path.name}.damaged-{random_bytes(4).hex()}")
        fresh.unlink(missing_ok=True)
        with closing(SqliteStore(fresh, wait=self._wait)) as store:
            store.create(rows)
        self.close()
        # a journal of the old file must not be taken for one of the new
        with suppress(FileNotFoundError):
            Path(f"{self._path}-journal").rename(f"{old}-journal")
        os.link(self._path, old)
        fresh.replace(self._path)
        synced(self._path.parent)
        return str(old)

    def notes(self) -> list[str]:
        """Nothing to say of a file."""
        return []

    def _transaction(self, begin: str, work: Callable[[Run], Any], *, fresh: bool = False) -> Any:
        # Nothing between the interrupt and its remedies may be interrupted: they are single calls into C,
        # before which no signal handler can run.
        connection: sqlite3.Connection | None = None
        try:
            connection = mine = self._connected(fresh=fresh)
            connection.execute(begin)
            done = work(lambda statement, values: mine.execute(statement, values).fetchall())
            self._refuse_fork()
            connection.execute("COMMIT")
        except BaseException:
            # A failed COMMIT may leave the transaction open, an I/O error may have closed it. A child that
            # was forked meanwhile has no connection.
            if connection is not None and connection is self._connection and connection.in_transaction:
                try:
                    connection.execute("ROLLBACK")
                except sqlite3.Error:
                    connection.close()
                    self._connection = None
            raise
        return done

    def _connected(self, *, fresh: bool) -> sqlite3.Connection:
        """The connection; made again if another file has taken the place of the one it was for."""
        self._refuse_fork()
        try:
            status = self._path.stat()
        except FileNotFoundError:
            raise NotALedgerError(self.place, "where there is nothing", empty=True) from None
        if not self._path.is_file():
            raise NotALedgerError(self.place, "which is not a file")
        file = (status.st_dev, status.st_ino)
        if self._connection is not None and file != self._file:
            self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection, self._file = self._connect(fresh=fresh), file
        connection: sqlite3.Connection = self._connection
        return connection

    def _connect(self, *, fresh: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw",
            uri=True,
            timeout=self._wait,
            isolation_level=None,  # transactions begin and end where this file says so
            check_same_thread=False,  # the ledger lets one thread in at a time
        )
        try:
            for setting in (
                "trusted_schema = OFF",
                "cell_size_check = ON",
                "fullfsync = ON",
            ):
                connection.execute(f"PRAGMA {setting}")
            if not fresh:
                self._refuse_foreign(connection)
            journal = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
            connection.execute("PRAGMA synchronous = EXTRA")
            durable = connection.execute("PRAGMA synchronous").fetchone()[0]
            if (journal, durable) != ("delete", _EXTRA):
                raise LedgerError(
                    f"The ledger {self.place} cannot be kept safe from power loss: SQLite "
                    f"{sqlite3.sqlite_version} refuses a rollback journal with synchronous=EXTRA."
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        if self._path.stat().st_size == 0 and not Path(f"{self._path}-journal").exists():
            raise NotALedgerError(self.place, "an empty file", empty=True)
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise NotALedgerError(self.place, "another SQLite database")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA_VERSION:
            raise NotALedgerError(
                self.place, f"a ledger of version {version} where {SCHEMA_VERSION} is the one known here"
            )
        self._refuse_shortened(connection)
        tables = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        if sorted(map(str, (sql for (sql,) in tables))) != sorted(_SCHEMA):
            raise DamagedLedgerError(self.place, "its table or what protects it was changed")

    def _refuse_shortened(self, connection: sqlite3.Connection) -> None:
        """SQLite itself takes the missing part of a last page for zeros."""
        connection.execute("BEGIN")  # so that no writer changes the size in between
        pages, size = (
            connection.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size")
        )
        shortened = self._path.stat().st_size < pages * size
        connection.execute("COMMIT")
        if shortened:
            raise DamagedLedgerError(self.place, "its file was cut short")

    @contextmanager
    def _words(self) -> Iterator[None]:
        """SQLite's errors, and the system's, as ours."""
        try:
            yield
        except OSError as problem:
            raise UnreachableLedgerError(self.place, problem.strerror or str(problem)) from None
        except sqlite3.Error as problem:
            # the low byte is the kind of error, the rest its detail
            code = getattr(problem, "sqlite_errorcode", None)
            kind = None if code is None else code & 0xFF
            raise self._worded(kind, str(problem)) from None
        except UnicodeDecodeError:  # a damaged file in SQLite's own message
            raise DamagedLedgerError(self.place, "SQLite cannot make sense of its tables") from None

    def _worded(self, kind: int | None, text: str) -> Exception:
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LockedLedgerError(self.place, self._wait)
        if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            return ReadOnlyLedgerError(self.place)
        if kind == sqlite3.SQLITE_NOTADB:
            return NotALedgerError(self.place, "which is not an SQLite database, or is damaged")
        if kind in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH):
            return UnreachableLedgerError(self.place, text)
        return DamagedLedgerError(self.place, f"SQLite says: {text}")


def refuse_without_locks(ledger: Path) -> None:
    """Refuse a place whose file system is known not to keep locks."""
    folder = ledger.parent
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:  # another system than Linux
        mounts = []
    reason = unshared(os.path.realpath(folder), mounts) or _tried(folder)
    if reason is not None:
        raise UnlockableLedgerError(str(ledger), reason)


def unshared(folder: str, mounts: Iterable[str]) -> str | None:
    """What the table of mounts says against this folder."""
    found: tuple[str, str, tuple[str, ...]] = ("", "", ())
    for line in mounts:
        before, _, after = line.partition(" - ")
        if not after or len(before.split()) < 6 or len(after.split()) < 3:
            continue
        # signs that would end a field are written as numbers
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), before.split()[4])
        kind, _, settings = after.split()[:3]
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(found[0]):
            found = (point, kind, (*before.split()[5].split(","), *settings.split(",")))
    _, kind, settings_found = found
    if kind in _NEVER:
        return f"it is on {kind}, which keeps no locks between machines"
    told = [setting for setting in _UNSHARED.get(kind, ()) if setting in settings_found]
    return (
        f"it is on {kind} mounted with {told[0]}, so locks are not shared between machines" if told else None
    )


def _tried(folder: Path) -> str | None:
    """Lock a new file there twice; None if the second time is refused, or if it cannot be tried."""
    try:
        import fcntl

        lock = fcntl.F_OFD_SETLK
    except (ImportError, AttributeError):
        return None
    name = folder / f".pbdp-locks-{random_bytes(8).hex()}"
    descriptors = []
    try:
        descriptors.append(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        descriptors.append(os.open(name, os.O_RDWR))
        name.unlink()
        # struct flock: type, whence, start, length, process
        whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        fcntl.fcntl(descriptors[0], lock, whole)
        fcntl.fcntl(descriptors[1], lock, whole)
    except OSError as problem:
        if len(descriptors) == 2 and problem.errno in _NO_LOCKS:
            return f"its file system keeps no locks ({problem.strerror})"
        return None
    else:
        return "its file system lets two programs have the same lock"
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
