"""What both stores share: tables and look-ups, each served by an index, and one connection a process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakSet

from pbdp.ledger.errors import DamagedLedgerError, LedgerError
from pbdp.ledger.record import BrokenRecordError, Columns, Record
from pbdp.ledger.stores.interface import Check, Row, Stored, StoredAnswer

# `?` stands for a parameter; the PostgreSQL store writes it in its own way.
_COLUMNS = (
    "SELECT record.sequence, time, kind, payload, previous, hash, key_id, mac, "
    "dataset, plan, request_key, spend"
)
_RECORD = _COLUMNS + " FROM record "
# Of a transaction that sees the records up to one of them, the last parameter is its number.
_HEAD = _RECORD + "WHERE sequence <= ? ORDER BY sequence DESC LIMIT 1"
_BY_SEQUENCE = _RECORD + "WHERE sequence = ? AND sequence <= ?"
_DATASET_MADE = _RECORD + "WHERE dataset = ? AND sequence <= ? ORDER BY sequence LIMIT 1"
_LAST_OF_DATASET = _RECORD + "WHERE dataset = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1"
_LAST_OF_PLAN = _RECORD + "WHERE dataset = ? AND plan = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1"
_BY_KEY = _RECORD + "WHERE request_key = ? AND sequence <= ?"
_ANSWER_TO = _RECORD + "WHERE spend = ? AND sequence <= ?"
_LAST_RECOVERY = _RECORD + "WHERE kind = 'recovery' AND sequence <= ? ORDER BY sequence DESC LIMIT 1"
_DATASETS = "SELECT dataset FROM record WHERE kind = 'dataset' AND sequence <= ? ORDER BY sequence"
_RANGE = _COLUMNS + ", NULL FROM record WHERE sequence BETWEEN ? AND ? ORDER BY sequence"
# Small answers come along; a large one is fetched by itself.
_RANGE_WITH_ANSWERS = (
    _COLUMNS + ", content FROM record LEFT JOIN answer "
    "ON answer.sequence = record.sequence AND kind = 'answer' AND length(content) <= 65536 "
    "AND answer.sequence BETWEEN ? AND ? WHERE record.sequence BETWEEN ? AND ? ORDER BY record.sequence"
)
_PACKED = "SELECT content FROM answer WHERE sequence = ?"
_APPEND = "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_APPEND_ANSWER = "INSERT INTO answer VALUES (?, ?)"
_STRAY_ANSWERS = (
    "SELECT answer.sequence FROM answer LEFT JOIN record ON record.sequence = answer.sequence "
    "AND record.kind = 'answer' WHERE record.sequence IS NULL ORDER BY answer.sequence LIMIT 1"
)

TABLES = (
    """CREATE TABLE record (
    sequence {number} PRIMARY KEY,
    time TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL,
    key_id TEXT NOT NULL,
    mac TEXT NOT NULL,
    dataset {name},
    plan {name},
    request_key {name},
    spend {number})""",
    """CREATE TABLE answer (
    sequence {number} PRIMARY KEY REFERENCES record (sequence),
    content {blob} NOT NULL)""",
    "CREATE INDEX record_of_dataset ON record (dataset, sequence) WHERE dataset IS NOT NULL",
    "CREATE INDEX record_of_plan ON record (dataset, plan, sequence) WHERE plan IS NOT NULL",
    "CREATE UNIQUE INDEX record_of_key ON record (request_key) WHERE request_key IS NOT NULL",
    "CREATE UNIQUE INDEX answer_to_spend ON record (spend) WHERE spend IS NOT NULL",
    # SQLite takes these for statements with the very same condition only
    "CREATE INDEX dataset_made ON record (sequence) WHERE kind = 'dataset'",
    "CREATE INDEX recovery_made ON record (sequence) WHERE kind = 'recovery'",
)

_LAST = 2**63 - 1

Rows = Sequence[Stored]
Run = Callable[[str, tuple[object, ...]], Rows]


class SqlTransaction:
    """Reading and writing through `run`, which executes one statement and returns its rows.

    `check` is asked about every record that is read, and `last` is the number of the last that is seen.
    """

    def __init__(self, place: str, run: Run, check: Check, last: int = _LAST) -> None:
        self._place = place
        self._run = run
        self.check = check
        self._last = last

    def until(self, last: int) -> SqlTransaction:
        return SqlTransaction(self._place, self._run, self.check, last)

    def head(self) -> Record | None:
        return self._one(_HEAD)

    def record(self, sequence: int) -> Record | None:
        return self._one(_BY_SEQUENCE, sequence)

    def dataset_made(self, dataset: str) -> Record | None:
        return self._one(_DATASET_MADE, dataset)

    def last_of_dataset(self, dataset: str) -> Record | None:
        return self._one(_LAST_OF_DATASET, dataset)

    def last_of_plan(self, dataset: str, plan: str) -> Record | None:
        return self._one(_LAST_OF_PLAN, dataset, plan)

    def spend_with(self, key: str) -> Record | None:
        return self._one(_BY_KEY, key)

    def answer_to(self, spend: int) -> StoredAnswer | None:
        record = self._one(_ANSWER_TO, spend)
        if record is None:
            return None
        packed = self._packed(record.sequence)
        if packed is None:
            raise DamagedLedgerError(self._place, f"the answer of record {record.sequence} is missing")
        return StoredAnswer(record=record, packed=packed)

    def last_recovery(self) -> Record | None:
        return self._one(_LAST_RECOVERY)

    def datasets(self) -> list[str]:
        return [str(row[0]) for row in self._run(_DATASETS, (self._last,))]

    def rows(self, first: int, last: int, *, answers: bool) -> Iterator[Row]:
        for row in self.stored(first, last, answers=answers):
            yield Row(*self._checked(row), row[12])

    def stored(self, first: int, last: int, *, answers: bool) -> Iterator[Stored]:
        # told twice: a server does not infer the range of the one table from that of the other
        between = (first, last)
        found = self._run(_RANGE_WITH_ANSWERS, between * 2) if answers else self._run(_RANGE, between)
        for row in found:
            if answers and row[2] == "answer" and type(row[12]) is not bytes:  # a large one, or none
                yield (*row[:12], self._packed(row[0]))
            else:
                yield row

    def stray_answer(self) -> int | None:
        """The number of the first stored answer that belongs to no answer record."""
        found = self._run(_STRAY_ANSWERS, ())
        return int(found[0][0]) if found else None

    def append(self, record: Record, packed: bytes | None = None) -> None:
        self._run(_APPEND, record.stored[:12])
        if packed is not None:
            self._run(_APPEND_ANSWER, (record.sequence, packed))

    def _packed(self, sequence: int) -> bytes | None:
        found = self._run(_PACKED, (sequence,))
        if not found:
            return None
        if not isinstance(found[0][0], bytes):
            raise DamagedLedgerError(self._place, f"the answer of record {sequence} is not stored as bytes")
        return found[0][0]

    def _one(self, statement: str, *parameters: object) -> Record | None:
        found = self._run(statement, (*parameters, self._last))
        if not found:
            return None
        record, columns = self._checked(found[0])
        # An index that leads to the wrong record must not decide what is spent.
        try:
            misfiled = columns != record.columns
        except BrokenRecordError as broken:
            raise DamagedLedgerError(self._place, f"record {record.sequence} {broken}") from None
        if misfiled:
            raise DamagedLedgerError(self._place, f"record {record.sequence} is filed under a wrong name")
        return record

    def _checked(self, row: Sequence[Any]) -> tuple[Record, Columns]:
        try:
            record = Record(*row[:8])
            self.check(record.sequence, record.hash, record.key_id, record.mac)
        except BrokenRecordError as broken:
            raise DamagedLedgerError(self._place, f"record {row[0]} {broken}") from None
        return record, Columns._make(row[8:12])


class SqlStore:
    """One connection, made when it is needed, for one thread at a time, and never for a forked process."""

    def __init__(self, wait: float) -> None:
        self._wait = wait
        self._turn = threading.RLock()
        self._process = os.getpid()
        self._connection: Any = None
        self.check_read: Check = _believed
        self.check_written: Check = _believed
        _held.add(self)

    def close(self) -> None:
        """Give the file or the connection back."""
        with self._turn:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _refuse_fork(self) -> None:
        if self._process != os.getpid():
            raise LedgerError(
                "A ledger that is open cannot be used in a forked process; open it again there."
            )

    def _forked(self) -> None:
        """In the child: nobody is left who would give the turn back, and the connection is the parent's.

        It is never closed here, not even when the child ends: SQLite would take back a transaction that the
        parent has just open, and libpq would end the parent's session.
        """
        self._turn = threading.RLock()
        if self._connection is not None:
            import ctypes

            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
            self._connection = None


def _believed(*_: object) -> None:
    return


_held: WeakSet[SqlStore] = WeakSet()


def _all_forked() -> None:
    for store in _held:
        store._forked()


os.register_at_fork(after_in_child=_all_forked)
