"""Checking a whole ledger: the chain of hashes, and everything that the records say of one another.

The walk goes through the records once, in order, and computes every running total, package and key anew. What
it finds: a record that was changed (its hash no longer fits), removed or put in another place (the next one
no longer continues it), moved here from another ledger, or written by something other than a ledger (its
totals, limits, packages or answers do not add up). The removal of the last records leaves a sound, shorter
chain: only a witness, or an older export, can tell.

An export is the ledger as JSON lines, with every record and answer: enough to check it elsewhere, without the
store. Its first line names the ledger, the last one its head, so that one that was cut short is found.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pbdp.errors import PbdpError
from pbdp.ledger.book import Book, Package, unpacked_answer
from pbdp.ledger.record import (
    FORMAT,
    NO_PREVIOUS,
    Amounts,
    BrokenRecordError,
    Columns,
    Payload,
    Record,
    first_above,
    total,
)
from pbdp.ledger.request import Request
from pbdp.ledger.stores.interface import Check, Row
from pbdp.spelling import canonical

PLACE = "the export"


@dataclass(frozen=True, slots=True, kw_only=True)
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

    @property
    def sound(self) -> bool:
        """Whether no fault was found."""
        return self.fault is None


class _FaultError(Exception):
    """A record that cannot be true; the message continues "record n ..."."""


@dataclass(slots=True, kw_only=True)
class _Budget:
    limits: Amounts
    neighbors: str
    spent: Amounts
    releases: int = 0


def _hold(condition: bool, fault: str) -> None:
    if not condition:
        raise _FaultError(fault)


class Walk:
    """The records so far: `take` one after the other; it raises nothing, `fault` says what is wrong.

    A walk that goes on `after` a record looks up what it needs of those before in `before`, the book as it
    was then. That a request key was not used before is then left to the store, whose index has each key once.
    Without `with_answers` the stored answers are not looked at.
    """

    def __init__(self, after: Record | None = None, *, with_answers: bool = True) -> None:
        self.fault: str | None = None
        self.ledger: str | None = None
        self.head = self._start = after
        # of each key the last record under it
        self.key_ids: dict[str, int] = {}
        self.before: Book | None = None
        self.spends = self.answers = 0
        self._with_answers = with_answers
        self._budgets: dict[str, _Budget] = {}
        self._packages: dict[tuple[str, str], Package] = {}
        self._keys: set[str] = set()
        # every spend since the last recovery, and whether it is waiting for its answer
        self._waiting: dict[int, bool] = {}
        # whether a recovery has come since `before`
        self._closed = False

    def take(self, row: Row) -> None:
        """Check the next record."""
        if self.fault is not None:
            return
        record = row.record
        try:
            self._chain(record)
            _hold(row.columns == record.columns, "is filed under a wrong name")
            _hold(
                canonical(record.content) == record.payload, "is not written in the one way that JSON is here"
            )
            self._meaning(record, row.packed)
        except (_FaultError, BrokenRecordError) as found:
            self.fault = f"record {record.sequence} {found}"
        except (KeyError, TypeError, ValueError, AttributeError, PbdpError):
            self.fault = f"record {record.sequence} has a payload that no ledger writes"
        else:
            self.head = record
            self.key_ids[record.key_id] = record.sequence

    @property
    def next(self) -> int:
        """The number of the record that should come next."""
        return 0 if self.head is None else self.head.sequence + 1

    def look_up_in(self, book: Book) -> None:
        """Where to look things up in the transaction that has just begun."""
        self.before = None if self._start is None else book.as_of(self._start)

    def take_all(self, rows: Iterable[Row]) -> None:
        """Check them all."""
        for row in rows:
            self.take(row)

    def spent(self) -> dict[str, Amounts]:
        """What every dataset has spent."""
        return {name: budget.spent for name, budget in self._budgets.items()}

    def outcome(self, place: str, notes: tuple[str, ...] = (), *, macs: bool = False) -> Verification:
        """What was found."""
        return Verification(
            place=place,
            fault=self.fault,
            ledger=self.ledger,
            records=0 if self.head is None else self.head.sequence + 1,
            spends=self.spends,
            answers=self.answers,
            head=None if self.head is None else self.head.hash,
            macs=macs,
            notes=notes,
        )

    def _chain(self, record: Record) -> None:
        expected = self.next
        if record.sequence != expected:
            raise _FaultError(f"follows where record {expected} should be: records are missing")
        previous = NO_PREVIOUS if self.head is None else self.head.hash
        _hold(record.previous == previous, "does not continue the record before it")
        _hold((record.kind == "genesis") == (expected == 0), "is of a kind that cannot stand there")
        if self.head is not None and record.key_id != self.head.next_key_id:
            replaced = record.kind == "key" and record.content["change"] == "replaced"
            _hold(replaced, "is under another key than those before it")

    def _meaning(self, record: Record, packed: bytes | None) -> None:
        content = record.content
        _hold(packed is None or record.kind == "answer", "has an answer that does not belong to it")
        match record.kind:
            case "genesis":
                self.ledger = str(content["ledger"])
            case "dataset":
                self._dataset(content)
            case "spend":
                self._spend(record.sequence, content)
            case "purchase":
                self._purchase(content)
            case "answer":
                self._answer(content, packed)
            case "key":
                self._key(record.key_id, content)
            case _:
                self._recovery(content)

    def _dataset(self, content: Payload) -> None:
        _hold(self._budget(content["dataset"]) is None, "gives a second budget to a dataset")
        _hold(content["releases"] == 0 and not any(content["spent"].values()), "starts with something spent")
        _hold(content["spent"].keys() == content["limits"].keys(), "starts with the wrong amounts")
        self._budgets[content["dataset"]] = _Budget(
            limits=content["limits"], neighbors=content["neighbors"], spent=content["spent"]
        )

    def _spend(self, sequence: int, content: Payload) -> None:
        budget = self._budget(content["dataset"])
        if budget is None:
            raise _FaultError("spends on a dataset that does not exist")
        _hold(content["key"] not in self._keys, "uses a request key a second time")
        _hold(content["neighbors"] == budget.neighbors, "mixes neighboring relations")
        request = Request(
            dataset=content["dataset"],
            plan=content["plan"],
            plan_label=content["plan_label"],
            cost=content["cost"],
            package=content["package"],
            values=content["values"],
            neighbors=content["neighbors"],
            query=content["query"],
            disjoint=content["disjoint"],
        )
        _hold(content["units"] == request.units, "counts its releases wrongly")
        _hold(content["fingerprint"] == request.fingerprint(content["key"]), "does not match its fingerprint")
        self._units(request, content)
        budget.releases += 1
        self._paid(budget, content)
        self._keys.add(content["key"])
        self._waiting[sequence] = True
        self.spends += 1

    def _paid(self, budget: _Budget, content: Payload) -> None:
        _hold(content["cost"].keys() == budget.limits.keys(), "is paid in the wrong amounts")
        _hold(all(amount >= 0 for amount in content["cost"].values()), "gives back what was spent")
        budget.spent = total(budget.spent, content["cost"])
        _hold(content["spent"] == budget.spent, "carries a wrong total of what is spent")
        _hold(content["releases"] == budget.releases, "carries a wrong number of releases")
        _hold(first_above(budget.spent, budget.limits) is None, "spends more than the limit")

    def _purchase(self, content: Payload) -> None:
        budget = self._budget(content["dataset"])
        if budget is None:
            raise _FaultError("spends on a dataset that does not exist")
        _hold(content["key"] not in self._keys, "uses a request key a second time")
        _hold(content["neighbors"] == budget.neighbors, "mixes neighboring relations")
        plan = (content["dataset"], content["plan"])
        before = self._package(*plan)
        after = Package(bought=before.bought + content["package"], used=before.used)
        _hold(content["package"] > 0, "buys nothing")
        _hold((content["bought"], content["used"]) == (after.bought, after.used), "carries a wrong number")
        self._packages[plan] = after
        self._paid(budget, content)
        if content["key"] is not None:
            self._keys.add(content["key"])
        else:
            _hold(not any(content["cost"].values()), "pays without a key")
            first = None if self.head is None or self.head.kind != "purchase" else self.head.content
            _hold(
                first is not None and first["fingerprint"] == content["fingerprint"],
                "belongs to no purchase that was paid for",
            )

    def _units(self, request: Request, content: Payload) -> None:
        plan = (request.dataset, request.plan)
        before = self._package(*plan)
        used = before.used + request.units
        if used <= before.bought:
            bought = before.bought
            _hold(not any(content["cost"].values()), "pays for releases that were paid for before")
        else:
            bought = before.bought + request.package
        _hold(
            (content["bought"], content["used"]) == (bought, used), "carries a wrong number of paid releases"
        )
        self._packages[plan] = Package(bought=bought, used=used)

    def _answer(self, content: Payload, packed: bytes | None) -> None:
        _hold(self._is_waiting(content["spend"]), "answers what is not waiting for an answer")
        self._waiting[content["spend"]] = False
        self.answers += 1
        if self._with_answers:
            if packed is None:
                raise _FaultError("has lost its answer")
            _hold(unpacked_answer(content, packed) is not None, "has an answer that was changed")

    def _recovery(self, content: Payload) -> None:
        _hold(content["gap"] in ("known", "all"), "counts the gap in an unknown way")
        if self.before is not None:
            for name in self.before.reading.datasets():
                self._budget(name)
        _hold(content["spent"].keys() == self._budgets.keys(), "does not recover every dataset")
        for name, budget in self._budgets.items():
            charged = content["charged"][name]
            _hold(all(amount >= 0 for amount in charged.values()), "gives back what was spent")
            budget.spent = total(budget.spent, charged)
            _hold(content["spent"][name] == budget.spent, "carries a wrong total of what is spent")
            full = all(budget.spent[amount] >= limit for amount, limit in budget.limits.items())
            _hold(content["gap"] == "known" or full, "does not count everything as spent")
        # what was open before a recovery stays closed for ever
        self._packages.clear()
        self._waiting.clear()
        self._closed = True

    def _key(self, under: str, content: Payload) -> None:
        before = None if self.head is None else self.head.next_key_id
        _hold(content["change"] in ("rotated", "replaced"), "changes the key in an unknown way")
        _hold(content["before"] == before != content["key"], "names a wrong key")
        rotated = content["change"] == "rotated"
        _hold(under == (before if rotated else content["key"]), "is under another key than those before it")
        _hold(rotated == (content["export"] is None), "replaces a key without an export")

    def _budget(self, name: str) -> _Budget | None:
        """The dataset's budget so far."""
        if name not in self._budgets and self.before is not None and self.before.reading.dataset_made(name):
            state = self.before.dataset(name)
            self._budgets[name] = _Budget(
                limits=state.limits, neighbors=state.neighbors, spent=state.spent, releases=state.releases
            )
        return self._budgets.get(name)

    def _package(self, dataset: str, plan: str) -> Package:
        """The plan's releases so far."""
        found = self._packages.get((dataset, plan))
        if found is None and self.before is not None and not self._closed:
            found = self.before.package(dataset, plan)
        return found or Package()

    def _is_waiting(self, spend: int) -> bool:
        """Whether this spend may be answered."""
        if spend in self._waiting or self.before is None or self._closed:
            return self._waiting.get(spend, False)
        paid = self.before.reading.record(spend)
        if paid is None or paid.kind != "spend" or self.before.is_void(spend):
            return False
        return self.before.reading.answer_to(spend) is None


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
                if check is not None:
                    check(row.record)
                walk.take(row)
                hashes.append(row.record.hash)
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


def _row(content: dict[str, object]) -> Row:
    answer = content.pop("answer", None)
    record = Record(**content)  # type: ignore[arg-type]  # a record checks its own values
    packed = None if answer is None else zlib.compress(base64.b64decode(str(answer), validate=True), 1)
    try:
        columns = record.columns
    except BrokenRecordError:
        columns = Columns()  # the walk will say what is wrong with it
    return Row(record=record, columns=columns, packed=packed)
