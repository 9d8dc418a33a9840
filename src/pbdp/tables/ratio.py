"""The ratio of two sums, such as tips to fares: both are released with noise, and their quotient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pbdp.errors import ContradictionError
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.mechanism.within import region_within
from pbdp.noise.kernel import Array
from pbdp.planning.plan import number_design
from pbdp.settings import CONFIDENCE, NON_NEGATIVE, NUMBER, POSITIVE, request, setting
from pbdp.tables.bounded import Value
from pbdp.tables.mean_error import ends_of_ratios, is_proved_for
from pbdp.tables.measures import CALLED, HIGH, LOW, Column, Measure
from pbdp.tables.numbers import Number, Quantity, number_of
from pbdp.tables.request import COLUMN, NAME

if TYPE_CHECKING:
    from pbdp.release.intervals import Intervals
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query


@request("Ratio")
class Ratio(Measure):
    """The sum of one column over the sum of another, each with bounds for every row.

    Each group gets the interval that its own numbers allow. What is divided by is never negative.
    """

    kind: ClassVar[str] = "ratio"
    derived: ClassVar[bool] = True

    of: str = setting(COLUMN, "the column that is divided")
    of_low: float = setting(NUMBER, LOW)
    of_high: float = setting(NUMBER, HIGH)
    over: str = setting(COLUMN, "the column that it is divided by")
    over_low: float = setting(NON_NEGATIVE, LOW)
    over_high: float = setting(NUMBER, HIGH)
    of_within: float | None = setting(
        POSITIVE, "how near the first sum must be; both or neither (with an epsilon)", default=None
    )
    over_within: float | None = setting(POSITIVE, "how near the second sum must be", default=None)
    confidence: float | None = setting(CONFIDENCE, "how often the interval holds", default=None)
    name: str = setting(NAME, CALLED, default="")

    def agree(self) -> None:
        self.named(f"{self.of}_per_{self.over}")
        if (self.of_within is None) != (self.over_within is None):
            raise ContradictionError("of_within and over_within", "given together", "one of them")

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

    @property
    def counts_rows(self) -> bool:
        return True

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

    def confidence_each(self, query: Query) -> float:
        """The square root of the confidence, as noise is independent."""
        return min(math.sqrt(query.confidence_of(self)) * (1 + 2**-50), math.nextafter(1.0, 0.0))

    def with_width(self, query: Query, factor: float) -> Ratio:
        if not self.is_open:
            return self
        widths = [factor * quantity.sensitivity(query.neighbors) for quantity in self.quantities(query)]
        return replace(self, of_within=widths[0], over_within=widths[1])

    def numbers(self, query: Query) -> list[Number]:
        """The two sums, each with the square root of the confidence: their noise is independent."""
        each = self.confidence_each(query)
        made = []
        for label, quantity, given in zip(
            self.labels, self.quantities(query), (self.of_within, self.over_within), strict=True
        ):
            if given is None:
                raise AssertionError("one table has widths")
            made.append(number_of(query, label, quantity, region_within(given), each))
        return made

    def is_together(self, plan: TablePlan) -> bool:
        """Whether its interval follows from the law of both errors together."""
        of, over = self._designs(plan)
        return not plan.strategies and is_proved_for(of, over) and is_proved_for(over, of)

    def _designs(self, plan: TablePlan) -> tuple[Design, Design]:
        of, over = (number_design(plan.part(label).design) for label in plan.labels(self))
        return of, over

    def confidence_told(self, plan: TablePlan) -> float:
        if self.is_together(plan):
            return plan.query.confidence_of(self)
        return Measure.confidence_told(self, plan)

    def told(
        self, plan: TablePlan, released: Sequence[tuple[Column, Intervals]]
    ) -> tuple[Column, Array, Array, float]:
        """The ratio as `estimate` has it; its interval is by the law of both errors where that is known."""
        ratio, low, high, confidence = self.estimate(plan.query, released)
        if not self.is_together(plan):
            return ratio, low, high, confidence
        confidence = plan.query.confidence_of(self)
        sums, others = (numbers.astype(np.float64) for numbers, _ in released)
        ends = ends_of_ratios(*self._designs(plan), confidence, (sums, others))
        low, high = (np.clip(end, *self.ends(plan.query)) for end in ends)
        return ratio, low, high, confidence

    def estimate(
        self, query: Query, released: Sequence[tuple[Column, Intervals]]
    ) -> tuple[Column, Array, Array, float]:
        """The quotient, with the interval of all quotients of numbers in both intervals.

        Both sums are in theirs at once with the product of the confidences. Where the lower one may be 0, the
        quotient may be anything on that side.
        """
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
        return ratio, low, high, sums.confidence * others.confidence * (1 - 2**-50)
