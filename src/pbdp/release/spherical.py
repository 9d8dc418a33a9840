"""Noise of one law in all directions, added to an answer and rounded, in whole numbers throughout.

A coordinate of Gaussian noise is a place: a cell of a table, 1/256 of sigma wide, and a 64-bit part of it.
Places are exact, and so is all that happens to them; what is computed in floating point is how likely a
place is. An error there is one of the probability, never of the place, and does not grow with the answer.

**Magnitudes.** Cell c = 0..2303 is proposed with weight W_c >= K e^(-(c/256)²/2), a part u of it uniformly,
and the place c + u is rejected with probability

    p = 1 - (K e^(-(c/256)²/2) / W_c) e^(-z),    z = (2c + u) u / (2·256²),

which leaves the density e^(-t²/2), t = (c + u)/256, up to t = 9. Proposals are rejected with mean probability
E p < 1/500. p is computed from sums and products of doubles (no library function) with a relative error
below 2^-49, then rounded down to a multiple of 2^-63: E|error of p| < 2^-57.9. Laws with densities f and f'
that add up to Z and Z' are ∫|f - f'| / max(Z, Z') apart at most, in total variation (TV). With the tail,
2 Φ(-9) < 2^-61.9, a coordinate is less than 2^-57 away from its ideal law.                              (1)

**Directions.** The direction of a Gaussian vector G is independent of its length, hence also if only vectors
with |G| >= sqrt(d)/2 are used, which more than half are. Taking the others out makes at most 4 of 1 TV (the
density of what is left is divided by more than one half); 64-bit parts misjudge |G| with probability 2^-61.

**Rounding.** The exact sum of answer and noise would be rounded half up to whole steps, after the noise was
added, which costs no privacy. The computed sum is off by at most a + b|y| steps where the noise is y, because
parts end after 64 bits and products after 62. It is rounded to another number only where a boundary is that
near. If the noise of a coordinate has a density that falls away from zero, p0 there, then

    P(a boundary is within a + b|y|) <= 2 a (1 + 2 p0) + 2 b (E|y| + 2 + 2 p0).                          (2)

(On k <= |y| < k + 1 the set in question has length 2 (a + b(k+1)) on either side, and density at most p(k),
which for k >= 1 is at most its mean over k - 1 <= |y| < k.) So the TV distance between what is published and
the ideal law, rounded, is at most that of the noise by (1) plus (2) for every coordinate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache

import numpy as np

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Array, Index, Words
from pbdp.release.keystream import SLACK, WORD, Keystream
from pbdp.release.sampler import AliasTable, Sampler, alias_table

# Cells in one sigma, and in all of them.
PER_SIGMA = 256
CELLS = 9 * PER_SIGMA
# (1), and what taking out short vectors makes of it.
COORDINATE_ERROR = 2.0**-57
SHORT_FACTOR, SHORT_ERROR = 4, 2.0**-61
# Bits of a scale's whole number, of a fraction of a step, and the largest exponent of a scale.
SCALE_BITS, FRACTION_BITS, LARGEST_EXPONENT = 63, 62, 94
# A larger scale, in steps a cell, leaves too few bits for fractions.
LARGEST_SCALE = 2.0**29
# Lengths are whole multiples of 2^-128 steps.
LENGTH_BITS = 128

_HALF_WORD = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Magnitudes:
    """Cells with their weights; p at the start of each (`short`), and a bound for it in 2^-63 (`most`)."""

    table: AliasTable
    short: Array
    most: Words


@lru_cache(maxsize=1)
def magnitudes() -> _Magnitudes:
    """W_c = floor(K f_c) + 1 for f_c = e^(-(c/256)²/2), to 60 digits: f_(c+1) = f_c · q^(2c+1)."""
    context = Context(prec=60)
    ratio = context.exp(context.divide(Decimal(-1), Decimal(2 * PER_SIGMA**2)))
    growth, factor = context.multiply(ratio, ratio), ratio
    masses, total = [Decimal(1)], Decimal(1)
    for _ in range(CELLS - 1):
        masses.append(context.multiply(masses[-1], factor))
        total = context.add(total, masses[-1])
        factor = context.multiply(factor, growth)
    scale = context.divide(Decimal(TOTAL - 2 * CELLS), total)
    exact = [context.multiply(scale, mass) for mass in masses]
    weights = [int(mass) + 1 for mass in exact]
    weights[0] += TOTAL - sum(weights)
    one = Decimal(1)
    short = np.array(
        [
            float(context.subtract(one, context.divide(mass, Decimal(weight))))
            for mass, weight in zip(exact, weights, strict=True)
        ]
    )
    rejected = rejection(np.arange(CELLS), np.full(CELLS, np.uint64(2**64 - 1)), short)
    return _Magnitudes(
        table=alias_table(WeightTable(start=0, weights=np.array(weights, dtype=np.int64))),
        short=short,
        most=np.ceil(rejected * (1 + 2.0**-40) * 2.0**63).astype(np.uint64) + np.uint64(1),
    )


def rejection(cells: Index, parts: Words, short: Array) -> Array:
    """p of (1). z < 0.036, so eight terms of 1 - e^(-z) = z (1 - z/2 (1 - z/3 (1 - ...))) leave 2^-57 of it.

    z has a relative error of at most 4·2^-53, the nested sum 3·2^-53, and what joins it with `short` 4·2^-53.
    """
    u = parts.astype(np.float64) * 2.0**-64
    z = (2.0 * cells + u) * u * (0.5 / PER_SIGMA**2)
    nested = np.ones_like(z)
    for term in range(8, 1, -1):
        nested = 1.0 - z / term * nested
    return np.asarray(short + (1.0 - short) * (z * nested))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianPlaces:
    """Standard normal numbers ±(cell + part/2^64)/256; `signs` is 1 or -1."""

    cells: Index
    parts: Words
    signs: Index

    def square_sum(self) -> int:
        """The sum of the squares of (cell + part/2^64), in units of 2^-128, exactly."""
        limbs = (self.cells.astype(np.uint64), self.parts >> _HALF_WORD, self.parts & _LOW)
        total = 0
        for i, first in enumerate(limbs):
            for j, second in enumerate(limbs[i:], start=i):
                total += (1 + (i != j)) * _dot(first, second) << 32 * (4 - i - j)
        return total


def _dot(first: Words, second: Words) -> int:
    """The exact sum of products of 32-bit numbers."""
    products = first * second
    return (int(np.sum(products >> _HALF_WORD)) << 32) + int(np.sum(products & _LOW))


def gaussian_places(count: int, keystream: Keystream) -> GaussianPlaces:
    """That many independent standard normal numbers, to within (1); the rejected are drawn again."""
    law = magnitudes()
    cells, parts, signs = np.empty(count, np.int64), np.empty(count, np.uint64), np.empty(count, np.int64)
    missing: Index | slice = slice(None)
    left = count
    while left:
        cell = law.table.draw(left, keystream)
        words = _words(2 * left, keystream)
        part, chance = words[:left], words[left:] >> np.uint64(1)
        cells[missing], parts[missing] = cell, part
        signs[missing] = 1 - 2 * (words[left:] & np.uint64(1)).astype(np.int64)
        near = np.flatnonzero(chance < law.most[cell])
        limit = rejection(cell[near], part[near], law.short[cell[near]]) * 2.0**63
        again = near[chance[near] < limit.astype(np.uint64)]
        missing = again if isinstance(missing, slice) else missing[again]
        left = len(again)
    return GaussianPlaces(cells=cells, parts=parts, signs=signs)


def _words(count: int, keystream: Keystream) -> Words:
    buffer = bytearray(count * WORD + SLACK)
    keystream.stream().fill(buffer, memoryview(bytes(count * WORD)))
    return np.frombuffer(buffer, dtype="<u8", count=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """`whole` / 2^`exponent` steps a cell."""

    whole: int
    exponent: int

    def __post_init__(self) -> None:
        if not (0 <= self.whole < 1 << SCALE_BITS and 32 < self.exponent <= LARGEST_EXPONENT):
            raise AssertionError("a scale has 63 bits, and 33 to 94 of them are behind the point")

    @classmethod
    def of_ratio(cls, numerator: int, denominator: int) -> Scale:
        """Rounded down: by less than 2^-62 of it or, where it is below 2^-31, by less than 2^-94."""
        ratio = (numerator << 256) // denominator
        dropped = max(ratio.bit_length() - SCALE_BITS, 256 - LARGEST_EXPONENT)
        return cls(whole=ratio >> dropped, exponent=256 - dropped)

    def steps(self, cells: Index, parts: Words) -> tuple[Index, Index]:
        """(cell + part/2^64) times the scale: whole steps, and the rest in units of 2^-62.

        c·s + floor(w·s/2^64) = high·2^32 + low is exact; the rest loses what is beyond its 62 bits.
        """
        first, second = np.uint64(self.whole >> 32), np.uint64(self.whole & 0xFFFF_FFFF)
        upper, lower = parts >> _HALF_WORD, parts & _LOW
        cell = cells.astype(np.uint64)
        middle = upper * second + (lower * second >> _HALF_WORD)
        other = lower * first + (middle & _LOW)
        low = upper * first + (middle >> _HALF_WORD) + (other >> _HALF_WORD) + cell * second
        high = (low >> _HALF_WORD) + cell * first
        low &= _LOW
        behind = np.uint64(self.exponent - 32)
        rest = (high & ((np.uint64(1) << behind) - np.uint64(1))) << np.uint64(94 - self.exponent)
        if self.exponent <= FRACTION_BITS:
            rest |= low << np.uint64(FRACTION_BITS - self.exponent)
        else:
            rest |= low >> np.uint64(self.exponent - FRACTION_BITS)
        return (high >> behind).view(np.int64), rest.view(np.int64)


class Length(ABC):
    """The law of the length of a vector, in steps."""

    __slots__ = ()

    @abstractmethod
    def draw(self, keystream: Keystream) -> int:
        """One length, in units of 2^-128 steps, rounded down."""

    @property
    @abstractmethod
    def error(self) -> float:
        """How far the law is from the ideal one in total variation, before rounding down, at most."""

    @property
    @abstractmethod
    def spacing(self) -> float:
        """How far a length is rounded down, at most."""

    @property
    @abstractmethod
    def longest(self) -> float:
        """The longest that is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SphericalNoise:
    """Gaussian noise of `sigma` steps; with a `length`, vectors of that length in its direction instead.

    Answers are multiples of 2^-`finer` steps.
    """

    dimensions: int
    finer: int
    sigma: float
    length: Length | None = None

    def __post_init__(self) -> None:
        if self._largest_scale >= LARGEST_SCALE:
            raise CannotCertifyError(
                "The noise would be many million times as wide as the step. Ask for a larger width."
            )

    @property
    def _largest_scale(self) -> float:
        """The most steps that a cell becomes."""
        if self.length is None:
            return self.sigma / PER_SIGMA
        return self.length.longest * (1 + 1e-9) / (PER_SIGMA / 2 * math.sqrt(self.dimensions))

    def error(self, *, peak: float, mean: float) -> float:
        """How far what is published is from the ideal law, rounded, in total variation, at most.

        `peak` is p0 of (2) and `mean` E|y|, in steps. Parts and products lose 2^-61 of the scale, fractions
        of steps 2^-61 at most. A scale that was computed from a length and |G| is 2^-62 too small by its
        own rounding, and |G| 2^-71 by that of its parts and its root.
        """
        offset = (self._largest_scale + 1) * 2.0**-61
        if self.length is None:
            return self.dimensions * (COORDINATE_ERROR + boundary_error(offset, 0.0, peak, mean))
        noise = SHORT_FACTOR * self.dimensions * COORDINATE_ERROR + SHORT_ERROR + self.length.error
        return noise + self.dimensions * boundary_error(offset + self.length.spacing, 2.0**-61, peak, mean)

    def published_steps(self, answers: Index, keystream: Keystream) -> Index:
        """round half up(answer + noise), in whole steps, for answers in units of 2^-`finer` steps."""
        places, scale = self._noise(keystream)
        whole, rest = scale.steps(places.cells, places.parts)
        # half a step more now, the floor later
        moved = answers + (1 << (self.finer - 1))
        fraction = (moved & ((1 << self.finer) - 1)) << (FRACTION_BITS - self.finer)
        fraction += places.signs * rest
        return np.asarray((moved >> self.finer) + places.signs * whole + (fraction >> FRACTION_BITS))

    def _noise(self, keystream: Keystream) -> tuple[GaussianPlaces, Scale]:
        if self.length is None:
            numerator, denominator = self.sigma.as_integer_ratio()
            places = gaussian_places(self.dimensions, keystream)
            return places, Scale.of_ratio(numerator, denominator * PER_SIGMA)
        # |G| >= sqrt(d)/2, in the units of `square_sum`
        least = self.dimensions * (PER_SIGMA // 2) ** 2 << 128
        while True:
            places = gaussian_places(self.dimensions, keystream)
            square = places.square_sum()
            if square >= least:
                break
        # 2^-128 steps a unit of length, 2^-64 cells a unit of the root
        length = self.length.draw(keystream)
        return places, Scale.of_ratio(length, math.isqrt(square) << (LENGTH_BITS - 64))


def boundary_error(offset: float, relative: float, peak: float, mean: float) -> float:
    """(2): a, b, p0 and E|y|, in steps."""
    return 2 * offset * (1 + 2 * peak) + 2 * relative * (mean + 2 + 2 * peak)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SphericalSampler(Sampler):
    """Vectors on the answers' fine grid in, on the coarser one of what is published out."""

    noise: SphericalNoise

    def outputs(self, answers: Index, keystream: Keystream) -> Index:
        return self.noise.published_steps(answers, keystream)
