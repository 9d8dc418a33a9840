"""A ledger as JSON lines, with every record and answer: enough to audit it elsewhere, without the store.

The first line names the ledger, the last one its head, so that a dump that was cut short is found.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Iterator

from pbdp.canonical import canonical
from pbdp.ledger.book import unpacked_answer
from pbdp.ledger.record import FORMAT, BrokenRecordError, Columns, Record
from pbdp.ledger.stores.interface import Row
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
        }
        if row.packed is not None:
            answer = unpacked_answer(record.content, row.packed)
            line["answer"] = None if answer is None else base64.b64encode(answer).decode()
        yield canonical(line)
    yield canonical({"end": None if head is None else head.hash})


def verify_export(lines: Iterable[str]) -> Verification:
    """Check a dump as `verify` checks a ledger."""
    walk = Walk()
    named: str | None = None
    ended: str | None = None
    for number, line in enumerate(lines):
        if ended is not None:
            return Verification(place=PLACE, fault="there is more after its last line")
        try:
            content = json.loads(line)
            if number == 0:
                if content["export"] != FORMAT:
                    return Verification(place=PLACE, fault="it is not one that this pbdp knows")
                named = content["ledger"]
            elif "end" in content:
                ended = str(content["end"])
            else:
                walk.take(_row(content))
        except BrokenRecordError as broken:
            walk.fault = walk.fault or f"line {number + 1} {broken}"
        except (ValueError, KeyError, TypeError, binascii.Error):
            walk.fault = walk.fault or f"line {number + 1} cannot be read"
    head = None if walk.head is None else walk.head.hash
    if walk.fault is None and (ended is None or ended != head):
        walk.fault = "it was cut short: the last record is not the head that it names"
    if walk.fault is None and named != walk.ledger:
        walk.fault = "it names another ledger than its first record"
    return walk.outcome(PLACE)


def _row(content: dict[str, object]) -> Row:
    answer = content.pop("answer", None)
    record = Record(**content)  # type: ignore[arg-type]  # a record checks its own values
    packed = None if answer is None else zlib.compress(base64.b64decode(str(answer), validate=True), 1)
    try:
        columns = record.columns
    except BrokenRecordError:
        columns = Columns()  # the walk will say what is wrong with it
    return Row(record=record, columns=columns, packed=packed)
