"""epsilon at delta and delta at epsilon of several releases together, as bounds from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pbdp.accounting.composition.bracket import bracket, window_for
from pbdp.accounting.composition.case import (
    Case,
    case_for_delta,
    case_for_epsilon,
    infinite_mass,
    witnesses,
)
from pbdp.accounting.composition.loss_law import LossLaw, Release, law_delta, law_epsilon, loss_margin
from pbdp.accounting.exact.tables import Bounds
from pbdp.parameters import fraction, non_negative, positive, whole

PRECISION = 1e-4
# How often the two bounds are brought closer. Above a gap of _HOPEFUL more extremes are set aside (of no
# avail, the finer grid follows all the same); below it the grid is refined, at most 16-fold each time.
_PASSES = 4
_HOPEFUL = 5e-3
_SHARES = (5e-3, 0.1)
# Several pairs have no lower bound of their own to refine by; their grid is finer from the start.
_SEVERAL_PAIRS = 4


def compose(parts: Iterable[tuple[Release, int]], precision: float = PRECISION) -> Composed:
    """Releases with independent noise, all fixed in advance, each made `count` times.

    `precision` is the relative gap aimed at between the two bounds of epsilon; they hold whatever it is.
    """
    positive("precision", precision)
    counts: dict[int, int] = {}
    releases: dict[int, Release] = {}
    for release, count in parts:
        releases[id(release)] = release
        counts[id(release)] = counts.get(id(release), 0) + whole("count", count, least=0)
    return Composed(
        parts=tuple(
            (release, counts[key]) for key, release in releases.items() if counts[key] and not release.is_nil
        ),
        precision=precision,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composed:
    """A composition: lower <= truth <= upper for every figure. No release at all reveals nothing: (0, 0)."""

    parts: tuple[tuple[Release, int], ...]
    precision: float = PRECISION

    @property
    def releases(self) -> int:
        """How many releases that reveal anything there are."""
        return sum(count for _, count in self.parts)

    def epsilon_at(self, delta: float) -> Bounds:
        """Smallest epsilon with (epsilon, delta)-DP; infinite if infinite losses alone exceed delta."""
        fraction("delta", delta)
        if not self.parts:
            return Bounds(lower=0.0, upper=0.0)
        if delta == 0:
            return self._pure_epsilon()
        if self.releases == 1:
            return self._single(lambda law: law_epsilon(law, delta))
        case = case_for_delta(self.parts, delta)
        if case is None:
            certain = infinite_mass(self.parts).lower > delta
            return Bounds(lower=math.inf if certain else 0.0, upper=math.inf)
        if self._is_one_pair:
            return self._refined(case, delta)
        upper = self._upper_of_several_pairs(case, delta)
        pairs = witnesses(self.parts, case.tilt)
        lower = 0.0 if pairs is None else compose(pairs, self.precision).epsilon_at(delta).lower
        return Bounds(lower=min(lower, upper), upper=upper)

    def upper_epsilon_at(self, delta: float) -> float:
        """The upper bound of `epsilon_at`, in less time: the lower one is found only as far as that takes."""
        case = case_for_delta(self.parts, delta) if delta > 0 and self.releases > 1 else None
        if case is None:
            return self.epsilon_at(delta).upper
        if self._is_one_pair:
            return self._refined(case, delta, only_upper=True).upper
        return self._upper_of_several_pairs(case, delta)

    def delta_at(self, epsilon: float) -> Bounds:
        """Smallest delta with (epsilon, delta)-DP."""
        non_negative("epsilon", epsilon)
        if not self.parts:
            return Bounds(lower=0.0, upper=0.0)
        if self.releases == 1:
            return self._single(lambda law: law_delta(law, epsilon))
        if epsilon >= self._largest_finite_loss():
            return infinite_mass(self.parts)
        case = case_for_epsilon(self.parts, epsilon)
        found = bracket(case, window_for(case, self.precision)).delta_at(epsilon)
        if self._is_one_pair:
            return found
        pairs = witnesses(self.parts, case.tilt)
        lower = 0.0 if pairs is None else compose(pairs, self.precision).delta_at(epsilon).lower
        return Bounds(lower=min(lower, found.upper), upper=found.upper)

    @property
    def _is_one_pair(self) -> bool:
        """Whether each release covers one pair, which is an actual one."""
        return all(
            len(release.covered) == 1 and release.actual and release.actual[0] is release.covered[0]
            for release, _ in self.parts
        )

    def _upper_of_several_pairs(self, case: Case, delta: float) -> float:
        return bracket(case, window_for(case, self.precision, _SEVERAL_PAIRS)).upper_epsilon(delta)

    def _refined(self, case: Case, delta: float, *, only_upper: bool = False) -> Bounds:
        """epsilon with more extremes set aside or on finer grids, until its bounds are close.

        If `only_upper` is asked for, the lower bound may be any that is close.
        """
        lower, upper, fineness, shares = 0.0, math.inf, 1, iter(_SHARES)
        grid = window_for(case, self.precision)
        for _ in range(_PASSES):
            curves = bracket(case, grid)
            found = curves.upper_epsilon(delta)
            upper = min(upper, found)
            near = upper * (1 - self.precision)
            if only_upper and 0 < upper < math.inf and curves.lower(near) > delta:
                lower = near
                break
            lower = max(lower, curves.lower_epsilon(delta, found))
            gap = 1 - lower / upper if upper > 0 else 0.0
            if gap <= self.precision:
                break
            share = next(shares, None) if gap > _HOPEFUL else None
            if share is not None:
                case = case_for_delta(self.parts, delta, share) or case
            else:
                # The gap falls at least in proportion to the step (see `lower_curve`).
                fineness *= 1 << min(math.ceil(math.log2(gap / self.precision)), 4)
            before, grid = grid, window_for(case, self.precision, fineness)
            if share is None and grid == before:
                break  # there are no more cells
        return Bounds(lower=lower, upper=upper)

    def _single(self, figure: Callable[[LossLaw], Bounds]) -> Bounds:
        release = self.parts[0][0]
        upper = max(figure(law).upper for law in release.covered)
        lower = max((figure(law).lower for law in release.actual), default=0.0)
        return Bounds(lower=min(lower, upper), upper=upper)

    def _largest_finite_loss(self) -> float:
        """Upper bound for the largest finite loss of all releases together."""
        return sum(count * max(_largest(law, +1) for law in release.covered) for release, count in self.parts)

    def _pure_epsilon(self) -> Bounds:
        """At delta = 0: the largest losses add up, and none may be infinite."""
        infinite = infinite_mass(self.parts)
        upper = math.inf if infinite.upper > 0 else max(self._largest_finite_loss(), 0.0)
        if infinite.lower > 0:
            return Bounds(lower=math.inf, upper=math.inf)
        lower = sum(
            count * max((_largest(law, -1) for law in release.actual), default=0.0)
            for release, count in self.parts
        )
        return Bounds(lower=min(max(lower, 0.0), upper), upper=upper)


def _largest(law: LossLaw, direction: int) -> float:
    if not len(law.losses):
        return 0.0
    moved = law.losses[-1:] + direction * 2 * loss_margin(law.losses[-1:])
    return float(np.max(moved))
