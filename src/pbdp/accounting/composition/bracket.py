"""The two curves of a composition between which its delta lies, and where they cross a given delta."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pbdp.accounting.bounds import Bounds
from pbdp.accounting.composition.case import Case, any_of
from pbdp.accounting.composition.crossing import crossing
from pbdp.accounting.composition.curve import Curve, composed_curve
from pbdp.accounting.composition.discretize import dominating
from pbdp.accounting.composition.lower_curve import LowerCurve
from pbdp.accounting.composition.window import window


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

    def epsilon_at(self, delta: float) -> Bounds:
        """Bounds for the smallest epsilon >= 0 at delta > 0."""
        start, slope = max(self.above.lowest, 0.0), self.above.tilt + 1
        guess = max(self.above.middle, start)
        upper = crossing(self.upper, delta, guess, start, slope)[1]
        lower = 0.0
        if self.below is not None and 0 < upper < math.inf:
            lower = crossing(self.lower, delta, upper, 0.0, slope)[0]
        return Bounds(lower=min(lower, upper), upper=upper)


def bracket(case: Case, precision: float, fineness: int = 1) -> Bracket:
    """The curves of a case, on a grid chosen for `precision` and then `fineness` times finer."""
    grid = window(case.outlines, case.tilt, precision, fineness)
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
