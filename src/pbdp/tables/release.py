"""Releasing a table: pay, ask the engine once, select groups, add noise, store what is published.

**Which data it was.** A repeated request brings the stored table back, so the ledger keeps, with the table, a
digest of the data that it was made of: a MAC, under the ledger's secret key, of the request's key and of the
engine's digest of the data (`Source.digest`). Without the secret it tells nothing, not even whether two
requests had the same data. If the data has changed since, the request is refused. That refusal tells
something about the data. It is for whoever holds the data and runs this; nothing of it is stored or
published. No data is read before the request is paid for, or found to be paid.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Unpack

import numpy as np

from pbdp.accounting.filters.rule import PROBABILITIES
from pbdp.errors import ContradictionError, InputError, PbdpError
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError
from pbdp.ledger.request import Reservation
from pbdp.mechanism.grid import FURTHEST_STEP, LinearGrid
from pbdp.noise.kernel import Array, Index
from pbdp.paying import Blocks, PayingFor, PayingOnce
from pbdp.planning.plan import Part
from pbdp.release.keystream import SECURE, Keystream, keystream_from
from pbdp.tables.bounded import Aggregates
from pbdp.tables.engines.interface import Source, check_columns, check_readable
from pbdp.tables.fixed_point import LEAST_ROWS
from pbdp.tables.keys import KeyTable, key_order, keys_from_record, keys_record
from pbdp.tables.margins import RunningMargin
from pbdp.tables.measures import Column
from pbdp.tables.numbers import TOUCHED
from pbdp.tables.plan import TablePlan, plan_table
from pbdp.tables.query import Query
from pbdp.tables.query_record import key_of, query_text
from pbdp.tables.table import Payment, ReleasedTable, SourceName, typed
from pbdp.tables.top import TOP

# Answers are clamped this many steps from zero, which leaves room for the noise; clamping never adds to what
# one person can change.
_FURTHEST = FURTHEST_STEP // 2
# The same for cells of several tables, which are added up.
_FURTHEST_CELL = FURTHEST_STEP >> 20
# What the key of the ledger is used for here.
PURPOSE = "table data"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """The published groups and, by label, the released numbers; `data` is the keyed digest of their data.

    Of running totals that go on, `days` is how many days have rows that were drawn; others are 0.
    """

    groups: KeyTable
    values: Mapping[str, Column]
    data: str | None = None
    days: int | None = None

    def packed(self, plan: TablePlan) -> bytes:
        """As text for the ledger; public groups are part of the request already."""
        public = plan.query.groups is not None and plan.top is None
        found = None if public else keys_record(self.groups)
        values = {label: column.tolist() for label, column in self.values.items()}
        record: dict[str, Any] = {"groups": found, "values": values, "data": self.data}
        record |= {} if self.days is None else {"days": self.days}
        return json.dumps(record, separators=(",", ":"), allow_nan=False).encode()

    @classmethod
    def unpacked(cls, plan: TablePlan, stored: bytes) -> Drawn:
        """Back from the ledger."""
        record: dict[str, Any] = json.loads(stored)
        groups = plan.query.groups if record["groups"] is None else keys_from_record(record["groups"])
        if groups is None:
            raise PbdpError("The ledger's answer to this request is no table of this query.")
        # rows of several tables are whole numbers of steps
        whole = {number.label: number.requirement.integer or bool(plan.strategies) for number in plan.numbers}
        values = {label: typed(column, whole[label]) for label, column in record["values"].items()}
        return cls(groups=groups, values=values, data=record.get("data"), days=record.get("days"))


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

    def __init__(self, key: str) -> None:
        super().__init__(
            "data",
            f"what it was when the request {key!r} was answered",
            "other data",
            "The data changed; give a new key to pay for a new table.",
        )


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
    if budget is None:
        drawn, payment = draw(plan, source, keystream_from(insecure_test_seed)), None
    else:
        plan = _as_paid(plan, source, budget, paying)
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


def _as_paid(plan: TablePlan, source: Source, budget: Budget, paying: PayingOnce) -> TablePlan:
    """The plan, or that of an earlier version if it was paid for.

    These did not tell whom the bounds touched, or planned sums and counts of means apart.
    """
    key, query = paying.get("key"), plan.query
    chosen = budget.terms.chosen_blocks(paying.get("blocks"))
    if query.running is not None:
        return plan
    means = [False, True] if any(measure.is_widened(plan) for measure in query.measures) else [False]
    queries = [query]
    if query.bounds_touched is None and query.aggregation.touched:
        queries.append(replace(query, bounds_touched=False))
    for before in queries:
        known = key if key is not None or source.place is None else key_of(before, source.place)
        spend = None if known is None else budget.ledger.spend_of(known)
        if spend is not None and spend.plan == budget.terms.plan_id(plan.noise, chosen):
            return plan
        for apart in means if spend is not None else ():
            if before is query and not apart:
                continue
            older = plan_table(before, apart=apart)
            if spend is not None and spend.plan == budget.terms.plan_id(older.noise, chosen):
                return older
    return plan


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
    # tables of earlier versions have none
    if drawn.data is not None:
        now = budget.ledger.keyed_digest(PURPOSE, content(), like=drawn.data)
        if not hmac.compare_digest(now, drawn.data):
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
    for part in range(1, days.largest + 1):

        def packed(before: Drawn | None = before) -> bytes:
            try:
                return _added(plan, source, SECURE, before).packed(plan)
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


def _added(plan: TablePlan, source: Source, keystream: Keystream, before: Drawn | None) -> Drawn:
    """The rows of earlier days as they are, and those of the days up to the last that is told with noise."""
    days = running_days(plan)
    known, last = (0 if before is None else before.days or 0), int(days.sizes.max())
    fresh = draw(plan, source, keystream)
    of_known, of_later = days.day < known, days.day >= last
    values = {}
    for label, rows in fresh.values.items():
        old = np.zeros_like(rows) if before is None else before.values[label]
        values[label] = np.where(of_known, old, np.where(of_later, 0, rows))
    return Drawn(groups=fresh.groups, values=values, days=last)


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
        repeated=reservation.stored_answer is not None,
    )


def draw(plan: TablePlan, source: Source, keystream: Keystream) -> Drawn:
    """Aggregate, choose the groups, and draw the noise of every number of every group."""
    check_readable(source, plan.query.aggregation)
    aggregates = source.aggregate(plan.query.aggregation, secrets.randbits(63))
    if plan.query.groups is not None:
        spread = _spread(aggregates, len(plan.query.groups))
        drawn = _listed if plan.query.margins is None else _several
        return drawn(plan, plan.query.groups, spread, keystream)
    if plan.threshold is None or aggregates.found is None:
        raise AssertionError("groups of the data come with a selection")
    counts = _noisy(plan.noise.parts[-1], aggregates.people, keystream)
    chosen = np.flatnonzero(counts >= plan.threshold.threshold)
    if plan.top is not None and len(chosen) > plan.top.options:
        # what it is chosen from has no more; the noise of these counts is paid for
        chosen = chosen[np.argsort(-counts[chosen], kind="stable")[: plan.top.options]]
    # in the order of the keys: that of the engine may tell something of the data
    chosen = chosen[key_order(aggregates.found.taken(chosen))]
    groups = plan.query.special.published(aggregates.found.taken(chosen))
    return _listed(plan, groups, _taken(aggregates, chosen), keystream)


def _listed(plan: TablePlan, groups: KeyTable, aggregates: Aggregates, keystream: Keystream) -> Drawn:
    """The numbers of all groups, or of the top ones, the highest first."""
    if plan.top is None:
        return _drawn(plan, groups, aggregates, keystream)
    by = plan.top.top.by
    ranked = next(number for number in plan.numbers if number.label == by)
    scores = ranked.quantity.answers(aggregates)
    places = plan.top.places(scores, plan.part(TOP), keystream)
    drawn = _drawn(plan, groups.taken(places), _taken(aggregates, places), keystream)
    order = np.argsort(-drawn.values[by], kind="stable")
    of_table = {label: column for label, column in drawn.values.items() if label == TOUCHED}
    values = {label: column[order] for label, column in drawn.values.items() if label not in of_table}
    return Drawn(groups=drawn.groups.taken(order), values=values | of_table)


def _drawn(plan: TablePlan, groups: KeyTable, aggregates: Aggregates, keystream: Keystream) -> Drawn:
    return Drawn(
        groups=groups,
        values={
            number.label: _noisy(part, number.quantity.answers(aggregates), keystream)
            for number, part in zip(plan.numbers, plan.noise.parts, strict=False)
        },
    )


def _several(plan: TablePlan, groups: KeyTable, aggregates: Aggregates, keystream: Keystream) -> Drawn:
    """The rows of every part of every strategy with noise, in steps."""
    numbers = {number.label: number for number in plan.numbers}
    values: dict[str, Column] = {}
    for strategy in plan.strategies.values():
        quantity = numbers[next(iter(strategy.parts))].quantity
        for name, rows in strategy.rows_of(quantity, aggregates, partial(_steps, plan)).items():
            values[name] = plan.part(name).releaser.output_steps(rows, keystream)
    if TOUCHED in numbers:
        answers = numbers[TOUCHED].quantity.answers(aggregates)
        values[TOUCHED] = _noisy(plan.part(TOUCHED), answers, keystream)
    return Drawn(groups=groups, values={number.label: values[number.label] for number in plan.numbers})


def _steps(plan: TablePlan, name: str, answers: Index | Array) -> Index:
    """Answers in steps of a part, as far as there is room for them."""
    part = plan.part(name)
    furthest = _FURTHEST_CELL * part.design.grid.step
    clipped = typed(np.clip(answers, -furthest, furthest), answers.dtype == np.int64)
    return part.releaser.publisher.steps_of(clipped)


def _noisy(part: Part, answers: Index | Array, keystream: Keystream) -> Column:
    """Answers with the noise of their part, drawn from the table that was accounted for."""
    releaser = part.releaser
    linear = isinstance(part.design.grid, LinearGrid)
    if linear or part.requirement.integer:
        furthest = _FURTHEST * (part.design.grid.step if linear else 1.0)
        answers = typed(np.clip(answers, -furthest, furthest), answers.dtype == np.int64)
    steps = releaser.publisher.steps_of(answers)
    published = releaser.publisher.values_of(releaser.output_steps(steps, keystream))
    return typed(published, part.requirement.integer)


def _spread(aggregates: Aggregates, groups: int) -> Aggregates:
    """Zeros for public groups without data."""

    def spread(column: Index) -> Index:
        full = np.zeros(groups, dtype=np.int64)
        full[aggregates.group] = column
        return full

    return replace(
        aggregates,
        group=np.arange(groups, dtype=np.int64),
        people=spread(aggregates.people),
        rows=spread(aggregates.rows),
        counts=tuple(map(spread, aggregates.counts)),
        sums=tuple(map(spread, aggregates.sums)),
    )


def _taken(aggregates: Aggregates, rows: Index) -> Aggregates:
    return replace(
        aggregates,
        group=aggregates.group[rows],
        people=aggregates.people[rows],
        rows=aggregates.rows[rows],
        counts=tuple(column[rows] for column in aggregates.counts),
        sums=tuple(column[rows] for column in aggregates.sums),
    )
