"""How far a combination of released numbers is off: the law of a weighted sum of independent noises.

    S = a_1·(n_11 + n_12 + ...) + a_2·(n_21 + ...) + ...

Term i has the weight a_i, any rational number, and so many noises of one table, all independent. A total of
published cells is off by such a sum, and so are a mean of several looks and a cell that was made to add up.
P(|S| <= w) is bounded from below, for every w, from the tables that are drawn from.

**A term.** The law of the sum of its noises is a power of the table's, by a Fourier transform on a ring of
cells. What is beyond R on either side comes back on the other, so that a set of cells within R has at most
its true probability and P(|sum| > R), which by Chernoff's bound is at most 2·e^(count·K(t) - t·R) for every
t > 0, K(t) = ln E e^(t·n), the larger of both directions; R is chosen so that it is below `TAIL`. A sum that
would need too many cells is put on multiples of m: the rests of at most m/2 add up to their mean and at most
m·sqrt(count·ln(2/h)/2) more or less, but for a probability of h (Hoeffding 1963).

**The sum.** Terms are put on multiples of one unit. Where their weights have no common one that is coarse
enough, each is moved by half a unit at most. With D all that was moved,

    P(|S| <= w) >= P(|sum of the moved terms| <= w - D) - e,

e from the bounds above and of the transforms (`composition.convolution`): a sum of N cells is off by at
most sqrt(N) times the error in the 2-norm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.accounting.composition.convolution import convolution
from pbdp.accounting.composition.loss_distribution import cell_sums
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array

# What is left out of a term on its far ends, and Hoeffding's h.
TAIL = 2.0**-50
# Cells of a term, and of the sum; those of a sum whose unit is not given by its weights.
MOST_CELLS = 1 << 20
MOVED_CELLS = 1 << 17
# Groups of noise that Chernoff's bound is computed from, and the tilts that are tried, times the spread.
LOOKED_AT = 1 << 14
TILTS = 2.0 ** np.arange(-1.0, 5.0, 0.25)
# Rounding of a sum of positive terms, and of the few operations with bounds.
SUM_ERROR = 2.0**-40
SAFE = 1 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Term:
    """Noises of one table, `count` of them and independent, each times `weight`."""

    table: WeightTable
    weight: Fraction = Fraction(1)
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumLaw:
    """P(|S| <= (m·unit + moved)) >= inside[m] - error, m = 0, 1, ..."""

    unit: Fraction
    moved: Fraction
    inside: Array
    error: float

    def within(self, width: float | Fraction) -> float:
        """P(|S| <= width), from below."""
        place = math.floor((Fraction(width) - self.moved) / self.unit)
        if place < 0:
            return 0.0
        return max(float(self.inside[min(place, len(self.inside) - 1)]) - self.error, 0.0)

    def half_width(self, confidence: float) -> Fraction:
        """The least width, as far as is known, that S is within with this probability."""
        place = int(np.searchsorted(self.inside, (confidence + self.error) * (1 + 2.0**-52)))
        if place >= len(self.inside):
            raise CannotCertifyError(
                f"A sum of released numbers has no proven width for the confidence {confidence!r}. Ask for "
                "less."
            )
        return place * self.unit + self.moved


def law_of_sum(terms: Sequence[Term]) -> SumLaw:
    """The law of a combination."""
    powers = [_power(term) for term in terms if term.weight]
    if not powers:
        return SumLaw(unit=Fraction(1), moved=Fraction(0), inside=np.ones(1), error=0.0)
    unit = _common(powers)
    moved = sum((power.moved for power in powers), Fraction(0))
    rows = []
    for power in powers:
        row, off = power.on(unit)
        rows.append(row)
        moved += off
    reach = sum(len(row) // 2 for row in rows)
    if len(rows) == 1:
        masses, error = rows[0], powers[0].error
    else:
        size = 1 << (2 * reach).bit_length()
        found = convolution((_ring(row, size), 1) for row in rows)
        masses = np.roll(found.masses, reach)[: 2 * reach + 1]
        # each row may be off by its own error, and the others add up to one and theirs
        own = math.expm1(sum(power.error for power in powers) * SAFE)
        error = own + found.error * math.sqrt(2 * reach + 1)
    middle = len(masses) // 2
    folded = masses[middle:].copy()
    folded[1:] += masses[middle - 1 :: -1] if middle else 0.0
    inside = np.cumsum(folded) * (1 - SUM_ERROR)
    return SumLaw(unit=unit, moved=moved, inside=inside, error=error * SAFE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Power:
    """Masses of a term at multiples of `spacing`, the middle one at 0; any sum of them is off by `error`."""

    spacing: Fraction
    masses: Array
    error: float
    moved: Fraction

    def on(self, unit: Fraction) -> tuple[Array, Fraction]:
        """The masses at multiples of a unit, and how far they were moved for that."""
        ratio = self.spacing / unit
        places = np.arange(-(len(self.masses) // 2), len(self.masses) // 2 + 1)
        if ratio.denominator == 1:
            cells, off = places * int(ratio), Fraction(0)
        else:
            # floats are off by far less than the thousandth of a unit that is added
            cells, off = np.rint(places * float(ratio)).astype(np.int64), unit * Fraction(501, 1000)
        reach = int(cells[-1])
        return cell_sums(cells + reach, self.masses, 2 * reach + 1), off


def _common(powers: Sequence[_Power]) -> Fraction:
    """A unit that all spacings are multiples of, or one that is fine enough."""
    least = powers[0].spacing
    for power in powers[1:]:
        one, other = least, power.spacing
        below = one.denominator * other.denominator
        least = Fraction(math.gcd(int(one * below), int(other * below)), below)
    length = sum((power.spacing * (len(power.masses) // 2) for power in powers), Fraction(0))
    return least if length <= MOST_CELLS * least else length / MOVED_CELLS


def _ring(row: Array, size: int) -> Array:
    ring = np.zeros(size)
    reach = len(row) // 2
    ring[: reach + 1] = row[reach:]
    if reach:
        ring[-reach:] = row[:reach]
    return ring


def _power(term: Term) -> _Power:
    """The law of all noises of a term."""
    count, start, masses = term.count, term.table.start, term.table.probabilities()
    error, moved = TAIL, 0.0
    coarse = max(-(-_reach(start, masses, count) // (MOST_CELLS // 4)), 1)
    if coarse > 1:
        first, rests, grouped = _grouped(start, masses, coarse)
        if count == 1:
            moved = float(coarse // 2)
        else:
            mean = abs(float(np.sum(rests * masses))) + coarse * SUM_ERROR
            moved = (count * mean + coarse * math.sqrt(count * math.log(2 / TAIL) / 2)) * SAFE
        start, masses, error = first, grouped, error + TAIL
    reach = _reach(start, masses, count)
    size = 1 << (2 * reach).bit_length()
    ring = cell_sums((start + np.arange(len(masses))) % size, masses, size)
    if count > 1:
        found = convolution([(ring, count)])
        ring, error = found.masses, error + found.error * math.sqrt(2 * reach + 1)
    middle = np.concatenate([ring[size - reach :], ring[: reach + 1]]) if reach else ring[:1]
    weight = abs(term.weight)
    middle = middle if term.weight > 0 else middle[::-1]
    return _Power(spacing=weight * coarse, masses=middle, error=error, moved=weight * Fraction(moved))


def _grouped(start: int, masses: Array, width: int) -> tuple[int, Array, Array]:
    """Masses on multiples of a width, the first multiple, and how far from it each noise was."""
    shifted = np.arange(len(masses)) + (start + width // 2) % width
    first = (start + width // 2) // width
    rests = shifted % width - width // 2
    return first, rests.astype(np.float64), cell_sums(shifted // width, masses, int(shifted[-1]) // width + 1)


def _reach(start: int, masses: Array, count: int) -> int:
    """R with P(|sum of so many noises| > R) <= `TAIL`; long tables are looked at in groups for it."""
    whole = count * max(-start, start + len(masses) - 1, 0)
    if count == 1:
        # half of it on either side
        below, above = (int(np.searchsorted(np.cumsum(one), TAIL / 2)) for one in (masses, masses[::-1]))
        return min(max(-(start + below), start + len(masses) - 1 - above, 0), whole)
    width = -(-len(masses) // LOOKED_AT)
    first, _, grouped = _grouped(start, masses, width)
    noise = width * (first + np.arange(len(grouped), dtype=np.float64))
    spread = math.sqrt(count * float(np.sum(noise * noise * grouped)))
    found = float(whole)
    for scaled in TILTS if spread else ():
        tilt, bound = scaled / spread, 0.0
        for side in (noise, -noise):
            exponents = tilt * side
            top = float(np.max(exponents))
            bound = max(bound, top + math.log(float(np.sum(grouped * np.exp(exponents - top)))))
        reached = (count * (bound + 1e-12) + math.log(2 / TAIL)) / tilt + count * (width // 2)
        found = min(found, reached * SAFE)
    return min(math.ceil(found), whole)
