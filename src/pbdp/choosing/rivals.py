"""What else could choose, with its epsilon for the same accuracy; and what no mechanism can go below.

All but the limit are for comparison: computed for ideal laws, none of them drawn. n is the gap of a loser and
D by how much a gap and another one can move together, in steps (see `coins`); k is the number of options.

**Exponential mechanism**: P(i) is proportional to e^(-z·gap). At worst one option is best and all others
lose: 1/(1 + (k - 1)·e^(-z·n)), and epsilon is z·D. **Boosted**: options that are good are e^y times likelier
still. A good option's gap may shrink while others cease to be good, so epsilon is z·D + 2y, and e^(-z·n)
becomes e^(-z·n - y): y > 0 pays only where n < D/2, and then z = 0 is best. **Laplace noise** on every score,
and the largest one is taken: epsilon is z·D with noise of scale 1/z.

**The limit.** Let any epsilon-DP mechanism choose a good option with probability `confidence`, whatever the
scores. When all scores are equal some option i is chosen with probability at most 1/k. Move its score up and
the others down until all others lose: ceil(n/D) neighbors one after the other. Option i is the only good one
then, so it is chosen with probability at least `confidence`. But from one neighbor to the next a probability
p gets at most to

    min(e^epsilon·p, 1 - e^-epsilon·(1 - p)).

The least epsilon with which it gets there is a limit for every mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pbdp.noise.kernel import Array

_NODES = 400


def exponential(options: int, confidence: float, gap: int, moved: int) -> float:
    """Epsilon of the exponential mechanism."""
    return _needed(options, confidence) * moved / gap


def boosted_exponential(options: int, confidence: float, gap: int, moved: int) -> float:
    """Epsilon of the exponential mechanism with good options preferred."""
    return _needed(options, confidence) * min(moved / gap, 2.0)


def _needed(options: int, confidence: float) -> float:
    odds = (options - 1) * confidence / (1 - confidence)
    return max(math.log(odds), 0.0) if odds > 0 else 0.0


def laplace(options: int, confidence: float, gap: int, moved: int) -> float:
    """Epsilon of Laplace noise on every score."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    u = (nodes + 1) / 2

    def below(x: Array) -> Array:
        half: Array = np.exp(-np.abs(x)) / 2
        return np.where(x < 0, half, 1 - half)

    noise = np.where(u < 0.5, np.log(2 * u), -np.log(2 * (1 - u)))

    def right(scaled: float) -> float:
        return float(np.sum(weights / 2 * below(noise + scaled) ** (options - 1)))

    return _least(lambda scaled: right(scaled) >= confidence) * moved / gap


def limit(options: int, confidence: float, gap: int, moved: int) -> float:
    """An epsilon below which no mechanism is right often enough, rounded down."""
    steps = -(-gap // moved)

    def gets_there(epsilon: float) -> bool:
        # up to where both ways of growing are equal by powers, then the rest by powers as well
        turn = 1 / (1 + math.exp(epsilon))
        p = 1 / options
        growing = 0
        if p < turn:
            growing = min(math.floor(math.log(turn / p) / epsilon) if epsilon > 0 else steps, steps)
            p *= math.exp(growing * epsilon)
            if growing < steps:
                p, growing = min(p * math.exp(epsilon), 1 - math.exp(-epsilon) * (1 - p)), growing + 1
        return 1 - math.exp(-(steps - growing) * epsilon) * (1 - p) >= confidence * (1 - 1e-12)

    return _least(gets_there, below=True) * (1 - 1e-12)


def _least(enough: Callable[[float], bool], *, below: bool = False) -> float:
    """The least number from which on it is enough, to 1e-12 of it; from below or from above."""
    if enough(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low if below else high
