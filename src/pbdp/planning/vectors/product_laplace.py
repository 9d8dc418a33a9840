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

**Confidence in the sum of absolute values.** A coordinate is not zero with probability 2r/(1+r), where
r = exp(-1/b), and then |n| is geometric. With j of d coordinates not zero the sum of |n| is j plus a negative
binomial, so

    P(sum <= t) = Σ P(j coordinates are not zero) · I_{1-r}(j, t-j+1).

The tables' weights away from zero are rounded down, which makes their sums smaller still. In other norms the
confidence is that of the table (`error_law`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from pbdp import special
from pbdp.accounting.composition.loss_law import Release
from pbdp.accounting.filters.steps import claimed_release
from pbdp.digits import delta_text, epsilon_text, rounded_up
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.grid import LinearGrid, power_of_two_below, whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import BITS, LARGEST_TABLE, TOTAL, WeightTable, integer_weights
from pbdp.noise.family import kernel_record
from pbdp.noise.kernel import Array
from pbdp.noise.laplace import LAPLACE
from pbdp.noise.symmetric_lattice import scale_in_steps
from pbdp.planning.certificate import Certificate, ProvenDesign
from pbdp.planning.scales import STEEPEST
from pbdp.planning.vectors.error_law import Sizes
from pbdp.planning.vectors.independent import grid_of, independent_designs
from pbdp.root_finding import CLOSEST, least_enough

# Relative error of the incomplete beta function; the largest seen was 4e-13.
SUM_ERROR = 4e-12
# Rounding of answers may cost this share of the width and of the sensitivity before a finer step is tried.
FINE_ENOUGH = 1e-3
LARGEST_REACH = 1 << 20
# The ideal masses in the extended type are exact to this: the exponent is 44 at most.
MASS_ERROR = max(2.0**-50, 128 * float(np.finfo(np.longdouble).eps))


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
        epsilon = moved / self.scale_in_steps * (1 + 2.0**-51)
        error = min(requirement.touched, moved) * self.table_error
        return epsilon, (1 + math.exp(min(epsilon, 700.0))) * error * (1 + 1e-12)

    def release(self, requirement: Requirement) -> Release:
        """What is (epsilon, delta)-DP counts as the randomized response that dominates everything that is."""
        return claimed_release(*self._loss(requirement))

    def _confidence(self, requirement: Requirement) -> float:
        if not measures_sums(requirement):
            return Sizes.allowed(requirement, self.grid).mass(self.table)
        room = room_in_steps(requirement, self.grid)
        return 0.0 if room < 0 else mass_within(requirement.dimensions, self.scale_in_steps, room)

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


def measures_sums(requirement: Requirement) -> bool:
    """Whether errors are measured in the sum of absolute values."""
    return requirement.coordinates is not None and requirement.coordinates.norm == "l1"


def reach_of(scale: float) -> int:
    """Beyond it an ideal mass is less than one unit of weight."""
    return math.ceil(scale * (BITS + 1) * math.log(2)) + 1


def room_in_steps(requirement: Requirement, grid: LinearGrid) -> int:
    """What is left of the width for the noise: floor(within/step - d/2), or floor(within) unrounded."""
    lost = requirement.dimensions * grid.lost
    return math.floor(Fraction(requirement.half_width) / Fraction(grid.step) - lost)


def sensitivity_in_steps(requirement: Requirement, grid: LinearGrid) -> int:
    """K: the most steps, added up over the coordinates, that one person moves the answer."""
    exact = Fraction(requirement.sensitivity) / Fraction(grid.step)
    return math.ceil(exact + requirement.touched) - 1 if grid.rounded else math.ceil(exact)


def mass_within(dimensions: int, scale: float, room: int) -> float:
    """P(sum of |noise| <= room) for `dimensions` discrete Laplace laws, rounded down.

    Only the numbers of non-zero coordinates within sqrt(20 d) of their mean are added up; by Hoeffding's
    inequality the others have probability 2e-17 at most.
    """
    zero = math.tanh(1 / (2 * scale))
    away = 2 / (math.expm1(1 / scale) + 2) if scale > 2e-3 else 0.0
    spread = math.sqrt(20 * dimensions) + 1
    first = max(0, math.floor(dimensions * away - spread))
    last = min(dimensions, math.ceil(dimensions * away + spread))
    weights = _binomial(dimensions, zero, away, first, last)
    counts = np.arange(first, last + 1)
    possible = counts <= room
    failures = np.where(possible, room - counts, 0)
    within = special.betainc(np.maximum(counts, 1), failures + 1.0, -math.expm1(-1 / scale))
    within = np.where(possible, np.where(counts == 0, 1.0, within), 0.0)
    # every ratio of binomial weights, and the sum of their logs, is rounded; a relative error e of 1 - r
    # changes the incomplete beta function by a factor of (1 + e)^j at most
    rounding = 2.0**-52 * ((2 * math.log(dimensions) + 50) * len(counts) + 2 * dimensions)
    return min(float(np.sum(weights * within)), 1.0) * (1 - SUM_ERROR - rounding)


def _binomial(dimensions: int, zero: float, away: float, first: int, last: int) -> Array:
    """P(first..last coordinates are not zero): ratios of neighbors added up in logs, then scaled to one."""
    if away == 0:
        return np.where(np.arange(first, last + 1) == 0, 1.0, 0.0)
    counts = np.arange(first, last)
    steps = np.log((dimensions - counts) / (counts + 1.0)) + (math.log(away) - math.log(zero))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - np.max(logs))
    return np.asarray(weights / np.sum(weights))


def product_designs(requirement: Requirement) -> list[ProductLaplace]:
    """The widest noise on the grid with the least epsilon, among those whose tables will do."""
    if not measures_sums(requirement):
        return _widest_of_table(requirement)
    if requirement.integer:
        grids = [whole_numbers()]
    elif requirement.step is not None:
        grids = [LinearGrid(step=requirement.step, rounded=True)]
    else:
        grids = _grids(requirement)
    found = [design for grid in grids if (design := widest_laplace(requirement, grid)) is not None]
    small = [design for design in found if reach_of(design.scale_in_steps) <= LARGEST_REACH]
    ranked = sorted(
        small or found[:1],
        key=lambda design: sensitivity_in_steps(requirement, design.grid) / design.scale_in_steps,
    )
    for design in ranked:
        try:
            design.certificate(requirement)
        except CannotCertifyError:
            continue
        return [design]
    return ranked[:1]


def _widest_of_table(requirement: Requirement) -> list[ProductLaplace]:
    """The widest noise whose table keeps the confidence, where errors are measured in another norm."""
    grid = grid_of(requirement)
    sizes = Sizes.allowed(requirement, grid)
    found = []
    for design in independent_designs(requirement, (LAPLACE.name,)):
        scale = float(kernel_record(design.kernel)["parameters_in_steps"]["scale"])
        margin = 0.0
        while margin < 1e-3 and sizes.mass(_table(scale * (1 - margin))) < requirement.confidence:
            margin = 8 * margin + SUM_ERROR
        found.append(ProductLaplace(scale_in_steps=scale * (1 - margin), grid=grid))
    return found


def _grids(requirement: Requirement) -> list[LinearGrid]:
    """Powers of two from the coarsest that leaves room for noise to where rounding hardly costs anything."""
    step = power_of_two_below(2 * requirement.half_width / requirement.dimensions)
    finest = FINE_ENOUGH * min(
        requirement.half_width / requirement.dimensions, requirement.sensitivity / requirement.touched
    )
    steps = [step]
    while steps[-1] > finest and len(steps) < 40:
        steps.append(steps[-1] / 2)
    return [LinearGrid(step=each, rounded=True) for each in steps]


def widest_laplace(requirement: Requirement, grid: LinearGrid) -> ProductLaplace | None:
    """The largest scale that meets the confidence on a grid, or None if none does."""
    room = room_in_steps(requirement, grid)
    if room < 0:
        return None
    rho = requirement.confidence

    def short(steepness: float) -> float:
        return rho - mass_within(requirement.dimensions, 1 / steepness, room)

    start = (requirement.dimensions + 1) / (room + 1)
    scale = 1 / least_enough(short, start, close=CLOSEST, most=max(STEEPEST, start))
    return ProductLaplace(scale_in_steps=scale, grid=grid) if scale else None


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
