"""Non-negative numbers on request: a column beside the certified numbers, made of these alone.

Noise makes some numbers of small groups negative. They are published as they were drawn, because sums over
groups stay unbiased that way and widths are certified for them. With `nonnegative` every number that cannot
truly be negative has another one beside it: itself, or 0. Of several tables that add up these add up too
(`strategies.shares`). They follow from what is published, so they cost nothing; `verify` makes them again.
Nothing is certified of how near they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pbdp.errors import ContradictionError, InputError
from pbdp.tables.numbers import worth
from pbdp.tables.strategies.shares import above_zero

if TYPE_CHECKING:
    from pbdp.tables.measures import Column, Measure
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
    if not isinstance(query.nonnegative, bool):
        raise InputError("nonnegative", "true or false", repr(query.nonnegative))
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
