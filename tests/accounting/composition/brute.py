"""Composition by brute force: every combination of outputs, in exact fractions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import mpmath

Outcomes = dict[Fraction | None, Fraction]  # p/q (None where q = 0) -> p


def outcomes(first: Sequence[float], second: Sequence[float]) -> Outcomes:
    """p/q and p of every output the first law can produce; floats are taken as the fractions they are."""
    table: Outcomes = defaultdict(Fraction)
    for p, q in zip(map(Fraction, first), map(Fraction, second), strict=True):
        if p:
            table[p / q if q else None] += p
    return table


def composed(parts: Sequence[tuple[Outcomes, int]]) -> Outcomes:
    total: Outcomes = {Fraction(1): Fraction(1)}
    for table, count in parts:
        for _ in range(count):
            following: Outcomes = defaultdict(Fraction)
            for ratio, mass in total.items():
                for other, other_mass in table.items():
                    key = None if ratio is None or other is None else ratio * other
                    following[key] += mass * other_mass
            total = following
    return total


def delta_of(table: Outcomes, epsilon: float) -> mpmath.mpf:
    """The hockey-stick divergence to 50 digits."""
    with mpmath.workdps(50):
        factor = mpmath.exp(mpmath.mpf(epsilon))
        total = mpmath.mpf(0)
        for ratio, mass in table.items():
            p = mpmath.mpf(mass.numerator) / mass.denominator
            if ratio is None:
                total += p
                continue
            gain = 1 - factor * ratio.denominator / ratio.numerator
            total += p * gain if gain > 0 else 0
        return total
