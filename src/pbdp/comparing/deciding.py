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
from collections.abc import Sequence
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

        def chance(rate: float) -> float:
            # a hair less, so that it counts itself
            return 1 - float(self.procedure.holds((rate, rate), 0.0, distance * (1 - SAME))[-1])

        low, high = self._plausible(look, total)
        about = chance(min(max(total / self._people[look - 1], low), high))
        if about > min(_CLEAR * self.missed, known):
            return min(about, known)
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

    def found(self, rates: Rates) -> tuple[float, float]:
        """How often a difference is found at these rates, at any look: a lower and an upper bound."""
        looks = enumerate(self.procedure.sums(rates), start=1)
        thresholds = [self._thresholds(look, laws) for look, laws in looks]
        surely, maybe = (self.procedure.found(rates, side) for side in zip(*thresholds, strict=True))
        beyond = 4 * _BEYOND * len(thresholds)
        return max(surely - beyond, 0.0), min(maybe + beyond, 1.0)

    def _thresholds(self, look: int, laws: tuple[CountLaw, CountLaw]) -> tuple[Threshold, Threshold]:
        """x* of a look for all totals that these laws make: what is surely enough, and what may be."""
        ends = [law.trimmed(_BEYOND).values for law in laws]
        least, most = (float(ends[0][end] + ends[1][end]) for end in (0, -1))
        parts = _TOTALS if len(self._people) == 1 else _TOTALS_LOOKS
        size = int(most - least)
        totals: Array = np.round(np.linspace(least, most, size + 1 if size <= 2 * parts else parts))
        # the total is exact, of counts that are rounded
        slack = look * sum(step - 1 for step in self.procedure.steps) / 2
        below, above = (
            np.array([self._plausible(look, total + side) for total in totals.tolist()])
            for side in (-slack, slack)
        )
        return (
            Threshold(totals=totals, values=self._largest(_between(below[:, 0], above[:, 1]), 0)),
            Threshold(totals=totals, values=self._largest(_between(above[:, 0], below[:, 1]), 1)),
        )

    def _largest(self, intervals: Array, side: int) -> Array:
        """The largest q over each interval of rates."""
        angles = np.arcsin(np.sqrt(intervals))
        first = math.floor(float(angles.min()) / self._step)
        last = math.ceil(float(angles.max()) / self._step)
        # from the middle on, so that the next one is a good guess
        for place in sorted(range(first, last + 1), key=lambda place: abs(2 * place - first - last)):
            self._critical(place)
        places = np.arange(first, last + 1)
        known = np.array([self._known[place][side] for place in places.tolist()])
        at = np.interp(angles, places * self._step, known)
        found: Array = at.max(axis=1)
        for row, (low, high) in enumerate(angles):
            inside = known[(places * self._step > low) & (places * self._step < high)]
            found[row] = max(found[row], inside.max(initial=0.0))
        return found

    def _critical(self, place: int) -> None:
        """q at a point of the grid: what is surely enough, and what is surely not."""
        if place in self._known:
            return
        rate = math.sin(place * self._step) ** 2
        side = -1 if place - 1 in self._known else 1
        near, next_to_it = (self._known.get(place + far * side, (1.0, 1.0))[0] for far in (1, 2))
        guess = 2 * near - next_to_it
        start = guess if 0.5 < guess < 2 else 1.0
        room = self.missed - self.spared
        levels = room - 3 * max(_EXACT * self.missed, self.spared), room + 1e-12 * self.missed
        surely, maybe = self.procedure.critical(rate, levels, start)
        # beyond the other, which is not enough itself
        self._known[place] = min(surely, _NEVER), min(maybe * (1 + 2 * SAME), _NEVER)

    @cached_property
    def _known(self) -> dict[int, tuple[float, float]]:
        return {}

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
