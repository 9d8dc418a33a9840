"""What a measure is: a number that every group gets, and the interface by which all else knows it.

A measure answers four questions, and nobody else asks what kind it is.

1. *What does it need of the bounded aggregation?* `values(query)` are the columns that it adds up, with
   bounds, and `grids(query)` those whose values are counted one by one; `derived_columns(query)` those that
   engines make of a row for it alone; `counts_rows` says whether one person counts for more with more rows.
   From these `Query` makes the one `BoundedAggregation`, which engines run and `bounded` proves. A new
   aggregate is defined, and its sensitivity proved, there.
2. *Which numbers get noise?* `numbers(query)`: a `Number` for each of its `labels`, made of a `Quantity` (how
   it is computed from the `Aggregates`, and how far one person moves it) and a `Requirement` (how near it
   must be). `planning` finds noise for the numbers of all measures together; `Number.drawn` draws it.
   Of a `chosen` measure values are chosen instead, by `choices(query)`; in the plan a count stands for each.
   `asked` says the same for several tables, and `with_width` what a width is worth where an epsilon is given.
3. *How do the published columns follow?* `estimate(plan, released)`: value, ends and confidence of its
   interval from the released numbers alone, so that they are post-processing. `ends(query)` are the public
   bounds of the truth. What was chosen has `chosen_columns`.
4. *How is it verified?* A manifest is read into the same query and plan. `numbers(query)` must be what the
   noise was planned for, except that noise of a measure with a promise of its own (`promised(plan)`, computed
   again from the noise) may have any width that keeps it. Where all its numbers stand in the table,
   `estimate` makes its columns again; else they are checked against `ends`, `confidence_of` and each other.

A new kind of measure is a declaration in `measure_request`, a class in a module of its own, and its name in
`measures.KINDS` and `pbdp.tables`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from pbdp.mechanism.relative import WidthText
from pbdp.mechanism.within import region_within
from pbdp.noise.kernel import Array, Index
from pbdp.tables.bounded import Value, ValueGrid
from pbdp.tables.measure_request import MeasureRequest
from pbdp.tables.numbers import Asked, Number, Quantity, number_of
from pbdp.tables.request import Width

if TYPE_CHECKING:
    from pbdp.release.intervals import Intervals
    from pbdp.tables.expressions.tree import Expression
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.quantiles import Choice
    from pbdp.tables.query import Query

Column = Array | Index
# The columns of a measure: the number, its width, the two ends of its interval, its confidence.
SUFFIXES = ("", "_bounded_within", "_bounded_low", "_bounded_high", "_confidence")


class Estimate(NamedTuple):
    """A published number of every group, the ends of its intervals, and how often these hold."""

    value: Column
    low: Array
    high: Array
    confidence: float


class Measure(MeasureRequest, ABC):
    """A number that every group gets. Most are one released number; a `derived` one follows from several.

    What is `chosen` is no number with noise, and so nothing that could be added up or ranked.
    """

    derived: ClassVar[bool] = False
    chosen: ClassVar[bool] = False
    within: Width | None
    confidence: float | None

    def written(self) -> dict[str, object]:
        """The record of it, in query files and manifests."""
        return {"kind": self.kind, **self.record()}

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The columns of the numbers themselves."""
        return (self.name,)

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """Those of them that are shown to people, where there may be too many."""
        return self.value_columns

    @property
    def reading(self) -> str:
        """What the published columns of something chosen say, in words."""
        return ""

    @property
    def columns(self) -> list[str]:
        """The columns that are published of it."""
        return [self.name + suffix for suffix in SUFFIXES]

    @property
    def notes(self) -> dict[str, str]:
        """What the published columns of something chosen mean."""
        return {}

    @property
    @abstractmethod
    def meaning(self) -> str:
        """What it is in words, bounds included."""

    # ---- what it needs of the bounded aggregation

    @property
    @abstractmethod
    def counts_rows(self) -> bool:
        """Whether one person counts for more with more rows in a group."""

    def value(self, query: Query) -> Value | None:
        """The column that it adds up, with bounds; None if it looks at none."""
        del query
        return None

    def values(self, query: Query) -> tuple[Value, ...]:
        """All columns that it adds up."""
        value = self.value(query)
        return () if value is None else (value,)

    def grids(self, query: Query) -> tuple[ValueGrid, ...]:
        """The columns whose values are counted one by one."""
        del query
        return ()

    def derived_columns(self, query: Query) -> Mapping[str, Expression]:
        """Columns of its own that engines make before they add up; their names begin with a parenthesis."""
        del query
        return {}

    # ---- which numbers get noise

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its released numbers."""
        return (self.name,)

    def labels_in(self, query: Query) -> tuple[str, ...]:
        """The same, where it may share numbers of other measures."""
        del query
        return self.labels

    @property
    def is_open(self) -> bool:
        """Whether its accuracy is left to be found from an epsilon."""
        return self.within is None

    def is_open_in(self, query: Query) -> bool:
        """The same, where it may be as accurate as other measures make it."""
        del query
        return self.is_open

    @abstractmethod
    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        """The aggregates behind its released numbers, in the order of their labels."""

    @abstractmethod
    def with_width(self, query: Query, factor: float) -> Self:
        """The measure with a width, if it was left open: `factor` sensitivities."""

    def numbers(self, query: Query) -> list[Number]:
        """The numbers that are released for it in one table."""
        (quantity,) = self.quantities(query)
        within = self.within
        if within is None or isinstance(within, Mapping):
            raise AssertionError("one table has one width")
        relative = WidthText.read(within) is not None
        region = region_within(within, relative and self.ends(query)[0] >= 0)
        return [number_of(query, self.name, quantity, region, query.confidence_of(self))]

    def choices(self, query: Query, records: Mapping[str, Any] | None = None) -> list[Choice]:
        """What is chosen for it, in every table; of these records of a manifest, if they are made again."""
        del query, records
        return []

    def confidence_each(self, query: Query) -> float:
        """The confidence that each of its released numbers needs."""
        return query.confidence_of(self)

    def asked(self, query: Query, factor: float | None) -> list[Asked]:
        """What is asked of its numbers in several tables: open widths are those of the cells.

        So are those of numbers that a derived measure follows from.
        """
        margins = query.margins
        if margins is None:
            raise AssertionError("one table has numbers")
        if self.chosen:
            return []
        within = self.within
        if self.derived or within is None or isinstance(within, str | tuple | list):
            made = self if factor is None else self.with_width(query, factor)
            finest = {at for at, table in enumerate(margins.tables) if table.columns == margins.columns}
            return [
                Asked(
                    label=number.label,
                    quantity=number.quantity,
                    widths=dict.fromkeys(finest, number.width),
                    cells=number.width,
                    confidence=number.requirement.confidence,
                )
                for number in made.numbers(query)
            ]
        (quantity,) = self.quantities(query)
        by_table = within if isinstance(within, Mapping) else dict.fromkeys(margins.labels, within)
        widths = {margins.labels.index(label): float(width) for label, width in by_table.items()}
        confidence = query.confidence_of(self)
        return [Asked(label=self.name, quantity=quantity, widths=widths, confidence=confidence)]

    # ---- how the published columns follow

    def ends(self, query: Query) -> tuple[float, float]:
        """The public bounds that the true number lies within."""
        del query
        return 0.0, math.inf

    def estimate(self, plan: TablePlan, released: Sequence[tuple[Column, Intervals]]) -> Estimate:
        """The published numbers, from its released numbers and their intervals."""
        ((values, found),) = released
        # the truth is within its bounds, whatever the noise
        low, high = (np.clip(end, *self.ends(plan.query)) for end in (found.low, found.high))
        return Estimate(values, low, high, found.confidence)

    def promise(self, plan: TablePlan) -> str:
        """What is promised of what was chosen, in words."""
        del plan
        return ""

    def chosen_columns(self, plan: TablePlan, drawn: Mapping[str, Column]) -> dict[str, Column]:
        """All published columns of what was chosen, from what was drawn by its names."""
        del plan, drawn
        return {}

    def drawn_from(self, plan: TablePlan, columns: Mapping[str, Array]) -> dict[str, Column]:
        """What was drawn of something chosen, from its published columns."""
        del plan, columns
        return {}

    def confidence_of(self, plan: TablePlan) -> float:
        """The confidence of its published intervals."""
        return plan.confidence(self.labels[0])

    # ---- what is promised beyond its numbers

    @property
    def at_least(self) -> int | None:
        """How many rows a group needs for a width that is promised; None where every group has it."""
        return None

    def promised(self, plan: TablePlan) -> float | None:
        """The width that follows from the noise of several numbers together; None if none is promised.

        It holds in groups of `at_least` rows, and is infinite where the noise is no good for one.
        """
        del plan
        return None
