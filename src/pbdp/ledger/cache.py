"""What a ledger's log folds to, kept on this machine: names and JSON values in an SQLite file.

It is in the state folder, where the witness is and, unless they have one of their own, the keys: never where
the ledger is. It says nothing that the log does not say. It is written now and then, in one transaction, and
begins with the record that it was written at; what came after that is read from the log. A file that cannot
be read is removed, and all of it folded again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pbdp.ledger.errors import StateFileError

VERSION = 1
# Seconds to wait for another process that writes it.
_WAIT = 5.0


class Cache:
    """The cache in a file; with None as the file, one that is always empty."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self.connection: sqlite3.Connection | None = None
        if file is not None:
            for _ in range(2):
                try:
                    self.connection = self._connected(file)
                    self.head()
                    return
                except (sqlite3.Error, OSError, StateFileError):
                    self._give_up()

    def _connected(self, file: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(file, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, VERSION):
                raise sqlite3.DatabaseError("another version")
            if version == 0:
                file.chmod(0o600)
                connection.execute("CREATE TABLE fold (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
                connection.execute(f"PRAGMA user_version = {VERSION}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_up(self) -> None:
        self.close()
        if self.file is not None:
            with suppress(OSError):
                self.file.unlink()

    def begin(self) -> None:
        """See one state of it until `end`, whoever writes it: what is folded on must be that of its head."""
        self.end()
        if self.connection is not None:
            self.connection.execute("BEGIN")

    def end(self) -> None:
        """Let others write it."""
        if self.connection is not None and self.connection.in_transaction:
            # so that half of a `keep` that was interrupted does not stay
            self.connection.execute("ROLLBACK")

    def head(self) -> list[Any] | None:
        """The record that it was written at."""
        found = self.get("")
        return None if found is None else list(found)

    def get(self, name: str) -> Any:
        """The value of a name, or None."""
        if self.connection is None:
            return None
        try:
            row = self.connection.execute("SELECT value FROM fold WHERE name = ?", (name,)).fetchone()
            return None if row is None else json.loads(row[0])
        except (sqlite3.Error, ValueError, TypeError) as problem:
            raise StateFileError(
                Path(str(self.file)),
                "it cannot be read",
                f"What this machine has worked out of the ledger is in {self.file}, which cannot be read: "
                f"{problem}. Nothing was spent. Remove the file: it is worked out again.",
            ) from None

    def keys(self) -> dict[int, str]:
        """The hashes of all records that request keys and answers are in."""
        if self.connection is None:
            return {}
        rows = self.connection.execute("SELECT value FROM fold WHERE name GLOB 'key *'").fetchall()
        found: dict[int, str] = {}
        for (text,) in rows:
            values = json.loads(text)
            found.update(zip(values[::2], values[1::2], strict=True))
        return found

    def keep(self, before: list[Any] | None, new: Mapping[str, Any]) -> None:
        """Write what is new since the head `before`, unless another process was here first."""
        connection = self.connection
        if connection is None:
            return
        rows = [(name, json.dumps(value, separators=(",", ":"))) for name, value in sorted(new.items())]
        try:
            # it is written another time, if somebody reads it now
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("BEGIN IMMEDIATE")
            if self.head() == before:
                connection.executemany("INSERT OR REPLACE INTO fold VALUES (?, ?)", rows)
            connection.execute("COMMIT")
        except (sqlite3.Error, StateFileError):  # it is worked out again then
            pass
        finally:
            if connection.in_transaction:
                try:  # noqa: SIM105  # `suppress` is Python, and could be interrupted itself
                    connection.execute("ROLLBACK")
                except sqlite3.Error:
                    pass
            connection.execute(f"PRAGMA busy_timeout = {int(1000 * _WAIT)}")

    def clear(self) -> None:
        """Forget all of it."""
        self.end()
        if self.connection is not None:
            with suppress(sqlite3.Error):
                self.connection.execute("DELETE FROM fold")

    def close(self) -> None:
        """Give the file back."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()
