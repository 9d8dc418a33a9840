"""The ledger as JSON lines, with every record and answer: enough to check it elsewhere, without the store.

The first line names the ledger, the last one its head, so that an export that was cut short is found.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pbdp.json_records import canonical
from pbdp.ledger.record import FORMAT, BrokenRecordError, Record
from pbdp.ledger.snapshot import unpacked_answer
from pbdp.ledger.stores.interface import Check, Row, Stored
from pbdp.ledger.verification import Verification, Walk

PLACE = "the export"


def export_lines(ledger: str, rows: Iterable[Row]) -> Iterator[str]:
    """One JSON object a line, without line ends."""
    yield canonical({"export": FORMAT, "ledger": ledger})
    head = None
    for row in rows:
        head = record = row.record
        line: dict[str, object] = {
            "sequence": record.sequence,
            "time": record.time,
            "kind": record.kind,
            "payload": record.payload,
            "previous": record.previous,
            "hash": record.hash,
            "key_id": record.key_id,
            "mac": record.mac,
        }
        if row.packed is not None:
            answer = unpacked_answer(record.content, row.packed)
            line["answer"] = None if answer is None else base64.b64encode(answer).decode()
        yield canonical(line)
    yield canonical({"end": None if head is None else head.hash})


def verify_export(lines: Iterable[str], check: Check | None = None) -> Verification:
    """Check an export as `verify` checks a ledger; `check` may look at MACs too."""
    return Export.read(lines, check).found


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What was found in an export, and the hash of every record, in order."""

    found: Verification
    hashes: list[str]

    @classmethod
    def read(cls, lines: Iterable[str], check: Check | None = None) -> Export:
        """Go through all lines."""
        hashes: list[str] = []
        return cls(found=_found_in(lines, check, hashes), hashes=hashes)


def _found_in(lines: Iterable[str], check: Check | None, hashes: list[str]) -> Verification:
    walk = Walk()
    named: str | None = None
    ended: str | None = None
    for number, line in enumerate(lines):
        if ended is not None:
            return Verification(place=PLACE, fault="there is more after its last line")
        try:
            content = json.loads(line)
            if not isinstance(content, dict):
                raise ValueError(line)  # like all else that is no line of an export
            if number == 0:
                if content["export"] != FORMAT:
                    return Verification(place=PLACE, fault="it is not one that this pbdp knows")
                named = content["ledger"]
            elif "end" in content:
                ended = str(content["end"])
            else:
                row = _row(content)
                walk.take([row], check)
                hashes.append(row[5])
        except BrokenRecordError as broken:
            walk.fault = walk.fault or f"line {number + 1} {broken}"
        except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
            walk.fault = walk.fault or f"line {number + 1} cannot be read"
    head = None if walk.head is None else walk.head.hash
    if walk.fault is None and (ended is None or ended != head):
        walk.fault = "it was cut short: the last record is not the head that it names"
    if walk.fault is None and named != walk.ledger:
        walk.fault = "it names another ledger than its first record"
    return walk.outcome(PLACE)


def _row(content: dict[str, object]) -> Stored:
    answer = content.pop("answer", None)
    record = Record(**content)  # type: ignore[arg-type]  # a record checks its own values
    packed = None if answer is None else zlib.compress(base64.b64decode(str(answer), validate=True), 1)
    return (*record.stored[:12], packed)
