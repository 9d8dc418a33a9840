"""Where the composed loss has to be looked at: log-moments, the tilt and a first idea of epsilon.

Multiplying every mass by e^(tilt·loss) and dividing by the total moves the mean of the composed loss to

    epsilon = K'(tilt),      K = sum over releases of count · ln E e^(tilt·loss),

so a tail of probability 1e-12 becomes the middle of the tilted law. There the composed loss is nearly
normal with variance s² = K'', which gives the estimate

    delta = e^(K - tilt·epsilon) · E[e^(-tilt·Z s) (1 - e^(-Z s)); Z > 0]
          = e^(K - tilt·epsilon) · (erfcx(tilt·s/√2) - erfcx((tilt + 1)s/√2)) / 2.                       (1)

Estimates made here choose a tilt, a window and a step. None of them is part of a guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pbdp import special
from pbdp.noise.kernel import Array

# Tilts looked at, in units of one over the standard deviation of the composed loss.
_SMALLEST_TILT, _START, _LARGEST_TILT = 1e-6, 4.0, 1e3
_STEPS = 60
_CLOSE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Cumulants:
    """K, K' and K'' of the composed loss at one tilt."""

    value: float
    mean: float
    variance: float


Part = tuple[Array, Array, int]  # losses, masses, count


def log_moment(parts: Sequence[Part], tilt: float) -> float:
    """K(tilt) of independent finite losses."""
    total = 0.0
    for losses, masses, count in parts:
        exponents = tilt * losses
        top = float(np.max(exponents))
        total += count * (top + math.log(float(masses @ np.exp(exponents - top))))
    return total


def cumulants(parts: Sequence[Part], tilt: float) -> Cumulants:
    """K, K' and K'' at `tilt`."""
    value = mean = variance = 0.0
    for losses, masses, count in parts:
        exponents = tilt * losses
        top = float(np.max(exponents))
        weights = masses * np.exp(exponents - top)
        total = float(weights.sum())
        center = float(weights @ losses) / total
        value += count * (top + math.log(total))
        mean += count * center
        variance += count * float(weights @ (losses - center) ** 2) / total
    return Cumulants(value=value, mean=mean, variance=variance)


def log_delta(at: Cumulants, tilt: float) -> float:
    """Estimate (1) of ln delta at epsilon = K'(tilt)."""
    spread = math.sqrt(max(at.variance, 1e-300))
    return at.value - tilt * at.mean + float(np.log(normal_gain(np.float64(tilt), np.float64(spread))))


def normal_gain(tilt: Array | np.float64, spread: Array | np.float64) -> Array:
    """E[e^(-tilt·Zs) (1 - e^(-Zs)); Z > 0] for a standard normal Z; a derivative where s is small."""
    low, high = tilt * spread / math.sqrt(2), (tilt + 1) * spread / math.sqrt(2)
    middle = (low + high) / 2
    slope = 2 / math.sqrt(math.pi) - 2 * middle * special.erfcx(middle)
    far = 1 / (math.sqrt(math.pi) * np.maximum(middle, 1.0) ** 2)
    slope = np.where(middle > 1e3, far, slope)
    near = spread < 1e-3 * (1 + tilt * spread)
    gain = np.where(near, (high - low) * slope / 2, (special.erfcx(low) - special.erfcx(high)) / 2)
    return np.asarray(np.maximum(gain, 1e-300))


def tilt_for_delta(parts: Sequence[Part], delta: float) -> float:
    """The tilt whose estimate (1) is `delta`."""
    target = math.log(delta)
    return _falling_root(lambda tilt: log_delta(cumulants(parts, tilt), tilt) - target, _spread(parts))


def tilt_for_epsilon(parts: Sequence[Part], epsilon: float) -> float:
    """The tilt at which the composed loss has mean `epsilon`; zero if it has a larger mean already."""
    if cumulants(parts, 0.0).mean >= epsilon:
        return 0.0
    spread = _spread(parts)
    return _falling_root(lambda tilt: (epsilon - cumulants(parts, tilt).mean) / spread, spread)


def _spread(parts: Sequence[Part]) -> float:
    return math.sqrt(max(cumulants(parts, 0.0).variance, 1e-24))


def _falling_root(function: Callable[[float], float], spread: float) -> float:
    """Root of a falling function on a logarithmic scale: widened bracket, then false position (Illinois)."""
    low = high = _START / spread
    at_low = at_high = function(low)
    while at_high > 0 and high < _LARGEST_TILT / spread:
        low, at_low = high, at_high
        high *= 2
        at_high = function(high)
    while at_low < 0 and low > _SMALLEST_TILT / spread:
        high, at_high = low, at_low
        low /= 2
        at_low = function(low)
    if at_low <= 0 or at_high >= 0:
        return high if at_high >= 0 else low
    side = 0
    for _ in range(_STEPS):
        middle = math.exp((math.log(low) * at_high - math.log(high) * at_low) / (at_high - at_low))
        value = function(middle)
        if abs(value) < _CLOSE or high < low * (1 + _CLOSE):
            return middle
        if value > 0:
            low, at_low, at_high = middle, value, at_high / 2 if side > 0 else at_high
            side = 1
        else:
            high, at_high, at_low = middle, value, at_low / 2 if side < 0 else at_low
            side = -1
    return low
