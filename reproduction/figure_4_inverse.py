"""Beside Figure 4: the inverse-CDF sampler that the paper proposes, in doubles, and what its outputs tell.

The paper draws u uniformly and releases y = Q + G(u), G being the quantile function of the boosted noise. In
exact arithmetic that is the boosted law. In doubles u is one of 2^53 numbers, so only some doubles are
outputs at an answer Q, and others at Q' (Mironov 2012 found the same of the Laplace mechanism). An output
that cannot come from Q' tells that the answer is not Q', whatever ε was promised. `impossible` counts them: a
double y comes from Q' only if Q' + G(u) rounds to it for a u next to F(y - Q'), and all of those are tried.

pbdp draws whole numbers of steps from a table of whole-number weights instead: the same outputs for every
answer, each with exactly the probability that was accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import boost_for
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Array
from reproduction.experiment import Finding, Row

BITS = 53
# How many u on either side of F(y - Q') are tried; rounding moves it by a few.
NEXT = 64
DRAWS, SEED = 4000, 2012


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseSampler:
    """Boosted Gaussian noise by the inverse of its distribution function, as one writes it in doubles."""

    sigma: float
    boost: float
    half_width: float

    @property
    def _below(self) -> float:
        return float(ndtr(-self.half_width / self.sigma))

    @property
    def _constant(self) -> float:
        return 1 - 2 * self.boost * self._below

    def cdf(self, noise: Array) -> Array:
        """F: outside the region the kernel's times 1 - q, inside it the kernel's, over the constant."""
        plain = ndtr(noise / self.sigma)
        inside = np.clip(plain - self._below, 0.0, 1 - 2 * self._below)
        return np.asarray(((1 - self.boost) * plain + self.boost * inside) / self._constant)

    def quantile(self, u: Array) -> Array:
        """G, piece by piece."""
        total, rest = u * self._constant, 1 - self.boost
        low, high = rest * self._below, 1 - self.boost * self._below - self._below
        plain = np.where(
            total < low,
            total / rest,
            np.where(
                total <= high,
                total + self.boost * self._below,
                (total - self.boost * (1 - 2 * self._below)) / rest,
            ),
        )
        return np.asarray(self.sigma * ndtri(np.clip(plain, 0.0, 1.0)))

    def impossible(self, outputs: Array, other: float) -> int:
        """How many of these outputs no u gives at the other answer."""
        nearest = np.round(self.cdf(outputs - other) * 2.0**BITS)
        steps = np.arange(-NEXT, NEXT + 1)
        u = np.clip(nearest[:, None] + steps, 1, 2.0**BITS - 1) / 2.0**BITS
        return int(np.sum(~np.any(other + self.quantile(u) == outputs[:, None], axis=1)))


def inverse_row(width: float, confidence: float, sigma: float, sensitivity: float) -> Row:
    """Outputs at 0, and how many of them cannot come from its neighbor."""
    boost = boost_for(Gaussian(sigma=sigma), AbsoluteRegion.even(width / 2), confidence)
    sampler = InverseSampler(sigma=sigma, boost=boost, half_width=width / 2)
    u = np.random.default_rng(SEED).integers(1, 1 << BITS, DRAWS).astype(np.float64) / 2.0**BITS
    outputs = sampler.quantile(u)
    return {
        "width": width,
        "sigma": sigma,
        "boost": boost,
        "draws": DRAWS,
        "impossible": sampler.impossible(outputs, sensitivity),
        "impossible_here": sampler.impossible(outputs, 0.0),
    }


def inverse_finding(row: Row) -> Finding:
    """Why a table is drawn from instead."""
    draws, found, here = (float(str(row[name])) for name in ("draws", "impossible", "impossible_here"))
    share = found / draws
    return Finding(
        text="For the noise itself the paper proposes inverse-transform sampling (Section III-A), with "
        "rejection where that is hard; the times of its figure, which fall with the number of iterations, "
        "are those of rejection. In exact arithmetic either is right. In doubles an inverse distribution "
        f"function reaches other outputs at each answer: of {draws:,.0f} outputs at Q = 0 (|S| = "
        f"{row['width']:g}, 53 random bits) {100 * share:.1f} % cannot occur at Q' = 1 at all ({here:.0f} of "
        "them not at Q = 0, where they came from). Each of these tells the two answers apart, so no δ below "
        "that share holds at any ε. This is not particular to boosting. It is why pbdp draws from tables of "
        "whole-number weights, whose outputs are the same at every answer.",
        figures={"impossible_share": share, "impossible_where_drawn": here / draws},
    )
