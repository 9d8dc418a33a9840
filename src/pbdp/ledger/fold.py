"""What a ledger says: a fold over its log, record by record.

`Fold.changes` is the one place that knows what a record means and which ones cannot be true: a number or hash
that does not continue the log, a total that does not add up, a limit that is passed, a request key or a paid
release that is used twice, an answer to nothing. A record is read by it before it is written, too, so that
nothing is committed that the next reader would refuse.

What it folds to is a table of names and JSON values:

    ""                     number and hash of the head, the key of the next record, the key missing to vouch
    ledger                 the random id in the first record
    datasets, lost         the names of all datasets, and of those that a recovery knew only by name
    dataset NAME           its limits, rule and totals
    plan AFTER PLAN NAME   how many of the plan's releases were bought and used since the recovery AFTER
    key KEY                numbers and hashes of the record that was paid for under it, and of its answer
    recovery, counted      the number of the last recovery; the witnesses that were counted
    unanswered             the numbers of answers that a recovery gave up

Names that changed since the cache was written are held in memory; the others are looked up there (`cache`).

**MACs.** A record under a key that is here must have its MAC. One under another key is believed once a later
record has a MAC under a key that is here: the hash before it covers the whole log, and a holder of the key
appends only to a log that it has read. Until then nothing is spent, kept or witnessed.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pbdp.errors import InputError
from pbdp.ledger.cache import Cache
from pbdp.ledger.errors import UnknownDatasetError
from pbdp.ledger.keys import LEDGER_ID, Keyring
from pbdp.ledger.record import (
    FORMAT,
    NO_PREVIOUS,
    UNWRITTEN,
    Amounts,
    BrokenRecordError,
    Payload,
    Record,
    check_asked,
    check_key,
    check_text,
    checked_amounts,
    checked_name,
    total,
)
from pbdp.ledger.witness import Memory
from pbdp.mechanism.neighbors import Neighbors

# Records that are folded in memory before the cache is written: a few milliseconds of work.
KEPT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetState:
    """A budget as of one record.

    `rule` is the accounting rule, as it was given with the budget; the ledger does not interpret it.
    `releases` counts the requests that were paid for or drawn from a package. `sequence` is the record that
    this state was read from, `last_cost` what the last release cost.
    """

    name: str
    limits: Amounts
    spent: Amounts
    rule: dict[str, Any]
    neighbors: str
    note: str | None
    releases: int
    created: str
    sequence: int
    last_cost: Amounts | None = None

    def __repr__(self) -> str:
        return f"<{self.name} as of record {self.sequence}: {self.releases} releases>"

    @property
    def remaining(self) -> Amounts:
        """What may still be spent; zero where a recovery counted more than the limit."""
        return {name: max(0, limit - self.spent[name]) for name, limit in self.limits.items()}


class Head(NamedTuple):
    """The last record, the key of the next one, and the key that is missing to vouch for all up to here."""

    sequence: int
    hash: str
    next_key: str
    unvouched: str | None


class Known(NamedTuple):
    """Where a request key was paid for, and where its answer is."""

    sequence: int
    hash: str
    answer: int | None = None
    answer_hash: str | None = None


Changes = dict[str, Any]


class Fold:
    """The records so far. Without a `ring` no MAC is looked at, without a `cache` all is held in memory."""

    def __init__(self, ring: Keyring | None = None, cache: Cache | None = None) -> None:
        self._ring = ring
        self._cache = Cache(None) if cache is None else cache
        self._base = self._cache.head()
        self._new: Changes = {}
        # the records since the cache was written
        self._since: dict[int, str] = {}

    def restart(self) -> None:
        """Forget all of it, in the cache too."""
        self._cache.clear()
        self._base, self._new, self._since = None, {}, {}

    def look_again(self) -> None:
        """Another process may have written the cache; a key may have been brought here meanwhile."""
        found = self._cache.head()
        if found != self._base:
            self._base, self._new, self._since = found, {}, {}
        head = self.head
        missing = None if head is None else head.unvouched
        if missing is not None and self._ring is not None and self._ring.key(missing) is not None:
            self.restart()

    def moved(self) -> bool:
        """Whether another process has written the cache since `look_again`."""
        return self._cache.head() != self._base

    def keep(self) -> None:
        """Write the cache, once there is enough to write. Only after the witness was told of the head."""
        if len(self._since) >= KEPT and self.head is not None:
            # what is written stays right in memory, should this be interrupted before the next look
            self._cache.keep(self._base, self._new)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name."""
        if name in self._new:
            return self._new[name]
        found = None if self._base is None else self._cache.get(name)
        return default if found is None else found

    @property
    def head(self) -> Head | None:
        """The last record that was taken."""
        found = self._new.get("", self._base)
        return None if found is None else Head(*found)

    def hash_of(self, sequence: int) -> str | None:
        """The hash of a record, if it came since the cache was written, or is the one it was written at."""
        head = self.head
        if head is not None and head.sequence == sequence:
            return head.hash
        if self._base is not None and self._base[0] == sequence:
            return str(self._base[1])
        return self._since.get(sequence)

    @property
    def identity(self) -> str:
        """The random id in the first record."""
        return str(self.get("ledger"))

    @property
    def recovery(self) -> int:
        """The number of the last recovery, or -1. What was open before it is never used again."""
        return int(self.get("recovery", -1))

    @property
    def datasets(self) -> list[str]:
        """The names of all datasets, in the order in which they were made."""
        return list(self.get("datasets", ()))

    def dataset(self, name: str) -> DatasetState:
        """A dataset's budget now."""
        found = self.get(f"dataset {name}")
        if found is None:
            raise UnknownDatasetError(name, self.datasets)
        return DatasetState(name=name, **found)

    def spent(self) -> dict[str, Amounts]:
        """What every dataset has spent."""
        return {name: self.get(f"dataset {name}")["spent"] for name in self.datasets}

    def package(self, dataset: str, plan: str) -> tuple[int, int]:
        """How many of the plan's releases were bought and used."""
        bought, used = self.get(f"plan {self.recovery} {plan} {dataset}", (0, 0))
        return bought, used

    def known(self, key: str) -> Known | None:
        """What was paid for under a request key."""
        found = self.get(f"key {key}")
        return None if found is None else Known(*found)

    def memory(self) -> Memory:
        """What the witness is told of the head."""
        head = self.head
        if head is None:
            raise AssertionError("a ledger has a first record")
        since = dict([*self._since.items()][-2 * KEPT :]) if len(self._since) > KEPT else dict(self._since)
        # of a dataset that is lost the name alone, which is not given again
        spent = {**self.spent(), **{name: {} for name in self.get("lost", ())}}
        return Memory(sequence=head.sequence, hash=head.hash, spent=spent, since=since)

    def take(self, record: Record, known: Changes | None = None) -> None:
        """Go on by this record; all of it, or nothing if it cannot be true. Its changes may be `known`."""
        unvouched = self._unvouched(record)
        changes = self.changes(record) if known is None else known
        changes[""] = [record.sequence, record.hash, record.next_key_id, unvouched]
        self._since[record.sequence] = record.hash
        # one call into C, which no signal handler interrupts
        self._new.update(changes)

    def _unvouched(self, record: Record) -> str | None:
        """The key of the record, if it is not here; the MAC is right, if it is."""
        key = None if self._ring is None else self._ring.key(record.key_id)
        if key is None:
            return record.key_id
        if not hmac.compare_digest(key.mac(record.hash), record.mac):
            raise BrokenRecordError("was not written by a holder of the ledger's key")
        return None

    def changes(self, record: Record) -> Changes:
        """What the record changes; a `BrokenRecordError` if it cannot be true."""
        head = self.head
        expected = 0 if head is None else head.sequence + 1
        if record.sequence != expected:
            raise BrokenRecordError(f"follows where record {expected} should be: records are missing")
        if record.previous != (NO_PREVIOUS if head is None else head.hash):
            raise BrokenRecordError("does not continue the record before it")
        if (record.kind == "genesis") != (head is None):
            raise BrokenRecordError("is of a kind that cannot stand there")
        replaced = record.kind == "key" and record.content["change"] == "replaced"
        if head is not None and record.key_id != head.next_key and not replaced:
            raise BrokenRecordError("is under another key than those before it")
        try:
            return _MEANINGS[record.kind](self, record, record.content)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError, InputError):
            raise BrokenRecordError(UNWRITTEN) from None

    # Every record of a large ledger goes through these: they build nothing that they only look at.

    def _genesis(self, _: Record, content: Payload) -> Changes:
        _hold(content["format"] == FORMAT, "begins a ledger of another version")
        _hold(LEDGER_ID.fullmatch(content["ledger"]), "has an id that no ledger gives")
        return {"ledger": content["ledger"]}

    def _dataset(self, record: Record, content: Payload) -> Changes:
        name = checked_name("dataset", content["dataset"])
        check_text("note", content["note"])
        _hold(self.get(f"dataset {name}") is None, "gives a second budget to a dataset")
        _hold(name not in self.get("lost", ()), "gives a budget to a dataset that was lost")
        _hold(not any(content["spent"].values()), "starts with something spent")
        _hold(content["spent"].keys() == content["limits"].keys(), "starts with the wrong amounts")
        state = {
            "limits": checked_amounts("limits", content["limits"]),
            "spent": content["spent"],
            "rule": content["rule"],
            "neighbors": Neighbors(content["neighbors"]).value,
            "note": content["note"],
            "releases": 0,
            "created": record.time,
            "sequence": record.sequence,
        }
        return {"datasets": [*self.datasets, name], f"dataset {name}": state}

    def _spend(self, record: Record, content: Payload) -> Changes:
        """A dataset pays for packages, where it has to, and uses some of their releases; the key is new."""
        name, key, values = content["dataset"], content["key"], content["values"]
        check_key(key)
        check_asked(content)
        budget = self.get(f"dataset {name}")
        if budget is None:
            raise BrokenRecordError("spends on a dataset that does not exist")
        if self.get(f"key {key}") is not None:
            raise BrokenRecordError("uses a request key a second time")
        if content["neighbors"] != budget["neighbors"]:
            raise BrokenRecordError("mixes neighboring relations")
        before, cost, limits, now = budget["spent"], content["cost"], budget["limits"], content["spent"]
        if cost.keys() != limits.keys():
            raise BrokenRecordError("is paid in the wrong amounts")
        if now.keys() != limits.keys():
            raise BrokenRecordError("carries a wrong total of what is spent")
        for amount, limit in limits.items():
            paid, spent = cost[amount], now[amount]
            if type(paid) is not int or paid < 0 or type(spent) is not int:
                raise BrokenRecordError(UNWRITTEN)
            if spent != before[amount] + paid:
                raise BrokenRecordError("carries a wrong total of what is spent")
            # a recovery may have counted more than the limit
            if paid and spent > limit:
                raise BrokenRecordError("spends more than the limit")
        budget = budget | {"spent": now, "last_cost": cost, "sequence": record.sequence}
        changes = {f"dataset {name}": budget, f"key {key}": [record.sequence, record.hash]}
        units, left = min(values, 1) if content["disjoint"] else values, 0
        for plan, _, releases in content["plans"]:
            bought, used = self.package(name, plan)
            used += units
            if used > bought or not values:
                bought += releases
            elif any(cost.values()):
                raise BrokenRecordError("pays for releases that were paid for before")
            if used > bought:
                raise BrokenRecordError("uses more releases than the plan is for")
            changes[f"plan {self.recovery} {plan} {name}"] = [bought, used]
            left = bought - used
        if content["units_left"] != (left if values else 0):
            raise BrokenRecordError("carries a wrong number of paid releases")
        budget["releases"] += 1 if values else 0
        return changes

    def _answer(self, record: Record, content: Payload) -> Changes:
        key = content["key"]
        known = self.known(key)
        waiting = known is not None and known.sequence == content["spend"] > self.recovery
        if known is None or not waiting or known.answer is not None or content["bytes"] < 0:
            raise BrokenRecordError("answers what is not waiting for an answer")
        return {f"key {key}": [known.sequence, known.hash, record.sequence, record.hash]}

    def _recovery(self, record: Record, content: Payload) -> Changes:
        _hold(content["gap"] in ("known", "all"), "counts the gap in an unknown way")
        names = self.datasets
        _hold(
            content["charged"].keys() == content["spent"].keys() == {*names}, "does not recover every dataset"
        )
        changes: Changes = {
            "recovery": record.sequence,
            "counted": [*self.get("counted", ()), content["witness"]],
            "lost": [*self.get("lost", ()), *content["lost"]],
            "unanswered": [*self.get("unanswered", ()), *content["answers"]],
        }
        for name in names:
            budget, charged = self.get(f"dataset {name}"), content["charged"][name]
            _hold(all(amount >= 0 for amount in charged.values()), "gives back what was spent")
            spent = total(budget["spent"], charged)
            _hold(content["spent"][name] == spent, "carries a wrong total of what is spent")
            changes[f"dataset {name}"] = budget | {"spent": spent, "sequence": record.sequence}
        return changes

    def _key(self, record: Record, content: Payload) -> Changes:
        head = self.head
        before = None if head is None else head.next_key
        _hold(content["change"] in ("rotated", "replaced"), "changes the key in an unknown way")
        _hold(content["before"] == before != content["key"], "names a wrong key")
        rotated = content["change"] == "rotated"
        under = before if rotated else content["key"]
        _hold(record.key_id == under, "is under another key than those before it")
        _hold(rotated == (content["export"] is None), "replaces a key without an export")
        return {}


def _hold(condition: object, fault: str) -> None:
    if not condition:
        raise BrokenRecordError(fault)


_MEANINGS: dict[str, Callable[[Fold, Record, Payload], Changes]] = {
    "genesis": Fold._genesis,
    "dataset": Fold._dataset,
    "spend": Fold._spend,
    "answer": Fold._answer,
    "recovery": Fold._recovery,
    "key": Fold._key,
}
