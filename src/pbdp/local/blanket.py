"""Pairs of answers: how their reports differ, and how much of each report anyone may have sent (the privacy
blanket of Balle et al. 2019).

A pair sorts the possible reports of a randomizer into classes. For each class it says how likely a
report of it is if the answer is the one (`first`) or the other (`second`), and how likely at the least
whatever the answer (`blanket`: a lower bound for P(y|x) over all x, summed over the class). Within a class
the three are in the same proportion for every report, so nothing that tells two answers apart is lost.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.local.domain import ScaleDomain
from pbdp.local.estimators import SetReports
from pbdp.noise.kernel import Array

# What floats may have lost in a few sums.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerPair:
    """Probabilities of the classes of reports under two answers, and under any."""

    first: Array
    second: Array
    blanket: Array

    @property
    def distance(self) -> float:
        """Total variation distance between the reports of the two answers."""
        return float(np.maximum(self.first - self.second, 0.0).sum())

    def swapped(self) -> AnswerPair:
        """The same with the two answers exchanged."""
        return AnswerPair(first=self.second, second=self.first, blanket=self.blanket)

    def scaled(self, share: float) -> AnswerPair:
        """The same for a part of all reports."""
        return AnswerPair(first=self.first * share, second=self.second * share, blanket=self.blanket * share)

    def beside(self, other: AnswerPair) -> AnswerPair:
        """Classes of both, which are different reports."""
        return AnswerPair(
            first=np.concatenate([self.first, other.first]),
            second=np.concatenate([self.second, other.second]),
            blanket=np.concatenate([self.blanket, other.blanket]),
        )


def pair_of(classes: list[tuple[float, float, float]], *, rest: bool = False) -> AnswerPair:
    """A pair from its classes, those that never occur left out; `rest` adds all others, which are alike."""
    rows = np.array([row for row in classes if max(row) > 0], dtype=np.float64)
    if rest:
        left = 1 - float(rows[:, 0].sum())
        rows = np.append(rows, [[left, left, left]], axis=0) if left > 0 else rows
    return AnswerPair(first=rows[:, 0], second=rows[:, 1], blanket=rows[:, 2])


def pure_pair(support: float, joint: float, gain: float, blanket: float) -> AnswerPair:
    """The pair of a randomizer with two levels.

    A report supports each answer with probability `support` and two given ones with `joint` under the
    blanket, whose weight is `blanket`; the true answer makes the reports that support it `gain` times as
    likely.
    """
    alone = support - joint
    return pair_of(
        [
            (blanket * gain * joint, blanket * gain * joint, blanket * joint),
            (blanket * gain * alone, blanket * alone, blanket * alone),
            (blanket * alone, blanket * gain * alone, blanket * alone),
        ],
        rest=True,
    )


def largest_distance(pairs: tuple[AnswerPair, ...]) -> Fraction:
    """The largest total variation distance between the reports of two answers, rounded up."""
    return Fraction(min(max(each.distance for each in pairs) * (1 + _ROUNDING), 1.0))


def set_pairs(reports: SetReports) -> tuple[AnswerPair, ...]:
    """Those of sets: of two values of one block, and of two blocks, for blocks that differ.

    Of all n line-ups of a set of d, d hold a given value. Equal keys may put two values side by side a little
    less or more often than at random; fewer sets that hold both are the safe side. (They and as many that
    hold neither give way to sets that hold one: the loss then has the same mean and is spread more widely.)
    """
    parts = Counter(
        zip(*(each.tolist() for each in (reports.n, reports.d, reports.other, reports.held)), strict=True)
    )
    boost, found = reports.boost, []
    for n, d, other, held in parts:
        if n > 1:
            joint = max(d * (d - 1) / (n - 1) - n**2 * 2.0**-33, 0.0) if d < n else d
            near, gain = other + (boost - held) / n, held / d
            counts = [(d - joint, 1, 0), (d - joint, 0, 1), (joint, 1, 1), (n - 2 * d + joint, 0, 0)]
            classes = [(k * (near + a * gain), k * (near + b * gain), k * other) for k, a, b in counts]
            found.append(pair_of(classes, rest=True))
    for one, many in parts.items():
        for two in parts:
            if one is not two or many > 1:
                first = _starts(one, boost)
                second = [(b, a, blanket) for a, b, blanket in _starts(two, boost)]
                found.append(pair_of([*first, *second], rest=True))
    return tuple(found)


def _starts(block: tuple[float, float, float, float], boost: float) -> list[tuple[float, float, float]]:
    """Sets of a block that hold its true value, or not, where the other answer is in another block."""
    n, d, other, held = block
    near = other + (boost - held) / n
    return [(d * (near + held / d), d * other, d * other), ((n - d) * near, (n - d) * other, (n - d) * other)]


def scale_pairs(domain: ScaleDomain, own: float, near: float, far: float) -> tuple[AnswerPair, ...]:
    """Those of a scale: pairs by how many values are near both, and whether each is near the other."""
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
    found = []
    for both, one, two in sorted(kinds):
        # the answers themselves, then the values near both, near one only, and near neither
        shared, first, second = both - one - two, width - both - (1 - two), width - both - (1 - one)
        classes = [
            (own, near if two else far, far),
            (near if one else far, own, far),
            (shared * near, shared * near, shared * far),
            (first * near, first * far, first * far),
            (second * far, second * near, second * far),
        ]
        found.append(pair_of(classes, rest=True))
    return tuple(found)
