"""A sum and a count of one column, from which measures follow: noise for both, as wide as these allow.

How near both must be is found as if their noise were Gaussian, with variances x and y: all bounds are of the
form x + w²·y <= b², and Δ²/x + r²/y, about the variance of the privacy loss, is to be small. What noise gives
is (limit of a measure) / (its width) times the root of x + w²·y: that is the next b. Noise is looked at by
estimates, until these say that it will do; then by what is certified, which corrects them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid, step_of_at_least
from pbdp.noise.family import kernel_from
from pbdp.noise.kernel import Array
from pbdp.planning.grids import grids_of
from pbdp.planning.together.search import fitted, is_concave
from pbdp.tables.centered import Centered, normal_width
from pbdp.tables.estimates import spread_of
from pbdp.tables.mean import Mean
from pbdp.tables.measures import Sum
from pbdp.tables.numbers import Number, on_whole
from pbdp.tables.strategies.cells import room_of_sum, width_of_sum

if TYPE_CHECKING:
    from pbdp.tables.query import Query

# Variances that are tried for the count, among those that leave something to the sum.
TRIED = 512
# How near the least room gets to 1, of noise that can be scaled and of other noise, which is found anew for
# every width; in how many looks, by estimates and by what is certified.
CLOSE, CLOSE_OTHERS = 3e-4, 1e-3
MOST_LOOKS, MOST_CHECKS = 8, 4
MOST_LOOKS_OTHERS, MOST_CHECKS_OTHERS = 4, 2
# Steps of a mean's sum are so many times finer than otherwise.
FINER = 8

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

    def gaussian(self) -> dict[str, Noisy]:
        """Gaussian noise for both, to begin with."""
        spreads = self._spreads(self._first_bounds())
        numbers = zip(self.first().items(), spreads, strict=True)
        return {label: _gaussian(number, spread) for (label, number), spread in numbers}

    def room(self, noisy: Mapping[str, Noisy]) -> float:
        """About how many times as wide noise of both could be; infinite where that is not known."""
        rooms = self._rooms(*(noisy[label][1] for label in self.labels), near=True)
        return math.inf if rooms is None else float(np.min(rooms))

    def fitted(self, total: Noisy, count: Noisy) -> dict[str, Noisy] | None:
        """Such noise for both, as wide as the measures allow; None where none was found."""
        smooth = all(is_concave(design) for _, design in (total, count))
        close = CLOSE if smooth else CLOSE_OTHERS
        # widths are whole steps
        limits = [one.both_within(self.query)[1] for one in self.followers]
        enough = 1 + 2 * close + total[1].grid.step / min(limits)
        off = np.ones(len(self.followers) + self.published)
        best: dict[str, Noisy] | None = None
        for _ in range(MOST_CHECKS if smooth else MOST_CHECKS_OTHERS):
            looks = self._looks((total, count), off, close)
            tried, near = min(looks, key=lambda look: (self._left(look[1]), -float(np.min(look[1]))))
            rooms = self._rooms(*(design for _, design in tried))
            if rooms is None:
                break
            left = self._left(rooms)
            best = self._told(*tried) if left < math.inf else best
            if left < enough:
                break
            # a hair less than would just do
            off *= rooms / near * (1 - 1e-6)
        return best

    def unchanged(self, total: Noisy, count: Noisy) -> dict[str, Noisy] | None:
        """This very noise; None where it is too wide, or can be scaled as well."""
        designs = total[1], count[1]
        if all(map(is_concave, designs)):
            return None
        for near in (True, False):
            rooms = self._rooms(*designs, near=near)
            if rooms is None or self._left(rooms) == math.inf:
                return None
        return self._told(total, count)

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
        self, noisy: tuple[Noisy, Noisy], off: Array, close: float
    ) -> Iterator[tuple[tuple[Noisy, Noisy], Array]]:
        """Noise for both and the rooms that it leaves, by estimates that are `off`."""
        made, spreads = noisy, (_spread(noisy[0][1]), _spread(noisy[1][1]))
        for _ in range(MOST_LOOKS if close == CLOSE else MOST_LOOKS_OTHERS):
            near = self._rooms(*(design for _, design in made), near=True)
            rooms = np.full(len(off), np.nan) if near is None else near * off
            yield made, rooms
            if near is None or self._left(rooms) < 1 + close:
                break
            spreads = self._spreads(self._bounds(rooms, spreads) * (1 - close / 2))
            try:
                made = _wider(noisy[0], spreads[0]), _wider(noisy[1], spreads[1])
            except CannotCertifyError:
                break

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
        moved, rows = (one.requirement.sensitivity for one in (self.total, self.count))
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


def _wider(noisy: Noisy, spread: float) -> Noisy:
    """The same kind of noise with another standard deviation: scaled, or found anew for the width."""
    number, design = noisy
    factor = spread / _spread(design)
    if is_concave(design):
        return _met(number, design.stretched(factor))
    wider, family = widened(number, factor * half_width(number)), (design.kernel.family,)
    try:
        made = fitted(replace(wider.requirement, step=_finer_step(wider)), family)[0]
    except CannotCertifyError:
        made = fitted(wider.requirement, family)[0]
    return _met(wider, made)


def _finer_step(number: Number) -> float | None:
    """A smaller step than usual, as what is said of means loses a step and a half; None for the usual one."""
    asked, grid = number.requirement, grids_of(number.requirement)[0]
    if number.quantity.is_whole or not isinstance(grid, LinearGrid):
        return asked.step
    return step_of_at_least(asked.sensitivity, FINER * grid.sensitivity_in_steps(asked.sensitivity))


def _gaussian(number: Number, spread: float) -> Noisy:
    asked = number.requirement
    grid = grids_of(replace(asked, step=_finer_step(number)))[0]
    kernel = kernel_from("gaussian", {"sigma": spread / grid.step})
    return _met(number, Design(grid=grid, kernel=kernel, region=grid.region_in_steps(asked.region)))
