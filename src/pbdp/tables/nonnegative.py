"""Non-negative numbers on request: a column beside the certified numbers, made of these alone.

Noise makes some numbers of small groups negative. They are published as they were drawn, because sums over
groups stay unbiased that way and widths are certified for them. With `nonnegative` every number that cannot
truly be negative has another one beside it: itself, or 0. Of several tables that add up these add up too.
They follow from what is published, so they cost nothing; `verify` makes them again.
Nothing is certified of how near they are.

**Several tables.** Cutting off each number of tables that add up at zero would make them too large, and they
would not add up any more. So every group shares out its own number among its parts:

1. The total is the published one, or 0.
2. From coarse tables to fine ones, a table's published numbers, or 0 where they are negative, are scaled to
   add up to each coarser table's: once where tables are nested, and by turns where they are not (iterative
   proportional fitting; Deming and Stephan 1940). Where all parts of a group are 0 and the group is not,
   they have equal shares. What tables have in common is among them, whether it is asked for or not.
3. The groups by all columns get whole numbers of steps, in proportion and by largest remainders, the first of
   equal ones first, along a row of nested tables. Other tables are their sums.

If nothing is negative, numbers that are whole stay as they are. The same published numbers always give the
same: sums are taken in the order of the groups, and shares by whole numbers of any length. Nothing here looks
at anything but what is published, and nothing is certified of it: how far such a number is off depends on the
others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.errors import ContradictionError
from pbdp.noise.kernel import Array, Index
from pbdp.tables.margins import Margin, Margins, parents, summed
from pbdp.tables.numbers import worth

if TYPE_CHECKING:
    from pbdp.tables.measure import Column, Measure
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query


SUFFIX = "_nonnegative"
NOTE = "the number, or 0 if it is negative; no width is certified for it"
NOTE_SEVERAL = "a number that is not negative, made so that tables add up; no width is certified for it"
# Numbers of several tables are whole steps, or these parts of them.
_PARTS = 2.0**20


def nonnegative_names(query: Query) -> list[str]:
    """The columns of non-negative numbers; none where they are not asked for."""
    return [measure.name + SUFFIX for measure in _measures(query)] if query.nonnegative else []


def nonnegative_note(query: Query, name: str) -> str:
    """What such a column means."""
    people = any(one.kind == "people" and one.name + SUFFIX == name for one in query.measures)
    return NOTE_SEVERAL if _adds_up(query) and not (people and query.groups_of_one > 1) else NOTE


def _measures(query: Query) -> list[Measure]:
    """Those of which noise makes negative numbers that cannot be true; means keep within their bounds."""
    return [one for one in query.measures if not one.derived and one.ends(query)[0] >= 0]


def _adds_up(query: Query) -> bool:
    return query.margins is not None and query.running is None and query.add_up


def check_nonnegative(query: Query) -> None:
    """Refuse what has no such numbers, or none that could be made again from what is published."""
    if not query.nonnegative:
        return
    if not _measures(query):
        remedy = "Counts, people and sums with a low of 0 or more have such numbers. Leave it out."
        raise ContradictionError("nonnegative", "used with a count or sum of 0 or more", "none", remedy)
    if query.withhold and _adds_up(query):
        remedy = "Tables could not be added up again without the numbers that are left out."
        raise ContradictionError("nonnegative", "used without withhold in several tables", "both", remedy)


def nonnegative_columns(query: Query, columns: Mapping[str, Column]) -> dict[str, Column]:
    """The columns of one table, from its published numbers; of several that add up they are known already."""
    made = {}
    for name in nonnegative_names(query):
        known = columns.get(name)
        made[name] = np.maximum(columns[name.removesuffix(SUFFIX)], 0) if known is None else known
    return made


def nonnegative_tables(plan: TablePlan, tables: Sequence[Mapping[str, Column]]) -> list[dict[str, Column]]:
    """The same for several tables, by the numbers of each; nothing of numbers that do not add up."""
    query = plan.query
    found: list[dict[str, Column]] = [{} for _ in tables]
    if query.margins is None or not query.nonnegative or not _adds_up(query):
        return found
    for measure in _measures(query):
        if not plan.strategies[measure.name].adds_up:
            continue
        part, step = plan.part(next(iter(plan.strategies[measure.name].parts))), plan.step(measure.name)
        # a number divided by its step may be off in its last digits
        numbers = [np.rint(table[measure.name] / step * _PARTS) / _PARTS for table in tables]
        for made, own in zip(found, above_zero(query.margins, numbers), strict=True):
            made[measure.name + SUFFIX] = worth(own, part)
    return found


# -------------------------------------------------------------------------------------------- several tables


# Tables are fitted to coarser ones until all sums are as near as this, in steps, or so many times.
NEAR, MOST_TURNS = 0.01, 100
# Beside several coarser tables no part is nothing: others may need it.
TINY = 2.0**-30
# Shares are held in parts of a step, of which there are at most so many.
PARTS, MOST_PARTS = 2.0**20, 2.0**61

Named = frozenset[str]


def above_zero(margins: Margins, tables: Sequence[Array]) -> list[Index]:
    """Whole numbers of steps for all tables, none below 0, which add up."""
    known = {frozenset(table.columns): table for table in margins.tables}
    numbers = {frozenset(table.columns): own for table, own in zip(margins.tables, tables, strict=True)}
    every: Named = frozenset(margins.columns)
    fitted: dict[Named, Array] = {}
    for named in sorted({*_in_common(known), frozenset(), every}, key=lambda one: (len(one), sorted(one))):
        table = known.setdefault(named, margins.margin(named))
        whole = named if named in numbers else next((one for one in numbers if one > named), None)
        # where no table tells of them
        start: Array = np.ones(len(table))
        if whole is not None:
            inside = parents(table, known[whole])
            start = np.bincount(inside, weights=numbers[whole], minlength=len(table)).astype(np.float64)
        coarser = [one for one in fitted if one < named and not any(one < two < named for two in fitted)]
        targets = [(parents(known[one], table), fitted[one]) for one in coarser]
        fitted[named] = _fitted(np.maximum(start, 0.0), targets)
    row: Named = frozenset()
    found = np.rint(fitted[row]).astype(np.int64)
    for named in sorted((*numbers, every), key=len):
        if row < named:
            found = _shared(found, parents(known[row], known[named]), fitted[named])
            row = named
    return [summed(table, known[every], found) for table in margins.tables]


def _in_common(tables: Sequence[Named] | dict[Named, Margin]) -> set[Named]:
    """Tables, and all that are common to some of them."""
    found = set(tables)
    while more := {one & two for one, two in combinations(found, 2)} - found:
        found |= more
    return found


def _fitted(numbers: Array, targets: Sequence[tuple[Index, Array]]) -> Array:
    """The numbers, scaled so that they add up to the targets of the groups that they are in."""
    for of_group, target in targets:
        empty = np.bincount(of_group, weights=numbers, minlength=len(target)) == 0
        numbers = np.where(empty[of_group], 1.0, numbers)
    numbers = np.maximum(numbers, TINY) if len(targets) > 1 else numbers
    for _ in range(MOST_TURNS if len(targets) > 1 else len(targets)):
        furthest = 0.0
        for of_group, target in targets:
            sums = np.bincount(of_group, weights=numbers, minlength=len(target))
            furthest = max(furthest, float(np.max(np.abs(sums - target))))
            factor = np.divide(target, sums, out=np.zeros_like(target), where=sums > 0)
            numbers = numbers * factor[of_group]
        if furthest <= NEAR:
            break
    return numbers


def _shared(groups: Index, of_group: Index, shares: Array) -> Index:
    """Whole numbers of the parts of groups in proportion to their shares, by largest remainders."""
    parts = min(PARTS, MOST_PARTS / max(float(shares.sum()), 1.0))
    held: Any = np.rint(shares * 2.0 ** np.floor(np.log2(parts))).astype(np.int64)
    sums = np.zeros(len(groups), dtype=np.int64)
    np.add.at(sums, of_group, held)
    held = np.where((sums == 0)[of_group], 1, held)
    sums = np.where(sums == 0, np.bincount(of_group, minlength=len(groups)), sums)
    # products do not fit into 64 bits
    wanted, unit = held.astype(object) * groups[of_group], sums.astype(object)[of_group]
    found, rest = (wanted // unit).astype(np.int64), (wanted % unit / unit).astype(np.float64)
    lacking = groups.copy()
    np.subtract.at(lacking, of_group, found)
    order = np.lexsort((-rest, of_group))
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_group, minlength=len(groups)))[:-1]])
    place = np.empty(len(found), dtype=np.int64)
    place[order] = np.arange(len(found)) - starts[of_group[order]]
    return np.asarray(found + (place < lacking[of_group]))
