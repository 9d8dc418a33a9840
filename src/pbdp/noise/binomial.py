"""Binomial noise: fair coins, counted from their mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pbdp.errors import InputError
from pbdp.noise.family import Family
from pbdp.noise.table import MadeOfTable, TableKernel
from pbdp.parameters import whole

# Beyond so many coins the discrete Gaussian of the same variance is as good, and has a closed form.
MOST_TRIALS = 1 << 22
# Masses below this share of the center are left out: their sum is below 1e-290.
_LEAST_LOG = -680.0


@dataclass(frozen=True, slots=True)
class Binomial(MadeOfTable):
    """Noise on the whole numbers with P(noise = n) = C(trials, trials/2 + n) / 2^trials, `trials` even.

    The binomial mechanism of Dwork et al. (2006), with a variance of trials/4. Its support is finite, so it
    has no pure epsilon. Masses are products of the ratios of neighboring ones, within 1e-12 relatively.
    """

    trials: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "trials", whole("trials", self.trials, least=2))
        if self.trials % 2 or self.trials > MOST_TRIALS:
            rule = f"an even number of at most {MOST_TRIALS}"
            raise InputError("trials", rule, self.trials, "Use DiscreteGaussian for wider noise.")

    @property
    def family(self) -> str:
        """`binomial`."""
        return "binomial"

    @property
    def _table(self) -> TableKernel:
        return _tabulated(self.trials)


@lru_cache(maxsize=4)
def _tabulated(trials: int) -> TableKernel:
    half = trials // 2
    n = np.arange(half, dtype=np.longdouble)
    logs = np.cumsum(np.log((half - n) / (half + 1 + n)))
    side = np.exp(logs[logs > _LEAST_LOG]).astype(np.float64)
    row = np.concatenate([side[::-1], [1.0], side])
    return TableKernel.of_row(row / math.fsum(row), start=-len(side))


BINOMIAL = Family(
    name="binomial",
    rank=11,
    law=Binomial,
    character="is a sum of fair coins, close to Gaussian noise but with an end",
)
