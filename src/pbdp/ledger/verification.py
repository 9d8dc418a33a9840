"""Checking a log from its first record: every hash, MAC, total, package, key and answer.

The walk folds all records anew, without the cache. What it finds: a record that was changed, removed, moved,
or brought from another ledger, one that does not add up, an answer that was changed or is missing. The
removal of the last records leaves a sound, shorter log: only a witness, or an older export, can tell.

An export is the log as JSON lines, with every answer: enough to check it elsewhere, without the store. The
first line names the ledger, the last one its head, so that an export that was cut short is found.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pbdp.errors import InputError
from pbdp.json_records import canonical
from pbdp.ledger.errors import DamagedLedgerError, LedgerError, NotALedgerError, RolledBackError
from pbdp.ledger.fold import Fold
from pbdp.ledger.keys import Keyring
from pbdp.ledger.log import Log
from pbdp.ledger.record import FORMAT, BrokenRecordError, Record, Row, unpacked_answer
from pbdp.ledger.stores.places import WAIT, store_at
from pbdp.parameters import iterated

PLACE = "the export"
_NAMES = ("sequence", "time", "kind", "payload", "previous", "hash", "key_id", "mac")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verification:
    """The outcome: `fault` is the first one found, in words, or None. The counts are up to the fault.

    `macs` says whether the MAC of every record was checked, for which all keys have to be here.
    """

    place: str
    fault: str | None
    ledger: str | None = None
    records: int = 0
    spends: int = 0
    answers: int = 0
    head: str | None = None
    macs: bool = False
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Verification of {self.place}: {self.fault or f'{self.records:,} sound records'}>"

    @property
    def sound(self) -> bool:
        """Whether no fault was found."""
        return self.fault is None


class Walk:
    """The records so far: `take` them in their order; `fault` says what is wrong with the log.

    Answers that are lost are no fault of the log: `lost` are the numbers of their records.
    """

    def __init__(self, ring: Keyring | None = None) -> None:
        self.fold = Fold(ring)
        self.fault: str | None = None
        self.lost: list[int] = []
        self.hashes: list[str] = []
        self.spends = self.answers = 0
        # of each key the last record under it, and whether a MAC of each was checked
        self.unchecked: dict[str, int] = {}

    def take(self, row: Row) -> Record | None:
        """Go on by this row; None, and a fault, if it is no record that can stand there."""
        if self.fault is not None:
            return None
        try:
            record = Record.read(row)
            self.fold.take(record)
        except BrokenRecordError as found:
            self.fault = f"record {row[0]} {found}"
            return None
        self.hashes.append(record.hash)
        head = self.fold.head
        if head is not None and head.unvouched is not None:
            self.unchecked[record.key_id] = record.sequence
        if record.kind == "spend":
            self.spends += 1
        elif record.kind == "answer":
            self.answers += 1
            if unpacked_answer(record.content, row[8]) is None:
                self.lost.append(record.sequence)
        return record

    def missing_answer(self) -> str | None:
        """The first answer that is lost, unless a recovery gave it up."""
        given_up = self.fold.get("unanswered", ())
        lost = [sequence for sequence in self.lost if sequence not in given_up]
        return f"the answer of record {lost[0]} is missing or was changed" if lost else None

    def outcome(self, place: str, notes: Iterable[str] = ()) -> Verification:
        """What was found."""
        head = self.fold.head
        return Verification(
            place=place,
            fault=self.fault or self.missing_answer(),
            ledger=None if head is None else self.fold.identity,
            records=len(self.hashes),
            spends=self.spends,
            answers=self.answers,
            head=None if head is None else head.hash,
            macs=not self.unchecked,
            notes=(*notes, *self._of_macs()),
        )

    def _of_macs(self) -> Iterator[str]:
        head = self.fold.head
        for name, last in sorted(self.unchecked.items()):
            if head is not None and head.unvouched is not None:
                yield f"MACs were not checked: this machine does not have the key {name}."
            else:
                yield (
                    f"Up to record {last} hashes were checked, which a later MAC covers: this machine does "
                    f"not have the key {name}."
                )


def verified(log: Log, notes: Iterable[str], against: Iterable[str] | None) -> Verification:
    """Walk through a ledger, which must continue the export `against`."""
    export = None if against is None else sound_export(against, log.identity, log.ring)
    walk, said = Walk(log.ring), [*notes]
    try:
        head = log.newest()
        for row in log.rows(head, answers=True):
            walk.take(row)
        if walk.fault is None and walk.hashes[-1] != head.hash:
            walk.fault = f"record {head.sequence} was changed"
        with log.turn:
            walk.fault = walk.fault or log.store.fault() or _misled(log, walk.fold)
        if walk.fault is None and export is not None:
            walk.fault = divergence(walk.hashes, export)
            said.append(f"The export ends at record {len(export) - 1}.")
    except (DamagedLedgerError, RolledBackError) as damage:
        walk.fault = walk.fault or damage.fault
    except LedgerError as problem:
        walk.fault = walk.fault or str(problem)
    return walk.outcome(log.place, said)


def records(log: Log, *, answers: bool = False) -> Iterator[tuple[Record, Row]]:
    """Every record up to now, each checked as it comes, and that they end at the head."""
    walk, head = Walk(log.ring), log.newest()
    for row in log.rows(head, answers=answers):
        record = walk.take(row)
        if record is None or (record.sequence == head.sequence and record.hash != head.hash):
            raise DamagedLedgerError(log.place, walk.fault or f"record {head.sequence} was changed")
        yield record, row


def _misled(log: Log, again: Fold) -> str | None:
    """Whether what this machine keeps of the ledger says something else than all records do."""
    if log.fold.head != again.head or log.fold.spent() == again.spent():
        return None
    log.cache.clear()
    return (
        f"what this machine had worked out of it ({log.cache.file}) was wrong, and is worked out again "
        "now; another program wrote that file"
    )


def verify_ledger(
    url: str | Path, *, wait: float = WAIT, against: Iterable[str] | None = None
) -> Verification:
    """`Ledger.verify`, also for a ledger that cannot be opened: the reason is then the fault."""
    from pbdp.ledger.ledger import Ledger

    place = store_at(url, wait=wait).place
    try:
        with Ledger.open(url, wait=wait) as ledger:
            return ledger.verify(against=against)
    except (DamagedLedgerError, RolledBackError) as found:
        return Verification(place=place, fault=found.fault)
    except (LedgerError, NotALedgerError) as found:
        return Verification(place=place, fault=str(found))


def divergence(hashes: list[str], known: list[str]) -> str | None:
    """What is wrong, if a log with these hashes does not begin with the known ones."""
    shared = min(len(hashes), len(known))
    if hashes[:shared] != known[:shared]:
        at = next(n for n in range(shared) if hashes[n] != known[n])
        return f"it was rewritten: record {at} is not the one in the export"
    if shared < len(known):
        return (
            f"it was taken back to an older state: it ends at record {len(hashes) - 1}, unchanged, but the "
            f"export goes on to record {len(known) - 1}"
        )
    return None


def export_lines(ledger: str, records: Iterable[tuple[Record, Row]]) -> Iterator[str]:
    """One JSON object a line, without line ends."""
    yield canonical({"export": FORMAT, "ledger": ledger})
    head = None
    for record, row in records:
        head = record.hash
        line: dict[str, object] = dict(zip(_NAMES, record, strict=False))
        if record.kind == "answer":
            answer = unpacked_answer(record.content, row[8])
            line["answer"] = None if answer is None else base64.b64encode(answer).decode()
        yield canonical(line)
    yield canonical({"end": head})


def verify_export(lines: Iterable[str]) -> Verification:
    """Check an export as `verify` checks a ledger."""
    return walk_of(lines).outcome(PLACE)


def sound_export(lines: Iterable[str], ledger: str, ring: Keyring | None = None) -> list[str]:
    """The hashes in an export that is sound, and of this ledger."""
    walk = walk_of(lines, ring)
    fault = walk.fault or walk.missing_answer()
    if fault is not None:
        raise InputError("export", "sound", f"one with a fault: {fault}")
    if walk.fold.identity != ledger:
        raise InputError("export", f"of the ledger {ledger}", f"one of {walk.fold.identity}")
    return walk.hashes


def walk_of(lines: Iterable[str], ring: Keyring | None = None) -> Walk:
    """Go through all lines of an export."""
    walk = Walk(ring)
    named: str | None = None
    ended: str | None = None
    for number, line in enumerate(iterated("export", lines, "lines of text")):
        if not isinstance(line, str):
            raise InputError("export", "lines of text", f"something of type {type(line).__name__}")
        if ended is not None:
            walk.fault = walk.fault or "there is more after its last line"
            break
        try:
            content = json.loads(line)
            if number == 0:
                if content["export"] != FORMAT:
                    walk.fault = "it is not one that this pbdp knows"
                    break
                named = content["ledger"]
            elif "end" in content:
                ended = str(content["end"])
            else:
                walk.take(_row(content))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
            walk.fault = walk.fault or f"line {number + 1} cannot be read"
    if walk.fault is None and (ended is None or not walk.hashes or ended != walk.hashes[-1]):
        walk.fault = "it was cut short: the last record is not the head that it names"
    if walk.fault is None and named != walk.fold.identity:
        walk.fault = "it names another ledger than its first record"
    return walk


def _row(content: dict[str, object]) -> Row:
    answer = content.pop("answer", None)
    packed = None if answer is None else zlib.compress(base64.b64decode(str(answer), validate=True), 1)
    row = tuple(content.pop(name) for name in _NAMES)
    if content:
        raise ValueError("more than a record has")
    return (*row, packed)
