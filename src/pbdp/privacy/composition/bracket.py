"""The two curves of a composition between which its delta lies, and where they cross a given delta."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pbdp.privacy.bounds import Bounds
from pbdp.privacy.composition.case import Case
from pbdp.privacy.composition.crossing import crossing
from pbdp.privacy.composition.curve import Curve, composed_curve
from pbdp.privacy.composition.discretise import dominating, split
from pbdp.privacy.composition.lower_curve import LowerCurve
from pbdp.privacy.composition.window import Window, window


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """delta from above and from below at every epsilon."""

    above: Curve
    below: LowerCurve | None
    infinite: Bounds

    def upper(self, epsilon: float) -> float:
        """Upper bound for delta; the masses of all releases together exceed one by less than 1e-6 at most."""
        return min(self.infinite.upper + self.above.upper(epsilon), 1.0)

    def lower(self, epsilon: float) -> float:
        """Lower bound for delta, reached by the actual pairs."""
        finite = 0.0 if self.below is None else self.below.value(epsilon)
        return min(self.infinite.lower + finite, self.upper(epsilon))

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


def bracket(case: Case, precision: float, fineness: int) -> Bracket:
    """The curves of a case, on a grid chosen for `precision` and then `fineness` times finer."""
    grid = window(case.outlines, case.tilt, precision, fineness)
    parts = [(dominating(laws, grid.step), count) for laws, count in zip(case.covered, case.counts, strict=True)]
    above = composed_curve(parts, grid)
    return Bracket(above=above, below=_lower(case, grid, above), infinite=case.infinite())


def _lower(case: Case, grid: Window, above: Curve) -> LowerCurve | None:
    """The lower curve; where every release has one pair only, its distribution is the one above."""
    laws = [law for law in case.actual if law is not None]
    if len(laws) < len(case.counts):
        return None
    parts = [(split(law, grid.step), count) for law, count in zip(laws, case.counts, strict=True)]
    same = all(len(pairs) == 1 and pairs[0] is law for pairs, law in zip(case.covered, case.actual, strict=True))
    return LowerCurve(
        curve=above if same else composed_curve(parts, grid),
        releases=case.releases,
        excess=sum(count * part.excess for part, count in parts),
        raised=sum(count * part.raised for part, count in parts),
    )
