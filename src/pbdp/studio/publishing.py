"""Publishing a table from the page: agreed upon at a price, paid once for its key, then drawn."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from pbdp.digits import percent_up, plain, plus_minus
from pbdp.errors import InputError, PbdpError
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import UntrustedLedgerError
from pbdp.ledger.ledger import Ledger
from pbdp.report.record import warning_records
from pbdp.report.statement import statement
from pbdp.report.words.tables import table_notes
from pbdp.studio.budgets import blocks_in, left_words
from pbdp.studio.query_form import Base, Form
from pbdp.studio.table_code_to_copy import TABLE_FILE
from pbdp.studio.tables import planned, request_key
from pbdp.tables.manifest import written_files
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


class NotTrustedHereError(PbdpError):
    """Nothing on this machine says that the ledger was not taken back or replaced."""


def published_view(base: Base, form: Form, given: Mapping[str, Any]) -> Record:
    """The published table. A request that was paid for brings back the same one, and costs nothing."""
    dataset, key, agreed = given.get("dataset"), given.get("key"), given.get("agreed")
    for name, value in (("dataset", dataset), ("key", key)):
        if not isinstance(value, str) or not value:
            raise InputError(name, "given", type(value).__name__)
    if isinstance(agreed, bool) or not isinstance(agreed, int | float):
        raise InputError("agreed", "the share of the budget that was agreed upon", type(agreed).__name__)
    blocks = blocks_in(given)
    found = planned(base, form)
    asked, plan = found.asked, found.plan
    if asked.data is None:
        raise InputError("data", "named", "nothing", "In the query file, data = ...")
    if key != request_key(found):
        # what is paid for is the table that was agreed upon, and not what has become of it since
        raise InputError("key", "that of this table", "another", "Look at its price again.")
    with _trusted(base) as ledger:
        budget = Budget.of(ledger, str(dataset))
        if ledger.spend_of(str(key)) is None:
            share = budget.price(plan.noise, blocks=blocks).share
            if share is None or not math.isclose(share, agreed, rel_tol=SAME, abs_tol=SAME):
                raise PriceChangedError(share)
        named = asked.source
        table = plan.release(
            asked.data,
            table=asked.table,
            csv=asked.csv,
            budget=budget,
            key=str(key),
            blocks=blocks,
            source=None if named is None else named.name,
            version="" if named is None else named.version,
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
        "warnings": warning_records(statement(table)),
        "columns": _heads(table),
        "shown": _shown(table),
        "files": _files(table),
    }


@contextmanager
def _trusted(base: Base) -> Iterator[Ledger]:
    """The ledger, to be spent from; where it is in doubt, how whoever started the studio says it is right."""
    try:
        with base.opened.paying_ledger() as ledger:
            yield ledger
    except UntrustedLedgerError as doubted:
        told = str(doubted).replace("say so with trust=True", "start the studio with --trust-ledger")
        raise NotTrustedHereError(told) from None


def _heads(table: ReleasedTable) -> list[str]:
    return [*table.groups.columns, *table.numbers]


def _shown(table: ReleasedTable) -> list[list[str]]:
    """The first groups: their keys, and each number with how far it may be off."""
    count = min(len(table), SHOWN)
    columns = [
        [str(key) for key in column.values[:count].tolist()] for column in table.groups.columns.values()
    ]
    for number in table.numbers:
        value, low, high = (column[:count] for column in table.with_ends(number))
        off = np.fmax(np.abs(value - low), np.abs(high - value))
        columns.append(
            [
                plain(own)
                if not far
                else plus_minus(own, far)
                if math.isfinite(own) and math.isfinite(far)
                else "–"
                for own, far in zip(value.tolist(), off.tolist(), strict=True)
            ]
        )
    return [list(row) for row in zip(*columns, strict=True)]


def _files(table: ReleasedTable) -> list[Record]:
    """The tables and their manifest, as `pbdp tables -o table.csv` writes them."""
    manifest = f"{TABLE_FILE}.manifest.json"
    record, written = written_files(table, TABLE_FILE, "csv")
    found = [(manifest, "application/json", record)]
    found += [(one.name, "text/csv", one.content) for one in written]
    # the first table first
    return [
        {"name": name, "media": media, "base64": base64.b64encode(content).decode()}
        for name, media, content in sorted(found, key=lambda file: file[0] != TABLE_FILE)
    ]
