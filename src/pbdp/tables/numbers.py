"""The numbers that are released for every group: what they are, and how far one person moves them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.grid import FURTHEST_STEP, Grid, LinearGrid
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.region import Region
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array, Index
from pbdp.tables.bounded import Aggregates, Value

if TYPE_CHECKING:
    from pbdp.planning.plan import Part
    from pbdp.release.keystream import Keystream
    from pbdp.tables.query import Query

Of = Literal["people", "rows", "values", "sum", "sum from the middle", "touched"]
# The number of people whom the bounds touch; no measure has a name like this.
TOUCHED = "(bounds)"
# What that may cost beside the rest, as a share of epsilon or so.
_TOUCHED_SHARE = 0.008
# Answers are clamped this many steps from zero, which leaves room for the noise; clamping never adds to what
# one person can change.
FURTHEST = FURTHEST_STEP // 2


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

    @property
    def alone(self) -> float:
        """The most that one person adds to it in one group, or takes from it, by being there."""
        return self.sensitivity(Neighbors.ADD_REMOVE)

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
    """A number that every group gets, with what is required of it. `label` is unique in the table.

    **A person is replaced.** Their old and their new rows are in at most k groups each. In the j groups that
    both are in, a sum of values from `low` to `high` moves by S = max(high, 0) - min(low, 0) at most (per
    row, where rows count), in up to 2(k - j) others by s = max(|low|, |high|); nulls and fewer rows move it
    by less. If s < S, all of that is dominated by k releases with sensitivity 2·s of log-concave noise, for
    each j (`strategies.strategy`, "Cells"), as well as by 2k with sensitivity S. Where the first costs no
    more, the requirement is that one, and `laws` says how many numbers of tables stand for log-concave laws:
    the difference is set aside of delta, as for several tables.

    On a grid of steps, s must be a whole number of them where 2·s is (`paired_on`).
    """

    label: str
    quantity: Quantity
    requirement: Requirement
    laws: int = 0

    @property
    def width(self) -> float:
        """How near it must be, on both sides."""
        return min(map(float, self.requirement.region.offsets(0.0)))

    def drawn(self, part: Part, aggregates: Aggregates, keystream: Keystream) -> Index | Array:
        """The numbers of all groups with the noise of a part, from the table that was accounted for."""
        releaser = part.releaser
        answers = self.quantity.answers(aggregates)
        linear = isinstance(part.design.grid, LinearGrid)
        if linear or part.requirement.integer:
            furthest = FURTHEST * (part.design.grid.step if linear else 1.0)
            answers = typed(np.clip(answers, -furthest, furthest), answers.dtype == np.int64)
        steps = releaser.publisher.steps_of(answers)
        published = releaser.publisher.values_of(releaser.output_steps(steps, keystream))
        return typed(published, part.requirement.integer)

    def unpaired(self, query: Query) -> Number:
        """The same with noise of any law."""
        if not self.laws:
            return self
        asked = self.requirement
        return number_of(
            query, self.label, self.quantity, asked.region, asked.confidence, releases=query.published_touched
        )

    @property
    def alone(self) -> Requirement:
        """What is required, as if one person came or went: its grids are also those of pairs."""
        asked = self.requirement
        return replace(asked, sensitivity=asked.sensitivity / 2) if self.laws else asked

    def paired_on(self, grid: Grid) -> bool:
        """Whether two groups that move together move by no more steps than is said."""
        asked = self.requirement.sensitivity
        one, both = (grid.sensitivity_in_steps(one) for one in (asked / 2, asked))
        return not self.laws or 2 * one <= both


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


def numbers_of(query: Query, *, without: Collection[str] = ()) -> tuple[Number, ...]:
    """The numbers of all measures but those named."""
    measures = [measure for measure in query.measures if measure.name not in without]
    numbers = [number for measure in measures for number in measure.numbers(query)]
    numbers = list({number.label: number for number in numbers}.values())
    others = [number.requirement for number in numbers]
    others += [choice.requirement for one in query.measures for choice in one.choices(query)]
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
    if width is None:
        width = _cheap_width(count, others)
    return number_of(
        query,
        TOUCHED,
        Quantity(of="touched", rows=1, sets=_sets(query)),
        AbsoluteRegion.even(width),
        query.confidence_touched,
        releases=count,
    )


def _cheap_width(count: int, others: Sequence[Requirement]) -> float:
    """A width for `count` numbers of sensitivity 1 that adds next to nothing to what the others cost.

    With sensitivities of s in a width w, k numbers cost about k s/w if they are few, and the root of
    k (s/w)^2 if they are many. Whichever it is, the share is small.
    """
    loads = [(one.releases, one.sensitivity / min(map(float, one.region.offsets(0.0)))) for one in others]
    few = count / (_TOUCHED_SHARE * sum(k * load for k, load in loads))
    many = math.sqrt(count / (_TOUCHED_SHARE * sum(k * load**2 for k, load in loads)))
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
    """A number of every group of the query, or `releases` numbers that one person moves.

    Groups are paired where that is allowed and costs no more (`Number`), unless `releases` are said.
    """
    moved, laws = quantity.sensitivity(query.neighbors), 0
    count = query.published_touched if releases is None else releases
    plain = isinstance(region, AbsoluteRegion) and len(set(map(float, region.offsets(0.0)))) == 1
    if releases is None and plain and confidence < 1 and query.select is None and query.top is None:
        pairs, both = min(query.groups_of_one, count), 2 * quantity.alone
        if quantity.alone < moved and pairs < count and pairs * both <= count * moved:
            moved, count, laws = both, pairs, count + pairs
    requirement = Requirement(
        region=region,
        confidence=confidence,
        sensitivity=moved,
        delta=query.delta,
        releases=count,
        neighbors=query.neighbors,
        integer=quantity.is_whole,
    )
    return Number(label=label, quantity=quantity, requirement=requirement, laws=laws)


def on_whole(width: float, confidence: float) -> tuple[float, float]:
    """A whole width and the confidence that stand for any width: what they would be of Gaussian noise."""
    whole = max(float(math.floor(width)), 1.0)
    normal = NormalDist()
    far = normal.inv_cdf((1 + confidence) / 2) * (whole + 0.5) / (width + 0.5)
    return whole, min(2 * normal.cdf(far) - 1, 1 - 1e-9)


def typed(numbers: Any, whole: bool) -> Index | Array:
    """Numbers as 64-bit whole numbers or as doubles."""
    return np.asarray(numbers, dtype=np.int64) if whole else np.asarray(numbers, dtype=np.float64)


def worth(steps: Index | Array, part: Part) -> Index | Array:
    """What so many steps of the numbers of a part are worth; whole numbers stay whole."""
    step = part.design.grid.step
    whole = steps.dtype == np.int64 and (step == 1 or part.requirement.integer)
    return steps * int(step) if whole else steps.astype(np.float64) * step
