"""How often a whole vector is near the truth when every coordinate has noise of its own, from one table.

**Sizes.** In the norms l1 and l2 the error is a sum over the d coordinates, of |n| or of n², in steps. It is
within the width if the sum is at most a whole number W. Where W is large sizes are rounded to multiples c·u
of a unit u, which leaves rests r of at most u/2 on either side. By Hoeffding's inequality the d rests, which
are independent, add up to more than t = d·E[r] + u·sqrt(d·ln(1/h)/2) with probability h at most, and so

    P(sum of sizes <= W) >= P(sum of c·u <= W - t) - h.

In the norm linf the coordinates are independent events, and their probabilities multiply.

**Rounding of answers** to multiples of the step moves every coordinate by half a step at most, hence a vector
by sqrt(d)/2 steps in Euclidean length and by d/2 in the sum of absolute values; the width loses that.

**The convolution.** Powers of the law of one c, cut off beyond (W - t)/u, are found by squaring: sums of
sizes only grow, so what is cut off never comes back. Each product is a Fourier transform of twice the length,
whose error in the 2-norm has a bound (`composition.convolution`); times the root of the number of cells
it bounds the sum of all errors. If x and y are known to errors e and f in that sum, their product is known to
e·|y| + f·|x| + e·f besides, |x| the sum of x. The probability is the sum of the last product less its error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.accounting.composition.convolution import convolution
from pbdp.mechanism.design import rounded_down
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Array
from pbdp.planning.limit.closed_form import ROUNDING

# Cells of the sums to the root of the number of coordinates, so that rounding costs little, and their end.
CELLS_EACH, MOST_CELLS = 1 << 12, 1 << 17
# h, in logarithms.
LOG_DOUBT = 28.0
# Dimensions from which sums are nearly normal, for estimates.
MANY = 64
# Rounding of a sum of positive terms.
SUM_ERROR = 2.0**-40
# Cells times doublings from which one table takes a good part of a second.
QUICK = 1 << 19
# No table has noise whose size is as large.
LARGEST_SIZE = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Which errors of `dimensions` coordinates are allowed: sums of |n|^power of at most `most`, in steps."""

    dimensions: int
    power: int
    most: int

    @classmethod
    def allowed(cls, requirement: Requirement, grid: LinearGrid) -> Sizes:
        """What the width leaves to the noise on a grid; `most` is negative if that is nothing.

        A power of zero stands for the norm linf, where every |n| is at most `most`.
        """
        coordinates = requirement.coordinates
        if coordinates is None:
            raise AssertionError("a vector has coordinates")
        dimensions, width = coordinates.dimensions, Fraction(requirement.half_width) / Fraction(grid.step)
        power = {"linf": 0, "l1": 1, "l2": 2}[coordinates.norm]
        root = Fraction(math.sqrt(dimensions) * (1 + ROUNDING))
        width -= (Fraction(1), Fraction(dimensions), root)[power] * grid.lost
        most = -1 if width < 0 else min(math.floor(width ** max(power, 1)), LARGEST_SIZE)
        return cls(dimensions=dimensions, power=power, most=most)

    @property
    def unit(self) -> int:
        """u, in which sizes are counted."""
        cells = min(CELLS_EACH * math.isqrt(self.dimensions), MOST_CELLS)
        return max(1, -(-self.most // cells))

    @property
    def is_quick(self) -> bool:
        """Whether the mass of many tables can be found in a second or so."""
        return min(self.most, MOST_CELLS) * math.log2(self.dimensions + 1) < QUICK

    @property
    def typical(self) -> float:
        """About how large the noise of one coordinate may be."""
        share = self.most / self.dimensions if self.power else float(self.most)
        return math.sqrt(share) if self.power == 2 else share

    def mass(self, table: WeightTable) -> float:
        """P(the error is allowed) where every coordinate has this table, rounded down."""
        if self.most < 0:
            return 0.0
        noise, weights = np.abs(table.values()), table.weights
        if self.power == 0:
            inside = rounded_down(int(weights[noise <= self.most].sum()))
            return (
                math.exp(self.dimensions * math.log1p(inside - 1)) * (1 - 4 * ROUNDING) if inside > 0 else 0.0
            )
        longest = self.most if self.power == 1 else math.isqrt(self.most)
        near, unit = noise <= longest, self.unit
        sizes, weights = noise[near] ** self.power, weights[near]
        cells = (sizes + unit // 2) // unit
        last, doubt = self.most, 0.0
        if unit > 1:
            mean = float(np.sum((sizes - unit * cells) * (weights / TOTAL)))
            rest = self.dimensions * (mean + unit * SUM_ERROR) + self._lost * (1 + SUM_ERROR)
            last, doubt = (
                math.floor((self.most - Fraction(rest)) / unit),
                math.exp(-LOG_DOUBT) * (1 + ROUNDING),
            )
        if last < 0:
            return 0.0
        kept = cells <= last
        # whole weights add up to at most 2^62, so their sums are exact
        sums = np.zeros(last + 1, dtype=np.int64)
        np.add.at(sums, cells[kept], weights[kept])
        masses, error = _power(sums / float(TOTAL), ROUNDING, self.dimensions)
        return max((float(np.sum(masses)) * (1 - SUM_ERROR) - error - doubt) * (1 - ROUNDING), 0.0)

    @property
    def _lost(self) -> float:
        """What may be lost of W to rests around their mean."""
        return self.unit * math.sqrt(self.dimensions * LOG_DOUBT / 2) if self.unit > 1 else 0.0

    def estimate(self, noise: Array, masses: Array) -> float:
        """About the same for masses of noise 0, 1, ..., those of either sign added up."""
        if self.power == 0:
            return float(np.sum(masses[noise <= self.most])) ** self.dimensions
        if self.dimensions > MANY:
            return self._nearly_normal(noise**self.power, masses)
        unit = max(1.0, self.most / CELLS_EACH)
        cells = np.rint(noise**self.power / unit).astype(np.int64)
        last = math.floor(self.most / unit)
        kept = cells <= last
        row = np.bincount(cells[kept], weights=masses[kept], minlength=last + 1)
        size = 1 << (2 * last + 2).bit_length()
        power = np.fft.irfft(np.fft.rfft(row, size) ** self.dimensions, size)
        return min(max(float(np.sum(power[: last + 1])), 0.0), 1.0)

    def _nearly_normal(self, sizes: Array, masses: Array) -> float:
        """With the first correction for skewness (Edgeworth)."""
        mean = float(np.sum(sizes * masses))
        off = sizes - mean
        second = np.square(off) * masses
        spread = math.sqrt(float(np.sum(second)))
        if spread == 0:
            return float(mean * self.dimensions <= self.most)
        skew = float(np.sum(second * off)) / (spread**3 * math.sqrt(self.dimensions))
        z = (self.most - self._lost + 0.5 - self.dimensions * mean) / (spread * math.sqrt(self.dimensions))
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return min(max(math.erfc(-z / math.sqrt(2)) / 2 - skew / 6 * (z * z - 1) * density, 0.0), 1.0)


def _power(base: Array, error: float, count: int) -> tuple[Array, float]:
    """The convolution power of a row, cut off at its length, and a bound for the sum of its errors."""
    square = base, error
    while not count & 1:
        square, count = _product(square, square), count >> 1
    result = square
    while count > 1:
        square, count = _product(square, square), count >> 1
        if count & 1:
            result = _product(result, square)
    return result


def _product(one: tuple[Array, float], two: tuple[Array, float]) -> tuple[Array, float]:
    (x, x_error), (y, y_error) = one, two
    size = 1 << (2 * len(x) - 1).bit_length()
    padded = [np.concatenate([row, np.zeros(size - len(row))]) for row in (x, y)]
    found = convolution([(padded[0], 2)] if x is y else [(row, 1) for row in padded])
    x_sum, y_sum = (float(np.sum(row)) * (1 + SUM_ERROR) for row in (x, y))
    error = found.error * math.sqrt(len(x)) + x_error * y_sum + y_error * x_sum + x_error * y_error
    return found.masses[: len(x)], error * (1 + SUM_ERROR)
