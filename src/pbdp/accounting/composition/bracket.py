"""The two curves of a composition between which its delta lies, and where they cross a given delta."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pbdp.accounting.composition.case import Case, any_of
from pbdp.accounting.composition.convolution import Curve, composed_curve
from pbdp.accounting.composition.loss_distribution import dominating
from pbdp.accounting.composition.lower_curve import LowerCurve
from pbdp.accounting.composition.window import Window, window
from pbdp.accounting.exact.tables import Bounds

# How close (relative) the two points come.
CLOSE = 1e-9
_LARGEST = 1e9
_STEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """delta from above for every pair covered, and from below if each release has one pair only."""

    above: Curve
    below: LowerCurve | None
    infinite: Bounds

    def upper(self, epsilon: float) -> float:
        """Upper bound for delta: infinite losses in any release, and the finite ones."""
        return min(self.infinite.upper + self.above.upper(epsilon), 1.0)

    def lower(self, epsilon: float) -> float:
        """Lower bound for delta; zero if there is none."""
        if self.below is None:
            return 0.0
        return min(self.infinite.lower + self.below.value(epsilon), self.upper(epsilon))

    def delta_at(self, epsilon: float) -> Bounds:
        """Bounds for delta."""
        return Bounds(lower=self.lower(epsilon), upper=self.upper(epsilon))

    def upper_epsilon(self, delta: float) -> float:
        """An upper bound for the smallest epsilon >= 0 at delta > 0."""
        start = max(self.above.lowest, 0.0)
        return crossing(self.upper, delta, max(self.above.middle, start), start, self._slope)[1]

    def lower_epsilon(self, delta: float, upper: float) -> float:
        """A lower bound for it, if the upper one is known."""
        if self.below is None or not 0 < upper < math.inf:
            return 0.0
        return min(crossing(self.lower, delta, upper, 0.0, self._slope)[0], upper)

    @property
    def _slope(self) -> float:
        """At about which ln(delta) falls with epsilon."""
        return self.above.tilt + 1


def window_for(case: Case, precision: float, fineness: int = 1) -> Window:
    """A grid chosen for `precision` and then `fineness` times finer, as far as there are cells."""
    return window(case.outlines, case.tilt, precision, fineness)


def bracket(case: Case, grid: Window) -> Bracket:
    """The curves of a case on a grid."""
    parts = [
        (dominating(laws, grid.step), count) for laws, count in zip(case.covered, case.counts, strict=True)
    ]
    above = composed_curve(parts, grid)
    excess = sum(count * part.excess for part, count in parts)
    # A maximum over pairs dominates together with its own infinite mass; rounding may have raised its total.
    infinite = any_of([(part.infinity, count) for part, count in parts]) * math.exp(1.01 * excess)
    below = None
    if all(len(laws) == 1 for laws in case.covered):
        below = LowerCurve(
            curve=above,
            releases=case.releases,
            excess=excess,
            raised=sum(count * part.raised for part, count in parts),
        )
    lower = case.infinite().lower
    return Bracket(above=above, below=below, infinite=Bounds(lower=min(lower, infinite), upper=infinite))


def crossing(
    curve: Callable[[float], float], delta: float, guess: float, start: float, slope: float
) -> tuple[float, float]:
    """Points low <= high with curve(low) > delta (unless low is `start`) and curve(high) <= delta.

    `high` is infinite if no such point was found. ln(curve) is taken to fall at about `slope`, which
    only makes the search shorter: false position on ln(curve), halving where that stalls.
    """
    target = math.log(delta)

    def excess(epsilon: float) -> float:
        value = curve(epsilon)
        return math.log(value) - target if value > 0 else -math.inf

    low = high = max(guess, start)
    at_low = at_high = excess(low)
    stride = max(abs(at_low) / slope if math.isfinite(at_low) else 0.0, CLOSE * low, 1e-12) * 1.05
    while at_high > 0:
        low, at_low = high, at_high
        high, stride = high + stride, 2 * stride
        if high > _LARGEST:
            return low, math.inf
        at_high = excess(high)
    while at_low <= 0:
        if low <= start:
            return start, start
        high, at_high = low, at_low
        low, stride = max(low - stride, start), 2 * stride
        at_low = excess(low)
    for step in range(_STEPS):
        if high - low <= CLOSE * high:
            break
        middle = (low + high) / 2
        if step % 3 < 2 and math.isfinite(at_low) and math.isfinite(at_high):
            share = at_low / (at_low - at_high)
            # Pushed past the straight line by a little, so that the far end moves as well.
            middle = low + (high - low) * min(max(share + (0.02 if step % 2 else -0.02) * share, 1e-3), 0.999)
        value = excess(middle)
        if value > 0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return low, high
