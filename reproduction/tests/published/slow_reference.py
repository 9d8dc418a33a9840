"""The published formulas once more, slowly: mpmath, integrals for closed forms, loops for arrays.

Nothing here is shared with the package. delta_Z and the Rényi divergence are integrals of the two densities.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Any

from mpmath import MPContext

mp = MPContext()  # one of its own: the precision of mpmath's global context is anybody's
mp.dps = 16

Number = Any
Density = Callable[[Number], Number]


def normal_log_density(sigma: float) -> Density:
    """Log density: powers of it are products."""
    return lambda x: -((x / mp.mpf(sigma)) ** 2) / 2 - mp.log(sigma * mp.sqrt(2 * mp.pi))


def normal_cdf(sigma: float) -> Density:
    return lambda x: mp.ncdf(mp.mpf(x) / sigma)


def laplace_log_density(scale: float) -> Density:
    """Log density."""
    return lambda x: -abs(x) / mp.mpf(scale) - mp.log(2 * mp.mpf(scale))


def laplace_cdf(scale: float) -> Density:
    def cdf(x: Number) -> Number:
        tail = mp.exp(-abs(mp.mpf(x)) / scale) / 2
        return tail if x <= 0 else 1 - tail

    return cdf


def hockey_stick(
    log_density: Density, shift: float, epsilon: Number, crossing: Number, scale: float
) -> Number:
    """Integral of f(y) - e^epsilon f(y - shift) below the crossing, where it is positive."""
    reach = 36 * mp.mpf(scale) + shift
    cuts = sorted({-reach, *(c for c in (mp.mpf(0), mp.mpf(shift)) if c < crossing), min(crossing, reach)})
    return mp.quad(
        lambda y: mp.exp(log_density(y)) - mp.exp(epsilon + log_density(y - shift)), _fine(cuts, scale)
    )


def _fine(cuts: list[Number], scale: float) -> list[Number]:
    """The same cuts with steps of at most six scales between them."""
    points = [cuts[0]]
    for low, high in pairwise(cuts):
        pieces = int(mp.ceil((high - low) / (6 * mp.mpf(scale)))) or 1
        points += [low + (high - low) * i / pieces for i in range(1, pieces + 1)]
    return points


def normal_delta(sigma: float, shift: float, epsilon: Number) -> Number:
    s, d = mp.mpf(sigma), mp.mpf(shift)
    return hockey_stick(normal_log_density(sigma), shift, epsilon, d / 2 - epsilon * s**2 / d, sigma)


def normal_delta_closed(sigma: Number, shift: Number, epsilon: Number) -> Number:
    m = mp.mpf(shift) / sigma
    return mp.ncdf(m / 2 - epsilon / m) - mp.exp(epsilon) * mp.ncdf(-m / 2 - epsilon / m)


def laplace_delta(scale: float, shift: float, epsilon: Number) -> Number:
    a = mp.mpf(shift) / scale
    if epsilon >= a:
        return mp.mpf(0)
    crossing = mp.inf if epsilon < -a else (mp.mpf(shift) - epsilon * mp.mpf(scale)) / 2
    return hockey_stick(laplace_log_density(scale), shift, epsilon, crossing, scale)


def renyi(log_density: Density, shift: float, order: float, scale: float) -> Number:
    """log of the integral of f(y)^alpha f(y - shift)^(1-alpha), over alpha - 1."""
    reach = 36 * mp.mpf(scale) + order * mp.mpf(shift)
    points = _fine([-reach, mp.mpf(0), mp.mpf(shift), reach], scale)
    total = mp.quad(lambda y: mp.exp(order * log_density(y) + (1 - order) * log_density(y - shift)), points)
    return mp.log(total) / (order - 1)


def mixture(
    weights: tuple[Number, Number], shift: Number, step: Number, profile: Density, epsilon: Number
) -> Number:
    """Proposition 1."""
    w1, w2 = weights
    e = epsilon - shift
    return w1 * profile(e - step) + w2 * profile(e + step) + (1 - w1 - w2) * profile(e)


def composed(
    weights: tuple[Number, Number],
    shift: Number,
    step: Number,
    profile: Density,
    *,
    epsilon: Number,
    releases: int,
) -> Number:
    """Proposition 3, term by term; `profile` is that of all the kernels together."""
    w1, w2 = weights
    total = mp.mpf(0)
    for e1 in range(releases + 1):
        for e2 in range(releases - e1 + 1):
            ways = comb(releases, e1) * comb(releases - e1, e2)
            chance = ways * w1**e1 * w2**e2 * (1 - w1 - w2) ** (releases - e1 - e2)
            total += chance * profile(epsilon - releases * shift - (e1 - e2) * step)
    return total


def step_probabilities(plus: Fraction, minus: Fraction, releases: int) -> list[Fraction]:
    """Lines 6 to 13 of Algorithm 1 in exact fractions, with the index e1 - e2 + T."""
    entries = [Fraction(0)] * (2 * releases + 1)
    for e1 in range(releases + 1):
        for e2 in range(releases - e1 + 1):
            ways = comb(releases, e1) * comb(releases - e1, e2)
            chance = ways * plus**e1 * minus**e2 * (1 - plus - minus) ** (releases - e1 - e2)
            entries[e1 - e2 + releases] += chance
    return entries
