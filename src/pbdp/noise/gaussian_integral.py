"""Integrals of exp(quadratic) over an interval, in logs and without cancellation.

Masses of Gaussian noise and Rényi moments of Gaussian and Laplace noise are sums of such integrals. Each is
taken from the point of the interval where the exponent peaks: what is left falls from one, so nothing
overflows, and the distance to a peak that lies far outside the interval never enters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from pbdp import special
from pbdp.noise.kernel import Array, ArrayLike

# So many points integrate exp of a quadratic that falls by at most one with an error below 1e-17.
POINTS = 8


@lru_cache
def gauss_legendre(points: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1]; numpy's polynomials are loaded when they are first needed."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return (nodes + 1) / 2, weights / 2


def falling_integral(width: ArrayLike, fall: ArrayLike, curvature: float) -> Array:
    """Integral over 0 <= t <= width of exp(-fall t + curvature t²/2), fall >= 0 and curvature <= 0.

    For curvature -k < 0, with a = fall/√(2k) and D the whole drop of the exponent, it is
    √(π/2k) (erfcx(a) - exp(-D) erfcx(a + width √(k/2))) (DLMF 7.2 and 7.7). Where D < 1 the difference would
    cancel and Gauss-Legendre takes its place. Relative error about 1e-15 for exact arguments; `width` may be
    infinite.
    """
    width, fall = np.broadcast_arrays(np.asarray(width, dtype=np.float64), np.asarray(fall, dtype=np.float64))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if curvature == 0:
            drop = width * fall
            return np.where(drop > 0, -np.expm1(-drop) / fall, width)
        drop = width * (fall - curvature * width / 2)
        root = math.sqrt(-2 * curvature)
        start = fall / root
        far = special.erfcx(start + width * root / 2)
        wide = (math.sqrt(math.pi) / root) * (special.erfcx(start) - np.exp(-drop) * far)
    narrow = drop < 1
    if not narrow.any():
        return np.asarray(wide)
    nodes, weights = gauss_legendre(POINTS)
    t = np.where(narrow, width, 0.0)[..., None] * nodes
    inner = np.exp(-t * (np.where(narrow, fall, 0.0)[..., None] - curvature * t / 2)) @ weights
    return np.where(narrow, width * inner, wide)


def log_integral(
    low: ArrayLike,
    high: ArrayLike,
    vertex: ArrayLike,
    *,
    exponent: Callable[[Array], Array],
    slope: Callable[[Array], Array],
    curvature: float,
) -> Array:
    """Log of the integral of exp(exponent(y)) over [low, high]; -inf where low >= high.

    On [low, high] the exponent must be a quadratic with this curvature that rises up to `vertex` and falls
    beyond it: +inf and -inf stand for one that rises or falls all the way. The error is that of the
    exponent at its peak, plus about 1e-15.
    """
    low, high, vertex = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (low, high, vertex)))
    some = low < high
    if not some.any():
        return np.full(some.shape, -np.inf)
    low, high = np.where(some, low, 0.0), np.where(some, high, 0.0)
    peak = np.clip(vertex, low, high)
    rise = slope(peak)
    right = falling_integral(high - peak, np.maximum(-rise, 0.0), curvature)
    left = falling_integral(peak - low, np.maximum(rise, 0.0), curvature)
    with np.errstate(divide="ignore"):
        return np.where(some, exponent(peak) + np.log(left + right), -np.inf)
