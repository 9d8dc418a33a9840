"""From (epsilon, delta) to a Rényi budget at one order, and the order that leaves the most room.

**Conversion** (Canonne, Kamath and Steinke 2020, proposition 12), for measures of any total. Let p~ be the
density of P~, q that of Q, l = log(p~/q), and the integral of p~^a q^(1-a) at most e^((a-1)·r). Then

    P~(A) - e^eps Q(A) <= integral of (p~ - e^eps q)+ = integral over P~ of (1 - e^(eps - l))+
                       <= e^((a-1)·(r - eps)) · (1/a)·(1 - 1/a)^(a-1),                                   (1)

because (1 - e^-x)+ <= c·e^((a-1)·x) for every real x, with c = (1/a)·(1 - 1/a)^(a-1), the largest value of
(1 - e^-x)·e^(-(a-1)·x) (at e^-x = 1 - 1/a). Nowhere does the total of P~ enter. Setting the right side of
(1) to delta gives the largest budget

    r(a) = epsilon + log(a/(a-1)) + (log delta + log a)/(a-1).                                           (2)
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

UNIT = 2.0**-53
# Rounding of (2): every term is within a few units of its size, the logarithm of delta within one of one.
_ROUNDING = 16 * UNIT
# Orders among which the best is looked for: the step is 0.5 % of a - 1.
SMALLEST_EXCESS, LARGEST_EXCESS = 1e-3, 1e9
_POINTS = 5600


def renyi_budget(epsilon: Fraction, delta: Fraction, order: float) -> float:
    """r(a) of (2), rounded down; it may be negative, which leaves nothing to spend."""
    excess = order - 1
    terms = (
        float(epsilon),
        math.log1p(1 / excess),
        math.log(float(delta)) / excess,
        math.log(order) / excess,
    )
    size = sum(abs(term) for term in terms) + 1 / excess
    return math.fsum(terms) - _ROUNDING * size


def best_order(epsilon: Fraction, delta: Fraction) -> float:
    """The order that leaves the most room for Gaussian noise, to four digits.

    A Gaussian release costs a·rho at order a, so r(a)/a is the rho that fits; its largest value on a grid.
    """
    excess = np.geomspace(SMALLEST_EXCESS, LARGEST_EXCESS, _POINTS)
    log_delta = math.log(float(delta))
    budget = float(epsilon) + np.log1p(1 / excess) + (log_delta + np.log1p(excess)) / excess
    best = float(excess[int(np.argmax(budget / (1 + excess)))])
    return 1 + float(f"{best:.3e}")
