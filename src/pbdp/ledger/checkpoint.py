"""What this machine has verified of a ledger, so that it need not be added up again.

After a verification without a fault, LEDGER.verified in the state folder keeps the last record's number and
hash, the totals, and a SHA-256 over everything that is stored up to that record: all columns of all rows, and
all answers, byte for byte. The file carries a MAC under the ledger's key; one that is missing, damaged or not
of a holder of the key is passed over.

The next verification reads everything again. If it is byte for byte what was verified then (the digests are
the same), so is what was found: every hash, MAC, total, package, key and answer up to there. Only the records
since then are added up. If not, everything is added up anew, and the fault is named. So what is checked is
the same, as long as SHA-256 has no known collisions. What is taken on the word of whoever holds the key on
this machine is that the first walk was made, by a pbdp without a fault: `everything` makes it anew.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import marshal
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from pbdp.errors import InputError
from pbdp.json_records import canonical
from pbdp.ledger.errors import DamagedLedgerError, LedgerError
from pbdp.ledger.export import Export
from pbdp.ledger.guard import BEFORE_ALL, Guard, batch, batch_end
from pbdp.ledger.keys import Key, state_folder, write_whole
from pbdp.ledger.record import Amounts, Record
from pbdp.ledger.snapshot import Snapshot
from pbdp.ledger.stores.interface import Reading, Stored
from pbdp.ledger.verification import Verification, Walk

_PURPOSE = "ledger checkpoint"
# Rows that are read in one transaction; a slow reader would keep writers waiting.
_ROWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Everything up to the record `sequence` was verified; `digest` is of what was stored then."""

    sequence: int
    hash: str
    digest: str
    spends: int
    answers: int
    key_ids: dict[str, int]
    spent: dict[str, Amounts]

    def in_words(self) -> str:
        """What a verification took from here."""
        return (
            f"Records 0 to {self.sequence} are byte for byte those of this machine's last verification; only "
            "those after them were added up again."
        )

    def mac(self, key: Key) -> str:
        """Under the ledger's key, for a purpose of its own."""
        return key.keyed_digest(_PURPOSE, canonical(asdict(self)).encode())


@dataclass(slots=True, kw_only=True)
class Verified:
    """A walk to the end, where it began, and what every dataset has spent."""

    walk: Walk
    since: Checkpoint | None
    digest: str

    @property
    def spent(self) -> dict[str, Amounts]:
        """What every dataset has spent, by adding up."""
        return {**({} if self.since is None else self.since.spent), **self.walk.spent()}

    def keep(self, guard: Guard) -> None:
        """Remember it, if this machine holds every key that it took."""
        head = self.walk.head
        if head is None or guard.missing_key(self.walk, head) is not None:
            return
        key = guard.ring.key(head.next_key_id)
        if key is None:
            return
        made = Checkpoint(
            sequence=head.sequence,
            hash=head.hash,
            digest=self.digest,
            spends=self.walk.spends,
            answers=self.walk.answers,
            key_ids=self.walk.key_ids,
            spent=self.spent,
        )
        content = {**asdict(made), "key": key.id, "mac": made.mac(key)}
        file = _file(guard)
        try:
            write_whole(file, json.dumps(content).encode(), aside=file.with_suffix(".verified.new"))
        except OSError:  # then everything is added up the next time, too
            return


def outcome(guard: Guard, *, everything: bool, against: Iterable[str] | None) -> Verification:
    """What `Ledger.verify` finds; the ledger must continue the export `against`."""
    export = None if against is None else sound_export(guard, against)
    walk, notes, unchecked = Walk(), [*guard.notes, *guard.store.notes()], [""]
    try:
        found = verified(guard, everything=everything)
        walk = found.walk
        if walk.fault is None:
            walk.fault = guard.store.fault() or _misled(guard, walk, found.spent)
        if walk.fault is None:
            found.keep(guard)
            unchecked = guard.what_was_not_checked(walk)
            notes += unchecked
            if found.since is not None:
                notes.append(found.since.in_words())
        if walk.fault is None and export is not None:
            walk.fault = guard.divergence(export.hashes)
            notes.append(f"The export ends at record {len(export.hashes) - 1}.")
    except DamagedLedgerError as damage:
        walk.fault = damage.fault
    except LedgerError as problem:
        walk.fault = str(problem)
    return walk.outcome(guard.store.place, tuple(notes), macs=not unchecked)


def sound_export(guard: Guard, lines: Iterable[str]) -> Export:
    """An export that is sound, and of this ledger."""
    export = Export.read(lines, guard.check)
    if export.found.fault is not None:
        raise InputError("export", "sound", f"one with a fault: {export.found.fault}")
    if export.found.ledger != guard.identity:
        raise InputError("export", f"of the ledger {guard.identity}", f"one of {export.found.ledger}")
    return export


def _misled(guard: Guard, walk: Walk, added_up: dict[str, Amounts]) -> str | None:
    """Whether looking the totals up leads to something else than walking through all records."""

    def look(snapshot: Snapshot) -> str | None:
        for name, spent in added_up.items():
            state = snapshot.dataset(name)
            # a release since the walk is no fault
            if walk.head is not None and state.sequence <= walk.head.sequence and state.spent != spent:
                return f"looking up what {name} has spent does not find its last record"
        return None

    return guard.read(look)


def verified(guard: Guard, *, everything: bool) -> Verified:
    """Walk through the ledger; what is as it was at the last verification is read, and not added up again."""
    last = guard.read(lambda snapshot: snapshot.head.sequence)
    since = None if everything else _kept(guard)
    digest = hashlib.sha256()
    start: Record | None = None
    if since is not None:
        start = _unchanged(guard, since, digest)
        if start is None:
            since, digest = None, hashlib.sha256()
    walk = Walk(start)
    if since is not None:
        walk.ledger, walk.spends, walk.answers = guard.identity, since.spends, since.answers
        walk.key_ids = dict(since.key_ids)
    try:
        _follow(guard, walk, digest, last)
    except DamagedLedgerError as damage:
        walk.fault = damage.fault
    return Verified(walk=walk, since=since, digest=digest.hexdigest())


def _unchanged(guard: Guard, since: Checkpoint, digest: hashlib._Hash) -> Record | None:
    """The last record that was verified, if everything up to it is as it was then."""
    try:
        start = guard.store.read(lambda reading: reading.record(since.sequence))
        if start is not None and start.hash == since.hash:
            _feed(guard, digest, since.sequence)
            if digest.hexdigest() == since.digest:
                return start
    except DamagedLedgerError:  # the walk will say at which record
        pass
    return None


def _feed(guard: Guard, digest: hashlib._Hash, last: int) -> None:
    first = BEFORE_ALL
    while first <= last:
        begin, end = first, min(last, max(first, 0) + _ROWS)

        def step(reading: Reading) -> None:
            digest.update(_as_bytes(reading.stored(begin, end, answers=True)))  # noqa: B023  # done at once

        guard.store.read(step)
        first = end + 1


def _follow(guard: Guard, walk: Walk, digest: hashlib._Hash, last: int) -> None:
    first = walk.next or BEFORE_ALL

    def step(reading: Reading) -> int:
        walk.look_up_in(Snapshot.opened(guard.store.place, reading))
        end = batch_end(first, last)
        rows, complete = batch(reading.stored(first, end, answers=True))
        digest.update(_as_bytes(rows))
        walk.take(rows, reading.check)
        return end if complete else int(rows[-1][0])

    while first <= last and walk.fault is None:
        first = guard.store.read(step) + 1


def _as_bytes(rows: Iterable[Stored]) -> bytes:
    """All that is stored of these records; it can be read back in one way only, record by record."""
    return b"".join([marshal.dumps(row, 0) for row in rows])


def _kept(guard: Guard) -> Checkpoint | None:
    try:
        content = json.loads(_file(guard).read_bytes())
        key = guard.ring.key(content.pop("key"))
        mac, made = content.pop("mac"), Checkpoint(**content)
        genuine = key is not None and hmac.compare_digest(made.mac(key), mac)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return made if genuine else None


def _file(guard: Guard) -> Path:
    return state_folder() / f"{guard.identity}.verified"
