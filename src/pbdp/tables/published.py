"""From released numbers to the columns of a table: value, width, interval and confidence of every measure.

Widths and intervals speak of the bounded aggregate (`bounded`), and the columns' names say so: what a bound
has cut off is not known to anyone who may not see the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.noise.kernel import Array
from pbdp.release.intervals import Intervals
from pbdp.tables.measures import Column, Measure

if TYPE_CHECKING:
    from pbdp.tables.plan import TablePlan

Columns = dict[str, Column]


def typed(numbers: Any, whole: bool) -> Column:
    """Released numbers as 64-bit whole numbers or as doubles."""
    return np.asarray(numbers, dtype=np.int64) if whole else np.asarray(numbers, dtype=np.float64)


def published_columns(
    plan: TablePlan, values: Mapping[str, Column], measures: Sequence[Measure] | None = None
) -> Columns:
    """The columns of these measures (all of them by default), for the released numbers by their labels."""
    columns: Columns = {}
    for measure in plan.query.measures if measures is None else measures:
        released = [(values[label], _intervals(plan, label, values[label])) for label in measure.labels]
        columns |= _columns(measure, *measure.estimate(plan.query, released))
    return columns


def _intervals(plan: TablePlan, label: str, values: Column) -> Intervals:
    return plan.part(label).releaser.intervals(values.astype(np.float64), None)


def _columns(measure: Measure, values: Column, low: Array, high: Array, confidence: float) -> Columns:
    width = np.fmax(np.abs(values - low), np.abs(high - values))
    whole = values.dtype == np.int64
    beside = [_whole(column) if whole else column for column in (width, low, high)]
    columns = [values, *beside, np.full(len(values), confidence)]
    return dict(zip(measure.columns, columns, strict=True))


def _whole(column: Array) -> Column:
    """Whole numbers as such, where all of them are (infinite ends and relative widths are not)."""
    with np.errstate(invalid="ignore"):
        whole = bool(np.all(column - np.floor(column) == 0))
    return column.astype(np.int64) if whole else column
