"""Rows, people and sums of a group, and the list of all kinds of measures.

The others are in `quotients`, `spread`, `quantiles`, `distribution` and `bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from pbdp.errors import InputError
from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.settings import request
from pbdp.tables.bounded import Value
from pbdp.tables.bounds import Bounds
from pbdp.tables.distribution import Distribution
from pbdp.tables.measure import Column, Estimate, Measure
from pbdp.tables.measure_request import CountRequest, PeopleRequest, SumRequest
from pbdp.tables.numbers import Quantity
from pbdp.tables.quantiles import Median, Quantile
from pbdp.tables.quotient_error import Follower, sum_width
from pbdp.tables.quotients import Mean, Ratio
from pbdp.tables.spread import StandardDeviation, Variance

if TYPE_CHECKING:
    from pbdp.release.intervals import Intervals
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query


class Single(Measure):
    """A measure that is one released number."""

    def with_width(self, query: Query, factor: float) -> Self:
        if not self.is_open:
            return self
        (quantity,) = self.quantities(query)
        within = factor * quantity.sensitivity(query.neighbors)
        return replace(self, within=max(float(math.floor(within)), 1.0) if quantity.is_whole else within)  # type: ignore[type-var]


@request("Count")
class Count(CountRequest, Single):
    """How many rows a group has.

    With `column` only rows with a value there count, as in count(x) of SQL. Its sum and its means may then
    follow from two numbers, and cost less (`pairs`).
    """

    @property
    def meaning(self) -> str:
        return "rows" if self.column is None else f"rows with a value of {self.column}"

    @property
    def counts_rows(self) -> bool:
        return True

    def value(self, query: Query) -> Value | None:
        """The values that are counted: those that another measure of the query adds up, row by row."""
        if self.column is None:
            return None
        same = [one for one in query.measures if getattr(one, "column", None) == self.column]
        made = [one.value(query) for one in same if not isinstance(one, Count)]
        found = next((value for value in made if value is not None and value.per == "row"), None)
        if found is None:
            raise InputError(
                f"column of {self.name}",
                "one that the query sums up or averages by rows",
                self.column,
                f"Add a sum or mean of it, or count rows where '{self.column} is not null'.",
            )
        return found

    def values(self, query: Query) -> tuple[Value, ...]:
        """None of its own: bounds of values do not change how many there are."""
        del query
        return ()

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        if self.column is not None:
            index, value = query.value_of(self)
            return (Quantity(of="values", rows=query.rows_counted, index=index, value=value),)
        # without people with several rows, rows are people
        return (Quantity(of="rows" if query.unit is not None else "people", rows=query.rows_counted),)


@request("People")
class People(PeopleRequest, Single):
    """How many people have rows in a group."""

    @property
    def meaning(self) -> str:
        return "people"

    @property
    def counts_rows(self) -> bool:
        return False

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        return (Quantity(of="people", rows=query.rows_counted),)


@request("Sum")
class Sum(SumRequest, Single):
    """The sum of a column, whose values are bounded."""

    @property
    def meaning(self) -> str:
        whose = "each row's value" if self.per == "row" else "each person's sum"
        return f"sum of {self.column}, {whose} clamped to {self.low:g} to {self.high:g}"

    @property
    def counts_rows(self) -> bool:
        return self.per == "row"

    def value(self, query: Query) -> Value:
        fixed = FixedPoint(low=self.low, high=self.high, whole=self.whole, most_rows=query.most_rows)
        # where every person has one row, bounds for rows are bounds for people
        return Value(column=self.column, fixed=fixed, per=self.per if query.unit is not None else "row")

    def ends(self, query: Query) -> tuple[float, float]:
        del query
        return (0.0 if self.low >= 0 else -math.inf), math.inf

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        index, value = query.value_of(self)
        return (Quantity(of="sum", rows=query.rows_counted, index=index, value=value),)

    def follower(self, query: Query) -> Follower:
        """How near it is if it follows from a sum from the middle and a count (`pairs`)."""
        if not isinstance(self.within, int | float):
            raise AssertionError("a sum that follows has a plain width")
        fixed, confidence = self.value(query).fixed, query.confidence_of(self)
        unit = 0.0 if fixed.whole else fixed.step * fixed.steps_in_sum_step
        return Follower(
            weight=abs(fixed.middle),
            limit=float(self.within),
            confidence=confidence,
            width=lambda total, count, near: sum_width(
                total, count, abs(fixed.middle), unit, confidence, near=near
            ),
        )

    def promised(self, plan: TablePlan) -> float | None:
        """Its width in every group, if it follows from other numbers."""
        if self.name not in plan.follows:
            return None
        total, count = map(plan.design, plan.labels(self))
        return self.follower(plan.query).width(total, count, False)

    def confidence_of(self, plan: TablePlan) -> float:
        if self.name in plan.follows:
            return plan.query.confidence_of(self)
        return Measure.confidence_of(self, plan)

    def estimate(self, plan: TablePlan, released: Sequence[tuple[Column, Intervals]]) -> Estimate:
        """As it was released, or from the sum from the middle and the count."""
        width = self.promised(plan)
        if width is None:
            return Measure.estimate(self, plan, released)
        (total, _), (count, _) = released
        ends, middle = self.ends(plan.query), self.value(plan.query).fixed.middle
        whole = total.dtype == np.int64
        values: Column = total + count * int(middle) if whole else total + count * middle  # type: ignore[assignment]
        # a number that cannot be true has the interval of the nearest one that can
        beyond = (values + width < ends[0]) | (values - width > ends[1])
        near = np.where(beyond, np.clip(values, *ends), values)
        # doubles are rounded, the number and its ends
        far = width + (0.0 if whole else 2 * np.spacing(np.abs(values) + width))
        low, high = (np.clip(end, *ends) for end in (near - far, near + far))
        return Estimate(values, low, high, plan.query.confidence_of(self))


KINDS: dict[str, type[Measure]] = {
    made.kind: made
    for made in (
        Count,
        People,
        Sum,
        Mean,
        Ratio,
        Variance,
        StandardDeviation,
        Median,
        Quantile,
        Distribution,
        Bounds,
    )
}
