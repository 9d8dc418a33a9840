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
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import Goal, Problem, Shape, Shapes, known_families
from pbdp.noise.gaussian import GAUSSIAN
from pbdp.noise.kernel import LatticeKernel
from pbdp.noise.laplace import LAPLACE
from pbdp.noise.staircase import STAIRCASE
from pbdp.planning.candidates import shapes_for
from pbdp.planning.certificate import TIE
from pbdp.planning.limit.closed_form import provable_epsilon
from pbdp.planning.limit.question import Question
from pbdp.planning.runs import Law
from pbdp.planning.scales import best_shape, estimated_loss
from pbdp.planning.thresholds import Line
from pbdp.planning.widest import FURTHEST, ROUGH, Looks, middle_problem, scale_by_itself

# Scales in parts from which on few families are looked at, for one release and for several.
WIDE, WIDE_FOR_SEVERAL, FEW = 1 << 11, 1 << 13, 3
# A shape that needs so many times the loss of another for one release is not looked at closely.
BEHIND = 1.01
# Plateaus of staircases that are tried first, how finely; and where, as a region in sensitivities.
CENTERS, FINEST, NARROW = 6, 64, 8
# Other families are not looked at where no noise goes below this part of the least loss.
NEAR_LIMIT = 0.95
# How much smaller a scale is tried where the table of whole weights just fails.
RETREATS = (0.0, 1e-9, 1e-6, 1e-4)
# The scale of noise that a constant output makes no use of, in sensitivities.
UNUSED = 1 << 8


def decoded_candidates(
    grid: Grid, requirement: Requirement, goal: Goal, families: tuple[str, ...], *, every: bool = True
) -> Iterator[Design]:
    """The widest noise of each family that has a decoder for the requirement on this grid.

    Where no noise can do much better than Laplace noise and the staircase, others on long lines are left out,
    or tried as well (`every`).
    """
    line = Line.of(grid, requirement, goal.confidence)
    if line is None:
        return
    problem = middle_problem(line, goal)
    if LAPLACE.shapes is None:
        raise AssertionError("Laplace noise is planned with")
    laplace = LAPLACE.shapes(problem).shape(0.0)
    plain = scale_by_itself(line, laplace, problem)
    if plain * line.parts > WIDE:
        line = line.in_few_parts
    widest = Looks(line=line, shape=laplace, problem=problem).widest()
    if not 0 < widest * line.parts <= WIDE and line.in_few_parts.parts < line.parts:
        line = line.in_few_parts
        widest = Looks(line=line, shape=laplace, problem=problem).widest()
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
    least = goal.sensitivity / widest
    if STAIRCASE.name in families and 1 < goal.sensitivity > line.points / NARROW:
        families = tuple(name for name in families if name != STAIRCASE.name)
        for design in _decoded(line, grid, partial(known.best_staircase, line)):
            least = min(least, design.kernel.largest_loss(goal.sensitivity))
            yield design
    long = line.stride > 1
    if long and not every and known.among and _limit(half, goal) > NEAR_LIMIT * least:
        families = tuple(name for name in families if name in {LAPLACE.name, STAIRCASE.name})
    for shapes in shapes_for(fitted, families):
        yield from _decoded(line, grid, partial(known.best, line, shapes))


def _limit(half: int, goal: Goal) -> float:
    """What no noise can go below that stays within so many steps by itself; 0 where that is not known."""
    if goal.delta is None or goal.releases > 1:
        return 0.0
    asked = Question.about(half, half, goal.confidence, goal.sensitivity, goal.delta)
    return provable_epsilon(asked)


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
        looks: dict[Shape, Looks] = {}

        def sketched(shape: Shape, problem: Problem) -> float:
            looks[shape] = Looks(line=line, shape=shape, problem=problem, gain=self.gain)
            return looks[shape].estimate

        def looked(shape: Shape, problem: Problem) -> float:
            if shape not in looks:
                sketched(shape, problem)
            return looks[shape].widest(close=ROUGH)

        if line.stride > 1:
            # a sketch tells which of the shapes that are behind is the best
            shape, scale = best_shape(shapes, problem, sketched)
            if scale > 0 and self._behind(shape, scale):
                return shape, looks[shape].widest(close=ROUGH)
        shape, scale = best_shape(shapes, problem, looked)
        if scale > 0 and not self._behind(shape, scale) and self._may_win(looks[shape], scale):
            scale = looks[shape].between(scale, scale * (1 + ROUGH))
        return shape, scale

    def _may_win(self, looks: Looks, scale: float) -> bool:
        """Whether there is wider noise of a shape that is better than Laplace noise by more than a tie.

        One look tells for staircases: their loss is one over the scale, that of Laplace noise the shift.
        """
        goal = self.problem.goal
        if goal.releases > 1 or not self.among or looks.shape.kernel(scale).family != STAIRCASE.name:
            return True
        needed = self.widest / goal.sensitivity / (1 - TIE)
        return scale >= needed or (scale * (1 + ROUGH) > needed and looks.fits(needed))

    def best_staircase(self, line: Line) -> tuple[Shape, float]:
        """The staircase of least loss, and where its edges lie: no longer on the edge of a region.

        Its loss is one over its scale. Some plateaus are tried first, then those around the best.
        """
        goal = self.problem.goal
        slope: float | None = None

        def looks_at(center: int) -> Looks:
            problem = Problem(below=center, above=center, goal=goal)
            shape = shapes_for(problem, (STAIRCASE.name,))[0].shape(0.0)
            return Looks(line=line, shape=shape, problem=problem, gain=self.gain, slope=slope)

        def better(best: tuple[float, int], centers: Iterable[int]) -> tuple[float, int]:
            """The best of these and the one known; one look tells that a plateau is no better."""
            nonlocal slope
            for center in centers:
                if 0 <= center < goal.sensitivity:
                    looks = looks_at(center)
                    found = looks.widest(close=ROUGH, beyond=best[0])
                    if found > best[0] > 0:
                        slope = looks.found_slope
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
