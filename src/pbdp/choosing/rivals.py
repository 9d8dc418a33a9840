"""What else could choose, with its epsilon for the same accuracy, each certified from whole-number tables.

n is the gap of a loser and D by how much a gap and another one can move together, in steps (see `coins`); k
is the number of options. At worst one option is best and all others lose: raising a loser's score, or
lowering that of a good one, never makes a good one likelier in any of these laws.

**Exponential mechanism**: P(i) = w(gap)/sum of all w, for a table of falling weights w. Between neighbors the
weight of an option grows by a factor of at most R(s - m), and all others shrink by at most R(m + s), with R
and m as in `coins`. So the bound for coins of the same weights holds, and 1/(1 + (k - 1)·c(n)) is how often
it is right.

**Boosted** (the paper's law): options that are good are preferred by a factor e^y, all the same among
themselves. R(h) is e^y for every h > 0, so epsilon is 2y, or y where D = 1; it pays where n < D/2.

**Noisy maximum**: noise of a table on every score, and the largest one wins. Given the noise of all others,
option i wins if its own is some t or more; between neighbors t moves by at most D. With S(t) = P(noise >= t)

    P(i) - e^epsilon·P'(i) <= max over t of S(t) - e^epsilon·S(t + D) = d,

whatever the scores, so that all options together have (epsilon, k·d). Tables end, so this law needs a delta.
It is right at least with probability sum of P(r)·P(noise < r + n)^(k - 1), ties lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pbdp.choosing.coins import coins_for
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.noise.kernel import LatticeKernel
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.root_finding import least_enough

# Of laws that need a delta where none is given.
DELTA = 1e-9
# What sums and powers of probabilities may be off by.
_ROUNDING = 1e-12
# Beyond it tables of noise would take seconds to look through.
_WIDEST = 1 << 13


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """So many options, so sure, losers so far behind, and by how much gaps move together."""

    options: int
    confidence: float
    gap: int
    moved: int


def exponential(asked: Question) -> float:
    """Epsilon of the exponential mechanism: weights that fall evenly."""
    coin = _coin(asked)
    # steps of one even where longer ones would pay, as it is known
    return coins_for(coin, asked.gap, asked.moved, stride=1).epsilon(asked.moved)


def boosted_exponential(asked: Question) -> float:
    """Epsilon of weights that are the same for all good options, and the same for all losers."""
    coin = _coin(asked)
    if coin >= 1:
        return 0.0
    weight = math.floor(coin * TOTAL)
    once = math.log(TOTAL / weight) * (1 + _ROUNDING)
    return once if asked.moved == 1 else 2 * once


def _coin(asked: Question) -> float:
    """The largest weight of a loser, against the best, with which it is right often enough; a hair less."""
    odds = (asked.options - 1) * asked.confidence
    return min((1 - asked.confidence) / odds, 1.0) * (1 - _ROUNDING) if odds > 0 else 1.0


def noisy_maximum(family: str, asked: Question, delta: float = DELTA) -> float | None:
    """Epsilon at delta of noise of a family on every score; None if no table will do."""
    kernels: dict[str, Callable[[float], LatticeKernel]] = {
        "laplace": lambda scale: DiscreteLaplace(scale=scale),
        "gaussian": lambda scale: DiscreteGaussian(sigma=scale),
    }

    def table(scale: float) -> WeightTable:
        return Design(
            grid=whole_numbers(), kernel=kernels[family](scale), region=AbsoluteRegion.even(1.0)
        ).table_at(0.0)

    # hardly any noise is right whenever any is
    if asked.gap > _WIDEST or right_with(table(1 / 64), asked) < asked.confidence:
        return None
    # the widest noise that is right often enough: the least of 1/scale
    about = math.log(asked.options / (1 - asked.confidence)) / asked.gap
    least = least_enough(
        lambda inverse: asked.confidence - right_with(table(1 / inverse), asked),
        about,
        close=1e-5,
        beside=1.1,
    )
    return loss_of(table(1 / least), asked, delta)


def right_with(noise: WeightTable, asked: Question) -> float:
    """How often the largest noisy score is a good one, at least."""
    masses = noise.probabilities()
    below = np.concatenate([np.cumsum(masses), np.ones(asked.gap)])[asked.gap - 1 :][: len(masses)]
    with np.errstate(divide="ignore"):
        powers = np.exp((asked.options - 1) * np.log(np.minimum(below, 1.0)))
    return float(masses @ powers) - asked.options * _ROUNDING * 1e-3 - _ROUNDING


def loss_of(noise: WeightTable, asked: Question, delta: float) -> float | None:
    """Epsilon at delta of noise on every score."""
    tails = np.concatenate([np.cumsum(noise.weights[::-1])[::-1], np.zeros(asked.moved, dtype=np.int64)])
    near, far = tails[: len(noise.weights)].astype(np.float64), tails[asked.moved :].astype(np.float64)
    near, far = near / TOTAL * (1 + 2.0**-50), far[: len(near)] / TOTAL * (1 - 2.0**-50)

    def missing(epsilon: float) -> float:
        return asked.options * float(np.max(near - math.exp(epsilon) * far)) - delta

    low, high = 0.0, 1.0
    while missing(high) > 0:
        low, high = high, 2 * high
        if high > 500:
            return None
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if missing(middle) <= 0 else (middle, high)
    return high
