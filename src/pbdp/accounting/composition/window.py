"""The stretch of composed losses that is computed, and the step of the grid.

For a tilted law with log-moments K, Chernoff's bound at any theta > 0 is

    P(loss >= high) <= exp(K(tilt + theta) - K(tilt) - theta·high),                                      (1)

and the same from below with -theta. The window is proposed so that either tail is below `TAIL`; whatever
lies outside is bounded again by (1) from the masses on the grid, and that bound is added to delta.

**Step.** Connecting the dots adds to each loss an independent-looking error of variance at most h²/4 (h²/6
on average), so the upper epsilon of T releases grows by about (tilt + 1)·T·h²/12, and the lower one (see
`lower_curve`) falls by about (tilt + 1)·T·h². Hence h = sqrt(0.85·precision·epsilon / ((tilt + 1)·T)):
about sqrt(precision) standard deviations of one release's loss. The number of cells then grows with the
square root of T only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pbdp.accounting.composition.loss_law import UNIT
from pbdp.accounting.composition.saddle_point import Part, cumulants, log_moment

TAIL = 1e-11
FEWEST_CELLS, MOST_CELLS = 1 << 13, 1 << 20
_THETAS = (7.5, 5.0, 2.5, 15.0, 60.0)


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
    """Bounds (1) for the tilted mass below and above the window, from the distributions on the grid."""
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
    """The bound (1) with room for the rounding of its two log-moments."""
    exponent = log_moment(parts, tilt + theta) - value - theta * end
    largest = abs(tilt) + abs(theta)
    for losses, _, count in parts:
        size = largest * max(abs(float(losses[0])), abs(float(losses[-1])))
        exponent += count * UNIT * (16 * size + 4 * len(losses) + 64)
    return math.exp(min(exponent + 1e-3, 0.0))
