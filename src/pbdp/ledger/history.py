"""The records for people: what was spent when, on what, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass

from pbdp.ledger.amounts import Amounts
from pbdp.ledger.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One change of one dataset's budget.

    `kind` is dataset (the budget was given), spend or recovery; `cost` is what it added to `spent`, zero
    where the releases came from a package that was paid for before. `units` are the plan's releases it used.
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
    if record.kind == "dataset":
        return [
            Entry(
                sequence=record.sequence,
                time=record.time,
                kind="dataset",
                dataset=content["dataset"],
                cost=content["spent"],
                spent=content["spent"],
                note=content["note"],
            )
        ]
    if record.kind == "spend":
        return [
            Entry(
                sequence=record.sequence,
                time=record.time,
                kind="spend",
                dataset=content["dataset"],
                cost=content["cost"],
                spent=content["spent"],
                plan=content["plan"],
                plan_label=content["plan_label"],
                query=content["query"],
                key=content["key"],
                values=content["values"],
                units=content["units"],
                units_left=content["bought"] - content["used"],
            )
        ]
    if record.kind == "recovery":
        return [
            Entry(
                sequence=record.sequence,
                time=record.time,
                kind="recovery",
                dataset=name,
                cost=charged,
                spent=content["spent"][name],
                note=f"the gap was counted as {content['gap']}",
            )
            for name, charged in content["charged"].items()
        ]
    return []
