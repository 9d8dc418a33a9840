"""A ledger at one moment: what its records say of a dataset, a package and a request key."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from typing import Any

from pbdp.ledger.errors import DamagedLedgerError, UnknownDatasetError
from pbdp.ledger.record import Amounts, Payload, Record, total
from pbdp.ledger.stores.interface import Reading, StoredAnswer
from pbdp.ledger.witness import Memory, Totals


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

    @property
    def remaining(self) -> Amounts:
        """What may still be spent; zero where a recovery counted more than the limit."""
        return {name: max(0, limit - self.spent[name]) for name, limit in self.limits.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The releases of one plan on one dataset: how many were paid for, and how many are used."""

    bought: int = 0
    used: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What a request key was paid for: a plan, what was spent before it, and the answer, if it has one."""

    key: str
    dataset: str
    plan: str
    spent_before: Amounts
    answer: bytes | None


def packed_answer(answer: bytes, spend: int) -> tuple[Payload, bytes]:
    """The payload of an answer's record, and the answer as it is stored."""
    content = {"spend": spend, "bytes": len(answer), "sha256": hashlib.sha256(answer).hexdigest()}
    return content, zlib.compress(answer)


def unpacked_answer(content: Payload, packed: bytes) -> bytes | None:
    """The answer, or None if it is not the one that the payload describes."""
    try:
        # never more than was announced, so that a forged blob cannot fill the memory
        answer = zlib.decompressobj().decompress(packed, content["bytes"] + 1)
    except zlib.error:
        return None
    sound = len(answer) == content["bytes"] and hashlib.sha256(answer).hexdigest() == content["sha256"]
    return answer if sound else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The records of a ledger at one moment, and what they mean."""

    place: str
    reading: Reading
    head: Record
    recovery: Record | None

    @classmethod
    def opened(cls, place: str, reading: Reading) -> Snapshot:
        """The ledger as of the last record."""
        head = reading.head()
        if head is None:
            raise DamagedLedgerError(place, "it has no records")
        return cls(place=place, reading=reading, head=head, recovery=reading.last_recovery())

    def as_of(self, head: Record) -> Snapshot:
        """The ledger as it was when this record was the last one."""
        reading = self.reading.until(head.sequence)
        return Snapshot(place=self.place, reading=reading, head=head, recovery=reading.last_recovery())

    def is_void(self, sequence: int) -> bool:
        """Whether a recovery came after this record.

        What happened to it in the part that was lost is unknown: a package may have been used up there, and
        an answer may have left. So neither is ever used again.
        """
        return self.recovery is not None and sequence < self.recovery.sequence

    def dataset(self, name: str) -> DatasetState:
        """The dataset's state after the last record that changed it."""
        made, last = self.reading.dataset_made(name), self.reading.last_of_dataset(name)
        if made is None or last is None:
            raise UnknownDatasetError(name, self.reading.datasets())
        origin, content = made.content, last.content
        spent: Amounts = content["spent"]
        sequence = last.sequence
        if self.recovery is not None and self.is_void(last.sequence):
            spent, sequence = self.recovery.content["spent"][name], self.recovery.sequence
        return DatasetState(
            name=name,
            limits=origin["limits"],
            spent=spent,
            rule=origin["rule"],
            neighbors=origin["neighbors"],
            note=origin["note"],
            releases=content["releases"],
            created=made.time,
            sequence=sequence,
            last_cost=content.get("cost"),
        )

    def datasets(self) -> list[DatasetState]:
        """All datasets, in the order in which they were made."""
        return [self.dataset(name) for name in self.reading.datasets()]

    def package(self, dataset: str, plan: str) -> Package:
        """The releases of this plan that may still be used on this dataset."""
        last = self.reading.last_of_plan(dataset, plan)
        if last is None or self.is_void(last.sequence):
            return Package()
        return Package(bought=last.content["bought"], used=last.content["used"])

    def answer_to(self, spend: int) -> bytes | None:
        """The stored answer to this spend."""
        stored: StoredAnswer | None = self.reading.answer_to(spend)
        if stored is None:
            return None
        answer = unpacked_answer(stored.record.content, stored.packed)
        if answer is None:
            fault = f"the answer of record {stored.record.sequence} does not match its digest"
            raise DamagedLedgerError(self.place, fault)
        return answer

    def spend(self, key: str) -> Spend | None:
        """The spend or purchase with this key."""
        record = self.reading.spend_with(key)
        if record is None:
            return None
        content = record.content
        return Spend(
            key=key,
            dataset=content["dataset"],
            plan=content["plan"],
            spent_before=total(content["spent"], content["cost"], -1),
            answer=self.answer_to(record.sequence),
        )

    def memory(self, *datasets: DatasetState) -> Memory:
        """What a witness should remember of this moment."""
        totals = {state.name: Totals(sequence=state.sequence, spent=state.spent) for state in datasets}
        return Memory(sequence=self.head.sequence, hash=self.head.hash, datasets=totals)
