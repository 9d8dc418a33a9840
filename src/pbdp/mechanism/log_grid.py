"""A logarithmic grid, on which a relative requirement becomes an absolute one.

With u = tau/theta let g(Q) = sign(Q)·ln(1 + |Q|/u)/theta. For answers and outputs of 0 or more

    y - Q <= theta·Q + tau  <=>  y + u <= (1 + theta)(Q + u)  <=>  g(y) - g(Q) <=  ln(1 + theta)/theta,
    Q - y <= theta·Q + tau  <=>  y + u >= (1 - theta)(Q + u)  <=>  g(Q) - g(y) <= -ln(1 - theta)/theta,

and g moves by at most ln(1 + theta·D/tau)/theta when the answer moves by D (worst at Q = 0). Outputs below 0
are published as 0, which is never further from the truth. For answers of either sign both tolerances are
ln(1 + theta)/theta: across zero (1 + |Q|/u)(1 + |y|/u) <= 1 + theta gives |Q| + |y| <= tau, and downwards
ln(1 + theta) <= -ln(1 - theta). g then moves by at most 2·ln(1 + theta·D/(2·tau))/theta (worst at Q = -D/2).

g is computed with an error of at most `ERROR`/theta and rounded to a step, so the sensitivity grows by two
such errors before it is rounded up, and the tolerances shrink by half a step and one error, and one more for
the way back. Whole-number outputs are rounded in the end, so tau is taken half a unit smaller from the start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.grid import STEPS_IN_WIDTH, Grid, between, power_of_two_below
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.kernel import Array
from pbdp.parameters import positive

# |theta·g| <= 710 for every double, and log1p, the product and the quotient are good to a few units in the
# last place: 710 · 2^-50 is below this.
ERROR = 1e-12
LARGEST_ANSWER = 1e300


@dataclass(frozen=True, slots=True, kw_only=True)
class LogGrid(Grid):
    """Outputs g^-1(k·step) for whole k; the answer is g(Q)/step, rounded."""

    theta: float
    tau: float
    nonnegative: bool
    step: float
    whole: bool = False
    # the answers that are furthest out on either side, and the numbers in g, as arrays (see `LinearGrid`)
    _ends: tuple[Array, Array] = field(init=False, repr=False, compare=False)
    _constants: tuple[Array, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positive("step", self.step)
        positive("theta", self.theta)
        positive("tau", self.tau)
        if self.whole:
            positive("tau", self.tau - 0.5, "Rounding to whole numbers alone is worse than the requirement.")
        # the quotient by the unit has to be finite too
        largest = LARGEST_ANSWER * min(self._unit, 1.0)
        lowest = 0.0 if self.nonnegative else -largest
        object.__setattr__(self, "_ends", (np.array(lowest), np.array(largest)))
        numbers = (self._unit, self.theta, self.step, 0.5, self._unit * 2.0**-60)
        object.__setattr__(self, "_constants", tuple(map(np.array, numbers)))

    @property
    def _offset(self) -> float:
        """The constant part of the tolerance, less half a unit where outputs are rounded to whole numbers."""
        return self.tau - 0.5 if self.whole else self.tau

    @property
    def _unit(self) -> float:
        return self._offset / self.theta

    @property
    def formula(self) -> str:
        """The steps of an answer x before they are rounded, as a Python expression in numpy's names."""
        return f"sign(x)*log1p(abs(x)/{self._unit!r})/{self.theta!r}/{self.step!r}"

    @property
    def around(self) -> tuple[Fraction, Fraction]:
        """Half a step, one error of g and one more for the way back."""
        part = Fraction(0.5 + 2 * ERROR / self.theta / self.step)
        return part, part

    def sensitivity_in_steps(self, sensitivity: float) -> int:
        grown = self.theta * sensitivity / self._offset
        moved = math.log1p(grown) if self.nonnegative else 2 * math.log1p(grown / 2)
        return math.ceil((moved + 2 * ERROR) / self.theta / self.step * (1 + 2**-50))

    def region_in_steps(self, region: Region) -> Region:
        if region != RelativeRegion(theta=self.theta, tau=self.tau, nonnegative=self.nonnegative):
            raise CannotCertifyError(
                "A logarithmic grid serves the relative requirement it was made for only."
            )
        up = math.log1p(self.theta)
        down = -math.log1p(-self.theta) if self.nonnegative else up
        lost = float(self.lost)

        def whole(tolerance: float) -> float:
            steps = math.floor(tolerance / self.theta / self.step * (1 - 2**-50) - lost)
            if steps < 0:
                raise InputError("step", "finer than the tolerance", f"{self.step:g}", "Use a finer step.")
            return float(steps)

        return AbsoluteRegion(below=whole(down), above=whole(up))

    def steps_of(self, answer: Fraction) -> int:
        largest = Fraction(LARGEST_ANSWER)
        return int(self.steps_of_floats(np.array([float(min(max(answer, -largest), largest))]))[0])

    def steps_of_floats(self, answers: Array) -> npt.NDArray[np.int64]:
        """g(Q)/step, rounded half up; also where outputs are whole, as rounding first could move g further.

        What is added before the logarithm is far below the error that g is granted. It spares the processor
        quotients that are nearly 0, for which some take longer.
        """
        unit, theta, step, half, nudge = self._constants
        kept = between(answers, *self._ends)
        position = np.copysign(np.log1p((np.abs(kept) + nudge) / unit) / theta, kept)
        return np.floor(position / step + half).astype(np.int64)

    def steps_of_integers(self, answers: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        return self.steps_of_floats(answers.astype(np.float64))

    @property
    def whole_outputs(self) -> bool:
        return self.whole

    def values_of(self, steps: npt.NDArray[np.int64]) -> Array:
        position = steps.astype(np.float64) * self.step
        with np.errstate(over="ignore"):
            size = self._unit * np.expm1(np.abs(position) * self.theta)
        # beyond the largest double the nearest one is published
        values = np.copysign(np.minimum(size, np.finfo(np.float64).max), position)
        values = np.maximum(values, 0.0) if self.nonnegative else values
        return np.rint(values) if self.whole else values

    def answers_around(self, first: int, last: int) -> tuple[float, float]:
        lost = 2 * ERROR / self.theta
        ends = np.array([(first - 0.5) * self.step - lost, (last + 0.5) * self.step + lost])
        with np.errstate(over="ignore"):
            size = self._unit * np.expm1(np.abs(ends) * self.theta)
        low, high = np.copysign(np.minimum(size, LARGEST_ANSWER), ends).tolist()
        return low, high

    def record(self) -> dict[str, Any]:
        names = ("theta", "tau", "nonnegative", "step", "whole")
        return {"kind": "log"} | {name: getattr(self, name) for name in names}

    def describe(self) -> str:
        kind = "whole numbers on " if self.whole else ""
        fineness = f"{self.theta * self.step:.2g} of the number (plus {self.tau:g})"
        return f"{kind}a logarithmic grid with steps of {fineness}"


def log_grid_for(region: Region, whole: bool = False) -> LogGrid | None:
    """A grid fine against the tolerance, which is about one in units of g; None for what it cannot serve."""
    if not isinstance(region, RelativeRegion) or region.follows_answer or (whole and region.tau <= 0.5):
        return None
    step = power_of_two_below(math.log1p(region.theta) / region.theta / STEPS_IN_WIDTH)
    return LogGrid(theta=region.theta, tau=region.tau, nonnegative=region.nonnegative, step=step, whole=whole)
