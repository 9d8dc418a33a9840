"""About how far a weighted sum of noises is off, in next to no time: **no guarantee, on either side.**

Noise is scaled until tables are as near as asked. Each look would take a table of whole weights, which is
long where steps are fine, and exact sums of such (`pbdp.release.combination`). Log-concave laws of many steps
are the same but for their length, so one table of each shape stands for all, and sums are found on a coarse
grid. What is taken in the end is certified.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from pbdp.mechanism.design import Design
from pbdp.noise.family import kernel_from, kernel_record, known_families
from pbdp.noise.kernel import Array
from pbdp.planning.together.search import is_concave

# Noises of one design with one weight: the design, the weight, and how many there are.
Noises = tuple[Design, Fraction, int]
# Cells that a sum is looked at on, spreads to either side, and the cells that a spread has at least: narrower
# laws are taken for normal ones.
CELLS, SPREADS, NARROW = 1 << 13, 14.0, 4.0
# Laws of more steps than this, by their longest length, are looked at as laws of as many.
LONG = 96.0


@lru_cache(maxsize=1024)
def _shape(design: Design) -> tuple[Design, float]:
    """A design of the same shape that is not long, and how many times as long the given one is."""
    record = kernel_record(design.kernel)
    lengths = known_families()[record["kernel"]].lengths
    parameters = record["parameters_in_steps"]
    longest = max((parameters[name] for name in lengths), default=0.0)
    if longest <= LONG or not is_concave(design):
        return design, 1.0
    factor = longest / LONG
    # rounded, so that one stands for all
    short = {
        name: float(f"{one / factor:.12g}") if name in lengths else one for name, one in parameters.items()
    }
    return replace(design, kernel=kernel_from(record["kernel"], short)), factor


@lru_cache(maxsize=256)
def _law(design: Design) -> tuple[Array, Array, float]:
    table = design.table_at(0.0)
    values, masses = table.values().astype(np.float64), table.probabilities()
    return values, masses, float(np.sum(values * values * masses))


def spread_of(noises: tuple[Noises, ...]) -> float:
    """The standard deviation of a weighted sum of noises."""
    total = 0.0
    for design, weight, count in noises:
        short, factor = _shape(design)
        total += count * (float(weight) * factor) ** 2 * _law(short)[2]
    return math.sqrt(total)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NearLaw:
    """About P(|S| <= (m + 1/2)·unit) = inside[m]: masses are spread over their cells."""

    unit: float
    inside: Array

    def within(self, width: float | Fraction) -> float:
        """About P(|S| <= width)."""
        return float(np.interp(float(width) / self.unit - 0.5, np.arange(len(self.inside)), self.inside))

    def half_width(self, confidence: float) -> Fraction:
        """About the least width that S is within with this probability."""
        cells = np.interp(confidence, self.inside, np.arange(len(self.inside)) + 0.5)
        return Fraction(float(cells) * self.unit)


def near_width(noises: tuple[Noises, ...], confidence: float) -> float:
    """About how far a weighted sum of noises is from 0 at most, with the confidence."""
    return float(near_law(noises).half_width(confidence))


def near_law(noises: tuple[Noises, ...]) -> NearLaw:
    """About the law of a weighted sum of noises."""
    unit = 2 * SPREADS * spread_of(noises) / CELLS
    angle = 2 * math.pi * np.fft.rfftfreq(CELLS)
    transform = np.ones(len(angle), dtype=np.complex128)
    for design, weight, count in noises:
        short, factor = _shape(design)
        values, masses, variance = _law(short)
        scale = abs(float(weight)) * factor / unit
        if variance * scale**2 < NARROW**2:
            transform *= np.exp(-count * variance * scale**2 * angle**2 / 2)
            continue
        below = np.floor(values * scale)
        share, cells = values * scale - below, below.astype(np.int64)
        ring = np.bincount(cells % CELLS, weights=masses * (1 - share), minlength=CELLS)
        ring += np.bincount((cells + 1) % CELLS, weights=masses * share, minlength=CELLS)
        transform *= np.fft.rfft(ring) ** count
    found = np.fft.irfft(transform, CELLS)
    both = found[1 : CELLS // 2] + found[: CELLS // 2 : -1]
    return NearLaw(unit=unit, inside=found[0] + np.concatenate([[0.0], np.cumsum(both)]))
