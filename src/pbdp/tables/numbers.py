"""The numbers that are released for every group: what they are, and how far one person moves them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array, Index
from pbdp.tables.bounded import Aggregates, Value

if TYPE_CHECKING:
    from pbdp.planning.plan import Part
    from pbdp.tables.query import Query

Of = Literal["people", "rows", "values", "sum", "sum from the middle", "touched"]
# The number of people whom the bounds touch; no measure has a name like this.
TOUCHED = "(bounds)"
# What that may cost beside the rest, as a share of epsilon or so: where it comes by itself, and where asked.
_TOUCHED_SHARE, _ASKED_SHARE = 0.008, 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One aggregate of a group. `value` and `index` say which column the last three kinds are about."""

    of: Of
    rows: int
    index: int = 0
    value: Value | None = None
    sets: Index | None = field(default=None, compare=False)

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
        What that makes of a sum is the relation's to say; a count is a sum of 0 or 1 for every person or row.
        """
        most_change = Neighbors(neighbors).most_change
        if self.value is None or self.of == "values":
            return float(most_change(0, 1 if self.of in ("people", "touched") else self.rows))
        low, high = self._ends(self.value)
        times = self.rows if self.value.per == "row" else 1
        steps = -(-most_change(times * low, times * high) // self.value.fixed.steps_in_sum_step)
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
            case "touched":
                return aggregates.touched @ (self.sets if self.sets is not None else 1)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A number of several tables: how near it must be in some of them, by their places.

    `cells` is how near it is to be in every cell, where nothing is promised of a table.
    """

    label: str
    quantity: Quantity
    widths: Mapping[int, float]
    confidence: float
    cells: float | None = None


def numbers_of(
    query: Query, factor: float | None = None, *, without: Collection[str] = ()
) -> tuple[Number, ...]:
    """The numbers of all measures but those named; widths that are left open are `factor` sensitivities."""
    measures = [measure for measure in query.measures if measure.name not in without]
    numbers = [number for measure in measures for number in measure.numbers(query, factor)]
    numbers = list({number.label: number for number in numbers}.values())
    others = [number.requirement for number in numbers]
    return (*numbers, *([touched_number(query, others)] if query.aggregation.touched else []))


def touched_names(query: Query) -> tuple[str, ...]:
    """The numbers of people whom the bounds touch that are released; none where they are not told.

    Unasked these are parts of all people: whom no bound cut, then by the first bound that did. With a width
    of their own they are all people, those whom any bound cut, and those whom each did.
    """
    bounds = query.aggregation.cutting
    if not query.aggregation.touched:
        return ()
    if query.bounds_touched is None:
        return ("untouched", *bounds)
    return ("people", "touched", *(bounds if len(bounds) > 1 else ()))


def _sets(query: Query) -> Index:
    """Which sets of bounds (rows, as in `bounded`) each of these numbers is about."""
    bounds = query.aggregation.cutting
    cut = np.arange(query.aggregation.cuts)[:, None] >> np.arange(len(bounds)) & 1
    if query.bounds_touched is None:
        first = cut * (np.cumsum(cut, axis=1) == 1)
        return np.column_stack([1 - cut.max(axis=1), first])
    every = [np.ones(len(cut), dtype=np.int64), cut.max(axis=1)]
    return np.column_stack([*every, cut] if len(bounds) > 1 else every)


def touched_number(query: Query, others: Sequence[Requirement]) -> Number:
    """Whom the bounds touch: numbers of people for the whole table, each of which one person moves by 1.

    One person is in one part, and two in two at most where a person is replaced. Other numbers may all move,
    but by 1 as well: where a person is replaced, one is counted less and another one more.
    """
    parts = query.bounds_touched is None
    count = Neighbors(query.neighbors).people if parts else len(touched_names(query))
    width = query.bounds_touched
    if not isinstance(width, float):
        share = _TOUCHED_SHARE if parts else _ASKED_SHARE
        width = _cheap_width(count, share, others)
    return number_of(
        query,
        TOUCHED,
        Quantity(of="touched", rows=1, sets=_sets(query)),
        AbsoluteRegion.even(width),
        query.confidence,
        releases=count,
    )


def _cheap_width(count: int, share: float, others: Sequence[Requirement]) -> float:
    """A width for `count` numbers of sensitivity 1 that adds about this share to what the others cost.

    With sensitivities of s in a width w, k numbers cost about k s/w if they are few, and the root of
    k (s/w)^2 if they are many. Whichever it is, the share is small.
    """
    loads = [(one.releases, one.sensitivity / min(map(float, one.region.offsets(0.0)))) for one in others]
    few = count / (share * sum(k * load for k, load in loads))
    many = math.sqrt(count / (share * sum(k * load**2 for k, load in loads)))
    return float(max(math.ceil(max(few, many)), 1))


def number_of(
    query: Query,
    label: str,
    quantity: Quantity,
    region: Region,
    confidence: float,
    *,
    releases: int | None = None,
) -> Number:
    """A number of every group of the query, or `releases` numbers of the whole table."""
    requirement = Requirement(
        region=region,
        confidence=confidence,
        sensitivity=quantity.sensitivity(query.neighbors),
        delta=query.delta,
        releases=query.published_touched if releases is None else releases,
        neighbors=query.neighbors,
        integer=quantity.is_whole,
    )
    return Number(label=label, quantity=quantity, requirement=requirement)


def open_width(factor: float | None) -> float:
    """How many sensitivities wide a number is whose width is left open."""
    if factor is None:
        raise AssertionError("a query without an epsilon has all its widths")
    return factor


def on_whole(width: float, confidence: float) -> tuple[float, float]:
    """A whole width and the confidence that stand for any width: what they would be of Gaussian noise."""
    whole = max(float(math.floor(width)), 1.0)
    normal = NormalDist()
    far = normal.inv_cdf((1 + confidence) / 2) * (whole + 0.5) / (width + 0.5)
    return whole, min(2 * normal.cdf(far) - 1, 1 - 1e-9)


def worth(steps: Index | Array, part: Part) -> Index | Array:
    """What so many steps of the numbers of a part are worth; whole numbers stay whole."""
    step = part.design.grid.step
    whole = steps.dtype == np.int64 and (step == 1 or part.requirement.integer)
    return steps * int(step) if whole else steps.astype(np.float64) * step
