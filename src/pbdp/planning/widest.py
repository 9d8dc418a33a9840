"""The largest scale at which noise of a shape has a decoder, in few looks.

Noise that has none is taken to have none either when it is wider, so looks at two scales tell of all but
those between. Where wider noise is decoded for more answers that may fail, which costs a little width only.
What is spare at a scale (see `thresholds`) tells where to look next, and a sketch where to begin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, replace

import numpy as np

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.noise.family import Goal, Problem, Shape
from pbdp.planning.candidates import problem_of
from pbdp.planning.runs import Law
from pbdp.planning.scales import distance_to_tail, plain_scale
from pbdp.planning.sketch import SketchedLaw
from pbdp.planning.thresholds import Line

# The widest noise that is looked at, in parts.
FURTHEST = 1 << 19
# Relative steps in which wider noise is tried first, and around a scale that is likely; how close the search
# comes, also where that need not be much; what a float may be off by.
FIRST_STEP, NEAR_STEP, CLOSE, ROUGH, MARGIN = 0.02, 0.01, 1e-5, 1e-3, 1e-12
# Looks that are taken at most before ranges of scales are halved; how far it is to the next, as a logarithm.
MOST_LOOKS, LARGEST_STEP = 8, 0.7
# What a sketch is usually off by, in confidence.
OFF = 2e-4


def middle_problem(line: Line, goal: Goal) -> Problem:
    """The narrowest region, around its middle: a decoder moves outputs there."""
    inner = line.region.tightest()
    both = inner.below + inner.above
    if math.isfinite(both):
        inner = AbsoluteRegion(below=both // 2, above=both - both // 2)
    return problem_of(inner, goal)


def scale_by_itself(line: Line, shape: Shape, problem: Problem) -> float:
    """The largest scale of the shape that keeps the confidence by itself; 0 if none does."""
    return plain_scale(shape, middle_problem(line, replace(problem.goal, confidence=line.confidence)))


@dataclass(slots=True, kw_only=True, eq=False)
class _Search:
    """Looks at scales, which close in on the largest that has a decoder: wider noise has less to spare.

    All scales up to `fitting` have one, and none from `failing` on. `slope` is what is known of how fast it
    falls with the logarithm of the scale.
    """

    slope: float
    fitting: float = 0.0
    failing: float = math.inf
    # logarithms of scales that were looked at, with what is spare there
    seen: list[tuple[float, float]] = field(default_factory=list)

    def add(self, scale: float, spare: float) -> None:
        if spare >= 0:
            self.fitting = max(self.fitting, scale)
        else:
            self.failing = min(self.failing, scale)
        if math.isfinite(spare):
            self.seen = sorted([(math.log(scale), spare), *self.seen], key=lambda seen: abs(seen[1]))

    def close_in(
        self, look: Callable[[float], float], guess: float, close: float, enough: float = 0.0
    ) -> float:
        """Look until both sides are close, or next to nothing is spare: where nothing seems to be."""
        for _ in range(MOST_LOOKS):
            if self.failing <= self.fitting * (1 + close) or (self.seen and abs(self.seen[0][1]) < enough):
                break
            self.add(guess, look(guess))
            guess = self.next(close)
        return guess

    def next(self, close: float) -> float:
        """Where nothing seems to be spare; a hair further where all looks were on this side of it."""
        if not self.seen:
            return self._middle
        (place, spare), *others = self.seen
        across = next((other for other in others if (other[1] >= 0) != (spare >= 0)), None)
        found = self._along(place, spare)
        # a line through the two looks where least is spare, or else through the nearest ones on both sides
        for other in (*others[:1], across):
            if other is not None and other[0] != place and (other[1] - spare) / (other[0] - place) < 0:
                self.slope = (other[1] - spare) / (other[0] - place)
                found = self._along(place, spare)
                if self.fitting < found < self.failing:
                    break
        if across is None:
            found *= 1 + math.copysign(close / 2, spare)
        hair = 1 + close / 4
        if not self.fitting < found < self.failing:
            return self._middle
        return min(max(found, self.fitting * hair), self.failing / hair)

    @property
    def _middle(self) -> float:
        return math.sqrt(self.fitting * self.failing) if math.isfinite(self.failing) else 2 * self.fitting

    def _along(self, place: float, spare: float) -> float:
        """Where nothing is spare on a line through a look."""
        return math.exp(place + min(max(-spare / self.slope, -LARGEST_STEP), LARGEST_STEP))


@dataclass(slots=True, kw_only=True, eq=False)
class Looks:
    """Which scales of a shape have a decoder: those up to some scale, as wider noise leaves less room.

    They are looked for around so many times (`gain`) the one that needs no decoder. The `slope` of a shape
    that is like this one saves looks.
    """

    line: Line
    shape: Shape
    problem: Problem
    gain: float = 0.0
    slope: InitVar[float | None] = None
    _search: _Search = field(init=False)
    _low: float | None = field(init=False, default=None)
    _estimate: float | None = field(init=False, default=None)

    def __post_init__(self, slope: float | None) -> None:
        if slope is None:
            # so much confidence Laplace noise loses with the logarithm of its scale where it is not decoded
            slope = (1 - self.line.confidence) * math.log(1 - self.line.confidence)
        self._search = _Search(slope=slope)

    @property
    def found_slope(self) -> float:
        """How fast what is spare falls with the logarithm of the scale, as far as is known."""
        return self._search.slope

    def fits(self, scale: float) -> bool:
        """Whether noise of this scale has a decoder, and a table."""
        if self._search.fitting < scale < self._search.failing:
            self._search.add(scale, self._spare(scale))
        return scale <= self._search.fitting

    @property
    def estimate(self) -> float:
        """About the largest scale."""
        if self._estimate is None:
            guess = self._plain * max(self.gain, 1.0)
            if self.line.stride > 1 and self._plain > 0:
                search = _Search(slope=self._search.slope, fitting=self._plain)
                guess = search.close_in(self._sketched_spare, guess, ROUGH / 2, OFF)
                self._search.slope = search.slope
            self._estimate = guess
        return self._estimate

    def widest(self, *, close: float = CLOSE, beyond: float = 0.0) -> float:
        """The largest scale, beyond the one given, that has a decoder; 0 if none has one."""
        if beyond > 0 and not self.fits(beyond * (1 + close)):
            return 0.0
        low, gain = self._plain, self.gain
        if low == 0:
            low, gain = self.shape.start * 1e-3, 0.0
            if not self.fits(low):
                return 0.0
        if self._reach(low) is None:
            return 0.0
        if beyond == 0:
            self._search.fitting = max(self._search.fitting, low)
            guess = max(self.estimate, self._search.fitting * (1 + ROUGH))
            self._search.close_in(self._spare, guess, ROUGH)
        else:
            self._search.close_in(self._spare, self._search.next(close), ROUGH)
        if gain > 1 and beyond == 0:
            near, step = low * gain, NEAR_STEP
            if not self.fits(near):
                while near / (1 + step) > low and not self.fits(near / (1 + step)):
                    near, step = near / (1 + step), 2 * step
                return self.between(max(low, near / (1 + step)), near, close=close)
            low = near
        low = max(low, beyond * (1 + close))
        step = FIRST_STEP if beyond == gain == 0 else 2 * ROUGH
        while self.fits(low * (1 + step)):
            low, step = low * (1 + step), 2 * step
        return self.between(low, low * (1 + step), close=close)

    def between(self, low: float, high: float, *, close: float = CLOSE) -> float:
        """The largest scale that has a decoder, from one that has to one that has not."""
        while high > low * (1 + close):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.fits(middle) else (low, middle)
        return low

    @property
    def _plain(self) -> float:
        """The scale that needs no decoder."""
        if self._low is None:
            self._low = scale_by_itself(self.line, self.shape, self.problem)
        return self._low

    def _spare(self, scale: float) -> float:
        """What `Line.spare` tells of noise of this scale; -infinity where it has no table."""
        reach, parts = self._reach(scale), self.line.parts
        if reach is None:
            return -math.inf
        # all shapes are symmetric
        masses = np.exp(self.shape.log_density(np.arange(reach, -1.0, -1.0), np.array(scale)))
        below = np.concatenate((np.zeros(1), np.cumsum(masses[:-1])))
        below /= 2 * below[-1] + masses[-1]
        sums = np.concatenate((below, 1 - below[::-1]))
        if parts > 1:
            sums = np.interp(np.arange((len(sums) - 1) * parts + 1) / parts, np.arange(len(sums)), sums)
        wanted = self.line.confidence * (1 + MARGIN)
        return self.line.spare(Law(sums=sums, start=-reach * parts, wanted=wanted, symmetric=True))

    def _sketched_spare(self, scale: float) -> float:
        """About the same."""
        reach = self._reach(scale)
        if reach is None:
            return -math.inf
        law = SketchedLaw.of(self.shape, scale, reach, self.line.stride)
        return self.line.sketched_spare(law)

    def _reach(self, scale: float) -> int | None:
        """How far noise of this scale goes; None where it has no table, as its tail has no end in sight."""
        reach, ends = (distance_to_tail(self.shape, self.problem, scale, tail) for tail in (1e-16, 2.0**-64))
        return math.ceil(reach) if math.ceil(reach) <= 2 * ends <= 2 * FURTHEST / self.line.parts else None
