"""Whom the bounds touched: how many people's contributions were cut, published beside a table.

Widths and intervals of a table speak of the bounded numbers. These say whether that matters: the numbers of
`pbdp.tables.bounded`, each with noise of its own that is part of the same plan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.digits import percent_down
from pbdp.mechanism.design import AnyDesign
from pbdp.noise.kernel import Array
from pbdp.release.combination import Term, law_of_sum
from pbdp.tables.measure import Column, Measure
from pbdp.tables.numbers import TOUCHED, touched_names

if TYPE_CHECKING:
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query


# Intervals of those whom bounds touched that are longer than this share of all people say little.
COARSE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedCount:
    """A published number of people, with its interval.

    `of` is `people`, `touched` or a bound that cut them: `groups`, `rows`, `values`.
    """

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
    """The published numbers with their intervals; none where they are not told.

    What is released in parts is added up: the width of a sum follows from the convolution of its parts.
    """
    names = touched_names(plan.query)
    if not names:
        return ()
    part, released = plan.part(TOUCHED), values[TOUCHED]
    if plan.query.bounds_touched is not None:
        # of a number that cannot be true, the interval of the nearest one that can
        near = np.where(released < 0, 0.0, released.astype(np.float64))
        found = part.releaser.intervals(near, None)
        return tuple(
            _count(plan.query, name, value, (low, high), found.confidence)
            for name, value, low, high in zip(names, released, found.low, found.high, strict=True)
        )
    sums = {"people": released, "touched": released[1:]}
    sums |= {name: released[at : at + 1] for at, name in enumerate(names) if at and len(names) > 2}
    confidence = plan.query.confidence_touched
    counts = []
    for name, added in sums.items():
        value, width = int(added.sum()), _width(part.design, len(added), confidence)
        ends = max(value, 0) - width, max(value, 0) + width
        counts.append(_count(plan.query, name, value, ends, confidence))
    return tuple(counts)


def touched_released(query: Query, counts: Sequence[Mapping[str, Any]]) -> Column | None:
    """What was released, from the published numbers; None if they are not those of this query."""
    values = {str(one["of"]): one["value"] for one in counts}
    bounds = query.aggregation.cutting
    if list(values) != ["people", "touched", *(bounds if len(bounds) > 1 else ())]:
        return None
    if query.bounds_touched is None:
        values["untouched"] = values["people"] - values["touched"]
        if len(bounds) == 1:
            values[bounds[0]] = values["touched"]
    return np.array([values[name] for name in touched_names(query)], dtype=np.int64)


@lru_cache(maxsize=64)
def _width(design: AnyDesign, count: int, confidence: float) -> int:
    """How far a sum of so many numbers is off at most, with the confidence."""
    law = law_of_sum([Term(table=design.table_at(0.0), count=count)])
    return math.ceil(law.half_width(confidence))


def _count(query: Query, name: str, value: int, ends: tuple[float, float], confidence: float) -> TouchedCount:
    low, high = (max(int(end), 0) for end in ends)
    meaning = touched_meaning(query, name)
    return TouchedCount(of=name, meaning=meaning, value=int(value), low=low, high=high, confidence=confidence)


def without_bounds(
    plan: TablePlan, counts: tuple[TouchedCount, ...], measure: Measure, low: Array, high: Array
) -> tuple[Array, Array, float] | None:
    """Ends of intervals for the numbers without bounds, and what to take off the confidence; None if unknown.

    Bounds only ever take people and rows away. A group lacks at most the people who are in too many groups;
    how many rows are missing, nobody can tell. Sums and means may be off on either side. A person with
    one row is never left out.
    """
    if not counts or measure.kind not in ("people", "count") or plan.query.unit is None:
        return None
    if measure.kind == "count":
        return low, np.full(len(high), np.inf), 0.0
    missing = next((one for one in counts if one.of == "groups"), counts[1])
    return low, high + missing.high, 1 - missing.confidence


def touched_meaning(query: Query, name: str) -> str:
    """Who is counted, in words; parts of all people hold nobody twice."""
    words = {
        "people": "people in the table",
        "touched": "people whose contribution the bounds cut",
        "groups": f"people in more than {query.groups_per_person} groups",
        "rows": f"people with more than {query.rows_per_group} rows in a group",
        "values": "people with values outside of their bounds",
    }[name]
    before = query.aggregation.cutting
    if query.bounds_touched is None and name in before[1:]:
        return f"other {words}"
    return words


def touched_words(counts: tuple[TouchedCount, ...]) -> str:
    """A sentence on whom the bounds touched; of these nobody knows more than their intervals say."""
    everyone, cut, *each = counts
    most = min(cut.high, everyone.high)
    words = f"The bounds touched {cut.low:,} to {most:,} of {everyone.interval} people"
    words += f" (with confidence {percent_down(cut.confidence)} each)"
    parts = [f"{one.meaning.replace('people ', '', 1)}: {one.interval}" for one in each]
    return f"{words}; {'; '.join(parts)}." if parts else f"{words}."


def is_coarse(counts: tuple[TouchedCount, ...]) -> bool:
    """Whether it may still be few or many of the people."""
    everyone, cut, *_ = counts
    return cut.high - cut.low > COARSE * max(everyone.value, 1)
