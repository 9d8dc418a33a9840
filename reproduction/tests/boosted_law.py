"""The boosted Gaussian once more: densities on a fine grid, sums for integrals. Nothing of the package."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Law:
    """density · w / C at one answer."""

    sigma: float
    boost: float
    answer: float
    low: float
    high: float

    def density(self, y: Array) -> Array:
        inside = (y >= self.low) & (y <= self.high)
        p = norm.cdf(self.high, self.answer, self.sigma) - norm.cdf(self.low, self.answer, self.sigma)
        constant = 1 - self.boost * (1 - p)
        weight = np.where(inside, 1.0, 1 - self.boost)
        return np.asarray(norm.pdf(y, self.answer, self.sigma) * weight / constant)


def absolute(sigma: float, boost: float, answer: float, tau: float) -> Law:
    return Law(sigma=sigma, boost=boost, answer=answer, low=answer - tau, high=answer + tau)


def relative(sigma: float, boost: float, answer: float, tau: float, theta: float) -> Law:
    return absolute(sigma, boost, answer, theta * abs(answer) + tau)


def boost_of(sigma: float, tau: float, rho: float) -> float:
    """Equation 3 for a region of half-width tau."""
    p = norm.cdf(tau / sigma) - norm.cdf(-tau / sigma)
    return float(max(0.0, (rho - p) / (rho * (1 - p))))


def plain_sigma(tau: float, rho: float) -> float:
    return float(tau / norm.ppf((1 + rho) / 2))


def grid(one: Law, two: Law, order: float = 1.0, points: int = 200_000) -> tuple[Array, Array]:
    """Middles and widths of cells between the ends of the regions, where the densities are smooth.

    They reach twelve σ beyond either answer, further for a high order.
    """
    reach = 12 * one.sigma + order * abs(one.answer - two.answer)
    low, high = min(one.answer, two.answer) - reach, max(one.answer, two.answer) + reach
    ends = {end for law in (one, two) for end in (law.low, law.high) if low < end < high}
    cuts = sorted({low, high} | ends)
    edges = [np.linspace(a, b, points + 1) for a, b in pairwise(cuts)]
    middles = np.concatenate([(e[1:] + e[:-1]) / 2 for e in edges]).astype(np.float64)
    return middles, np.concatenate([np.diff(e) for e in edges]).astype(np.float64)


def delta(one: Law, two: Law, epsilon: float) -> float:
    """Integral of the positive part of p - e^epsilon p'."""
    y, width = grid(one, two)
    return float(np.maximum(one.density(y) - np.exp(epsilon) * two.density(y), 0.0) @ width)


def renyi(one: Law, two: Law, order: float) -> float:
    """log of the integral of p^order p'^(1-order), over order - 1."""
    y, width = grid(one, two, order)
    with np.errstate(divide="ignore"):
        logs = order * np.log(one.density(y)) + (1 - order) * np.log(two.density(y))
    top = logs.max()
    return float((top + np.log(np.exp(logs - top) @ width)) / (order - 1))
