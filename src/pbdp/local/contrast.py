"""Contrasts: how the reports of two answers differ, and how much of each report anyone may have sent.

A contrast sorts the possible reports of a randomizer into classes. For each class it says how likely a
report of it is if the answer is the one (`first`) or the other (`second`), and how likely at the least
whatever the answer (`blanket`: a lower bound for P(y|x) over all x, summed over the class). Within a class
the three are in the same proportion for every report, so nothing that tells two answers apart is lost.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.local.domain import CategoryDomain, Domain, ScaleDomain
from pbdp.noise.kernel import Array

# What floats may have lost in a few sums.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrast:
    """Probabilities of the classes of reports under two answers, and under any."""

    first: Array
    second: Array
    blanket: Array

    @property
    def distance(self) -> float:
        """Total variation distance between the reports of the two answers."""
        return float(np.maximum(self.first - self.second, 0.0).sum())

    def swapped(self) -> Contrast:
        """The same with the two answers exchanged."""
        return Contrast(first=self.second, second=self.first, blanket=self.blanket)

    def scaled(self, share: float) -> Contrast:
        """The same for a part of all reports."""
        return Contrast(first=self.first * share, second=self.second * share, blanket=self.blanket * share)

    def beside(self, other: Contrast) -> Contrast:
        """Classes of both, which are different reports."""
        return Contrast(
            first=np.concatenate([self.first, other.first]),
            second=np.concatenate([self.second, other.second]),
            blanket=np.concatenate([self.blanket, other.blanket]),
        )


def contrast_of(classes: list[tuple[float, float, float]]) -> Contrast:
    """A contrast from its classes, those that never occur left out."""
    rows = np.array([row for row in classes if max(row) > 0], dtype=np.float64)
    return Contrast(first=rows[:, 0], second=rows[:, 1], blanket=rows[:, 2])


def pure_contrast(support: float, joint: float, gain: float, blanket: float) -> Contrast:
    """The contrast of a randomizer with two levels.

    A report supports each answer with probability `support` and two given ones with `joint` under the
    blanket, whose weight is `blanket`; the true answer makes the reports that support it `gain` times as
    likely.
    """
    alone = support - joint
    neither = 1 - 2 * alone - joint
    return contrast_of(
        [
            (blanket * gain * joint, blanket * gain * joint, blanket * joint),
            (blanket * gain * alone, blanket * alone, blanket * alone),
            (blanket * alone, blanket * gain * alone, blanket * alone),
            (blanket * neither, blanket * neither, blanket * neither),
        ]
    )


def largest_distance(contrasts: tuple[Contrast, ...]) -> Fraction:
    """The largest total variation distance between the reports of two answers, rounded up."""
    return Fraction(min(max(each.distance for each in contrasts) * (1 + _ROUNDING), 1.0))


def response_contrasts(
    domain: Domain, own: tuple[float, ...], near: tuple[float, ...], far: tuple[float, ...]
) -> tuple[Contrast, ...]:
    """Those of boosted response: for every way in which two values can lie to each other."""
    if isinstance(domain, CategoryDomain):
        parts = Counter(zip(domain.sizes, own, near, far, strict=True))
        found = [_in_one(*part) for part in parts if part[0] > 1]
        found += [
            _apart(one, other) for one in parts for other in parts if one is not other or parts[one] > 1
        ]
        return tuple(found)
    if not isinstance(domain, ScaleDomain):
        raise AssertionError("there are two kinds of domain")
    return _on_scale(domain, own[0], near[0], far[0])


Part = tuple[int, float, float, float]


def _in_one(size: int, own: float, near: float, far: float) -> Contrast:
    rest = 1 - own - (size - 1) * near
    return contrast_of(
        [
            (own, near, far),
            (near, own, far),
            ((size - 2) * near, (size - 2) * near, (size - 2) * far),
            (rest, rest, rest),
        ]
    )


def _apart(one: Part, other: Part) -> Contrast:
    (n, own, near, far), (m, own2, near2, far2) = one, other
    rest = 1 - own - (n - 1) * near - m * far2
    return contrast_of(
        [
            (own, far, far),
            ((n - 1) * near, (n - 1) * far, (n - 1) * far),
            (far2, own2, far2),
            ((m - 1) * far2, (m - 1) * near2, (m - 1) * far2),
            (rest, rest, rest),
        ]
    )


def _on_scale(domain: ScaleDomain, own: float, near: float, far: float) -> tuple[Contrast, ...]:
    """For every pair up to equal numbers of values near both, and whether each is near the other."""
    count, width = domain.count, domain.width
    codes = np.arange(count)
    kinds: set[tuple[int, int, int]] = set()
    # on a ring all values are alike
    for x in codes[:1] if domain.ring else codes:
        others = codes[codes != x]
        apart = np.abs(domain.start[others] - domain.start[x])
        both = np.maximum(width - apart, 0)
        if domain.ring:
            both += np.maximum(width - count + apart, 0)
        one = (others - domain.start[x]) % count < width
        two = (x - domain.start[others]) % count < width
        kinds.update(zip(both.tolist(), one.astype(int).tolist(), two.astype(int).tolist(), strict=True))
    return tuple(_scale_pair(domain, (own, near, far), *kind) for kind in sorted(kinds))


def _scale_pair(
    domain: ScaleDomain, shares: tuple[float, float, float], both: int, one: int, two: int
) -> Contrast:
    """`both` values are near both answers; `one` if the second is near the first, `two` the other way."""
    count, width, (own, near, far) = domain.count, domain.width, shares
    # the answers themselves, then the values near both, near one only, and near neither
    shared = both - one - two
    first, second = width - both - (1 - two), width - both - (1 - one)
    rest = count - 2 * width + both
    return contrast_of(
        [
            (own, near if two else far, far),
            (near if one else far, own, far),
            (shared * near, shared * near, shared * far),
            (first * near, first * far, first * far),
            (second * far, second * near, second * far),
            (rest * far, rest * far, rest * far),
        ]
    )
