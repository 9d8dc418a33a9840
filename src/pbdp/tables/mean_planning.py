"""How near the sums and counts behind means must be, for all numbers of a table together.

A mean has a sum and a count of its own, which are widened until the mean is as near as it must be, by the law
of both errors together (`mean_error`). Where the query asks for a sum and a count of the same values, all of
these may follow from two numbers instead (`centered`). Both ways are planned then, and the least epsilon is
taken.

**Pairs.** A sum and a count of one column, from which measures follow, get noise as wide as these allow. How
near both must be is found as if their noise were Gaussian, with variances x and y: all bounds are of the
form x + w²·y <= b², and Δ²/x + r²/y, about the variance of the privacy loss, is to be small. What noise gives
is (limit of a measure) / (its width) times the root of x + w²·y: that is the next b. Noise is looked at by
estimates, until these say that it will do; then by what is certified, which corrects them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import grid_for
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import kernel_from, known_families
from pbdp.noise.gaussian import GAUSSIAN
from pbdp.noise.huber import HUBER
from pbdp.noise.kernel import Array
from pbdp.noise.laplace import LAPLACE
from pbdp.planning.grids import FINE, grids_of
from pbdp.planning.together.search import plan_together
from pbdp.tables.centered import Centered, centered_of, followers_of, in_order, normal_width
from pbdp.tables.estimates import spread_of
from pbdp.tables.mean import Mean
from pbdp.tables.measures import Sum
from pbdp.tables.numbers import Number, numbers_of, on_whole
from pbdp.tables.plan import SELECTION, Groups, TablePlan
from pbdp.tables.query import Query
from pbdp.tables.strategies.cells import room_of_sum, width_of_sum
from pbdp.tables.strategies.planning import ASIDE, set_aside
from pbdp.tables.top import TOP

# Laws of both numbers of a pair: log-concave ones, which are scaled as the measures allow. Staircases, which
# have to be found anew for every width, cost more for two together.
PAIRED = (GAUSSIAN.name, HUBER.name, LAPLACE.name)
# Numbers of their own are not planned if they cost so many times as much as shared ones, in variances.
DEARER = 1.15


def plan_measures(query: Query, groups: Groups) -> TablePlan:
    """The plan of least epsilon for all widths."""
    centered = centered_of(query)
    shared = _shared(query, groups, centered) if centered else []
    if shared and _is_dearer(query, centered):
        return min(shared, key=lambda plan: plan.epsilon)
    own = plan_of_numbers(query, numbers_of(query), groups)
    return min([own, *shared], key=lambda plan: plan.epsilon)


def plan_of_numbers(query: Query, numbers: Sequence[Number], groups: Groups) -> TablePlan:
    """The plan in which every measure has numbers of its own.

    Sums and counts of means are as wide as their errors together allow. Where no noise is found for that,
    they are as near as a mean needs that is off by both at their worst.
    """
    pairs = _pairs_of_means(query, numbers)
    way = _Way(query=query, groups=groups, numbers=numbers, pairs=pairs)
    found = way.plans() if pairs else []
    if any(one.laws for one in numbers):
        with suppress(CannotCertifyError):
            found = found or [way.planned()]
        if not found or any(one.laws and half_width(one) < one.requirement.sensitivity for one in numbers):
            found.append(plan_of_numbers(query, [one.unpaired(query) for one in numbers], groups))
    return min(found or [way.planned()], key=lambda plan: plan.epsilon)


def _shared(query: Query, groups: Groups, centered: Sequence[Centered]) -> list[TablePlan]:
    """Plans in which measures follow from sums from the middle and counts."""
    follows = followers_of(centered)
    numbers = {number.label: number for number in numbers_of(query, without=follows)}
    pairs = [Pair.of_centered(query, one, numbers[one.count.name]) for one in centered]
    others = _pairs_of_means(query, tuple(numbers.values()), follows)
    own = in_order(numbers | {pair.total.label: pair.total for pair in pairs})
    return _Way(query=query, groups=groups, numbers=own, pairs=[*pairs, *others], follows=follows).plans()


def _pairs_of_means(query: Query, numbers: Sequence[Number], follows: Collection[str] = ()) -> list[Pair]:
    means = (one for one in query.measures if isinstance(one, Mean) and one.name not in follows)
    return [Pair.of_mean(query, one, numbers) for one in means if one.within is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """Numbers of a query, some of them in pairs that measures follow from."""

    query: Query
    groups: Groups
    numbers: Sequence[Number]
    pairs: Sequence[Pair]
    follows: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def plans(self) -> list[TablePlan]:
        """Plans with noise of pairs that is as wide as may be, of one family for all; what cannot be
        certified is left out.
        """
        found = []
        for family in PAIRED:
            fitted = [pair.fitted(family) for pair in self.pairs]
            made = [one for one in fitted if one is not None]
            if made == fitted:
                with suppress(CannotCertifyError):
                    found.append(self.planned({label: one for each in made for label, one in each.items()}))
        return found

    def planned(self, fixed: Mapping[str, Noisy] | None = None) -> TablePlan:
        """The plan of least epsilon with this noise of some numbers."""
        fixed = fixed or {}
        known = {label: number for label, (number, _) in fixed.items()}
        numbers = [known.get(one.label, one) for one in self.numbers]
        given = {label: [(one.requirement, design)] for label, (one, design) in fixed.items()}
        laws = {one.label: one.laws for one in numbers if one.laws}
        aside = ASIDE * self.query.delta if laws else 0.0
        noise = plan_together(
            {one.label: on_even_grid(one) for one in numbers if one.label not in given},
            given=given | self.groups.given,
            missing=self.groups.missing + aside,
            concave=laws,
            quick=True,
        )
        if laws and set_aside(noise, laws) > aside:
            raise CannotCertifyError("Tables of this noise differ too much from log-concave laws.")
        # in the order of the numbers, whichever way they were chosen
        order = [*(one.label for one in numbers), TOP, SELECTION]
        parts = tuple(sorted(noise.parts, key=lambda part: order.index(part.name)))
        asked = {part.name: part.requirement for part in parts}
        numbers = [replace(one, requirement=asked[one.label]) for one in numbers]
        if not all(one.paired_on(part.design.grid) for one, part in zip(numbers, parts, strict=False)):
            raise AssertionError("grids of pairs are even")
        return self.groups.plan(self.query, tuple(numbers), replace(noise, parts=parts), self.follows)


def on_even_grid(number: Number) -> Requirement:
    """What is required of a number, on a grid on which half the sensitivity is a whole number of steps."""
    grid = grids_of(number.alone)[0]
    whole = number.requirement.integer and grid.step == 1
    return number.requirement if whole or not number.laws else replace(number.requirement, step=grid.step)


def _is_dearer(query: Query, centered: Sequence[Centered]) -> bool:
    """Whether numbers of their own cost far more than shared ones, by about the variance of their losses.

    That says nothing of widths below what one person moves.
    """
    own = {one.label: one for one in numbers_of(query)}
    for pair in _pairs_of_means(query, tuple(own.values())):
        own |= pair.first()
    shared = {one.label: one for one in numbers_of(query, without=followers_of(centered))}
    for one in centered:
        shared |= Pair.of_centered(query, one, shared[one.count.name]).first()
    if any(half_width(one) < one.requirement.sensitivity for one in (*own.values(), *shared.values())):
        return False
    costs = [math.fsum(map(_cost, every.values())) for every in (own, shared)]
    return costs[0] > DEARER * costs[1]


def _cost(number: Number) -> float:
    asked = number.requirement
    spread = half_width(number) / normal_width(asked.confidence_each)
    return asked.releases * (asked.sensitivity / spread) ** 2


# ----------------------------------------------------------------------------------------------------- pairs


# Variances that are tried for the count, among those that leave something to the sum.
TRIED = 512
# How near the least room gets to 1, and in how many looks, by estimates and by what is certified.
CLOSE, MOST_LOOKS, MOST_CHECKS = 3e-4, 8, 4

# A number, and noise that meets what is required of it.
Noisy = tuple[Number, Design]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Both numbers and the measures that follow from them.

    The `count` may be `published` as well, within its width.
    """

    query: Query
    total: Number
    count: Number
    followers: tuple[Sum | Mean, ...]
    published: bool = False

    @classmethod
    def of_mean(cls, query: Query, mean: Mean, numbers: Sequence[Number]) -> Pair:
        """The sum and the count of a mean alone."""
        named = {number.label: number for number in numbers}
        total, count = (named[label] for label in mean.labels)
        return cls(query=query, total=total, count=count, followers=(mean,))

    @classmethod
    def of_centered(cls, query: Query, centered: Centered, count: Number) -> Pair:
        """Those of measures that share both."""
        total = centered.number(query, centered.total.both_within(query)[1])
        return cls(query=query, total=total, count=count, followers=centered.followers, published=True)

    @property
    def labels(self) -> tuple[str, str]:
        """Those of its numbers."""
        return self.total.label, self.count.label

    def first(self) -> dict[str, Number]:
        """Both numbers, about as near as the measures need."""
        spreads = self._spreads(self._first_bounds())
        numbers = zip((self.total, self.count), spreads, strict=True)
        return {
            one.label: widened(one, spread * normal_width(one.requirement.confidence_each))
            for one, spread in numbers
        }

    def fitted(self, family: str) -> dict[str, Noisy] | None:
        """Noise of a family for both, as wide as the measures allow; None where none was found."""
        numbers, spreads = self.first().values(), self._spreads(self._first_bounds())
        total, count = (_begun(one, family, spread) for one, spread in zip(numbers, spreads, strict=True))
        # widths are whole steps
        limits = [one.both_within(self.query)[1] for one in self.followers]
        enough = 1 + 2 * CLOSE + total.grid.step / min(limits)
        off = np.ones(len(self.followers) + self.published)
        best: dict[str, Noisy] | None = None
        for _ in range(MOST_CHECKS):
            looks = self._looks((total, count), off)
            tried, near = min(looks, key=lambda look: (self._left(look[1]), -float(np.min(look[1]))))
            rooms = self._rooms(*tried)
            if rooms is None:
                break
            left = self._left(rooms)
            best = self._told(*map(_met, numbers, tried)) if left < math.inf else best
            if left < enough:
                break
            # a hair less than would just do
            off *= rooms / near * (1 - 1e-6)
        return best

    def _left(self, rooms: Array) -> float:
        """The least room of the measures that follow: one of them is what both numbers are as near for.

        Infinite where any is too small, or none is known.
        """
        return float(np.min(rooms[: len(self.followers)])) if np.all(rooms >= 1) else math.inf

    def _told(self, total: Noisy, count: Noisy) -> dict[str, Noisy]:
        """Both by their labels; a count that is published is told as near as it is."""
        if self.published:
            design = count[1]
            width = width_of_sum(design, 1, self.count.requirement.confidence) * design.grid.step
            region = AbsoluteRegion.even(width)
            count = replace(self.count, requirement=replace(self.count.requirement, region=region)), design
        return dict(zip(self.labels, (total, count), strict=True))

    def _looks(
        self, made: tuple[Design, Design], off: Array
    ) -> Iterator[tuple[tuple[Design, Design], Array]]:
        """Noise for both and the rooms that it leaves, by estimates that are `off`."""
        spreads = _spread(made[0]), _spread(made[1])
        for _ in range(MOST_LOOKS):
            near = self._rooms(*made, near=True)
            rooms = np.full(len(off), np.nan) if near is None else near * off
            yield made, rooms
            if near is None or self._left(rooms) < 1 + CLOSE:
                break
            spreads = self._spreads(self._bounds(rooms, spreads) * (1 - CLOSE / 2))
            made = _scaled(made[0], spreads[0]), _scaled(made[1], spreads[1])

    def _rooms(self, total: Design, count: Design, *, near: bool = False) -> Array | None:
        """How many times as wide both could be for each measure, and for the count; None if not known."""
        found = [one.room(self.query, total, count, near=near) for one in self.followers]
        if self.published:
            asked = self.count.requirement
            width = half_width(self.count) / count.grid.step
            found.append(room_of_sum(count, 1, asked.confidence, width))
        return None if any(room is None for room in found) else np.array(found, dtype=np.float64)

    def _first_bounds(self) -> Array:
        """The b that Gaussian noise would have, for each measure, and for the count."""
        query = self.query
        bounds = [
            one.both_within(query)[1] / normal_width(query.confidence_of(one)) for one in self.followers
        ]
        if self.published:
            bounds.append(half_width(self.count) / normal_width(self.count.requirement.confidence))
        return np.array(bounds)

    def _bounds(self, rooms: Array, spreads: tuple[float, float]) -> Array:
        """The b that noise has, by the rooms that it leaves."""
        weights = [one.both_within(self.query)[0] for one in self.followers]
        both = [math.hypot(spreads[0], weight * spreads[1]) for weight in weights]
        return np.asarray(rooms * np.array([*both, spreads[1]][: len(rooms)]))

    def _spreads(self, bounds: Array) -> tuple[float, float]:
        """Standard deviations of both numbers that are good for these bounds."""
        moved, rows = (one.alone.sensitivity for one in (self.total, self.count))
        weights = np.array([one.both_within(self.query)[0] ** 2 for one in self.followers])[:, None]
        limits = bounds[: len(self.followers), None] ** 2
        with np.errstate(divide="ignore"):
            most = float(np.min(limits / weights))
            most = min(most, float(bounds[-1]) ** 2) if self.published else most
            tried = most * np.geomspace(1e-4, 1.0, TRIED)
            left = np.min(limits - weights * tried, axis=0)
            cost = np.where(left > 0, moved**2 / np.maximum(left, 0.0) + rows**2 / tried, np.inf)
        best = int(np.argmin(cost))
        return math.sqrt(float(left[best])), math.sqrt(float(tried[best]))


def half_width(number: Number) -> float:
    """How near a number must be."""
    return float(number.requirement.region.offsets(0.0)[0])


def widened(number: Number, width: float) -> Number:
    """The number with another width; whole numbers keep a whole one, and are within it less often."""
    if number.quantity.is_whole:
        width, confidence = on_whole(width, number.requirement.confidence)
        number = replace(number, requirement=replace(number.requirement, confidence=confidence))
    return replace(number, requirement=replace(number.requirement, region=AbsoluteRegion.even(width)))


def _met(number: Number, design: Design) -> Noisy:
    """The number, as often within its width as the noise is."""
    asked = number.requirement
    return replace(number, requirement=replace(asked, confidence=design.confidence_in(asked.region))), design


def _spread(design: Design) -> float:
    """About the standard deviation of noise."""
    return spread_of(((design, Fraction(1), 1),)) * design.grid.step


def _scaled(design: Design, spread: float) -> Design:
    """The same noise with another standard deviation."""
    return design.stretched(spread / _spread(design))


def _begun(number: Number, family: str, spread: float) -> Design:
    """Noise of a family, about so wide; on a fine grid, as what is said of means loses a step and a half."""
    asked = number.requirement
    alone = number.alone
    grid = grids_of(alone)[0] if asked.integer else grid_for(alone.region.width, alone.sensitivity, FINE)
    lengths = dict.fromkeys(known_families()[family].lengths, spread / grid.step)
    return Design(grid=grid, kernel=kernel_from(family, lengths), region=grid.region_in_steps(asked.region))
