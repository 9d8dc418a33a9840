"""Where the composed loss has to be looked at: log-moments, the tilt, the window and the step of the grid.

Multiplying every mass by e^(tilt·loss) and dividing by the total moves the mean of the composed loss to

    epsilon = K'(tilt),      K = sum over releases of count · ln E e^(tilt·loss),

so a tail of probability 1e-12 becomes the middle of the tilted law. There the composed loss is nearly
normal with variance s² = K'', which gives the estimate

    delta = e^(K - tilt·epsilon) · E[e^(-tilt·Z s) (1 - e^(-Z s)); Z > 0]
          = e^(K - tilt·epsilon) · (erfcx(tilt·s/√2) - erfcx((tilt + 1)s/√2)) / 2.                       (1)

Estimates choose a tilt, a window and a step. None of them is part of a guarantee.

**Window.** For a tilted law with log-moments K, Chernoff's bound at any theta > 0 is

    P(loss >= high) <= exp(K(tilt + theta) - K(tilt) - theta·high),                                      (2)

and the same from below with -theta. The window is proposed so that either tail is below `TAIL`; whatever
lies outside is bounded again by (2) from the masses on the grid, and that bound is added to delta.

**Step.** Connecting the dots adds to each loss an independent-looking error of variance at most h²/4 (h²/6
on average), so the upper epsilon of T releases grows by about (tilt + 1)·T·h²/12, and the lower one (see
`composed`) falls by about (tilt + 1)·T·h². Hence h = sqrt(0.85·precision·epsilon / ((tilt + 1)·T)):
about sqrt(precision) standard deviations of one release's loss. The number of cells then grows with the
square root of T only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pbdp import special
from pbdp.accounting.composition.loss_law import UNIT
from pbdp.noise.kernel import Array
from pbdp.root_finding import least_enough

# Tilts looked at, in units of one over the standard deviation of the composed loss.
_SMALLEST_TILT, _START, _LARGEST_TILT = 1e-6, 4.0, 1e3
_CLOSE = 1e-3
TAIL = 1e-11
FEWEST_CELLS, MOST_CELLS = 1 << 13, 1 << 20
_THETAS = (7.5, 5.0, 2.5, 15.0, 60.0)


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
    """Root of a falling function of the tilt, about; the largest or smallest tilt where there is none."""
    least, start, most = (tilt / spread for tilt in (_SMALLEST_TILT, _START, _LARGEST_TILT))
    return min(max(least_enough(function, start, close=_CLOSE, beside=2.0), least), most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Grid points first·step, ..., (first + cells - 1)·step of the composed loss, and the tilt used.

    The tilted composed loss has its mean near center·step.
    """

    tilt: float
    step: float
    first: int
    cells: int
    center: int


def window(parts: Sequence[Part], tilt: float, precision: float, fineness: int = 1) -> Window:
    """A window for the tilted composition of `parts`; `fineness` multiplies the number of cells."""
    at = cumulants(parts, tilt)
    releases = sum(count for _, _, count in parts)
    spread = math.sqrt(max(at.variance, 1e-24))
    low, high = _stretch(parts, tilt, at.value, spread)
    width = max(high - low, 1e-9)
    step = math.sqrt(0.85 * precision * max(at.mean, spread) / ((tilt + 1) * releases))
    room = 2 * (min(releases, math.ceil(5 * math.sqrt(releases))) + 4)
    wanted = min(width / step + room, MOST_CELLS)
    cells = max(FEWEST_CELLS, 1 << math.ceil(math.log2(wanted)))
    while cells < 4 * room:
        cells *= 2
    cells = min(cells * fineness, max(MOST_CELLS, cells))
    longest = max(float(losses[-1] - losses[0]) for losses, _, _ in parts)
    step = max(width / (cells - room), longest / MOST_CELLS)
    first = math.floor(low / step) - room // 2
    center = min(max(round(at.mean / step), first), first + cells - 1)
    return Window(tilt=tilt, step=step, first=first, cells=cells, center=center)


def _stretch(parts: Sequence[Part], tilt: float, value: float, spread: float) -> tuple[float, float]:
    """Ends outside of which the tilted composed loss has mass at most TAIL each."""
    lowest = sum(count * float(losses[0]) for losses, _, count in parts)
    highest = sum(count * float(losses[-1]) for losses, _, count in parts)
    needed = math.log(1 / TAIL)
    for theta in (factor / spread for factor in _THETAS):
        highest = min(highest, (log_moment(parts, tilt + theta) - value + needed) / theta)
        lowest = max(lowest, -(log_moment(parts, tilt - theta) - value + needed) / theta)
    return lowest, highest


def tails(parts: Sequence[Part], grid: Window) -> tuple[float, float]:
    """Bounds (2) for the tilted mass below and above the window, from the distributions on the grid."""
    at = cumulants(parts, grid.tilt)
    spread = math.sqrt(max(at.variance, 1e-24))
    low, high = grid.first * grid.step, (grid.first + grid.cells) * grid.step
    lowest = sum(count * round(float(losses[0]) / grid.step) for losses, _, count in parts)
    highest = sum(count * round(float(losses[-1]) / grid.step) for losses, _, count in parts)
    below = 0.0 if lowest >= grid.first else 1.0
    above = 0.0 if highest < grid.first + grid.cells else 1.0
    for theta in (factor / spread for factor in _THETAS):
        if below > TAIL:
            below = min(below, _chernoff(parts, grid.tilt, -theta, at.value, low))
        if above > TAIL:
            above = min(above, _chernoff(parts, grid.tilt, theta, at.value, high))
    return below, above


def _chernoff(parts: Sequence[Part], tilt: float, theta: float, value: float, end: float) -> float:
    """The bound (2) with room for the rounding of its two log-moments."""
    exponent = log_moment(parts, tilt + theta) - value - theta * end
    largest = abs(tilt) + abs(theta)
    for losses, _, count in parts:
        size = largest * max(abs(float(losses[0])), abs(float(losses[-1])))
        exponent += count * UNIT * (16 * size + 4 * len(losses) + 64)
    return math.exp(min(exponent + 1e-3, 0.0))
