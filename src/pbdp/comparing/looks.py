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
counts as missed. The sums of one group are moved after those of the other, by way of Fourier, each no further
than its window is wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from pbdp.comparing.analysis import SAME, Analysis, Measure
from pbdp.comparing.count_laws import CountLaw, count_law
from pbdp.comparing.pairs import Plane
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array
from pbdp.root_finding import least_enough

Pair = tuple[int, int]
Rates = tuple[float, float]
# The spending function is the third power of the share of people.
POWER = 3
# Ends of laws that are cut off at each look, or at the only one, and what sums of masses may be off by.
_CUT, _CUT_ONE, _ROUNDING = 1e-10, 1e-13, 1e-10
# The same of all looks together for scales that are as rare as a level, in parts of the level.
_CUT_LEVEL = 1e-5
# Such scales are followed along so many slopes that chances fall by, and halved from there; guesses that are
# further off, in logarithms, are not followed.
_SLOPES, _TRIES, _FAR_OFF = 3, 20, 1.0
# A distance that counts itself is larger by this than what it is compared with, however that is rounded.
_HAIR = 1e-12
# So many walks are kept.
_KEPT = 4
# Distances are sorted only where it matters, within one of so many cells.
_CELLS = 4096


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
        if len(self.schedule) == 1:
            return np.array([self._plane(rates, truth).holds(self.factors[0] * scale)])
        return self._held(self._walk(rates), truth, scale)

    def further(self, low: float, high: float, distance: float) -> Callable[[float], float]:
        """How often the largest distance of all looks is above this, in factors, where both have one rate.

        It is rounded up, and asked for at many rates from `low` to `high`.
        """
        if len(self.schedule) > 1:
            return lambda rate: 1 - float(self.holds((rate, rate), 0.0, distance)[-1])
        ends = [self._walk((rate, rate)).steps[0] for rate in (low, (low + high) / 2, high)]
        one, two = (_empty([laws[group] for laws in ends]) for group in (0, 1))
        everywhere = Plane(analysis=self.analyses[0], laws=(one, two))
        return lambda rate: (
            1 - replace(self._plane((rate, rate), 0.0), beyond=everywhere).holds(self.factors[0] * distance)
        )

    def _held(self, walk: _Walk, truth: float, scale: float) -> Array:
        found, state = [], None
        for look, analysis in enumerate(self.analyses):
            state = walk.moved(look, state)
            state = state.within(analysis, truth, self.factors[look] * scale)
            found.append(max(float(state.masses.sum()) - _ROUNDING, 0.0))
        return np.array(found)

    def rare(self, rate: float, level: float, start: float, close: float) -> float:
        """About the least scale that is reached no more often than `level`, and never one reached more often.

        Reached is by the largest distance of all looks, in factors, where both groups have this rate; what
        is cut off far away counts as that. For one look the scale is exact, for several a share of `close`
        larger at most, as far as slopes tell. It is looked for around `start`.
        """
        if len(self.schedule) == 1:
            return self._critical(rate, level, start)[0]
        return self._crossing(rate, level, start, close)

    def common(self, rate: float, level: float, start: float, close: float) -> float:
        """The same from below: never a scale that is reached no more often than `level`."""
        if len(self.schedule) == 1:
            return self._critical(rate, level, start)[1]
        return self._crossing(rate, level, start, -close)

    def _critical(self, rate: float, level: float, start: float) -> tuple[float, float]:
        (factor,) = self.factors
        rare, common = self._plane((rate, rate), 0.0).critical(level, start * factor)
        return rare / factor, common / factor

    def _plane(self, rates: Rates, truth: float) -> Plane:
        return Plane(analysis=self.analyses[0], laws=self._walk(rates).steps[0], truth=truth)

    def _crossing(self, rate: float, level: float, start: float, close: float) -> float:
        """The scale at which the chance is the level: from above, or from below if `close` is negative."""
        walk = self._walk((rate, rate), _CUT_LEVEL * level / (4 * len(self.schedule)))

        def excess(scale: float) -> float:
            """How many times the level the chance is, as a logarithm."""
            chance = 1 - float(self._held(walk, 0.0, scale * (1 - SAME))[-1])
            return math.log(max(chance, 1e-300) / level)

        # chances fall about as a power of the scale: that of the normal law first, then that of what was seen
        quantile = NormalDist().inv_cdf(1 - level / 2)
        fall = 2 * quantile * NormalDist().pdf(quantile) / level
        low, high, place, seen = -math.inf, math.inf, math.log(start), None
        for tries in range(_TRIES):
            found = excess(math.exp(place))
            if -close <= found / fall <= 0 or 0 < found / fall <= -close:
                return math.exp(place)
            low, high = (low, min(place, high)) if found <= 0 else (max(place, low), high)
            if high - low <= abs(close) or abs(found) > _FAR_OFF:
                break
            if seen is not None:
                fall = min(max((seen[1] - found) / (place - seen[0]), 1.0), 100.0)
            seen = place, found
            aim = place + found / fall + close / 3
            if not low < aim < high or tries > _SLOPES:
                # chances of few counts are stairs
                if math.isinf(high - low):
                    break
                aim = (low + high) / 2
            place = aim
        if not high - low <= abs(close):
            high = math.log(least_enough(excess, math.exp(place), close=abs(close)))
            low = high - math.log1p(abs(close))
        return math.exp(high if close > 0 else low)

    def found(self, rates: Rates, thresholds: Sequence[Threshold]) -> float:
        """How often the distance of some look, in factors, reaches what that look's total asks for.

        What is cut off far away counts as not found.
        """
        walk = self._walk(rates)
        if len(self.schedule) == 1:
            (reached,), (factor,) = thresholds, self.factors
            pairs = self._plane(rates, 0.0).between(
                reached.least * factor * (1 - SAME), reached.most * factor
            )
            done = pairs.away >= reached.at(pairs.totals) * factor * (1 - SAME)
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
        return self._walk(rates).windows

    def calibrated(self, cases: Sequence[tuple[Rates, float]], missed: float) -> Procedure:
        """With the least factors that miss no more than the schedule spends, at these rates and truths."""
        if len(self.schedule) == 1:
            planes = [self._plane(rates, truth) for rates, truth in cases]

            def short(factor: float) -> float:
                return max(1 - plane.holds(factor) for plane in planes) - missed

            return replace(self, factors=(least_enough(short, 2.0),))
        walks = [(self._walk(rates), truth) for rates, truth in cases]
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

    def _walk(self, rates: Rates, cut: float = _CUT) -> _Walk:
        """That of some rates; the last ones are kept, as they are asked for again and again."""
        if (rates, cut) not in self._walks:
            while len(self._walks) >= _KEPT:
                del self._walks[next(iter(self._walks))]
            self._walks[rates, cut] = _Walk.of(self, rates, cut)
        return self._walks[rates, cut]

    @cached_property
    def _walks(self) -> dict[tuple[Rates, float], _Walk]:
        return {}

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
        inside = analysis.is_within(*self.sums(), truth, factor)
        return replace(self, masses=self.masses * inside)

    def least_factor(self, analysis: Analysis, truth: float, gone: float) -> float:
        """The least number of standard errors with which no more than `gone` is gone after this look."""
        away, masses = analysis.distance(*self.sums(), truth).ravel(), self.masses.ravel()
        cells = (away * ((_CELLS - 1) / away.max())).astype(np.intp)
        nearer = np.concatenate([[0.0], np.cumsum(np.bincount(cells, masses, minlength=_CELLS))])
        cell = min(int(np.searchsorted(nearer[1:], 1 - gone)), _CELLS - 1)
        inside = np.flatnonzero(cells == cell)
        inside = inside[np.argsort(away[inside])]
        place = int(np.searchsorted(nearer[cell] + np.cumsum(masses[inside]), 1 - gone))
        return float(away[inside[min(place, len(inside) - 1)]]) * (1 + _HAIR)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Walk:
    """The laws of the steps of both sums at each look, and the window that the sums are in after it."""

    steps: Sequence[tuple[CountLaw, CountLaw]]
    windows: Sequence[tuple[CountLaw, CountLaw]]

    @classmethod
    def of(cls, procedure: Procedure, rates: Rates, cut: float) -> _Walk:
        several = len(procedure.schedule) > 1
        exact: dict[tuple[int, float], CountLaw] = {}
        known: dict[tuple[int, int], CountLaw] = {}

        def law(group: int, users: int) -> CountLaw:
            if (group, users) not in known:
                whole = users, rates[group]
                if whole not in exact:
                    exact[whole] = count_law(*whole, procedure.noise)
                made = exact[whole].rounded(procedure.steps[group])
                known[group, users] = made.trimmed(cut if several else _CUT_ONE)
            return known[group, users]

        steps = [(law(0, first), law(1, second)) for first, second in procedure.schedule]
        windows = [steps[0]]
        for one, two in steps[1:]:
            first, second = windows[-1]
            windows.append((first.added(one).trimmed(cut), second.added(two).trimmed(cut)))
        return cls(steps=steps, windows=windows)

    def moved(self, look: int, state: _State | None) -> _State:
        """The state after the people of this look came, before its interval is looked at."""
        one, two = self.steps[look]
        if state is None:
            masses = np.outer(one.masses, two.masses)
            return _State(starts=(one.start, two.start), masses=masses, steps=(one.step, two.step))
        masses, starts = state.masses, []
        for axis, law in enumerate((one, two)):
            window = self.windows[look][axis]
            least = state.starts[axis] + law.start
            begin = max(window.start - least, 0)
            masses = _moved(masses, law.masses, axis, begin, window.start + len(window.masses) - least)
            starts.append(least + begin)
        return replace(state, starts=(starts[0], starts[1]), masses=masses)


def _empty(laws: Sequence[CountLaw]) -> CountLaw:
    """A law of all their counts, without any chances."""
    start = min(law.start for law in laws)
    end = max(law.start + len(law.masses) for law in laws)
    return replace(laws[0], start=start, masses=np.zeros(end - start))


def _moved(masses: Array, law: Array, axis: int, begin: int, end: int) -> Array:
    """Convolved with a law along an axis, from one place up to another.

    What is longer than the period of the transforms is added where it begins again: only to places that are
    not asked for.
    """
    from scipy import fft

    size = masses.shape[axis] + len(law) - 1
    end = min(end, size)
    period = fft.next_fast_len(max(end, size - begin, len(law), masses.shape[axis]), real=True)
    transformed = fft.rfft(masses, period, axis=axis)
    transformed *= np.expand_dims(fft.rfft(law, period), 1 - axis)
    moved = fft.irfft(transformed, period, axis=axis, overwrite_x=True)
    found: Array = np.maximum(moved[begin:end] if axis == 0 else moved[:, begin:end], 0.0)
    return found
