"""Quality marks of published numbers: how wide the interval is for the number, and if the group is small.

    good    the width is at most 10 % of the published number
    fair    at most 30 %
    poor    further off, or not known
    small   the group's published number of people (or else of rows) is below the minimum size

They follow from what is published, so they cost nothing, and a small group is small as far as is published.
Its numbers are withheld if the query says so: that protects nobody (the noise does), but readers from numbers
that are mostly noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pbdp.columns.arrays import objects
from pbdp.errors import ContradictionError, InputError

if TYPE_CHECKING:
    from pbdp.tables.query import Query

GOOD, FAIR = 0.1, 0.3
SUFFIX = "_quality"
NOTE = f"good (the width is at most {GOOD:.0%} of the number), fair ({FAIR:.0%}), poor, or small (group)"


def quality_names(query: Query) -> list[str]:
    """The columns of marks; none where they are not asked for."""
    asked = query.quality or query.minimum_size is not None
    return [measure.name + SUFFIX for measure in query.measures if not measure.chosen] if asked else []


def size_of(query: Query) -> str | None:
    """The measure that says how large a group is: people, or else rows."""
    kinds = {measure.kind: measure.name for measure in reversed(query.measures)}
    return kinds.get("people") or kinds.get("count")


def check_quality(query: Query) -> None:
    """Refuse a minimum size of groups whose size is not published."""
    if query.minimum_size is not None and size_of(query) is None:
        remedy = "Publish the people or the count too."
        raise InputError(
            "minimum_size", "used with a measure of the size of groups", "no such measure", remedy
        )
    if query.withhold and query.minimum_size is None:
        remedy = "Say below how many people or rows a group is withheld."
        raise ContradictionError("withhold", "used with a minimum_size", "none", remedy)


def small_groups(query: Query, columns: Mapping[str, Any]) -> npt.NDArray[np.bool]:
    """The groups whose published size is below the minimum, from the published numbers."""
    size = np.asarray(columns[str(size_of(query))])
    return np.zeros(len(size), dtype=bool) if query.minimum_size is None else size < query.minimum_size


def quality_marks(query: Query, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of marks, from the published numbers and widths."""
    if not quality_names(query):
        return {}
    small = small_groups(query, columns) if query.minimum_size is not None else False
    made = {}
    for measure in query.measures:
        if measure.chosen:
            continue
        value, width = (np.asarray(columns[name], dtype=np.float64) for name in measure.columns[:2])
        with np.errstate(invalid="ignore"):
            marks = np.select(
                [width <= GOOD * np.abs(value), width <= FAIR * np.abs(value)], ["good", "fair"], "poor"
            )
        made[measure.name + SUFFIX] = objects(np.where(small, "small", marks).tolist())
    return made
