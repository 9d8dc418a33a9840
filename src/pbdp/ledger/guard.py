"""A store and its witness: every transaction is checked against what is known, and noted when it is done.

**The gap after a ledger was taken back to an older state.** Let s be what the store says a dataset has spent,
w what the witness saw spent, and b what was spent at the last record that both have seen (the base). The gap
counted as `known` makes it

    s + max(0, w - b),    and exactly w where the store simply ends at a record that was seen (b = s).

This is never too little for what the witness saw. A hash fixes all records before it, so store and witness
have the same past up to the base, and b counts it; s - b was spent in the store since then, and w - b in
what was lost. Taking an earlier record for the base than the last common one lowers b and can only count
more. Without any common record b = 0.

The gap counted as `all` makes it at least the limit. Either way what was open before is void
(`Book.is_void`), and a dataset that was lost with the gap cannot be made again under its name.

Where several machines share a ledger, each has a witness. Those that saw what was lost refuse the ledger
until it is recovered there too, and each adds what it saw: what two of them saw is counted twice, never
too little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

from pbdp.errors import InputError
from pbdp.ledger.book import Book, DatasetState
from pbdp.ledger.errors import (
    DamagedLedgerError,
    LedgerError,
    RolledBackError,
    UntrustedLedgerError,
    WitnessError,
)
from pbdp.ledger.record import Amounts, Payload, Record, none_of, total
from pbdp.ledger.state import state_folder
from pbdp.ledger.stores.interface import Reading, Row, Store, T, Writing
from pbdp.ledger.witness import Memory, Witness

_BATCH_RECORDS = 500
_BATCH_BYTES = 16_000_000
_BEFORE_ALL = -(2**63)
Gap = Literal["known", "all"]
_REPLACED = "another ledger was there when this machine saw the place last; it was removed or replaced"
_UNNOTICED = "If it was taken back to an older state before, that is not noticed."


class Change:
    """A transaction that is being written: the book as it is, and what the witness will be told."""

    def __init__(self, book: Book, writing: Writing, known: Memory | None) -> None:
        self.book = book
        self._writing = writing
        self._known = known
        self._touched: dict[str, DatasetState] = {}

    def dataset(self, name: str) -> DatasetState:
        """The dataset's state, which the witness will be told; never an older one than it knows."""
        state = self.book.dataset(name)
        seen = None if self._known is None else self._known.datasets.get(name)
        if seen is not None and state.sequence < seen.sequence:
            fault = f"record {seen.sequence}, the last known spend of {name}, is not found under its name"
            raise DamagedLedgerError(self.book.place, fault)
        self.touch(state)
        return state

    def touch(self, state: DatasetState) -> None:
        """Let the witness be told of this state."""
        self._touched[state.name] = state

    def append(self, kind: str, content: Payload, packed: bytes | None = None) -> Record:
        """The next record."""
        record = Record.after(self.book.head, kind, content)
        self._writing.append(record, packed)
        self.book = replace(self.book, head=record)
        return record

    def memory(self) -> Memory:
        """The head, and the totals of the datasets that were looked at last."""
        return self.book.memory(*self._touched.values())


class Guard:
    """The only way from a ledger to its store."""

    def __init__(self, store: Store, *, wait: float) -> None:
        genesis = store.read(lambda reading: reading.record(0))
        if genesis is None or genesis.kind != "genesis":
            raise DamagedLedgerError(store.place, "its first record is missing")
        self.store = store
        self.identity = str(genesis.content["ledger"])
        self.notes: list[str] = []
        # said with every spend: that this ledger was taken on trust
        self.trusted: str | None = None
        self._doubt: str | None = None
        self._witness = Witness(self.identity, state_folder(), place=store.place, wait=wait)
        self._seen: Memory | None = None

    def meet(self, *, trust: bool = False) -> None:
        """Refuse a store that is older than the witness; bring the witness up to the store."""
        at_place = self._witness.ledger_at_place()
        known = self._witness.read()
        remains = self._witness.last_head() if known is None else known

        def look(reading: Reading) -> tuple[Book, bool, list[DatasetState]]:
            book = Book.opened(self.store.place, reading)
            counted = _is_counted(book, remains)
            if not counted:
                self._check_holds(book, remains)
            fresh = known is not None and known.sequence == book.head.sequence
            return book, counted, [] if fresh else book.datasets()

        book, counted, datasets = self.store.read(look)
        self._seen = book.memory(*datasets)
        if at_place not in (None, self.identity):
            self._doubt = _REPLACED
        # a ledger of one record is as good as a new one
        elif known is None and not counted and book.head.sequence > 0:
            self._doubt = f"this machine has no witness of it ({self._witness.place})"
        if self._doubt is not None:
            if not trust:
                self.notes.append(f"{_UNNOTICED} Nothing is spent from it: {self._doubt}.")
                return
            self.trusted = f"The ledger {self.store.place} is taken on trust: {self._doubt}. {_UNNOTICED}"
            self.notes.append(self.trusted)
            self._doubt = None
        try:
            if counted and remains is not None:
                self._witness.restart(remains, self._seen)
            elif known is None or known.sequence != book.head.sequence:
                self._witness.note(self._seen)
            if at_place != self.identity:
                self._witness.note_place()
        except WitnessError:
            raise
        except LedgerError as problem:  # reading works all the same
            self.notes.append(str(problem))

    def recover(self, gap: Gap) -> None:
        """Count the gap between the store and the witness, in one transaction, and start the witness anew."""
        read = self._witness.read()
        known = self._witness.last_head() if read is None else read
        if known is None:
            remedy = "There is nothing to recover: open it."
            raise InputError("ledger", "known to this machine", self.store.place, remedy)
        if read is None and gap == "known":
            raise InputError("gap", '"all" where the totals that this machine knew are lost', '"known"')
        self._witness.check_writable()

        def count(writing: Writing) -> None:
            change = Change(Book.opened(self.store.place, writing), writing, None)
            if not _is_counted(change.book, known):
                if self._holds(change.book, known):
                    remedy = "There is no gap to count: open it."
                    raise InputError("ledger", "older than this machine knows it", self.store.place, remedy)
                base = base_of(writing, self._witness)
                first = _BEFORE_ALL if base is None else base + 1
                since = writing.rows(first, change.book.head.sequence, answers=False)
                change.append("recovery", recovery_content(change.book, known, base, since, gap))

        self.store.write(count)
        self.meet()

    def read(self, work: Callable[[Book], T]) -> T:
        """Do the work in a transaction that reads a store that is not older than what is known of it."""
        # Asked before the transaction begins: the witness follows the store, so it knows nothing newer.
        known = [self._seen, self._witness.read()]

        def check(reading: Reading) -> T:
            book = Book.opened(self.store.place, reading)
            for memory in known:
                self._check_holds(book, memory)
            return work(book)

        return self.store.read(check)

    def write(self, work: Callable[[Change], T]) -> T:
        """One durable transaction on a store that holds all that is known of it; then the witness is told."""
        if self._doubt is not None:
            raise UntrustedLedgerError(self.store.place, self._doubt)
        self._witness.check_writable()

        def check(writing: Writing) -> tuple[T, Memory]:
            book = Book.opened(self.store.place, writing)
            # Asked under the lock: whoever told the witness had committed before.
            known = self._witness.read()
            for memory in (self._seen, known):
                self._check_holds(book, memory)
            change = Change(book, writing, known)
            return work(change), change.memory()

        done, self._seen = self.store.write(check)
        self._witness.note(self._seen)
        return done

    def rows(self, *, answers: bool) -> Iterator[Row]:
        """All records up to now; in batches, because a slow reader would keep writers waiting."""
        last = self.read(lambda book: book.head.sequence)
        first = _BEFORE_ALL
        while first <= last:
            batch, end = self.store.read(partial(_batch, first=first, last=last, answers=answers))
            first = end + 1
            yield from batch

    def _holds(self, book: Book, known: Memory) -> bool:
        head = book.head
        found = head if head.sequence == known.sequence else book.reading.record(known.sequence)
        if found is None and known.sequence < head.sequence:
            raise DamagedLedgerError(self.store.place, f"record {known.sequence} is missing")
        return found is not None and found.hash == known.hash

    def _check_holds(self, book: Book, known: Memory | None) -> None:
        if known is not None and not self._holds(book, known):
            found = book.head.sequence
            raise RolledBackError(
                place=self.store.place, found=found, known=known.sequence, diverged=known.sequence <= found
            )


def _batch(reading: Reading, *, first: int, last: int, answers: bool) -> tuple[list[Row], int]:
    """Some records from `first` on, and the number of the last that was looked at."""
    end = min(last, max(first, 0) + _BATCH_RECORDS)
    batch, size = [], 0
    for row in reading.rows(first, end, answers=answers):
        batch.append(row)
        size += len(row.packed or b"")
        if size > _BATCH_BYTES:
            return batch, row.record.sequence
    return batch, end


def _is_counted(book: Book, known: Memory | None) -> bool:
    """Whether the last recovery counted exactly this witness, which was then not told of it (a crash)."""
    if known is None or book.recovery is None:
        return False
    return bool(book.recovery.content["witness"] == memory_content(known))


def base_of(reading: Reading, witness: Witness) -> int | None:
    """The sequence of a record that the witness saw and the store holds; the last one, as far as is known."""
    for sequence, seen in witness.heads():
        record = reading.record(sequence)
        if record is not None and record.hash == seen:
            return sequence
    return None


def recovery_content(book: Book, memory: Memory, base: int | None, since: Iterable[Row], gap: Gap) -> Payload:
    """The payload of the recovery's record; `since` are the store's records after the base."""
    datasets = book.datasets()
    spent_since = _spent_since({state.name: none_of(state.limits) for state in datasets}, since)
    charged = {
        state.name: _charged(state, total(state.spent, spent_since[state.name], -1), memory, gap)
        for state in datasets
    }
    known = {state.name for state in datasets}
    before = set() if book.recovery is None else set(book.recovery.content["lost"])
    return {
        "gap": gap,
        "base": base,
        "witness": memory_content(memory),
        "charged": charged,
        "spent": {state.name: total(state.spent, charged[state.name]) for state in datasets},
        "lost": sorted((before | memory.datasets.keys()) - known),
    }


def memory_content(memory: Memory) -> Payload:
    """A witness as it stands in the record of a recovery."""
    datasets = {name: [totals.sequence, totals.spent] for name, totals in memory.datasets.items()}
    return {"sequence": memory.sequence, "hash": memory.hash, "datasets": datasets}


def _spent_since(spent: dict[str, Amounts], since: Iterable[Row]) -> dict[str, Amounts]:
    for row in since:
        content = row.record.content
        if row.record.kind in ("spend", "purchase"):
            spent[content["dataset"]] = total(spent[content["dataset"]], content["cost"])
        elif row.record.kind == "recovery":
            for name, charged in content["charged"].items():
                spent[name] = total(spent[name], charged)
    return spent


def _charged(state: DatasetState, at_base: Amounts, memory: Memory, gap: Gap) -> Amounts:
    if gap == "all":
        return state.remaining
    if state.name not in memory.datasets:
        return none_of(state.limits)
    seen = memory.datasets[state.name].spent
    return {name: max(0, seen.get(name, 0) - at_base[name]) for name in state.limits}
