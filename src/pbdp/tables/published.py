"""From released numbers to the columns of a table: value, width, interval and confidence of every measure.

Widths and intervals speak of the bounded aggregate (`bounded`), and the columns' names say so: what a bound
has cut off is not known to anyone who may not see the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.noise.kernel import Array
from pbdp.release.releaser import Releaser
from pbdp.tables.bounded import Index
from pbdp.tables.measures import Mean, Measure, Sum
from pbdp.tables.numbers import labels_of_mean
from pbdp.tables.query import columns_of

if TYPE_CHECKING:
    from pbdp.planning.together import Part
    from pbdp.tables.plan import TablePlan

Column = Array | Index
Columns = dict[str, Column]


def typed(numbers: Any, whole: bool) -> Column:
    """Released numbers as 64-bit whole numbers or as doubles."""
    return np.asarray(numbers, dtype=np.int64) if whole else np.asarray(numbers, dtype=np.float64)


def releaser_of(part: Part) -> Releaser:
    """What draws and what gives intervals for one number."""
    return Releaser(requirement=part.requirement, design=part.design, confidence=part.confidence)


def published_columns(
    plan: TablePlan, values: Mapping[str, Column], measures: Sequence[Measure] | None = None
) -> Columns:
    """The columns of these measures (all of them by default), for the released numbers by their labels."""
    columns: Columns = {}
    for measure in plan.query.measures if measures is None else measures:
        if isinstance(measure, Mean):
            columns |= _mean(plan, measure, values)
        else:
            columns |= _single(plan, measure, values[measure.name])
    return columns


def _single(plan: TablePlan, measure: Measure, values: Column) -> Columns:
    part = plan.part(measure.name)
    found = releaser_of(part).intervals(values.astype(np.float64), None)
    low, high = found.low, found.high
    if not isinstance(measure, Sum) or measure.low >= 0:
        # the truth is not negative, whatever the noise
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    return _columns(measure.name, values, low, high, found.confidence)


def _mean(plan: TablePlan, measure: Mean, values: Mapping[str, Column]) -> Columns:
    """The middle of the bounds plus sum over count, with the interval of all means that the two allow.

    Both numbers are within their widths at once with the product of their confidences; the mean is
    then a quotient of numbers in two intervals, and lies within the bounds of the column.
    """
    sum_label, count_label = labels_of_mean(measure)
    total, count = values[sum_label].astype(np.float64), values[count_label].astype(np.float64)
    sums = releaser_of(plan.part(sum_label)).intervals(total, None)
    counts = releaser_of(plan.part(count_label)).intervals(count, None)
    fixed = plan.query.aggregation.values[plan.query.value_of(measure)].fixed
    middle = fixed.middle_steps * fixed.step
    fewest, most = np.maximum(counts.low, 1.0), np.maximum(counts.high, 1.0)
    low = middle + np.minimum(sums.low / fewest, sums.low / most)
    high = middle + np.maximum(sums.high / fewest, sums.high / most)
    mean = np.where(count >= 1, middle + total / np.maximum(count, 1.0), np.nan)
    ends = fixed.low_steps * fixed.step, fixed.high_steps * fixed.step
    mean, low, high = (np.clip(column, *ends) for column in (mean, low, high))
    return _columns(measure.name, mean, low, high, sums.confidence * counts.confidence * (1 - 2**-50))


def _columns(name: str, values: Column, low: Array, high: Array, confidence: float) -> Columns:
    width = np.fmax(np.abs(values - low), np.abs(high - values))
    whole = values.dtype == np.int64
    beside = [_whole(column) if whole else column for column in (width, low, high)]
    columns = [values, *beside, np.full(len(values), confidence)]
    return dict(zip(columns_of(name), columns, strict=True))


def _whole(column: Array) -> Column:
    """Whole numbers as such, where all of them are (infinite ends and relative widths are not)."""
    with np.errstate(invalid="ignore"):
        whole = bool(np.all(column - np.floor(column) == 0))
    return column.astype(np.int64) if whole else column
