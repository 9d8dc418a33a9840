"""Privacy figures of continuous noise by Gauss-Legendre sums, for laws that have no sum to enumerate.

The line is cut at the region ends of both laws, at the kinks of both kernels and into panels of one scale at
most, so that on a panel both densities are smooth and their ratio is monotone. A panel on which the ratio
crosses e^epsilon is cut once more, at the crossing, found by bisection.

Sixteen nodes a panel leave an error below 1e-17; what counts is rounding, a few units in the last place of
each law's total of one. `ROUNDING` bounds it and is the only allowance in a comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ROUNDING = 4e-15
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
# Points at which a loss is looked at in one step toward its crossing.
LOOKS = 65


@dataclass(frozen=True, slots=True, kw_only=True)
class Density:
    """A kernel's log-density up to a constant, where it is not smooth, its scale and how far it reaches."""

    log_weight: Callable[[Array], Array]
    kinks: tuple[float, ...]
    scale: float
    reach: float


def gaussian(sigma: float) -> Density:
    return Density(log_weight=lambda x: -((x / sigma) ** 2) / 2, kinks=(), scale=sigma, reach=12 * sigma)


def laplace(scale: float) -> Density:
    return Density(log_weight=lambda x: -np.abs(x) / scale, kinks=(0.0,), scale=scale, reach=46 * scale)


def staircase(loss: float, width: float, center: float) -> Density:
    def log_weight(x: Array) -> Array:
        return np.asarray(-loss * np.maximum(np.ceil((np.abs(x) - center) / width), 0))

    # edges beyond the reach as well, for Rényi sums, which look further
    steps = math.ceil(46 / loss)
    edges = [center + j * width for j in range(steps + 50)]
    return Density(
        log_weight=log_weight, kinks=(*(-e for e in edges), *edges), scale=width, reach=center + steps * width
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """The boosted law of noise around `answer`, its region [low, high] in outputs."""

    density: Density
    answer: float
    low: float
    high: float
    boost: float

    def cuts(self) -> Array:
        """Where the density is not smooth."""
        ends = [end for end in (self.low, self.high) if math.isfinite(end)]
        return np.array([*ends, *(self.answer + k for k in self.density.kinks)])

    def log_weight(self, y: Array) -> Array:
        """Log-density up to the normalizer; a panel's middle tells on which side of a region end it lies."""
        middle = y.mean(axis=-1, keepdims=True)
        inside = (middle >= self.low) & (middle <= self.high)
        with np.errstate(divide="ignore"):
            return self.density.log_weight(y - self.answer) + np.where(inside, 0.0, np.log1p(-self.boost))

    def log_total(self) -> float:
        """Log of the integral of the weights."""
        return _log_total(self)


@lru_cache(maxsize=64)
def _log_total(law: Law) -> float:
    """Kept, as one law is compared with several."""
    reach = law.density.reach
    left, right = panels(law.cuts(), law.answer - reach, law.answer + reach, law.density.scale)
    y, w = nodes(left, right)
    return math.log(math.fsum((w * np.exp(law.log_weight(y))).ravel()))


def panels(cuts: Array, low: float, high: float, scale: float) -> tuple[Array, Array]:
    """Left and right ends of the panels of [low, high]."""
    even = np.linspace(low, high, math.ceil((high - low) / scale) + 1)
    edges = np.unique(np.clip(np.concatenate([even, cuts]), low, high))
    return edges[:-1], edges[1:]


def nodes(left: Array, right: Array) -> tuple[Array, Array]:
    """Gauss-Legendre points and weights of every panel."""
    half = ((right - left) / 2)[:, None]
    return (left + right)[:, None] / 2 + half * NODES, half * WEIGHTS


def delta(first: Law, second: Law, epsilon: float) -> float:
    """Integral of max(0, first - e^epsilon second)."""
    total1, total2 = first.log_total(), second.log_total()

    def loss(y: Array) -> Array:
        with np.errstate(invalid="ignore"):
            gap = (first.log_weight(y) - total1) - (second.log_weight(y) - total2)
        return np.where(np.isnan(gap), -np.inf, gap)

    left, right = _shared(first, second)
    width = right - left
    # the ends are looked at from just inside, where a jump has not happened yet
    ends = np.stack([left + 1e-12 * width, right - 1e-12 * width], axis=-1)
    above = loss(ends) > epsilon
    start, stop = left.copy(), right.copy()
    crossed = np.flatnonzero(above[:, 0] != above[:, 1])
    for panel in crossed:
        cut = _crossing(loss, epsilon, float(left[panel]), float(right[panel]))
        if above[panel, 0]:
            stop[panel] = cut
        else:
            start[panel] = cut
    kept = above.any(axis=1)
    # weights are decided by the whole panel's middle, which lies on the same side as that of its part
    y, w = nodes(start[kept], stop[kept])
    growth = math.exp(epsilon)
    gain = np.exp(first.log_weight(y) - total1) - growth * np.exp(second.log_weight(y) - total2)
    return math.fsum((w * gain).ravel())


def renyi(first: Law, second: Law, order: float) -> float:
    """log of the integral of first^order second^(1-order), over order - 1."""
    total1, total2 = first.log_total(), second.log_total()
    y, w = nodes(*_shared(first, second, tilt=order))
    exponent = order * (first.log_weight(y) - total1) + (1 - order) * (second.log_weight(y) - total2)
    top = float(np.max(exponent))
    return (math.log(math.fsum((w * np.exp(exponent - top)).ravel())) + top) / (order - 1)


def _shared(first: Law, second: Law, tilt: float = 1.0) -> tuple[Array, Array]:
    """Panels that suit both laws."""
    reach = first.density.reach + 3 * (tilt - 1) * abs(first.answer - second.answer)
    low, high = min(first.answer, second.answer) - reach, max(first.answer, second.answer) + reach
    return panels(np.concatenate([first.cuts(), second.cuts()]), low, high, first.density.scale)


def _crossing(loss: Callable[[Array], Array], level: float, left: float, right: float) -> float:
    """Where a loss that passes `level` once between left and right does so."""
    low, high = left, right
    rising = bool(loss(np.array([[left, (left + right) / 2, right]]))[0, 0] <= level)
    while (low + high) / 2 not in (low, high):
        # both ends of the panel go along, so that the middle of all stays inside the panel
        inner = np.linspace(low, high, LOOKS)
        above = loss(np.concatenate([[left], inner, [right]])[None])[0, 1:-1] > level
        # the first look beyond the crossing, but never an end of the bracket itself
        first = int(np.argmax(np.append((above == rising)[1:-1], True))) + 1
        low, high = float(inner[first - 1]), float(inner[first])
    return (low + high) / 2
