"""Written apart from the code under test: exact laws of adaptive transcripts, in fractions and 50 digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from pbdp.mechanism.weights import TOTAL, WeightTable, integer_weights

mpmath.mp.dps = 50

Law = Mapping[Any, Fraction]
Pair = tuple[Law, Law]
History = tuple[Any, ...]
# What is done after a history: the laws of the next output under the two neighbors, or nothing more.
Strategy = Callable[[History], Pair | None]


def table_of(weights: Sequence[int], start: int) -> WeightTable:
    """A table from small weights whose total is a power of two."""
    scale, rest = divmod(TOTAL, sum(weights))
    if rest:
        raise AssertionError("the total must be a power of two")
    return WeightTable(start=start, weights=np.array(weights, dtype=np.int64) * scale)


def random_table(rng: np.random.Generator, cells: int, unimodal: bool) -> WeightTable:
    """Random weights with a light end, so that little mass is missing after a shift."""
    row = rng.exponential(size=cells) + 0.2
    if unimodal:
        half = cells // 2
        row = np.concatenate([np.sort(row[:half]), [row.max() * 1.5], np.sort(row[half:])[::-1]])
    else:
        row = np.append(row, row.max())
    row[[0, -1]] *= 10.0 ** -rng.uniform(2, 7)
    if unimodal:
        row[1:-1] = np.maximum(row[1:-1], row[[0, -1]].max())
    weights = np.floor(row / row.sum() * 2.0**40).astype(np.int64)
    weights = np.maximum(weights, 1)
    top = cells // 2 if unimodal else cells - 1
    weights[top] += 2**40 - weights.sum()
    return table_of([int(w) for w in weights], -(cells // 2))


def bell(below: float, above: float, bump: float = 0.0) -> WeightTable:
    """Noise -5..5 with a spread for either side, and some more weight on -2 and 3."""
    noise = np.arange(-5, 6)
    masses = np.exp(-(noise**2) / (2 * np.where(noise < 0, below, above) ** 2))
    masses[[3, 8]] += bump
    return integer_weights(masses / masses.sum(), -5)


def moved(table: WeightTable, by: int = 0) -> dict[int, Fraction]:
    """The law of answer + noise."""
    return {
        int(value) + by: Fraction(int(weight), TOTAL)
        for value, weight in zip(table.values(), table.weights, strict=True)
        if weight
    }


def transcripts(strategy: Strategy) -> dict[History, tuple[Fraction, Fraction]]:
    """Every transcript and its probability under the two neighbors."""
    done: dict[History, tuple[Fraction, Fraction]] = {}
    open_ends: list[tuple[History, Fraction, Fraction]] = [((), Fraction(1), Fraction(1))]
    while open_ends:
        history, p, q = open_ends.pop()
        pair = strategy(history)
        if pair is None:
            done[history] = (p, q)
            continue
        first, second = pair
        for y in first.keys() | second.keys():
            after = (p * first.get(y, Fraction(0)), q * second.get(y, Fraction(0)))
            if any(after):
                open_ends.append(((*history, y), *after))
    return done


def delta_at(joint: Mapping[Any, tuple[Fraction, Fraction]], epsilon: float) -> float:
    """The hockey-stick divergence of the two laws, the larger of both directions."""
    grown = as_fraction(mpmath.exp(mpmath.mpf(epsilon)))
    there = sum((max(p - grown * q, Fraction(0)) for p, q in joint.values()), Fraction(0))
    back = sum((max(q - grown * p, Fraction(0)) for p, q in joint.values()), Fraction(0))
    return float(max(there, back))


def as_fraction(number: Any) -> Fraction:
    """A 50-digit number as a fraction, exactly."""
    sign, mantissa, exponent, _ = number._mpf_
    return Fraction(int(mantissa) * (-1 if sign else 1)) * Fraction(Fraction(2) ** int(exponent))


def response(epsilon: float, delta: float) -> Pair:
    """Randomized response, from its definition."""
    grown = as_fraction(mpmath.exp(mpmath.mpf(epsilon)))
    rest = 1 - Fraction(delta)
    first: Law = {0: Fraction(delta), 1: rest * grown / (1 + grown), 2: rest / (1 + grown)}
    second: Law = {3: Fraction(delta), 2: rest * grown / (1 + grown), 1: rest / (1 + grown)}
    return first, second
