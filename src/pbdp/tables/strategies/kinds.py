"""The kinds of strategies that the numbers of several tables may have, made from a query and from records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np

from pbdp.errors import InputError, shown
from pbdp.mechanism.grid import LARGEST_FACTOR, grid_of_step, step_of_at_least
from pbdp.mechanism.neighbors import Neighbors
from pbdp.tables.margins import Margins, RunningMargin, parents
from pbdp.tables.numbers import Asked
from pbdp.tables.query import Query
from pbdp.tables.strategies.cells import Cells
from pbdp.tables.strategies.cumulative import MOST_CORNERS
from pbdp.tables.strategies.independent import IndependentPeople, IndependentSums
from pbdp.tables.strategies.joint import FIRST_SIGMA, largest_sigma, share_of_tables
from pbdp.tables.strategies.residual import Residual
from pbdp.tables.strategies.residual_weights import (
    MOST_COLUMNS,
    MOST_KEYS,
    MOST_RESIDUALS,
    Axes,
    best_weights,
    residuals_of,
)
from pbdp.tables.strategies.running import Running, is_sound, root_weights
from pbdp.tables.strategies.separate import MOST_KINDS, PARTS, Separate, least_squares, moves_of
from pbdp.tables.strategies.strategy import Change, Strategy

# Of the widths of tables this is left to the rounding of sums to steps; more of tables that cost less than so
# much of all of them. Noise in finer steps takes longer to plan and to draw.
FOR_STEPS, FOR_STEPS_LIGHT, LIGHT = 0.01, 0.05, 0.02
# The same where rows are rounded; whole numbers that add up lose so many half steps besides.
FOR_ROWS, FOR_ROWS_LIGHT, WHOLE = 0.004, 0.02, 4
# Rows of whole numbers are rounded to steps of no less.
LEAST_COARSE = 3
MOST_IN_CHANGE = 1 << 16
# About the least σ of rows with joint noise that is looked at first, and then; and the share of delta that
# their tables may take of it by estimates.
LEAST_SIGMAS = FIRST_SIGMA, FIRST_SIGMA / 4
MOST_FOR_TABLES = 0.06

Kind = Callable[[Query, Asked], Strategy | None]
S = TypeVar("S", bound=Strategy)


def change_of(query: Query, asked: Asked, step: float | None = None, *, rows: bool = False) -> Change:
    """What one person can do to the cells of a number, in steps; the planner's, unless another is given.

    Cells are rounded to steps, or `rows` (`strategy`).
    """
    quantity, value = asked.quantity, asked.quantity.value
    grid = grid_of_step(step or step_of(query, asked), quantity.is_whole)
    signed = value is not None and (quantity.of == "sum from the middle" or value.fixed.low < 0)
    return Change(
        cells=min(query.groups_of_one, len(_margins(query).cells)),
        steps=grid.sensitivity_in_steps(quantity.alone),
        people=Neighbors(query.neighbors).people,
        signed=signed,
        swapped=grid.sensitivity_in_steps(quantity.sensitivity(query.neighbors)),
        lost=grid.lost,
        step=grid.step,
        rows_rounded=rows,
    )


def step_of(query: Query, asked: Asked, lost: Mapping[int, float] | None = None) -> float:
    """The step that a number is counted in, fine against all widths.

    Cells that are rounded to it are added up, so whole ones are not. Where rows are, so many half steps are
    `lost` of each table.
    """
    quantity, margins = asked.quantity, _margins(query)
    if quantity.is_whole and lost is None:
        return 1.0
    sensitivity = quantity.alone
    one = Change(cells=min(query.groups_of_one, len(margins.cells)), steps=1)
    costs = {}
    for at, width in asked.widths.items():
        moves = moves_of(margins.tables[at], one)
        costs[at] = moves.numbers * (moves.steps / width) ** 2
    light = {at for at, cost in costs.items() if cost < LIGHT * math.fsum(costs.values())}
    shares = (FOR_STEPS, FOR_STEPS_LIGHT) if lost is None else (FOR_ROWS, FOR_ROWS_LIGHT)
    rounding = [
        shares[at in light] * width / (margins.tables[at].largest if lost is None else lost[at])
        for at, width in asked.widths.items()
    ]
    least = min([*rounding, *([FOR_STEPS * asked.cells] if asked.cells is not None else [])])
    if quantity.is_whole:
        return whole_step(sensitivity, 2 * least)
    return step_of_at_least(sensitivity, min(math.ceil(sensitivity / (2 * least)), MOST_IN_CHANGE))


def whole_step(sensitivity: float, most: float) -> float:
    """A whole step of at most so much, of which a whole number makes up the sensitivity, or little more."""
    most = min(most, sensitivity)
    if most < LEAST_COARSE:
        return 1.0
    unit = 1 << max(math.floor(most).bit_length() - LARGEST_FACTOR.bit_length() + 1, 0)
    tried = range(math.ceil(most / (2 * unit)), math.floor(most / unit) + 1)
    return float(unit * min(tried, key=lambda one: (math.ceil(sensitivity / (one * unit)) * one, -one)))


def _margins(query: Query) -> Margins:
    if query.margins is None:
        raise AssertionError("a query of several tables has margins")
    return query.margins


def _made(kind: Callable[..., S], query: Query, asked: Asked, change: Change | None = None, **own: Any) -> S:
    """A strategy for a number, with what those of its kind have of their own."""
    change = change or change_of(query, asked)
    return kind(label=asked.label, margins=_margins(query), change=change, **own)


def _cells(query: Query, asked: Asked) -> Strategy:
    return _made(Cells, query, asked)


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
    made = _measured(query, asked, measured, rows=True) if len(measured) > 1 else None
    if made is None:
        return None
    tree = replace(made, upward=_upward(made, asked))
    found = next((one for one in (tree, made) if one.kinds <= MOST_KINDS), None)
    if found is None:
        return None
    return replace(
        found, change=_of_rows(query, asked, {at: WHOLE + found.rows_weight(at) for at in asked.widths})
    )


def _of_rows(query: Query, asked: Asked, lost: Mapping[int, float]) -> Change:
    """What one person can do if rows are rounded, with so many half steps lost of each table."""
    step = step_of(query, asked, lost)
    return change_of(query, asked, step, rows=not asked.quantity.is_whole or step > 1)


def _shared(query: Query, asked: Asked) -> Strategy | None:
    """The same, with a total that shares the noise of the next finer table."""
    made = _separate(query, asked)
    if not isinstance(made, Separate) or not made.can_be_shared:
        return None
    # the cells of people with several of them are cheaper by themselves
    finer = made.margins.tables[made.chain[1]]
    return replace(made, shared=True) if made.change.cells == 1 or finer.largest > 1 else None


def _upward(separate: Separate, asked: Asked) -> tuple[int, ...]:
    """What goes up to each measured table, as they are listed; none if it is nothing."""
    tables, chain = separate.margins.tables, separate.chain
    if any(at not in asked.widths for at in chain):
        return ()
    rows = [int(np.bincount(parents(tables[at], tables[finer])).max()) for at, finer in pairwise(chain)]
    found = dict(zip(chain, least_squares(rows, [asked.widths[at] for at in chain]), strict=True))
    return tuple(found[at] for at in separate.measured) if any(found.values()) else ()


def _measured(
    query: Query, asked: Asked, measured: Sequence[int], upward: Sequence[Any] = (), *, rows: bool
) -> Separate | None:
    """Nested tables of which these have noise of their own, and so much of the finer ones.

    Cells are rounded to steps, or `rows`.
    """
    margins = _margins(query)
    if margins.chain is None or margins.chain[-1] not in measured:
        return None
    shares = dict(zip(measured, upward, strict=True)) if upward else {}
    sound = all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one < PARTS for one in upward)
    told_twice = bool(upward) and len(shares) < len(measured)
    if not sound or told_twice or shares.get(margins.chain[-1]):
        return None
    made = tuple(sorted(set(measured)))
    shared = tuple(shares[at] for at in made if shares)
    change = change_of(query, asked, rows=rows)
    return _made(Separate, query, asked, change, measured=made, upward=shared)


def _independent_people(query: Query, asked: Asked) -> Strategy | None:
    """People who may be in several cells do not add up."""
    if asked.quantity.of != "people" or query.groups_of_one == 1:
        return None
    return IndependentPeople(label=asked.label, margins=_margins(query), change=change_of(query, asked))


def _independent_sums(query: Query, asked: Asked, change: Change | None = None) -> Strategy | None:
    """Others need not add up if the query says so."""
    if query.add_up:
        return None
    change = change or _of_rows(query, asked, dict.fromkeys(asked.widths, 1.0))
    return _made(IndependentSums, query, asked, change)


def strategy_from(query: Query, asked: Asked, record: Mapping[str, Any]) -> Strategy:
    """The strategy of a record, for a number of a query in today's steps; refused if it cannot be one."""
    margins = _margins(query)
    if query.running is not None and record.get("kind") not in ("cells", "running"):
        record = {}
    rows = record.get("rounded") == "rows"
    match record:
        case {"kind": "cells"}:
            made: Strategy | None = simplest(query, asked)
        case {"kind": "separate", "measured": [*labels]} if set(labels) <= set(margins.labels):
            places, upward = [margins.labels.index(label) for label in labels], record.get("upward", [])
            fits = isinstance(upward, list) and len(upward) in (0, len(places))
            made = _measured(query, asked, places, upward, rows=rows) if fits else None
            if isinstance(made, Separate) and "shared" in record:
                made = replace(made, shared=True) if made.can_be_shared else None
        case {"kind": "independent people"}:
            made = _independent_people(query, asked)
        case {"kind": "independent sums"} if _independent_people(query, asked) is None:
            made = _independent_sums(query, asked, change_of(query, asked, rows=rows))
        case {"kind": "residual", "weights": [*listed]} if margins.is_grid:
            weights, cumulative = _weights_from(margins, listed), record.get("cumulative", False) is True
            short = record.get("short", MOST_KEYS)
            sound = isinstance(short, int) and not isinstance(short, bool) and 1 <= short <= MOST_KEYS
            own = {"weights": weights, "cumulative": cumulative, "short": short}
            made = _made(Residual, query, asked, **own) if sound else None
        case {"kind": "running", "weights": [*listed]} if query.running is not None:
            days = _so_far(query).shape[1]
            sound = is_sound(listed, days)
            made = _made(Running, query, asked, weights=tuple(listed)) if sound else None
        case _:
            made = None
    if made is None or made.record() != dict(record):
        raise InputError(f"strategy of {asked.label}", "one of several tables", shown(record.get("kind")))
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
    found: list[tuple[float, float, Residual]] = []
    for least, axes in product(LEAST_SIGMAS, Axes(lengths=margins.lengths).coarser()):
        if axes.short == MOST_KEYS and any(share <= MOST_FOR_TABLES for share, *_ in found):
            break
        share, cost, way = _weighted(query, asked, axes, least)
        found.append((share, cost, way))
        if largest_sigma(way.touched, math.sqrt(cost), query.delta) >= least:
            break
    sound = [entry for entry in found if entry[0] <= MOST_FOR_TABLES]
    return min(sound, key=lambda entry: entry[1])[2] if sound else min(found, key=lambda entry: entry[0])[2]


def _weighted(query: Query, asked: Asked, axes: Axes, least: float) -> tuple[float, float, Residual]:
    """Good weights of residuals, about what they cost, and about the share of delta that tables take."""
    margins, change = _margins(query), change_of(query, asked)
    best = partial(best_weights, margins, change, delta=query.delta, axes=axes, least=least)
    widths = {table: width / change.step for table, width in asked.widths.items()}
    normal = NormalDist().inv_cdf((1 + asked.confidence) / 2)
    weights = best({table: (one / normal) ** 2 for table, one in widths.items()})
    ways = [_made(Residual, query, asked, change, weights=weights, short=axes.short)]
    if 2 ** max(len(table.columns) for table in margins.tables) <= MOST_CORNERS:
        whole = replace(ways[0], cumulative=True)
        allowed = whole.variances(widths, asked.confidence)
        if allowed is not None:
            ways.append(replace(whole, weights=best(allowed)))
    cost, way = min(((one.cost(widths, asked.confidence), one) for one in ways), key=lambda entry: entry[0])
    mean, sigma = math.sqrt(cost), math.sqrt(way.squared_length() / cost)
    return share_of_tables(way.touched, mean, sigma, query.delta), cost, way


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
    return None if weights is None else _made(Running, query, asked, weights=weights)


def _so_far(query: Query) -> RunningMargin:
    (table,) = _margins(query).tables
    if not isinstance(table, RunningMargin):
        raise AssertionError("running totals have a table of their own")
    return table


# The kinds of strategies that are compared, of several tables and of running totals.
KINDS: tuple[Kind, ...] = (_cells, _separate, _shared, _residual)
RUNNING_KINDS: tuple[Kind, ...] = (_cells, _running)


def strategies_of(query: Query, asked: Asked) -> list[Strategy]:
    """Those that a number may have; what need not add up may have noise of its own for every table."""
    people = _independent_people(query, asked)
    if people is not None:
        return [people]
    kinds = KINDS if query.running is None else RUNNING_KINDS
    made = (kind(query, asked) for kind in (*kinds, _independent_sums))
    return [strategy for strategy in made if strategy is not None]


def simplest(query: Query, asked: Asked) -> Strategy:
    """Noise on the cells, or on every table where these do not add up."""
    return _independent_people(query, asked) or _cells(query, asked)
