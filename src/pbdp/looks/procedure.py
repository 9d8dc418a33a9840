"""A procedure: looks of growing precision, each with Gaussian-type noise, until one says how precise the last
must be.

A *scout* is a cheap look. What it shows falls into a band, and the band says what comes next: another scout,
or the last look, and its sigma. **Only the last look is the answer.** Its noise is independent of all
that decided its precision, so its own interval holds as it is, whatever came before: there is no optional
stopping to correct for. What has to be proved is the promise made beforehand, that the answer is within
max(theta·|Q|, floor) of every Q (`coverage`). The scouts cost a few per cent of the last look; averaging them
in would gain as much, and would make the interval depend on why one stopped.

Everything is counted in steps of the grid.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from pbdp import special
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid, grid_of_step, step_of_at_least, whole_grid_for
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.parameters import positive, probability
from pbdp.planning.certificate import certified
from pbdp.planning.plan import Plan, plan_of
from pbdp.root_finding import bracketed_root

NEXT = 0.0
# A real floor is cut into at least so many steps.
STEPS_IN_FLOOR = 64
# Above the confidence by so much, for the rounding of masses; the whole-number table is checked in the end.
_MARGIN = 1e-11


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """|answer - Q| <= max(theta·|Q|, floor), with a confidence; theta and floor as written in decimals."""

    theta: float
    floor: float
    confidence: float

    def __post_init__(self) -> None:
        probability("within", self.theta, "Write 5% for a twentieth.")
        positive("floor", self.floor, "It is how far off small answers may be: 50, say.")
        probability("confidence", self.confidence, "Write 0.9 for 90 %.")

    def steps_at(self, answer: int, grid: LinearGrid) -> int:
        """How many steps the noise may move an answer at this grid point, at least; exact.

        Where answers are rounded, the true one is up to half a step nearer to zero, and half a step is lost.
        """
        return self.steps_at_each((answer,), grid)[0]

    def steps_at_each(self, answers: Iterable[int], grid: LinearGrid) -> list[int]:
        """The same for many: whole numbers of halves of steps, as fractions take ten times as long."""
        lost = int(2 * grid.lost)
        theta, floor = Fraction(repr(self.theta)), Fraction(repr(self.floor)) / Fraction(grid.step)
        least = (2 * floor - lost) // 2
        share, whole = theta.numerator, theta.denominator
        return [max((share * (2 * abs(q) - lost) - whole * lost) // (2 * whole), least) for q in answers]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of a number: the width, and what privacy is measured against."""

    width: Width
    sensitivity: float
    delta: float
    integer: bool = False
    step: float | None = None
    neighbors: str = Neighbors.ADD_REMOVE

    @property
    def grid(self) -> LinearGrid:
        """The grid of all looks: fine against the floor, with a whole number of steps to the sensitivity."""
        if self.step is not None:
            return grid_of_step(self.step, self.integer)
        sensitivity = positive("sensitivity", self.sensitivity)
        if self.integer:
            return whole_grid_for(self.width.floor, sensitivity)
        steps = -int(-STEPS_IN_FLOOR * sensitivity // self.width.floor)
        return LinearGrid(step=step_of_at_least(sensitivity, max(steps, 1)), rounded=True)

    def requirement(self, half_width: int) -> Requirement:
        """A look within so many steps, with the confidence, as a requirement of its own."""
        grid = self.grid
        half = (half_width + float(grid.lost)) * grid.step
        return Requirement(
            region=AbsoluteRegion.even(half),
            confidence=self.width.confidence,
            sensitivity=self.sensitivity,
            delta=self.delta,
            integer=self.integer,
            step=grid.step if grid.rounded else None,
            neighbors=self.neighbors,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scout:
    """A look with noise of this sigma, and what follows from it.

    `bands` are pairs (start, next): a look whose |value| is at least `start`, and below the next start, leads
    to a last look with the sigma `next`, or to the next scout. The first start is 0.
    """

    sigma: float
    bands: tuple[tuple[int, float], ...]

    def leads_to(self, value: int) -> float:
        """The sigma of the last look, or NEXT."""
        starts = [start for start, _ in self.bands]
        return self.bands[bisect_right(starts, abs(value)) - 1][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """Scouts, from the widest to the narrowest; without any, one look with the sigma `alone`."""

    asked: Asked
    scouts: tuple[Scout, ...]
    alone: float

    def __post_init__(self) -> None:
        for number, scout in enumerate(self.scouts):
            starts = [start for start, _ in scout.bands]
            rising = starts[:1] == [0] and all(a < b for a, b in pairwise(starts))
            leads = [sigma for _, sigma in scout.bands if sigma != NEXT or number == len(self.scouts) - 1]
            if not rising or not all(0 < sigma < math.inf for sigma in (scout.sigma, *leads)):
                raise InputError("scouts", "with rising bands from 0 on, the last leading to an end", "other")

    def next_look(self, values: Sequence[int]) -> float | None:
        """The sigma of the look after these, in steps; None if the last of them is the answer."""
        for number, scout in enumerate(self.scouts):
            if len(values) == number:
                return scout.sigma
            found = scout.leads_to(values[number])
            if found != NEXT:
                return found if len(values) == number + 1 else None
        return None if values else self.alone

    @property
    def ends(self) -> tuple[float, ...]:
        """The sigmas that a last look may have."""
        found = {sigma for scout in self.scouts for _, sigma in scout.bands if sigma != NEXT}
        return tuple(sorted(found)) or (self.alone,)

    def longest(self) -> tuple[float, ...]:
        """The sigmas of the most that can be looked: every scout, and the most precise last look."""
        return (*(scout.sigma for scout in self.scouts), self.ends[0])

    def half_width(self, sigma: float) -> int:
        """The steps that a look with this sigma is within, with the confidence."""
        return half_width_of(sigma, self.asked.width.confidence)

    def plan(self, sigma: float) -> Plan:
        """A look as a certified plan of its own, with Gaussian-type noise."""
        return gaussian_plan(self.asked.requirement(self.half_width(sigma)), sigma)

    def precision_at(self, answer: float) -> float:
        """The mean precision (the sum of 1/sigma²) that is bought when this is the true answer, in steps."""
        bought = self.alone**-2 if not self.scouts else 0.0
        for scout in reversed(self.scouts):
            kernel = DiscreteGaussian(sigma=scout.sigma)
            starts = np.array([start for start, _ in scout.bands], dtype=np.float64)
            ends = np.array([bought if sigma == NEXT else sigma**-2 for _, sigma in scout.bands])
            above = kernel.survival(starts - answer - 1) + kernel.survival(starts + answer - 1)
            above[0] = 1.0
            bought = scout.sigma**-2 + float(np.sum((above - np.append(above[1:], 0.0)) * ends))
        return bought

    def record(self) -> dict[str, Any]:
        """All there is to know, for JSON."""
        asked = self.asked
        return {
            "within": asked.width.theta,
            "floor": asked.width.floor,
            "confidence": asked.width.confidence,
            "sensitivity": asked.sensitivity,
            "delta": asked.delta,
            "integer": asked.integer,
            "step": asked.step,
            "neighbors": str(asked.neighbors),
            "alone": self.alone,
            "scouts": [[scout.sigma, [list(band) for band in scout.bands]] for scout in self.scouts],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Procedure:
        """The procedure of `record`."""
        width = Width(theta=record["within"], floor=record["floor"], confidence=record["confidence"])
        names = ("sensitivity", "delta", "integer", "step", "neighbors")
        scouts = tuple(
            Scout(sigma=sigma, bands=tuple((start, end) for start, end in bands))
            for sigma, bands in record["scouts"]
        )
        asked = Asked(width=width, **{name: record[name] for name in names})
        return cls(asked=asked, scouts=scouts, alone=record["alone"])


@lru_cache(maxsize=1024)
def sigma_for(half_width: int, confidence: float) -> float:
    """About the largest sigma with P(|noise| <= half_width) >= confidence, on the safe side."""

    def excess(sigma: float) -> float:
        return float(DiscreteGaussian(sigma=sigma).mass(-half_width, half_width)) - confidence - _MARGIN

    low = high = (half_width + 0.5) / -float(special.ndtri((1 - confidence) / 2))
    while excess(low) < 0:
        low /= 1.1
    while excess(high) > 0:
        high *= 1.1
    sigma = low if low == high else bracketed_root(excess, low, high)
    while excess(sigma) < 0:
        sigma *= 1 - 1e-13
    return sigma


@lru_cache(maxsize=4096)
def half_width_of(sigma: float, confidence: float) -> int:
    """The least number of steps that such noise is within, with the confidence."""
    kernel = DiscreteGaussian(sigma=sigma)
    found = max(kernel.reach(1 - confidence) - 1, 0)
    while float(kernel.mass(-found, found)) < confidence + _MARGIN:
        found += 1
    return found


@lru_cache(maxsize=256)
def gaussian_plan(requirement: Requirement, sigma: float | None = None) -> Plan:
    """The plan with Gaussian-type noise for an even width; the largest sigma, unless one is given."""
    whole = requirement.integer or requirement.step is None
    grid = grid_of_step(requirement.step or 1.0, whole)
    region = grid.region_in_steps(requirement.region)
    if sigma is None:
        sigma = sigma_for(int(np.min(region.offsets(0.0))), requirement.confidence)
    design = Design(grid=grid, kernel=DiscreteGaussian(sigma=sigma), region=region)
    found = certified(requirement, design)
    if found is None:
        raise CannotCertifyError("Gaussian noise on this grid misses the requirement. Use a finer step.")
    return plan_of(requirement, found)
