"""The law on the whole numbers that follows a log-concave density."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError, shown
from pbdp.noise.kernel import Array, LogConcave
from pbdp.noise.tabulated_lattice import LOG_FLOOR, LONGEST_TABLE, TabulatedLattice, first_end

# What the normalizer may leave out on each side.
_LEFT_OUT = 1e-18


@dataclass(frozen=True, slots=True, kw_only=True)
class GridKernel(TabulatedLattice):
    """Noise on the whole numbers with P(noise = n) = f(n) / Σ f(k), f the density of `continuous`.

    As f is log-concave, so is this law. Its privacy loss at whole outputs and shifts is that of `continuous`.

    Guaranteed: the normalizer to 1e-14, relatively; tails to 1e-12 down to 1e-250, as far as
    `continuous.log_density` is accurate to 1e-13 there. A density that is still above exp(-705) after 2**23
    steps is refused.
    """

    continuous: LogConcave

    def __post_init__(self) -> None:
        law: object = self.continuous
        if not isinstance(law, LogConcave):
            raise InputError("continuous", "a log-concave density", shown(law))
        # The normalizer is at least 1/2, so a log-mass is at most log 2 above the log-density.
        if not float(law.log_density(float(LONGEST_TABLE))) < LOG_FLOOR - 1:
            raise InputError(
                "scale",
                f"few enough steps for the density to vanish within {LONGEST_TABLE} of them",
                shown(law),
                "Use a coarser step.",
            )

    @property
    def family(self) -> str:
        """The family of the density."""
        return self.continuous.family

    @property
    def loss_law(self) -> LogConcave:
        """The density that it follows."""
        return self.continuous

    def _pure_loss(self, shift: int) -> float:
        # Outputs on the grid are some of all outputs, so this is never too small.
        return self.continuous.largest_loss(shift)

    def _log_weight(self, n: Array) -> Array:
        return self.continuous.log_density(n)

    def _sum_of_weights(self) -> float:
        """log Σ f(n), up to an end E beyond which the terms add up to less than 1e-17 of it."""
        logs = self._log_weight(np.arange(self._end() + 1, dtype=np.float64))
        top = float(logs[0])
        # The smallest first: numpy adds in pairs, so a million terms cost a digit at most.
        half = float(np.exp(logs[:0:-1] - top).sum())
        return top + math.log1p(2 * half)

    def _end(self) -> int:
        """An E with Σ_{n > E} f(n) <= 1e-18; the whole sum is at least max(f(0), 1 - f(0)) >= 1/2.

        A log-concave f falls beyond E at least at the mean rate up to E, log(f(0)/f(E))/E per step, so the
        sum is at most f(E) E / log(f(0)/f(E)).
        """
        top = float(self._log_weight(np.zeros(())))

        def is_far(n: Array) -> npt.NDArray[np.bool_]:
            logs = self._log_weight(n)
            return (logs + np.log(n) <= math.log(_LEFT_OUT)) & (logs <= top - 1)

        return first_end(is_far)
