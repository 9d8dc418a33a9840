"""A ledger in one SQLite file.

Settings, and why:

- rollback journal, never WAL: in WAL mode SQLite 3.7.0 to 3.51.2 can, rarely, damage a file that two programs
  write (sqlite.org/wal.html#walresetbug), and the versions that systems ship are older than the cure;
- synchronous=EXTRA: a commit is on the disk when it returns, including the removal of the journal from its
  folder, so that a power loss after the commit cannot bring the journal back and undo it;
- BEGIN IMMEDIATE: the write lock is taken before anything is read (promises 1 and 2 of `interface`);
- the file is made with mode 0600, marked with an application id, and refused if its tables are not ours.

The locks are those of the file system: on network file systems that do not keep them, use PostgreSQL.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pbdp.errors import InputError
from pbdp.ledger.errors import (
    DamagedLedgerError,
    LedgerError,
    LedgerExistsError,
    LockedLedgerError,
    NotALedgerError,
    ReadOnlyLedgerError,
    UnreachableLedgerError,
)
from pbdp.ledger.stores.interface import Reading, T, Writing
from pbdp.ledger.stores.sql import TABLES, Run, SqlStore, SqlTransaction

APPLICATION_ID = int.from_bytes(b"pbdp")
SCHEMA_VERSION = 1
_EXTRA = 3

_APPEND_ONLY = tuple(
    f"CREATE TRIGGER {table}_not_to_{change} BEFORE {change} ON {table} "
    f"BEGIN SELECT RAISE(ABORT, 'a ledger is only ever appended to'); END"
    for table in ("record", "answer")
    for change in ("update", "delete")
)
_SCHEMA = tuple(table.format(number="INTEGER", blob="BLOB", name="TEXT") for table in TABLES) + _APPEND_ONLY


class SqliteStore(SqlStore):
    """`path` is the file; `wait` is how many seconds to wait for another program's lock."""

    def __init__(self, path: Path, *, wait: float) -> None:
        super().__init__(wait)
        self._path = path.absolute()
        self._file = (0, 0)

    @property
    def place(self) -> str:
        return str(self._path)

    def initialize(self, first: Callable[[Writing], None]) -> None:
        def make(run: Run) -> None:
            if run("SELECT 1 FROM sqlite_master", ()) or run("PRAGMA application_id", ())[0][0] != 0:
                raise LedgerExistsError(self.place)
            run(f"PRAGMA application_id = {APPLICATION_ID}", ())
            run(f"PRAGMA user_version = {SCHEMA_VERSION}", ())
            for statement in _SCHEMA:
                run(statement, ())
            self._path.chmod(0o600)
            first(SqlTransaction(self.place, run))

        # A file that an interrupted `initialize` left empty is taken over; the transaction decides who wins.
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            if not self._path.is_file():
                raise LedgerExistsError(self.place) from None
        except FileNotFoundError:
            raise InputError("ledger", "in a folder that exists", self.place) from None
        except PermissionError:
            raise ReadOnlyLedgerError(self.place, "a file cannot be made there") from None
        except OSError as problem:
            raise UnreachableLedgerError(self.place, str(problem.strerror)) from None
        try:
            with self._words():
                self._transaction("BEGIN EXCLUSIVE", make, fresh=True)
        except (DamagedLedgerError, NotALedgerError):  # something is there, whatever it is
            raise LedgerExistsError(self.place) from None

    def write(self, work: Callable[[Writing], T]) -> T:
        with self._words():
            return self._transaction("BEGIN IMMEDIATE", lambda run: work(SqlTransaction(self.place, run)))

    def read(self, work: Callable[[Reading], T]) -> T:
        with self._words():
            return self._transaction("BEGIN", lambda run: work(SqlTransaction(self.place, run)))

    def fault(self) -> str | None:
        def look(run: Run) -> str | None:
            found = run("PRAGMA integrity_check(1)", ())
            if [tuple(row) for row in found] != [("ok",)]:
                return f"SQLite finds its file inconsistent ({str(found[0][0]).splitlines()[-1]})"
            stray = SqlTransaction(self.place, run).stray_answer()
            return None if stray is None else f"a stored answer ({stray}) belongs to no record"

        try:
            with self._words():
                return self._transaction("BEGIN", look)
        except DamagedLedgerError as damage:
            return damage.fault

    def notes(self) -> list[str]:
        return []

    def _transaction(self, begin: str, work: Callable[[Run], T], *, fresh: bool = False) -> T:
        # Nothing between the interrupt and its remedies may be interrupted: they are single calls into C,
        # before which no signal handler can run.
        connection: sqlite3.Connection | None = None
        try:
            self._turn.acquire()
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
        finally:
            try:  # noqa: SIM105  # `suppress` is Python, and could be interrupted itself
                self._turn.release()
            except RuntimeError:  # it was not yet ours
                pass
        return done

    def _connected(self, *, fresh: bool) -> sqlite3.Connection:
        """The connection; made again if another file has taken the place of the one it was for."""
        self._refuse_fork()
        try:
            status = self._path.stat()
        except FileNotFoundError:
            raise NotALedgerError(self.place, "where there is nothing") from None
        except OSError as problem:
            raise UnreachableLedgerError(self.place, str(problem.strerror)) from None
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
            check_same_thread=False,  # `_turn` lets one thread in at a time
        )
        try:
            for setting in (
                "trusted_schema = OFF",
                "cell_size_check = ON",
                "foreign_keys = ON",
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
            raise NotALedgerError(self.place, "an empty file")
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise NotALedgerError(self.place, "another SQLite database")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA_VERSION:
            raise NotALedgerError(
                self.place, f"a ledger of version {version} where {SCHEMA_VERSION} is the one known here"
            )
        self._refuse_shortened(connection)
        tables = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        if sorted(sql for (sql,) in tables) != sorted(_SCHEMA):
            raise DamagedLedgerError(self.place, "its tables are not those of a pbdp ledger")

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
        """SQLite's errors as ours."""
        try:
            yield
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
