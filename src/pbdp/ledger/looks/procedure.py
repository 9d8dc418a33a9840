"""A procedure: looks of growing precision, each with Gaussian-type noise, until one says how precise the last
must be.

A *scout* is a cheap look. What it shows falls into a band, and the band says what comes next: another scout,
or the last look, and its sigma. **Only the last look is the answer.** Its noise is independent of all that
decided its precision, so its own interval holds as it is, whatever came before: there is no optional stopping
to correct for. What has to be proved is the promise made beforehand, that the answer is within max(theta·|Q|,
floor) of every Q (coverage, below). The scouts cost a few per cent of the last look; averaging them in would
gain as much, and would make the interval depend on why one stopped.

Everything is counted in steps of the grid.

**Coverage**: how often a procedure misses its width, at most, over all answers: the proof of the promise.

**The probability of a miss.** Let Q be the grid point of the true answer, w(Q) the steps that noise may move
it, A_1, A_2, ... what the scouts show: A_i = Q + noise, independent. Let F_i(Q) be the probability that the
answer is missed, given that scout i is looked at. A last look with sigma s misses with

    t_s(Q) = P(|noise of sigma s| > w(Q)),

whatever the scouts showed, as its noise is independent of theirs. So, band by band,

    F_i(Q) = sum over bands of P(|A_i| in band)·v_band,    v_band = t_s(Q), or F_{i+1}(Q) where it goes on.

This is the dynamic program over the looks: backwards from the last scout, and exact.

**Blocks of answers.** All answers with Q_0 <= |Q| <= Q_1 at once. By the symmetry of noise and bands only |Q|
counts.

1. w grows with |Q|, so t_s(Q) <= t_s(Q_0): the width is that of the block's narrowest answer.
2. With starts a_0 = 0 < a_1 < ... of the bands and values v_0, v_1, ..., summed by parts,

       F_i(Q) = v_0 + sum over b >= 1 of (v_b - v_{b-1})·P(|A_i| >= a_b).

   P(|Q + noise| >= a) grows with |Q| for noise that is symmetric and never rises away from zero: one step
   further out moves P(noise = a - 1 - Q) in and P(noise = -a - Q) out, and |a - 1 - Q| <= a + Q. So it is
   at most its value at Q_1 where v_b - v_{b-1} > 0, and at least its value at Q_0 where it is not.
3. The sum is increasing in each v_b (it is a mean of them), so upper bounds for F_{i+1} may stand in its
   place.

**All answers.** Blocks cover 0 <= |Q| <= Q*; at Q* every last look is within w(Q*), with the confidence.
Beyond Q* it is within w(Q) at least as often, and so is a mixture of last looks.

**What is drawn.** Masses are those of the ideal laws, known to 1e-12 relatively. A look's table is within
`Design.table_error` of its law in total variation, 2e-12 and a unit of 2^-62 for each of its values. Two runs
of the procedure that differ in the laws of at most n looks differ by at most n times that in any probability;
`SLACK` for each look is added.
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
from pbdp.mechanism.weights import LARGEST_TABLE, TOTAL
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.noise.kernel import Array, Index
from pbdp.parameters import positive, probability
from pbdp.planning.certificate import certified
from pbdp.planning.plan import Plan, plan_of
from pbdp.root_finding import CLOSEST, least_enough

NEXT = 0.0
# A real floor is cut into at least so many steps.
STEPS_IN_FLOOR = 64
# Above the confidence by so much, for the rounding of masses; the whole-number table is checked in the end.
_MARGIN = 1e-11
# For each look: the distance of its table from the ideal law, and what is left out or rounded here.
SLACK = 2e-12 + (LARGEST_TABLE + 2) / TOTAL + 1e-11
# The size of a block, as a share of its answer and of the sigma of the narrowest scout.
_SHARE, _SPREAD = 0.002, 0.02
# Beyond so many sigmas normal noise, on a grid too, has less than 1e-18 of its mass.
_FAR = 9.0


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
class Target:
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

    target: Target
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
        return half_width_of(sigma, self.target.width.confidence)

    def plan(self, sigma: float) -> Plan:
        """A look as a certified plan of its own, with Gaussian-type noise."""
        return gaussian_plan(self.target.requirement(self.half_width(sigma)), sigma)

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
        target = self.target
        return {
            "within": target.width.theta,
            "floor": target.width.floor,
            "confidence": target.width.confidence,
            "sensitivity": target.sensitivity,
            "delta": target.delta,
            "integer": target.integer,
            "step": target.step,
            "neighbors": str(target.neighbors),
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
        target = Target(width=width, **{name: record[name] for name in names})
        return cls(target=target, scouts=scouts, alone=record["alone"])


@lru_cache(maxsize=1024)
def sigma_for(half_width: int, confidence: float) -> float:
    """About the largest sigma with P(|noise| <= half_width) >= confidence, on the safe side."""

    def short(steepness: float) -> float:
        kept = float(DiscreteGaussian(sigma=1 / steepness).mass(-half_width, half_width))
        return confidence + _MARGIN - kept

    start = -float(special.ndtri((1 - confidence) / 2)) / (half_width + 0.5)
    return 1 / least_enough(short, start, close=CLOSEST)


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


def settled_from(procedure: Procedure) -> int:
    """A grid point from which on every last look is within the width by itself."""
    widest = procedure.half_width(procedure.ends[-1])
    width, grid = procedure.target.width, procedure.target.grid
    found = math.ceil((widest + 2) / width.theta) + 2
    while width.steps_at(found, grid) < widest:
        found *= 2
    return found


def blocks(procedure: Procedure) -> tuple[Index, Index]:
    """First and last |Q| of blocks that cover every answer up to where all is settled."""
    end, share = settled_from(procedure), _SHARE
    # even blocks first, up to where a share of the answer is as much
    even = max(_SPREAD * procedure.longest()[-2 if procedure.scouts else -1], 1.0)
    edges = np.arange(0.0, even / share + even, even)
    count = math.ceil(math.log(max((end + 1) / edges[-1], 1.0)) / math.log1p(share)) + 1
    edges = np.concatenate([edges, edges[-1] * (1 + share) ** np.arange(1.0, count + 1)])
    first = np.unique(np.floor(edges).astype(np.int64))
    first = first[first <= end]
    return first, np.append(first[1:] - 1, end)


def miss_bounds(procedure: Procedure, first: Index, last: Index) -> Array:
    """An upper bound for the probability of a miss for the answers of each block first <= |Q| <= last."""
    target = procedure.target
    widths = np.array(target.width.steps_at_each(first.tolist(), target.grid), dtype=np.float64)
    after = np.ones(len(first)) if procedure.scouts else 2 * _beyond(procedure.alone, widths)
    for number in range(len(procedure.scouts) - 1, -1, -1):
        scout = procedure.scouts[number]
        # answers that next to never come so far may count as missed if they do
        come = np.flatnonzero(first <= _reached_up_to(procedure, number))
        low, high = first[come].astype(np.float64), last[come].astype(np.float64)
        values = {sigma: 2 * _beyond(sigma, widths[come]) for _, sigma in scout.bands if sigma != NEXT}
        values[NEXT] = after[come]
        before = values[scout.bands[0][1]]
        total = before.copy()
        for start, sigma in scout.bands[1:]:
            rise = values[sigma] - before
            at = np.where(rise > 0, high, low)
            total += rise * (_beyond(scout.sigma, start - 1 - at) + _beyond(scout.sigma, start - 1 + at))
            before = values[sigma]
        after = np.ones(len(first))
        after[come] = np.minimum(total, 1.0)
    return np.minimum(after + (len(procedure.scouts) + 1) * SLACK, 1.0)


def _beyond(sigma: float, x: Array) -> Array:
    """P(noise > x), where that is neither nearly one nor nearly nothing."""
    found = (x < 0).astype(np.float64)
    near = np.abs(x) <= _FAR * sigma + 1
    found[near] = DiscreteGaussian(sigma=sigma).survival(x[near])
    return found


def _reached_up_to(procedure: Procedure, number: int) -> float:
    """Answers further out come to this scout with less than 1e-17."""
    if number == 0:
        return math.inf
    before = procedure.scouts[number - 1]
    ends = [*(float(start) for start, _ in before.bands[1:]), math.inf]
    on = [end for (_, sigma), end in zip(before.bands, ends, strict=True) if sigma == NEXT]
    return max(on, default=0.0) + _FAR * before.sigma
