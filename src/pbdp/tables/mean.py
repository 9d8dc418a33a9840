"""The mean of a column: a sum and a count that are both released with noise, and their quotient.

The sum is counted from the middle of the bounds, so that one person moves it as little as possible. Where the
query publishes a sum and a count of the column's values too, all of them may share these two (`centered`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.mechanism.within import region_within
from pbdp.noise.kernel import Array
from pbdp.planning.plan import number_design
from pbdp.settings import CONFIDENCE, FLAG, NUMBER, POSITIVE, WHOLE, request, setting
from pbdp.tables.bounded import Value
from pbdp.tables.mean_error import ends_of_means, is_proved_for, promised_width, width_at
from pbdp.tables.measures import CALLED, HIGH, LOW, Column, Measure
from pbdp.tables.numbers import Number, Quantity, number_of
from pbdp.tables.request import COLUMN, NAME

if TYPE_CHECKING:
    from pbdp.release.intervals import Intervals
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query


@request("Mean")
class Mean(Measure):
    """The mean of a column, with an interval, from a sum and a count that are both published with noise.

    A width can be promised for groups of `at_least` so many rows only: noise matters more the smaller the
    group. Without it say how near the count must be (`count_within`); the sum is then planned to match, and
    each group gets the interval that its own numbers allow.
    """

    kind: ClassVar[str] = "mean"
    derived: ClassVar[bool] = True

    column: str = setting(COLUMN, "the column that is averaged")
    low: float = setting(NUMBER, LOW)
    high: float = setting(NUMBER, HIGH)
    within: float | None = setting(POSITIVE, "how near it must be in groups of `at_least` rows", default=None)
    at_least: int | None = setting(WHOLE, "the rows of a group from which on the width holds", default=None)
    count_within: float | None = setting(
        POSITIVE, "how near its count must be; each group then has its own interval", default=None
    )
    confidence: float | None = setting(CONFIDENCE, "how often the interval holds", default=None)
    whole: bool = setting(FLAG, "the column holds whole numbers", default=False)
    name: str = setting(NAME, CALLED, default="")

    def agree(self) -> None:
        self.named(f"mean_{self.column}")
        if self.within is None:
            return
        if self.at_least is None:
            raise ContradictionError(
                "at_least",
                "given with a width",
                "nothing",
                "A width can be promised for groups of at least so many rows only. Say how many, or say "
                "count_within instead and get the interval that each group allows.",
            )
        if self.count_within is not None:
            raise ContradictionError("within and count_within", "given one at a time", "both")

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

    @property
    def counts_rows(self) -> bool:
        return True

    def promised(self, plan: TablePlan) -> float | None:
        if self.at_least is None:
            return None
        if self.within is not None and self.is_widened(plan):
            # infinite if that is no bound at all, which `verify` finds out
            width = self._width_of(plan.query, *self._designs(plan))
            return width / self.at_least if width < self.within * self.at_least else math.inf
        a, b = map(plan.cell_width, plan.labels(self))
        if self.at_least <= b:
            return None
        return (a + _furthest_from_middle(self.value(plan.query)) * b) / (self.at_least - b)

    def is_widened(self, plan: TablePlan) -> bool:
        """Sum and count are less near than if it were off by both at their worst, or they are not its own."""
        if self.name in plan.follows:
            return True
        if self.within is None or plan.strategies:
            return False
        apart = self.numbers(plan.query)
        return any(plan.part(one.label).requirement.region != one.requirement.region for one in apart)

    def room(self, query: Query, total: Design, count: Design, *, near: bool = False) -> float | None:
        """How many times as wide the noise of its `total` and its `count` could be, about, in a `query`.

        None where its error is not known from that of both together. An estimate, if `near` is enough.
        """
        if not is_proved_for(total, count):
            return None
        most, limit = self.both_within(query)
        if self.within is None:
            return limit / width_at(total, count, most, query.confidence_of(self), near=near)
        # what is promised must be less than the width
        return limit / self._width_of(query, total, count, near=near) * (1 - 1e-12)

    def both_within(self, query: Query) -> tuple[float, float]:
        """The weight of the count's error in what must be small, and how small, in a `query`.

        Without a promise, as small as a sum and a count of its own would be at their worst (`_widths`).
        """
        most = _furthest_from_middle(self.value(query))
        if self.within is not None and self.at_least is not None:
            return most, self.within * self.at_least
        total, count = self._widths(most)
        return most, total + most * count

    def _designs(self, plan: TablePlan) -> tuple[Design, Design]:
        total, count = (number_design(plan.part(label).design) for label in plan.labels(self))
        return total, count

    def _width_of(self, query: Query, total: Design, count: Design, *, near: bool = False) -> float:
        if self.within is None:
            raise AssertionError("a mean without a width is promised none")
        most = _furthest_from_middle(self.value(query))
        return promised_width(total, count, most, self.within, query.confidence_of(self), near=near)

    def is_together(self, plan: TablePlan) -> bool:
        """Whether its interval follows from the law of both errors together."""
        return not plan.strategies and is_proved_for(*self._designs(plan))

    def confidence_told(self, plan: TablePlan) -> float:
        if self.is_together(plan):
            return plan.query.confidence_of(self)
        return Measure.confidence_told(self, plan)

    def told(
        self, plan: TablePlan, released: Sequence[tuple[Column, Intervals]]
    ) -> tuple[Column, Array, Array, float]:
        """The mean as `estimate` has it; its interval is by the law of both errors where that is known."""
        mean, low, high, confidence = self.estimate(plan.query, released)
        if not self.is_together(plan):
            return mean, low, high, confidence
        query, confidence = plan.query, plan.query.confidence_of(self)
        value = self.value(query)
        middle = value.fixed.middle_steps * value.fixed.step
        sums, counts = (numbers.astype(np.float64) for numbers, _ in released)
        most = _furthest_from_middle(value)
        ends = ends_of_means(*self._designs(plan), most, confidence, (sums, counts))
        low, high = (np.clip(middle + end, *self.ends(query)) for end in ends)
        return mean, low, high, confidence

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

    def confidence_each(self, query: Query) -> float:
        """The square root of the confidence, as noise is independent."""
        return min(math.sqrt(query.confidence_of(self)) * (1 + 2**-50), math.nextafter(1.0, 0.0))

    def with_width(self, query: Query, factor: float) -> Mean:
        """With a width for groups of `at_least` rows, or else with one for its count.

        The rows of one person move the count by their number, and the mean by as many times the distance of
        its bounds over the rows of the group at most.
        """
        if not self.is_open:
            return self
        count = self.quantities(query)[1]
        width = factor * count.sensitivity(query.neighbors)
        if self.at_least is None:
            return replace(self, count_within=max(width, 1.0))
        return replace(self, within=2 * _furthest_from_middle(self.value(query)) * width / self.at_least)

    def numbers(self, query: Query) -> list[Number]:
        """Its sum and count, each with the square root of the confidence: their noise is independent."""
        total, count = self.quantities(query)
        widths = self._widths(_furthest_from_middle(self.value(query)))
        each = self.confidence_each(query)
        return [
            number_of(query, label, quantity, region_within(width), each)
            for label, quantity, width in zip(self.labels, (total, count), widths, strict=True)
        ]

    def _widths(self, most: float) -> tuple[float, float]:
        """Widths of the sum (from the middle) and of the count.

        With S and n the truth, M the furthest that a mean is from the middle, and errors of at most a in the
        sum and b in the count, the mean is off by |S'/n' - S/n| = |(S'-S) - (S/n)(n'-n)| / n'
        <= (a + M b)/(n - b), which falls with n. Equal shares of it (a = M b) cost about the same privacy.
        """
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

    def estimate(
        self, query: Query, released: Sequence[tuple[Column, Intervals]]
    ) -> tuple[Column, Array, Array, float]:
        """The middle of the bounds plus sum over count, with the interval of all means that the two allow.

        Both numbers are within their widths at once with the product of their confidences; the mean is
        then a quotient of numbers in two intervals, and lies within the bounds of the column.
        """
        (total, sums), (count, counts) = released
        fixed = self.value(query).fixed
        middle = fixed.middle_steps * fixed.step
        fewest, most = np.maximum(counts.low, 1.0), np.maximum(counts.high, 1.0)
        low = middle + np.minimum(sums.low / fewest, sums.low / most)
        high = middle + np.maximum(sums.high / fewest, sums.high / most)
        mean = np.where(count >= 1, middle + total / np.maximum(count, 1.0), np.nan)
        mean, low, high = (np.clip(column, *self.ends(query)) for column in (mean, low, high))
        return mean, low, high, sums.confidence * counts.confidence * (1 - 2**-50)


def _furthest_from_middle(value: Value) -> float:
    """How far a mean can be from the middle of its bounds, rounded up to whole steps."""
    fixed = value.fixed
    return max(fixed.high_steps - fixed.middle_steps, fixed.middle_steps - fixed.low_steps) * fixed.step
