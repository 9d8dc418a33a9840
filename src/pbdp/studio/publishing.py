"""Publishing a table from the page: agreed upon at a price, paid once for its key, then drawn."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pbdp.cli.words.tables import table_notes
from pbdp.digits import percent_up, plus_minus
from pbdp.errors import InputError, PbdpError
from pbdp.ledger.budget import Budget
from pbdp.studio.budgets import left_words
from pbdp.studio.query_form import Base, Form, asked_in
from pbdp.studio.table_lines import TABLE_FILE
from pbdp.tables.manifest import METADATA, written_files
from pbdp.tables.table import ReleasedTable

Record = dict[str, Any]
# Groups that are shown; the file has all of them.
SHOWN = 100
# Prices that differ by less are the same.
SAME = 1e-9


class PriceChangedError(PbdpError):
    """The budget was spent from since the price was shown."""

    def __init__(self, share: float | None) -> None:
        now = "It does not fit any more" if share is None else f"It would cost {percent_up(share)} now"
        super().__init__(
            f"The price has changed since it was shown. {now}; nothing was spent. Look at it again."
        )


def published_view(base: Base, form: Form, given: Mapping[str, Any]) -> Record:
    """The published table. A request that was paid for brings back the same one, and costs nothing."""
    dataset, key, agreed = given.get("dataset"), given.get("key"), given.get("agreed")
    for name, value in (("dataset", dataset), ("key", key)):
        if not isinstance(value, str) or not value:
            raise InputError(name, "given", type(value).__name__)
    if isinstance(agreed, bool) or not isinstance(agreed, int | float):
        raise InputError("agreed", "the share of the budget that was agreed upon", type(agreed).__name__)
    blocks = given.get("blocks") or None
    if blocks is not None and not (isinstance(blocks, list) and all(isinstance(one, str) for one in blocks)):
        raise InputError("blocks", "a list of names", type(blocks).__name__)
    _, asked = asked_in(base.text(form), base.folder, base.data)
    if asked.data is None:
        raise InputError("data", "named", "nothing", "In the query file, data = ...")
    plan = asked.query.plan()
    with base.opened.paying_ledger() as ledger:
        budget = Budget.of(ledger, str(dataset))
        if ledger.spend_of(str(key)) is None:
            share = budget.price(plan.noise, blocks=blocks).share
            if share is None or not math.isclose(share, agreed, rel_tol=SAME, abs_tol=SAME):
                raise PriceChangedError(share)
        source = asked.source
        table = plan.release(
            asked.data,
            table=asked.table,
            csv=asked.csv,
            budget=budget,
            key=str(key),
            blocks=blocks,
            source=None if source is None else source.name,
            version="" if source is None else source.version,
        )
        spent = budget.spent
        notes = [*table_notes(table, budget, in_words=True), *ledger.notes]
    repeated = table.payment is not None and table.payment.repeated
    return {
        "rows": len(table),
        "repeated": repeated,
        "spent_text": percent_up(spent),
        "left_text": left_words(spent),
        "notes": notes,
        "columns": _heads(table),
        "shown": _shown(table),
        "files": _files(table),
    }


def _heads(table: ReleasedTable) -> list[str]:
    return [*table.groups.columns, *(measure.name for measure in table.plan.query.measures)]


def _shown(table: ReleasedTable) -> list[list[str]]:
    """The first groups: their keys, and each number with how far it may be off."""
    count = min(len(table), SHOWN)
    columns = [
        [str(key) for key in column.values[:count].tolist()] for column in table.groups.columns.values()
    ]
    for measure in table.plan.query.measures:
        value, low, high = (
            table.columns[f"{measure.name}{suffix}"][:count].astype(np.float64)
            for suffix in ("", "_bounded_low", "_bounded_high")
        )
        off = np.fmax(np.abs(value - low), np.abs(high - value))
        columns.append(
            [
                plus_minus(own, far) if math.isfinite(own) and math.isfinite(far) else "–"
                for own, far in zip(value.tolist(), off.tolist(), strict=True)
            ]
        )
    return [list(row) for row in zip(*columns, strict=True)]


def _files(table: ReleasedTable) -> list[Record]:
    """The tables, their manifest and their metadata, as `pbdp tables -o table.csv` writes them."""
    manifest = f"{TABLE_FILE}.manifest.json"
    record, written = written_files(table, TABLE_FILE, manifest, "csv")
    found = [(manifest, "application/json", record)]
    for one in written:
        found.append((one.name, "text/csv", one.content))
        if one.metadata is not None:
            found.append((one.name + METADATA, "application/json", one.metadata))
    # the first table first
    return [
        {"name": name, "media": media, "base64": base64.b64encode(content).decode()}
        for name, media, content in sorted(found, key=lambda file: file[0] != TABLE_FILE)
    ]
