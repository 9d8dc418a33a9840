"""Counting the gap after a ledger was taken back to an older state.

Let s be what the store says a dataset has spent, w what the witness saw spent, and b what was spent at the
last record that both have seen (the base). The gap counted as `known` makes it

    s + max(0, w - b),    and exactly w where the store simply ends at a record that was seen (b = s).

This is never too little for what the witness saw. A hash fixes all records before it, so store and witness
have the same past up to the base, and b counts it; s - b was spent in the store since then, and w - b in
what was lost. Taking an earlier record for the base than the last common one lowers b and can only count
more. Without any common record b = 0.

The gap counted as `all` makes it at least the limit. Either way what was open before is void
(`Book.is_void`), and a dataset that was lost with the gap cannot be made again under its name.

Where several machines share a ledger, each has a witness. Those that saw what was lost refuse the ledger
until it is recovered there too, and each adds what it saw: what two of them saw is counted twice, never
too little.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pbdp.ledger.amounts import Amounts, none_of, total
from pbdp.ledger.book import Book
from pbdp.ledger.dataset import DatasetState
from pbdp.ledger.record import Payload
from pbdp.ledger.stores.interface import Reading, Row
from pbdp.ledger.witness import Memory, Witness

Gap = Literal["known", "all"]


def base_of(reading: Reading, witness: Witness) -> int | None:
    """The sequence of a record that the witness saw and the store holds; the last one, as far as is known."""
    for sequence, seen in witness.heads():
        record = reading.record(sequence)
        if record is not None and record.hash == seen:
            return sequence
    return None


def recovery_content(book: Book, memory: Memory, base: int | None, since: Iterable[Row], gap: Gap) -> Payload:
    """The payload of the recovery's record; `since` are the store's records after the base."""
    datasets = book.datasets()
    spent_since = _spent_since({state.name: none_of(state.limits) for state in datasets}, since)
    charged = {
        state.name: _charged(state, total(state.spent, spent_since[state.name], -1), memory, gap)
        for state in datasets
    }
    known = {state.name for state in datasets}
    before = set() if book.recovery is None else set(book.recovery.content["lost"])
    return {
        "gap": gap,
        "base": base,
        "witness": memory_content(memory),
        "charged": charged,
        "spent": {state.name: total(state.spent, charged[state.name]) for state in datasets},
        "lost": sorted((before | memory.datasets.keys()) - known),
    }


def memory_content(memory: Memory) -> Payload:
    """A witness as it stands in the record of a recovery."""
    datasets = {name: [totals.sequence, totals.spent] for name, totals in memory.datasets.items()}
    return {"sequence": memory.sequence, "hash": memory.hash, "datasets": datasets}


def _spent_since(spent: dict[str, Amounts], since: Iterable[Row]) -> dict[str, Amounts]:
    for row in since:
        content = row.record.content
        if row.record.kind == "spend":
            spent[content["dataset"]] = total(spent[content["dataset"]], content["cost"])
        elif row.record.kind == "recovery":
            for name, charged in content["charged"].items():
                spent[name] = total(spent[name], charged)
    return spent


def _charged(state: DatasetState, at_base: Amounts, memory: Memory, gap: Gap) -> Amounts:
    if gap == "all":
        return state.remaining
    if state.name not in memory.datasets:
        return none_of(state.limits)
    seen = memory.datasets[state.name].spent
    return {name: max(0, seen.get(name, 0) - at_base[name]) for name in state.limits}
