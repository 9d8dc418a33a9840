"""A composition made ready for one question: which losses to set aside, which pair to believe in, where to look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pbdp.privacy.bounds import Bounds
from pbdp.privacy.composition.loss_law import LossLaw
from pbdp.privacy.composition.release import Release
from pbdp.privacy.composition.saddle_point import Part, cumulants, log_delta, tilt_for_delta, tilt_for_epsilon

# Share of delta that the largest losses of all releases, set aside before tilting, may take. Integer weights
# have a few cells of mass 2^-60 with large losses at the table's ends, which no tilt could bear.
NEGLECTED_SHARE = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """Covered pairs, one actual pair (or none) and the count of each release, with the tilt to use."""

    covered: tuple[tuple[LossLaw, ...], ...]
    actual: tuple[LossLaw | None, ...]
    counts: tuple[int, ...]
    tilt: float

    @property
    def releases(self) -> int:
        """How many releases there are in all."""
        return sum(self.counts)

    def finite(self) -> list[Part]:
        """Finite losses of the leading pair of each release, for choosing a window."""
        return _finite(self.covered, self.counts)

    def infinite(self) -> Bounds:
        """Mass of outputs with an infinite loss: neglected ones count above and not below."""
        above = [(max(law.infinite_above for law in laws), count) for laws, count in self._covered()]
        below = [
            (law.infinite_below, count)
            for law, count in zip(self.actual, self.counts, strict=True)
            if law is not None
        ]
        return Bounds(
            lower=_any_of(below) * (1 - 1e-12) if len(below) == len(self.counts) else 0.0,
            upper=min(_any_of(above) * (1 + 1e-12), 1.0),
        )

    @property
    def has_actual(self) -> bool:
        """Whether every release names a pair that occurs, so that there is a lower bound."""
        return all(law is not None for law in self.actual)

    def _covered(self) -> list[tuple[tuple[LossLaw, ...], int]]:
        return list(zip(self.covered, self.counts, strict=True))


def case_for_delta(parts: Sequence[tuple[Release, int]], delta: float) -> Case | None:
    """The case for epsilon at `delta`; none if infinite losses leave no room in delta."""
    case = _case(parts, 0.0)
    room = delta - case.infinite().upper
    if room <= 0:
        return None
    case = _case(parts, NEGLECTED_SHARE * room)
    return _tilted(case, tilt_for_delta(case.finite(), room))


def case_for_epsilon(parts: Sequence[tuple[Release, int]], epsilon: float) -> Case:
    """The case for delta at `epsilon`; what may be neglected follows from an estimate of delta."""
    case = _case(parts, 0.0)
    tilt = 0.0
    for _ in range(3):
        tilt = tilt_for_epsilon(case.finite(), epsilon)
        estimate = case.infinite().upper
        if tilt > 0:
            estimate += math.exp(min(log_delta(cumulants(case.finite(), tilt), tilt), 0.0))
        case = _case(parts, NEGLECTED_SHARE * min(estimate, 1.0))
    return _tilted(case, tilt_for_epsilon(case.finite(), epsilon))


def infinite_mass(parts: Sequence[tuple[Release, int]]) -> Bounds:
    """Mass of outputs with an infinite loss in the composition."""
    return _case(parts, 0.0).infinite()


def _case(parts: Sequence[tuple[Release, int]], neglected: float) -> Case:
    share = neglected / sum(count for _, count in parts)
    covered = tuple(_capped(release.covered, share) for release, _ in parts)
    actual = tuple(
        covered[i][0] if release.actual is release.covered else next(iter(_capped(release.actual, share)), None)
        for i, (release, _) in enumerate(parts)
    )
    return Case(covered=covered, actual=actual, counts=tuple(count for _, count in parts), tilt=0.0)


def _capped(laws: tuple[LossLaw, ...], share: float) -> tuple[LossLaw, ...]:
    """The laws without their largest losses, the one with the largest mean loss first."""
    return tuple(sorted((law.capped(share) for law in laws), key=_mean_loss, reverse=True))


def _mean_loss(law: LossLaw) -> float:
    return float(law.masses @ law.losses)


def _tilted(case: Case, tilt: float) -> Case:
    return Case(covered=case.covered, actual=case.actual, counts=case.counts, tilt=tilt)


def _finite(covered: Sequence[tuple[LossLaw, ...]], counts: Sequence[int]) -> list[Part]:
    """Finite losses only; a release that has none contributes a certain loss of zero."""
    zero = np.zeros(1)
    return [
        (laws[0].losses, laws[0].masses, count) if len(laws[0].losses) else (zero, zero + 1, count)
        for laws, count in zip(covered, counts, strict=True)
    ]


def _any_of(masses: Sequence[tuple[float, int]]) -> float:
    """1 - product of (1 - mass)^count."""
    if any(mass >= 1 for mass, _ in masses):
        return 1.0
    return -math.expm1(sum(count * math.log1p(-mass) for mass, count in masses))
