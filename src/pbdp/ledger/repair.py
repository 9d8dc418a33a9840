"""Going on with a ledger that is damaged, or was taken back to an older state.

What is kept is the longest beginning of the log of which every record is sound and a MAC vouches for its
end. If rows lie behind it, or the storage itself is broken, a new log takes the place of the old one, which
is kept beside it. A record of kind `recovery` says what was counted; what was open before is never used
again.

**What is counted.** Let s be what the kept records say a dataset has spent, w what this machine's witness saw
spent, and b what was spent at the last record that both have (the base). The gap counted as `known` makes it

    s + max(0, w - b),    and exactly w where the kept records are a part of what the witness saw (b = s).

This is never too little for what the witness saw: a hash fixes all records before it, so both have the same
past up to the base; s - b was spent in the log since then, and w - b in what was lost. If both are more than
nothing, prices were found as if the other had not been, do not add up, and all counts as spent.

Whatever lies behind both the witness and the kept records is in doubt, and so is everything where this
machine has no witness. Then all of every dataset counts as spent, as it does with the gap `all`.

Where several machines share a ledger, each has a witness. Those that saw what was lost refuse the ledger
until it is repaired there too, and each adds what it saw: what two of them saw is counted twice, never too
little.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass

from pbdp.errors import InputError, PbdpError
from pbdp.ledger.cache import Cache
from pbdp.ledger.errors import LedgerError, MissingKeyError
from pbdp.ledger.fold import DatasetState, Head
from pbdp.ledger.keys import Keyring, key_folder, state_folder
from pbdp.ledger.record import Amounts, BrokenRecordError, Payload, Record, Row, total
from pbdp.ledger.stores.interface import Store
from pbdp.ledger.verification import Walk
from pbdp.ledger.witness import Memory, Witness


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What there is: the records to keep, and what lies behind them."""

    walk: Walk
    head: Head
    # what was spent at the last record that this machine has seen, and its number
    at_base: dict[str, Amounts]
    base: int
    # what cannot be kept: so many rows, datasets in them, and whether the witness saw all of it
    dropped: int
    gone: set[str]
    certain: bool
    known: Memory | None
    contained: bool

    def spent(self, state: DatasetState) -> Amounts | None:
        """What counts as spent of a dataset with the gap `known`; None if that is not certain."""
        if not self.certain:
            return None
        spent = state.spent
        if self.known is not None and not self.contained:
            at_base = self.at_base.get(state.name, dict.fromkeys(spent, 0))
            seen = self.known.spent.get(state.name, at_base)
            lost = {name: max(0, seen.get(name, 0) - at_base[name]) for name in spent}
            if any(lost.values()) and spent != at_base:
                return None
            spent = total(spent, lost)
        return spent


def repair(store: Store, gap: str, wait: float) -> list[str]:
    """Write the recovery; what is lost, in words."""
    rows = {row[0]: row for row in store.salvage() if isinstance(row[0], int)}
    identity = _identity(store, rows)
    ring = Keyring(identity, key_folder(), place=store.place)
    witness = Witness(identity, state_folder(), place=store.place, wait=wait)
    witness.check_writable()
    cache = Cache(state_folder() / f"{identity}.cache")
    try:
        found = _found(store, rows, ring, witness.read(), cache)
        broken = _storage_fault(store)
        given_up = found.walk.fold.get("unanswered", ())
        lost = [number for number in found.walk.lost if number not in given_up]
        if found.contained and not (found.dropped or broken or lost):
            raise InputError(
                "ledger",
                "damaged, or older than this machine knows it",
                f"{store.place}, which is neither",
                "There is nothing to repair: open it.",
            )
        key = ring.key(found.head.next_key)
        if key is None:
            raise MissingKeyError(store.place, found.head.next_key)
        content, words = _recovery(found, gap, lost)
        record = Record.after(found.head.sequence, found.head.hash, "recovery", content, key)
        found.walk.fold.take(Record.read(record.row()))
        if found.dropped or broken:
            kept = [rows[number] for number in range(found.head.sequence + 1)]
            old = store.replace([*((*row[:8], row[8]) for row in kept), record.row()])
            words.insert(0, f"{found.dropped} rows could not be kept. What was there is in {old}.")
        elif not store.append(record.row()):
            raise LedgerError(
                "Another program wrote to the ledger meanwhile. Nothing was changed; try again."
            )
        # it is worked out again from what is there now
        cache.clear()
    finally:
        cache.close()
    now = found.walk.fold.memory()
    if found.known is not None and not found.contained:
        witness.restart(found.known, now)
    else:
        witness.note(now)
    return [f"The ledger goes on from record {found.head.sequence}.", *words]


def _identity(store: Store, rows: dict[int, Row]) -> str:
    try:
        first = Record.read(rows[0])
        if first.kind == "genesis":
            return str(first.content["ledger"])
    except (KeyError, BrokenRecordError):
        pass
    raise _unreadable(store)


def _unreadable(store: Store) -> LedgerError:
    return LedgerError(
        f"The first record of the ledger {store.place} cannot be read, so nothing in it can be believed. Put "
        "a copy in its place and repair that. Without one, all that was promised to these people counts as "
        "spent."
    )


def _found(store: Store, rows: dict[int, Row], ring: Keyring, known: Memory | None, cache: Cache) -> Found:
    end = _vouched(rows, ring)
    if end < 0:
        first = Record.read(rows[0]).key_id
        raise _unreadable(store) if ring.key(first) else MissingKeyError(store.place, first)
    seen = cache.keys()
    if known is not None:
        seen |= known.since | {known.sequence: known.hash}
    walk, base, at_base = Walk(ring), -1, {}
    for number in range(end + 1):
        record = walk.take(rows[number])
        if record is not None and seen.get(number) == record.hash:
            base, at_base = number, walk.fold.spent()
    head = walk.fold.head
    if head is None:
        raise AssertionError("the first record is there")
    behind = [number for number in rows if not 0 <= number <= end]
    genuine = [record for number in behind if (record := _genuine(rows[number], ring)) is not None]
    # another machine may have gone on from an older state
    strange = [
        record for record in genuine if record.kind == "spend" and seen.get(record.sequence) != record.hash
    ]
    contained = known is None or walk.hashes[known.sequence : known.sequence + 1] == [known.hash]
    counted = known is not None and [known.sequence, known.hash] in walk.fold.get("counted", ())
    return Found(
        walk=walk,
        head=head,
        at_base=at_base,
        base=base,
        dropped=len(behind),
        gone={record.content["dataset"] for record in genuine if record.kind == "dataset"},
        # without a witness, who knows what came after the kept records
        certain=known is not None and (not behind or (max(rows) <= known.sequence and not strange)),
        known=known,
        contained=contained or counted,
    )


def _vouched(rows: dict[int, Row], ring: Keyring) -> int:
    """The number of the last record that is sound, as are all before it, and has its MAC."""
    walk, end, number = Walk(ring), -1, 0
    while number in rows and walk.take(rows[number]) is not None:
        head = walk.fold.head
        if head is not None and head.unvouched is None:
            end = number
        number += 1
    return end


def _genuine(row: Row, ring: Keyring) -> Record | None:
    """The record in a row, if a holder of a key wrote it."""
    try:
        record = Record.read(row)
    except BrokenRecordError:
        return None
    key = ring.key(record.key_id)
    return record if key is not None and hmac.compare_digest(key.mac(record.hash), record.mac) else None


def _storage_fault(store: Store) -> bool:
    try:
        store.last()
        return store.fault() is not None
    except PbdpError:
        return True


def _recovery(found: Found, gap: str, lost: list[int]) -> tuple[Payload, list[str]]:
    """The payload of the recovery, and what it counts, in words."""
    fold, spent, charged, full = found.walk.fold, {}, {}, []
    for name in fold.datasets:
        state = fold.dataset(name)
        counted = None if gap == "all" else found.spent(state)
        if counted is None:
            full.append(name)
            counted = {amount: max(limit, state.spent[amount]) for amount, limit in state.limits.items()}
        spent[name], charged[name] = counted, total(counted, state.spent, -1)
    known = found.known
    gone = sorted((found.gone | (set() if known is None else known.spent.keys())) - spent.keys())
    content: Payload = {
        "gap": "all" if full else "known",
        "witness": None if known is None else [known.sequence, known.hash],
        "dropped": found.dropped,
        "answers": lost,
        "charged": charged,
        "spent": spent,
        "lost": gone,
    }
    return content, [*_words(fold.datasets, charged, full, gone, lost)]


def _words(
    names: Iterable[str], charged: dict[str, Amounts], full: list[str], gone: list[str], lost: list[int]
) -> Iterable[str]:
    for name in names:
        if name in full:
            yield f"{name}: all of its budget counts as spent, as it is not certain what was spent."
        elif any(charged[name].values()):
            yield f"{name}: what this machine knows to be spent was counted."
        else:
            yield f"{name}: nothing spent is missing."
    for name in gone:
        yield f"{name}: this dataset is lost, and cannot be made again under its name."
    if lost:
        yield f"The answers of records {', '.join(map(str, lost))} are lost; they are never drawn again."
