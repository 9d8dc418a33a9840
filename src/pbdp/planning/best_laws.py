"""Candidates that come from the theory of the limit: the cut staircase and the linear program's own law."""

from __future__ import annotations

from collections.abc import Iterator

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import Grid
from pbdp.noise.cut_staircase import CutStaircase
from pbdp.noise.kernel import LatticeKernel
from pbdp.noise.table import TableKernel
from pbdp.planning.limit.best_table import RESERVE, best_table
from pbdp.planning.limit.cut_staircase import cut_epsilon, cut_levels
from pbdp.planning.limit.question import Question
from pbdp.planning.shapes import Problem

# Below this delta the cut staircase is as good as the linear program; above this size the program is slow.
LEAST_DELTA = 5e-3
LARGEST_PROGRAM = 48
TIME_LIMIT = 1.0


def best_law_candidates(
    grid: Grid, problem: Problem, offset: int, families: tuple[str, ...]
) -> Iterator[Design]:
    """Laws for one release at a delta; `offset` is where the problem's zero lies from the answer."""
    goal = problem.goal
    if goal.releases > 1 or goal.delta is None or problem.below + problem.above >= 1 << 40:
        return
    confidence = min(goal.confidence + RESERVE, (1 + goal.confidence) / 2)
    question = Question.about(problem.below, problem.above, confidence, goal.sensitivity, goal.delta)
    region = AbsoluteRegion(below=float(problem.below), above=float(problem.above))

    def design(kernel: LatticeKernel, start: int) -> Design:
        """The kernel moved so that its first value is `start` from the problem's zero."""
        moved = start - int(kernel.support[0])
        return Design(
            grid=grid,
            kernel=kernel,
            region=AbsoluteRegion(below=region.below + moved, above=region.above - moved),
            offset=offset + moved,
        )

    if "cut staircase" in families:
        epsilon = cut_epsilon(question)
        levels, end = cut_levels(question, epsilon)
        try:
            staircase = CutStaircase(
                loss=epsilon,
                width=goal.sensitivity,
                plateau=question.central_points,
                levels=levels,
                end=end,
            )
        except InputError:
            return  # too many points for a table
        points = int(staircase.support[1] - staircase.support[0]) + 1
        yield design(staircase, -problem.below - (points - question.points) // 2)
    small = problem.below + problem.above + goal.sensitivity <= LARGEST_PROGRAM
    if "linear program" in families and goal.delta >= LEAST_DELTA and small:
        law = best_table(
            problem.below, problem.above, goal.confidence, goal.sensitivity, goal.delta, time_limit=TIME_LIMIT
        )
        kernel = TableKernel(
            probabilities=tuple(law.masses.tolist()), start=law.start, label="linear program"
        )
        yield design(kernel, int(kernel.support[0]))
