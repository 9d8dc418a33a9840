"""Truncation: the extreme losses of a composition, set aside for one question, and the tilt to look with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pbdp.accounting.composition.loss_distribution import outline
from pbdp.accounting.composition.loss_law import LossLaw, Release
from pbdp.accounting.composition.tilting import (
    Part,
    Window,
    cumulants,
    log_delta,
    log_moment,
    tilt_for_delta,
    tilt_for_epsilon,
    window,
)
from pbdp.accounting.exact.tables import Bounds
from pbdp.noise.kernel import Array

# Share of delta that the largest and the smallest losses of all releases, set aside before tilting, may take
# each. Integer weights have cells of mass 2^-60 with large losses at a table's ends, which no tilt can bear.
NEGLECTED_SHARE = 5e-5


# Releases with more atoms than this, or with several pairs, are seen through an outline of as many cells.
_OUTLINE = 2048
Laws = tuple[LossLaw, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truncated:
    """A composition without its extreme losses: covered pairs and count of each release.

    `outlines` are finite losses for choosing a tilt and a window by; bounds do not rest on them.
    """

    covered: tuple[Laws, ...]
    counts: tuple[int, ...]
    outlines: tuple[Part, ...]
    tilt: float

    @property
    def releases(self) -> int:
        """How many releases there are in all."""
        return sum(self.counts)

    def window(self, precision: float, fineness: int = 1) -> Window:
        """A grid chosen for `precision` and then `fineness` times finer, as far as there are cells."""
        return window(self.outlines, self.tilt, precision, fineness)

    def infinite(self) -> Bounds:
        """Mass of outputs with an infinite loss: neglected ones count above and not below.

        The lower value is for one pair each; it is not used where a release covers several.
        """
        return _infinite(self.covered, [laws[0] for laws in self.covered], self.counts)


def truncated_for_delta(
    parts: Sequence[tuple[Release, int]], delta: float, share: float = NEGLECTED_SHARE
) -> Truncated | None:
    """The composition for epsilon at `delta`; none if infinite losses leave no room in delta.

    Any `share` below one half is valid; it costs about share / (tilt·epsilon) of epsilon on either side.
    """
    room = delta - infinite_mass(parts).upper
    if room <= 0:
        return None
    return _truncated(parts, share * room, lambda outlines: tilt_for_delta(outlines, room))


def truncated_for_epsilon(parts: Sequence[tuple[Release, int]], epsilon: float) -> Truncated:
    """The composition for delta at `epsilon`; what may be neglected follows from an estimate of delta."""
    truncated = _truncated(parts, 0.0, lambda outlines: tilt_for_epsilon(outlines, epsilon))
    for _ in range(3):
        estimate = truncated.infinite().upper
        if truncated.tilt > 0:
            estimate += math.exp(
                min(log_delta(cumulants(truncated.outlines, truncated.tilt), truncated.tilt), 0.0)
            )
        neglected = NEGLECTED_SHARE * min(estimate, 1.0)
        truncated = _truncated(parts, neglected, lambda outlines: tilt_for_epsilon(outlines, epsilon))
    return truncated


def infinite_mass(parts: Sequence[tuple[Release, int]]) -> Bounds:
    """Mass of outputs with an infinite loss in the composition."""
    worst = [max(release.actual, key=lambda law: law.infinite, default=None) for release, _ in parts]
    return _infinite([release.covered for release, _ in parts], worst, [count for _, count in parts])


def witnesses(parts: Sequence[tuple[Release, int]], tilt: float) -> list[tuple[Release, int]] | None:
    """For each release the actual pair that gives the most away at a tilt; none if a release has no pair."""
    chosen = []
    for release, count in parts:
        if not release.actual:
            return None
        law = max(release.actual, key=lambda law: _size(law, tilt))
        chosen.append((Release(covered=(law,), actual=(law,)), count))
    return chosen


def _size(law: LossLaw, tilt: float) -> float:
    return log_moment([(law.losses, law.masses, 1)], tilt) if len(law.losses) else -math.inf


def _truncated(
    parts: Sequence[tuple[Release, int]], neglected: float, tilt_of: Callable[[Sequence[Part]], float]
) -> Truncated:
    counts = tuple(count for _, count in parts)
    share = neglected / sum(counts)
    covered = tuple(
        tuple(law.without_extremes(share).with_equal_merged() for law in release.covered)
        for release, _ in parts
    )
    outlines = tuple(outlined(laws, count) for laws, count in zip(covered, counts, strict=True))
    return Truncated(covered=covered, counts=counts, outlines=outlines, tilt=tilt_of(outlines))


def outlined(laws: Laws, count: int) -> Part:
    """Finite losses of a release; one that has none contributes a certain loss of zero."""
    if len(laws) == 1 and 0 < laws[0].atoms <= _OUTLINE:
        return laws[0].losses, laws[0].masses, count
    if not any(len(law.losses) for law in laws):
        return np.zeros(1), np.ones(1), count
    distribution = outline(laws, _OUTLINE)
    return distribution.losses(), distribution.masses, count


def estimated_epsilon(first: Array, second: Array, releases: int, delta: float) -> float:
    """About the epsilon of so many releases of one pair of laws, to compare candidates by; no guarantee.

    It is K'(tilt) where the estimate (1) of `tilting` equals delta: within 2e-4 for smooth losses, and within
    2 % where a few losses carry all the mass.
    """
    shared = (first > 0) & (second > 0)
    lost = any_of([(float(np.sum(first[~shared])), releases)])
    if lost >= delta:
        return math.inf
    losses, masses = np.log(first[shared]) - np.log(second[shared]), first[shared]
    order = np.argsort(losses)
    law = LossLaw(losses=losses[order], masses=masses[order], infinite=0.0)
    parts = [outlined((law.without_extremes(NEGLECTED_SHARE * delta / releases),), releases)]
    return max(cumulants(parts, tilt_for_delta(parts, delta - lost)).mean, 0.0)


def _infinite(covered: Sequence[Laws], actual: Sequence[LossLaw | None], counts: Sequence[int]) -> Bounds:
    """Masses may add up to one only to within 1e-12 a release, and so may the result."""
    slack = 2e-12 * sum(counts)
    above = [max(law.infinite_above for law in laws) for laws in covered]
    below = [law.infinite_below for law in actual if law is not None]
    upper = min(any_of(list(zip(above, counts, strict=True))) * math.exp(slack), 1.0)
    lower = 0.0
    if len(below) == len(counts):
        lower = any_of(list(zip(below, counts, strict=True))) * math.exp(-slack)
    return Bounds(lower=min(lower, upper), upper=upper)


def any_of(masses: Sequence[tuple[float, int]]) -> float:
    """1 - product of (1 - mass)^count, rounded up by one part in 1e12."""
    if any(mass >= 1 for mass, _ in masses):
        return 1.0
    return -math.expm1(sum(count * math.log1p(-mass) for mass, count in masses)) * (1 + 1e-12)
