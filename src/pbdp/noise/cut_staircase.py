"""Staircase noise that ends: the mass of the endless tail goes to the center, and the ends weigh delta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pbdp.errors import InputError
from pbdp.noise.family import Family
from pbdp.noise.table import EXACTLY_ADDED, MadeOfTable, TableKernel
from pbdp.parameters import non_negative, positive, whole

LARGEST_SUPPORT = 1 << 25


@dataclass(frozen=True, slots=True, kw_only=True)
class CutStaircase(MadeOfTable):
    """Noise on whole numbers: a plateau, `levels` steps of `width` points, each e^-loss times the one before.

    One more step of relative height `end` closes the law on either side. A plateau of an even number of
    points has its middle half a step below zero. The best law for one release at any delta, or nearly (see
    `pbdp.planning.limit.cut_staircase`).
    """

    loss: float
    width: int
    plateau: int
    levels: int
    end: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", positive("loss", self.loss))
        object.__setattr__(self, "width", whole("width", self.width))
        object.__setattr__(self, "plateau", whole("plateau", self.plateau))
        object.__setattr__(self, "levels", whole("levels", self.levels, least=0))
        object.__setattr__(self, "end", non_negative("end", self.end))
        if self.end > math.exp(-self.loss * self.levels):
            raise InputError("end", "no higher than the step before it", self.end)
        if self._points > LARGEST_SUPPORT:
            raise InputError(
                "levels", f"few enough for {LARGEST_SUPPORT} points", self.levels, "Use a coarser step."
            )

    @property
    def _table(self) -> TableKernel:
        return _tabulated(self)

    @property
    def family(self) -> str:
        """`cut staircase`."""
        return "cut staircase"

    @property
    def is_symmetric(self) -> bool:
        """About zero only for an odd plateau."""
        return self.plateau % 2 == 1

    @property
    def support(self) -> tuple[float, float]:
        """The plateau and all steps; the last has points only if it has a height."""
        if self.loss * self.levels > 700:
            return self._table.support  # the last steps are zero as doubles
        side = self.width * (self.levels + (self.end > 0))
        first = -side - self.plateau // 2
        return float(first), float(first + 2 * side + self.plateau - 1)

    @property
    def _points(self) -> int:
        return self.plateau + 2 * self.width * (self.levels + 1)


@lru_cache(maxsize=4)
def _tabulated(law: CutStaircase) -> TableKernel:
    heights = np.append(np.exp(-law.loss * np.arange(1, law.levels + 1)), law.end)
    side = np.repeat(heights, law.width)
    row = np.concatenate([side[::-1], np.ones(law.plateau), side])
    long = len(row) > EXACTLY_ADDED
    row /= math.fsum(heights) * 2 * law.width + law.plateau if long else math.fsum(row)
    return TableKernel.of_row(row, start=-len(side) - law.plateau // 2)


def _formula(loss: float, width: int, plateau: int, levels: int, end: float) -> str:
    """How many steps the noise is beyond the plateau, then its height."""
    beyond = f"maximum(0, maximum(-({plateau!r}//2)-k, k-({plateau!r}-1)//2))"
    return (
        f"where(ceil({beyond}/{width!r}) <= {levels!r}, exp(-{loss!r}*ceil({beyond}/{width!r})), "
        f"where(ceil({beyond}/{width!r}) == {levels!r}+1, {end!r}, 0.0))"
    )


CUT_STAIRCASE = Family(
    name="cut staircase",
    rank=4,
    law=CutStaircase,
    lengths=("width",),
    character="is a staircase that ends, and spends delta on its ends",
    formula=_formula,
)
