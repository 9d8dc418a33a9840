"""The log of a ledger as this machine sees it: read on from its cache, judged by its witness, appended to.

Nothing in the store is believed for being there. `read_on` takes what was appended since, record by record,
and refuses a store that does not hold what this machine has seen of it; `append` reads a record back as the
next reader will, commits it after the head that it was made for, and tells the witness.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet

from pbdp.ledger.cache import Cache
from pbdp.ledger.errors import (
    DamagedLedgerError,
    LedgerError,
    LockedLedgerError,
    MissingKeyError,
    NotALedgerError,
    RemovedLedgerError,
    RolledBackError,
    UntrustedLedgerError,
    WitnessError,
    missing_key,
)
from pbdp.ledger.fold import Fold, Head
from pbdp.ledger.keys import LEDGER_ID, Key, Keyring, key_folder, state_folder
from pbdp.ledger.record import BrokenRecordError, Payload, Record, Row
from pbdp.ledger.stores.interface import MOST_ROWS, Store
from pbdp.ledger.stores.sql import leave_alone
from pbdp.ledger.witness import Memory, Witness, ledger_seen_at, place_file

_REPLACED = "another ledger was there when this machine saw the place last; it was removed or replaced"
_UNNOTICED = "If it was taken back to an older state before, that is not noticed."


class Draft(NamedTuple):
    """What is to be appended."""

    kind: str
    content: Payload
    packed: bytes | None = None


class Log:
    """The log in a store. One thread at a time: `turn` is held for each step, never while noise is drawn."""

    def __init__(self, store: Store, *, wait: float) -> None:
        self.store = store
        self.place = store.place
        self._wait = wait
        self.turn = threading.RLock()
        _opened.add(self)
        self.identity = identity_of(store)
        self.ring = Keyring(self.identity, key_folder(), place=store.place)
        self.witness = Witness(self.identity, state_folder(), place=store.place, wait=wait)
        self.cache = Cache(_cache_file(self.identity))
        self.fold = Fold(self.ring, self.cache)
        # the last head that this process has seen and could judge
        self._seen: Head | None = None
        self.notes: list[str] = []
        # why nothing is spent from it, and what is said with every spend where it was taken on trust
        self._doubt: str | None = None
        self.trusted: str | None = None

    def close(self) -> None:
        """Give the file or the connection back."""
        with self.turn:
            self.store.close()
            self.cache.close()

    def meet(self, *, trust: bool = False) -> None:
        """Refuse a store that is older than the witness; bring the witness up to the store."""
        self.notes, self.trusted, self._doubt = [], None, None
        at_place, known = self.witness.ledger_at_place(), self.witness.read()
        with self.turn:
            fold = self.read_on(tell=False)
            head = self.head(fold)
            if at_place not in (None, self.identity):
                self._doubt = _REPLACED
            # a ledger of one record is as good as a new one
            elif known is None and head.sequence > 0:
                self._doubt = f"this machine has no witness of it ({self.witness.place})"
            if self._doubt is not None:
                if not trust:
                    self.notes.append(f"{_UNNOTICED} Nothing is spent from it: {self._doubt}.")
                    fold.keep()
                    return
                self.trusted = f"The ledger {self.place} is taken on trust: {self._doubt}. {_UNNOTICED}"
                self.notes.append(self.trusted)
                self._doubt = None
            missing = head.unvouched or (None if self.ring.key(head.next_key) else head.next_key)
            if missing is not None:
                self.notes.append(f"The ledger {self.place} can only be read: {missing_key(missing)}")
            if head.unvouched is not None:
                fold.keep()
                return
            try:
                self._tell(fold, known)
                if at_place != self.identity:
                    self.witness.note_place()
            except WitnessError:
                raise
            except LedgerError as problem:  # reading works all the same
                self.notes.append(str(problem))

    # ------------------------------------------------------------------------------------ reading

    def read_on(self, *, tell: bool = True) -> Fold:
        """Take what was appended since; refuse a store that does not hold what is known of it."""
        fold = self.fold
        # asked first: the witness follows the store, so it knows nothing newer than what is read now
        known = self.witness.read()
        self.ring.look_again()
        try:
            self.cache.begin()
            fold.look_again()
            rows = self._rows_after(fold, known)
            try:
                self._take(fold, rows)
            except DamagedLedgerError:
                # by what the cache says, which is kept if all records say the same
                self._take(Fold(self.ring), self.store.rows(0))
                fold.restart()
                self._take(fold, self.store.rows(0))
        finally:
            self.cache.end()
        head = self.head(fold)
        if known is not None and fold.hash_of(known.sequence) != known.hash:
            self._check_holds(fold, known.sequence, known.hash)
        if head.unvouched is None:
            self._seen = head
            if tell and self._doubt is None:
                # what is only read is read without it, too
                with suppress(LedgerError):
                    self._tell(fold, known)
        return fold

    def _take(self, fold: Fold, rows: list[Row]) -> None:
        """Go on by these rows, and by all after them."""
        while rows:
            for row in rows:
                try:
                    fold.take(Record.read(row))
                except BrokenRecordError as broken:
                    raise DamagedLedgerError(self.place, f"record {row[0]} {broken}") from None
            rows = self.store.rows(rows[-1][0] + 1) if len(rows) == MOST_ROWS else []

    def _rows_after(self, fold: Fold, known: Memory | None) -> list[Row]:
        """The rows after the head, which must be there."""
        head = fold.head
        if head is None:
            return self.store.rows(0)
        rows = self.store.rows(head.sequence)
        if rows and self._is(rows[0], head.sequence, head.hash):
            return rows[1:]
        # The head is not there. What this process or the witness has seen must be.
        for seen in (self._seen, known):
            if seen is not None:
                self._check_holds(fold, seen.sequence, seen.hash)
        # it was never vouched for, or the witness is not here: all of it is read again
        fold.restart()
        return self.store.rows(0)

    def _check_holds(self, fold: Fold, sequence: int, known: str) -> None:
        rows = self.store.rows(sequence, last=sequence)
        if rows and self._is(rows[0], sequence, known):
            return
        # the last recovery counted exactly this witness, which was then not told of it (a crash)
        if [sequence, known] in fold.get("counted", ()):
            return
        last = self.store.last()
        if not rows and sequence < last:
            raise DamagedLedgerError(self.place, f"record {sequence} is missing")
        raise RolledBackError(place=self.place, found=last, known=sequence, diverged=sequence <= last)

    def _is(self, row: Row, sequence: int, known: str) -> bool:
        """Whether this is the record of the number and hash."""
        try:
            return row[0] == sequence and Record.read(row).hash == known
        except BrokenRecordError as broken:
            raise DamagedLedgerError(self.place, f"record {row[0]} {broken}") from None

    def record(self, sequence: int, known: str, *, answer: bool = False) -> tuple[Record, bytes | None]:
        """The record of this number, which must be the one that the chain holds, and its packed answer."""
        rows = self.store.rows(sequence, last=sequence, answers=answer)
        if not rows:
            raise DamagedLedgerError(self.place, f"record {sequence} is missing")
        if not self._is(rows[0], sequence, known):
            raise DamagedLedgerError(self.place, f"record {sequence} was changed")
        return Record.read(rows[0]), rows[0][8]

    def newest(self) -> Head:
        """The last record there is now."""
        with self.turn:
            return self.head(self.read_on())

    def rows(self, head: Head, *, answers: bool = False) -> Iterator[Row]:
        """Every row up to the head, as it is stored."""
        number = 0
        while number <= head.sequence:
            with self.turn:
                rows = self.store.rows(number, last=head.sequence, answers=answers)
            if not rows:
                raise DamagedLedgerError(self.place, f"record {number} is missing")
            yield from rows
            number = rows[-1][0] + 1

    def head(self, fold: Fold) -> Head:
        """The last record."""
        if fold.head is None:
            raise DamagedLedgerError(self.place, "it has no records")
        return fold.head

    # ------------------------------------------------------------------------------------ writing

    def append(self, draft: Callable[[Fold], Draft | None]) -> Record | None:
        """Append what `draft` says of the newest state, and commit; None if it says nothing."""
        self.refuse_doubt()
        self.witness.check_writable()
        end = time.monotonic() + self._wait
        while True:
            fold = self.read_on(tell=False)
            head = self.head(fold)
            if head.unvouched is not None:
                raise MissingKeyError(self.place, head.unvouched)
            drafted = draft(fold)
            if drafted is None:
                self._tell(fold, self.witness.read())
                return None
            record = self.commit(fold, drafted, self.signing_key(fold))
            if record is not None:
                self._seen = self.head(fold)
                self.witness.note(fold.memory())
                fold.keep()
                return record
            if time.monotonic() > end:
                raise LockedLedgerError(self.place, self._wait)

    def commit(self, fold: Fold, draft: Draft, key: Key) -> Record | None:
        """Read the record back as the next reader will, and commit it; None if others were first."""
        head = self.head(fold)
        record = Record.after(head.sequence, head.hash, draft.kind, draft.content, key)
        try:
            changes = fold.changes(Record.read(record.row()))
        except BrokenRecordError as broken:
            if fold.moved():  # half of it was read in a newer state: others were first
                return None
            raise LedgerError(
                f"This is a defect of pbdp, please report it: record {record.sequence} {broken}. Nothing was "
                f"written to the ledger {self.place}."
            ) from None
        if not self.store.append(record.row(draft.packed)):
            return None
        # by now others may have gone on, and written the cache
        fold.take(record, changes)
        return record

    def signing_key(self, fold: Fold) -> Key:
        """The key that the next record goes under."""
        name = self.head(fold).next_key
        key = self.ring.key(name)
        if key is None:
            raise MissingKeyError(self.place, name)
        return key

    def refuse_doubt(self) -> None:
        """Nothing is spent where this machine cannot know whether it is the newest state."""
        if self._doubt is not None:
            raise UntrustedLedgerError(self.place, self._doubt)

    def _tell(self, fold: Fold, known: Memory | None) -> None:
        """The witness covers everything up to the head."""
        now = fold.memory()
        if known is not None and [known.sequence, known.hash] in fold.get("counted", ()):
            self.witness.restart(known, now)
        elif known is None or known.sequence < now.sequence:
            self.witness.note(now)
        fold.keep()

    def forked(self) -> None:
        """In the child: nobody is left who would give the turn back, and the connections are the parent's."""
        self.turn = threading.RLock()
        self.store.forked()
        leave_alone(self.cache.connection)
        self.cache.connection = None


def identity_of(store: Store) -> str:
    """The random id in the first record."""
    try:
        first = [Record.read(row) for row in store.rows(0, last=0)]
    except BrokenRecordError as broken:
        raise DamagedLedgerError(store.place, f"record 0 {broken}") from None
    if not first or first[0].kind != "genesis":
        raise DamagedLedgerError(store.place, "its first record is missing")
    identity = str(first[0].content["ledger"])
    if not LEDGER_ID.fullmatch(identity):  # files are named after it
        raise DamagedLedgerError(store.place, "its first record has an id that no ledger gives")
    return identity


def refuse_removed(store: Store) -> None:
    """A ledger that this machine has seen at this place must be there."""
    known = ledger_seen_at(place_file(store.place, state_folder()))
    if known is None:
        return
    try:
        store.last()
    except NotALedgerError as missing:
        if missing.empty:
            raise RemovedLedgerError(store.place, known) from None
    except LedgerError:  # something is there
        return


def _cache_file(identity: str) -> Path | None:
    """Where this machine keeps what it has worked out; None where it can keep nothing."""
    folder = state_folder()
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"{identity}.cache" if os.access(folder, os.W_OK | os.X_OK) else None


_opened: WeakSet[Log] = WeakSet()
_held: list[Any] = []


def _before_fork() -> None:
    """No transaction is open while a process forks: SQLite in the child would take its locks for held."""
    for log in list(_opened):
        log.turn.acquire()
        _held.append(log.turn)


def _after_fork() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _held.clear()
    for log in _opened:
        log.forked()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
