"""Changes in the sum of absolute values: independent Laplace noise on the grid in every coordinate.

**Privacy.** The mass of noise n is proportional to exp(-|n|/b) in every coordinate, all in steps. A shift s
changes the log-mass by at most Σ|s_i|/b, so the ideal law has epsilon = K/b, K the most steps, added up, that
one person moves the answer; it needs no delta. What is drawn are tables of integer weights, each at most η
away in total variation. Only the m coordinates that one person moves count, and for every set S of outputs

    P(S) <= P_ideal(S) + m η <= e^eps P'_ideal(S) + m η <= e^eps P'(S) + (1 + e^eps) m η,

so m (1 + e^eps) η <= delta is enough. How the error is measured does not matter for that.

**Rounding.** Real answers are rounded by floor(x/step + 1/2). A change of c in one coordinate becomes at most
ceil(c/step) < c/step + 1 steps, hence K < Δ/step + m, that is K = ceil(Δ/step + m) - 1. Every coordinate
moves by half a step at most, which leaves floor(within/step - d/2) steps for the noise.

**Confidence**, in whatever norm errors are measured, is that of the table (`error_law`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from pbdp.accounting.composition.loss_law import Release
from pbdp.accounting.filters.steps import claimed_release
from pbdp.digits import delta_text, epsilon_text, rounded_up
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.grid import LinearGrid, power_of_two_below, whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import BITS, LARGEST_TABLE, TOTAL, WeightTable, integer_weights
from pbdp.noise.laplace import LAPLACE
from pbdp.noise.symmetric_lattice import scale_in_steps
from pbdp.planning.candidates import shapes_for
from pbdp.planning.certificate import Certificate, ProvenDesign
from pbdp.planning.limit.closed_form import ROUNDING
from pbdp.planning.limit.linear_program import LARGEST_EPSILON
from pbdp.planning.scales import STEEPEST
from pbdp.planning.vectors.error_law import Sizes
from pbdp.planning.vectors.independent import (
    CLOSE,
    error_share,
    estimated_steepness,
    log_odds,
    problem_of,
)
from pbdp.root_finding import CLOSEST, least_enough

# Rounding of answers may cost this share of the width and of the sensitivity.
FINE_ENOUGH = 1e-3
# No table is longer on either side, so that the confidence takes a second at most.
LARGEST_REACH = 1 << 18
# The ideal masses in the extended type are exact to this: the exponent is 44 at most.
MASS_ERROR = max(ROUNDING, 128 * float(np.finfo(np.longdouble).eps))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductLaplace(ProvenDesign):
    """Independent noise in every coordinate, P(n steps) proportional to exp(-|n|/scale_in_steps)."""

    scale_in_steps: float
    grid: LinearGrid

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale_in_steps", scale_in_steps("scale", self.scale_in_steps))

    @property
    def name(self) -> str:
        return "laplace"

    @property
    def table(self) -> WeightTable:
        """The noise of every coordinate, in steps."""
        return _table(self.scale_in_steps)

    @property
    def table_error(self) -> float:
        """η: weights away from zero are only rounded down, so it is what zero has gained."""
        table = self.table
        ideal = np.tanh(1 / (2 * np.longdouble(self.scale_in_steps)))
        gained = np.longdouble(int(table.weights[-table.start])) / TOTAL - ideal
        return max(float(gained), 0.0) + 2 * MASS_ERROR

    def describe(self, requirement: Requirement) -> str:
        scale = self.scale_in_steps * self.grid.step
        return (
            f"independent Laplace noise with scale {scale:.6g} in each of {requirement.dimensions} "
            f"coordinates, on {self.grid.describe()}"
        )

    def certificate(self, requirement: Requirement) -> Certificate | None:
        confidence = self._confidence(requirement)
        if confidence < requirement.confidence:
            return None
        moved = sensitivity_in_steps(requirement, self.grid)
        epsilon, charge = self._loss(requirement)
        if charge > _delta_of(requirement):
            raise CannotCertifyError(
                f"delta {delta_text(requirement.delta)} is too small: the tables of the "
                f"{requirement.dimensions} "
                f"coordinates use up {rounded_up(charge, 2)} of it at epsilon {epsilon_text(epsilon)}. "
                "Use a larger delta."
            )
        return Certificate(
            epsilon=epsilon,
            epsilon_lower=0.0,
            confidence=confidence,
            method="losses of all coordinates added up; delta covers the tables' distance from the law",
            delta=_delta_of(requirement),
            rdp_order=None,
            table_error=min(requirement.touched, moved) * self.table_error,
        )

    def _loss(self, requirement: Requirement) -> tuple[float, float]:
        """An epsilon, and the delta that it has because of the tables."""
        moved = sensitivity_in_steps(requirement, self.grid)
        epsilon = moved / self.scale_in_steps * (1 + ROUNDING)
        error = min(requirement.touched, moved) * self.table_error
        return epsilon, (1 + math.exp(min(epsilon, LARGEST_EPSILON))) * error * (1 + 2 * ROUNDING)

    def release(self, requirement: Requirement) -> Release:
        """What is (epsilon, delta)-DP counts as the randomized response that dominates everything that is."""
        return claimed_release(*self._loss(requirement))

    def _confidence(self, requirement: Requirement) -> float:
        return Sizes.allowed(requirement, self.grid).mass(self.table)

    def table_at(self, answer: float) -> WeightTable:  # noqa: ARG002 - the same noise for every answer
        return self.table

    def record(self) -> dict[str, Any]:
        return {
            "family": self.name,
            "kernel": "laplace",
            "scale_in_steps": self.scale_in_steps,
            "step": self.grid.step,
        }

    def assumptions(self, requirement: Requirement) -> tuple[str, ...]:
        touched, moved = requirement.touched, sensitivity_in_steps(requirement, self.grid)
        return (
            f"One person changes at most {touched} of {requirement.dimensions} coordinates; that is at most "
            f"{moved} step{'s' if moved > 1 else ''} of the grid in all, rounding included.",
            f"Outputs are {self.grid.describe()}; rounding the answer to them is part of the guarantee.",
        )


@lru_cache(maxsize=4)
def _table(scale: float) -> WeightTable:
    """Integer weights; all but the center's are below the ideal masses."""
    reach = reach_of(scale)
    if reach > LARGEST_TABLE // 2:
        raise CannotCertifyError(
            f"The noise would need a table of {2 * reach + 1:,} values: the width is very large against the "
            "sensitivity. Use a coarser step."
        )
    noise = np.abs(np.arange(-reach, reach + 1)).astype(np.longdouble)
    exact = np.longdouble(scale)
    masses = np.tanh(1 / (2 * exact)) * np.exp(-noise / exact)
    return integer_weights(masses, -reach, MASS_ERROR)


def reach_of(scale: float) -> int:
    """Beyond it an ideal mass is less than one unit of weight."""
    return math.ceil(scale * (BITS + 1) * math.log(2)) + 1


def sensitivity_in_steps(requirement: Requirement, grid: LinearGrid) -> int:
    """K: the most steps, added up over the coordinates, that one person moves the answer."""
    exact = Fraction(requirement.sensitivity) / Fraction(grid.step)
    return math.ceil(exact + requirement.touched) - 1 if grid.rounded else math.ceil(exact)


def product_designs(requirement: Requirement) -> list[ProductLaplace]:
    """The widest noise that keeps the confidence; none where rounding takes all of the width."""
    grid = grid_of(requirement)
    sizes = Sizes.allowed(requirement, grid)
    if sizes.most < 0:
        return []

    def short(steepness: float) -> float:
        return log_odds(requirement.confidence) - log_odds(sizes.mass(_table(1 / steepness)))

    problem = problem_of(requirement, grid, sizes)
    (shapes,) = shapes_for(problem, (LAPLACE.name,))
    start = estimated_steepness(shapes.shape(0.0), problem, sizes, requirement.confidence)
    if math.isinf(start):
        return []
    found = least_enough(short, start, close=CLOSEST, most=STEEPEST, spare=CLOSE)
    return [ProductLaplace(scale_in_steps=1 / found, grid=grid)] if math.isfinite(found) else []


def grid_of(requirement: Requirement) -> LinearGrid:
    """Whole numbers, the step that was given, or one of which rounding hardly costs anything."""
    if requirement.integer:
        return whole_numbers()
    step = requirement.step
    if step is None:
        # noise of a coordinate is about as wide as its share of the width
        share = requirement.half_width / error_share(requirement)
        fine = FINE_ENOUGH * min(share, requirement.sensitivity / requirement.touched)
        step = power_of_two_below(max(fine, share * reach_of(1.0) / LARGEST_REACH))
    return LinearGrid(step=step, rounded=True)


def _delta_of(requirement: Requirement) -> float:
    """The delta of a requirement for vectors, which has one unless its coordinates are drawn one by one."""
    if requirement.delta is None:
        raise AssertionError("noise for whole vectors has a delta")
    return requirement.delta


def read_product(record: dict[str, Any], requirement: Requirement) -> ProductLaplace | None:
    """The design of a record on the grid that the requirement asks for, or None if it may not have it."""
    coordinates = requirement.coordinates
    if coordinates is None or coordinates.changed_in != "l1" or "scale_in_steps" not in record:
        return None
    grid = whole_numbers() if requirement.integer else LinearGrid(step=record["step"], rounded=True)
    asked = record["step"] == grid.step and requirement.step in (None, grid.step)
    if record["kernel"] != "laplace" or not asked:
        return None
    return ProductLaplace(scale_in_steps=record["scale_in_steps"], grid=grid)
