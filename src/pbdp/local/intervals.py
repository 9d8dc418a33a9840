"""Intervals for numbers of people, from estimates or from the counts behind them.

**Pure counts.** Where a count S of reports is Bin(f, p) + Bin(n - f, q) for f people of n, p > q, its law
depends on f alone. *Score* intervals hold all f for which S is within z standard deviations, taken at that
f, of its mean, with half a count to spare (Wilson 1927, with Yates's correction); *exact* ones all f with
P(S >= s | f) and P(S <= s | f) both above half the allowed miss, so that they hold the truth at least as
often as they say, for every f and n. Tails are sums over the reports j of the f people, in blocks of j whose
last (or first) stands for all: never too small.

**Other estimates** are sums of independent coefficients L within `reach` of their means. *Score*: z standard
errors, the variance being the unbiased estimate of it, or what it would be with no one, if that is more.
*Guaranteed*: Bernstein's inequality, with a variance that is at most the worst one, and at most what the sum
of all L^2 shows: that sum T has P(E T >= T + sqrt(2 m^2 E T ln(1/b))) <= b for |L| <= m (Maurer 2003), so
that E T <= (sqrt(T + m^2 k) + m sqrt(k))^2 with k = ln(1/b)/2; a twentieth of the miss is b.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.noise.kernel import Array

# Standard deviations of the f people's reports that are summed, and blocks they are summed in.
REACH, BLOCKS = 9.0, 256
# Part of the allowed miss that the variance may take.
FOR_VARIANCE = 1 / 20


@dataclass(frozen=True, slots=True, eq=False)
class PureCounts:
    """Counts of reports by group, and how likely a report counts for people of the group, and for others."""

    counts: Array
    own: Array
    other: Array


def pure_counts(
    counts: Array | npt.NDArray[np.int64], own: Array | float, other: Array | float
) -> PureCounts:
    """Counts with their chances, the same for all groups where one number is given."""
    made = np.asarray(counts, dtype=np.float64)
    ends = (np.broadcast_to(np.asarray(each, dtype=np.float64), made.shape) for each in (own, other))
    return PureCounts(made, *ends)


def normal_quantile(miss: float) -> float:
    """z with two normal tails of `miss` together."""
    from scipy.special import ndtri

    return float(-ndtri(miss / 2))


# ---------------------------------------------------------------------------------------------- pure counts


def score_interval(pure: PureCounts, users: int, miss: float) -> tuple[Array, Array]:
    """Ends of the score intervals for the people of each group."""
    z = normal_quantile(miss)
    gap = pure.own - pure.other
    outside = pure.other * (1 - pure.other)
    more = pure.own * (1 - pure.own) - outside
    ends = []
    for side in (-1, 1):
        # (counts + side/2 - n q - f gap)^2 = z^2 (n q (1 - q) + f more), a quadratic equation in f
        above = pure.counts + side / 2 - users * pure.other
        middle = above * gap + z**2 * more / 2
        spread = np.maximum(middle**2 - gap**2 * (above**2 - z**2 * users * outside), 0.0)
        ends.append(np.clip((middle + side * np.sqrt(spread)) / gap**2, 0.0, users))
    return ends[0], ends[1]


def exact_interval(pure: PureCounts, users: int, miss: float) -> tuple[Array, Array]:
    """Ends of the exact intervals: the least and the most people that the count does not rule out."""
    # least f with P(S >= s) above half the miss; P(S >= s) grows with f
    low = _first(lambda f: _at_least(pure, pure.counts, f, users) > miss / 2, users, len(pure.counts))
    # and, for those who are not in the group, least n - f with P(S <= s) above it
    others = PureCounts(users - pure.counts, 1 - pure.other, 1 - pure.own)
    rest = _first(lambda f: _at_least(others, others.counts, f, users) > miss / 2, users, len(pure.counts))
    return low, users - rest


def _first(holds: Callable[[Array], npt.NDArray[np.bool_]], users: int, groups: int) -> Array:
    """The least number of people, by group, from which on something holds; all of them if it never does."""
    low, high = np.full(groups, -1.0), np.full(groups, float(users))
    while np.any(high - low > 1):
        middle = np.floor((low + high) / 2)
        fine = holds(np.maximum(middle, 0.0))
        high = np.where(fine & (middle > low), middle, high)
        low = np.where(~fine & (middle > low), middle, low)
    return high


def _at_least(pure: PureCounts, counts: Array, people: Array, users: int) -> Array:
    """At least P(S >= counts) where that many people are in each group."""
    mean, spread = people * pure.own, np.sqrt(people * pure.own * (1 - pure.own))
    first = np.floor(np.clip(mean - REACH * spread - REACH, -1, people))
    last = np.ceil(np.clip(mean + REACH * spread + REACH, 0, people))
    # edges of blocks: reports of the people up to each edge count as many as the edge
    steps = np.maximum(np.ceil((last - first) / BLOCKS), 1.0)
    edges = np.minimum(first[:, None] + steps[:, None] * np.arange(BLOCKS + 1), last[:, None])
    below = binomial_upper(edges + 1, people[:, None], pure.own[:, None])
    blocks = np.maximum(below[:, :-1] - below[:, 1:], 0.0)
    needed = counts[:, None] - edges[:, 1:]
    rest = binomial_upper(needed, (users - people)[:, None], pure.other[:, None])
    # what lies below the first edge counts as the first edge, and above the last as everything
    start = (1 - below[:, 0]) * binomial_upper(counts - first, users - people, pure.other)
    return np.asarray((blocks * rest).sum(axis=1) + below[:, -1] + start)


def binomial_upper(least: Array, number: Array, chance: Array) -> Array:
    """P(Bin(number, chance) >= least)."""
    from scipy.special import betainc

    inside = (least > 0) & (least <= number)
    a = np.where(inside, least, 1.0)
    b = np.where(inside, number - least + 1, 1.0)
    return np.where(least <= 0, 1.0, np.where(inside, betainc(a, b, chance), 0.0))


# ---------------------------------------------------------------------------------------------- other
# estimates


def bernstein_half_width(variance: Array, reach: Array, miss: float) -> Array:
    """t with P(|estimate - truth| >= t) <= miss for any number of users, by group.

    Bernstein (1927): 2 exp(-t^2/2 / (V + M t/3)) for a sum of independent centered parts of size at most M
    and variance V together; t solves equality.
    """
    odds = math.log(2 / miss)
    slope = reach * odds / 3
    return np.asarray(slope + np.sqrt(slope**2 + 2 * odds * variance))


def guaranteed_half_width(worst: Array, squares: Array | None, reach: Array, miss: float) -> Array:
    """The same from the worst variance and, where it is known, the sum of squares of the coefficients."""
    if squares is None:
        return bernstein_half_width(worst, reach, miss)
    odds = math.log(1 / (miss * FOR_VARIANCE)) / 2
    shown = (np.sqrt(squares + reach**2 * odds) + reach * math.sqrt(odds)) ** 2
    return bernstein_half_width(np.minimum(worst, shown), reach, miss * (1 - FOR_VARIANCE))
