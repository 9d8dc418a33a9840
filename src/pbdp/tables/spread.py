"""Variances and standard deviations: a count, a sum and a sum of squares, each counted from the middle.

With S and Q the sum of x - m and of (x - m)² over the n rows of a group, m the middle of the bounds, the
variance of the bounded values is V = Q/n - (S/n)², however m is chosen. One person moves S by r·M at most
and Q by r·M², M the furthest that a value is from the middle.

**Interval.** Let n, S and Q be in their intervals, all at once, with u = 1/n. For every n, V is at least
Q_low·u - A·u² with A the largest S² and at most Q_high·u - B·u² with B the least S². Both are concave in u:
the first is least at an end of the interval of u, the second is largest at u = Q_high/(2B), or at the end
next to it. Values are rounded to steps, as are their squares and the part of those who have too many rows: V
is off by twice the step of the squares and 4·M times that of the values at most. The variance of numbers
between two bounds is at most a quarter of the square of their distance.

**Shared numbers.** The count and the sum are those of a mean of the same column with the same bounds, where
the query asks for one, and those of another measure of its spread. So only the squares are paid for, and
they are as near as the sum is against what one person moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.mechanism.within import region_within
from pbdp.noise.kernel import Array
from pbdp.release.intervals import Intervals
from pbdp.settings import request
from pbdp.tables.bounded import Value
from pbdp.tables.measure import Column, Estimate, Measure
from pbdp.tables.measure_request import StandardDeviationRequest, VarianceRequest
from pbdp.tables.numbers import Number, Quantity, number_of
from pbdp.tables.quotients import Mean

if TYPE_CHECKING:
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query

Released = Sequence[tuple[Column, Intervals]]


class Spread(Measure):
    """How far the values of a column are from their mean."""

    derived: ClassVar[bool] = True

    column: str
    low: float
    high: float
    count_within: float | None
    whole: bool

    @property
    def within(self) -> None:  # type: ignore[override]
        """None: what an interval is like depends on the spread itself."""
        return

    @property
    def counts_rows(self) -> bool:
        return True

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of its numbers, if it shares none."""
        return f"{self.name}: sum", f"{self.name}: count", f"{self.name}: squares"

    def labels_in(self, query: Query) -> tuple[str, ...]:
        return *self.mean(query).labels, f"{self.first(query).name}: squares"

    @property
    def is_open(self) -> bool:
        return self.count_within is None

    def is_open_in(self, query: Query) -> bool:
        return self.is_open and self._mean_of(query) is None and self.first(query).is_open

    # ---- what it shares

    def value(self, query: Query) -> Value:
        fixed = FixedPoint(low=self.low, high=self.high, whole=self.whole, most_rows=query.most_rows)
        return Value(column=self.column, fixed=fixed, per="row")

    def squares(self, query: Query) -> Value:
        """The squares of how far values are from the middle of the bounds."""
        fixed = self.value(query).fixed
        most = FixedPoint(low=0.0, high=fixed.furthest**2, most_rows=query.most_rows)
        return Value(column=self.column, fixed=most, per="row", square_of=fixed)

    def values(self, query: Query) -> tuple[Value, ...]:
        return self.value(query), self.squares(query)

    def first(self, query: Query) -> Spread:
        """The first measure of the spread of these values: the numbers are called after it."""
        every = (one for one in query.measures if isinstance(one, Spread))
        return next((one for one in every if one.value(query) == self.value(query)), self)

    def _mean_of(self, query: Query) -> Mean | None:
        means = (one for one in query.measures if isinstance(one, Mean))
        return next((one for one in means if one.value(query) == self.value(query)), None)

    def mean(self, query: Query) -> Mean:
        """The mean whose sum and count it takes: one that is asked for, or else one of its own."""
        first = self.first(query)
        return self._mean_of(query) or Mean(
            column=self.column,
            low=self.low,
            high=self.high,
            whole=self.whole,
            count_within=first.count_within or self.count_within,
            confidence=min(first.confidence_each(query) ** 2, math.nextafter(1.0, 0.0)),
            name=first.name,
        )

    # ---- numbers

    def confidence_each(self, query: Query) -> float:
        """The third root of the confidence."""
        return min(math.cbrt(query.confidence_of(self)) * (1 + 2**-50), math.nextafter(1.0, 0.0))

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        index, value = query.value_of(self)
        total = Quantity(of="sum from the middle", rows=query.rows_counted, index=index, value=value)
        squares = self.squares(query)
        place = query.aggregation.values.index(squares)
        own = Quantity(of="sum", rows=query.rows_counted, index=place, value=squares)
        return total, replace(total, of="values"), own

    def with_width(self, query: Query, factor: float) -> Self:
        if not self.is_open or self._mean_of(query) is not None:
            return self
        width = max(factor * self.quantities(query)[1].sensitivity(query.neighbors), 1.0)
        return replace(self, count_within=width)  # type: ignore[type-var]

    def numbers(self, query: Query) -> list[Number]:
        mean = self.mean(query)
        width = mean.widths(query)[0] * self.value(query).fixed.furthest
        own, each = self.quantities(query)[2], self.confidence_each(query)
        label = self.labels_in(query)[2]
        return [*mean.numbers(query), number_of(query, label, own, region_within(width), each)]

    # ---- what is published

    def ends(self, query: Query) -> tuple[float, float]:
        del query
        return 0.0, self.shown_as((self.high - self.low) ** 2 / 4)

    def shown_as(self, variance: float) -> float:
        """What is published of a variance."""
        return variance

    def confidence_of(self, plan: TablePlan) -> float:
        if not plan.strategies:
            return plan.query.confidence_of(self)
        return math.prod(map(plan.confidence, self.labels_in(plan.query))) * (1 - 2**-50)

    def _intervals(self, plan: TablePlan, released: Released) -> list[Intervals]:
        """Of all three at once: in one table at the confidence that is asked for."""
        if plan.strategies:
            return [found for _, found in released]
        each = self.confidence_each(plan.query)
        labels = self.labels_in(plan.query)
        return [
            plan.part(label).releaser.intervals(numbers.astype(np.float64), each)
            for label, (numbers, _) in zip(labels, released, strict=True)
        ]

    def estimate(self, plan: TablePlan, released: Released) -> Estimate:
        total, count, squares = (numbers.astype(np.float64) for numbers, _ in released)
        sums, counts, others = self._intervals(plan, released)
        query = plan.query
        base, own = self.value(query).fixed, self.squares(query).fixed
        # sums are rounded to their units
        units = [quantity.unit for quantity in self.quantities(query)]
        least, most = np.maximum(counts.low, 1.0), np.maximum(counts.high, 1.0)
        ends = np.stack([sums.low - units[0], sums.high + units[0]])
        largest = np.max(ends**2, axis=0)
        smallest = np.where(ends[0] * ends[1] <= 0, 0.0, np.min(ends**2, axis=0))
        below, above = np.maximum(others.low - units[2], 0.0), np.maximum(others.high + units[2], 0.0)
        low = np.minimum(below / most - largest / most**2, below / least - largest / least**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.where(smallest > 0, above / (2 * smallest), np.inf)
        where = np.clip(best, 1 / most, 1 / least)
        high = above * where - smallest * where**2
        slack = 2 * own.step + 4 * base.furthest * base.step + 1e-9 * base.furthest**2
        known = np.where(count >= 1, count, np.nan)
        value = squares / known - (total / known) ** 2
        limit = (self.high - self.low) ** 2 / 4
        value, low, high = (np.clip(one, 0.0, limit) for one in (value, low - slack, high + slack))
        return self._told(value, low, high, self.confidence_of(plan))

    def _told(self, value: Array, low: Array, high: Array, confidence: float) -> Estimate:
        return Estimate(value, low, high, confidence)


@request("Variance")
class Variance(VarianceRequest, Spread):
    """The variance of a column, with an interval.

    Beside a mean of the same column with the same bounds it takes the mean's sum and count; else say how
    near its count must be (`count_within`), or give the query an epsilon. Each group gets the interval that
    its own numbers allow.
    """

    @property
    def meaning(self) -> str:
        return f"variance of {self.column}, clamped to {self.low:g} to {self.high:g}"


@request("StandardDeviation")
class StandardDeviation(StandardDeviationRequest, Spread):
    """The standard deviation of a column, with an interval: the root of a `Variance`."""

    @property
    def meaning(self) -> str:
        return f"standard deviation of {self.column}, clamped to {self.low:g} to {self.high:g}"

    def shown_as(self, variance: float) -> float:
        return math.sqrt(variance)

    def _told(self, value: Array, low: Array, high: Array, confidence: float) -> Estimate:
        below = np.nextafter(np.sqrt(low), 0.0)
        above = np.minimum(np.nextafter(np.sqrt(high), np.inf), (self.high - self.low) / 2)
        return Estimate(np.sqrt(value), below, above, confidence)
