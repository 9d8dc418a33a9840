"""A sum from the middle and a count that measures follow from, and how near both must be.

A mean has a sum T and a count n of its own. Where a query also asks for the sum of a column and for the count
of its values (`Count(column="x")`), all of these may share two numbers (`Shared`): T = S - c·n, c the middle
of the bounds, is moved less than S by one person, S = T + c·n follows from it and the count, and so does
every mean, c + T/n. How far these are off is in `quotient_error`.

**Fitting.** Both numbers get noise of one family, as wide as the measures allow. How near both must be is
found as if their noise were Gaussian, with variances x and y: all bounds are of the form x + w²·y <= b², and
Δ²/x + r²/y, about the variance of the privacy loss, is to be small. What noise gives is (limit of a
measure) / (its width) times the root of x + w²·y: that is the next b. Noise is looked at by estimates, until
these say that it will do; then by what is certified, which corrects them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import grid_for
from pbdp.noise.family import kernel_from, known_families
from pbdp.noise.gaussian import GAUSSIAN
from pbdp.noise.huber import HUBER
from pbdp.noise.kernel import Array
from pbdp.noise.laplace import LAPLACE
from pbdp.planning.grids import FINE, grids_of
from pbdp.tables.estimates import spread_of
from pbdp.tables.measures import Count, Sum
from pbdp.tables.numbers import TOUCHED, Number, Quantity, number_of, numbers_of, on_whole
from pbdp.tables.query import Query
from pbdp.tables.quotient_error import Follower, is_proved_for
from pbdp.tables.quotients import Mean
from pbdp.tables.strategies.cells import room_of_sum, width_of_sum

# Laws of both numbers of a pair: log-concave ones, which are scaled as the measures allow. Staircases, which
# have to be found anew for every width, cost more for two together.
PAIRED = (GAUSSIAN.name, HUBER.name, LAPLACE.name)
# Variances that are tried for the count, among those that leave something to the sum.
TRIED = 512
# How near the least room gets to 1, and in how many looks, by estimates and by what is certified.
CLOSE, MOST_LOOKS, MOST_CHECKS = 3e-4, 8, 4

# A number, and noise that meets what is required of it.
Noisy = tuple[Number, Design]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Measures of one column that may follow from two numbers; the `count` is published as it is."""

    total: Sum
    count: Count
    means: tuple[Mean, ...]

    @property
    def labels(self) -> tuple[str, str]:
        """The labels of the sum from the middle and of the count."""
        return f"{self.total.name}: from the middle", self.count.name

    @property
    def followers(self) -> tuple[Sum | Mean, ...]:
        """The measures that have no numbers of their own."""
        return self.total, *self.means

    def number(self, query: Query) -> Number:
        """The sum from the middle, within the width of the sum."""
        index, value = query.value_of(self.total)
        quantity = Quantity(of="sum from the middle", rows=query.rows_counted, index=index, value=value)
        region = AbsoluteRegion.even(self.total.follower(query).limit)
        return number_of(query, self.labels[0], quantity, region, query.confidence_of(self.total))


def shared_of(query: Query) -> list[Shared]:
    """The columns of a query whose sum, count and means can share two numbers; none where they cannot.

    That is where a sum and a count of values have plain widths, in one table of all groups. A mean that only
    says how near its count must be follows if the one that is published is.
    """
    if query.margins is not None or query.top is not None:
        return []
    found = []
    plain = [one for one in query.measures if isinstance(one.within, int | float)]
    for column in dict.fromkeys(one.column for one in plain if isinstance(one, Sum)):
        total = next(one for one in plain if isinstance(one, Sum) and one.column == column)
        count = next((one for one in plain if isinstance(one, Count) and one.column == column), None)
        value = total.value(query)
        if count is None or value.per != "row":
            continue
        means = [one for one in query.measures if isinstance(one, Mean) and one.value(query) == value]
        means = [one for one in means if one.within is not None or _is_counted(one, count)]
        found.append(Shared(total=total, count=count, means=tuple(means)))
    return found


def _is_counted(mean: Mean, count: Count) -> bool:
    """Whether a count is as near as a mean without a promise asks for."""
    asked, near = mean.count_within, count.within
    return mean.at_least is None and asked is not None and isinstance(near, int | float) and near <= asked


def follows_of(shared: Sequence[Shared]) -> dict[str, tuple[str, str]]:
    """All measures that follow, by name, and the labels of the two numbers that they follow from."""
    return {follower.name: one.labels for one in shared for follower in one.followers}


def numbers_with(query: Query, shared: Sequence[Shared]) -> list[Number]:
    """The numbers of a query in which these share some; the people whom bounds touch come last."""
    own = numbers_of(query, without=follows_of(shared))
    return sorted([*own, *(one.number(query) for one in shared)], key=lambda number: number.label == TOUCHED)


def pairs_with(query: Query, shared: Sequence[Shared], numbers: Collection[Number]) -> list[Pair]:
    """Those among the numbers that measures with a width of their own follow from."""
    named = {number.label: number for number in numbers}

    def pair(followers: Sequence[Sum | Mean], labels: tuple[str, str], *, published: bool) -> Pair:
        total, count = (named[label] for label in labels)
        made = tuple(one.follower(query) for one in followers)
        return Pair(total=total, count=count, followers=made, published=published)

    sharing = follows_of(shared)
    alone = [one for one in query.measures if isinstance(one, Mean) and one.name not in sharing]
    return [
        *(pair(one.followers, one.labels, published=True) for one in shared),
        *(pair([one], one.labels, published=False) for one in alone if one.within is not None),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Both numbers, and how near the measures are that follow from them.

    The `count` may be `published` as well, within its width.
    """

    total: Number
    count: Number
    followers: tuple[Follower, ...]
    published: bool = False

    def fitted(self, family: str) -> dict[str, Noisy] | None:
        """Noise of a family for both, as wide as the measures allow; None where none was found."""
        spreads = self._spreads(self._first_bounds())
        numbers = [
            _widened(one, spread * normal_width(one.requirement.confidence_each))
            for one, spread in zip((self.total, self.count), spreads, strict=True)
        ]
        total, count = (_begun(one, family, spread) for one, spread in zip(numbers, spreads, strict=True))
        # widths are whole steps
        enough = 1 + 2 * CLOSE + total.grid.step / min(one.limit for one in self.followers)
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
        return {self.total.label: total, self.count.label: count}

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
        if not is_proved_for(total, count):
            return None
        found = [one.room(total, count, near) for one in self.followers]
        if self.published:
            width = self.count.width / count.grid.step
            found.append(room_of_sum(count, 1, self.count.requirement.confidence, width))
        return np.array(found)

    def _first_bounds(self) -> Array:
        """The b that Gaussian noise would have, for each measure, and for the count."""
        bounds = [one.limit / normal_width(one.confidence) for one in self.followers]
        if self.published:
            bounds.append(self.count.width / normal_width(self.count.requirement.confidence))
        return np.array(bounds)

    def _bounds(self, rooms: Array, spreads: tuple[float, float]) -> Array:
        """The b that noise has, by the rooms that it leaves."""
        both = [math.hypot(spreads[0], one.weight * spreads[1]) for one in self.followers]
        return np.asarray(rooms * np.array([*both, spreads[1]][: len(rooms)]))

    def _spreads(self, bounds: Array) -> tuple[float, float]:
        """Standard deviations of both numbers that are good for these bounds."""
        moved, rows = (one.alone.sensitivity for one in (self.total, self.count))
        weights = np.array([one.weight**2 for one in self.followers])[:, None]
        limits = bounds[: len(self.followers), None] ** 2
        with np.errstate(divide="ignore"):
            most = float(np.min(limits / weights))
            most = min(most, float(bounds[-1]) ** 2) if self.published else most
            tried = most * np.geomspace(1e-4, 1.0, TRIED)
            left = np.min(limits - weights * tried, axis=0)
            cost = np.where(left > 0, moved**2 / np.maximum(left, 0.0) + rows**2 / tried, np.inf)
        best = int(np.argmin(cost))
        return math.sqrt(float(left[best])), math.sqrt(float(tried[best]))


def normal_width(confidence: float) -> float:
    """How many standard deviations Gaussian noise is within, this often."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _widened(number: Number, width: float) -> Number:
    """The number with another width; whole numbers keep a whole one, and are within it less often."""
    asked = number.requirement
    if number.quantity.is_whole:
        width, confidence = on_whole(width, asked.confidence)
        asked = replace(asked, confidence=confidence)
    return replace(number, requirement=replace(asked, region=AbsoluteRegion.even(width)))


def _met(number: Number, design: Design) -> Noisy:
    """The number, as often within its width as the noise is."""
    asked = number.requirement
    # noise may end within the width
    confidence = min(design.confidence_in(asked.region), math.nextafter(1.0, 0.0))
    return replace(number, requirement=replace(asked, confidence=confidence)), design


def _spread(design: Design) -> float:
    """About the standard deviation of noise."""
    return spread_of(((design, Fraction(1), 1),)) * design.grid.step


def _scaled(design: Design, spread: float) -> Design:
    """The same noise with another standard deviation."""
    return design.stretched(spread / _spread(design))


def _begun(number: Number, family: str, spread: float) -> Design:
    """Noise of a family, about so wide; on a fine grid, as what is said of means loses a step and a half."""
    asked, alone = number.requirement, number.alone
    grid = grids_of(alone)[0] if asked.integer else grid_for(alone.region.width, alone.sensitivity, FINE)
    lengths = dict.fromkeys(known_families()[family].lengths, spread / grid.step)
    return Design(grid=grid, kernel=kernel_from(family, lengths), region=grid.region_in_steps(asked.region))
