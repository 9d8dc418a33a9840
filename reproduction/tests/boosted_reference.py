"""Boosted Gaussians written down again with sums and plain formulas, to hold the package against."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import norm

Ends = tuple[float, float]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(120)


def log_density(
    y: npt.ArrayLike, answer: float, ends: Ends, sigma: float, boost: float
) -> npt.NDArray[np.float64]:
    """Log of the boosted density, normalized by its own sum."""
    y = np.asarray(y, dtype=np.float64)
    inside = ndtr((ends[1] - answer) / sigma) - ndtr((ends[0] - answer) / sigma)
    with np.errstate(divide="ignore"):
        weight = np.log(np.where((y >= ends[0]) & (y <= ends[1]), 1.0, 1 - boost))
    bell = -(((y - answer) / sigma) ** 2) / 2 - math.log(sigma * math.sqrt(2 * math.pi))
    return np.asarray(weight + bell - math.log(inside + (1 - boost) * (1 - inside)))


def density(
    y: npt.ArrayLike, answer: float, ends: Ends, sigma: float, boost: float
) -> npt.NDArray[np.float64]:
    """The boosted density."""
    return np.exp(log_density(y, answer, ends, sigma, boost))


def _cuts(sigma: float, *points: float) -> list[float]:
    """The points, and others in between, none further apart than three sigma."""
    low, high = min(points), max(points)
    return sorted({*points, *np.arange(low, high, 3 * sigma).tolist()})


def _nodes(left: float, right: float) -> npt.NDArray[np.float64]:
    return np.asarray((left + right) / 2 + (right - left) / 2 * NODES)


def hockey_stick(
    answer: float, other: float, ends: Ends, other_ends: Ends, *, sigma: float, boost: float, epsilon: float
) -> float:
    """The integral of the positive part of p(y|Q) - e^ε p(y|Q'), crossing by crossing."""

    def gap(y: npt.ArrayLike) -> npt.NDArray[np.float64]:
        first = density(y, answer, ends, sigma, boost)
        return np.asarray(first - math.exp(epsilon) * density(y, other, other_ends, sigma, boost))

    reach = min(answer, other) - 12 * sigma, max(answer, other) + 12 * sigma
    total = 0.0
    for left, right in pairwise(_cuts(sigma, *reach, *ends, *other_ends)):
        low, high = left + 1e-11 * sigma, right - 1e-11 * sigma
        at_low, at_high = float(gap(low)), float(gap(high))
        if at_low <= 0 and at_high <= 0:
            continue
        if at_low < 0 < at_high:
            low = float(brentq(lambda y: float(gap(y)), low, high))
        elif at_high < 0 < at_low:
            high = float(brentq(lambda y: float(gap(y)), low, high))
        total += (high - low) / 2 * float(WEIGHTS @ gap(_nodes(low, high)))
    return total


def renyi(
    answer: float, other: float, ends: Ends, other_ends: Ends, *, sigma: float, boost: float, order: float
) -> float:
    """log of the integral of p(y|Q)^α p(y|Q')^(1-α), over (α - 1)."""
    # the integrand of the plain kernel has its peak at Q + (α-1)(Q-Q')
    peak = answer + (order - 1) * (answer - other)
    total = 0.0
    for left, right in pairwise(
        _cuts(sigma, peak - 12 * sigma, peak + 12 * sigma, answer, *ends, *other_ends)
    ):
        y = _nodes(left, right)
        first = log_density(y, answer, ends, sigma, boost)
        log_moment = order * first + (1 - order) * log_density(y, other, other_ends, sigma, boost)
        total += (right - left) / 2 * float(WEIGHTS @ np.exp(log_moment))
    return math.log(total) / (order - 1)


def printed_l1(width: float, sensitivity: float, sigma: float, boost: float) -> float:
    """L1 of Proposition 5, letter by letter."""
    phi = norm(scale=sigma).cdf
    above = 1 - (1 - phi(width - sensitivity) + phi(-sensitivity)) * boost
    return float(np.log(above / (1 - (1 - phi(width) + phi(0)) * boost)))


def printed_rate(rho: float, inside: float) -> float:
    """q of Equation 3, letter by letter."""
    return 1 / rho + 1 / (1 - inside) - 1 / (rho * (1 - inside))


def gaussian_delta(epsilon: float, sensitivity: float, sigma: float) -> float:
    """delta_Z of a Gaussian (Balle and Wang 2018)."""
    half, rest = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    return float(norm.cdf(half - rest) - math.exp(epsilon) * norm.cdf(-half - rest))
