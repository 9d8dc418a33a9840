"""Draws at hypothetical answers, counted by output.

The outputs that the plan's laws list, in order, are points on a line. Every number that is drawn falls on one
of the points or in one of the gaps between, before and after them: place 2i + 1 is point i, place 2i the gap
before it. So a sampler that publishes what it should not is counted completely too, and any set of places is
a set of outputs that was fixed before the draws.

The numbers of a vector are counted together: all coordinates have one law.
Whether the requirement is met is looked at for whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.noise.kernel import Array
from pbdp.planning.plan import Part, Plan
from pbdp.release.law import OutputLaw

Counts = npt.NDArray[np.int64]
# draw(answer, count): that many published numbers for a hypothetical true answer, or, for an array of true
# coordinates, that many published vectors, a row each
Draw = Callable[[Any, int], npt.NDArray[np.generic]]
# progress(done, total), in draws
Progress = Callable[[int, int], None]

# Events are learned from the first part of the draws, chosen on the second and tested on the third.
PARTS = (0.15, 0.15, 0.7)
LEARN, CHOOSE, TEST = range(3)
# Numbers asked of the sampler at a time: little memory, and progress to show.
BLOCK = 1 << 18
# What floating point can take off the two ends of a region.
END_ROUNDING = 2.0**-50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """What was drawn at one answer, beside the law that the plan states for it.

    `counts` belongs to the law's outputs; `off_law` draws were none of them; `met` answers met the
    requirement. `by_part` holds the counts of the three parts of the draws, one row each, by place on the
    line. Of a vector all coordinates are draws; `size` is how many it has.
    """

    answer: int | float
    law: OutputLaw
    counts: Counts
    off_law: int
    met: int
    draws: int
    by_part: Counts
    size: int = 1

    @property
    def tried(self) -> int:
        """How many answers were drawn, of which `met` met the requirement."""
        return self.draws // self.size


def line_of(laws: list[OutputLaw]) -> Array:
    """Every output that one of the laws lists, in order."""
    return np.unique(np.concatenate([law.output for law in laws]))


def probabilities_on(line: Array, law: OutputLaw) -> Array:
    """The law's probabilities at all points of the line."""
    spread = np.zeros(len(line))
    spread[np.searchsorted(line, law.output)] = law.probability
    return spread


def places_of(line: Array, values: Array) -> npt.NDArray[np.intp]:
    """The place of every number on the line; what is not a number comes last."""
    after = np.searchsorted(line, values)
    return np.asarray(2 * after + (line[np.minimum(after, len(line) - 1)] == values), dtype=np.intp)


def acceptable(plan: Plan, answer: int | float) -> tuple[float, float]:
    """The lowest and highest number that meets the requirement, with room for the rounding of these ends."""
    below, above = (float(offset) for offset in plan.requirement.region.offsets(float(answer)))
    size = abs(float(answer))
    return (
        answer - below - END_ROUNDING * (size + below),
        answer + above + END_ROUNDING * (size + above),
    )


def telling(progress: Progress | None, total: int) -> Callable[[int], None]:
    """What hears how many draws each block had, and tells how many there are so far."""
    done = 0

    def told(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    return told


def part_sizes(draws: int) -> tuple[int, int, int]:
    """How many draws each part gets."""
    learn, choose = (round(share * draws) for share in PARTS[:2])
    return learn, choose, draws - learn - choose


def own_sampler(part: Part) -> Draw:
    """What publishes for a part of a plan.

    Made-up answers are nobody's, so any number of them may be released, all in one draw.
    """
    releaser = part.releaser

    def many(answer: Any, count: int) -> npt.NDArray[np.generic]:
        true = np.broadcast_to(np.asarray(answer), (count, *np.shape(answer)))
        steps = releaser.publisher.steps_of(true.ravel())
        return releaser.publisher.values_of(releaser.output_steps(steps)).reshape(true.shape)

    return many


def drawn_at(
    plan: Plan, draw: Draw, answer: int | float, *, line: Array, draws: int, told: Callable[[int], None]
) -> Sample:
    """Draw numbers or vectors of a plan at an answer, and count."""
    asked, law = plan.requirement, plan.law_at(answer)
    size = None if asked.coordinates is None else asked.dimensions
    met_by = partial(meets, plan, answer)
    return counted(draw, answer, law, met_by, line=line, draws=draws, told=told, size=size)


def counted(
    draw: Draw,
    answer: int | float,
    law: OutputLaw,
    met_by: Callable[[Array], npt.NDArray[np.bool_]],
    *,
    line: Array,
    draws: int,
    told: Callable[[int], None],
    size: int | None = None,
) -> Sample:
    """Draw at an answer, or at a vector of this size of it, and count; which draws meet the requirement
    `met_by` says, and `told` hears how many each block had.
    """
    true = answer if size is None else np.full(size, float(answer))
    by_part = np.zeros((len(PARTS), 2 * len(line) + 1), dtype=np.int64)
    met = 0
    for part, values in blocks(draw, true, draws, told):
        met += int(np.count_nonzero(met_by(values)))
        by_part[part] += np.bincount(places_of(line, values.ravel()), minlength=by_part.shape[1])
    possible = law.probability > 0
    counts = by_part.sum(axis=0)[2 * np.searchsorted(line, law.output) + 1]
    numbers = draws * (size or 1)
    return Sample(
        answer=answer,
        law=law,
        counts=counts,
        off_law=numbers - int(counts[possible].sum()),
        met=met,
        draws=numbers,
        by_part=by_part,
        size=size or 1,
    )


def blocks(draw: Draw, true: Any, draws: int, told: Callable[[int], None]) -> Iterator[tuple[int, Array]]:
    """The part that each block of draws belongs to, and its numbers or vectors."""
    most = max(1, BLOCK // max(1, np.size(true)))
    for part, size in enumerate(part_sizes(draws)):
        for start in range(0, size, most):
            count = min(most, size - start)
            yield part, _published(draw(true, count), (count, *np.shape(true)))
            told(count)


def meets(plan: Plan, answer: int | float, values: Array) -> npt.NDArray[np.bool_]:
    """Which numbers, or which vectors, meet the requirement where all true coordinates are `answer`."""
    low, high = acceptable(plan, answer)
    coordinates = plan.requirement.coordinates
    if coordinates is None:
        return np.asarray((values >= low) & (values <= high))
    if coordinates.norm == "linf":
        return np.asarray(np.all((values >= low) & (values <= high), axis=1))
    order = int(coordinates.norm.removeprefix("l"))
    true = np.full(plan.requirement.dimensions, float(answer))
    width = float(plan.requirement.region.offsets(float(np.linalg.norm(true, ord=order)))[0])
    room = END_ROUNDING * len(true) * (abs(float(answer)) + width)
    return np.asarray(np.linalg.norm(values - true, ord=order, axis=1) <= width + room)


def _published(values: object, shape: tuple[int, ...]) -> Array:
    """The numbers of one block as floats, in which every output of a plan is exact."""
    drawn = np.asarray(values)
    if drawn.shape != shape or drawn.dtype.kind not in "iuf":
        what = "numbers" if len(shape) == 1 else f"vectors of {shape[1]}"
        raise InputError(
            "draw",
            f"a function that gives {shape[0]} {what} when asked for them",
            f"{drawn.dtype} {drawn.shape}",
        )
    return drawn.astype(np.float64)


def answer_text(answer: int | float) -> str:
    """A hypothetical answer, with as many digits as it has."""
    return f"{answer:.15g}"
