"""Who paid for a table: the record in the ledger, and the table that the ledger stored."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from pbdp.planning.pricing import fingerprint
from pbdp.tables.faults import FaultError, UnknownError
from pbdp.tables.plan import TablePlan
from pbdp.tables.query_record import query_text
from pbdp.tables.release import Drawn
from pbdp.tables.verify_file import PublishedFile, check_stored

if TYPE_CHECKING:
    from pbdp.ledger.ledger import Ledger

Record = dict[str, Any]


def check_payment(record: Record, plan: TablePlan, ledger: Ledger | None, file: PublishedFile | None) -> str:
    """The spend is in the ledger, for this query and plan, at this price; and so is the table."""
    paid = record["ledger"]
    if paid is None:
        if ledger is not None:
            raise FaultError("the manifest says that no ledger paid")
        raise UnknownError("no ledger paid for this table: who published it kept no account")
    if ledger is None:
        raise UnknownError(
            f"paid from {paid['dataset']} in {paid['place']}; name the ledger to have it checked"
        )
    if ledger.identity != paid["ledger"]:
        raise FaultError("it was paid from another ledger")
    if ledger.dataset(paid["dataset"]).rule != paid["rule"]:
        raise FaultError("the budget has another rule than the manifest says")
    entry = next(
        (entry for entry in ledger.history(paid["dataset"]) if entry.sequence == paid["sequence"]), None
    )
    if entry is None or (entry.kind, entry.key, entry.plan, entry.query, dict(entry.cost)) != (
        "spend",
        paid["key"],
        fingerprint(plan.noise),
        query_text(plan.query),
        paid["charged"],
    ):
        raise FaultError("the ledger has no such spend for this query")
    words = f"paid from {paid['dataset']}, record {paid['sequence']}"
    if file is None:
        return words
    drawn = _stored(ledger, paid["sequence"], plan)
    check_stored(plan, drawn.groups, drawn.values, file)
    return f"{words}; the table is the one that the ledger stored"


def _stored(ledger: Ledger, sequence: int, plan: TablePlan) -> Drawn:
    """Groups and numbers in the ledger's answer to a spend."""
    for line in ledger.export():
        row = json.loads(line)
        if row.get("kind") == "answer" and json.loads(row["payload"])["spend"] == sequence:
            if row["answer"] is None:
                break
            return Drawn.unpacked(plan, base64.b64decode(row["answer"]))
    raise FaultError("the ledger stored no table for this spend")
