"""The ratio of two sums, such as tips to fares: both are released with noise, and their quotient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.within import region_within
from pbdp.noise.kernel import Array
from pbdp.parameters import positive
from pbdp.tables.bounded import Value
from pbdp.tables.fixed_point import FixedPoint
from pbdp.tables.measures import Column, Measure, check_bounds, check_measure, column_name
from pbdp.tables.numbers import Number, Quantity, number_of, open_width

if TYPE_CHECKING:
    from pbdp.release.intervals import Intervals
    from pbdp.tables.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio(Measure):
    """The sum of one column over the sum of another, each with bounds for every row.

    `of_within` and `over_within` are how near the two sums must be, both or neither (with an epsilon); each
    group gets the interval that its own numbers allow. What is divided by is never negative.

    `of_low`, `of_high`, `over_low` and `over_high` bound every row's values of the two columns,
    `confidence` is that of the interval, and `name` the published column.
    """

    kind: ClassVar[str] = "ratio"
    derived: ClassVar[bool] = True

    of: str
    of_low: float
    of_high: float
    over: str
    over_low: float
    over_high: float
    of_within: float | None = None
    over_within: float | None = None
    confidence: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        for column in (self.of, self.over):
            column_name("column of a ratio", column)
        if not self.name:
            object.__setattr__(self, "name", f"{self.of}_per_{self.over}")
        check_bounds(f"{self.name}: of", self.of_low, self.of_high, whole=False)
        check_bounds(f"{self.name}: over", self.over_low, self.over_high, whole=False)
        check_measure(self.name, None, self.confidence)
        if self.over_low < 0:
            raise InputError(f"over_low of {self.name}", "0 or more", f"{self.over_low:g}")
        for what, width in (("of_within", self.of_within), ("over_within", self.over_within)):
            if width is not None:
                positive(f"{what} of {self.name}", width)
        if (self.of_within is None) != (self.over_within is None):
            raise ContradictionError(
                f"of_within and over_within of {self.name}", "given together", "one of them"
            )

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

    def numbers(self, query: Query, factor: float | None) -> list[Number]:
        """The two sums, each with the square root of the confidence: their noise is independent."""
        each = self.confidence_each(query)
        made = []
        for label, quantity, given in zip(
            self.labels, self.quantities(query), (self.of_within, self.over_within), strict=True
        ):
            width = given if given is not None else open_width(factor) * quantity.sensitivity(query.neighbors)
            made.append(number_of(query, label, quantity, region_within(width), each))
        return made

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
