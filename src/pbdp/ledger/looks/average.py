"""One estimate of several looks at one number, and how far off it is.

A look y_i = Q_i + n_i·h_i has noise n_i from a table of its own, in steps h_i of a grid of its own; Q_i is
the true answer Q on that grid, off by r_i·h_i at most (half a step, or nothing where answers are used as they
are). Looks are averaged with weights w_i, about in proportion to their precisions 1/Var(n_i·h_i):

    estimate = w_1·y_1 + ... + w_k·y_k,        w_1 + ... + w_k = 1,

so that |estimate - Q| <= |w_1·h_1·n_1 + ... + w_k·h_k·n_k| + w_1·r_1·h_1 + ... + w_k·r_k·h_k. The law of the
sum is that of the tables that are drawn from (`release.combination`), whatever kinds of noise they hold.

**By itself** the interval has its confidence if plans were not chosen because of what earlier looks showed.

**Jointly.** Each look may have been chosen after seeing the ones before. The noise of look k is independent
of all that, so its own interval at the confidence 1 - alpha_k misses with probability alpha_k at most,
whatever the past was. With alpha_k = alpha/(k·(k+1)), which add up to at most alpha, all of them hold
together, for any number of looks and however it was decided when to stop: so does what they have in common.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from pbdp.ledger.looks.procedure import gaussian_plan, sigma_for
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid, grid_of_step, step_of_at_least, whole_grid_for
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.planning.plan import Plan
from pbdp.release.combination import Term, law_of_sum
from pbdp.root_finding import least_enough

# Weights are multiples of about one over this: a miss of the best weights by so much costs a millionth.
WEIGHTS = 512
# A real width is cut into so many steps.
STEPS_IN_WIDTH = 256
# Ends of intervals are doubles: what is left for their rounding.
ROUNDING = Fraction(1, 2**40)
# How close (relative) the noise of another look comes to the most that will do, and the least precision it
# has: where a look is nearly enough, the difference is not worth a search.
CLOSE, LEAST = 2e-3, 1e-4
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of one look: a table, in steps of a grid to which answers may be rounded."""

    design: Design
    grid: LinearGrid

    @classmethod
    def of(cls, plan: Plan) -> Noise | None:
        """That of a plan; None if its numbers are no truth plus noise that does not depend on it."""
        design, grid = plan.mechanism, plan.grid
        if not isinstance(design, Design) or not isinstance(grid, LinearGrid) or grid.down:
            return None
        moved = design.offset or design.clamp or design.decoder is not None
        return None if moved or not isinstance(plan.requirement.region, AbsoluteRegion) else cls(design, grid)

    @property
    def step(self) -> Fraction:
        """A step, as users count."""
        return Fraction(self.grid.step)

    @property
    def lost(self) -> Fraction:
        """How far the grid point of an answer may be from it."""
        return Fraction(self.grid.lost) * self.step

    @property
    def precision(self) -> float:
        """One over the variance, as users count."""
        table = self.design.table_at(0.0)
        return 1 / float(np.sum((table.values() * self.grid.step) ** 2 * table.probabilities()))


def weights_of(noises: Sequence[Noise]) -> tuple[Fraction, ...]:
    """Weights about in proportion to precisions; they add up to one."""
    precisions = [noise.precision for noise in noises]
    found = [round(WEIGHTS * precision / sum(precisions)) for precision in precisions]
    return tuple(Fraction(weight, sum(found)) for weight in found)


@lru_cache(maxsize=256)
def half_width_of(noises: tuple[Noise, ...], confidence: float) -> Fraction:
    """A width that the estimate of all of them is within, with the confidence, by itself."""
    weights = weights_of(noises)
    terms = [
        Term(table=noise.design.table_at(0.0), weight=weight * noise.step)
        for noise, weight in zip(noises, weights, strict=True)
    ]
    lost = sum((weight * noise.lost for noise, weight in zip(noises, weights, strict=True)), Fraction(0))
    half = law_of_sum(terms).half_width(confidence) + lost
    # whole estimates are rounded: within T where what is rounded is within less than T + 1/2
    return Fraction(math.floor(half - _HALF) + 1) if is_whole(noises) else half * (1 + ROUNDING)


def is_whole(noises: Sequence[Noise]) -> bool:
    """Whether all of them publish whole numbers."""
    return all(noise.grid.whole_outputs for noise in noises)


def estimate_of(noises: Sequence[Noise], values: Sequence[float]) -> Fraction:
    """The weighted mean of published numbers; whole, halves up, where they are."""
    mean = sum(
        (weight * Fraction(value) for weight, value in zip(weights_of(noises), values, strict=True)),
        Fraction(0),
    )
    return Fraction(math.floor(mean + _HALF)) if is_whole(noises) else mean


def next_plan(noises: tuple[Noise, ...], asked: Requirement) -> Plan | None:
    """The plan, with Gaussian-type noise, of about the least precise look that brings all within the width.

    None where no look more does.
    """
    region = asked.region
    if not isinstance(region, AbsoluteRegion):
        return None
    grid = _grid_of(asked, region.below)
    in_steps = grid.region_in_steps(region)
    alone = 1 / (sigma_for(int(np.min(in_steps.offsets(0.0))), asked.confidence) * grid.step) ** 2

    def noise_of(steepness: float) -> Noise:
        return Noise(Design(grid=grid, kernel=_kernel(steepness * grid.step), region=in_steps), grid)

    def short(steepness: float) -> float:
        half = half_width_of((*noises, noise_of(steepness)), asked.confidence)
        return float(half / Fraction(region.below)) - 1 if half > region.below else 0.0

    needed = max(alone - sum(noise.precision for noise in noises), LEAST * alone)
    steepness = least_enough(short, math.sqrt(needed), close=CLOSE)
    if not math.isfinite(steepness):
        return None
    own = half_width_of((noise_of(steepness),), asked.confidence)
    step = grid.step if grid.rounded else None
    look = replace(asked, region=AbsoluteRegion.even(float(own)), step=step)
    return gaussian_plan(look, _kernel(steepness * grid.step).sigma)


def _kernel(steepness: float) -> DiscreteGaussian:
    # plans are files: a few digits of it are enough
    return DiscreteGaussian(sigma=float(f"{1 / steepness:.6g}"))


def _grid_of(asked: Requirement, width: float) -> LinearGrid:
    """A grid on which noise of any sigma below the width is fine."""
    if asked.step is not None:
        return grid_of_step(asked.step, asked.integer)
    if asked.integer:
        return whole_grid_for(width, asked.sensitivity)
    steps = math.ceil(STEPS_IN_WIDTH * asked.sensitivity / width)
    return LinearGrid(step=step_of_at_least(asked.sensitivity, steps), rounded=True)
