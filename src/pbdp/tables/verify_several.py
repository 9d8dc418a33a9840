"""Several tables, checked: what one person moves, what is set aside, how near they are, and their sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from pbdp.accounting.composition.loss_distribution import cell_sums
from pbdp.checks import FaultError, MissingError
from pbdp.noise.kernel import Array
from pbdp.planning.plan import Plan, number_design
from pbdp.tables.margins import Margin, parents
from pbdp.tables.measures import Column
from pbdp.tables.nonnegative import nonnegative_tables
from pbdp.tables.numbers import TOUCHED, Asked, Number, touched_number
from pbdp.tables.plan import TablePlan
from pbdp.tables.query import Query
from pbdp.tables.strategies.kinds import change_of, strategy_from
from pbdp.tables.strategies.planning import asked_of, designs_of, set_aside
from pbdp.tables.strategies.strategy import Strategy
from pbdp.tables.verify_file import SAME, PublishedFile, Record, numbers_in

# Numbers with fractions may differ in their last digits after they are added up.
ADDED = 1e-9


def several_plan(query: Query, noise: Plan, record: Record) -> TablePlan:
    """The plan of several tables that a manifest describes."""
    asked = {one.label: one for one in asked_of(query, 1.0)}
    known = record["plan"].get("strategies", {})
    if list(known) != list(asked):
        raise FaultError("the strategies are for other numbers than the query asks for")
    strategies = {label: _strategy(query, one, known[label], noise) for label, one in asked.items()}
    quantities = {name: asked[label].quantity for label, one in strategies.items() for name in one.parts}
    if query.aggregation.touched:
        others = [part.requirement for part in noise.parts if part.name in quantities]
        quantities[TOUCHED] = touched_number(query, others).quantity
    names = [part.name for part in noise.parts]
    if sorted(names) != sorted(quantities) or names != record["plan"]["numbers"]:
        raise FaultError("the plan is for other numbers than the query asks for")
    numbers = tuple(
        Number(label=part.name, quantity=quantities[part.name], requirement=part.requirement)
        for part in noise.parts
    )
    return TablePlan(query=query, numbers=numbers, noise=noise, strategies=strategies)


def _strategy(query: Query, asked: Asked, record: Record, noise: Plan) -> Strategy:
    """That of a record, in the steps of its noise: any will do, and earlier planners chose others."""
    made = strategy_from(query, asked, record)
    steps = [part.design.grid.step for part in noise.parts if part.name in made.parts]
    if not steps:
        raise FaultError("the plan is for other numbers than the query asks for")
    change = change_of(query, asked, steps[0], rows=made.change.rows_rounded)
    return replace(made, change=change)  # type: ignore[type-var]


def check_strategies(plan: TablePlan) -> str:
    """Every part has the moves of its strategy, every table is as near as asked, and enough is set aside."""
    query = plan.query
    laws: dict[str, int] = {}
    for asked in asked_of(query, 1.0):
        strategy = plan.strategies[asked.label]
        step = plan.step(asked.label)
        for name, moves in strategy.parts.items():
            part = plan.part(name)
            have, design = part.requirement, number_design(part.design)
            laws[name] = moves.laws
            same = (have.sensitivity, have.releases, have.delta, str(have.neighbors), have.integer)
            whole = asked.quantity.is_whole
            if same != (moves.steps * step, moves.numbers, query.delta, str(query.neighbors), whole):
                raise FaultError(f"the noise of {name} was planned for something else")
            plain = not (design.offset or design.clamp) and design.decoder is None and design.follows_answer
            plain = plain and design.kernel.joint == strategy.joint and not (moves.concave and design.boost)
            coarse = whole and step != 1 and not strategy.change.rows_rounded
            if not plain or design.grid.step != step or coarse:
                raise FaultError(f"the noise of {name} is of another kind than the strategy's")
        _check_widths(plan, asked)
    if query.aggregation.touched:
        _check_touched(plan)
    if set_aside(plan.noise, laws) > plan.noise.missing:
        raise FaultError("less is set aside of delta than what tables differ from their laws by")
    if query.epsilon is not None and plan.epsilon > query.epsilon * (1 + SAME):
        raise FaultError("the query allows less epsilon than the plan has")
    return f"{len(plan.strategies)} numbers in {len(plan.query.margins or ())} tables, as near as asked"


def _check_widths(plan: TablePlan, asked: Asked) -> None:
    if plan.query.epsilon is not None:
        return
    strategy = plan.strategies[asked.label]
    designs = designs_of(plan.noise, strategy)
    for table, width in asked.widths.items():
        if strategy.widest(designs, table, asked.confidence) * plan.step(asked.label) > width * (1 + SAME):
            raise FaultError(f"{asked.label} is less accurate than promised")


def _check_touched(plan: TablePlan) -> None:
    part = plan.part(TOUCHED)
    others = [one.requirement for one in plan.noise.parts if one.name != TOUCHED]
    want = touched_number(plan.query, others).requirement
    have = part.requirement
    if (have.sensitivity, have.releases, have.delta) != (want.sensitivity, want.releases, want.delta):
        raise FaultError("the numbers of people whom bounds touch were planned for something else")


def check_sums(plan: TablePlan, files: list[PublishedFile | None]) -> str:
    """Numbers of several tables agree wherever they are about the same rows."""
    margins = plan.query.margins
    if margins is None:
        raise AssertionError("one table adds up with no other")
    if any(file is None for file in files):
        raise MissingError("not all tables are there")
    apart = [label for label, strategy in plan.strategies.items() if not strategy.adds_up]
    named = [
        measure.name for measure in plan.query.measures if not measure.derived and measure.name not in apart
    ]
    found = [numbers_in(plan, file, named) for file in files if file is not None]
    looked = 0
    for (one, first), (two, second) in combinations(zip(margins.tables, found, strict=True), 2):
        common = margins.margin(set(one.columns) & set(two.columns))
        for name in named:
            sums = _summed(one, common, first[name]), _summed(two, common, second[name])
            known = ~(np.isnan(sums[0]) | np.isnan(sums[1]))
            if not np.allclose(sums[0][known], sums[1][known], rtol=ADDED, atol=1e-6):
                raise FaultError(f"{name} of the tables {one.label} and {two.label} do not add up")
            looked += int(known.sum())
    above_zero = nonnegative_tables(plan, found)
    for file, own in zip(files, above_zero, strict=True):
        if file is not None:
            _check_above_zero(plan, file, own)
    more = ", and those of the non-negative numbers" if any(above_zero) else ""
    if not named:
        return "tables need not add up"
    return f"{looked:,} sums agree{more}"


def _check_above_zero(plan: TablePlan, file: PublishedFile, found: Mapping[str, Column]) -> None:
    """The non-negative numbers of a table are those that follow from the numbers of all tables."""
    for name, numbers in numbers_in(plan, file, list(found)).items():
        if not np.array_equal(numbers, found[name].astype(np.float64)):
            raise FaultError(f"column {name} of {file.known['table']} does not follow from the tables")


def _summed(table: Margin, common: Margin, numbers: Array) -> Array:
    """The numbers of a table added up to a coarser one; what is withheld is unknown."""
    return cell_sums(parents(common, table), numbers, len(common))
