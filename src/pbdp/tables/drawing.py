"""Drawing a table: ask the engine once, choose groups, and add the noise of every number of every group."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pbdp.errors import PbdpError
from pbdp.mechanism.grid import FURTHEST_STEP
from pbdp.noise.kernel import Array, Index
from pbdp.release.keystream import Keystream
from pbdp.tables.bounded import Aggregates
from pbdp.tables.engines.interface import Source, check_readable
from pbdp.tables.keys import KeyTable, key_order, keys_from_record, keys_record
from pbdp.tables.measure import Column
from pbdp.tables.numbers import TOUCHED, Number, Quantity, typed
from pbdp.tables.plan import SELECTION, TablePlan
from pbdp.tables.top import TOP

# Cells of several tables, which are added up, are clamped this many steps from zero (as `numbers.FURTHEST`).
_FURTHEST_CELL = FURTHEST_STEP >> 20


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
        whole |= {choice.label: True for choice in plan.choices}
        values = {label: typed(column, whole[label]) for label, column in record["values"].items()}
        return cls(groups=groups, values=values, data=record.get("data"), days=record.get("days"))


def draw(plan: TablePlan, source: Source, keystream: Keystream) -> Drawn:
    """Aggregate, choose the groups, and draw the noise of every number of every group."""
    aggregates = aggregated(plan, source)
    if plan.query.groups is not None:
        return of_groups(plan, aggregates, keystream)
    if plan.threshold is None or aggregates.found is None:
        raise AssertionError("groups of the data come with a selection")
    part = plan.noise.parts[-1]
    people = Number(label=SELECTION, quantity=Quantity(of="people", rows=1), requirement=part.requirement)
    counts = people.drawn(part, aggregates, keystream)
    chosen = np.flatnonzero(counts >= plan.threshold.threshold)
    if plan.top is not None and len(chosen) > plan.top.options:
        # what it is chosen from has no more; the noise of these counts is paid for
        chosen = chosen[np.argsort(-counts[chosen], kind="stable")[: plan.top.options]]
    # in the order of the keys: that of the engine may tell something of the data
    chosen = chosen[key_order(aggregates.found.taken(chosen))]
    groups = plan.query.special.published(aggregates.found.taken(chosen))
    return _listed(plan, groups, _taken(aggregates, chosen), keystream)


def aggregated(plan: TablePlan, source: Source) -> Aggregates:
    """The bounded numbers of all public groups, or of those in the data."""
    check_readable(source, plan.query.aggregation)
    found = source.aggregate(plan.query.aggregation, secrets.randbits(63))
    return found if plan.query.groups is None else _spread(found, len(plan.query.groups))


def of_groups(plan: TablePlan, aggregates: Aggregates, keystream: Keystream) -> Drawn:
    """The numbers of public groups, with noise."""
    if plan.query.groups is None:
        raise AssertionError("groups are public here")
    drawn = _listed if plan.query.margins is None else _several
    return drawn(plan, plan.query.groups, aggregates, keystream)


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
            number.label: number.drawn(part, aggregates, keystream)
            for number, part in zip(plan.numbers, plan.noise.parts, strict=False)
        }
        | {one.label: one.drawn(plan.part(one.label), aggregates, keystream) for one in plan.choices},
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
        values[TOUCHED] = numbers[TOUCHED].drawn(plan.part(TOUCHED), aggregates, keystream)
    in_order: dict[str, Column] = {number.label: values[number.label] for number in plan.numbers}
    for choice in plan.choices:
        of_cell = None if plan.query.margins is None else plan.query.margins.tables[choice.table].of_cell
        part = plan.part(choice.label)
        in_order[choice.label] = choice.drawn(part, aggregates, keystream, of_cell)
    return Drawn(groups=groups, values=in_order)


def _steps(plan: TablePlan, name: str, answers: Index | Array) -> Index:
    """Answers in steps of a part, as far as there is room for them."""
    part = plan.part(name)
    furthest = _FURTHEST_CELL * part.design.grid.step
    clipped = typed(np.clip(answers, -furthest, furthest), answers.dtype == np.int64)
    return part.releaser.publisher.steps_of(clipped)


def _spread(aggregates: Aggregates, groups: int) -> Aggregates:
    """Zeros for public groups without data."""

    def spread(column: Index) -> Index:
        full = np.zeros((groups, *column.shape[1:]), dtype=np.int64)
        full[aggregates.group] = column
        return full

    return replace(
        aggregates,
        group=np.arange(groups, dtype=np.int64),
        people=spread(aggregates.people),
        rows=spread(aggregates.rows),
        counts=tuple(map(spread, aggregates.counts)),
        sums=tuple(map(spread, aggregates.sums)),
        histograms=tuple(map(spread, aggregates.histograms)),
    )


def _taken(aggregates: Aggregates, rows: Index) -> Aggregates:
    return replace(
        aggregates,
        group=aggregates.group[rows],
        people=aggregates.people[rows],
        rows=aggregates.rows[rows],
        counts=tuple(column[rows] for column in aggregates.counts),
        sums=tuple(column[rows] for column in aggregates.sums),
        histograms=tuple(column[rows] for column in aggregates.histograms),
    )
