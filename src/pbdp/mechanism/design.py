"""A design: one mechanism on a grid, with everything that is needed to account for it and to draw from it.

The mechanism is a boosted kernel (paper, Eq. 2 and 3). Given the true answer Q, the output has density

    w(y) f(y - Q) / C(Q),    w = 1 inside the region of Q and 1 - q outside,    C(Q) = 1 - q·pbar(Q),

where f is the kernel's density, q the boost and pbar(Q) the kernel's mass outside the region. q = 0 is the
plain kernel; q = 1 cuts everything outside the region off.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.answer_tables import AnswerTables
from pbdp.mechanism.decoder import Decoder
from pbdp.mechanism.grid import Grid, LinearGrid
from pbdp.mechanism.log_grid import LogGrid
from pbdp.mechanism.region import Region
from pbdp.mechanism.reweighted import SLOPE_MARGIN, ReweightedTable
from pbdp.mechanism.weights import (
    BITS,
    CENTER_SHARE,
    LARGEST_TABLE,
    TOTAL,
    WeightTable,
    integer_weights,
)
from pbdp.noise.family import kernel_record, stretched
from pbdp.noise.kernel import Array, Kernel, LatticeKernel
from pbdp.parameters import probability

# What the kernel's own rounding (1e-12 relative, see pbdp.noise.kernel) can take off a confidence.
KERNEL_ERROR = 4e-12


def region_masses(kernel: Kernel, below: npt.ArrayLike, above: npt.ArrayLike) -> tuple[Array, Array]:
    """The kernel's mass (inside, outside) of [-below, above], each without cancellation."""
    outside = kernel.survival(above) + _mass_below(kernel, -np.asarray(below))
    inside = kernel.mass(-np.asarray(below), above)
    return inside, outside


def _mass_below(kernel: Kernel, low: npt.ArrayLike) -> Array:
    """P(noise < low): the cdf, less the mass at `low` itself on a lattice."""
    return kernel.cdf(np.ceil(np.asarray(low)) - 1) if isinstance(kernel, LatticeKernel) else kernel.cdf(low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosted:
    """A kernel, a region and a boost: one output law for every answer."""

    kernel: Kernel
    region: Region
    boost: float

    def __post_init__(self) -> None:
        if not 0 <= self.boost <= 1:
            raise InputError("boost", "between 0 and 1", self.boost)

    @property
    def boost_loss(self) -> float:
        """The paper's L2 = -log(1 - q): the loss at an output that only one of two answers prefers."""
        return -math.log1p(-self.boost) if self.boost < 1 else math.inf

    @property
    def follows_answer(self) -> bool:
        """Whether the law of (output - answer) is the same for all answers."""
        return self.boost == 0 or self.region.follows_answer

    def normalizer(self, below: npt.ArrayLike, above: npt.ArrayLike) -> Array:
        """C = 1 - q·pbar for a region that reaches `below` and `above` its answer."""
        inside, outside = region_masses(self.kernel, below, above)
        return inside + (1 - self.boost) * outside


def boost_for(kernel: Kernel, region: Region, confidence: float) -> float:
    """Smallest boost with which every answer keeps the confidence, rounded up (paper, Eq. 3).

    q = max(0, (rho - p) / (rho (1 - p))) with p the least kernel mass of a region; 1 - p is computed as the
    mass outside, so that it keeps its digits when p is near 1. A confidence of one is met by a hard bound.
    """
    if confidence == 1:
        return 1.0
    rho = probability("confidence", confidence) * (1 + KERNEL_ERROR)
    if rho >= 1:
        rho = math.nextafter(1.0, 0.0)
    inside, outside = region_masses(kernel, *region.offsets(region.hardest_answers(kernel)))
    worst = int(np.argmin(inside - outside))
    p, pbar = float(inside[worst]), float(outside[worst])
    if p >= rho:
        return 0.0
    # rho - p = pbar - (1 - rho), without subtracting two numbers near one
    return min(1.0, math.nextafter((pbar - (1 - rho)) / (rho * pbar), 2.0))


class AnyDesign(ABC):
    """Noise on a grid, for single numbers or for whole vectors: what a release needs to know of it."""

    __slots__ = ()

    grid: Grid
    region: Region

    @property
    def offset(self) -> int:
        """What is added to every answer beside the noise, in steps."""
        return 0

    @property
    def clamp(self) -> bool:
        """Whether outputs are clamped into the region, which is a fixed range then."""
        return False

    @property
    def decoder(self) -> Decoder | None:
        """The public map from noisy numbers to outputs, where they are not published as they are."""
        return None

    @property
    def parts(self) -> int:
        """How many equally likely parts each noisy grid point is split into (see `decoder`)."""
        return 1 if self.decoder is None else self.decoder.parts

    def drawn_table(self) -> WeightTable:
        """The table that noise is drawn from, in parts, where it is the same for every answer."""
        return self.table_at(0.0)

    @property
    @abstractmethod
    def name(self) -> str:
        """The family as shown to users."""

    @property
    @abstractmethod
    def follows_answer(self) -> bool:
        """Whether the noise is the same for every answer."""

    @abstractmethod
    def table_at(self, answer: float) -> WeightTable:
        """The integer weights of the noise of one number at this answer, before offset and clamping."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """What is needed to build it again, for JSON; part of every fingerprint (`planning.plan_file`)."""

    def laws(self) -> ReweightedTable | AnswerTables:
        """The integer weights for every answer, where they change with it."""
        raise AssertionError("the noise is the same for every answer")

    @property
    def reach(self) -> int:
        """How far the table goes."""
        table = self.table_at(0.0)
        return max(-table.start, table.stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design(AnyDesign):
    """A lattice kernel, boosted in a region. All in steps of the grid.

    The noise is `offset` plus the kernel's: a lopsided requirement is met best by noise around its middle.
    `region` is the region that is boosted, around the answer plus the offset. With `clamp` outputs are
    clamped into it; it is a fixed range then. A `decoder` turns noisy numbers into outputs; the noise is the
    plain kernel's then.
    """

    grid: Grid
    kernel: LatticeKernel
    region: Region
    boost: float = 0.0
    offset: int = 0
    clamp: bool = False
    decoder: Decoder | None = None

    def __post_init__(self) -> None:
        plain = self.boost == 0 and self.offset == 0 and not self.clamp and isinstance(self.grid, LinearGrid)
        if self.decoder is not None and not plain:
            raise InputError("decoder", "one of plain noise on an even grid", self.name)
        if self.clamp and not self.region.stands_still:
            raise InputError("clamp", "left out unless the region is a fixed range", self.region.describe())

    @property
    def name(self) -> str:
        """The family as shown to users."""
        if self.boost == 1:
            return f"truncated {self.kernel.family}"
        boosted = "boosted " if self.boost > 0 else ""
        per_answer = self.boost > 0 and self.region.per_answer
        how = ", per answer" if per_answer else ", clamped" if self.clamp else ""
        how = how if self.decoder is None else ", decoded"
        return f"{boosted}{self.kernel.family}{how}{', log scale' if isinstance(self.grid, LogGrid) else ''}"

    @property
    def mechanism(self) -> Boosted:
        """The ideal mechanism behind the table."""
        return Boosted(kernel=self.kernel, region=self.region, boost=self.boost)

    @property
    def follows_answer(self) -> bool:
        return self.mechanism.follows_answer

    @property
    def reach(self) -> int:
        """How far the table goes: beyond it the ideal law has less than one unit of weight in all."""
        reach = self.kernel.reach(2.0 ** -(BITS + 1))
        if reach > LARGEST_TABLE // 2:
            fitting = 2.0 ** math.ceil(math.log2(2 * reach * self.grid.step / LARGEST_TABLE))
            raise CannotCertifyError(
                f"The noise would need a table of {2 * reach + 1:,} values: the width is very large against "
                f"the sensitivity. Use a step of {fitting:g}."
            )
        return reach

    def ideal_masses(self, answer: float, reach: int) -> Array:
        """Masses of kernel noise -reach..reach for this answer, before rounding to weights."""
        if self.boost == 0:
            return self.kernel.masses(reach)
        below, above = (float(offset) for offset in self.region.offsets(answer))
        noise = np.arange(-reach, reach + 1)
        weight = np.where((noise >= -below) & (noise <= above), 1.0, 1 - self.boost)
        masses = self.kernel.masses(reach) * weight
        return np.asarray(masses / float(self.mechanism.normalizer(below, above)))

    def table_at(self, answer: float) -> WeightTable:
        if self.mechanism.follows_answer:
            # what is made of the noise does not change it
            return _table(self if self.decoder is None else replace(self, decoder=None), self.parts)
        below, above = (float(offset) for offset in self.region.offsets(answer))
        return self.laws().table(below, above)

    def drawn_table(self) -> WeightTable:
        table = self.table_at(0.0)
        return table if self.parts == 1 else table.split(self.parts)

    def laws(self) -> ReweightedTable:
        return _reweighted(self)

    def table_error(self) -> float:
        """Bound for the total-variation distance of any answer's table from its ideal law.

        Rounding takes less than one unit a value, or as many as there are parts, and the ideal masses carry
        the kernel's relative error. Where the base table of the plain kernel is reweighted, what is wrong
        with it (its rounding and the share given to its center) counts 2/C times, and the tails are rounded
        down once more:
        |wB/C_B - wf/C_f| <= 2 |w (B - f)| / C, summed over the cells.
        """
        rounding = self.parts * (2 * self.reach + 2) / TOTAL
        if self.mechanism.follows_answer:
            return rounding + self.kernel.mass_error
        constant = self._least_constant()
        slopes = 2 * SLOPE_MARGIN + 2.0**-51 / constant
        return rounding + 2 * (rounding + CENTER_SHARE) / constant + slopes + 2e-12

    def found_error(self) -> float:
        """The same for noise that moves with the answer, from the table: what was rounded down is at zero."""
        if not self.follows_answer:
            return self.table_error()
        table, center = self.table_at(0.0), float(self.kernel.density(np.zeros(1))[0])
        moved = max(int(table.weights[-table.start]) / TOTAL - center, 0.0)
        return moved + 1 / TOTAL + self.kernel.mass_error

    def _least_constant(self) -> float:
        """A lower bound for C over all answers; it grows with the mass in the region."""
        answers = self.region.hardest_answers(self.kernel)
        return float(np.min(self.mechanism.normalizer(*self.region.offsets(answers)))) * (1 - 1e-9)

    def least_weight(self, region: Region) -> int:
        """Smallest weight, over all answers, of the outputs in the region of that answer."""
        return _least_weight(self, region)

    def confidence_in(self, region: Region) -> float:
        """How often every answer is within its region, in its own units: from the table, rounded down."""
        return rounded_down(self.least_weight(self.grid.region_in_steps(region)))

    def record(self) -> dict[str, Any]:
        record = {
            "family": self.name,
            "boost": self.boost,
            **kernel_record(self.kernel),
            "region_in_steps": self.region.record(),
            "offset_in_steps": self.offset,
            "clamp": self.clamp,
            "grid": self.grid.record(),
        }
        return record if self.decoder is None else {**record, "decoder": self.decoder.record()}

    def stretched(self, factor: float) -> Design:
        """The same with noise that is so many times as wide."""
        return replace(self, kernel=stretched(self.kernel, factor))

    def _least_weight(self, region: Region) -> int:
        if self.clamp:
            return TOTAL
        if self.decoder is not None:
            return int(self.decoder.weights(self.drawn_table(), region)[1].min())
        answers = region.hardest_answers(self.kernel)
        below, above = region.offsets(answers)
        if self.mechanism.follows_answer:
            table = self.table_at(0.0)
            return min(
                table.weight_within(float(low) + self.offset, float(high) - self.offset)
                for low, high in zip(below, above, strict=True)
            )
        around = self.region.offsets(answers)
        weights = self.laws().weight_within(*around, below + self.offset, above - self.offset)
        # the answers between the two ends of a range may have one unit less (see `reweighted`)
        return int(weights.min()) - (self.boost < 1)


@lru_cache(maxsize=16)
def _least_weight(design: Design, region: Region) -> int:
    """Kept like the table."""
    return design._least_weight(region)


@lru_cache(maxsize=16)
def _table(design: Design, parts: int) -> WeightTable:
    """Kept, because it is asked for several times in a row: for the confidence, then for the certificate."""
    reach = design.reach
    masses = design.ideal_masses(0.0, reach)
    table = integer_weights(masses, -reach, design.kernel.center_share)
    return table if parts == 1 else table.in_multiples(parts)


@lru_cache(maxsize=16)
def _reweighted(design: Design) -> ReweightedTable:
    reach = design.reach
    return ReweightedTable(
        base=integer_weights(design.kernel.masses(reach), -reach),
        boost=design.boost,
        least_constant=design._least_constant(),
    )


def rounded_down(weight: int) -> float:
    """weight / 2^62 as a float that is not larger."""
    value = weight / TOTAL
    return value if int(value * TOTAL) <= weight else math.nextafter(value, 0.0)
