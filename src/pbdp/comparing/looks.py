"""Looking several times: how far noisy counts may wander before a difference is found, exactly.

At every look the people who came since the last one are counted, in both groups, and both counts get noise of
their own. A person is counted at one look and in one group, so all looks together cost what one of them does.
Nothing that lets the first look be as precise could cost less. What is known after a look are sums of
published counts; their noise adds up as their people do.

**The schedule.** At look j the interval is the estimate plus and minus c_j standard errors (`analysis`). The
numbers c_j are set so that, at the planned rates, the interval misses the truth at look j *for the first
time* with a chance of A·(t_j³ - t_(j-1)³), t_j being the share of all people who have come and A what may be
missed in all: a power family of spending functions (Kim and DeMets 1987), with early looks that decide only
what is plain. So all intervals of the schedule hold together with the confidence, and a difference is found
at the first look whose interval leaves "no difference" out.

**Exactly.** The two sums are a walk in the plane with independent steps, whose laws are those of noisy
counts. P(every interval so far holds the truth, and the sums are here) is carried from look to look:
convolved with both steps, then set to 0 wherever the interval does not hold it. Published counts are rounded
to a step for this (`count_laws`), some 24th of the standard deviation at the end. What is cut off far away
counts as missed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from pbdp.comparing.analysis import SAME, Analysis, Measure
from pbdp.comparing.count_laws import CountLaw, count_law
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array
from pbdp.root_finding import least_enough

Pair = tuple[int, int]
Rates = tuple[float, float]
# The spending function is the third power of the share of people.
POWER = 3
# Ends of laws that are cut off at each look, or at the only one, and what sums of masses may be off by.
_CUT, _CUT_ONE, _ROUNDING = 1e-10, 1e-13, 1e-10
# Scales at which several looks are as rare as is asked are found so nearly.
_CLOSE = 1e-4
# A chance of 5 % falls about as this power of the scale; guesses that are further off, in logarithms, are not
# followed.
_FALL, _FAR_OFF = 4.6, 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Threshold:
    """Which distance is enough, in factors: at each of these totals of both sums, and between them.

    `values` are those of the first total, of what lies between it and the second, of the second, and so on;
    totals beyond the last are taken for it.
    """

    totals: Array
    values: Array

    @property
    def least(self) -> float:
        """The least of them."""
        return float(self.values.min())

    @property
    def most(self) -> float:
        """The largest of them."""
        return float(self.values.max())

    def at(self, totals: Array) -> Array:
        """For each of these totals."""
        place = np.searchsorted(self.totals, totals, "right") - 1 + np.searchsorted(self.totals, totals)
        found: Array = self.values[np.clip(place, 0, len(self.values) - 1)]
        return found


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: the analyses are made once
class Procedure:
    """New people at each look, the noise on each count, steps of rounding, and how wide intervals are."""

    schedule: tuple[Pair, ...]
    noise: WeightTable | None
    variance: float
    steps: Pair
    measure: Measure
    factors: tuple[float, ...] = ()

    @cached_property
    def analyses(self) -> tuple[Analysis, ...]:
        """The analysis of each look, of the people so far; rounding counts as noise."""
        people = np.cumsum(np.array(self.schedule, dtype=np.int64), axis=0).tolist()
        first, second = (self.variance + (step * step - 1) / 12 for step in self.steps)
        return tuple(
            Analysis(
                users=(users[0], users[1]),
                variances=(look * first, look * second),
                factor=self.factors[look - 1] if self.factors else 1.0,
                measure=self.measure,
            )
            for look, users in enumerate(people, start=1)
        )

    def holds(self, rates: Rates, truth: float, scale: float = 1.0) -> Array:
        """How often all intervals up to each look hold the truth, rounded down, were they `scale` as wide."""
        walk = _Walk.of(self, rates)
        if len(self.schedule) == 1:
            only = replace(self.analyses[0], factor=self.factors[0] * scale)
            return np.array([only.holds(walk.steps[0], truth)])
        found, state = [], None
        for look, analysis in enumerate(self.analyses):
            state = walk.moved(look, state)
            state = state.within(analysis, truth, self.factors[look] * scale)
            found.append(max(float(state.masses.sum()) - _ROUNDING, 0.0))
        return np.array(found)

    def critical(self, rate: float, levels: tuple[float, float], start: float) -> tuple[float, float]:
        """The scale that is reached as rarely as the first level, and one that is not as rare as the second.

        Reached is by the largest distance of all looks, in factors, where both groups have this rate. For
        one look both scales are exact, for several to 1e-4 of themselves.
        """
        if len(self.schedule) == 1:
            return self.analyses[0].critical(_Walk.of(self, (rate, rate)).steps[0], levels, start)

        @cache
        def missed(scale: float) -> float:
            return 1 - float(self.holds((rate, rate), 0.0, scale * (1 - SAME))[-1])

        # it falls about as a power of the scale, so two steps lead close to the level from anywhere near
        guess, power = start * (1 + _CLOSE / 3), _FALL
        for _ in range(2):
            before, chance = guess, missed(guess)
            off = math.log(chance / levels[0]) if chance > 0 else 0.0
            if abs(off) < power * _CLOSE or abs(off) > _FAR_OFF:
                break
            guess *= math.exp(off / power)
            power = max(math.log(chance / max(missed(guess), 1e-300)) / math.log(guess / before), 1.0)
        # from just above to just below, if it is a good guess
        found = least_enough(
            lambda scale: missed(scale) - levels[0], guess, close=_CLOSE, beside=1 + 0.9 * _CLOSE
        )
        return found, found / (1 + _CLOSE)

    def found(self, rates: Rates, thresholds: Sequence[Threshold]) -> float:
        """How often the distance of some look, in factors, reaches what that look's total asks for.

        What is cut off far away counts as not found.
        """
        walk = _Walk.of(self, rates)
        if len(self.schedule) == 1:
            (reached,) = thresholds
            pairs = self.analyses[0].pairs(walk.steps[0], reached.least * (1 - SAME), reached.most)
            done = pairs.away >= reached.at(pairs.totals) * (1 - SAME)
            return pairs.beyond + float(pairs.masses[done].sum())
        found, state = 0.0, None
        for look, (analysis, reached) in enumerate(zip(self.analyses, thresholds, strict=True)):
            state = walk.moved(look, state)
            first, second = state.sums()
            enough = reached.at(first + second) * analysis.factor * (1 - SAME)
            done = analysis.distance(first, second) >= enough
            found += float(state.masses[done].sum())
            state = replace(state, masses=np.where(done, 0.0, state.masses))
        return found

    def sums(self, rates: Rates) -> Sequence[tuple[CountLaw, CountLaw]]:
        """The laws of the two sums after each look."""
        return _Walk.of(self, rates).windows

    def calibrated(self, cases: Sequence[tuple[Rates, float]], missed: float) -> Procedure:
        """With the least factors that miss no more than the schedule spends, at these rates and truths."""
        walks = [(_Walk.of(self, rates), truth) for rates, truth in cases]
        if len(self.schedule) == 1:

            def short(factor: float) -> float:
                sized = replace(self.analyses[0], factor=factor)
                return max(1 - sized.holds(walk.steps[0], truth) for walk, truth in walks) - missed

            return replace(self, factors=(least_enough(short, 2.0),))
        states: list[_State | None] = [None for _ in walks]
        factors: list[float] = []
        for look, (analysis, gone) in enumerate(zip(self.analyses, self._spent(missed), strict=True)):
            moved = [walk.moved(look, state) for (walk, _), state in zip(walks, states, strict=True)]
            factors.append(
                max(
                    state.least_factor(analysis, truth, gone - _ROUNDING)
                    for state, (_, truth) in zip(moved, walks, strict=True)
                )
            )
            states = [
                state.within(analysis, truth, factors[-1])
                for state, (_, truth) in zip(moved, walks, strict=True)
            ]
        return replace(self, factors=tuple(factors))

    def _spent(self, missed: float) -> Array:
        """What may be missed up to each look."""
        people = np.cumsum([sum(sizes) for sizes in self.schedule])
        return np.asarray(missed * (people / people[-1]) ** POWER)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _State:
    """P(all intervals so far hold, and the two sums are start, start + 1, ... steps)."""

    starts: Pair
    masses: Array
    steps: Pair

    def sums(self) -> tuple[Array, Array]:
        """The counts so far of both groups: a column and a row."""
        first, second = (
            (start + np.arange(size, dtype=np.float64)) * step
            for start, size, step in zip(self.starts, self.masses.shape, self.steps, strict=True)
        )
        return first[:, None], second[None, :]

    def within(self, analysis: Analysis, truth: float, factor: float) -> _State:
        """Where this interval holds the truth, too."""
        inside = analysis.distance(*self.sums(), truth) <= factor
        return replace(self, masses=np.where(inside, self.masses, 0.0))

    def least_factor(self, analysis: Analysis, truth: float, gone: float) -> float:
        """The least number of standard errors with which no more than `gone` is gone after this look."""
        away = analysis.distance(*self.sums(), truth)
        order = np.argsort(away, axis=None)
        kept = np.cumsum(self.masses.ravel()[order])
        place = int(np.searchsorted(kept, 1 - gone))
        return float(away.ravel()[order[min(place, len(order) - 1)]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Walk:
    """The laws of the steps of both sums at each look, and the window that the sums are in after it."""

    steps: Sequence[tuple[CountLaw, CountLaw]]
    windows: Sequence[tuple[CountLaw, CountLaw]]

    @classmethod
    def of(cls, procedure: Procedure, rates: Rates) -> _Walk:
        exact: dict[tuple[int, float], CountLaw] = {}
        known: dict[tuple[int, int], CountLaw] = {}

        def law(group: int, users: int) -> CountLaw:
            if (group, users) not in known:
                whole = users, rates[group]
                if whole not in exact:
                    exact[whole] = count_law(*whole, procedure.noise)
                made = exact[whole].rounded(procedure.steps[group])
                known[group, users] = made.trimmed(_CUT if len(procedure.schedule) > 1 else _CUT_ONE)
            return known[group, users]

        steps = [(law(0, first), law(1, second)) for first, second in procedure.schedule]
        windows = [steps[0]]
        for one, two in steps[1:]:
            first, second = windows[-1]
            windows.append((first.added(one).trimmed(_CUT), second.added(two).trimmed(_CUT)))
        return cls(steps=steps, windows=windows)

    def moved(self, look: int, state: _State | None) -> _State:
        """The state after the people of this look came, before its interval is looked at."""
        one, two = self.steps[look]
        if state is None:
            masses = np.outer(one.masses, two.masses)
            return _State(starts=(one.start, two.start), masses=masses, steps=(one.step, two.step))
        masses = _moved(state.masses, one.masses, two.masses)
        starts = state.starts[0] + one.start, state.starts[1] + two.start
        cuts, begins = [], []
        for start, size, window in zip(starts, masses.shape, self.windows[look], strict=True):
            begin = max(window.start, start)
            begins.append(begin)
            cuts.append(slice(begin - start, min(window.start + len(window.masses) - start, size)))
        kept = np.maximum(masses[cuts[0], cuts[1]], 0.0)
        return replace(state, starts=(begins[0], begins[1]), masses=kept)


def _moved(masses: Array, first: Array, second: Array) -> Array:
    """Convolved with a law along either axis, by way of Fourier."""
    from scipy import fft

    rows, columns = masses.shape[0] + len(first) - 1, masses.shape[1] + len(second) - 1
    shape = fft.next_fast_len(rows), fft.next_fast_len(columns, real=True)
    transformed = fft.rfft2(masses, shape)
    transformed *= fft.fft(first, shape[0])[:, None]
    transformed *= fft.rfft(second, shape[1])[None, :]
    found: Array = fft.irfft2(transformed, shape)[:rows, :columns]
    return found
