"""Means and ratios: two numbers that are both released with noise, and their quotient.

A mean is a sum, counted from the middle of the bounds so that one person moves it as little as possible, over
a count. A ratio is the sum of one column over that of another. Where a query publishes a sum and a count of a
mean's values too, all of them may share two numbers (`pairs`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pbdp.errors import InputError
from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.mechanism.within import region_within
from pbdp.noise.kernel import Array
from pbdp.settings import request
from pbdp.tables.bounded import Value
from pbdp.tables.measure import Column, Estimate, Measure
from pbdp.tables.measure_request import MeanRequest, RatioRequest
from pbdp.tables.numbers import Number, Quantity, number_of
from pbdp.tables.quotient_error import (
    Follower,
    ends_of_means,
    ends_of_ratios,
    is_proved_for,
    promised_width,
    width_at,
)

if TYPE_CHECKING:
    from pbdp.release.intervals import Intervals
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query

Released = Sequence[tuple[Column, "Intervals"]]


class Quotient(Measure):
    """One released number over another. Their noise is independent, so their confidences multiply.

    In one table its interval follows from the law of both errors together (`quotient_error`); in several,
    where noise is shared, from the intervals of both numbers at their worst.
    """

    derived: ClassVar[bool] = True

    @property
    def counts_rows(self) -> bool:
        return True

    @abstractmethod
    def widths(self, query: Query) -> tuple[float, float]:
        """How near both numbers must be."""

    @abstractmethod
    def worst_case(self, query: Query, released: Released) -> Estimate:
        """The quotient, and all quotients of numbers in both intervals."""

    @abstractmethod
    def together(self, plan: TablePlan, released: Released) -> tuple[Array, Array]:
        """The ends of intervals by the law of both errors."""

    def confidence_each(self, query: Query) -> float:
        """The square root of the confidence."""
        return min(math.sqrt(query.confidence_of(self)) * (1 + 2**-50), math.nextafter(1.0, 0.0))

    def numbers(self, query: Query) -> list[Number]:
        each = self.confidence_each(query)
        made = zip(self.labels, self.quantities(query), self.widths(query), strict=True)
        return [
            number_of(query, label, quantity, region_within(width), each) for label, quantity, width in made
        ]

    def is_together(self, plan: TablePlan) -> bool:
        """Whether its interval follows from the law of both errors."""
        return not plan.strategies and is_proved_for(*map(plan.design, plan.labels(self)))

    def confidence_of(self, plan: TablePlan) -> float:
        if self.is_together(plan):
            return plan.query.confidence_of(self)
        return math.prod(map(plan.confidence, plan.labels(self))) * (1 - 2**-50)

    def estimate(self, plan: TablePlan, released: Released) -> Estimate:
        found = self.worst_case(plan.query, released)
        if not self.is_together(plan):
            return found
        low, high = (np.clip(end, *self.ends(plan.query)) for end in self.together(plan, released))
        return Estimate(found.value, low, high, plan.query.confidence_of(self))


@request("Mean")
class Mean(MeanRequest, Quotient):
    """The mean of a column, with an interval, from a sum and a count that are both published with noise.

    A width can be promised for groups of `at_least` so many rows only: noise matters more the smaller the
    group. Without it say how near the count must be (`count_within`); the sum is then planned to match, and
    each group gets the interval that its own numbers allow.
    """

    @property
    def labels(self) -> tuple[str, str]:
        """The labels of its sum and of its count."""
        return f"{self.name}: sum", f"{self.name}: count"

    @property
    def meaning(self) -> str:
        return f"mean of {self.column}, clamped to {self.low:g} to {self.high:g}"

    @property
    def is_open(self) -> bool:
        return self.within is None and self.count_within is None

    def value(self, query: Query) -> Value:
        fixed = FixedPoint(low=self.low, high=self.high, whole=self.whole, most_rows=query.most_rows)
        return Value(column=self.column, fixed=fixed, per="row")

    def ends(self, query: Query) -> tuple[float, float]:
        fixed = self.value(query).fixed
        return fixed.low_steps * fixed.step, fixed.high_steps * fixed.step

    def quantities(self, query: Query) -> tuple[Quantity, Quantity]:
        index, value = query.value_of(self)
        total = Quantity(of="sum from the middle", rows=query.rows_counted, index=index, value=value)
        return total, replace(total, of="values")

    def with_width(self, query: Query, factor: float) -> Mean:
        """With a width for groups of `at_least` rows, or else with one for its count.

        The rows of one person move the count by their number, and the mean by as many times the distance of
        its bounds over the rows of the group at most.
        """
        if not self.is_open:
            return self
        width = factor * self.quantities(query)[1].sensitivity(query.neighbors)
        if self.at_least is None:
            return replace(self, count_within=max(width, 1.0))
        within = 2 * self.value(query).fixed.furthest * width / self.at_least
        return replace(self, within=min(within, self.high - self.low))

    def widths(self, query: Query) -> tuple[float, float]:
        """Widths of the sum (from the middle) and of the count.

        With S and n the truth, M the furthest that a mean is from the middle, and errors of at most a in the
        sum and b in the count, the mean is off by |S'/n' - S/n| = |(S'-S) - (S/n)(n'-n)| / n'
        <= (a + M b)/(n - b), which falls with n. Equal shares of it (a = M b) cost about the same privacy.
        """
        most = self.value(query).fixed.furthest
        if self.within is not None and self.at_least is not None:
            count_width = float(math.floor(self.within * self.at_least / (2 * most + self.within)))
            if count_width < 1:
                raise InputError(
                    f"within of {self.name}",
                    f"wider for groups of {self.at_least} rows",
                    f"{self.within:g}",
                    "The count alone would have to be exact. Allow more than "
                    f"{2 * most / (max(self.at_least - 1, 1)):.4g}, or larger groups.",
                )
            sum_width = self.within * (self.at_least - count_width) - most * count_width
            # a hair less, as the promise is computed again from the two widths in floating point
            return sum_width * (1 - 1e-12), count_width
        if self.count_within is None:
            raise AssertionError("one table has widths")
        return most * self.count_within, self.count_within

    def follower(self, query: Query) -> Follower:
        """How near it is to follow from the noise of a sum and a count.

        Without a promise, as near as a sum and a count of its own would allow at their worst (`widths`).
        """
        most, confidence = self.value(query).fixed.furthest, query.confidence_of(self)
        within = self.within
        if within is not None and self.at_least is not None:
            return Follower(
                weight=most,
                # what is promised must be less than the width
                limit=within * self.at_least * (1 - 1e-12),
                confidence=confidence,
                width=lambda total, count, near: promised_width(
                    total, count, most, within, confidence, near=near
                ),
            )
        total_width, count_width = self.widths(query)
        return Follower(
            weight=most,
            limit=total_width + most * count_width,
            confidence=confidence,
            width=lambda total, count, near: width_at(total, count, most, confidence, near=near),
        )

    def promised(self, plan: TablePlan) -> float | None:
        if self.at_least is None:
            return None
        if self.within is not None and self.is_together(plan):
            total, count = map(plan.design, plan.labels(self))
            width = self.follower(plan.query).width(total, count, False)
            return width / self.at_least if width < self.within * self.at_least else math.inf
        a, b = map(plan.cell_width, plan.labels(self))
        if self.at_least <= b:
            return None
        if self.confidence_of(plan) < plan.query.confidence_of(self):
            return math.inf
        return (a + self.value(plan.query).fixed.furthest * b) / (self.at_least - b)

    def worst_case(self, query: Query, released: Released) -> Estimate:
        """The middle of the bounds plus sum over count, within the bounds of the column."""
        (total, sums), (count, counts) = released
        middle = self.value(query).fixed.middle
        fewest, most = np.maximum(counts.low, 1.0), np.maximum(counts.high, 1.0)
        low = middle + np.minimum(sums.low / fewest, sums.low / most)
        high = middle + np.maximum(sums.high / fewest, sums.high / most)
        mean = np.where(count >= 1, middle + total / np.maximum(count, 1.0), np.nan)
        mean, low, high = (np.clip(column, *self.ends(query)) for column in (mean, low, high))
        return Estimate(mean, low, high, sums.confidence * counts.confidence * (1 - 2**-50))

    def together(self, plan: TablePlan, released: Released) -> tuple[Array, Array]:
        query, fixed = plan.query, self.value(plan.query).fixed
        total, count = map(plan.design, plan.labels(self))
        sums, counts = (numbers.astype(np.float64) for numbers, _ in released)
        confidence = query.confidence_of(self)
        low, high = ends_of_means(total, count, fixed.furthest, confidence, (sums, counts))
        return fixed.middle + low, fixed.middle + high


@request("Ratio")
class Ratio(RatioRequest, Quotient):
    """The sum of one column over the sum of another, each with bounds for every row.

    Each group gets the interval that its own numbers allow. What is divided by is never negative.
    """

    @property
    def within(self) -> None:  # type: ignore[override]
        """A ratio is promised no width: it depends on the sums."""
        return

    @property
    def labels(self) -> tuple[str, str]:
        """The labels of the two sums."""
        return f"{self.name}: of", f"{self.name}: over"

    @property
    def meaning(self) -> str:
        return (
            f"sum of {self.of} (rows clamped to {self.of_low:g} to {self.of_high:g}) over sum of {self.over} "
            f"({self.over_low:g} to {self.over_high:g})"
        )

    @property
    def is_open(self) -> bool:
        return self.of_within is None

    def values(self, query: Query) -> tuple[Value, ...]:
        bounds = ((self.of, self.of_low, self.of_high), (self.over, self.over_low, self.over_high))
        return tuple(
            Value(column=column, fixed=FixedPoint(low=low, high=high, most_rows=query.most_rows))
            for column, low, high in bounds
        )

    def ends(self, query: Query) -> tuple[float, float]:
        del query
        return (0.0 if self.of_low >= 0 else -math.inf), (0.0 if self.of_high <= 0 else math.inf)

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        known = query.aggregation.values
        return tuple(
            Quantity(of="sum", rows=query.rows_counted, index=known.index(value), value=value)
            for value in self.values(query)
        )

    def with_width(self, query: Query, factor: float) -> Ratio:
        if not self.is_open:
            return self
        widths = [factor * quantity.sensitivity(query.neighbors) for quantity in self.quantities(query)]
        return replace(self, of_within=widths[0], over_within=widths[1])

    def widths(self, query: Query) -> tuple[float, float]:
        del query
        if self.of_within is None or self.over_within is None:
            raise AssertionError("one table has widths")
        return self.of_within, self.over_within

    def worst_case(self, query: Query, released: Released) -> Estimate:
        """Where the lower sum may be 0, the quotient may be anything on that side."""
        (total, sums), (below, others) = released
        with np.errstate(divide="ignore", invalid="ignore"):
            fewest, most = np.maximum(others.low, 0.0), np.maximum(others.high, 0.0)
            low = np.where(sums.low >= 0, sums.low / most, sums.low / fewest)
            high = np.where(sums.high >= 0, sums.high / fewest, sums.high / most)
            ratio = np.where(below > 0, total / below, np.nan)
        # outwards, as a quotient is rounded
        low = np.where(np.isnan(low), -np.inf, np.nextafter(low, -np.inf))
        high = np.where(np.isnan(high), np.inf, np.nextafter(high, np.inf))
        ratio, low, high = (np.clip(column, *self.ends(query)) for column in (ratio, low, high))
        return Estimate(ratio, low, high, sums.confidence * others.confidence * (1 - 2**-50))

    def together(self, plan: TablePlan, released: Released) -> tuple[Array, Array]:
        of, over = map(plan.design, plan.labels(self))
        sums, others = (numbers.astype(np.float64) for numbers, _ in released)
        return ends_of_ratios(of, over, plan.query.confidence_of(self), (sums, others))
