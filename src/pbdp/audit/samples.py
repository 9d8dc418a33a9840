"""Draws at hypothetical answers, counted by output.

The outputs that the plan's laws list, in order, are points on a line. Every number that is drawn falls on one
of the points or in one of the gaps between, before and after them: place 2i + 1 is point i, place 2i the gap
before it. So a sampler that publishes what it should not is counted completely too, and any set of places is
a set of outputs that was fixed before the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.noise.kernel import Array
from pbdp.planning.plan import Plan
from pbdp.release.law import OutputLaw

Counts = npt.NDArray[np.int64]
# draw(answer, count): that many published numbers for a hypothetical true answer
Draw = Callable[[int | float, int], npt.NDArray[np.generic]]
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

    `counts` belongs to the law's outputs; `off_law` draws were none of them; `met` draws met the requirement.
    `by_part` holds the counts of the three parts of the draws, one row each, by place on the line.
    """

    answer: int | float
    law: OutputLaw
    counts: Counts
    off_law: int
    met: int
    draws: int
    by_part: Counts


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


def part_sizes(draws: int) -> tuple[int, int, int]:
    """How many draws each part gets."""
    learn, choose = (round(share * draws) for share in PARTS[:2])
    return learn, choose, draws - learn - choose


def drawn_at(
    plan: Plan, draw: Draw, answer: int | float, *, line: Array, draws: int, told: Callable[[int], None]
) -> Sample:
    """Draw at an answer and count; `told` hears how many draws were made, block by block."""
    law = plan.law_at(answer)
    low, high = acceptable(plan, answer)
    by_part = np.zeros((len(PARTS), 2 * len(line) + 1), dtype=np.int64)
    met = 0
    for part, size in enumerate(part_sizes(draws)):
        for start in range(0, size, BLOCK):
            count = min(BLOCK, size - start)
            values = _published(draw(answer, count), count)
            met += int(np.count_nonzero((values >= low) & (values <= high)))
            by_part[part] += np.bincount(places_of(line, values), minlength=by_part.shape[1])
            told(count)
    possible = law.probability > 0
    counts = by_part.sum(axis=0)[2 * np.searchsorted(line, law.output) + 1]
    return Sample(
        answer=answer,
        law=law,
        counts=counts,
        off_law=draws - int(counts[possible].sum()),
        met=met,
        draws=draws,
        by_part=by_part,
    )


def _published(values: object, count: int) -> Array:
    """The numbers of one block as floats, in which every output of a plan is exact."""
    drawn = np.asarray(values)
    if drawn.shape != (count,) or drawn.dtype.kind not in "iuf":
        raise InputError(
            "draw",
            f"a function that gives {count} numbers when asked for them",
            f"{drawn.dtype} {drawn.shape}",
        )
    return drawn.astype(np.float64)


def answer_text(answer: int | float) -> str:
    """A hypothetical answer, with as many digits as it has."""
    return f"{answer:.15g}"
