"""A law of its own for every answer of a short range of whole numbers: those of a linear program.

The masses come from the program over the laws of all answers (`limit.linear_program`), at an epsilon just
above the least that its dual allows, and are rounded to whole weights. What is guaranteed is found from the
weights: for every two neighboring answers, the sum over all outputs of max(0, P - e^eps·P').
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbdp.accounting.composition.loss_law import Release
from pbdp.accounting.exact.tables import Bounds
from pbdp.accounting.filters.steps import symmetric_law
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.answer_tables import AnswerTables
from pbdp.mechanism.design import rounded_down
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import LinearGrid, whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.planning.candidates import LINEAR_PROGRAM
from pbdp.planning.certificate import Certificate, ProvenDesign
from pbdp.planning.limit.answers import answer_program
from pbdp.planning.limit.closed_form import ULP
from pbdp.planning.limit.linear_program import CLOSE, LARGEST_EPSILON, solutions
from pbdp.root_finding import between

# Constraints of a program that takes a tenth of a second in all.
MOST_ROWS = 2000
# How closely an epsilon is found, relatively.
CLOSEST = 1e-9
# Epsilons at which a composition knows delta: chords between them lie hardly above the curve.
POINTS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLaws(ProvenDesign):
    """A list of laws, one for each answer on the grid of whole numbers."""

    grid: LinearGrid
    tables: AnswerTables

    @property
    def name(self) -> str:
        return f"{LINEAR_PROGRAM}, per answer"

    @property
    def region(self) -> FixedRegion:  # type: ignore[override]  # the answers that have laws
        return FixedRegion(low=float(self.tables.first), high=float(self.tables.last))

    @property
    def follows_answer(self) -> bool:
        return False

    def laws(self) -> AnswerTables:
        return self.tables

    def table_at(self, answer: float) -> WeightTable:
        return self.tables.table(round(answer))

    @property
    def reach(self) -> int:
        return self.tables.cells

    def record(self) -> dict[str, Any]:
        return {
            "family": self.name,
            "kernel": LINEAR_PROGRAM,
            "first": self.tables.first,
            "start": self.tables.start,
            "weights": [list(row) for row in self.tables.rows],
        }

    def describe(self, requirement: Requirement) -> str:
        del requirement
        return f"{self.name}: {len(self.tables.rows)} laws on {self.grid.describe()}"

    def assumptions(self, requirement: Requirement) -> tuple[str, ...]:
        del requirement
        return (f"Each answer has a law of its own, on {self.grid.describe()}.",)

    def certificate(self, requirement: Requirement) -> Certificate | None:
        self._check(requirement)
        confidence = rounded_down(self.tables.least_weight(self.grid.region_in_steps(requirement.region)))
        if confidence < requirement.confidence or requirement.delta is None:
            return None
        found = self._epsilon(requirement)
        if math.isinf(found.upper):
            raise CannotCertifyError(f"{self.name} noise has no finite epsilon. Use a larger delta.")
        return Certificate(
            epsilon=found.upper,
            epsilon_lower=found.lower,
            delta=requirement.delta,
            rdp_order=None,
            confidence=confidence,
            method="sum over the integer weights of every pair of neighboring answers",
            table_error=0.0,
        )

    def _check(self, requirement: Requirement) -> None:
        """Refuse a requirement that these laws are not for: they are for one whole number in a range."""
        last_output = self.tables.start + len(self.tables.rows[0]) - 1
        low, high = requirement.output_limits(self.grid)
        one = requirement.releases == 1 and requirement.coordinates is None
        whole = requirement.integer and requirement.step in (None, 1.0)
        answers = requirement.answers_on(self.grid) == (self.tables.first, self.tables.last)
        if not (one and whole and answers and low <= self.tables.start and last_output <= high):
            raise InputError("laws", "those of one whole number in the range that is asked for", "others")

    def _epsilon(self, requirement: Requirement) -> Bounds:
        delta = requirement.delta or 0.0
        if self._delta(requirement, 0.0) <= delta:
            return Bounds(lower=0.0, upper=0.0)

        def short(epsilon: float) -> float:
            return self._delta(requirement, epsilon) - delta

        low, high = between(short, 1.0, close=CLOSEST, most=LARGEST_EPSILON)
        # what rounding adds to delta is below what so much less of epsilon does
        lower = low * (1 - CLOSEST)
        return Bounds(lower=lower if self._delta(requirement, lower, up=False) > delta else 0.0, upper=high)

    def _delta(self, requirement: Requirement, epsilon: float, *, up: bool = True) -> float:
        """The largest delta of all pairs of neighbors at an epsilon; rounded up, or down."""
        # three roundings and an exponent that is off by as many units as it is large; sums of few terms
        spare = 2 * (8 + epsilon) * (ULP if up else -ULP)
        growth = math.exp(epsilon) * (1 - spare)
        masses, worst = self.tables.weights / float(TOTAL), 0.0
        for moved in range(1, min(self.steps(requirement), len(masses) - 1) + 1):
            for one, other in ((masses[moved:], masses[:-moved]), (masses[:-moved], masses[moved:])):
                worst = max(worst, float(np.max(np.maximum(one - growth * other, 0.0).sum(axis=1))))
        return float(worst * (1 + spare * masses.shape[1]))

    def steps(self, requirement: Requirement) -> int:
        """How many answers further one person may move the answer."""
        return self.grid.sensitivity_in_steps(requirement.sensitivity)

    def unhidden(self, requirement: Requirement) -> float:
        return self._delta(requirement, LARGEST_EPSILON)

    def release(self, requirement: Requirement) -> Release:
        # the certified epsilon is half-way, a point of its own
        step = 2 * (self._epsilon(requirement).upper or 0.5) / POINTS
        epsilons = step * np.arange(POINTS + 1)
        deltas = np.array([self._delta(requirement, float(epsilon)) for epsilon in epsilons])
        return Release(covered=(symmetric_law(step, deltas),))


def answer_laws(requirement: Requirement, reached: float) -> AnswerLaws | None:
    """The laws of the program that keep the confidence with the least epsilon, if that is below one reached.

    None where it is not known to pay: for a sensitivity of one (Gupte and Sundararajan 2010), for more than
    one release, or for a range that is too long.
    """
    found, asked = None, requirement
    if asked.bounds is None or asked.delta is None or asked.releases > 1 or asked.scale is not None:
        return None
    if not asked.integer or asked.sensitivity < 2 or asked.step not in (None, 1.0) or reached <= 0:
        return None
    grid = whole_numbers()
    first, last = map(int, asked.answers_on(grid))
    made = answer_program(requirement, np.arange(first, last + 1.0), MOST_ROWS)
    if made is None:
        return None
    start = int(made.outputs.min())
    # about what Laplace noise costs, or less
    laplace = -math.log(1 - asked.confidence) * asked.sensitivity / max(asked.region.width, 0.5)
    begin, missed = min(reached, laplace), 1 - asked.confidence
    for epsilon, solution in solutions(made.program.solve, missed, begin, 1 + CLOSE):
        laws = AnswerLaws(grid=grid, tables=AnswerTables.of(made.laws(solution.masses), first, start))
        kept = rounded_down(laws.tables.least_weight(requirement.region))
        if epsilon < reached and kept >= requirement.confidence:
            found, reached = laws, epsilon
    return found


def read_answer_laws(record: dict[str, Any]) -> AnswerLaws:
    """The design of its record."""
    rows = tuple(tuple(row) for row in record["weights"])
    tables = AnswerTables(first=record["first"], start=record["start"], rows=rows)
    return AnswerLaws(grid=whole_numbers(), tables=tables)
