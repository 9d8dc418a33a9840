"""What an engine is asked for: aggregates in which no person counts for more than the bounds allow.

**Definition.** Let the table's rows be those with a person, for which the condition is true if there is one,
with keys among the public groups where there are public groups. Conditions and derived columns are functions
of the row alone. For a person and a group, n is the number of their rows; for a value column (low, high),
values that are null, NaN or not a number are left out, c is how many are left, and v_1..v_c are they in steps
(`fixed_point`), clamped. Then, over the persons who keep the group:

    people      = sum of 1
    rows        = sum of min(n, rows_per_group)
    counts[j]   = sum of min(c, rows_per_group)                              per row
    sums[j]     = sum of t - low * min(c, rows_per_group),                   per row
                  t - low * ... = floor(w * r / c) if c > r else w,  w = (v_1 - low) + ... + (v_c - low)
    sums[j]     = sum of min(max(v_1 + ... + v_c, low), high)                per person

    histograms[j] = per candidate, the sum of floor(F * m / c + 1/2) - floor((F - f) * m / c + 1/2)

where for a grid (low, step, k candidates) every value of a person in the group stands for the nearest
candidate, clamped to the ends, c is how many values there are, m = min(c, rows_per_group), and F of them are
at or below the candidate, f at it. So a person adds m to a histogram in all: all of their values, or as many
as may count, at evenly spaced ranks among theirs (the one in the middle, if it is one). Where a grid is `of`
the largest values, a person in a group adds 1 at the least candidate that is no less than the largest of
theirs, and where it is of the smallest, at the largest candidate that is no more than that; beyond the ends,
at the ends.

All in whole steps; per row, `sums` are counted from `low`, so they are never negative and integer division
means the same everywhere. Whoever has more rows than allowed has all of them counted, each with the weight
r/c, rather than some of them chosen. Per person, values of single rows may be beyond the bounds (a refund);
they are clamped to 2^60 steps either way, so that infinities are numbers, and added up in 128 bits.

A person in more than `groups_per_person` groups keeps those with the smallest keyed hash of (person, group);
ties are broken by the group. The key is drawn for the query and is the same for all rows, so the choice is a
function of the person's own rows. Engines may use different hashes. Where groups are kept `along` a column,
they are those with the least keys there instead, again with ties broken by the group: what somebody keeps of
some days does not change with rows of later ones.

**Whom the bounds touch.** `touched` counts everybody with a row in a group once, by the bounds that cut them:
`groups` (they are in more groups than `groups_per_person`), `rows` (more than `rows_per_group` rows in a kept
group), `values` (in a kept group a value outside of the bounds of its column, or a sum outside of those of a
person). With bound j of those that may cut standing for 2^j, entry i is the number of people whom exactly the
bounds in i cut; entry 0 those whom none does.

**Sensitivity.** With or without one person's rows, everybody else's terms are the same, because each is a
function of that person's own rows and of the key. So at most `groups_per_person` groups change, `people` by
1, `rows` and `counts` by r, a sum per row (after adding back low * count) by r * max(|low|, |high|), a sum
per person by max(|low|, |high|), a histogram by r rows, one of largest or smallest values by 1 in one place,
and one number of `touched` by 1. Nothing here depends on the order of rows or on how they are partitioned,
and nothing can overflow: see `fixed_point`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.noise.kernel import Index
from pbdp.tables.expressions.tree import Expression
from pbdp.tables.keys import KeyTable

Per = Literal["row", "person"]
# Rows of one person in one group: (w mod c) * r must stay below 2^62 with c below 2^40 or so.
MOST_ROWS_PER_GROUP = 1 << 20
# Steps of one value at most, where what a person adds up to is bounded.
MOST_STEPS = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A column to sum up, with bounds for each row, or for each person and group.

    Or the squares of how far its values, within the bounds of `square_of`, are from the middle of these.
    """

    column: str
    fixed: FixedPoint
    per: Per = "row"
    square_of: FixedPoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueGrid:
    """A column of numbers, each of which stands for the nearest of `candidates` values from `low` on.

    Or of every person the largest or smallest number, for one of the `values`, which rise.
    """

    column: str
    low: float
    step: float
    candidates: int
    values: tuple[float, ...] = ()
    of: Literal["all", "smallest", "largest"] = "all"

    @property
    def high(self) -> float:
        """The last candidate."""
        return self.values[-1] if self.values else self.low + (self.candidates - 1) * self.step


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedAggregation:
    """The query that every engine runs.

    `unit` is the column that says whose row it is, None if every person has one row. `keys` are the public
    groups, None where every group of the data is wanted (a private selection follows); `only` then holds
    public values that some of the columns are restricted to. `groups_per_person` is None where nobody can be
    in too many groups; `along` is the column of public keys whose least a person keeps, None where a hash
    chooses; `rows_per_group` is None where no measure counts rows. `touched` asks whom the bounds touch,
    `tables` how many people are in the groups of other tables: each says for every key which group it is in.
    Rows count where `where` is true; a name in `derived` means that expression, wherever a column is named
    but in expressions; moments are read as the times of `time_zone`. `grids`
    are the columns whose values are counted one by one.
    """

    unit: str | None
    by: tuple[str, ...]
    keys: KeyTable | None
    values: tuple[Value, ...] = ()
    grids: tuple[ValueGrid, ...] = ()
    groups_per_person: int | None = None
    rows_per_group: int | None = None
    along: str | None = None
    only: tuple[KeyTable, ...] = ()
    touched: bool = False
    tables: tuple[Index, ...] = field(default=(), compare=False)
    where: Expression | None = None
    derived: tuple[tuple[str, Expression], ...] = ()
    time_zone: str | None = None

    @property
    def cutting(self) -> tuple[str, ...]:
        """The bounds that may cut what somebody adds: `groups`, `rows`, `values`."""
        bounds = {
            "groups": self.unit is not None and self.groups_per_person is not None and bool(self.by),
            "rows": self.unit is not None and self.rows_per_group is not None,
            "values": bool(self.values or self.grids),
        }
        return tuple(name for name, may_cut in bounds.items() if may_cut)

    @property
    def cuts(self) -> int:
        """How many numbers `Aggregates.touched` has: one for each set of bounds; none if it is not asked."""
        return 1 << len(self.cutting) if self.touched else 0

    @property
    def parts(self) -> bool:
        """Whether more than the groups themselves is asked of people with several rows."""
        return self.unit is not None and (self.touched or bool(self.tables))

    @property
    def counted_anew(self) -> dict[int, Index]:
        """Those of `tables`, by their places, whose people do not follow from other numbers (`people_in`)."""
        return {at: table for at, table in enumerate(self.tables) if not self._follows(table)}

    def _follows(self, table: Index) -> bool:
        """Whether each group of a table is one of the keys, or all are one and everybody is counted."""
        groups = int(table.max()) + 1
        return groups == len(table) or (groups == 1 and self.touched)

    def people_in(self, aggregates: Aggregates, anew: Mapping[int, Index]) -> tuple[Index, ...]:
        """How many people are in the groups of other tables, from those that were counted anew."""
        found = []
        for at, table in enumerate(self.tables):
            people = np.zeros(int(table.max()) + 1, dtype=np.int64)
            if at in anew:
                people[:] = anew[at]
            elif len(people) == len(table):
                people[table[aggregates.group]] = aggregates.people
            else:
                people[0] = aggregates.touched.sum()
            found.append(people)
        return tuple(found)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns that are read as numbers: those that are added up or counted by value."""
        summed = [value.column for value in self.values]
        return tuple(dict.fromkeys([*summed, *(grid.column for grid in self.grids)]))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        unit = () if self.unit is None else (self.unit,)
        derived = dict(self.derived)
        used = [*self.by, *self.numeric]
        plain = [name for name in used if name not in derived]
        read = [column.name for expression in self.expressions for column in expression.columns()]
        return tuple(dict.fromkeys([*unit, *plain, *read]))

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The condition and the derived columns that are used."""
        used = {*self.by, *self.numeric}
        made = [expression for name, expression in self.derived if name in used]
        return (*([self.where] if self.where is not None else []), *made)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aggregates:
    """One entry for each group that has data, in any order: private numbers, which noise is still to cover.

    `group` is the row of the public key table; without one `found` holds the groups that are in the data.
    `touched` has a number of people for each set of bounds (see above), for the whole table. `people_in` has
    for each of several tables the people in all its groups, where that is asked for. `histograms` have, for
    each grid, a row for each entry and a column for each candidate.
    """

    group: Index
    people: Index
    rows: Index
    counts: tuple[Index, ...]
    sums: tuple[Index, ...]
    found: KeyTable | None = None
    people_in: tuple[Index, ...] = ()
    histograms: tuple[Index, ...] = ()
    touched: Index = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _length: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        columns = (self.group, self.people, self.rows, *self.counts, *self.sums)
        lengths = {len(column) for column in (*columns, *self.histograms)}
        if len(lengths) != 1 or any(column.dtype != np.int64 for column in (*columns, *self.histograms)):
            raise AssertionError("an engine returns whole 64-bit columns of one length")
        object.__setattr__(self, "_length", lengths.pop())

    def __len__(self) -> int:
        return self._length
