"""Whom the bounds touched: how many people's contributions were cut, published beside a table.

Widths and intervals of a table speak of the bounded numbers. These say whether that matters: the numbers of
`pbdp.tables.bounded`, each with noise of its own that is part of the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pbdp.digits import percent_down
from pbdp.noise.kernel import Array
from pbdp.tables.measures import Column, Measure
from pbdp.tables.numbers import TOUCHED

if TYPE_CHECKING:
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedCount:
    """A published number of people, with its interval. `of` is a name of `touched_names`."""

    of: str
    meaning: str
    value: int
    low: int
    high: int
    confidence: float

    @property
    def interval(self) -> str:
        """The ends in words."""
        return f"{self.low:,} to {self.high:,}"


def touched_counts(plan: TablePlan, values: Mapping[str, Column]) -> tuple[TouchedCount, ...]:
    """The published numbers with their intervals; none where they were not asked for."""
    names = plan.query.aggregation.touched_names
    if not names:
        return ()
    released = values[TOUCHED]
    # of a number that cannot be true, the interval of the nearest one that can
    near = np.where(released < 0, 0.0, released.astype(np.float64))
    found = plan.part(TOUCHED).releaser.intervals(near, None)
    return tuple(
        TouchedCount(
            of=name,
            meaning=touched_meaning(plan.query, name),
            value=int(value),
            low=max(int(low), 0),
            high=max(int(high), 0),
            confidence=found.confidence,
        )
        for name, value, low, high in zip(names, released, found.low, found.high, strict=True)
    )


def without_bounds(
    plan: TablePlan, counts: tuple[TouchedCount, ...], measure: Measure, low: Array, high: Array
) -> tuple[Array, Array, float] | None:
    """Ends of intervals for the numbers without bounds, and what to take off the confidence; None if unknown.

    Bounds only ever take people and rows away. A group lacks at most the people who are in too many groups;
    how many rows are missing, nobody can tell. Sums and means may be off on either side.
    """
    if not counts or measure.kind not in ("people", "count"):
        return None
    if measure.kind == "count" and plan.query.unit is not None:
        return low, np.full(len(high), np.inf), 0.0
    missing = next((one for one in counts if one.of == "groups"), counts[1])
    return low, high + missing.high, 1 - missing.confidence


def touched_meaning(query: Query, name: str) -> str:
    """Who is counted, in words."""
    match name:
        case "people":
            return "people in the table"
        case "touched":
            return "people whose contribution the bounds cut"
        case "groups":
            return f"people in more than {query.groups_per_person} groups"
        case "rows":
            return f"people with more than {query.rows_per_group} rows in a group"
    return "people with values outside of their bounds"


def touched_words(counts: tuple[TouchedCount, ...]) -> str:
    """A sentence on whom the bounds touched."""
    everyone, cut, *each = counts
    words = f"The bounds touched about {max(cut.value, 0):,} of {max(everyone.value, 0):,} people"
    words += f" (between {cut.low:,} and {cut.high:,}, with confidence {percent_down(cut.confidence)})"
    parts = [f"{one.meaning.removeprefix('people ')}: {max(one.value, 0):,}" for one in each]
    return f"{words}; {'; '.join(parts)}." if parts else f"{words}."
