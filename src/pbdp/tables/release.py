"""Releasing a table: pay, ask the engine once, select groups, add noise, store what is published.

**Which data it was.** A repeated request brings the stored table back, so the ledger keeps, with the table, a
digest of the data that it was made of: a MAC, under the ledger's secret key, of the request's key and of the
engine's digest of the data (`Source.digest`). Without the secret it tells nothing, not even whether two
requests had the same data. If the data has changed since, the request is refused. That refusal tells
something about the data. It is for whoever holds the data and runs this; nothing of it is stored or
published. No data is read before the request is paid for, or found to be paid.

**Running totals that go on.** With `append_only`, a release through a day tells of the days up to it what one
release of all days would: people count in their first groups, and which of their groups on published days
these are depends on rows of those days alone, which never change. That is an assumption, and is said wherever
the bounds are. If a mistake can be noticed, it is: the ledger keeps a MAC of the bounded numbers of published
days, and days are added only while these numbers are the same.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Unpack

import numpy as np

from pbdp.accounting.filters.rule import PROBABILITIES
from pbdp.errors import ContradictionError, InputError, PbdpError
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError
from pbdp.ledger.ledger import Ledger
from pbdp.ledger.request import Reservation
from pbdp.mechanism.fixed_point import LEAST_ROWS
from pbdp.paying import Blocks, PayingFor, PayingOnce
from pbdp.release.keystream import SECURE, Keystream, keystream_from
from pbdp.tables.bounded import Aggregates
from pbdp.tables.drawing import Drawn, aggregated, draw, of_groups
from pbdp.tables.engines.interface import Source, check_columns
from pbdp.tables.keys import KeyTable
from pbdp.tables.margins import RunningMargin
from pbdp.tables.measure import Column
from pbdp.tables.numbers import TOUCHED
from pbdp.tables.plan import TablePlan
from pbdp.tables.query import Query
from pbdp.tables.query_record import key_of, query_text
from pbdp.tables.table import Payment, ReleasedTable, SourceName

# What the key of the ledger is used for here.
PURPOSE = "table data"


class PaidFailureError(PbdpError):
    """The table could not be made, although it is paid for; asked again under its key, it costs nothing."""

    def __init__(self, key: str, dataset: str, failure: PbdpError) -> None:
        self.key, self.failure = key, failure
        super().__init__(
            f"{failure} The price is paid from {dataset} already, as request {key!r}: nothing was published, "
            "and the same query with that key costs nothing more once this is mended."
        )


class DataChangedError(InputError):
    """The request was answered, but from other data than there is now."""

    def __init__(self, key: str, remedy: str = "") -> None:
        remedy = remedy or "The data changed; give a new key to pay for a new table."
        super().__init__("data", f"what it was when the request {key!r} was answered", "other data", remedy)


def release_table(
    plan: TablePlan,
    source: Source,
    *,
    budget: Budget | None = None,
    insecure_test_seed: int | None = None,
    named: SourceName | None = None,
    **paying: Unpack[PayingOnce],
) -> ReleasedTable:
    """The published table. With a budget, the price is paid before the engine reads a row.

    `named` is what the publisher calls the data.
    """
    if budget is not None and insecure_test_seed is not None:
        raise ContradictionError("insecure_test_seed", "used without a budget", "both")
    if budget is None and paying.get("key") is not None:
        raise ContradictionError("key", "used with a budget", "no budget")
    if plan.query.aggregation.values and plan.query.most_rows < LEAST_ROWS:
        remedy = "A table of more rows fails, and that would tell how many it has. Narrow the bounds instead."
        raise InputError(
            "most_rows", f"{LEAST_ROWS:,} or more where values are summed up", plan.query.most_rows, remedy
        )
    check_columns(source, plan.query.aggregation)
    source.check_whole()
    if budget is None:
        drawn, payment = draw(plan, source, keystream_from(insecure_test_seed)), None
    else:
        drawn, payment = _paid(plan, source, budget, paying)

    def made(groups: KeyTable, values: Mapping[str, Column], which: int = 0) -> ReleasedTable:
        return ReleasedTable(
            plan=plan,
            groups=groups,
            values=values,
            engine=source.engine,
            payment=payment,
            insecure_test_seed=insecure_test_seed,
            source=named,
            data_digest=drawn.data,
            which=which,
        )

    margins = plan.query.margins
    if margins is None:
        return made(drawn.groups, drawn.values)
    told = {label: numbers for label, numbers in drawn.values.items() if label == TOUCHED}
    first, *others = (
        made(margin.groups, numbers | told, which)
        for which, (margin, numbers) in enumerate(zip(margins.tables, plan.tables(drawn.values), strict=True))
    )
    return replace(first, others=tuple(others))


def _paid(plan: TablePlan, source: Source, budget: Budget, paying: PayingOnce) -> tuple[Drawn, Payment]:
    """Reserve, draw, settle; a table that was released before under this key comes back as it was."""
    key, blocks = paying.get("key"), paying.get("blocks")
    if key is None:
        if source.place is None:
            remedy = "Give one that says which data it is, such as key='visits in March'."
            raise InputError("key", "given for data in memory, which has no name", "nothing", remedy)
        key = key_of(whole_query(plan.query), source.place)
    if plan.query.is_extended:
        return _extended(plan, source, budget, key, paying)

    @cache
    def content() -> bytes:
        return json.dumps([key, source.digest(plan.query.aggregation).hex()]).encode()

    def packed() -> bytes:
        try:
            data = budget.ledger.keyed_digest(PURPOSE, content())
            return replace(draw(plan, source, SECURE), data=data).packed(plan)
        except PbdpError as error:
            failure = error
        raise PaidFailureError(key, budget.dataset, failure)

    asked: PayingFor = {**paying, "key": key, "query": query_text(plan.query)}
    try:
        stored, reservation = budget.answered(plan.noise, 1, packed, again=True, **asked)
    except BudgetExceededError as refusal:
        remedy = _advice(plan, budget, blocks) or refusal.remedy
        raise BudgetExceededError(refusal.dataset, refusal.reason, remedy) from None
    drawn = Drawn.unpacked(plan, stored)
    known = drawn.data or ""
    if not hmac.compare_digest(budget.ledger.keyed_digest(PURPOSE, content(), like=known), known):
        raise DataChangedError(key)
    return drawn, _payment(budget, reservation, blocks)


def whole_query(query: Query) -> Query:
    """Running totals of all days, whichever are told: that is what is paid for."""
    return query if query.through is None else replace(query, through=None)


def part_key(key: str, part: int) -> str:
    """The request key of one of the releases that running totals come in, as days go by."""
    return f"{key}, part {part}"


def is_part_of(key: str | None, whole: str) -> bool:
    """Whether a request key is one of those."""
    found, comma, number = (key or "").rpartition(", part ")
    return bool(comma) and found == whole and number.isdecimal()


def _extended(
    plan: TablePlan, source: Source, budget: Budget, key: str, paying: PayingOnce
) -> tuple[Drawn, Payment]:
    """Running totals whose earlier days may be published already: their rows stay, later ones are added.

    Every part has all rows so far, and is stored under a key of its own. Whoever comes second with a part
    gets what the first one stored, so that no row is ever drawn twice and shown. The first part pays for all.
    """
    days = running_days(plan)
    before: Drawn | None = None
    kept = _Kept(ledger=budget.ledger, key=key, days=days) if plan.query.append_only else None
    for part in range(1, days.largest + 1):

        def packed(before: Drawn | None = before) -> bytes:
            try:
                return _added(plan, source, SECURE, before, kept).packed(plan)
            except PbdpError as error:
                failure = error
            raise PaidFailureError(key, budget.dataset, failure)

        query = query_text(whole_query(plan.query))
        of_part: PayingFor = {**paying, "key": part_key(key, part), "query": query}
        stored, reservation = budget.answered(
            plan.noise, 1, packed, again=part == 1, parts=days.largest, whole=key, **of_part
        )
        before = Drawn.unpacked(plan, stored)
        if (before.days or 0) >= int(days.sizes.max()):
            # the key of all parts, to go on with
            return before, replace(_payment(budget, reservation, paying.get("blocks")), key=key)
    raise PbdpError("The ledger's answers to this request are no running totals of this query.")


def _added(
    plan: TablePlan,
    source: Source,
    keystream: Keystream,
    before: Drawn | None,
    kept: _Kept | None,
) -> Drawn:
    """The rows of earlier days as they are, and those of the days up to the last that is told with noise."""
    days = running_days(plan)
    known, last = (0 if before is None else before.days or 0), int(days.sizes.max())
    cells = aggregated(plan, source)
    if kept is not None and before is not None:
        kept.check(cells, before)
    fresh = of_groups(plan, cells, keystream)
    of_known, of_later = days.day < known, days.day >= last
    values = {}
    for label, rows in fresh.values.items():
        old = np.zeros_like(rows) if before is None else before.values[label]
        values[label] = np.where(of_known, old, np.where(of_later, 0, rows))
    data = None if kept is None else kept.digest(cells, last)
    return Drawn(groups=fresh.groups, values=values, data=data, days=last)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kept:
    """What the ledger keeps of bounded numbers of published days, to notice rows that changed."""

    ledger: Ledger
    key: str
    days: RunningMargin

    def digest(self, cells: Aggregates, known: int, like: str | None = None) -> str:
        """A MAC of the numbers of the first `known` days."""
        numbers = (cells.people, cells.rows, *cells.counts, *cells.sums)
        told = [column[self.days.day < known].tolist() for column in numbers]
        return self.ledger.keyed_digest(PURPOSE, json.dumps([self.key, known, told]).encode(), like=like)

    def check(self, cells: Aggregates, before: Drawn) -> None:
        """Refuse data in which they are others than they were."""
        known = before.data or ""
        if not hmac.compare_digest(self.digest(cells, before.days or 0, known), known):
            remedy = "Rows of published days changed: put them back, or give a new key to pay for new totals."
            raise DataChangedError(self.key, remedy)


def running_days(plan: TablePlan) -> RunningMargin:
    """The table of running totals."""
    found = None if plan.query.margins is None else plan.query.margins.tables[0]
    if not isinstance(found, RunningMargin):
        raise AssertionError("these are no running totals")
    return found


def _advice(plan: TablePlan, budget: Budget, blocks: Blocks) -> str:
    """A selection may only have set aside too much."""
    price = budget.price(plan.noise, blocks=blocks)
    missing = price.lacks_reserve
    if missing is None or plan.threshold is None:
        return ""
    left = [budget.terms.left(price.spent, block).reserve for block in price.blocks]
    reserve = min(left) / PROBABILITIES
    # a little less, so that two digits of it are not above
    fits = 0.94 * reserve / missing * plan.delta
    if fits <= 0:
        return ""
    return (
        f"Selecting groups takes a part of delta: give the query a delta of {fits:.2g} or less, or make the "
        "budget with a larger reserve."
    )


def _payment(budget: Budget, reservation: Reservation, blocks: Blocks) -> Payment:
    return Payment(
        ledger=reservation.ledger,
        place=budget.ledger.place,
        dataset=reservation.dataset,
        key=reservation.key,
        sequence=reservation.sequence,
        charged=dict(reservation.charged),
        rule=budget.terms.record(),
        blocks=None if blocks is None else list(budget.terms.chosen_blocks(blocks)),
        repeated=reservation.answer is not None,
    )
