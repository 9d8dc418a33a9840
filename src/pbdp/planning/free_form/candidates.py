"""The free-form table as a candidate of the planner; it is tried only when it is asked for by name."""

from __future__ import annotations

from collections.abc import Iterator

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import Grid
from pbdp.noise.table import TableKernel
from pbdp.planning.free_form.search import Progress, free_form_law
from pbdp.planning.shapes import Problem

FAMILY = "free form"


def free_form_candidates(
    grid: Grid, problem: Problem, offset: int, families: tuple[str, ...], progress: Progress | None = None
) -> Iterator[Design]:
    """The table for an absolute requirement at a delta; `offset` is where the problem's zero lies.

    Nothing for a Rényi order, for a region with fewer values than the sensitivity, or for a table that would
    be too large.
    """
    goal = problem.goal
    points = problem.below + problem.above + 1
    if FAMILY not in families or goal.delta is None or not goal.sensitivity <= points < 1 << 40:
        return
    try:
        law = free_form_law(
            problem.below,
            problem.above,
            goal.confidence,
            goal.sensitivity,
            goal.delta,
            releases=goal.releases,
            progress=progress,
        )
    except CannotCertifyError:
        return  # too many values for a table
    yield Design(
        grid=grid,
        kernel=TableKernel(probabilities=law.masses, start=law.start, label=FAMILY),
        region=AbsoluteRegion(below=float(problem.below), above=float(problem.above)),
        offset=offset,
    )
