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
(`Snapshot.is_void`), and a dataset that was lost with the gap cannot be made again under its name.

Where several machines share a ledger, each has a witness. Those that saw what was lost refuse the ledger
until it is recovered there too, and each adds what it saw: what two of them saw is counted twice, never
too little.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal, TypeVar

from pbdp.errors import InputError
from pbdp.ledger.errors import (
    DamagedLedgerError,
    LedgerError,
    MissingKeyError,
    RolledBackError,
    UntrustedLedgerError,
    WitnessError,
    missing_key,
)
from pbdp.ledger.keys import LEDGER_ID, Key, Keyring, key_folder, state_folder
from pbdp.ledger.record import Amounts, BrokenRecordError, Payload, Record, none_of, total
from pbdp.ledger.snapshot import DatasetState, Snapshot
from pbdp.ledger.stores.interface import Reading, Row, Store, Stored, T, Writing
from pbdp.ledger.verification import Walk
from pbdp.ledger.witness import Memory, Witness

_BATCH_RECORDS = 500
_BATCH_BYTES = 16_000_000
BEFORE_ALL = -(2**63)
Gap = Literal["known", "all"]
AnyRow = TypeVar("AnyRow", Row, Stored)
_REPLACED = "another ledger was there when this machine saw the place last; it was removed or replaced"
_UNNOTICED = "If it was taken back to an older state before, that is not noticed."


class Change:
    """A transaction that is being written: the ledger as it is, and what the witness will be told."""

    def __init__(self, snapshot: Snapshot, writing: Writing, known: Memory | None, ring: Keyring) -> None:
        self.snapshot = snapshot
        self._writing = writing
        self._known = known
        self._ring = ring
        self._touched: dict[str, DatasetState] = {}

    def dataset(self, name: str) -> DatasetState:
        """The dataset's state, which the witness will be told; never an older one than it knows."""
        state = self.snapshot.dataset(name)
        seen = None if self._known is None else self._known.datasets.get(name)
        if seen is not None and state.sequence < seen.sequence:
            fault = f"record {seen.sequence}, the last known spend of {name}, is not found under its name"
            raise DamagedLedgerError(self.snapshot.place, fault)
        self.touch(state)
        return state

    def touch(self, state: DatasetState) -> None:
        """Let the witness be told of this state."""
        self._touched[state.name] = state

    def append(
        self, kind: str, content: Payload, packed: bytes | None = None, *, key: Key | None = None
    ) -> Record:
        """The next record, under the ledger's key."""
        record = Record.after(
            self.snapshot.head, kind, content, key or signing_key(self.snapshot, self._ring)
        )
        self._writing.append(record, packed)
        self.snapshot = replace(self.snapshot, head=record)
        return record

    def memory(self) -> Memory:
        """The head, and the totals of the datasets that were looked at last."""
        return self.snapshot.memory(*self._touched.values())


class Guard:
    """The only way from a ledger to its store."""

    def __init__(self, store: Store, *, wait: float) -> None:
        genesis = store.read(lambda reading: reading.record(0))
        if genesis is None or genesis.kind != "genesis":
            raise DamagedLedgerError(store.place, "its first record is missing")
        self.store = store
        self.identity = str(genesis.content["ledger"])
        if not LEDGER_ID.fullmatch(self.identity):  # files are named after it
            raise DamagedLedgerError(store.place, "its first record has an id that no ledger gives")
        self.ring = Keyring(self.identity, key_folder(), place=store.place)
        store.check_read, store.check_written = self.check, self.check_strictly
        self.notes: list[str] = []
        # said with every spend: that this ledger was taken on trust
        self.trusted: str | None = None
        self._doubt: str | None = None
        self._witness = Witness(self.identity, state_folder(), place=store.place, wait=wait)
        self._seen: Memory | None = None

    def meet(self, *, trust: bool = False) -> None:
        """Refuse a store that is older than the witness; bring the witness up to the store."""
        self.notes, self.trusted, self._doubt = [], None, None
        at_place = self._witness.ledger_at_place()
        known = self._witness.read()
        remains = self._witness.last_head() if known is None else known
        walk: Walk | None = None

        def look(reading: Reading) -> tuple[Snapshot, bool, list[DatasetState]] | None:
            nonlocal walk
            snapshot = Snapshot.opened(self.store.place, reading)
            counted = _is_counted(snapshot, remains)
            if not counted:
                self._check_holds(snapshot, remains)
            behind = remains is None or counted or remains.sequence < snapshot.head.sequence
            if walk is None and behind and (remains is not None or trust):
                walk = self._walk_after(snapshot, None if counted else remains)
            # a batch in each transaction, because a slow reader would keep writers waiting
            if walk is not None and not self._has_followed(walk, snapshot):
                return None
            fresh = known is not None and known.sequence == snapshot.head.sequence
            return snapshot, counted, [] if fresh else snapshot.datasets()

        while (found := self.store.read(look)) is None:
            pass
        snapshot, counted, datasets = found
        missing = self.missing_key(walk, snapshot.head)
        now = snapshot.memory(*datasets)
        # what cannot be judged is not told to the witness, so that it will be looked at again
        self._seen = now if missing is None else remains
        if at_place not in (None, self.identity):
            self._doubt = _REPLACED
        # a ledger of one record is as good as a new one
        elif known is None and not counted and snapshot.head.sequence > 0:
            self._doubt = f"this machine has no witness of it ({self._witness.place})"
        if self._doubt is not None:
            if not trust:
                self.notes.append(f"{_UNNOTICED} Nothing is spent from it: {self._doubt}.")
                return
            self.trusted = f"The ledger {self.store.place} is taken on trust: {self._doubt}. {_UNNOTICED}"
            self.notes.append(self.trusted)
            self._doubt = None
        if missing is not None:
            self.notes.append(f"The ledger {self.store.place} can only be read: {missing_key(missing)}")
            return
        try:
            if counted and remains is not None:
                self._witness.restart(remains, now)
            elif known is None or known.sequence != snapshot.head.sequence:
                self._witness.note(now)
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
            change = Change(Snapshot.opened(self.store.place, writing), writing, None, self.ring)
            if not _is_counted(change.snapshot, known):
                if self._holds(change.snapshot, known):
                    remedy = "There is no gap to count: open it."
                    raise InputError("ledger", "older than this machine knows it", self.store.place, remedy)
                base = base_of(writing, self._witness)
                first = BEFORE_ALL if base is None else base + 1
                since = writing.rows(first, change.snapshot.head.sequence, answers=False)
                change.append("recovery", recovery_content(change.snapshot, known, base, since, gap))

        self.store.write(count)
        self.meet()

    def read(self, work: Callable[[Snapshot], T]) -> T:
        """Do the work in a transaction that reads a store that is not older than what is known of it."""
        # Asked before the transaction begins: the witness follows the store, so it knows nothing newer.
        known = [self._seen, self._witness.read()]

        def check(reading: Reading) -> T:
            snapshot = Snapshot.opened(self.store.place, reading)
            for memory in known:
                self._check_holds(snapshot, memory)
            return work(snapshot)

        return self.store.read(check)

    def write(self, work: Callable[[Change], T]) -> T:
        """One durable transaction on a store that holds all that is known of it; then the witness is told."""
        if self._doubt is not None:
            raise UntrustedLedgerError(self.store.place, self._doubt)
        self._witness.check_writable()
        self.ring.look_again()

        def check(writing: Writing) -> tuple[T, Memory]:
            snapshot = Snapshot.opened(self.store.place, writing)
            # Asked under the lock: whoever told the witness had committed before.
            known = self._witness.read()
            seen = [memory for memory in (self._seen, known) if memory is not None]
            for memory in seen:
                self._check_holds(snapshot, memory)
            last = max(seen, key=lambda memory: memory.sequence, default=None)
            if last is None or last.sequence < snapshot.head.sequence:
                walk = self._walk_after(snapshot, last)
                while not self._has_followed(walk, snapshot):
                    pass
            change = Change(snapshot, writing, known, self.ring)
            return work(change), change.memory()

        done, self._seen = self.store.write(check)
        self._witness.note(self._seen)
        return done

    def rotate_key(self) -> str:
        """Put new records under a new key; its id."""
        new = Key.fresh()
        self.ring.add(new)  # before anything is under it

        def rotate(change: Change) -> str:
            content = {"before": change.snapshot.head.next_key_id, "change": "rotated", "export": None}
            change.append("key", {"key": new.id, **content})
            return new.id

        return self.write(rotate)

    def replace_key(self, walk: Walk, export: Payload) -> str:
        """Put a new key in the place of a lost one; its id.

        `walk` went through the whole store, which continues the export with the head `export`.
        """
        head = walk.head
        if head is None:
            raise DamagedLedgerError(self.store.place, "it has no records")
        lost = head.next_key_id
        if self.ring.key(lost) is not None:
            remedy = "Use `pbdp ledger key rotate` to change it."
            raise InputError("key", "lost, to be replaced", f"{lost}, which is here", remedy)
        self._witness.check_writable()
        new = Key.fresh()
        self.ring.add(new)
        for key_id, last in ({lost: head.sequence} | walk.key_ids).items():
            if self.ring.key(key_id) is None:
                self.ring.add_lost(key_id, last)

        def replaced(writing: Writing) -> None:
            # a record that came since the walk is under a key that is not here, and refused
            change = Change(Snapshot.opened(self.store.place, writing), writing, None, self.ring)
            content = {"key": new.id, "before": lost, "change": "replaced", "export": export}
            change.append("key", content, key=new)

        self.store.write(replaced)
        self.meet(trust=True)
        return new.id

    def missing_key(self, walk: Walk | None, head: Record) -> str | None:
        """The first key that is needed to judge what was walked through, or to go on, and is not here."""
        needed = ({} if walk is None else walk.key_ids) | {head.next_key_id: head.sequence + 1}
        return next((name for name, last in sorted(needed.items()) if not self.ring.holds(name, last)), None)

    def what_was_not_checked(self, walk: Walk) -> list[str]:
        """Which MACs a verification could not look at."""
        notes = []
        for name, last in sorted(walk.key_ids.items()):
            if self.ring.key(name) is None and self.ring.holds(name, last):
                notes.append(
                    f"Up to record {last} only hashes were checked, no MACs: the key {name} was lost."
                )
            elif self.ring.key(name) is None:
                notes.append(f"MACs were not checked: this machine does not have the key {name}.")
        return notes

    def check(self, _: int, hash: str, key_id: str, mac: str) -> None:  # noqa: A002  # as records call it
        """The MAC must be right, if it can be checked."""
        key = self.ring.key(key_id)
        if key is not None and not hmac.compare_digest(key.mac(hash), mac):
            raise BrokenRecordError("was not written by a holder of the ledger's key")

    def check_strictly(self, sequence: int, hash: str, key_id: str, mac: str) -> None:  # noqa: A002
        """What is spent depends on this record: its key must be here, or be known as lost."""
        self.check(sequence, hash, key_id, mac)
        if not self.ring.holds(key_id, sequence):
            raise MissingKeyError(self.store.place, key_id)

    def _walk_after(self, snapshot: Snapshot, known: Memory | None) -> Walk:
        """A walk from what is known, which the store holds, or from the first record."""
        if known is None:
            return Walk(with_answers=False)
        return Walk(snapshot.reading.record(known.sequence), with_answers=False)

    def _has_followed(self, walk: Walk, snapshot: Snapshot) -> bool:
        """Take the next records, a batch of them; whether the walk is at the snapshot's head then."""
        last = min(walk.next + _BATCH_RECORDS - 1, snapshot.head.sequence)
        walk.look_up_in(snapshot)
        walk.take(snapshot.reading.stored(walk.next, last, answers=False), snapshot.reading.check)
        if walk.fault is None and walk.next <= last:
            walk.fault = f"record {walk.next} is missing"
        if walk.fault is not None:
            raise DamagedLedgerError(self.store.place, walk.fault)
        return last == snapshot.head.sequence

    def divergence(self, hashes: list[str]) -> str | None:
        """What is wrong, if the store does not hold the records with these hashes as its first ones."""
        last = self.read(lambda snapshot: snapshot.head.sequence)
        shared = min(last, len(hashes) - 1)
        record = self.store.read(lambda reading: reading.record(shared))
        if record is not None and record.hash == hashes[shared]:  # then so are all before it
            if shared == len(hashes) - 1:
                return None
            return (
                f"it was taken back to an older state: it ends at record {last}, unchanged, but the export "
                f"goes on to record {len(hashes) - 1}"
            )
        for row in self.rows(answers=False):
            if row.record.hash != hashes[row.record.sequence]:
                return f"it was rewritten: record {row.record.sequence} is not the one in the export"
        return "it was rewritten"

    def rows(self, *, answers: bool) -> Iterator[Row]:
        """All records up to now; in batches, because a slow reader would keep writers waiting."""
        last = self.read(lambda snapshot: snapshot.head.sequence)
        first = BEFORE_ALL
        while first <= last:
            begin, end = first, batch_end(first, last)
            rows, complete = self.store.read(
                lambda reading: batch(reading.rows(begin, end, answers=answers))  # noqa: B023  # done at once
            )
            first = 1 + (end if complete else rows[-1].record.sequence)
            yield from rows

    def _holds(self, snapshot: Snapshot, known: Memory) -> bool:
        head = snapshot.head
        found = head if head.sequence == known.sequence else snapshot.reading.record(known.sequence)
        if found is None and known.sequence < head.sequence:
            raise DamagedLedgerError(self.store.place, f"record {known.sequence} is missing")
        return found is not None and found.hash == known.hash

    def _check_holds(self, snapshot: Snapshot, known: Memory | None) -> None:
        if known is not None and not self._holds(snapshot, known):
            found = snapshot.head.sequence
            raise RolledBackError(
                place=self.store.place, found=found, known=known.sequence, diverged=known.sequence <= found
            )


def signing_key(snapshot: Snapshot, ring: Keyring) -> Key:
    """The key that the next record goes under."""
    key = ring.key(snapshot.head.next_key_id)
    if key is None:
        raise MissingKeyError(snapshot.place, snapshot.head.next_key_id)
    return key


def batch(rows: Iterable[AnyRow]) -> tuple[list[AnyRow], bool]:
    """As many of them as are well kept in memory; whether these are all."""
    taken, size = [], 0
    for row in rows:
        taken.append(row)
        size += len(row[-1] or b"")
        if size > _BATCH_BYTES:
            return taken, False
    return taken, True


def batch_end(first: int, last: int) -> int:
    """The last record of those from `first` on that are read in one transaction."""
    return min(last, max(first, 0) + _BATCH_RECORDS)


def _is_counted(snapshot: Snapshot, known: Memory | None) -> bool:
    """Whether the last recovery counted exactly this witness, which was then not told of it (a crash)."""
    if known is None or snapshot.recovery is None:
        return False
    return bool(snapshot.recovery.content["witness"] == memory_content(known))


def base_of(reading: Reading, witness: Witness) -> int | None:
    """The sequence of a record that the witness saw and the store holds; the last one, as far as is known."""
    for sequence, seen in witness.heads():
        record = reading.record(sequence)
        if record is not None and record.hash == seen:
            return sequence
    return None


def recovery_content(
    snapshot: Snapshot, memory: Memory, base: int | None, since: Iterable[Row], gap: Gap
) -> Payload:
    """The payload of the recovery's record; `since` are the store's records after the base."""
    datasets = snapshot.datasets()
    spent_since = _spent_since({state.name: none_of(state.limits) for state in datasets}, since)
    charged = {
        state.name: _charged(state, total(state.spent, spent_since[state.name], -1), memory, gap)
        for state in datasets
    }
    known = {state.name for state in datasets}
    before = set() if snapshot.recovery is None else set(snapshot.recovery.content["lost"])
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
    lost = {name: max(0, seen.get(name, 0) - at_base[name]) for name in state.limits}
    # what was spent since the base was priced as if nothing had been lost: the two do not add up
    return state.remaining if any(lost.values()) and state.spent != at_base else lost
