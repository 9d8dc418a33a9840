"""The limit for relative widths and ranges: what no mechanism can go below, whatever its law for each answer.

It is the dual of the program over the laws of some answers (see `linear_program`).

**Fewer answers** are fewer constraints, so a bound from some of them holds for all. Answers that are g
sensitivities apart have g - 1 others between them, so that (eps, delta)-DP says of them that they are (g·eps,
delta·(e^{g·eps} - 1) / (e^eps - 1))-DP. **Outputs** count by the answers that they are acceptable for: to
publish one that is acceptable for more of them instead is free. The best are where a region begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array, Index
from pbdp.planning.limit.closed_form import (
    ANY_MECHANISM,
    PROGRAM,
    WHOLE_OUTPUTS,
    Limit,
)
from pbdp.planning.limit.linear_program import Program, largest_impossible

Accepted = npt.NDArray[np.bool_]

# Constraints that a program may have, which is a second or two for each solution, and answers.
MOST_ROWS, MOST_ANSWERS = 12_500, 240
# How far answers go, in half-widths of the narrowest region: farther ones change the fourth digit, and with
# fewer than the last the limit is weak.
EXTENTS = (24, 16, 8)
# Answers to a sensitivity, at most.
FINEST = 6
# Regions are made a little wider than floats say, which only weakens a limit.
WIDER = 1e-9


def limit_of_any_law(requirement: Requirement, reached: float) -> Limit | None:
    """What a linear program proves of a requirement that a plan meets at epsilon `reached`; takes seconds.

    None for several releases, for what is too large, for the confidence 1, and where no law is known that
    depends on the answer: there the limit in closed form is all but reached.
    """
    if requirement.releases > 1 or reached <= 0 or requirement.always or not _has_laws(requirement):
        return None
    programs = _programs(requirement)
    found = [largest_impossible(program.solve, requirement.confidence, reached) for program in programs]
    epsilon = max(found, default=0.0)
    subject = WHOLE_OUTPUTS if requirement.integer else ANY_MECHANISM
    return None if epsilon == 0 else Limit(epsilon=epsilon, subject=subject, kind=PROGRAM)


def _has_laws(requirement: Requirement) -> bool:
    """Whether laws may differ between answers, in a way that is known."""
    region = requirement.region
    alike = region.follows_answer and requirement.bounds is None
    unknown = region.stands_still or requirement.scale is not None or requirement.delta is None
    return not (
        alike
        or unknown
        or requirement.coordinates is not None
        or (region.only_whole_answers and not requirement.integer)
    )


def _programs(requirement: Requirement) -> Iterator[Program]:
    """Programs of answers that go far and, where there is room for finer ones, of some that go less far.

    Answers lie `parts` to a sensitivity. Where even those a sensitivity apart are too many they lie a group
    of sensitivities apart, up to half a region: beyond that they prove next to nothing.
    """
    ends = requirement.region.answers
    if requirement.bounds is not None:
        low, high = requirement.bounds.answers
        ends = max(ends[0], low), min(ends[1], high)
    known = [end for end in ends if math.isfinite(end)]
    narrow = sum(float(offset) for offset in requirement.region.offsets(known[0] if known else 0.0))
    moved = math.floor(requirement.sensitivity) if requirement.integer else requirement.sensitivity
    if not 0 < narrow < math.inf or moved == 0 or (math.isinf(ends[0]) and math.isfinite(ends[1])):
        return

    def program(extent: float, parts: int, group: int) -> Program | None:
        places = np.arange(MOST_ANSWERS + 1) * group * moved
        steps = np.asarray(places // parts if requirement.integer else places / parts, dtype=np.float64)
        answers = _answers(requirement.integer, ends, steps, extent * narrow / 2)
        if not 2 <= len(answers) <= MOST_ANSWERS:
            return None
        accepted, _ = _accepted(requirement, answers)
        made, _ = _program(accepted, parts, group, requirement.delta or 0.0)
        return made if len(made.here) <= MOST_ROWS else None

    finest = min(FINEST, math.floor(moved)) if requirement.integer else FINEST
    finer = 0
    for extent in EXTENTS:
        for parts in range(finest, finer, -1):
            if (made := program(extent, parts, 1)) is not None:
                finer = parts
                yield made
                break
    if finer == 0:
        groups = range(2, math.floor(narrow / 2 / moved) + 1)
        apart = (program(EXTENTS[-1], 1, group) for group in groups)
        yield from islice((made for made in apart if made is not None), 1)


def _answers(whole: bool, ends: tuple[float, float], steps: Array, furthest: float) -> Array:
    """Answers so far above the low end, or to both sides of 0.

    Whole steps are rounded down, so that answers `parts` places apart differ by a sensitivity at most.
    """
    origin = 0.0 if math.isinf(ends[0]) else float(math.ceil(ends[0])) if whole else ends[0]
    steps = steps[steps <= min(furthest, ends[1] - origin)]
    return origin + (np.concatenate((-steps[:0:-1], steps)) if math.isinf(ends[0]) else steps)


def _accepted(requirement: Requirement, answers: Array) -> tuple[Accepted, Array]:
    """For each answer the outputs that are acceptable; only those that no other output is better than."""
    below, above = (np.asarray(offset, dtype=np.float64) for offset in requirement.region.offsets(answers))
    spare = WIDER * (1 + np.abs(answers) + below + above)
    low, high = answers - below - spare, answers + above + spare
    if requirement.bounds is not None:
        least, most = requirement.bounds.answers
        low, high = np.maximum(low, least), np.minimum(high, most)
    if requirement.integer:
        low, high = np.ceil(low), np.floor(high)
    outputs = np.unique(low)
    accepted = np.unique((low[:, None] <= outputs) & (outputs <= high[:, None]), axis=1)
    counts = accepted.astype(np.float64)
    shared, size = counts.T @ counts, counts.sum(axis=0)
    worse = (shared == size[:, None]) & (size[None, :] > size[:, None])
    kept = np.asarray(accepted[:, ~worse.any(axis=1)])
    return kept, np.where(kept, low[:, None], -math.inf).max(axis=0)


def _program(accepted: Accepted, parts: int, group: int, delta: float) -> tuple[Program, Index]:
    """The laws of some answers in a row, those at most `parts` places apart being neighbors; their columns.

    Where answers and outputs have a mirror image, so have the best laws: the average of a mechanism and its
    mirror image is as good as it is. A column then stands for an output and its image.
    """
    size, outputs = accepted.shape
    first, second = np.divmod(np.arange(size * size), size)
    kept = (first != second) & (np.abs(first - second) <= parts)
    column = np.arange(size * outputs).reshape(size, outputs)
    mirror = _mirror(accepted)
    if mirror is not None:
        _, folded = np.unique(np.minimum(column, column[::-1][:, mirror]), return_inverse=True)
        column = folded.reshape(size, outputs)
        kept &= first * size + second < (size - 1 - first) * size + size - 1 - second
    own = column[: size if mirror is None else (size + 1) // 2]
    law = np.zeros(int(own.max()) + 1, dtype=np.int64)
    law[own] = np.arange(len(own))[:, None]
    rows = int(kept.sum()) * outputs
    made = Program(
        law=law,
        outputs=np.bincount(own.ravel()).astype(np.float64),
        acceptable=np.bincount(own.ravel(), weights=accepted[: len(own)].ravel()).astype(np.float64),
        here=column[first[kept]].ravel(),
        there=column[second[kept]].ravel(),
        pair=np.repeat(np.arange(rows // outputs), outputs),
        delta=delta,
        group=group,
    )
    return made, column


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerProgram:
    """The program of all answers, with the column of each answer and output, and the outputs in order."""

    program: Program
    columns: Index
    outputs: Index

    def laws(self, masses: Array) -> Array:
        """The laws of all answers on the outputs from the first to the last, from the masses of columns."""
        found = np.zeros((len(self.columns), int(self.outputs.max() - self.outputs.min()) + 1))
        found[:, self.outputs - self.outputs.min()] = masses[self.columns]
        return found


def answer_program(requirement: Requirement, answers: Array, most_rows: int) -> AnswerProgram | None:
    """The program for the laws of these whole answers, a sensitivity of which are neighbors.

    None for more constraints than so many.
    """
    accepted, outputs = _accepted(requirement, answers)
    moved = math.floor(requirement.sensitivity)
    if accepted.size * 2 * moved > 2 * most_rows:
        return None
    program, columns = _program(accepted, moved, 1, requirement.delta or 0.0)
    return AnswerProgram(program=program, columns=columns, outputs=outputs.astype(np.int64))


def _mirror(accepted: Accepted) -> Index | None:
    """For each output the one that the mirror image of the answers accepts; None if there is not."""
    columns = {column.tobytes(): place for place, column in enumerate(accepted.T)}
    found = [columns.get(column.tobytes(), -1) for column in accepted[::-1].T]
    return None if min(found) < 0 else np.array(found)
