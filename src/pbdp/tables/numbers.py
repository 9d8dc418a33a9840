"""The numbers that are released for every group: what they are, and how far one person moves them.

A measure is one number (a count, a sum) or two (a mean: a count, and a sum counted from the middle of the
bounds, so that one person moves it as little as possible).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import Within, region_within
from pbdp.noise.kernel import Array
from pbdp.tables.bounded import Aggregates, Index, Value
from pbdp.tables.measures import Count, Mean, Measure, People, Sum
from pbdp.tables.query import Query

Of = Literal["people", "rows", "values", "sum", "sum from the middle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One aggregate of a group. `value` and `index` say which column the last three kinds are about."""

    of: Of
    rows: int
    index: int = 0
    value: Value | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number."""
        return self.value is None or self.of == "values" or self.value.fixed.whole

    @property
    def unit(self) -> float:
        """What one step of it is worth."""
        if self.is_whole or self.value is None:
            return 1.0
        return self.value.fixed.step * self.value.fixed.steps_in_sum_step

    def sensitivity(self, neighbors: str) -> float:
        """The most that one person changes it in one group; exact, as a multiple of `unit`.

        Proved in `bounded`: a person contributes between `low` and `high` for each of at most `rows` rows, or
        nothing. Rounding a sum to whole steps, floor(s/u + 1/2), moves a change of d to ceil(d/u) at most.
        Where a person is replaced, two such contributions differ by at most the width of their range.
        """
        if self.value is None or self.of == "values":
            return 1.0 if self.of == "people" else float(self.rows)
        low, high = self._ends(self.value)
        times = self.rows if self.value.per == "row" else 1
        two = neighbors == Neighbors.REPLACE
        most = max(high, 0) - min(low, 0) if two else max(abs(low), abs(high))
        steps = -(-times * most // self.value.fixed.steps_in_sum_step)
        return steps * self.unit

    def _ends(self, value: Value) -> tuple[int, int]:
        """Bounds of one contribution in value steps."""
        fixed = value.fixed
        from_where = fixed.middle_steps if self.of == "sum from the middle" else 0
        return fixed.low_steps - from_where, fixed.high_steps - from_where

    def answers(self, aggregates: Aggregates) -> Index | Array:
        """The true numbers of the groups: private."""
        match self.of:
            case "people":
                return aggregates.people
            case "rows":
                return aggregates.rows
            case "values":
                return aggregates.counts[self.index]
        if self.value is None:
            raise AssertionError("a sum is of a value")
        fixed, sums = self.value.fixed, aggregates.sums[self.index]
        if self.value.per == "row":
            # engines count from `low`; both terms are below 2^62 in size
            sums = sums + self._ends(self.value)[0] * aggregates.counts[self.index]
        if fixed.whole:
            return sums
        step = fixed.steps_in_sum_step
        return np.asarray((sums + step // 2) // step * self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number that every group gets, with what is required of it. `label` is unique in the table."""

    label: str
    quantity: Quantity
    requirement: Requirement


def numbers_of(query: Query, factor: float | None = None) -> tuple[Number, ...]:
    """The numbers of all measures; widths that are left open are `factor` sensitivities."""
    found: dict[str, Number] = {}
    for measure in query.measures:
        for number in _of_measure(query, measure, factor):
            found[number.label] = number
    return tuple(found.values())


def labels_of_mean(measure: Mean) -> tuple[str, str]:
    """The labels of a mean's sum and count."""
    return f"{measure.name}: sum", f"{measure.name}: count"


def _of_measure(query: Query, measure: Measure, factor: float | None) -> list[Number]:
    if isinstance(measure, Mean):
        return _of_mean(query, measure, factor)
    quantity = quantity_of(query, measure)
    within = _width(measure.within, quantity, query, factor)
    nonnegative = not isinstance(measure, Sum) or measure.low >= 0
    region = region_within(within, nonnegative and isinstance(within, str) and "%" in within)
    return [
        Number(
            label=measure.name,
            quantity=quantity,
            requirement=_requirement(query, quantity, region, query.confidence_of(measure)),
        )
    ]


def quantity_of(query: Query, measure: Count | People | Sum) -> Quantity:
    """The aggregate behind a measure of one number."""
    rows = query.rows_counted
    if isinstance(measure, People):
        return Quantity(of="people", rows=rows)
    if isinstance(measure, Count):
        # without people with several rows, rows are people
        return Quantity(of="rows" if query.unit is not None else "people", rows=rows)
    index = query.value_of(measure)
    return Quantity(of="sum", rows=rows, index=index, value=query.aggregation.values[index])


def _of_mean(query: Query, measure: Mean, factor: float | None) -> list[Number]:
    """A mean's sum and count, each with the square root of the confidence: their noise is independent."""
    index = query.value_of(measure)
    value = query.aggregation.values[index]
    total = Quantity(of="sum from the middle", rows=query.rows_counted, index=index, value=value)
    count = Quantity(of="values", rows=query.rows_counted, index=index, value=value)
    sum_width, count_width = _mean_widths(query, measure, total, count, factor)
    each = min(math.sqrt(query.confidence_of(measure)) * (1 + 2**-50), math.nextafter(1.0, 0.0))
    return [
        Number(
            label=label,
            quantity=quantity,
            requirement=_requirement(query, quantity, region_within(width), each),
        )
        for label, quantity, width in zip(
            labels_of_mean(measure), (total, count), (sum_width, count_width), strict=True
        )
    ]


def furthest_from_middle(value: Value) -> float:
    """How far a mean can be from the middle of its bounds, rounded up to whole steps."""
    fixed = value.fixed
    return max(fixed.high_steps - fixed.middle_steps, fixed.middle_steps - fixed.low_steps) * fixed.step


def _mean_widths(
    query: Query, measure: Mean, total: Quantity, count: Quantity, factor: float | None
) -> tuple[float, float]:
    """Widths of the sum (from the middle) and of the count.

    With S and n the truth, M the furthest that a mean is from the middle, and errors of at most a in the sum
    and b in the count, the mean is off by |S'/n' - S/n| = |(S'-S) - (S/n)(n'-n)| / n' <= (a + M b)/(n - b),
    which falls with n. Equal shares of it (a = M b) cost about the same privacy.
    """
    if total.value is None:
        raise AssertionError("a mean is of a value")
    most = furthest_from_middle(total.value)
    if measure.within is not None and measure.at_least is not None:
        count_width = float(math.floor(measure.within * measure.at_least / (2 * most + measure.within)))
        if count_width < 1:
            raise InputError(
                f"within of {measure.name}",
                f"wider for groups of {measure.at_least} rows",
                f"{measure.within:g}",
                "The count alone would have to be exact. Allow more than "
                f"{2 * most / (max(measure.at_least - 1, 1)):.4g}, or larger groups.",
            )
        # a hair less, as the promise is computed again from the two widths in floating point
        return (measure.within * (measure.at_least - count_width) - most * count_width) * (
            1 - 1e-12
        ), count_width
    if measure.count_within is not None:
        return most * measure.count_within, measure.count_within
    width = max(float(math.floor(_open_width(factor) * count.sensitivity(query.neighbors))), 1.0)
    return most * width, width


def _width(within: Within | None, quantity: Quantity, query: Query, factor: float | None) -> Within:
    if within is not None:
        return within
    width = _open_width(factor) * quantity.sensitivity(query.neighbors)
    return max(float(math.floor(width)), 1.0) if quantity.is_whole else width


def _open_width(factor: float | None) -> float:
    if factor is None:
        raise AssertionError("a query without an epsilon has all its widths")
    return factor


def _requirement(query: Query, quantity: Quantity, region: Region, confidence: float) -> Requirement:
    return Requirement(
        region=region,
        confidence=confidence,
        sensitivity=quantity.sensitivity(query.neighbors),
        delta=query.delta,
        releases=query.groups_touched,
        neighbors=query.neighbors,
        integer=quantity.is_whole,
    )
