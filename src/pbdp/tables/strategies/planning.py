"""Which strategy several tables get: each is planned and certified, and the least epsilon is taken.

A strategy fixes what is measured; how much noise each part may have follows from the widths that are asked of
the tables. Laws are taken that are good for one number of a part within some width of its own, and scaled
until all tables are as near as they must be, by their certified widths, and no nearer. Which of them each
part gets is decided for all parts together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from pbdp.accounting.composition.composed import compose
from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design, rounded_down
from pbdp.mechanism.grid import LinearGrid, step_of_at_least
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import kernel_from, kernel_record, known_families
from pbdp.planning.plan import Plan
from pbdp.planning.planner import FAMILIES
from pbdp.planning.together import narrowest_together, plan_together
from pbdp.planning.together.joint import release_of
from pbdp.planning.together.search import fitted, is_concave
from pbdp.tables.margins import Margins, RunningMargin
from pbdp.tables.numbers import Asked, Number, touched_number
from pbdp.tables.plan import TablePlan
from pbdp.tables.query import Query
from pbdp.tables.strategies.apart import Alone, Apart
from pbdp.tables.strategies.cells import Cells
from pbdp.tables.strategies.joint import sigma_of
from pbdp.tables.strategies.residual import (
    MOST_COLUMNS,
    MOST_RESIDUALS,
    Residual,
    best_weights,
    residuals_of,
)
from pbdp.tables.strategies.running import Running, Weights, is_sound, root_weights
from pbdp.tables.strategies.separate import MOST_KINDS, Separate
from pbdp.tables.strategies.strategy import Change, Moves, Strategy

# How near (relative) the widest number of a table comes to what is asked, in how many steps.
CLOSE, CLOSE_JOINT, MOST_STEPS = 2e-3, 1e-5, 12
# Strategies whose losses have so many times the variance of the best one's are not looked at.
HOPELESS = 12.0
# The share of delta that is set aside where tables stand for laws (see `strategy`), and the most of it.
ASIDE, MOST_ASIDE = 1e-4, 1e-2
# Of the widths of tables this is left to the rounding of sums to steps.
FOR_STEPS = 0.01
MOST_IN_CHANGE = 1 << 16

Kind = Callable[[Query, Asked], Strategy | None]
# By part, the designs to choose from and what each of them is for.
Options = dict[str, list[tuple[Requirement, Design]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """What is asked of several tables, with a strategy for every number."""

    query: Query
    asked: tuple[Asked, ...]
    strategies: Mapping[str, Strategy]

    def requirement(self, asked: Asked, name: str, width: float) -> Requirement:
        """What the numbers of a part are planned for."""
        moves, step = self.strategies[asked.label].parts[name], step_of(self.query, asked)
        whole, confidence = asked.quantity.is_whole, asked.confidence
        if whole:
            width, confidence = _on_whole(width, confidence)
        return Requirement(
            region=AbsoluteRegion.even(width),
            confidence=confidence,
            sensitivity=moves.steps * step,
            delta=self.query.delta,
            releases=moves.numbers,
            neighbors=self.query.neighbors,
            integer=whole,
            step=None if whole else step,
        )

    def planned(self, options: Options) -> Plan:
        """The plan of least epsilon that was found among these designs of its parts."""
        given = {name: options[name] for one in self.strategies.values() for name in one.parts}
        requirements = {}
        if self.query.aggregation.touched:
            touched = touched_number(self.query, [row[0][0] for row in given.values()])
            requirements[touched.label] = touched.requirement
        aside = ASIDE * self.query.delta if any(self.laws.values()) else 0.0
        while True:
            plan = plan_together(requirements, given=given, missing=aside, quick=True)
            needed = set_aside(plan, self.laws)
            if needed <= aside:
                break
            aside = 2 * needed
            if aside > MOST_ASIDE * self.query.delta:
                raise CannotCertifyError("What tables differ from their laws by is too much at this epsilon.")
        if any(self.ratio(asked, designs_of(plan, self.strategies[asked.label])) < 1 for asked in self.asked):
            raise CannotCertifyError("No noise was found with which all tables are as near as asked.")
        return plan

    def options(self, asked: Asked) -> Options:
        """For each part of a number the designs to choose from, the widest with which its tables are near.

        Laws for one of its numbers are scaled until that is so; those that cannot be scaled are taken if it
        is. Parts are looked at one after the other, the others having their first design.
        """
        strategy = self.strategies[asked.label]
        widths = _first(strategy, asked)
        made = {name: self.requirement(asked, name, width) for name, width in widths.items()}
        chosen: dict[str, Design] = {}
        found: dict[str, list[tuple[Requirement, Design]]] = {}
        own = strategy.own_designs(step_of(self.query, asked), asked.quantity.is_whole)
        for name in strategy.parts:
            chosen[name] = (own or fitted(made[name], FAMILIES, concave=True))[0]
        for name, moves in strategy.parts.items():
            rows = []
            for design in own or fitted(made[name], FAMILIES, concave=True):
                scaled = self._scaled(asked, name, chosen | {name: design})
                if scaled is not None:
                    rows.append((self._met(made[name], scaled), scaled))
            if not rows:
                raise CannotCertifyError("No noise was found with which all tables are as near as asked.")
            chosen[name] = rows[0][1]
            if not moves.concave and not own:
                others = (design for design in fitted(made[name], FAMILIES) if not is_concave(design))
                near = [one for one in others if self.ratio(asked, chosen | {name: one}, name) >= 1]
                rows += [(self._met(made[name], design), design) for design in near]
            found[name] = rows
        return found

    def _scaled(self, asked: Asked, name: str, designs: dict[str, Design]) -> Design | None:
        """The design of a part, as wide as its tables allow."""
        best: Design | None = None
        close = CLOSE_JOINT if designs[name].kernel.joint else CLOSE
        for _ in range(MOST_STEPS):
            ratio = self.ratio(asked, designs, name)
            if ratio >= 1:
                best = designs[name]
            if 1 <= ratio <= 1 + close or not math.isfinite(ratio):
                break
            # a little less than would just do, as widths are whole
            factor = ratio * (1 - close / 2)
            designs = designs | {name: scaled(designs[name], factor)}
        return best

    def ratio(self, asked: Asked, designs: Mapping[str, Design], name: str | None = None) -> float:
        """How much wider the tables may still be, or those that follow from one part."""
        strategy, step = self.strategies[asked.label], step_of(self.query, asked)
        found = math.inf
        for table, width in asked.widths.items():
            if name in (None, strategy.follows(table)):
                found = min(found, strategy.room(designs, table, asked.confidence, width / step))
        return found

    @staticmethod
    def _met(asked: Requirement, design: Design) -> Requirement:
        """The requirement that a design just meets: within the same width, or one as wide as joint noise is.

        Rows of joint noise are in other units than the tables.
        """
        if design.kernel.joint:
            far = NormalDist().inv_cdf((1 + asked.confidence) / 2)
            width = math.ceil(far * sigma_of(design)) * design.grid.step
            asked = replace(asked, region=AbsoluteRegion.even(width))
        inside = rounded_down(design.least_weight(design.grid.region_in_steps(asked.region)))
        return replace(asked, confidence=min(max(inside, 1e-6), 1 - 1e-12))

    @property
    def laws(self) -> dict[str, int]:
        """By part, how many tables stand for laws."""
        parts = (part for strategy in self.strategies.values() for part in strategy.parts.items())
        return {name: moves.laws for name, moves in parts}

    def table_plan(self, plan: Plan) -> TablePlan:
        quantities = {
            name: asked.quantity for asked in self.asked for name in self.strategies[asked.label].parts
        }
        if self.query.aggregation.touched:
            others = [part.requirement for part in plan.parts if part.name in quantities]
            touched = touched_number(self.query, others)
            quantities[touched.label] = touched.quantity
        numbers = [
            Number(label=part.name, quantity=quantities[part.name], requirement=part.requirement)
            for part in plan.parts
        ]
        return TablePlan(query=self.query, numbers=tuple(numbers), noise=plan, strategies=self.strategies)


def plan_several(query: Query) -> TablePlan:
    """The plan of least epsilon among all strategies, or with the narrowest cells for an epsilon."""
    if query.epsilon is not None:
        return _narrowest(query, query.epsilon)
    asked = asked_of(query, None)
    reasons: list[PbdpError] = []
    known = {one.label: _ways(query, one, reasons) for one in asked}
    if not all(known.values()):
        raise reasons[0]
    found: list[tuple[Several, Plan]] = []
    for choice in _choices(asked, known):
        several = Several(
            query=query, asked=asked, strategies={label: way[0] for label, way in choice.items()}
        )
        options = {name: row for _, rows in choice.values() for name, row in rows.items()}
        try:
            found.append((several, several.planned(options)))
        except CannotCertifyError as error:
            reasons.append(error)
    if not found:
        raise reasons[0]
    several, plan = min(found, key=lambda entry: entry[1].epsilon)
    return several.table_plan(plan)


def epsilon_alone(query: Query) -> float | None:
    """What it would cost if tables need not add up; None where they must."""
    try:
        alone = replace(query, add_up=False)
    except InputError:
        return None
    return plan_several(alone).epsilon


Way = tuple[Strategy, Options]


def _ways(query: Query, asked: Asked, reasons: list[PbdpError]) -> dict[str, Way]:
    """The strategies of one number by their kinds, each with the designs that its parts may have."""
    apart = _apart(query, asked)
    kinds = KINDS if query.running is None else RUNNING_KINDS
    tried = [apart] if apart is not None else [kind(query, asked) for kind in (*kinds, _alone)]
    made = [strategy for strategy in tried if strategy is not None]
    step = step_of(query, asked)
    widths = {table: width / step for table, width in asked.widths.items()}
    costs = [strategy.rough_cost(widths) if widths else 0.0 for strategy in made]
    found = {}
    for strategy, cost in zip(made, costs, strict=True):
        if cost > HOPELESS * min(costs):
            continue
        alone = Several(query=query, asked=(asked,), strategies={asked.label: strategy})
        try:
            found[strategy.kind] = strategy, alone.options(asked)
        except CannotCertifyError as error:
            reasons.append(error)
    return found


def _choices(asked: Sequence[Asked], known: Mapping[str, dict[str, Way]]) -> list[dict[str, Way]]:
    """One kind for all numbers as far as they have it, and for each the one that is best by itself."""

    def cost(way: Way) -> float:
        # about the variance of the loss: with many numbers that is what adds up
        strategy, rows = way
        return math.fsum(_cost(strategy.parts[name], row[0][1]) for name, row in rows.items())

    best = {one.label: min(known[one.label].values(), key=cost) for one in asked}
    kinds = dict.fromkeys(kind for ways in known.values() for kind in ways)
    uniform = [{one.label: known[one.label].get(kind, best[one.label]) for one in asked} for kind in kinds]
    return list({tuple(id(way) for way in choice.values()): choice for choice in [*uniform, best]}.values())


def _cost(moves: Moves, design: Design) -> float:
    table = design.table_at(0.0)
    spread = float(np.sum(np.square(table.values().astype(np.float64)) * table.probabilities()))
    return moves.numbers * moves.steps**2 / max(spread, 1e-9)


def asked_of(query: Query, factor: float | None) -> tuple[Asked, ...]:
    """What is asked of every number, once each."""
    every = [asked for measure in query.measures for asked in measure.asked(query, factor)]
    return tuple({asked.label: asked for asked in every}.values())


def _narrowest(query: Query, epsilon: float) -> TablePlan:
    """Noise on the cells; the widths of other tables follow."""

    def several(factor: float) -> Several:
        asked = asked_of(query, factor)
        made = {one.label: _apart(query, one) or _cells(query, one) for one in asked}
        return Several(query=query, asked=asked, strategies=made)

    def requirements(factor: float) -> dict[str, Requirement]:
        now = several(factor)
        made = {
            name: now.requirement(asked, name, asked.cells or next(iter(asked.widths.values())))
            for asked in now.asked
            for name in now.strategies[asked.label].parts
        }
        if query.aggregation.touched:
            touched = touched_number(query, list(made.values()))
            made[touched.label] = touched.requirement
        return made

    plan = narrowest_together(requirements, epsilon, quick=True)
    return several(1.0).table_plan(plan)


def _on_whole(width: float, confidence: float) -> tuple[float, float]:
    """A whole width and the confidence that stand for any width: what they would be of Gaussian noise."""
    whole = max(float(math.floor(width)), 1.0)
    normal = NormalDist()
    far = normal.inv_cdf((1 + confidence) / 2) * (whole + 0.5) / (width + 0.5)
    return whole, min(2 * normal.cdf(far) - 1, 1 - 1e-9)


def scaled(design: Design, factor: float) -> Design:
    """The design with wider noise: all lengths of its law times a factor."""
    record = kernel_record(design.kernel)
    lengths = known_families()[record["kernel"]].lengths
    parameters = record["parameters_in_steps"]
    longer = {name: value * factor if name in lengths else value for name, value in parameters.items()}
    return replace(design, kernel=kernel_from(record["kernel"], longer))


def _first(strategy: Strategy, asked: Asked) -> dict[str, float]:
    """Widths of parts to begin with: sums of n numbers are about the root of n times as far off."""
    found: dict[str, float] = {}
    for table, width in asked.widths.items():
        name = strategy.follows(table)
        share = width / math.sqrt(strategy.rows(table))
        found[name] = min(found.get(name, math.inf), share)
    widest = max(found.values(), default=asked.cells or 1.0)
    return {name: found.get(name, widest) for name in strategy.parts}


# ---- kinds of strategies


def change_of(query: Query, asked: Asked) -> Change:
    """What one person can do to the cells of a number, in steps."""
    quantity, value = asked.quantity, asked.quantity.value
    grid = LinearGrid(step=step_of(query, asked), rounded=not quantity.is_whole)
    signed = value is not None and (quantity.of == "sum from the middle" or value.fixed.low < 0)
    return Change(
        cells=min(query.groups_of_one, len(_margins(query).cells)),
        steps=grid.sensitivity_in_steps(quantity.sensitivity(query.neighbors)),
        people=Neighbors(query.neighbors).people,
        signed=signed,
    )


def step_of(query: Query, asked: Asked) -> float:
    """The step that a number is counted in: 1 for whole numbers, else fine against all widths."""
    quantity, margins = asked.quantity, _margins(query)
    if quantity.is_whole:
        return 1.0
    sensitivity = quantity.sensitivity(query.neighbors)
    widths = [width / margins.tables[table].largest for table, width in asked.widths.items()]
    least = min([*widths, *([asked.cells] if asked.cells is not None else [])])
    return step_of_at_least(
        sensitivity, min(math.ceil(sensitivity / (2 * FOR_STEPS * least)), MOST_IN_CHANGE)
    )


def _margins(query: Query) -> Margins:
    if query.margins is None:
        raise AssertionError("a query of several tables has margins")
    return query.margins


def _cells(query: Query, asked: Asked) -> Strategy:
    return Cells(
        label=asked.label,
        margins=_margins(query),
        change=change_of(query, asked),
        rounded=not asked.quantity.is_whole,
    )


def _separate(query: Query, asked: Asked) -> Strategy | None:
    """Noise of its own for the finest table, and for those that must be nearer than its sums are."""
    margins = _margins(query)
    if margins.chain is None or not asked.widths:
        return None
    finest = margins.chain[-1]
    cells = asked.widths.get(finest)
    measured = [finest]
    for table, width in asked.widths.items():
        size = int(margins.tables[table].sizes.max())
        if table != finest and (cells is None or width < cells * math.sqrt(size)):
            measured.append(table)
    made = _measured(query, asked, measured) if len(measured) > 1 else None
    return made if made is not None and made.kinds <= MOST_KINDS else None


def _measured(query: Query, asked: Asked, measured: Sequence[int]) -> Separate | None:
    """Nested tables of which these have noise of their own."""
    margins = _margins(query)
    if margins.chain is None or margins.chain[-1] not in measured:
        return None
    return Separate(
        label=asked.label,
        margins=margins,
        change=change_of(query, asked),
        measured=tuple(sorted(set(measured))),
        rounded=not asked.quantity.is_whole,
    )


def _apart(query: Query, asked: Asked) -> Strategy | None:
    """People who may be in several cells do not add up."""
    if asked.quantity.of != "people" or query.groups_of_one == 1:
        return None
    return Apart(label=asked.label, margins=_margins(query), change=change_of(query, asked))


def _alone(query: Query, asked: Asked) -> Strategy | None:
    """Others need not add up if the query says so."""
    if query.add_up:
        return None
    rounded = not asked.quantity.is_whole
    change = change_of(query, asked)
    return Alone(label=asked.label, margins=_margins(query), change=change, rounded=rounded)


def strategy_from(query: Query, asked: Asked, record: Mapping[str, Any]) -> Strategy:
    """The strategy of a record, for a number of a query; refused if it cannot be one."""
    margins = _margins(query)
    if query.running is not None and record.get("kind") not in ("cells", "running"):
        record = {}
    match record:
        case {"kind": "cells"}:
            made: Strategy | None = _apart(query, asked) or _cells(query, asked)
        case {"kind": "separate", "measured": [*labels]} if set(labels) <= set(margins.labels):
            made = _measured(query, asked, [margins.labels.index(label) for label in labels])
        case {"kind": "apart"}:
            made = _apart(query, asked)
        case {"kind": "alone"} if _apart(query, asked) is None:
            made = _alone(query, asked)
        case {"kind": "residual", "weights": [*listed]} if margins.is_grid:
            made = _with_weights(query, asked, _weights_from(margins, listed))
        case {"kind": "running", "weights": [*listed]} if query.running is not None:
            days = _so_far(query).shape[1]
            made = _running_with(query, asked, tuple(listed)) if is_sound(listed, days) else None
        case _:
            made = None
    if made is None or made.record() != dict(record):
        raise InputError(f"strategy of {asked.label}", "one of several tables", ascii(record.get("kind")))
    return made


def _residual(query: Query, asked: Asked) -> Strategy | None:
    """Gaussian noise on the residuals of all margins of a grid."""
    margins = _margins(query)
    every = [set(table.columns) for table in margins.tables]
    open_ones = [at for at, named in enumerate(every) if at not in asked.widths]
    # a table without a width is as near as those with more columns make it
    if any(not any(every[at] < every[other] for other in asked.widths) for at in open_ones):
        return None
    if not asked.widths or not margins.is_grid or min(margins.lengths, default=1) < 2:
        return None
    if len(margins.lengths) > MOST_COLUMNS or sum(2 ** len(one) for one in every) > MOST_RESIDUALS:
        return None
    normal = NormalDist().inv_cdf((1 + asked.confidence) / 2)
    step = step_of(query, asked)
    variances = {table: (width / step / normal) ** 2 for table, width in asked.widths.items()}
    change = change_of(query, asked)
    return _with_weights(query, asked, best_weights(margins, change, variances))


def _with_weights(query: Query, asked: Asked, weights: Mapping[frozenset[int], int]) -> Residual:
    return Residual(
        label=asked.label,
        margins=_margins(query),
        change=change_of(query, asked),
        weights=weights,
        rounded=not asked.quantity.is_whole,
    )


def _weights_from(margins: Margins, listed: Sequence[Any]) -> dict[frozenset[int], int]:
    """The weights of residuals in a record, which has all that the tables need."""
    found = {frozenset(margins.columns.index(name) for name in names): weight for names, weight in listed}
    sound = all(
        isinstance(weight, int) and not isinstance(weight, bool) and weight > 0 for weight in found.values()
    )
    if not sound or list(found) != residuals_of(margins):
        raise InputError("weights of residuals", "whole numbers, one for each of them", "others")
    return found


def _running(query: Query, asked: Asked) -> Strategy | None:
    """Gaussian noise on weighted sums of the days so far."""
    normal = NormalDist().inv_cdf((1 + asked.confidence) / 2)
    spread = min(asked.widths.values()) / step_of(query, asked) / normal
    weights = root_weights(_so_far(query), change_of(query, asked), spread)
    return None if weights is None else _running_with(query, asked, weights)


def _running_with(query: Query, asked: Asked, weights: Weights) -> Running:
    return Running(
        label=asked.label,
        margins=_margins(query),
        change=change_of(query, asked),
        weights=weights,
        rounded=not asked.quantity.is_whole,
    )


def _so_far(query: Query) -> RunningMargin:
    (table,) = _margins(query).tables
    if not isinstance(table, RunningMargin):
        raise AssertionError("running totals have a table of their own")
    return table


# The kinds of strategies that are compared, of several tables and of running totals.
KINDS: tuple[Kind, ...] = (_cells, _separate, _residual)
RUNNING_KINDS: tuple[Kind, ...] = (_cells, _running)

# ---- what is set aside


def designs_of(plan: Plan, strategy: Strategy) -> dict[str, Design]:
    """The noise of the parts of a strategy."""
    designs = {part.name: part.design for part in plan.parts if part.name in strategy.parts}
    return {name: design for name, design in designs.items() if isinstance(design, Design)}


def set_aside(plan: Plan, laws: Mapping[str, int]) -> float:
    """m = (1 + e^E)·η + d(E), for an E at which d is a small part of what the plan sets aside; rounded up."""
    off = 0.0
    for part in plan.parts:
        if count := laws.get(part.name, 0):
            design = part.design
            if not isinstance(design, Design):
                raise AssertionError("parts of tables are numbers")
            joint = design.kernel.joint
            off += count * (design.found_error() if joint else design.table_at(0.0).log_concave_error())
    if off == 0:
        return 0.0
    composed = compose([(release_of(part), part.composed) for part in plan.parts])
    small = (plan.missing or ASIDE * (plan.delta or 0.0)) / 4
    far = composed.epsilon_at(small).upper
    if not math.isfinite(far) or far > 600:
        return math.inf
    return ((1 + math.exp(far)) * off + small) * (1 + 1e-9)
