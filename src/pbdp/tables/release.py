"""Releasing a table: pay, ask the engine once, select groups, add noise, store what is published."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbdp.accounting.filters.rule import PROBABILITIES
from pbdp.errors import ContradictionError, PbdpError
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import BudgetExceededError
from pbdp.ledger.request import Reservation
from pbdp.mechanism.grid import FURTHEST_STEP, LinearGrid
from pbdp.noise.kernel import Array, Index
from pbdp.planning.plan import Part
from pbdp.release.keystream import SECURE, Keystream, keystream_from
from pbdp.tables.bounded import Aggregates
from pbdp.tables.engines.interface import Source, check_columns
from pbdp.tables.keys import KeyTable, key_order, keys_from_record, keys_record
from pbdp.tables.measures import Column
from pbdp.tables.plan import TablePlan
from pbdp.tables.query_record import key_of, query_text
from pbdp.tables.table import Payment, ReleasedTable, typed

# Answers are clamped this many steps from zero, which leaves room for the noise; clamping never adds to what
# one person can change.
_FURTHEST = FURTHEST_STEP // 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """The published groups and, by label, the released numbers."""

    groups: KeyTable
    values: Mapping[str, Column]

    def packed(self, plan: TablePlan) -> bytes:
        """As text for the ledger; public groups are part of the request already."""
        found = None if plan.query.groups is not None else keys_record(self.groups)
        values = {label: column.tolist() for label, column in self.values.items()}
        return json.dumps(
            {"groups": found, "values": values}, separators=(",", ":"), allow_nan=False
        ).encode()

    @classmethod
    def unpacked(cls, plan: TablePlan, stored: bytes) -> Drawn:
        """Back from the ledger."""
        record: dict[str, Any] = json.loads(stored)
        groups = plan.query.groups if record["groups"] is None else keys_from_record(record["groups"])
        if groups is None:
            raise PbdpError("The ledger's answer to this request is no table of this query.")
        whole = {number.label: number.requirement.integer for number in plan.numbers}
        values = {label: typed(column, whole[label]) for label, column in record["values"].items()}
        return cls(groups=groups, values=values)


def release_table(
    plan: TablePlan,
    source: Source,
    *,
    budget: Budget | None = None,
    key: str | None = None,
    insecure_test_seed: int | None = None,
) -> ReleasedTable:
    """The published table. With a budget, the price is paid before the engine reads a row."""
    if budget is not None and insecure_test_seed is not None:
        raise ContradictionError("insecure_test_seed", "used without a budget", "both")
    if budget is None and key is not None:
        raise ContradictionError("key", "used with a budget", "no budget")
    check_columns(source, plan.query.aggregation)
    if budget is None:
        drawn, payment = draw(plan, source, keystream_from(insecure_test_seed)), None
    else:
        drawn, payment = _paid(plan, source, budget, key)
    return ReleasedTable(
        plan=plan,
        groups=drawn.groups,
        values=drawn.values,
        engine=source.engine,
        payment=payment,
        insecure_test_seed=insecure_test_seed,
    )


def _paid(plan: TablePlan, source: Source, budget: Budget, key: str | None) -> tuple[Drawn, Payment]:
    """Reserve, draw, settle; a table that was released before under this key comes back as it was."""
    try:
        stored, reservation = budget.answered(
            plan.noise,
            1,
            lambda: draw(plan, source, SECURE).packed(plan),
            key=key or key_of(plan.query, source.place),
            query=query_text(plan.query),
            again=True,
        )
    except BudgetExceededError as refusal:
        raise BudgetExceededError(
            refusal.dataset, refusal.reason, _advice(plan, budget) or refusal.remedy
        ) from None
    return Drawn.unpacked(plan, stored), _payment(budget, reservation)


def _advice(plan: TablePlan, budget: Budget) -> str:
    """A selection may only have set aside too much."""
    missing = budget.price(plan.noise).lacks_reserve
    if missing is None or plan.threshold is None:
        return ""
    reserve = budget.terms.left(budget.state.spent).reserve / PROBABILITIES
    # a little less, so that two digits of it are not above
    fits = 0.94 * reserve / missing * plan.delta
    if fits <= 0:
        return ""
    return (
        f"Selecting groups takes a part of delta: give the query a delta of {fits:.2g} or less, or make the "
        "budget with a larger reserve."
    )


def _payment(budget: Budget, reservation: Reservation) -> Payment:
    return Payment(
        ledger=reservation.ledger,
        place=budget.ledger.place,
        dataset=reservation.dataset,
        key=reservation.key,
        sequence=reservation.sequence,
        charged=dict(reservation.charged),
        rule=budget.terms.record(),
        repeated=reservation.stored_answer is not None,
    )


def draw(plan: TablePlan, source: Source, keystream: Keystream) -> Drawn:
    """Aggregate, choose the groups, and draw the noise of every number of every group."""
    aggregates = source.aggregate(plan.query.aggregation, secrets.randbits(63))
    if plan.query.groups is not None:
        return _drawn(plan, plan.query.groups, _spread(aggregates, len(plan.query.groups)), keystream)
    if plan.threshold is None or aggregates.found is None:
        raise AssertionError("groups of the data come with a selection")
    counts = _noisy(plan.noise.parts[-1], aggregates.people, keystream)
    chosen = np.flatnonzero(counts >= plan.threshold.threshold)
    # in the order of the keys: that of the engine may tell something of the data
    chosen = chosen[key_order(aggregates.found.taken(chosen))]
    return _drawn(plan, aggregates.found.taken(chosen), _taken(aggregates, chosen), keystream)


def _drawn(plan: TablePlan, groups: KeyTable, aggregates: Aggregates, keystream: Keystream) -> Drawn:
    return Drawn(
        groups=groups,
        values={
            number.label: _noisy(part, number.quantity.answers(aggregates), keystream)
            for number, part in zip(plan.numbers, plan.noise.parts, strict=False)
        },
    )


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

    return Aggregates(
        group=np.arange(groups, dtype=np.int64),
        people=spread(aggregates.people),
        rows=spread(aggregates.rows),
        counts=tuple(map(spread, aggregates.counts)),
        sums=tuple(map(spread, aggregates.sums)),
    )


def _taken(aggregates: Aggregates, rows: Index) -> Aggregates:
    return Aggregates(
        group=aggregates.group[rows],
        people=aggregates.people[rows],
        rows=aggregates.rows[rows],
        counts=tuple(column[rows] for column in aggregates.counts),
        sums=tuple(column[rows] for column in aggregates.sums),
    )
