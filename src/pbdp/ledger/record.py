"""One record of a ledger: bound to all before it by its hash, and to a holder of the ledger's key by its MAC.

    hash = SHA-256 of FORMAT, sequence, time, kind, key id, payload, previous, each as `length:text,`
    mac = HMAC-SHA-256 of the hash, under the key of that id (`keys`)

These can be read back in one way only, so two different records never have the same bytes under the hash.
`previous` is the hash of the record before, and the first record (genesis) holds a random ledger id: as long
as SHA-256 has no known collisions, a record fits in one place of one ledger only. Each record names the key
it is under; a record of kind `key` says which one those after it are under.

Limits, costs and what is spent are named whole-number amounts: exact integers, no floats, no tolerance.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from types import UnionType
from typing import Any, Literal, NamedTuple

from pbdp.errors import InputError, shown
from pbdp.json_records import canonical
from pbdp.ledger.keys import KEY_ID, Key

FORMAT = "pbdp ledger 1"
NO_PREVIOUS = "0" * 64
# What each kind of record says, and of which type it is.
FIELDS: dict[str, dict[str, type | UnionType]] = {
    "genesis": {"ledger": str, "format": str},
    "dataset": {
        "dataset": str,
        "limits": dict,
        "rule": dict,
        "neighbors": str,
        "note": str | None,
        "spent": dict,
    },
    # `plans` are fingerprint, label and releases of each package; `values` is 0 where they are paid for in
    # advance; `machine` is the one that may draw the answer
    "spend": {
        "dataset": str,
        "plans": list,
        "query": str | None,
        "key": str,
        "machine": str,
        "neighbors": str,
        "values": int,
        "disjoint": bool,
        "units_left": int,
        "cost": dict,
        "spent": dict,
    },
    "answer": {"spend": int, "key": str, "bytes": int, "sha256": str},
    # `witness` is the number and hash that the machine had seen, `dropped` how many rows could not be kept
    "recovery": {
        "gap": str,
        "witness": list | None,
        "dropped": int,
        "answers": list,
        "charged": dict,
        "spent": dict,
        "lost": list,
    },
    # `key` is the one from here on; `export` is the head of the export that a replacement was checked against
    "key": {"key": str, "before": str, "change": str, "export": dict | None},
}

Payload = dict[str, Any]
# A record as a store has it: its eight values and the packed answer, of any type.
Row = tuple[Any, ...]
Amounts = dict[str, int]
Package = tuple[str, str, int]
Sign = Literal[1, -1]
_DECODER = json.JSONDecoder()

# Far above any use, and small enough for every JSON reader that takes whole numbers of any length.
LARGEST = 2**4096
LONGEST_NAME, LONGEST_KEY, LONGEST_TEXT = 100, 200, 100_000
_PLAN = re.compile(r"[0-9a-f]{16,128}")
UNWRITTEN = "has a payload that no ledger writes"


class BrokenRecordError(Exception):
    """A record that cannot be true; the message continues "record n ..."."""


def hash_of(sequence: int, *texts: str) -> str:
    """SHA-256 over everything in a record; the texts are time, kind, key id, payload and previous."""
    time, kind, key_id, payload, previous = texts
    number = str(sequence)
    content = (
        f"{len(FORMAT)}:{FORMAT},{len(number)}:{number},{len(time)}:{time},{len(kind)}:{kind},"
        f"{len(key_id)}:{key_id},{len(payload)}:{payload},{len(previous)}:{previous},"
    )
    # a damaged store may hold texts that UTF-8 cannot
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def utc_now() -> str:
    """This moment in UTC, to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Record(NamedTuple):
    """A record; one that was `read` has a hash that fits, and says what its kind says."""

    sequence: int
    time: str
    kind: str
    payload: str
    previous: str
    hash: str
    key_id: str
    mac: str
    content: Payload

    @classmethod
    def read(cls, row: Row) -> Record:
        """The record in a stored row, whatever is in the row."""
        sequence, time, kind, payload, previous, own, key_id, mac = row[:8]
        if type(sequence) is not int or {*map(type, row[1:8])} != {str}:
            raise BrokenRecordError("holds a value of the wrong type")
        if kind not in FIELDS:
            raise BrokenRecordError("is of an unknown kind")
        if hash_of(sequence, time, kind, key_id, payload, previous) != own:
            raise BrokenRecordError("does not match its hash")
        # files are named after keys
        if not KEY_ID.fullmatch(key_id):
            raise BrokenRecordError("has a key that no ledger gives")
        return cls(sequence, time, kind, payload, previous, own, key_id, mac, content_of(kind, payload))

    @classmethod
    def after(cls, sequence: int, previous: str, kind: str, content: Payload, key: Key) -> Record:
        """The record after the one with this number and hash, with the time of now."""
        time, payload = utc_now(), canonical(content)
        own = hash_of(sequence + 1, time, kind, key.id, payload, previous)
        return cls(sequence + 1, time, kind, payload, previous, own, key.id, key.mac(own), content)

    @property
    def next_key_id(self) -> str:
        """The key that the next record should be under."""
        return str(self.content["key"]) if self.kind == "key" else self.key_id

    def row(self, answer: bytes | None = None) -> Row:
        """As it is stored, with the compressed answer that belongs to it."""
        return (*self[:8], answer)


def content_of(kind: str, payload: str) -> Payload:
    """The payload as a JSON object, with everything that a record of this kind says."""
    try:
        content, end = _DECODER.raw_decode(payload)
    except (ValueError, RecursionError):
        content, end = None, 0
    said = FIELDS[kind]
    if (
        type(content) is not dict
        or end != len(payload)
        or content.keys() != said.keys()
        or not all(map(isinstance, map(content.get, said), said.values()))
    ):
        raise BrokenRecordError(UNWRITTEN)
    return content


def packed_answer(answer: bytes, spend: int, key: str) -> tuple[Payload, bytes]:
    """The payload of an answer's record, and the answer as it is stored."""
    content = {"spend": spend, "key": key, "bytes": len(answer)}
    return content | {"sha256": hashlib.sha256(answer).hexdigest()}, zlib.compress(answer)


def unpacked_answer(content: Payload, packed: object) -> bytes | None:
    """The answer, or None if it is not the one that the payload describes."""
    if not isinstance(packed, bytes):
        return None
    try:
        # never more than was announced, so that a forged blob cannot fill the memory
        answer = zlib.decompressobj().decompress(packed, content["bytes"] + 1)
    except zlib.error:
        return None
    sound = len(answer) == content["bytes"] and hashlib.sha256(answer).hexdigest() == content["sha256"]
    return answer if sound else None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Entry:
    """One change of one dataset's budget, for people: what its record says under the names of these fields.

    `kind` is dataset (the budget was given), spend, purchase (of releases to come) or recovery; `cost` is
    what it added to `spent`, zero where the releases came from a package that was paid for before.
    """

    sequence: int
    time: str
    kind: str
    dataset: str
    cost: Amounts
    spent: Amounts
    plan: str | None = None
    plan_label: str | None = None
    query: str | None = None
    key: str | None = None
    values: int = 0
    units_left: int = 0
    note: str | None = None

    def __repr__(self) -> str:
        said = " ".join(filter(None, (self.plan_label, self.key and f"key {self.key!r}")))
        return f"<Entry {self.sequence}: {self.kind} of {self.dataset}{said and f', {said}'}>"


def entries_of(record: Record) -> list[Entry]:
    """What this record changed: nothing, one dataset, or in a recovery all of them."""
    content, kind = record.content, record.kind
    told = {one.name: content[one.name] for one in fields(Entry) if one.name in content}
    changes: list[Payload] = []
    if kind == "dataset":
        changes = [told | {"cost": content["spent"]}]
    elif kind == "spend":
        kind = "spend" if content["values"] else "purchase"
        for number, (plan, label, releases) in enumerate(content["plans"]):
            one = told | {"plan": plan, "plan_label": label}
            if not content["values"]:
                one["note"] = f"{releases:,} release{'' if releases == 1 else 's'} reserved"
            # the first one has the whole cost
            changes.append(one | ({"cost": none_of(content["cost"])} if number else {}))
    elif kind == "recovery":
        note = f"the gap was counted as {content['gap']}"
        for name, charged in content["charged"].items():
            spent = content["spent"][name]
            changes.append({"dataset": name, "cost": charged, "spent": spent, "note": note})
    return [Entry(sequence=record.sequence, time=record.time, kind=kind, **change) for change in changes]


def check_key(key: object) -> None:
    """Refuse what is no request key."""
    if not (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY and key.isprintable()):
        raise InputError("key", f"1 to {LONGEST_KEY} printable characters", shown(key))


def check_asked(told: Payload) -> None:
    """Refuse what no request asks; the records of a ledger are checked by this, too."""
    plans, values, query = told["plans"], told["values"], told["query"]
    if type(values) is not int or not 0 <= values < 2**63:
        raise InputError("values", "a whole number of at least 0", shown(values))
    if not plans or (values and len(plans) > 1) or len({plan for plan, _, _ in plans}) < len(plans):
        raise InputError("plans", "one, or several in advance, each named once", f"{len(plans)}")
    for plan, label, releases in plans:
        if not isinstance(plan, str) or not _PLAN.fullmatch(plan):
            raise InputError("plan", "a fingerprint of 16 to 128 hexadecimal digits", shown(plan))
        checked_name("plan_label", label)
        if type(releases) is not int or not 1 <= releases < 2**63:
            raise InputError("package", "a whole number of at least 1", shown(releases))
    check_text("query", query)


def check_text(name: str, text: object) -> None:
    """Refuse what is no text for people; None is nothing said."""
    if text is None:
        return
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise InputError(name, f"a text of at most {LONGEST_TEXT} characters", shown(text))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(name, "a text that UTF-8 can hold", "lone surrogates") from None


def checked_name(what: str, name: object) -> str:
    """A name for people: printable, not empty, no spaces at its ends."""
    rule = f"1 to {LONGEST_NAME} printable characters without spaces at the ends"
    if not isinstance(name, str):
        raise InputError(what, rule, type(name).__name__)
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()):
        raise InputError(what, rule, shown(name[: LONGEST_NAME + 1]))
    return name


def checked_amounts(what: str, amounts: object) -> Amounts:
    """A copy, if every amount is a whole number from 0 to `LARGEST` and has a proper name."""
    rule = "whole numbers of at least 0, by name"
    if not isinstance(amounts, Mapping) or not amounts:
        raise InputError(what, rule, "nothing" if amounts == {} else type(amounts).__name__)
    for name, amount in amounts.items():
        checked_name(f"a name in {what}", name)
        if type(amount) is not int:
            remedy = "Round up to a whole number of the unit first."
            raise InputError(f"{what}[{name!r}]", "a whole number (int)", type(amount).__name__, remedy)
        if not 0 <= amount <= LARGEST:
            value = amount if amount < 0 and amount >= -LARGEST else "a larger one"
            raise InputError(f"{what}[{name!r}]", "a whole number from 0 to 2^4096", value)
    return {str(name): int(amounts[name]) for name in sorted(amounts)}


def total(first: Amounts, second: Amounts, sign: Sign = 1) -> Amounts:
    """`first + sign * second` for every name; both have the same names."""
    return {name: amount + sign * second[name] for name, amount in first.items()}


def none_of(amounts: Amounts) -> Amounts:
    """Zero for every name."""
    return dict.fromkeys(amounts, 0)
