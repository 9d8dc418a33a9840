"""The distribution of a column: how many rows are at or below each value of a grid, all of it at once.

Counts at or below a value, and those above it, are within so many ranks of the true ones, all with one
confidence (`strategies.ranks`). So whatever is read off them is as near: the share of the rows below a
value, or any quantile, the least value that a share q of the rows are at or below. Its rank is within as
many of the true one, for all q at once, and costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pbdp.digits import plain
from pbdp.errors import ContradictionError
from pbdp.noise.kernel import Array
from pbdp.settings import request
from pbdp.tables.bounded import ValueGrid
from pbdp.tables.measure import Column
from pbdp.tables.measure_request import DistributionRequest
from pbdp.tables.quantiles import Quantiles, values_at
from pbdp.tables.rank_noise import places_at

if TYPE_CHECKING:
    from pbdp.tables.plan import TablePlan
    from pbdp.tables.query import Query


# Counts of a group that are shown to people.
_SHOWN = 9


@request("Distribution")
class Distribution(DistributionRequest, Quantiles):
    """The distribution of a column: how many rows are at or below each value of a grid, all at once.

    With `within=50` every count at or below a value, and every count above one, is off by at most 50 rows.
    Any quantile that is read off them has a rank within 50 of the true one.
    """

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The counts at or below each value; the last one is of all rows."""
        return tuple(f"{self.name}_at_most_{plain(value)}" for value in self.grid_values())

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """A few of them, up to that of all rows."""
        every = self.value_columns
        return every[-1 :: -max(math.ceil(len(every) / _SHOWN), 1)][::-1]

    @property
    def reading(self) -> str:
        return "all counts at or below a value, and above it, are off by at most so many ranks"

    def grid_values(self) -> list[float]:
        """The values of the grid."""
        return [float(one) for one in values_at(self.grid, np.arange(self.grid.candidates))]

    @property
    def meaning(self) -> str:
        return (
            f"distribution of {self.column}, clamped to {self.low:g} to {self.high:g}, in steps of "
            f"{self.step:g}: rows at or below each value"
        )

    @property
    def notes(self) -> dict[str, str]:
        every = zip(self.value_columns, self.grid_values(), strict=True)
        rows = {
            name: f"rows with a {self.column} of at most {plain(value)}, with noise" for name, value in every
        }
        return {
            **rows,
            f"{self.name}_rank_within": "how far each of these counts is off at most, and each count of the "
            "rows above a value, among the bounded rows of the group",
            f"{self.name}_confidence": "how often that holds, for all of them at once, at least",
        }

    def grids(self, query: Query) -> tuple[ValueGrid, ...]:
        if query.select is not None:
            remedy = "List the groups. Or ask for quantiles: these are chosen one by one."
            raise ContradictionError(self.kind, "used with public groups", "a selection of groups", remedy)
        return Quantiles.grids(self, query)

    def published(self, plan: TablePlan, drawn: Mapping[str, Column]) -> dict[str, Column]:
        del plan
        return dict(zip(self.value_columns, drawn[self.rank_name].T, strict=True))

    def drawn_from(self, plan: TablePlan, columns: Mapping[str, Array]) -> dict[str, Column]:
        del plan
        counts = np.column_stack([columns[name] for name in self.value_columns])
        return {self.rank_name: np.rint(counts).astype(np.int64)}

    def quantile(self, counts: Mapping[str, Column], level: Fraction) -> Array:
        """The value of each group that a share of its rows is at or below, from the published columns."""
        up_to = np.column_stack([counts[name] for name in self.value_columns])
        # what is withheld has none
        hidden = np.isnan(up_to[:, -1])
        places = places_at(np.nan_to_num(up_to).astype(np.int64), [level])[:, 0]
        return np.where(hidden, np.nan, values_at(self.grid, places))
