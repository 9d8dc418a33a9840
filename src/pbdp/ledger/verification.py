"""Checking a whole ledger: the chain of hashes, and everything that the records say of one another.

The walk goes through the records once, in order, and computes every running total, package and key anew. What
it finds: a record that was changed (its hash no longer fits), removed or put in another place (the next one
no longer continues it), moved here from another ledger, or written by something other than a ledger (its
totals, limits, packages or answers do not add up). The removal of the last records leaves a sound, shorter
chain: only a witness, or an older export, can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pbdp.errors import InputError
from pbdp.json_records import canonical
from pbdp.ledger.record import (
    NO_PREVIOUS,
    Amounts,
    BrokenRecordError,
    Payload,
    Record,
    check_stored,
    checked_amounts,
    checked_name,
    columns_of,
    content_of,
    total,
)
from pbdp.ledger.request import check_asked, check_texts, check_units, fingerprint_of
from pbdp.ledger.snapshot import Snapshot, unpacked_answer
from pbdp.ledger.stores.interface import Check, Stored
from pbdp.mechanism.neighbors import Neighbors

# Half of all records are of this form, which is the one way to write them.
_ANSWER = re.compile(r'\{"bytes":(0|[1-9][0-9]*),"sha256":"([0-9a-f]{64})","spend":(0|[1-9][0-9]*)\}')


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


def _written_otherwise(payloads: dict[int, str], contents: list[Payload]) -> int | None:
    """The number of the first payload that is not written in the one way.

    All are compared at once, which takes half the time. If both lists are the same text, so are their parts:
    each payload is one JSON object, and where an object ends follows from where it begins.
    """
    try:
        if canonical(contents) == f"[{','.join(payloads.values())}]":
            return None
    except (ValueError, RecursionError):
        pass
    for (number, payload), content in zip(payloads.items(), contents, strict=True):
        try:
            if canonical(content) != payload:
                return number
        except (ValueError, RecursionError):
            return number
    return None


class Walk:
    """The records so far: `take` them in their order; `fault` says what is wrong.

    A walk that goes on `after` a record looks up what it needs of those before in `before`, the snapshot of
    that time. That a request key was not used before is then left to the store, whose index has each key
    once. Without `with_answers` the stored answers are not looked at.
    """

    def __init__(self, after: Record | None = None, *, with_answers: bool = True) -> None:
        self.fault: str | None = None
        self.ledger: str | None = None
        # of each key the last record under it
        self.key_ids: dict[str, int] = {}
        self.before: Snapshot | None = None
        self.spends = self.answers = 0
        self._start = after
        self._last: Stored | None = None if after is None else after.stored
        self._with_answers = with_answers
        self._budgets: dict[str, _Budget] = {}
        self._packages: dict[tuple[str, str], tuple[int, int]] = {}
        self._keys: set[str] = set()
        # every spend since the last recovery, and whether it is waiting for its answer
        self._waiting: dict[int, bool] = {}
        # whether a recovery has come since `before`
        self._closed = False

    @property
    def head(self) -> Record | None:
        """The last record that was taken."""
        return None if self._last is None else Record(*self._last[:8])

    @property
    def next(self) -> int:
        """The number of the record that should come next."""
        return 0 if self._last is None else int(self._last[0]) + 1

    def look_up_in(self, snapshot: Snapshot) -> None:
        """Where to look things up in the transaction that has just begun."""
        self.before = None if self._start is None else snapshot.as_of(self._start)

    def take(self, rows: Iterable[Stored], check: Check | None = None) -> None:
        """Check the next records; `check` looks at their MACs."""
        if self.fault is not None:
            return
        payloads: dict[int, str] = {}
        contents: list[Payload] = []
        for row in rows:
            try:
                check_stored(row[:8])
                if check is not None:
                    check(row[0], *row[5:8])
                self._chain(row)
                plain = _ANSWER.fullmatch(row[3]) if row[2] == "answer" else None
                if plain is not None:
                    size, own, spend = plain.groups()
                    content = {"bytes": int(size), "sha256": own, "spend": int(spend)}
                else:
                    content = content_of(row[2], row[3])
                    payloads[row[0]] = row[3]
                    contents.append(content)
                self._meaning(row, content)
            except (_FaultError, BrokenRecordError) as found:
                self.fault = f"record {row[0]} {found}"
                break
            except (KeyError, TypeError, ValueError, AttributeError, RecursionError, InputError):
                self.fault = f"record {row[0]} has a payload that no ledger writes"
                break
            self._last = row
            self.key_ids[row[6]] = row[0]
        other = _written_otherwise(payloads, contents)
        if other is not None:  # it stands before any other fault, or is what is wrong there
            self.fault = f"record {other} is not written in the one way that JSON is here"

    def spent(self) -> dict[str, Amounts]:
        """What every dataset has spent."""
        return {name: budget.spent for name, budget in self._budgets.items()}

    def outcome(self, place: str, notes: tuple[str, ...] = (), *, macs: bool = False) -> Verification:
        """What was found."""
        return Verification(
            place=place,
            fault=self.fault,
            ledger=self.ledger,
            records=self.next,
            spends=self.spends,
            answers=self.answers,
            head=None if self._last is None else self._last[5],
            macs=macs,
            notes=notes,
        )

    # Every record of a large ledger goes through these: they build nothing that they only look at.

    def _chain(self, row: Stored) -> None:
        last = self._last
        if row[0] != (expected := 0 if last is None else last[0] + 1):
            raise _FaultError(f"follows where record {expected} should be: records are missing")
        if row[4] != (NO_PREVIOUS if last is None else last[5]):
            raise _FaultError("does not continue the record before it")
        if (row[2] == "genesis") != (last is None):
            raise _FaultError("is of a kind that cannot stand there")
        if last is not None and (row[6] != last[6] or last[2] == "key"):
            changed = row[2] == "key" and content_of("key", row[3])["change"] == "replaced"
            _hold(row[6] == self._next_key_id() or changed, "is under another key than those before it")

    def _next_key_id(self) -> str | None:
        """The key that the next record should be under."""
        return None if self.head is None else self.head.next_key_id

    def _meaning(self, row: Stored, content: Payload) -> None:
        kind = row[2]
        if row[8:12] != columns_of(kind, content):
            raise _FaultError("is filed under a wrong name")
        if kind == "answer":
            self._answer(content, row[12])
            return
        if row[12] is not None:
            raise _FaultError("has an answer that does not belong to it")
        match kind:
            case "spend":
                self._spend(row[0], content)
            case "genesis":
                self.ledger = str(content["ledger"])
            case "dataset":
                self._dataset(content)
            case "purchase":
                self._purchase(content)
            case "key":
                self._key(row[6], content)
            case _:
                self._recovery(content)

    def _dataset(self, content: Payload) -> None:
        _hold(self._budget(content["dataset"]) is None, "gives a second budget to a dataset")
        _hold(content["releases"] == 0 and not any(content["spent"].values()), "starts with something spent")
        _hold(content["spent"].keys() == content["limits"].keys(), "starts with the wrong amounts")
        checked_name("dataset", content["dataset"])
        self._budgets[content["dataset"]] = _Budget(
            limits=checked_amounts("limits", content["limits"]),
            neighbors=Neighbors(content["neighbors"]),
            spent=content["spent"],
        )

    def _spend(self, sequence: int, content: Payload) -> None:
        dataset, plan, key = content["dataset"], content["plan"], content["key"]
        budget = self._payer(content, dataset, key)
        units, package = 1 if content["disjoint"] else content["values"], content["package"]
        check_asked(content)
        check_units(units, package)
        if content["units"] != units:
            raise _FaultError("counts its releases wrongly")
        if content["fingerprint"] != fingerprint_of(content, key):
            raise _FaultError("does not match its fingerprint")
        bought, used = self._package(dataset, plan)
        used += units
        if used > bought:
            bought += package
        elif any(content["cost"].values()):
            raise _FaultError("pays for releases that were paid for before")
        if content["bought"] != bought or content["used"] != used:
            raise _FaultError("carries a wrong number of paid releases")
        self._packages[dataset, plan] = bought, used
        budget.releases += 1
        self._paid(budget, content)
        self._keys.add(key)
        self._waiting[sequence] = True
        self.spends += 1

    def _payer(self, content: Payload, dataset: str, key: str | None) -> _Budget:
        """The budget that pays, if the key is new."""
        budget = self._budget(dataset)
        if budget is None:
            raise _FaultError("spends on a dataset that does not exist")
        if key in self._keys:
            raise _FaultError("uses a request key a second time")
        if content["neighbors"] != budget.neighbors:
            raise _FaultError("mixes neighboring relations")
        return budget

    def _paid(self, budget: _Budget, content: Payload) -> None:
        before, cost, limits, now = budget.spent, content["cost"], budget.limits, content["spent"]
        if cost.keys() != limits.keys():
            raise _FaultError("is paid in the wrong amounts")
        if now.keys() != limits.keys():
            raise _FaultError("carries a wrong total of what is spent")
        for name, limit in limits.items():
            paid, spent = cost[name], now[name]
            if type(paid) is not int or paid < 0 or type(spent) is not int:
                raise _FaultError("has a payload that no ledger writes")
            if spent != before[name] + paid:
                raise _FaultError("carries a wrong total of what is spent")
            if spent > limit:
                raise _FaultError("spends more than the limit")
        if content["releases"] != budget.releases:
            raise _FaultError("carries a wrong number of releases")
        budget.spent = now

    def _purchase(self, content: Payload) -> None:
        dataset, plan, key = content["dataset"], content["plan"], content["key"]
        budget = self._payer(content, dataset, key)
        bought, used = self._package(dataset, plan)
        check_texts(content)
        _hold(content["package"] > 0, "buys nothing")
        bought += content["package"]
        _hold((content["bought"], content["used"]) == (bought, used), "carries a wrong number")
        self._packages[dataset, plan] = bought, used
        self._paid(budget, content)
        if key is not None:
            self._keys.add(key)
        else:
            _hold(not any(content["cost"].values()), "pays without a key")
            first = self.head
            whole = None if first is None or first.kind != "purchase" else first.content["fingerprint"]
            _hold(whole == content["fingerprint"], "belongs to no purchase that was paid for")

    def _answer(self, content: Payload, packed: bytes | None) -> None:
        spend = content["spend"]
        if not self._is_waiting(spend):
            raise _FaultError("answers what is not waiting for an answer")
        self._waiting[spend] = False
        self.answers += 1
        if self._with_answers:
            if packed is None:
                raise _FaultError("has lost its answer")
            if unpacked_answer(content, packed) is None:
                raise _FaultError("has an answer that was changed")

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
        before = self._next_key_id()
        _hold(content["change"] in ("rotated", "replaced"), "changes the key in an unknown way")
        _hold(content["before"] == before != content["key"], "names a wrong key")
        rotated = content["change"] == "rotated"
        _hold(under == (before if rotated else content["key"]), "is under another key than those before it")
        _hold(rotated == (content["export"] is None), "replaces a key without an export")

    def _budget(self, name: str) -> _Budget | None:
        """The dataset's budget so far."""
        found = self._budgets.get(name)
        if found is None and self.before is not None and self.before.reading.dataset_made(name):
            state = self.before.dataset(name)
            found = self._budgets[name] = _Budget(
                limits=state.limits, neighbors=state.neighbors, spent=state.spent, releases=state.releases
            )
        return found

    def _package(self, dataset: str, plan: str) -> tuple[int, int]:
        """How many of the plan's releases were bought and used so far."""
        found = self._packages.get((dataset, plan))
        if found is None and self.before is not None and not self._closed:
            package = self.before.package(dataset, plan)
            return package.bought, package.used
        return found or (0, 0)

    def _is_waiting(self, spend: int) -> bool:
        """Whether this spend may be answered."""
        if spend in self._waiting or self.before is None or self._closed:
            return self._waiting.get(spend, False)
        paid = self.before.reading.record(spend)
        if paid is None or paid.kind != "spend" or self.before.is_void(spend):
            return False
        return self.before.reading.answer_to(spend) is None
