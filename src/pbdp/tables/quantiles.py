"""Medians and other quantiles: for every group a value of a grid is chosen whose rank is near the right one.

The histogram of a group (`bounded`) has one count for each value; which of them is chosen, how surely, and
what that reveals is `choosing.quantile`'s. The released numbers are the places of the chosen values, and they
are paid for as picks are (`picks`).

**One person.** Somebody who comes or goes adds up to r rows to each of up to k cells (groups by all columns),
or takes them away. One pick then loses e at most. A table of the groups by all columns thus has up to k picks
that lose e each, and all its other picks are what they were: k times randomized response with e. A person who
is *replaced* goes and then comes. A pick that both are in loses 2e at most, two picks that one of them is in
lose e each; and two times randomized response with e, which loses 2e at most, is dominated by randomized
response with 2e, as is all that loses no more. So all of it is k times randomized response with 2e. In a
*coarser table* several of the cells may be in one group. Moving one cell after the other, its picks together
lose e for each, so all of them together are one randomized response with k·e, or 2·k·e. Where a table has one
group, the loss of its pick also follows from what all rows move the scores by: k·r rows by (q - p)·k·r or
p·k·r, and k·r rows that replace others by q·k·r (a(i) moves by q where a row that is above i replaces one
that is not).

**Several levels** of a column are chosen one by one and sorted. Values that keep a promise for a level are
next to each other, from l to u, and neither falls as the level rises. If all of them keep theirs, so do they
sorted: those for the levels from the j-th on are all l_j or more, so the j-th lowest is; in the same way it
is u_j or less. All keep it with the product of their confidences, as they are drawn independently: each has
the root of what is asked.

**A share of the rows.** Within w ranks is within w/n of n rows or more.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pbdp.choosing.quantile import QuantileChoice, moved_by, quantile_choice
from pbdp.digits import plain
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.design import Design
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array, Index
from pbdp.planning.plan import Part
from pbdp.release.keystream import Keystream
from pbdp.settings import request
from pbdp.tables.bounded import Aggregates, ValueGrid
from pbdp.tables.measure import Column, Measure
from pbdp.tables.measure_request import (
    MedianRequest,
    QuantileRequest,
    exactly,
    percent_of,
    percent_text,
)
from pbdp.tables.picks import count_for_picks
from pbdp.tables.rank_noise import RankNoise, counts_of, moves_of, price, rank_noise, requirement_of

if TYPE_CHECKING:
    from pbdp.tables.numbers import Number, Quantity
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query

# Counts of all groups together, in memory.
MOST_COUNTS = 1 << 27
# A pick that loses less is accounted as if it lost so much.
LEAST_LOSS = 2.0**-10


@dataclass(frozen=True, slots=True, kw_only=True)
class RankChoice:
    """The choice of one published column, in one of several tables perhaps, and the count that stands for it.

    `index` is the place of its grid among those of the aggregation.
    """

    measure: str
    name: str
    label: str
    table: int
    index: int
    grid: ValueGrid
    choice: QuantileChoice
    asked: float
    requirement: Requirement
    design: Design
    laws: int = 0

    @property
    def groups_touched(self) -> int:
        """In how many groups one person changes it."""
        return self.requirement.releases

    @property
    def within(self) -> float:
        """How many ranks the value may be off."""
        return float(self.choice.within)

    @property
    def way(self) -> str:
        """How it is done, in words."""
        return "permute and flip"

    def drawn(
        self, part: Part, aggregates: Aggregates, keystream: Keystream, groups: Index | None = None
    ) -> Index:
        """The place of the chosen value of each group; `groups` says which group every cell is in."""
        del part  # it stands for the choice and is never drawn
        return self.choice.places(counts_of(aggregates.histograms[self.index], groups), keystream)

    def record(self) -> dict[str, Any]:
        """What a manifest says of it beside the plan of the noise."""
        return {"within": float(self.choice.within), "coins": asdict(self.choice.coins)}

    def describe(self) -> str:
        """The promise, in words."""
        ranks = plain(float(self.choice.within))
        return f"rank within {ranks} of the true one"


Choice = RankChoice | RankNoise


def values_at(grid: ValueGrid, places: Column) -> Array:
    """The values of a grid at these places, as the nearest doubles."""
    if grid.values:
        return np.asarray(np.array(grid.values)[places])
    low, step = exactly(grid.low), exactly(grid.step)
    parts = math.lcm(low.denominator, step.denominator)
    first, each = (float(one * parts) for one in (low, step))
    return np.asarray((first + places * each) / parts)


def places_of(grid: ValueGrid, values: Array) -> Index:
    """The places of these values of a grid."""
    if grid.values:
        return np.minimum(np.searchsorted(grid.values, values), grid.candidates - 1).astype(np.int64)
    places = np.rint((values - grid.low) / grid.step)
    return np.clip(places, 0, grid.candidates - 1).astype(np.int64)


class Quantiles(Measure):
    """Values of a grid whose ranks among the bounded values of a group are near the right ones.

    `within` is a number of ranks: at most so many rows too many, or too few, are below the published value.
    """

    derived: ClassVar[bool] = True
    chosen: ClassVar[bool] = True

    column: str
    low: float
    high: float
    step: float
    at_least: int | None
    within: float | str | None

    @property
    @abstractmethod
    def levels(self) -> tuple[Fraction, ...]:
        """The shares of the rows that are at or below its values; none where all ranks are published."""

    @property
    def labels(self) -> tuple[str, ...]:
        """No numbers with noise."""
        return ()

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The columns of the values."""
        if len(self.levels) == 1:
            return (self.name,)
        return tuple(f"{self.name}_q{percent_text(level)}" for level in self.levels)

    @property
    def reading(self) -> str:
        return "at most so many rows too many, or too few, are below a value with a rank"

    @property
    def columns(self) -> list[str]:
        return [*self.value_columns, f"{self.name}_rank_within", f"{self.name}_confidence"]

    @property
    def meaning(self) -> str:
        which = ", ".join(f"{percent_text(level)} %" for level in self.levels)
        what = "median" if self.levels == (Fraction(1, 2),) else f"{which} quantile"
        return f"{what} of {self.column}, clamped to {self.low:g} to {self.high:g}, in steps of {self.step:g}"

    @property
    def notes(self) -> dict[str, str]:
        """What the published columns mean."""
        words = [
            f"{percent_text(level)} % quantile of {self.column}, clamped to {self.low:g} to {self.high:g}, "
            f"in steps of {self.step:g}: chosen at random near the true one"
            for level in self.levels
        ]
        return {
            **dict(zip(self.value_columns, words, strict=True)),
            f"{self.name}_rank_within": "how many rows too many, or too few, are below the value at most, "
            "among the bounded rows of the group",
            f"{self.name}_confidence": "how often that holds"
            + (", for all of them at once" if len(self.levels) > 1 else "")
            + ", at least",
        }

    @property
    def counts_rows(self) -> bool:
        return True

    @property
    def grid(self) -> ValueGrid:
        """The values that it may be, of which each stands for those that are nearest to it."""
        count = int((exactly(self.high) - exactly(self.low)) / exactly(self.step)) + 1
        return ValueGrid(column=self.column, low=self.low, step=self.step, candidates=count)

    def grids(self, query: Query) -> tuple[ValueGrid, ...]:
        count = self.grid.candidates
        if query.groups is not None and (groups := len(query.groups)) * count > MOST_COUNTS:
            most = f"one that makes at most {MOST_COUNTS // groups:,} values for {groups:,} groups"
            raise InputError(f"step of {self.name}", most, f"{self.step:g}, which makes {count:,}")
        return (self.grid,)

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        del query
        return ()

    def numbers(self, query: Query) -> list[Number]:
        del query
        return []

    def with_width(self, query: Query, factor: float) -> Self:
        if not self.is_open:
            return self
        return replace(self, within=max(float(np.floor(factor * query.rows_counted)), 1.0))  # type: ignore[type-var]

    def rows_of(self, query: Query) -> int:
        """How many rows of one person count in a group."""
        return query.rows_counted

    def confidence_each(self, query: Query) -> float:
        """The confidence that each level needs, so that all of them hold at once."""
        asked, count = query.confidence_of(self), len(self.levels)
        return asked if count == 1 else min(asked ** (1 / count) * (1 + 2**-50), math.nextafter(1.0, 0.0))

    def ranks(self) -> Fraction:
        """The width as a number of ranks."""
        if isinstance(self.within, str):
            return percent_of(self.within) * (self.at_least or 0)
        if self.within is None:
            raise AssertionError("a width is given or found by now")
        return exactly(self.within)

    def choices(self, query: Query, records: Mapping[str, Any] | None = None) -> list[Choice]:
        """What is drawn for its columns, in every table; of `records` if they are made again.

        Several levels are chosen one by one, or read off all ranks at once, whichever costs less.
        """
        if records is not None:
            rows = [label for label in self.rank_labels(query) if label in records]
            return list(self.all_ranks(query, records) if rows else self.one_by_one(query, records))
        return list(cheapest(self, query))

    def one_by_one(self, query: Query, records: Mapping[str, Any] | None) -> list[RankChoice]:
        """A choice for each level."""
        every = self.grids(query)
        grids = every if len(every) > 1 else every * len(self.levels)
        found = []
        for (level, name, grid), (table, ending) in product(
            zip(self.levels, self.value_columns, grids, strict=True), enumerate(table_endings(query))
        ):
            label = name + ending
            if records is not None and label not in records:
                continue
            rule = self._rule(query, grid, level, None if records is None else records[label])
            requirement, design = stand_in(query, rule, table)
            found.append(
                RankChoice(
                    measure=self.name,
                    name=name,
                    label=label,
                    table=table,
                    index=query.aggregation.grids.index(grid),
                    grid=grid,
                    choice=rule,
                    asked=self.confidence_each(query),
                    requirement=requirement,
                    design=design,
                )
            )
        return found

    def _rule(
        self, query: Query, grid: ValueGrid, level: Fraction, known: Mapping[str, Any] | None
    ) -> QuantileChoice:
        confidence, rows = self.confidence_each(query), self.rows_of(query)
        if known is None:
            return quantile_choice(grid.candidates, level, self.ranks(), confidence, rows)
        return QuantileChoice(
            candidates=grid.candidates,
            level=level,
            rows=rows,
            within=known["within"] if self.is_open else self.ranks(),
            coins=known["coins"],
        )

    # ---- all ranks at once

    @property
    def rank_name(self) -> str:
        """What noise for all ranks is called; no column has a name like this."""
        return f"{self.name}: ranks"

    def rank_labels(self, query: Query) -> list[str]:
        """The labels of noise for all ranks, in every table."""
        return [self.rank_name + ending for ending in table_endings(query)]

    def all_ranks(self, query: Query, records: Mapping[str, Any] | None) -> list[RankNoise]:
        """Noise for all ranks at once, in every table."""
        (grid,) = self.grids(query)
        confidence, found = query.confidence_of(self), []
        for table, label in enumerate(self.rank_labels(query)):
            if records is None:
                within = float(self.ranks())
                requirement, design, rows, laws = rank_noise(query, grid, within, confidence, table)
            elif label not in records:
                continue
            else:
                known = records[label]
                within = float(known["within"] if self.is_open else self.ranks())
                rows, design = known["rows"], known["design"]
                moves = moves_of(query, grid.candidates, rows, table)
                requirement, laws = requirement_of(query, moves, design), moves.laws
            found.append(
                RankNoise(
                    measure=self.name,
                    name=self.rank_name,
                    label=label,
                    table=table,
                    index=query.aggregation.grids.index(grid),
                    grid=grid,
                    levels=self.levels,
                    within=within,
                    asked=confidence,
                    groups_touched=moves_of(query, grid.candidates, None, table).numbers,
                    requirement=requirement,
                    design=design,
                    rows=rows,
                    laws=laws,
                )
            )
        return found

    # ---- what is published

    def own(self, plan: TablePlan) -> list[Choice]:
        """What is drawn for it in the first table, or in the only one."""
        return [one for one in plan.choices if one.measure == self.name and one.table == 0]

    def confidence_of(self, plan: TablePlan) -> float:
        return plan.query.confidence_of(self)

    def promise(self, plan: TablePlan) -> str:
        return self.own(plan)[0].describe()

    def published(self, plan: TablePlan, drawn: Mapping[str, Column]) -> dict[str, Column]:
        """The values themselves, from what was drawn, by name."""
        own = self.own(plan)
        places = (
            drawn[self.rank_name].T if self.rank_name in drawn else np.stack([drawn[one.name] for one in own])
        )
        ordered = np.sort(places, axis=0)
        rows = zip(self.value_columns, ordered, strict=True)
        return {name: values_at(own[0].grid, row) for name, row in rows}

    def chosen_columns(self, plan: TablePlan, drawn: Mapping[str, Column]) -> dict[str, Column]:
        """The published columns, from what was drawn by its names."""
        values, width = self.published(plan, drawn), self.own(plan)[0].within
        count = len(next(iter(values.values())))
        ranks = np.full(count, int(width) if width.is_integer() else width)
        return {
            **values,
            f"{self.name}_rank_within": ranks,
            f"{self.name}_confidence": np.full(count, self.confidence_of(plan)),
        }

    def drawn_from(self, plan: TablePlan, columns: Mapping[str, Array]) -> dict[str, Column]:
        """What was drawn, from the published columns."""
        own = self.own(plan)
        places = {name: places_of(own[0].grid, columns[name]) for name in self.value_columns}
        if own[0].name == self.rank_name:
            return {self.rank_name: np.column_stack(list(places.values()))}
        return dict(places)


@lru_cache(maxsize=32)
def cheapest(measure: Quantiles, query: Query) -> tuple[Choice, ...]:
    """Choices of single values, or all ranks at once: whichever costs less by itself."""
    if not measure.levels:
        return tuple(measure.all_ranks(query, None))
    alone = measure.one_by_one(query, None)
    if len(measure.levels) == 1 or query.select is not None or len(measure.grids(query)) > 1:
        return tuple(alone)
    try:
        together = measure.all_ranks(query, None)
    except CannotCertifyError:
        return tuple(alone)

    def cost(way: Sequence[Choice]) -> float:
        return price(query.delta, [(one.requirement, one.design, one.laws) for one in way])

    return tuple(alone) if cost(alone) <= cost(together) else tuple(together)


def table_endings(query: Query) -> list[str]:
    """What is said of each of several tables after a name."""
    return [""] if query.margins is None else [f" ({of})" for of in query.margins.labels]


def stand_in(query: Query, rule: QuantileChoice, table: int) -> tuple[Requirement, Design]:
    """The count that reveals what the picks of one table do (proved above)."""
    loss, picks = what_picks_lose(query, rule, table)
    found = count_for_picks(query, max(loss, LEAST_LOSS), picks)
    if found is None:
        raise CannotCertifyError(
            "So near a rank is next to no privacy: no noise reveals so much. Allow more ranks."
        )
    return found


def what_picks_lose(query: Query, rule: QuantileChoice, table: int) -> tuple[float, int]:
    """The loss of each pick, and of how many: for one person who comes or goes, or is replaced."""
    people = Neighbors(query.neighbors).people
    cells, margins, groups = query.groups_of_one, query.margins, query.groups
    most = len(groups) if groups is not None else None
    if most is not None:
        cells = min(cells, most)
    if margins is not None:
        most = len(margins.tables[table])
    finest = margins is None or margins.tables[table].columns == margins.columns
    if query.listed is not None:
        cells = min(cells, query.listed.groups)
    picks, each = (cells, people) if finest else (1, people * cells)
    loss = each * rule.epsilon * (1 + 2.0**-50)
    if most == 1:
        scores = 2 * rule.level.denominator * rule.rows if people > 1 else moved_by(rule.level, rule.rows)
        loss = min(loss, rule.coins.epsilon(scores * (1 if finest else cells)))
    return loss, picks


def choices_of(query: Query, factor: float | None = None) -> tuple[Choice, ...]:
    """All that a query chooses; widths that are left open are so many times what one person adds."""
    measures = [one if factor is None else one.with_width(query, factor) for one in query.measures]
    return tuple(choice for measure in measures for choice in measure.choices(query))


@request("Median")
class Median(MedianRequest, Quantiles):
    """The median of a column: a value of a grid whose rank is near the middle one.

    With `within=50` at most 50 rows too many, or too few, are below it: of 1,000 rows it is a value that 450
    to 550 of them are below, give or take those that are equal to it.
    """


@request("Quantile")
class Quantile(QuantileRequest, Quantiles):
    """Quantiles of a column: values of a grid whose ranks are near the right ones.

    Several levels of one column come out sorted, and all of them hold at once, with the confidence.
    """
