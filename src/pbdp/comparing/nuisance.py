"""What holds whatever the common rate is: the largest chance over all rates that published counts allow.

How rare a difference is where there is none depends on the rate that both groups share, which nobody knows.
A p-value that holds for every rate takes the largest chance over the rates that are plausible, and adds the
chance b that the true one is not among them (Berger and Boos 1994): if p is the true rate, C the plausible
ones and f(p) the chance of what was seen or rarer,

    P(largest f over C, plus b <= u) <= P(p not in C) + P(f(p) <= u - b) <= b + u - b = u.

**Plausible rates.** The total y of all noisy counts has the cumulant N·ln(1 - p + p·e^s) + K(s), N being all
people and K that of all noise. By Chernoff's bound P(total <= y) is at most exp of that at -s, plus s·y, for
every s >= 0; rates for which it is below b/2 are not plausible, and the same on the other side. It falls as p
grows, so for a given s these are the rates above

    (e^((ln(b/2) - K(s) - s·y)/N) - 1)/(e^-s - 1),

and the plausible ones end at the least of that over some slopes s.

**The largest chance over an interval of rates.** f(p) is the mean of a number g from 0 to 1 that the answers
of N people decide, who say yes with probability p each. Its m-th derivative is the mean of g times
d^m P(answers)/dp^m / P(answers), a Krawtchouk polynomial of how many said yes with mean 0 and the mean square
m!·N(N-1)...(N-m+1)/(p(1-p))^m. The positive part of a number with mean 0 has half of its mean size, so

    |f^(m)(p)| <= sqrt(m!·N(N-1)...(N-m+1)/(p(1-p))^m)/2,

and as f^(m) is N(N-1)...(N-m+1) times the mean of an m-fold difference of g, also at most 2^(m-1) times that.
The polynomial through f at m Chebyshev nodes of an interval of length h is off by at most
2·(h/4)^m/m!·max|f^(m)|; its own largest value is looked for on a fine grid, between whose points its second
derivative, at most sum of |c_j|·j²(j² - 1)/3 for Chebyshev coefficients c_j, tells how much may hide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array

# Longer intervals of rates are cut into halves.
_MOST_NODES = 64
_GRID = 4001
# Noise is gathered into so many cells, rounded outwards, for its cumulant.
_CELLS = 4096


@dataclass(frozen=True, eq=False)  # no slots: moments are found once
class Noise:
    """What is asked of a table of noise, or of none, again and again."""

    table: WeightTable | None

    @cached_property
    def variance(self) -> float:
        """Its mean square."""
        return variance_of(self.table)

    def cumulants(self, quarter: int) -> tuple[Array, Array]:
        """Slopes around 2^(quarter/4), by factors of 2^(1/4), and the cumulants that are finite there."""
        if quarter not in self._known:
            slopes = 2 ** (np.arange(quarter - 20, quarter + 21) / 4)
            found = cumulant_of(self.table, slopes)
            self._known[quarter] = slopes[np.isfinite(found)], found[np.isfinite(found)]
        return self._known[quarter]

    @cached_property
    def _known(self) -> dict[int, tuple[Array, Array]]:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """The number of all people who said yes, with all noise: how much it is, of how many people."""

    count: float
    people: int
    noise: Noise
    copies: int

    def plausible(self, missed: float) -> tuple[float, float]:
        """An interval that holds the common rate but for a chance of `missed`."""
        rate = min(max(self.count / self.people, 1 / self.people), 1 - 1 / self.people)
        spread = self.people * rate * (1 - rate) + self.copies * self.noise.variance
        best = math.sqrt(-2 * math.log(missed / 2) / spread)
        slopes, noise = self.noise.cumulants(round(4 * math.log2(best)))
        log = math.log(missed / 2) - self.copies * noise
        # a slope's bound is as rare as that at one rate, and rarer at all beyond
        with np.errstate(over="ignore"):
            highs = np.expm1((log - slopes * self.count) / self.people) / np.expm1(-slopes)
            lows = np.expm1((log + slopes * self.count) / self.people) / np.expm1(slopes)
        high = max(float(highs.min(initial=1.0)), rate)
        low = min(float(lows.max(initial=0.0)), rate)
        return max(low - _outwards(low), 0.0), min(high + _outwards(high), 1.0)


def _outwards(rate: float) -> float:
    """By what ends of plausible rates are moved outwards: far more than their formulas are rounded by."""
    return 1e-9 * min(rate, 1 - rate) + 1e-15


def variance_of(noise: WeightTable | None) -> float:
    """The noise's mean square."""
    if noise is None:
        return 0.0
    return float(np.sum(noise.probabilities() * noise.values().astype(np.float64) ** 2))


def cumulant_of(noise: WeightTable | None, slopes: Array) -> Array:
    """ln of the mean of e^(s·noise) for symmetric noise, not rounded down."""
    if noise is None:
        return np.zeros(len(slopes))
    sizes = np.abs(noise.values())
    # sizes are rounded up to cells, which makes the mean of cosh(s·noise) larger
    cell = int(sizes.max()) // _CELLS + 1
    masses = np.bincount(-(-sizes // cell), weights=noise.probabilities())
    with np.errstate(over="ignore"):
        waves = np.cosh(np.outer(slopes, np.arange(len(masses)) * float(cell)))
        found: Array = np.log(waves @ masses)
    return found


def largest_over(
    chance: Callable[[float], float], low: float, high: float, people: int, tolerance: float
) -> float:
    """An upper bound for a chance over all rates from low to high, `tolerance` above it at most, about."""
    if high <= low:
        return chance(low)
    nodes = _nodes(low, high, people, tolerance)
    if nodes is None:
        middle = (low + high) / 2
        return max(
            largest_over(chance, low, middle, people, tolerance),
            largest_over(chance, middle, high, people, tolerance),
        )
    count, error = nodes
    angles = np.pi * (np.arange(count) + 0.5) / count
    rates = (low + high) / 2 + (high - low) / 2 * np.cos(angles)
    values = np.array([chance(float(rate)) for rate in rates])
    degrees = np.arange(count, dtype=np.float64)
    coefficients = np.cos(np.outer(degrees, angles)) @ values * (2 / count)
    coefficients[0] /= 2
    places = np.linspace(-1, 1, _GRID)
    bend = float(np.sum(np.abs(coefficients) * degrees**2 * (degrees**2 - 1) / 3))
    hidden = max(bend, 0.0) * (2 / (_GRID - 1)) ** 2 / 8
    return float(np.polynomial.chebyshev.chebval(places, coefficients).max()) + hidden + error


def _nodes(low: float, high: float, people: int, tolerance: float) -> tuple[int, float] | None:
    """How many nodes make the interpolation so exact, and how exact it is then; None for too many."""
    least = min(low * (1 - low), high * (1 - high))
    for count in range(2, _MOST_NODES + 1):
        factorial = math.lgamma(count + 1)
        falling = -math.inf if count > people else count * math.log(people)
        by_squares = (
            math.inf if least <= 0 else (factorial + falling - count * math.log(least)) / 2 - math.log(2)
        )
        by_differences = falling + (count - 1) * math.log(2)
        largest = min(by_squares, by_differences)
        error = math.log(2) + count * math.log((high - low) / 4) - factorial + largest
        if error <= math.log(tolerance):
            return count, math.exp(error) if error > -700 else 0.0
    return None
