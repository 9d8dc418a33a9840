"""What can be published of a group: rows, people and sums (`mean` has means), with the accuracy it must have.

A measure knows all that is its own: the numbers that are released for it, the number and interval that follow
from them, its words and its record. A new kind of measure is one more class here, or one more file.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from pbdp.errors import InputError
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.mechanism.relative import WidthText
from pbdp.mechanism.within import region_within
from pbdp.noise.kernel import Array, Index
from pbdp.planning.plan import number_design
from pbdp.settings import CONFIDENCE, FLAG, NUMBER, Request, one_of, request, setting
from pbdp.tables.bounded import Per, Value
from pbdp.tables.mean_error import is_proved_for, sum_width
from pbdp.tables.numbers import Asked, Number, Quantity, number_of
from pbdp.tables.request import COLUMN, MEASURE_WIDTH, NAME, Width

if TYPE_CHECKING:
    from pbdp.release.intervals import Intervals
    from pbdp.tables.expressions.tree import Expression
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query

Column = Array | Index
PERS: tuple[Per, ...] = ("row", "person")
# The columns of a measure: the number, its width, the two ends of its interval, its confidence.
SUFFIXES = ("", "_bounded_within", "_bounded_low", "_bounded_high", "_confidence")


# What every measure says in one way.
NEAR = "how near the bounded number it must be; left out if the query has an epsilon"
OFTEN = "how often it is within the width; that of the query, if left out"
CALLED = "the published column; of the kind and what it adds up, if left out"
LOW = "the lowest value that a row counts with: what is below counts as this one"
HIGH = "the highest value that a row counts with: what is above counts as this one"


class Measure(Request, ABC):
    """A number that every group gets. Most are one released number; a `derived` one follows from several."""

    kind: ClassVar[str]
    derived: ClassVar[bool] = False
    name: str
    within: Width | None
    confidence: float | None

    def named(self, usual: str) -> None:
        """Take a name, if it was given none."""
        if not self.name:
            object.__setattr__(self, "name", usual)

    def written(self) -> dict[str, object]:
        """The record of it, in query files and manifests."""
        return {"kind": self.kind, **self.record()}

    @property
    def columns(self) -> list[str]:
        """The columns that are published of it."""
        return [self.name + suffix for suffix in SUFFIXES]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its released numbers."""
        return (self.name,)

    @property
    @abstractmethod
    def meaning(self) -> str:
        """What it is in words, bounds included."""

    @property
    def is_open(self) -> bool:
        """Whether its accuracy is left to be found from an epsilon."""
        return self.within is None

    @property
    @abstractmethod
    def counts_rows(self) -> bool:
        """Whether one person counts for more with more rows in a group."""

    @property
    def at_least(self) -> int | None:
        """How many rows a group needs for a width that is promised; None where every group has it."""
        return None

    def promised(self, plan: TablePlan) -> float | None:
        """The width that it has in groups of `at_least` rows; None without a minimum size."""
        del plan
        return None

    def is_widened(self, plan: TablePlan) -> bool:
        """Whether the noise of its numbers was chosen for both of them together."""
        del plan
        return False

    def value(self, query: Query) -> Value | None:
        """The column that it adds up, with bounds; None if it looks at none."""
        del query
        return None

    def values(self, query: Query) -> tuple[Value, ...]:
        """All columns that it adds up."""
        value = self.value(query)
        return () if value is None else (value,)

    def derived_columns(self, query: Query) -> Mapping[str, Expression]:
        """Columns of its own that engines make before they add up; their names begin with a parenthesis."""
        del query
        return {}

    def ends(self, query: Query) -> tuple[float, float]:
        """The public bounds that the true number lies within."""
        del query
        return 0.0, math.inf

    @abstractmethod
    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        """The aggregates behind its released numbers, in the order of their labels."""

    def with_width(self, query: Query, factor: float) -> Self:
        """The measure with a width, if it was left open: `factor` sensitivities."""
        if not self.is_open:
            return self
        (quantity,) = self.quantities(query)
        within = factor * quantity.sensitivity(query.neighbors)
        return replace(self, within=max(float(math.floor(within)), 1.0) if quantity.is_whole else within)  # type: ignore[type-var]

    def numbers(self, query: Query) -> list[Number]:
        """The numbers that are released for it."""
        (quantity,) = self.quantities(query)
        within = self.within
        if within is None or isinstance(within, Mapping):
            raise AssertionError("one table has one width")
        relative = WidthText.read(within) is not None
        region = region_within(within, relative and self.ends(query)[0] >= 0)
        return [number_of(query, self.name, quantity, region, query.confidence_of(self))]

    def confidence_each(self, query: Query) -> float:
        """The confidence that each of its released numbers needs."""
        return query.confidence_of(self)

    def confidence_told(self, plan: TablePlan) -> float:
        """The confidence of its published intervals: that of all its released numbers at once."""
        several = bool(plan.strategies)
        labels = plan.labels(self)
        own = [plan.widths(one, 0)[1] if several else plan.part(one).confidence for one in labels]
        return math.prod(own) * (1 - 2**-50) if self.derived else own[0]

    def told(
        self, plan: TablePlan, released: Sequence[tuple[Column, Intervals]]
    ) -> tuple[Column, Array, Array, float]:
        """The same as `estimate`, where the noise may be looked at."""
        return self.estimate(plan.query, released)

    def asked(self, query: Query, factor: float | None) -> list[Asked]:
        """What is asked of its numbers in several tables: open widths are those of the cells.

        So are those of numbers that a derived measure follows from.
        """
        margins = query.margins
        if margins is None:
            raise AssertionError("one table has numbers")
        within = self.within
        if self.derived or within is None or isinstance(within, str | tuple | list):
            made = self if factor is None else self.with_width(query, factor)
            cells = [(number, _width_of(number)) for number in made.numbers(query)]
            finest = {at for at, table in enumerate(margins.tables) if table.columns == margins.columns}
            return [
                Asked(
                    label=number.label,
                    quantity=number.quantity,
                    widths=dict.fromkeys(finest, width),
                    cells=width,
                    confidence=number.requirement.confidence,
                )
                for number, width in cells
            ]
        (quantity,) = self.quantities(query)
        by_table = within if isinstance(within, Mapping) else dict.fromkeys(margins.labels, within)
        widths = {margins.labels.index(label): float(width) for label, width in by_table.items()}
        confidence = query.confidence_of(self)
        return [Asked(label=self.name, quantity=quantity, widths=widths, confidence=confidence)]

    def estimate(
        self, query: Query, released: Sequence[tuple[Column, Intervals]]
    ) -> tuple[Column, Array, Array, float]:
        """Values, ends of their intervals and confidence, from its released numbers and their intervals."""
        ((values, found),) = released
        # the truth is within its bounds, whatever the noise
        low, high = (np.clip(end, *self.ends(query)) for end in (found.low, found.high))
        return values, low, high, found.confidence


@request("Count")
class Count(Measure):
    """How many rows a group has.

    With `column` only rows with a value there count, as in count(x) of SQL. Its sum and its means may then
    follow from two numbers, and cost less (`centered`).
    """

    kind: ClassVar[str] = "count"

    within: Width | None = setting(MEASURE_WIDTH, NEAR, default=None)
    confidence: float | None = setting(CONFIDENCE, OFTEN, default=None)
    column: str | None = setting(
        COLUMN, "only rows with a value here count: a column that the query sums up or averages", default=None
    )
    name: str = setting(NAME, CALLED, default="")

    def agree(self) -> None:
        self.named("count" if self.column is None else f"count_{self.column}")

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
class People(Measure):
    """How many people have rows in a group."""

    kind: ClassVar[str] = "people"

    within: Width | None = setting(MEASURE_WIDTH, NEAR, default=None)
    confidence: float | None = setting(CONFIDENCE, OFTEN, default=None)
    name: str = setting(NAME, CALLED, default="")

    def agree(self) -> None:
        self.named("people")

    @property
    def meaning(self) -> str:
        return "people"

    @property
    def counts_rows(self) -> bool:
        return False

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        return (Quantity(of="people", rows=query.rows_counted),)


@request("Sum")
class Sum(Measure):
    """The sum of a column, whose values are bounded."""

    kind: ClassVar[str] = "sum"

    column: str = setting(COLUMN, "the column that is summed up")
    low: float = setting(NUMBER, LOW)
    high: float = setting(NUMBER, HIGH)
    within: Width | None = setting(MEASURE_WIDTH, NEAR, default=None)
    confidence: float | None = setting(CONFIDENCE, OFTEN, default=None)
    per: Per = setting(
        one_of(PERS),
        "what is bounded: each row's value, or what one person adds up to in a group",
        default="row",
    )
    whole: bool = setting(FLAG, "the column holds whole numbers, and so does the result", default=False)
    name: str = setting(NAME, CALLED, default="")

    def agree(self) -> None:
        self.named(f"sum_{self.column}")

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

    def both_within(self, query: Query) -> tuple[float, float]:
        """The weight of the count's error and the limit, if it follows from a count in a `query`."""
        if not isinstance(self.within, int | float):
            raise AssertionError("a sum that follows has a plain width")
        return abs(self._middle(query)), float(self.within)

    def room(self, query: Query, total: Design, count: Design, *, near: bool = False) -> float | None:
        """How many times as wide the noise of a `total` from the middle and a `count` of a `query` could be.

        None where its error is not known from theirs. An estimate, if `near` is enough.
        """
        return (
            None
            if not is_proved_for(total, count)
            else self.both_within(query)[1] / self.width_of(query, total, count, near=near)
        )

    def width_of(self, query: Query, total: Design, count: Design, *, near: bool = False) -> float:
        """How near it is if it follows from such a `total` and `count` in a `query`; about so, if `near`."""
        fixed = self.value(query).fixed
        unit = 0.0 if fixed.whole else fixed.step * fixed.steps_in_sum_step
        return sum_width(total, count, abs(self._middle(query)), unit, query.confidence_of(self), near=near)

    def _middle(self, query: Query) -> float:
        fixed = self.value(query).fixed
        return fixed.middle_steps * fixed.step

    def confidence_told(self, plan: TablePlan) -> float:
        if self.name in plan.follows:
            return plan.query.confidence_of(self)
        return Measure.confidence_told(self, plan)

    def promised(self, plan: TablePlan) -> float | None:
        """Its width in every group, if it follows from other numbers."""
        if self.name not in plan.follows:
            return None
        return self.width_of(plan.query, *(number_design(plan.part(one).design) for one in plan.labels(self)))

    def told(
        self, plan: TablePlan, released: Sequence[tuple[Column, Intervals]]
    ) -> tuple[Column, Array, Array, float]:
        """As `estimate` has it, or from the sum from the middle and the count."""
        width = self.promised(plan)
        if width is None:
            return self.estimate(plan.query, released)
        (total, _), (count, _) = released
        ends = self.ends(plan.query)
        middle = self._middle(plan.query)
        whole = total.dtype == np.int64
        values: Column = total + count * int(middle) if whole else total + count * middle  # type: ignore[assignment]
        # a number that cannot be true has the interval of the nearest one that can
        beyond = (values + width < ends[0]) | (values - width > ends[1])
        near = np.where(beyond, np.clip(values, *ends), values)
        # doubles are rounded, the number and its ends
        far = width + (0.0 if whole else 2 * np.spacing(np.abs(values) + width))
        low, high = (np.clip(end, *ends) for end in (near - far, near + far))
        return values, low, high, plan.query.confidence_of(self)

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        index, value = query.value_of(self)
        return (Quantity(of="sum", rows=query.rows_counted, index=index, value=value),)


def _width_of(number: Number) -> float:
    """How near a number must be, on both sides."""
    return min(map(float, number.requirement.region.offsets(0.0)))
