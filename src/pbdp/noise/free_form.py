"""Free-form noise: a plateau, steps of free heights, and a tail that falls by one ratio for ever."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pbdp.errors import InputError
from pbdp.noise.family import Family
from pbdp.noise.table import EXACTLY_ADDED, MadeOfTable, TableKernel
from pbdp.parameters import finite, positive, whole

LARGEST_SUPPORT = 1 << 25
# The tail ends where less than this is left of all mass; one weight of a table is 2^-62.
NEGLIGIBLE = 2.0**-64


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeForm(MadeOfTable):
    """Noise on whole numbers: a plateau, then `steps` of `width` points on either side, then a tail.

    `heights` are logarithms, against the plateau, at even distances from its edge to the last step; those of
    steps between two of them lie on a line. Steps of the tail fall by `fall` each, in the same logarithm. A
    plateau of an even number of points has its middle half a step below zero.
    """

    plateau: int
    width: int
    steps: int
    heights: tuple[float, ...]
    fall: float

    def __post_init__(self) -> None:
        for name, least in (("plateau", 1), ("width", 1), ("steps", 0)):
            object.__setattr__(self, name, whole(name, getattr(self, name), least=least))
        heights = tuple(finite("heights", height) for height in self.heights)
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "fall", positive("fall", self.fall))
        if len(heights) > self.steps or bool(self.steps) != bool(heights):
            raise InputError("heights", f"1 to {self.steps}", len(heights))
        if any(low > high for high, low in zip((0.0, *heights), heights, strict=False)):
            raise InputError("heights", "logarithms that fall from 0", "others")
        points = self.plateau + 2 * self.width * (self.steps + self._tail_steps)
        if points > LARGEST_SUPPORT:
            raise InputError("steps", f"few enough for {LARGEST_SUPPORT:,} points", f"{points:,} points")

    @property
    def _tail_steps(self) -> int:
        """How many steps the tail has, beyond which next to nothing is left."""
        # what is left after k steps is at most that many plateaus
        return math.ceil(max(-math.log(NEGLIGIBLE) - math.log(-math.expm1(-self.fall)), 1.0) / self.fall)

    @property
    def _table(self) -> TableKernel:
        return _tabulated(self)

    @property
    def family(self) -> str:
        """`free form`."""
        return "free form"

    @property
    def is_symmetric(self) -> bool:
        """About zero only for an odd plateau."""
        return self.plateau % 2 == 1


@lru_cache(maxsize=4)
def _tabulated(law: FreeForm) -> TableKernel:
    places = np.linspace(0.0, law.steps, len(law.heights) + 1)
    inner = np.interp(np.arange(law.steps + 1.0), places, (0.0, *law.heights))
    tail = inner[-1] - law.fall * np.arange(1.0, law._tail_steps + 1)
    heights = np.exp(np.concatenate([inner[1:], tail]))
    total = law.plateau + 2 * law.width * math.fsum(heights)
    # what lies beyond weighs nothing in a table of whole weights
    left = 2 * law.width * heights[::-1].cumsum()[::-1] / total
    side = np.repeat(heights[left >= NEGLIGIBLE], law.width)
    row = np.concatenate([side[::-1], np.ones(law.plateau), side])
    row /= float(np.sum(row, dtype=np.longdouble)) if len(row) > EXACTLY_ADDED else math.fsum(row)
    return TableKernel.of_row(row, start=-len(side) - law.plateau // 2)


FREE_FORM = Family(
    name="free form",
    rank=9,
    law=FreeForm,
    lengths=("width",),
    character="was optimized step by step for this number of releases",
)
