"""All pairs of two noisy counts, by how far their estimate is from a truth: exact chances, in one look.

For given rates, how often the interval holds a truth is a sum over both laws of noisy counts, and so is how
often the estimate is further from it than some number of standard errors. Where both ends of the interval
fall with the second count, the second counts for which it holds the truth are from one number to another, for
any first count. They are found by halving, for all first counts at once, so that groups may be large; and
between those of a smaller and of a larger factor, where these are known already.

**Where they fall.** The ends are a - b plus and minus c·sqrt(s + t), where a and s are of the first count, b
and t of the second. From one second count to the next an end falls if c·|sqrt(s + t') - sqrt(s + t)| is no
more than b' - b. The difference of roots is the less the larger s is, so this is asked at the first count
with the least s: up to which factor c the ends fall, for every second count. Those where they do not (few
people, rare answers, extreme statistics, small counts in a ratio) are gone through, pair by pair.

**Many rates.** Which counts are near enough is the same for all rates. Where many are asked for, it is found
once, for all counts that any of them makes likely (`beyond`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pbdp.comparing.analysis import SAME, Analysis
from pbdp.comparing.count_laws import CountLaw
from pbdp.noise.kernel import Array, Index

# What sums of masses may be off by.
ROUNDING = 1e-12
# So many pairs are gone through at once.
_BLOCK = 1 << 22
# How far around a guess a critical distance is looked for at first; beyond these ends it is none at all.
_AROUND, _NEAREST, _FURTHEST = 1.001, 1e-6, 1e4

# For every first count the places of second counts that are near enough: from, up to.
Ends = tuple[Index, Index]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Pairs of counts whose distance is between two numbers; `inside` and `beyond` are the chances of others.

    `away` are the distances, `totals` the two counts added up, `masses` their chances.
    """

    inside: float
    beyond: float
    away: Array
    totals: Array
    masses: Array


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: what is asked for is found once
class Plane:
    """The laws of two counts, and their distance from a truth (of a ratio, its logarithm), in errors."""

    analysis: Analysis
    laws: tuple[CountLaw, CountLaw]
    truth: float = 0.0
    beyond: Plane | None = None

    def covers(self, laws: tuple[CountLaw, CountLaw], factor: float) -> bool:
        """Whether ends of intervals are known here for all of these counts, too."""
        return self._parts(factor) == [(0, len(self.laws[1].masses), True)] and all(
            mine.start <= law.start and law.start + len(law.masses) <= mine.start + len(mine.masses)
            for mine, law in zip(self.laws, laws, strict=True)
        )

    def holds(self, factor: float) -> float:
        """How often the truth is within `factor` standard errors of the estimate, rounded down."""
        first, second = self.laws
        found = 0.0
        for begin, end, falls in self._parts(factor):
            if falls:
                start, stop = self._ends(begin, end, factor)
                found += float(np.sum(first.masses * (self._below[stop] - self._below[start])))
            else:
                inside = self._away(begin, end) <= factor
                found += float(np.sum(first.masses * (inside @ second.masses[begin:end])))
        return max(found - ROUNDING, 0.0)

    def between(self, low: float, high: float) -> Pairs:
        """The pairs that are more than `low` and at most `high` away."""
        first, second = self.laws
        inside, all_rows, all_columns = 0.0, [], []
        for begin, end, falls in self._parts(high):
            if falls:
                (near, stop), (far, last) = (self._ends(begin, end, factor) for factor in (low, high))
                inside += float(np.sum(first.masses * (self._below[stop] - self._below[near])))
                rows, columns = _spans([(far, near), (stop, last)])
            else:
                away = self._away(begin, end)
                inside += float(first.masses @ (away <= low) @ second.masses[begin:end])
                rows, columns = np.nonzero((away > low) & (away <= high))
                columns = columns + begin
            all_rows.append(rows)
            all_columns.append(columns)
        rows, columns = np.concatenate(all_rows), np.concatenate(all_columns)
        masses = first.masses[rows] * second.masses[columns]
        everything = float(first.masses.sum() * second.masses.sum())
        one, two = first.values[rows], second.values[columns]
        return Pairs(
            inside=inside,
            beyond=max(everything - inside - float(masses.sum()), 0.0),
            away=self.analysis.distance(one, two, self.truth),
            totals=one + two,
            masses=masses,
        )

    def critical(self, level: float, start: float) -> tuple[float, float]:
        """The least distance as rare as a level, and the largest that is not.

        Rare is how often counts are as far away or further; what laws leave out counts as further. It is
        looked for around `start`.
        """
        around = _AROUND
        low, high = start / around, start * around
        while True:
            found = self.between(low, high)
            order = np.argsort(found.away)
            away = found.away[order]
            nearer = np.concatenate([[0.0], np.cumsum(found.masses[order])])
            chances = 1 + ROUNDING - found.inside - nearer[np.searchsorted(away, away * (1 - SAME))]
            rare, common = np.flatnonzero(chances <= level), np.flatnonzero(chances > level)
            around *= around
            if not len(common) and low > _NEAREST:
                low /= around
            elif not len(rare) and high < _FURTHEST:
                high *= around
            else:
                largest = float(away[common[-1]]) if len(common) else 0.0
                # beyond all that can be there is only what laws leave out
                return float(away[rare[0]]) if len(rare) else largest * (1 + 2 * SAME), largest

    # ----------------------------------------------------------------------------- where intervals hold it

    @cached_property
    def _first(self) -> tuple[Array, Array]:
        """What the first counts are in the estimate, less the truth, and in its squared error."""
        center, square = self.analysis.part(self.laws[0].values, 0)
        return center - self.truth, square

    @cached_property
    def _second(self) -> tuple[Array, Array]:
        return self.analysis.part(self.laws[1].values, 1)

    @cached_property
    def _below(self) -> Array:
        return self.laws[1].below()

    @cached_property
    def _falls_up_to(self) -> Array:
        """From each second count to the next: up to which factor the ends of intervals fall."""
        center, square = self._second
        fall, change = np.diff(center), np.abs(np.diff(np.sqrt(self._first[1].min() + square)))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(change > 0, fall / change, np.where(fall >= 0, np.inf, 0.0))

    def _parts(self, factor: float) -> list[tuple[int, int, bool]]:
        """Places of second counts, from and up to, and whether the ends of intervals fall among them."""
        size = len(self.laws[1].masses)
        if self.beyond is not None and self.beyond.covers(self.laws, factor):
            return [(0, size, True)]
        rising = np.flatnonzero(self._falls_up_to < factor * (1 + SAME))
        if not len(rising):
            return [(0, size, True)]
        # up to the first that is not above the next, and from the last that is not below the one before
        low, high = int(rising[0]) + 1, int(rising[-1]) + 1
        rows = max(_BLOCK // len(self.laws[0].masses), 1)
        between = [(begin, min(begin + rows, high), False) for begin in range(low, high, rows)]
        return [(0, low, True), *between, (high, size, True)]

    def _away(self, begin: int, end: int) -> Array:
        """The distances of all first counts and these second ones."""
        (center, square), (other, more) = self._first, self._second
        off = np.abs(center[:, None] - other[None, begin:end])
        found: Array = off / np.sqrt(square[:, None] + more[None, begin:end])
        return found

    @cached_property
    def _known(self) -> dict[tuple[int, int], dict[float, Ends]]:
        return {}

    def _ends(self, begin: int, end: int, factor: float) -> Ends:
        """For every first count, which of these second counts are within so many standard errors."""
        if self.beyond is not None and self.beyond.covers(self.laws, factor):
            first, second = (
                law.start - wide.start for law, wide in zip(self.laws, self.beyond.laws, strict=True)
            )
            kept = slice(first, first + len(self.laws[0].masses))
            ends = self.beyond._ends(0, len(self.beyond.laws[1].masses), factor)
            return np.clip(ends[0][kept] - second, begin, end), np.clip(ends[1][kept] - second, begin, end)
        known = self._known.setdefault((begin, end), {})
        if factor not in known:
            rows = len(self.laws[0].masses)
            least, most = np.full(rows, begin), np.full(rows, end)
            # they lie between those of a factor that is larger and of one that is smaller
            larger = known[min(more)] if (more := [one for one in known if one > factor]) else (least, most)
            smaller = known[max(less)] if (less := [one for one in known if one < factor]) else (most, least)
            # from the first second count whose interval's lower end is not above the truth
            start = self._halved(larger[0], smaller[0], factor)
            # up to the last whose upper end is not below it
            known[factor] = start, self._halved(smaller[1], larger[1], -factor)
        return known[factor]

    def _halved(self, low: Index, high: Index, factor: float) -> Index:
        """The first places of which center - factor·error is not above 0; below 0 for a negative factor."""
        (center, square), (other, more) = self._first, self._second
        last = len(other) - 1
        while True:
            is_open = low < high
            if not is_open.any():
                return low
            middle = (low + high) >> 1
            at = np.minimum(middle, last)
            end = center - other[at] - factor * np.sqrt(square + more[at])
            yes = end <= 0 if factor > 0 else end < 0
            high = np.where(is_open & yes, middle, high)
            low = np.where(is_open & ~yes, middle + 1, low)


def _spans(ends: list[Ends]) -> tuple[Index, Index]:
    """The rows and columns of all places from one end up to the other, in every row."""
    rows, columns = [], []
    for start, stop in ends:
        sizes = stop - start
        row = np.repeat(np.arange(len(sizes)), sizes)
        rows.append(row)
        columns.append(np.arange(len(row)) + (start - np.cumsum(sizes) + sizes)[row])
    return np.concatenate(rows), np.concatenate(columns)
