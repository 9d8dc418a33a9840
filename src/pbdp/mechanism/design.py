"""A design: one mechanism on a grid, with everything that is needed to account for it and to draw from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.boosted import Boosted
from pbdp.mechanism.grid import Grid
from pbdp.mechanism.log_grid import LogGrid
from pbdp.mechanism.rate import hardest_answers
from pbdp.mechanism.weights import BITS, CENTRE_SHARE, LARGEST_TABLE, TOTAL, WeightTable, integer_weights
from pbdp.noise.kernel import Array, LatticeKernel
from pbdp.requirement.custom import CustomRegion
from pbdp.requirement.fixed import FixedRegion
from pbdp.requirement.region import Region
from pbdp.requirement.relative import RelativeRegion


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A lattice kernel, boosted in a region, outputs clamped to a range or not. All in steps of the grid.

    The noise is `offset` plus the kernel's: a lopsided requirement is met best by noise around its middle.
    `region` is the region that is boosted, around the answer plus the offset.
    """

    grid: Grid
    kernel: LatticeKernel
    region: Region
    boost: float = 0.0
    offset: int = 0
    clamp: FixedRegion | None = None

    @property
    def name(self) -> str:
        """The family as shown to users."""
        if self.boost == 1:
            return f"truncated {self.kernel.family}"
        boosted = "boosted " if self.boost > 0 else ""
        per_answer = isinstance(self.region, RelativeRegion | CustomRegion) and self.boost > 0
        how = ", per answer" if per_answer else ", clamped" if self.clamp else ""
        return f"{boosted}{self.kernel.family}{how}{', log scale' if isinstance(self.grid, LogGrid) else ''}"

    @property
    def mechanism(self) -> Boosted:
        """The ideal mechanism behind the table."""
        return Boosted(kernel=self.kernel, region=self.region, boost=self.boost)

    @property
    def reach(self) -> int:
        """How far the table goes: beyond it the ideal law has less than one unit of weight in all."""
        reach = self.kernel.reach(2.0 ** -(BITS + 1))
        if reach > LARGEST_TABLE // 2:
            raise CannotCertifyError(
                f"The noise would need a table of {2 * reach + 1:,} values: the width is very large against "
                "the sensitivity. Use a coarser step."
            )
        return reach

    def ideal_masses(self, answer: float, reach: int) -> Array:
        """Masses of kernel noise -reach..reach for this answer, before rounding to weights."""
        below, above = (float(offset) for offset in self.region.offsets(answer))
        noise = np.arange(-reach, reach + 1)
        weight = np.where((noise >= -below) & (noise <= above), 1.0, 1 - self.boost)
        masses = self.kernel.masses(reach) * weight
        return np.asarray(masses / float(self.mechanism.normaliser(below, above)))

    def table_at(self, answer: float) -> WeightTable:
        """The integer weights of the kernel noise for this answer, before offset and clamping."""
        return _table(self, 0.0) if self.mechanism.follows_answer else _table(self, answer)

    def table_error(self) -> float:
        """Bound for the total-variation distance of any answer's table from its ideal law.

        Rounding down takes less than one unit a value; the ideal masses carry the kernel's relative error.
        """
        return (2 * self.reach + 2) / TOTAL + 2e-12

    def least_weight(self, region: Region) -> int:
        """Smallest weight, over all answers, of the outputs in the region of that answer."""
        if self.clamp is not None:
            return TOTAL
        least = TOTAL
        for answer in hardest_answers(self.kernel, region):
            below, above = (float(offset) for offset in region.offsets(answer))
            table = self.table_at(float(answer))
            least = min(least, table.weight_within(below + self.offset, above - self.offset))
        return least

    def expected_error(self) -> float:
        """Mean distance from the truth, in steps, for the ties between families."""
        table = self.table_at(0.0)
        return float(np.sum(np.abs(table.values() + self.offset) * table.probabilities()))


@lru_cache(maxsize=16)
def _table(design: Design, answer: float) -> WeightTable:
    """Kept, because it is asked for several times in a row: for the confidence, then for the certificate."""
    reach = design.reach
    share = CENTRE_SHARE if design.mechanism.follows_answer else 0.0
    return integer_weights(design.ideal_masses(answer, reach), -reach, share)


def rounded_down(weight: int) -> float:
    """weight / 2^62 as a float that is not larger."""
    value = weight / TOTAL
    return value if int(value * TOTAL) <= weight else math.nextafter(value, 0.0)
