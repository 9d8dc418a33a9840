"""What both stores share: one table, three statements, and one connection a process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pbdp.ledger.errors import LedgerError
from pbdp.ledger.record import Row
from pbdp.ledger.stores.interface import MOST_ANSWERS, MOST_ROWS

# `?` stands for a parameter; the PostgreSQL store writes it in its own way.
TABLE = """CREATE TABLE record (
    sequence {number} PRIMARY KEY,
    time TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL,
    key_id TEXT NOT NULL,
    mac TEXT NOT NULL,
    answer {blob})"""
APPEND = "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ROWS = (
    "SELECT sequence, time, kind, payload, previous, hash, key_id, mac, {} FROM record "
    "WHERE sequence BETWEEN ? AND ? ORDER BY sequence LIMIT ?"
)
FURTHEST = 2**63 - 1

Run = Callable[[str, tuple[object, ...]], Sequence[Row]]


class SqlStore:
    """One connection, made when it is needed, for one thread at a time, and never for a forked process."""

    def __init__(self, wait: float) -> None:
        self._wait = wait
        self._process = os.getpid()
        self._connection: Any = None

    def _transaction(self, begin: str, work: Callable[[Run], Any]) -> Any:
        """Run the work between `begin` and a commit."""
        raise NotImplementedError

    def _words(self) -> AbstractContextManager[None]:
        """The driver's errors as ours."""
        raise NotImplementedError

    def _reading(self) -> str:
        """How a transaction begins that only reads."""
        raise NotImplementedError

    def rows(self, first: int, *, last: int | None = None, answers: bool = False) -> list[Row]:
        """The next rows; see the interface."""
        end, most = FURTHEST if last is None else last, MOST_ANSWERS if answers else MOST_ROWS
        statement = _ROWS.format("answer" if answers else "NULL")
        with self._words():
            found = self._transaction(self._reading(), lambda run: run(statement, (first, end, most)))
        return list(found)

    def last(self) -> int:
        """The largest number; -1 if there is none."""
        with self._words():
            found = self._transaction(
                self._reading(), lambda run: run("SELECT max(sequence) FROM record", ())
            )
        return -1 if found[0][0] is None else int(found[0][0])

    def salvage(self) -> Iterator[Row]:
        """Every row that can be read; rows that cannot are passed over one by one."""
        first = -FURTHEST - 1
        while rows := self.rows(first, answers=True):
            yield from rows
            first = rows[-1][0] + 1

    def close(self) -> None:
        """Give the file or the connection back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def forked(self) -> None:
        """In the child the connection is the parent's: let alone for good."""
        leave_alone(self._connection)
        self._connection = None

    def _refuse_fork(self) -> None:
        if self._process != os.getpid():
            raise LedgerError(
                "A ledger that is open cannot be used in a forked process; open it again there."
            )


def leave_alone(connection: object) -> None:
    """Never close a connection of the parent, not even when this process ends.

    SQLite would take back a transaction that the parent has just open; libpq would end its session.
    """
    if connection is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
