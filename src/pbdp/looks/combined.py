"""One estimate of several looks with Gaussian-type noise, and how far off it is.

Looks y_i = Q + n_i on one grid, with sigmas s_i, are averaged with whole weights a_i, about in proportion to
their precisions 1/s_i²:

    estimate = (a_1·y_1 + ... + a_k·y_k) / W, rounded to a whole step,    W = a_1 + ... + a_k.

**By itself.** The estimate is within T steps if |a_1·n_1 + ... + a_k·n_k| < (T + 1/2)·W. The law of the sum
is that of the tables that are drawn from (`release.combination`). This holds if sigmas and weights were not
chosen because of earlier looks.

**Jointly.** If each look may be chosen after seeing the ones before, let e = sum of 1/s_i², A the mean of the
looks weighted by 1/s_i², and r > 0 fixed with the first look. With probability at least 1 - alpha, for all k
at once,

    |A - Q| <= sqrt((e + r)·ln((e + r)/(r·alpha²))) / e.

    Proof. Normal noise on the whole numbers has E exp(t·n) <= exp(t²·s²/2) for all t: completing the square
    leaves the ratio of the sums of exp(-(n - x)²/2s²) at x = t·s² and at x = 0, and by Poisson summation that
    sum is a series of cos(2·pi·m·x) with positive coefficients, largest at whole x (Canonne, Kamath and
    Steinke 2020). So exp(t·S - t²·e/2), S = sum of n_i/s_i², is a supermartingale for every t, whatever the
    past decides about s_i; and so is its mean over t normal with variance 1/r, which is
    sqrt(r/(r + e))·exp(S²/(2(r + e))) (Robbins 1970). By Ville's inequality it reaches 1/alpha with
    probability at most alpha. A - Q = S/e.                                                              []

    Tables are within 1e-11 of the law in total variation each, which is taken from alpha.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from pbdp.errors import CannotCertifyError
from pbdp.looks.procedure import sigma_for
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.release.combination import Term, law_of_sum

# Weights add up to about this, less where the sum of looks would need too long a table.
_WEIGHTS = 512
_LONGEST = 1 << 19
# The distance of a table from its law, with room.
_TABLE = 1e-11
_TRIES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """Several looks, in steps, as one."""

    sigmas: tuple[float, ...]
    values: tuple[int, ...]

    @property
    def weights(self) -> tuple[int, ...]:
        """Whole weights, about in proportion to the precisions."""
        return weights_of(self.sigmas)

    @property
    def precision(self) -> float:
        """The sum of 1/sigma²."""
        return sum(sigma**-2 for sigma in self.sigmas)

    @property
    def estimate(self) -> int:
        """The weighted mean of the looks, rounded to a whole step, halves up."""
        total = sum(weight * value for weight, value in zip(self.weights, self.values, strict=True))
        return math.floor(Fraction(total, sum(self.weights)) + Fraction(1, 2))

    def half_width(self, confidence: float) -> int:
        """The least steps that the estimate is within, with the confidence, by itself."""
        return half_width_of_sum(self.sigmas, confidence)

    def joint(self, confidence: float) -> tuple[float, float]:
        """Ends, in steps, that hold with the confidence whatever was decided after looking."""
        alpha = 1 - confidence - len(self.sigmas) * _TABLE
        if alpha <= 0:
            return -math.inf, math.inf
        held, first = self.precision, self.sigmas[0] ** -2
        far = math.sqrt((held + first) * math.log((held + first) / (first * alpha**2))) / held
        mean = sum(value * sigma**-2 for value, sigma in zip(self.values, self.sigmas, strict=True)) / held
        rounding = 1e-12 * (abs(mean) + far)
        return mean - far - rounding, mean + far + rounding


def next_sigma(sigmas: Sequence[float], half_width: int, confidence: float) -> float | None:
    """About the largest sigma of one more look with which all are within so many steps; None if they are."""
    if sigmas and half_width_of_sum(tuple(sigmas), confidence) <= half_width:
        return None
    needed = sigma_for(half_width, confidence) ** -2 - sum(sigma**-2 for sigma in sigmas)
    needed = max(needed, 1e-4 * sigma_for(half_width, confidence) ** -2)
    for number in range(_TRIES):
        sigma = float(f"{needed**-0.5:.6g}")
        if half_width_of_sum((*sigmas, sigma), confidence) <= half_width:
            return sigma
        needed *= 1.002 + 0.001 * number
    raise CannotCertifyError("These looks cannot be made this precise together. Ask anew, for a fixed width.")


def weights_of(sigmas: tuple[float, ...]) -> tuple[int, ...]:
    """Whole weights in proportion to 1/sigma², of a total that keeps the table of the sum short."""
    precisions = [sigma**-2 for sigma in sigmas]
    # the sum of looks reaches about this many steps for weights that add up to one
    reach = 20 * sum(p**0.5 for p in precisions) / sum(precisions)
    total = max(min(_WEIGHTS, _LONGEST / reach), 1.0)
    found = [round(total * p / sum(precisions)) for p in precisions]
    if not any(found):
        found[precisions.index(max(precisions))] = 1
    return tuple(found)


@lru_cache(maxsize=256)
def half_width_of_sum(sigmas: tuple[float, ...], confidence: float) -> int:
    """The least T with P(|a_1·n_1 + ...| < (T + 1/2)·W) >= confidence, rounded up."""
    weights = weights_of(sigmas)
    terms = [
        Term(table=_table(sigma), weight=Fraction(weight))
        for sigma, weight in zip(sigmas, weights, strict=True)
    ]
    least, total = law_of_sum(terms).half_width(confidence), sum(weights)
    # the least T with (T + 1/2)·W above it
    return max((2 * least - total) // (2 * total) + 1, 0)


def _table(sigma: float) -> WeightTable:
    """The table of a look: the one that is drawn from."""
    region = AbsoluteRegion.even(1.0)
    design = Design(grid=whole_numbers(), kernel=DiscreteGaussian(sigma=sigma), region=region)
    return design.table_at(0.0)
