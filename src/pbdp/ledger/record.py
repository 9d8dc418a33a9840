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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from types import UnionType
from typing import Any, Literal, NamedTuple

from pbdp.errors import InputError
from pbdp.json_records import canonical
from pbdp.ledger.keys import KEY_ID, Key

FORMAT = "pbdp ledger 2"
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
        "releases": int,
    },
    "spend": {
        "dataset": str,
        "plan": str,
        "plan_label": str,
        "query": str | None,
        "key": str,
        "fingerprint": str,
        "neighbors": str,
        "values": int,
        "disjoint": bool,
        "units": int,
        "package": int,
        "bought": int,
        "used": int,
        "cost": dict,
        "spent": dict,
        "releases": int,
    },
    # packages of several plans that are paid for together: a record each, the first with the key and the cost
    "purchase": {
        "dataset": str,
        "plan": str,
        "plan_label": str,
        "key": str | None,
        "fingerprint": str,
        "neighbors": str,
        "package": int,
        "bought": int,
        "used": int,
        "cost": dict,
        "spent": dict,
        "releases": int,
    },
    "answer": {"spend": int, "bytes": int, "sha256": str},
    "recovery": {
        "gap": str,
        "base": int | None,
        "witness": dict,
        "charged": dict,
        "spent": dict,
        "lost": list,
    },
    # `key` is the one from here on; `export` is the head of the export that a replacement was checked against
    "key": {"key": str, "before": str, "change": str, "export": dict | None},
}
# Fields that were added later: a record without one is of before, or of a payment that says nothing there.
LATER: dict[str, dict[str, type | UnionType]] = {"spend": {}, "purchase": {}}

Payload = dict[str, Any]
Amounts = dict[str, int]
Sign = Literal[1, -1]
_DECODER = json.JSONDecoder()

# Far above any use, and small enough for every JSON reader that takes whole numbers of any length.
LARGEST = 2**4096
LONGEST_NAME = 100


class BrokenRecordError(Exception):
    """A stored record contradicts itself; the store turns this into an error that names its place."""


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


class Columns(NamedTuple):
    """What the store looks records up by. All of it follows from the payload, and is compared with it."""

    dataset: str | None = None
    plan: str | None = None
    key: str | None = None
    spend: int | None = None


def check_stored(values: Sequence[Any]) -> None:
    """Refuse what cannot be the eight values of a record, or does not match its hash."""
    sequence, time, kind, payload, previous, own, key_id, _ = values
    if type(sequence) is not int or {*map(type, values[1:])} != {str}:
        raise BrokenRecordError("holds a value of the wrong type")
    if kind not in FIELDS:
        raise BrokenRecordError("is of an unknown kind")
    if hash_of(sequence, time, kind, key_id, payload, previous) != own:
        raise BrokenRecordError("does not match its hash")
    # the store would look it up before the first one, and files are named after keys
    if sequence < 0 or not KEY_ID.fullmatch(key_id):
        raise BrokenRecordError("has a number or a key that no ledger gives")


def content_of(kind: str, payload: str) -> Payload:
    """The payload as a JSON object, with everything that a record of this kind says."""
    try:
        content, end = _DECODER.raw_decode(payload)
    except (ValueError, RecursionError):
        content, end = None, 0
    said = FIELDS[kind]
    if type(content) is dict and len(content) > len(said):
        said = said | {name: held for name, held in LATER.get(kind, {}).items() if name in content}
    if (
        type(content) is not dict
        or end != len(payload)
        or content.keys() != said.keys()
        or not all(map(isinstance, map(content.get, said), said.values()))
    ):
        raise BrokenRecordError("has a payload that no ledger writes")
    return content


def columns_of(kind: str, content: Payload) -> Columns:
    """What a record is looked up by."""
    if kind == "answer":
        return Columns(None, None, None, content["spend"])
    if kind in ("spend", "purchase"):
        return Columns(content["dataset"], content["plan"], content["key"])
    return Columns(content["dataset"]) if kind == "dataset" else Columns()


@dataclass(frozen=True)  # no slots: the payload is parsed once, when it is first asked for
class Record:
    """A record whose hash has been checked: it cannot be made with a wrong one."""

    sequence: int
    time: str
    kind: str
    payload: str
    previous: str
    hash: str
    key_id: str
    mac: str

    def __post_init__(self) -> None:
        check_stored(self._values)

    @classmethod
    def after(cls, head: Record | None, kind: str, content: Payload, key: Key) -> Record:
        """The next record, with the time of now."""
        sequence = 0 if head is None else head.sequence + 1
        previous = NO_PREVIOUS if head is None else head.hash
        time, payload = utc_now(), canonical(content)
        own = hash_of(sequence, time, kind, key.id, payload, previous)
        return cls(
            sequence=sequence,
            time=time,
            kind=kind,
            payload=payload,
            previous=previous,
            hash=own,
            key_id=key.id,
            mac=key.mac(own),
        )

    @property
    def stored(self) -> tuple[Any, ...]:
        """The values and columns of its row, without an answer."""
        try:
            columns = self.columns
        except BrokenRecordError:
            columns = Columns()  # whoever looks into it will say what is wrong with it
        return (*self._values, *columns, None)

    @property
    def _values(self) -> tuple[Any, ...]:
        values = (self.sequence, self.time, self.kind, self.payload)
        return (*values, self.previous, self.hash, self.key_id, self.mac)

    @property
    def next_key_id(self) -> str:
        """The key that the next record should be under."""
        return str(self.content["key"]) if self.kind == "key" else self.key_id

    @cached_property
    def content(self) -> Payload:
        """The payload as a JSON object, with everything that a record of this kind says."""
        return content_of(self.kind, self.payload)

    @property
    def columns(self) -> Columns:
        """What this record is looked up by."""
        return columns_of(self.kind, self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One change of one dataset's budget, for people: what its record says under the names of these fields.

    `kind` is dataset (the budget was given), spend, purchase (of releases to come) or recovery; `cost` is
    what it added to `spent`, zero where the releases came from a package that was paid for before. `units`
    are the plan's releases it used.
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
    units: int = 0
    units_left: int = 0
    note: str | None = None


def entries_of(record: Record) -> list[Entry]:
    """What this record changed: nothing, one dataset, or in a recovery all of them."""
    content = record.content
    told = {one.name: content[one.name] for one in fields(Entry) if one.name in content}
    match record.kind:
        case "dataset":
            changes = [told | {"cost": content["spent"]}]
        case "spend":
            changes = [told | {"units_left": content["bought"] - content["used"]}]
        case "purchase":
            left = content["bought"] - content["used"]
            changes = [told | {"units_left": left, "note": f"{content['package']:,} releases reserved"}]
        case "recovery":
            note = f"the gap was counted as {content['gap']}"
            changes = [
                {"dataset": name, "cost": charged, "spent": content["spent"][name], "note": note}
                for name, charged in content["charged"].items()
            ]
        case _:
            changes = []
    return [
        Entry(sequence=record.sequence, time=record.time, kind=record.kind, **change) for change in changes
    ]


def checked_name(what: str, name: object) -> str:
    """A name for people: printable, not empty, no spaces at its ends."""
    rule = f"1 to {LONGEST_NAME} printable characters without spaces at the ends"
    if not isinstance(name, str):
        raise InputError(what, rule, type(name).__name__)
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()):
        raise InputError(what, rule, ascii(name[: LONGEST_NAME + 1]))
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


def first_above(amounts: Amounts, limits: Amounts) -> str | None:
    """The first name (in order of the alphabet) whose amount is above its limit."""
    return next((name for name in sorted(amounts) if amounts[name] > limits[name]), None)


def none_of(amounts: Amounts) -> Amounts:
    """Zero for every name."""
    return dict.fromkeys(amounts, 0)
