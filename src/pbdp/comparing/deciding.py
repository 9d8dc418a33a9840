"""The test that decides whether two rates differ, for every rate that they may share, and how often it does.

**The p-value.** A look's distance x is how far its estimate is from "no difference", in factors c_j of its
interval. Whatever rate r both groups share, f(r, x) is the chance that the largest distance of the *whole*
schedule reaches x. After look j with the total T of all counts, C_j(T) are the rates that T leaves plausible
(`nuisance`); all of these sets hold the true rate but for a chance of b in all. The p-value is

    b + the largest f(r, X_j) over C_j(T),    X_j the largest distance so far,

the least of all looks so far. For a given r, f(r, X_j) <= u - b at some look means that f(r, X) <= u - b for
the largest distance X of all, which has a chance of u - b at most. So the p-value is u or less, at any look,
with probability u at most; and what was found stays found. One above twice what may be missed is given at the
rate of all people together, as it finds nothing.

**How often a difference is found.** It is found at look j when the p-value is at most what may be missed.
That asks for a distance of x*_j(T): the largest over C_j(T) of q(r), the least x with f(r, x) + b no more
than that. So power is a sum over all counts, as that of an interval is, with a factor that follows the total.
q is computed on a grid of rates, as fine as counts of few people need it, and taken for straight between its
points; C_j(T) is computed at some totals, and between them taken for as wide as the next ones make it. What
is returned is a lower and an upper bound, but for what the grid misses. That earlier looks count for later
ones (X_j, not x_j) is left out of it, which makes it less if anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pbdp.comparing.analysis import SAME
from pbdp.comparing.count_laws import CountLaw
from pbdp.comparing.looks import Procedure, Rates, Threshold
from pbdp.comparing.nuisance import Noise, Total, largest_over
from pbdp.noise.kernel import Array

# The chance that the true rate is not among the plausible ones, of one look and of a whole schedule: p-values
# are no smaller.
MISSED, MISSED_BY_LOOKS = 1e-9, 1e-6
# p-values are exact to this share of themselves.
_EXACT = 1e-5
# Where it is so many times what may be missed at the rate of all people, nothing was found at any rate.
_CLEAR = 2.0
# Steps of the grid of arcsin(sqrt(rate)), in 1/sqrt(people of the first look), up to so many people in all
# and for more of them; for one look and for several.
_STEPS, _STEPS_LOOKS = ((20_000, 0.5), (math.inf, 3.0)), ((2_000, 1.0), (math.inf, 4.0))
# q of several looks is found so nearly in the middle of the grid, and this many times less so with every step
# from there, as rates far out are plausible after few counts only, up to this.
_CLOSE, _LESS_CLOSE, _NOT_CLOSE = 1e-4, 2.0, 3e-3
# Totals at which plausible rates are computed; how seldom a count is beyond the least or the largest.
_TOTALS, _TOTALS_LOOKS, _BEYOND = 32, 12, 1e-7
# A distance that is never reached.
_NEVER = 1e6

Seen = tuple[float, float]


@dataclass(frozen=True, kw_only=True)  # no slots: critical distances are found once
class Decision:
    """A procedure, and what may be missed: a difference is found where the p-value is no more than that."""

    procedure: Procedure
    missed: float

    @property
    def spared(self) -> float:
        """b: how often the true rate is not among the plausible ones."""
        return MISSED if len(self.procedure.schedule) == 1 else MISSED_BY_LOOKS

    def p_value(self, seen: Sequence[Seen]) -> float:
        """That of the distances and totals of all looks so far, rounded up."""
        furthest = np.maximum.accumulate([distance for distance, _ in seen]).tolist()
        found = 1.0
        # later looks know the rate better and have seen more
        for look in range(len(seen), 0, -1):
            if furthest[look - 1] > 0:
                found = self._at(look, furthest[look - 1], seen[look - 1][1], found)
        return found

    def _at(self, look: int, distance: float, total: float, known: float) -> float:
        """The p-value of a look, or what is known already if that is less."""
        low, high = self._plausible(look, total)
        likely = min(max(total / self._people[look - 1], low), high)
        # a hair less, so that it counts itself
        reached = distance * (1 - SAME)
        about = 1 - float(self.procedure.holds((likely, likely), 0.0, reached)[-1])
        if about > min(_CLEAR * self.missed, known):
            return min(about, known)
        chance = self.procedure.further(low, high, reached)
        bound = largest_over(chance, low, high, self._people[-1], max(_EXACT * about, self.spared))
        return min(bound + self.spared, known)

    @cached_property
    def _people(self) -> list[int]:
        """All people up to each look."""
        return [int(both) for both in np.cumsum([sum(sizes) for sizes in self.procedure.schedule])]

    def _plausible(self, look: int, total: float) -> tuple[float, float]:
        people = self._people[look - 1]
        known = Total(count=total, people=people, noise=self._noise, copies=2 * look)
        return known.plausible(self.spared / len(self._people))

    @cached_property
    def _noise(self) -> Noise:
        return Noise(self.procedure.noise)

    # ---------------------------------------------------------------------------------- how often it finds

    def at_least(self, rates: Rates) -> float:
        """How often a difference is found at these rates, at any look, or more often."""
        return max(self._found(rates, surely=True) - self._beyond, 0.0)

    def at_most(self, rates: Rates) -> float:
        """How often a difference is found at these rates, at any look, or less often."""
        return min(self._found(rates, surely=False) + self._beyond, 1.0)

    @property
    def _beyond(self) -> float:
        """How often counts are where no totals were looked at."""
        return 4 * _BEYOND * len(self._people)

    def _found(self, rates: Rates, *, surely: bool) -> float:
        looks = enumerate(self.procedure.sums(rates), start=1)
        plausible = [self._plausible_at(look, laws, surely) for look, laws in looks]
        people = self.procedure.analyses[-1].users
        middle = sum(n * rate for n, rate in zip(people, rates, strict=True)) / sum(people)
        known = self._critical(np.concatenate([angles for _, angles in plausible]), middle, surely)
        thresholds = [Threshold(totals=totals, values=known(angles)) for totals, angles in plausible]
        return self.procedure.found(rates, thresholds)

    def _plausible_at(self, look: int, laws: tuple[CountLaw, CountLaw], surely: bool) -> tuple[Array, Array]:
        """Totals that these laws make at a look, and the rates they leave plausible, as angles.

        These are all rates that may be plausible, or those that surely are: the total is exact, and counts
        are rounded.
        """
        ends = [law.trimmed(_BEYOND).values for law in laws]
        least, most = (float(ends[0][end] + ends[1][end]) for end in (0, -1))
        parts = _TOTALS if len(self._people) == 1 else _TOTALS_LOOKS
        size = int(most - least)
        totals: Array = np.round(np.linspace(least, most, size + 1 if size <= 2 * parts else parts))
        slack = look * sum(step - 1 for step in self.procedure.steps) / 2 * (1 if surely else -1)
        lows = np.array([self._plausible(look, total - slack)[0] for total in totals.tolist()])
        highs = np.array([self._plausible(look, total + slack)[1] for total in totals.tolist()])
        return totals, np.arcsin(np.sqrt(_between(lows, highs)))

    def _critical(self, angles: Array, middle: float, surely: bool) -> Callable[[Array], Array]:
        """The largest q over intervals of angles: of what is surely enough, or of what is surely not."""
        first = math.floor(float(angles.min()) / self._step)
        last = math.ceil(float(angles.max()) / self._step)
        center = math.asin(math.sqrt(middle)) / self._step
        known = self._known[surely]
        # from the middle on, so that the next one is a good guess
        for place in sorted(range(first, last + 1), key=lambda place: abs(place - center)):
            if place not in known:
                side = -1 if place - 1 in known else 1
                near = known.get(place + side, 1.0)
                guess = 2 * near - known.get(place + 2 * side, near)
                close = min(_CLOSE * _LESS_CLOSE ** max(abs(place - center) - 1, 0.0), _NOT_CLOSE)
                known[place] = self._q(place, guess if 0.5 < guess < 2 else 1.0, close, surely)
        places = np.arange(first, last + 1)
        grid, values = places * self._step, np.array([known[place] for place in places.tolist()])

        def largest(intervals: Array) -> Array:
            found: Array = np.interp(intervals, grid, values).max(axis=1)
            for row, (low, high) in enumerate(intervals):
                found[row] = max(found[row], values[(grid > low) & (grid < high)].max(initial=0.0))
            return found

        return largest

    def _q(self, place: int, start: float, close: float, surely: bool) -> float:
        rate = math.sin(place * self._step) ** 2
        room = self.missed - self.spared
        if surely:
            level = room - 3 * max(_EXACT * self.missed, self.spared)
            return min(self.procedure.rare(rate, level, start, close), _NEVER)
        # beyond the one that is not enough itself
        found = self.procedure.common(rate, room + 1e-12 * self.missed, start, close)
        return min(found * (1 + 2 * SAME), _NEVER)

    @cached_property
    def _known(self) -> dict[bool, dict[int, float]]:
        return {True: {}, False: {}}

    @cached_property
    def _step(self) -> float:
        """The step of the grid, of which a quarter turn has a whole number."""
        steps = _STEPS if len(self._people) == 1 else _STEPS_LOOKS
        step = next(step for most, step in steps if self._people[-1] <= most) / math.sqrt(self._people[0])
        return math.pi / 2 / math.ceil(math.pi / 2 / step)


@lru_cache(maxsize=4)
def decision(procedure: Procedure, missed: float) -> Decision:
    """The test of a procedure, with what it found of itself before."""
    return Decision(procedure=procedure, missed=missed)


def _between(lows: Array, highs: Array) -> Array:
    """Intervals at each of some places, and from one to the next: the one's low and the other's high end."""
    found = np.empty((2 * len(lows) - 1, 2))
    found[::2, 0], found[::2, 1] = lows, highs
    found[1::2, 0], found[1::2, 1] = lows[:-1], highs[1:]
    return found
