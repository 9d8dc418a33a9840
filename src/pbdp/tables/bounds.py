"""Bounds that few people are beyond, chosen from a grid that is coarse everywhere and known in advance.

**Candidates** are 0 and 1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8 times every power of 10, of both signs: a
bound is at most 28 % beyond the next one, which makes sums as much noisier, and there are a few hundred from
10^-6 to 10^12. Values that are nearer to 0 or further out count as the last ones.

**A bound is a quantile of people.** Every person counts once in a group, with their largest value for
`high`, with their smallest for `low`. The largest is rounded up to a candidate and the smallest down
(`bounded`), so that whose candidate is not beyond a bound is not cut by it. Let c be the share that may be
cut. `high` is chosen for the level 1 - c/2 within w = (c/2)·n ranks (`choosing.quantile`): of N >= n people
at least (1 - c/2)·N - w >= (1 - c)·N are at or below it. In the same way `low` is chosen for the level c/2.
Both hold with the product of their confidences. If `low` comes out above `high` they are exchanged, which
moves each outwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Unpack

import numpy as np

from pbdp.digits import delta_text, percent_down, plain, rounded_up
from pbdp.paying import PAYING_ONCE, PayingOnce
from pbdp.settings import request
from pbdp.signatures import checked
from pbdp.tables.bounded import ValueGrid
from pbdp.tables.measure import Column
from pbdp.tables.measure_request import BoundsRequest, percent_of
from pbdp.tables.quantiles import Quantiles

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.tables.engines.files import Csv
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query
    from pbdp.tables.table import ReleasedTable

_TENTHS = ("1", "1.25", "1.6", "2", "2.5", "3.2", "4", "5", "6.3", "8")
_POSITIVE = [float(f"{one}e{power}") for power in range(-6, 12) for one in _TENTHS] + [1e12]
CANDIDATES = (*(-one for one in reversed(_POSITIVE)), 0.0, *_POSITIVE)


@request("Bounds")
class Bounds(BoundsRequest, Quantiles):
    """Bounds for a column that cut few people: for sums and means of it, where nobody knows better.

    At most a share `cut` of the people has values above `high`, and at most as many have some below `low`, in
    groups of `people` so many people.
    """

    @property
    def within(self) -> None:  # type: ignore[override]
        """None: a share of the people is promised, in groups of so many."""
        return

    @property
    def levels(self) -> tuple[Fraction, ...]:
        half = percent_of(self.cut) / 2
        return (half, 1 - half)

    def ranks(self) -> Fraction:
        return percent_of(self.cut) / 2 * self.people

    @property
    def is_open(self) -> bool:
        return False

    @property
    def counts_rows(self) -> bool:
        return False

    def rows_of(self, query: Query) -> int:
        """Everybody counts once, with their largest value or their smallest."""
        del query
        return 1

    def grids(self, query: Query) -> tuple[ValueGrid, ...]:
        del query
        ends: tuple[Literal["smallest"], Literal["largest"]] = ("smallest", "largest")
        return tuple(
            ValueGrid(
                column=self.column,
                low=CANDIDATES[0],
                step=1.0,
                candidates=len(CANDIDATES),
                values=CANDIDATES,
                of=end,
            )
            for end in ends
        )

    @property
    def value_columns(self) -> tuple[str, ...]:
        return f"{self.name}_low", f"{self.name}_high"

    @property
    def columns(self) -> list[str]:
        return [*self.value_columns, f"{self.name}_cut", f"{self.name}_people", f"{self.name}_confidence"]

    @property
    def meaning(self) -> str:
        return f"bounds of {self.column} that cut at most {self.cut} of the people at each end"

    @property
    def notes(self) -> dict[str, str]:
        low, high, cut, people, confidence = self.columns
        share = f"at most {self.cut} of the people have values of {self.column}"
        return {
            low: f"{share} below it, chosen at random near the highest such number",
            high: f"{share} above it, chosen at random near the lowest such number",
            cut: "the share of the people beyond each bound, at most",
            people: "the people of a group from which on that holds",
            confidence: "how often it holds, for both bounds at once, at least",
        }

    @property
    def reading(self) -> str:
        return f"at most {self.cut} of the people are beyond each bound, in groups of {self.people:,} or more"

    def promise(self, plan: TablePlan) -> str:
        del plan
        return self.reading

    def chosen_columns(self, plan: TablePlan, drawn: Mapping[str, Column]) -> dict[str, Column]:
        """Both bounds, and the promise."""
        values = self.published(plan, drawn)
        count = len(next(iter(values.values())))
        return {
            **values,
            f"{self.name}_cut": np.full(count, float(percent_of(self.cut))),
            f"{self.name}_people": np.full(count, self.people),
            f"{self.name}_confidence": np.full(count, self.confidence_of(plan)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBounds:
    """Bounds that were found for a column, and the published table that they stand in, with its manifest."""

    low: float
    high: float
    table: ReleasedTable

    def describe(self) -> str:
        """The bounds, what is promised of them, and what they cost."""
        (measure,) = self.table.plan.query.measures
        sure = percent_down(self.table.plan.query.confidence_of(measure))
        promise = measure.promise(self.table.plan)
        return f"{plain(self.low)} to {plain(self.high)}: {promise}, with confidence {sure}; " + (
            f"epsilon {rounded_up(self.table.plan.epsilon)} at delta {delta_text(self.table.plan.delta)}"
        )


@checked(**PAYING_ONCE)
def bounds(
    data: object,
    *,
    column: str,
    unit: str | None,
    people: int,
    delta: float,
    cut: str = "1%",
    confidence: float = 0.95,
    where: str | None = None,
    neighbors: str = "add/remove",
    table: str | None = None,
    csv: Csv | None = None,
    budget: Budget | None = None,
    insecure_test_seed: int | None = None,
    **paying: Unpack[PayingOnce],
) -> FoundBounds:
    """Bounds for a column that few people are beyond: for sums and means of it, where nobody knows better.

    `data` is a file, a data frame or a database (`table` names what is in it, `csv` says how a CSV file is
    written). `unit` is the column that says whose row it is, None if everybody has one row. At most a share
    `cut` of the people has values above `high`, and at most as many have some below `low`, with the
    `confidence`, if there are so many `people` or more; the more, the less it costs. Only rows for which
    `where` is true count. `neighbors` and `delta` are those of a query.

    A `budget` pays before the data is read. `insecure_test_seed` repeats the choice, for tests.
    """
    from pbdp.tables.query import Query

    measure = Bounds(column=column, people=people, cut=cut)
    query = Query(
        unit=unit,
        measures=[measure],
        where=where,
        neighbors=neighbors,
        confidence=confidence,
        delta=delta,
        bounds_touched=False,
    )
    found = query.plan().release(
        data, table=table, csv=csv, budget=budget, insecure_test_seed=insecure_test_seed, **paying
    )
    low, high = (float(found.columns[name][0]) for name in measure.value_columns)
    return FoundBounds(low=low, high=high, table=found)
