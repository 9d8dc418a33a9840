"""The payment for a table, checked: the ledger has it, at this price, and stored these numbers."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from pbdp.checks import FaultError, MissingError, UnknownError
from pbdp.ledger.budget import part_id
from pbdp.planning.pricing import Terms
from pbdp.tables.drawing import Drawn
from pbdp.tables.plan import TablePlan
from pbdp.tables.query_record import query_text
from pbdp.tables.release import is_part_of, running_days, whole_query
from pbdp.tables.touched import touched_counts
from pbdp.tables.verify_file import PublishedFile, Record, check_stored

if TYPE_CHECKING:
    from pbdp.ledger.ledger import Ledger


def check_payment(
    record: Record, plan: TablePlan, ledger: Ledger | None, files: list[PublishedFile | None]
) -> str:
    """The spend is in the ledger, for this query and plan, at this price; and so is the table."""
    paid = record["ledger"]
    if paid is None:
        if ledger is not None:
            raise FaultError("the manifest says that no ledger paid")
        raise UnknownError("no ledger recorded this table")
    if ledger is None:
        raise MissingError(
            f"paid from {paid['dataset']}, record {paid['sequence']} of the ledger {paid['ledger']}; name "
            "that ledger to have it checked"
        )
    if ledger.identity != paid["ledger"]:
        raise FaultError("it was paid from another ledger")
    if ledger.dataset(paid["dataset"]).rule != paid["rule"]:
        raise FaultError("the budget has another rule than the manifest says")
    entry = next(
        (entry for entry in ledger.history(paid["dataset"]) if entry.sequence == paid["sequence"]), None
    )
    terms = Terms.from_record(paid["rule"])
    bought = terms.plan_id(plan.noise, terms.chosen_blocks(paid.get("blocks")))
    if plan.query.is_extended:
        bought = part_id(bought, running_days(plan).largest, paid["key"])
    known = entry is not None and (
        is_part_of(entry.key, paid["key"]) if plan.query.is_extended else entry.key == paid["key"]
    )
    if (
        entry is None
        or not known
        or (entry.kind, entry.plan, entry.query, dict(entry.cost))
        != (
            "spend",
            bought,
            query_text(whole_query(plan.query)),
            paid["charged"],
        )
    ):
        raise FaultError("the ledger has no such spend for this query")
    words = f"paid from {paid['dataset']}, record {paid['sequence']}"
    if not any(files):
        return words
    drawn = _stored(ledger, paid["sequence"], plan)
    if [asdict(one) for one in touched_counts(plan, drawn.values)] != record.get("bounds_touched", []):
        raise FaultError("how many people the bounds touched is not what the ledger stored")
    margins = plan.query.margins
    numbers = [drawn.values] if margins is None else plan.tables(drawn.values)
    groups = [drawn.groups] if margins is None else [table.groups for table in margins.tables]
    for file, own, values in zip(files, groups, numbers, strict=True):
        if file is not None:
            check_stored(plan, own, values, file)
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
