"""How far a quotient is off: the law of both errors together, not each at its worst.

A group of n rows has the sum S, counted from the middle of the bounds, and the mean m = S/n, |m| <= M. With
the errors e of the sum and f of the count, both symmetric and independent, S + e and n + f are released, and

    (S + e) - m·(n + f) = e - m·f.                                                                        (1)

**One size for all means.** Let h(a) be such that |e - a·f| <= h(a) with the confidence c. Then |e - m·f| <=
h(a) with the confidence c for every |m| <= a. *Proof.* Let the law of e be symmetric and never rise away from
zero, on multiples of a step s, and let u be uniform on -s/2 to s/2: so is the law of e + u, which has a
density. P(|e + u - t| <= w) falls with |t| (Anderson 1955), so that for every f

    P(|e - m·f| <= w + s/2) >= P(|e + u - m·f| <= w) >= P(|e + u - a·f| <= w) >= P(|e - a·f| <= w - s/2).

`width_at` is w - s/2 for the confidence, by convolution of the two tables (`release.combination`), and s, and
s/2 more as sums are rounded to steps before they get noise, and a times what a count is rounded by.       ∎

**Intervals.** By (1) all m with |S + e - m·(n + f)| <= h(|m|) hold the mean with the confidence c, whatever n
is (Fieller 1940). h is taken at some sizes of m, each for those up to it. The same holds of any ratio of two
sums with such noise, the lower one above 0; where m is large, |f - e/m| is looked at, whose width is that at
the least such m, by the same proof with both exchanged.

**A promise.** With g = n + f the mean (S + e)/g is within w of m if

    e - (m + w)·f <= w·n    and    e - (m - w)·f >= -w·n,

strictly at least once, as then g > 0. Both errors are symmetric, so each fails half as often as its size
exceeds w·n. Let C(a, v) be such that |e - m·f| <= v with the confidence C(a, v) for every |m| <= a, by the
proof above. One of |m + w| and |m - w| is at most M + w, and the other at most the larger of M - w and w: if
C of the one and of the other at some v < w·N are c on average, groups of N rows or more are within w with the
confidence c. `promised_width` is the least such v, about.

**A sum.** With c the middle of the bounds the sum from 0 is S + c·n, and S + e + c·(n + f) is off by e + c·f,
whose law is the convolution of the two tables (`sum_width`). S and n are rounded to their steps before they
get noise, and S + c·n to the unit that sums have: what rounding loses, and a unit more unless all of it is
whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.noise.kernel import Array
from pbdp.release.combination import SumLaw, Term, law_of_sum
from pbdp.tables.estimates import NearLaw, near_law, spread_of

Ends = tuple[Array, Array]
EVERYTHING = (-math.inf, math.inf)

# Sizes of means that have widths of their own.
SIZES = 16
# The same of ratios: those for which both errors matter, up to 2^±6 of where they matter alike, and how many
# there are for each doubling.
DOUBLED, PER_DOUBLING = 6, 8
# How near the least (relative) the width of a promise is.
NEAR = Fraction(1, 1 << 16)
# Rounding of quotients and of ends.
SAFE = 1 + 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """A measure that follows from a sum from the middle and a count, with errors e and f.

    It is off by about e - weight·f at its worst. It is as near as it must be if `width(total, count, near)`,
    for their noise, is at most `limit`; an estimate without guarantee, if `near` is enough.
    """

    weight: float
    limit: float
    confidence: float
    width: Callable[[Design, Design, bool], float]

    def room(self, total: Design, count: Design, near: bool) -> float:
        """How many times as wide the noise of both could be, about."""
        return self.limit / self.width(total, count, near)


def is_proved_for(*designs: Design) -> bool:
    """Whether noise is of the kind that this is about: even, never rising away from 0, the same for all."""
    plain = all(
        isinstance(one.grid, LinearGrid) and one.follows_answer and one.decoder is None and not one.offset
        for one in designs
    )
    tables = [design.table_at(0.0) for design in designs] if plain else []
    return plain and all(one.is_symmetric and one.is_unimodal for one in tables)


@lru_cache(maxsize=256)
def width_at(total: Design, count: Design, most: float, confidence: float, *, near: bool = False) -> float:
    """h(most): how far e - m·f is from 0 with the confidence, for all |m| up to it.

    About that, without any guarantee, if `near` is enough.
    """
    found = _law(total, count, most, near).half_width(confidence)
    return float(found + _rounded(total, count, most)) * SAFE


@lru_cache(maxsize=256)
def promised_width(
    total: Design, count: Design, most: float, within: float, confidence: float, *, near: bool = False
) -> float:
    """v: how many rows times a width groups need, for means of up to `most` to be `within` it this often.

    About that, without any guarantee, if `near` is enough.
    """
    laws = [_law(total, count, size, near) for size in (most + within, max(most - within, within))]
    first, last = sorted(law.half_width(confidence) for law in laws)
    while last - first > first * NEAR:
        middle = (first + last) / 2
        if math.fsum(law.within(middle) for law in laws) * (1 - 2.0**-50) / 2 >= confidence:
            last = middle
        else:
            first = middle
    return float(last + _rounded(total, count, most + within)) * SAFE


def _law(total: Design, count: Design, size: float, near: bool = False) -> SumLaw | NearLaw:
    """That of e - a·f."""
    weights = Fraction(total.grid.step), Fraction(size) * Fraction(count.grid.step)
    if near:
        return near_law(((total, weights[0], 1), (count, weights[1], 1)))
    tables = total.table_at(0.0), count.table_at(0.0)
    return law_of_sum([Term(table=one, weight=weight) for one, weight in zip(tables, weights, strict=True)])


def _rounded(total: Design, count: Design, size: float) -> Fraction:
    """What steps add to a width, for means of up to this size."""
    return 3 * Fraction(total.grid.step) / 2 + Fraction(size) * _lost(count)


def _lost(design: Design) -> Fraction:
    """What rounding an answer to a step loses, in its own unit."""
    return design.grid.lost * Fraction(design.grid.step)


@lru_cache(maxsize=256)
def sum_width(
    total: Design, count: Design, middle: float, unit: float, confidence: float, *, near: bool = False
) -> float:
    """How far e + c·f is from 0 with the confidence, and what rounding adds; `unit` is 0 for whole sums.

    About that, without any guarantee, if `near` is enough.
    """
    found = _law(total, count, middle, near).half_width(confidence)
    lost = _lost(total) + Fraction(middle) * _lost(count) + Fraction(unit)
    return float(found + lost) * SAFE if lost else float(found)


def ends_of_means(
    total: Design, count: Design, most: float, confidence: float, released: Sequence[Array]
) -> Ends:
    """The ends of intervals that hold the means, from the middle of the bounds, by sums and counts."""
    sums, counts = released
    below = np.maximum(counts, 1.0)
    sizes = (most * np.arange(SIZES + 1) / SIZES).tolist()
    low, high = _possible(total, count, sizes, confidence, (sums, below))
    # none is possible: those next to the bounds, which is more than nothing
    near = np.clip(sums / below, -most, most)
    far = width_at(total, count, most, confidence) / below
    none = low > high
    low, high = np.where(none, near - far, low), np.where(none, near + far, high)
    nothing = counts < 1
    margin = most * (SAFE - 1)
    return np.where(nothing, -most, low - margin), np.where(nothing, most, high + margin)


def ends_of_ratios(of: Design, over: Design, confidence: float, released: Sequence[Array]) -> Ends:
    """The ends of intervals that hold the quotients of the truths, by two sums, the lower one above 0."""
    sums, others = released
    below = np.where(others > 0, others, np.nan)
    spreads = [spread_of(((one, Fraction(1), 1),)) * one.grid.step for one in (of, over)]
    alike = spreads[0] / spreads[1]
    sizes = [0.0, *(alike * 2.0 ** np.arange(-DOUBLED, DOUBLED + 1)).tolist()]
    ends = _finely_possible(of, over, sizes, confidence, (sums, below))
    # larger ones by the other number: |f - e/m| is at most so much for all of them
    far, last = width_at(over, of, 1 / sizes[-1], confidence), sizes[-1]
    for sign, part in ((1, (last, math.inf)), (-1, (-math.inf, -last))):
        above = np.maximum(sign * sums, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(below > far, above / (below - far), np.inf)
        found = above / (below + far), most
        ends = _joined(ends, found if sign > 0 else (-found[1], -found[0]), part)
    low, high = (np.where(others > 0, end, none) for end, none in zip(ends, EVERYTHING, strict=True))
    with np.errstate(invalid="ignore"):
        margins = (np.where(np.isfinite(end), np.abs(end) * (SAFE - 1), 0.0) for end in (low, high))
    return low - next(margins), high + next(margins)


def _possible(
    of: Design, over: Design, sizes: Sequence[float], confidence: float, released: Sequence[Array]
) -> Ends:
    """The least and the largest quotient of these sizes that is possible; the wrong way round if none is."""
    sums, below = released
    ends = np.full(len(sums), np.inf), np.full(len(sums), -np.inf)
    for inner, outer in pairwise(sizes):
        width = width_at(of, over, outer, confidence)
        found = (sums - width) / below, (sums + width) / below
        for part in ((inner, outer), (-outer, -inner)):
            ends = _joined(ends, found, part)
    return ends


def _finely_possible(
    of: Design, over: Design, sizes: Sequence[float], confidence: float, released: Sequence[Array]
) -> Ends:
    """The same for `PER_DOUBLING` sizes between any two of these; only those next to an end are looked at."""
    cut: set[int] = set()
    while True:
        finer = {
            size
            for at in cut
            for size in np.linspace(sizes[at], sizes[at + 1], PER_DOUBLING + 1)[1:-1].tolist()
        }
        ends = _possible(of, over, sorted({*sizes, *finer}), confidence, released)
        found = np.abs(np.concatenate(ends))
        near = [np.searchsorted(sizes, found[found <= sizes[-1]], side) for side in ("left", "right")]
        places = set((np.unique(np.concatenate(near)) - 1).tolist()) & set(range(len(sizes) - 1))
        if places <= cut:
            return ends
        cut |= places


def _joined(ends: Ends, found: Ends, part: tuple[float, float]) -> Ends:
    """Intervals that also hold what is found of a part."""
    one, other = np.maximum(found[0], part[0]), np.minimum(found[1], part[1])
    some = one <= other
    return np.where(some, np.minimum(ends[0], one), ends[0]), np.where(
        some, np.maximum(ends[1], other), ends[1]
    )
