"""The widest noise of each family that a decoder exists for; see `thresholds` for what decides that.

The search runs on floats, many scales fast. The decoder that is returned comes from the integer weights that
are drawn, by the same functions in whole numbers, and the certificate checks its confidence again.

For noise of least loss at sensitivity 1 nothing is lost: whatever meets such a requirement for every answer
with pure epsilon is the geometric law and a randomized map (Gupte and Sundararajan 2010), and the parts are
such a map but for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import Goal, Problem, Shape, Shapes, known_families
from pbdp.noise.gaussian import GAUSSIAN
from pbdp.noise.kernel import LatticeKernel
from pbdp.noise.laplace import LAPLACE
from pbdp.noise.staircase import STAIRCASE
from pbdp.planning.candidates import problem_of, shapes_for
from pbdp.planning.scales import best_shape, distance_to_tail, estimated_loss, plain_scale
from pbdp.planning.sketch import SketchedLaw
from pbdp.planning.thresholds import Law, Line

# The widest noise that is looked at, in parts; and scales from which on few families are, for one release and
# for several.
FURTHEST, WIDE, WIDE_FOR_SEVERAL, FEW = 1 << 19, 1 << 11, 1 << 13, 3
# Relative steps in which wider noise is tried first, and around a scale that is likely; how close the search
# comes, what a float may be off by.
FIRST_STEP, NEAR_STEP, CLOSE, MARGIN = 0.02, 0.01, 1e-5, 1e-12
# A shape that needs so many times the loss of another for one release is not looked at closely.
BEHIND = 1.01
# Plateaus of staircases that are tried first, how finely, how close; and where, as a region in sensitivities.
CENTERS, FINEST, ROUGH, NARROW = 6, 64, 1e-3, 8
# Looks that are taken at most before ranges of scales are halved; how far from one to the next, as logarithms.
MOST_LOOKS, LARGEST_STEP = 8, 0.7
# What a sketch may be off by, in confidence.
UNSURE = 1e-3
# How much smaller a scale is tried where the table of whole weights just fails.
RETREATS = (0.0, 1e-9, 1e-6, 1e-4)
# The scale of noise that a constant output makes no use of, in sensitivities.
UNUSED = 1 << 8


def decoded_candidates(
    grid: Grid, requirement: Requirement, goal: Goal, families: tuple[str, ...]
) -> Iterator[Design]:
    """The widest noise of each family that has a decoder for the requirement on this grid."""
    line = Line.of(grid, requirement, goal.confidence)
    if line is None:
        return
    problem = _problem(line, goal)
    if LAPLACE.shapes is None:
        raise AssertionError("Laplace noise is planned with")
    laplace = LAPLACE.shapes(problem).shape(0.0)
    plain = _plain_scale(line, laplace, problem)
    if plain * line.parts > WIDE:
        line = line.in_few_parts
    widest = _Looks(line=line, shape=laplace, problem=problem).widest()
    if not 0 < widest * line.parts <= WIDE and line.in_few_parts.parts < line.parts:
        line = line.in_few_parts
        widest = _Looks(line=line, shape=laplace, problem=problem).widest()
    if widest == 0:
        return
    # families fit their shapes to a width: the one that this noise keeps with the confidence
    half = round(-widest * math.log(1 - goal.confidence))
    met = min(goal.confidence / 2, 1e-3)  # as nothing is boosted
    fitted = Problem(below=half, above=half, goal=replace(goal, confidence=met))
    if goal.releases == 1 and widest * line.parts > WIDE:
        # large tables take long, and for one release these are nearly the best there is
        few = {LAPLACE.name, STAIRCASE.name} if goal.order is None else {GAUSSIAN.name}
        families = tuple(name for name in families if name in few) or families
    elif widest * line.parts > WIDE_FOR_SEVERAL:
        families = families[:FEW]  # the most promising ones come first
    known = _Known(
        problem=fitted,
        laplace=laplace,
        widest=widest,
        gain=widest / plain if plain > 0 else 0.0,
        among=LAPLACE.name in families,
    )
    if STAIRCASE.name in families and 1 < goal.sensitivity > line.points / NARROW:
        families = tuple(name for name in families if name != STAIRCASE.name)
        yield from _decoded(line, grid, partial(known.best_staircase, line))
    for shapes in shapes_for(fitted, families):
        yield from _decoded(line, grid, partial(known.best, line, shapes))


def constant_candidate(
    grid: Grid, requirement: Requirement, goal: Goal, families: tuple[str, ...]
) -> Design | None:
    """One number that is published whatever the answer is, where it is acceptable for all of them."""
    line = Line.of(grid, requirement, goal.confidence)
    constant = None if line is None else line.constant
    if line is None or constant is None:
        return None
    kernel = _unused(families, goal.sensitivity)
    return Design(grid=grid, kernel=kernel, region=line.region.tightest(), decoder=constant)


def _decoded(line: Line, grid: Grid, search: Callable[[], tuple[Shape, float]]) -> Iterator[Design]:
    """The design of the shape and scale that a search finds, if there is one."""
    # a family without a table of this size is left out; the others go on
    with suppress(InputError, CannotCertifyError):
        shape, scale = search()
        made = partial(Design, grid=grid, region=line.region.tightest())
        for retreat in RETREATS if scale > 0 else ():
            plain = made(kernel=shape.kernel(scale * (1 - retreat)), decoder=line.plain)
            found = line.decoder(Law.of(plain.drawn_table(), line.confidence))
            if found is not None:
                yield replace(plain, decoder=found)
                break


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Known:
    """The widest Laplace noise, which tells where other shapes are looked for, and which not to look at long.

    It is so many times as wide (`gain`) as what needs no decoder, and counts as one to be beaten if it is
    `among` the families.
    """

    problem: Problem
    laplace: Shape
    widest: float
    gain: float
    among: bool

    def best(self, line: Line, shapes: Shapes) -> tuple[Shape, float]:
        """The shape of least loss, found with rough scales, and its own; that stays rough if it is behind."""
        problem = self.problem
        if shapes.shape(shapes.few[0]).kernel(1.0).family == LAPLACE.name:
            return self.laplace, self.widest
        looks: dict[Shape, _Looks] = {}
        # for one release there are few shapes, far from each other
        sketched = line.stride > 1 and self.gain > 1 and problem.goal.releases == 1

        def looked(shape: Shape, problem: Problem) -> float:
            looks[shape] = _Looks(line=line, shape=shape, problem=problem)
            made = looks[shape]
            return made.estimate(self.gain) if sketched else made.widest(close=ROUGH, gain=self.gain)

        shape, scale = best_shape(shapes, problem, looked)
        if sketched:
            scale = looks[shape].widest(close=ROUGH, gain=self.gain)
        if scale > 0 and not self._behind(shape, scale):
            scale = looks[shape].between(scale, scale * (1 + ROUGH))
        return shape, scale

    def best_staircase(self, line: Line) -> tuple[Shape, float]:
        """The staircase of least loss, and where its edges lie: no longer on the edge of a region.

        Its loss is one over its scale. Some plateaus are tried first, then those around the best.
        """
        goal = self.problem.goal

        def looks_at(center: int) -> _Looks:
            problem = Problem(below=center, above=center, goal=goal)
            shapes = shapes_for(problem, (STAIRCASE.name,))
            return _Looks(line=line, shape=shapes[0].shape(0.0), problem=problem)

        def better(best: tuple[float, int], centers: Iterable[int]) -> tuple[float, int]:
            """The best of these and the one known; one look tells that a plateau is no better."""
            for center in centers:
                if 0 <= center < goal.sensitivity:
                    found = looks_at(center).widest(close=ROUGH, beyond=best[0], gain=self.gain)
                    best = max(best, (found, center))
            return best

        step = -(-goal.sensitivity // CENTERS)
        # where Laplace noise of this scale keeps the confidence there may be an edge
        best = better((0.0, 0), (self.problem.below % goal.sensitivity,))
        best = better(best, range(0, goal.sensitivity, step))
        while step > 1 and step * FINEST > goal.sensitivity:
            step = -(-step // 2)
            best = better(best, (best[1] - step, best[1] + step))
        looks = looks_at(best[1])
        return looks.shape, looks.between(best[0], best[0] * (1 + ROUGH)) if best[0] > 0 else 0.0

    def _behind(self, shape: Shape, scale: float) -> bool:
        """Whether Laplace noise needs much less; estimates for several releases take too long for that."""
        if self.problem.goal.releases > 1 or not self.among:
            return False
        own, least = (
            float(estimated_loss(law, self.problem, np.array([size]))[0])
            for law, size in ((shape, scale), (self.laplace, self.widest))
        )
        return own > BEHIND * least


def _unused(families: tuple[str, ...], sensitivity: int) -> LatticeKernel:
    """Noise beside a constant output; wide, as whoever does not see that it is unused charges for it."""
    known = known_families()
    usable = [name for name in (*families, "laplace") if name in known and known[name].of_scale is not None]
    of_scale = known[usable[0]].of_scale
    if of_scale is None:
        raise AssertionError("Laplace noise is told by its scale")
    return of_scale(float(min(UNUSED * sensitivity, FURTHEST / 64)))


def _problem(line: Line, goal: Goal) -> Problem:
    """The narrowest region, around its middle: a decoder moves outputs there."""
    inner = line.region.tightest()
    both = inner.below + inner.above
    if math.isfinite(both):
        inner = AbsoluteRegion(below=both // 2, above=both - both // 2)
    return problem_of(inner, goal)


def _plain_scale(line: Line, shape: Shape, problem: Problem) -> float:
    """The largest scale of the shape that keeps the confidence by itself; 0 if none does."""
    return plain_scale(shape, _problem(line, replace(problem.goal, confidence=line.confidence)))


@dataclass(slots=True, kw_only=True, eq=False)
class _Search:
    """Looks at scales, which close in on the largest that has a decoder, as what is spare falls with the scale.

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
            guess = self._next(close)
        return guess

    def _next(self, close: float) -> float:
        """Where nothing seems to be spare; a hair further where all looks were on this side of it."""
        middle = math.sqrt(self.fitting * self.failing)
        if not self.seen:
            return middle
        (place, spare), *others = self.seen
        across = next((other for other in others if (other[1] >= 0) != (spare >= 0)), None)
        for other in (*others[:1], across):
            if other is None or other[0] == place:
                continue
            slope = (other[1] - spare) / (other[0] - place)
            if slope < 0:
                self.slope = slope
            found = self._along(place, spare)
            if self.fitting < found < self.failing:
                break
        found = self._along(place, spare)
        if across is None:
            found *= 1 + math.copysign(close / 2, spare)
        hair = 1 + close / 4
        if not self.fitting < found < self.failing:
            return middle
        return min(max(found, self.fitting * hair), self.failing / hair)

    def _along(self, place: float, spare: float) -> float:
        """Where nothing is spare on a line through a look."""
        return math.exp(place + min(max(-spare / self.slope, -LARGEST_STEP), LARGEST_STEP))


@dataclass(slots=True, kw_only=True, eq=False)
class _Looks:
    """Which scales of a shape have a decoder: those up to some scale, as wider noise leaves less room."""

    line: Line
    shape: Shape
    problem: Problem
    _search: _Search = field(init=False)
    _estimate: float | None = None
    _low: float | None = None

    def __post_init__(self) -> None:
        # so much confidence Laplace noise loses with the logarithm of its scale where it is not decoded
        slope = (1 - self.line.confidence) * math.log(1 - self.line.confidence)
        self._search = _Search(slope=slope)

    def fits(self, scale: float) -> bool:
        """Whether noise of this scale has a decoder, and a table."""
        if self._search.fitting < scale < self._search.failing:
            self._search.add(scale, self._spare(scale))
        return scale <= self._search.fitting

    def estimate(self, gain: float) -> float:
        """About the largest scale, looked for around so many times (`gain`) the one that needs no decoder."""
        if self._estimate is None:
            self._estimate = self._plain * max(gain, 1.0)
            if self.line.stride > 1 and self._plain > 0:
                search = _Search(slope=self._search.slope, fitting=self._plain)
                self._estimate = search.close_in(self._sketched_spare, self._estimate, ROUGH / 2, UNSURE / 4)
                self._search.slope = search.slope
        return self._estimate

    def widest(self, *, close: float = CLOSE, beyond: float = 0.0, gain: float = 0.0) -> float:
        """The largest scale, beyond the one given, that has a decoder; 0 if none has one.

        It is looked for around so many times (`gain`) the scale that needs no decoder.
        """
        if beyond > 0:
            least = beyond * (1 + close)
            if (self.line.stride > 1 and self._sketched_spare(least) < -UNSURE) or not self.fits(least):
                return 0.0
        low = self._plain
        if low == 0:
            low, gain = self.shape.start * 1e-3, 0.0
            if not self.fits(low):
                return 0.0
        if self._reach(low) is None:
            return 0.0
        self._search.fitting = max(self._search.fitting, low)
        guess = max(self.estimate(gain), self._search.fitting * (1 + ROUGH))
        self._search.close_in(self._spare, guess, ROUGH)
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
            self._low = _plain_scale(self.line, self.shape, self.problem)
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
        reach, ends = (
            distance_to_tail(self.shape, self.problem, scale, tail) for tail in (1e-16, 2.0**-64)
        )
        return math.ceil(reach) if math.ceil(reach) <= 2 * ends <= 2 * FURTHEST / self.line.parts else None
