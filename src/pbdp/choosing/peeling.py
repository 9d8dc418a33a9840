"""How often several picks are all right, whatever the scores: not each as if it had the worst of them.

h options are picked one after the other, each among those that are left, by permute and flip or by the
exponential mechanism with the same table c (`permute_and_flip`). A pick of j is wrong if some option that is
left is g steps or more above j.

**Whom j can pass.** Let T be h options with the highest scores, and T_j those of them that are g or more
above j. Before each pick fewer than h were taken, so some of T is left, and the best of these is the best of
all. So a pick of j is wrong only if some of T_j is left, a of them say. Hence

    P(wrong) <= sum over j, and over all picks, of the mean of P(j is picked) where a > 0.

**One pick.** Let gaps be counted from the best that is left, rho = max c(x + g)/c(x) over x <= last - g, and
let p be the probability that one of T_j is picked. Either the gap of j is beyond the table, and j is picked
with probability c(last) at most. Or c_j <= rho·c_i for all i of T_j that are left, and then

    P(j) <= rho·p/a      (1)        P(j) <= rho/(a + 1), by permute and flip      (2).

*Proof.* (1) For i in T_j, c_i >= c_j. With the law of `permute_and_flip`, P(j)/c_j and P(i)/c_i are integrals
of the same product but for a factor 1 - t·c_i in the first and 1 - t·c_j in the second. So P(j)/c_j <=
P(i)/c_i; by the exponential mechanism they are equal. So P(j) <= rho·P(i): add up over the a options. (2) The
best that is left is in T_j, with the coin 1. Let y be the smallest coin of those. Then P(j) is at most rho
times

    f(y) = y · integral of (1 - t)·(1 - t·y)^(a - 1),    f'(y) = integral of t·(1 - t·y)^(a - 1) >= 0

(in parts, as the derivative of t·(1 - t·y)^(a - 1) is (1 - t·y)^(a - 2)·(1 - a·t·y)); f(1) = 1/(a + 1).   []

**All picks.** Let W(a, r) be the most that the chances of j add up to in r picks that begin with a of T_j
left, in units of rho and without c(last). As a falls by one with probability p and else stays,

    W(a, r) <= max over p of min(p/a, 1/(a + 1)) + p·W(a - 1, r - 1) + (1 - p)·W(a, r - 1),    W(0, r) = 0,

which is linear in p but at p = a/(a + 1); without (2) it is 1 + 1/2 + ... + 1/a for r >= a. An option outside
of T has at most h of T above it, and the n-th of T at most n - 1. With M(a) the largest of W(0, h) to
W(a, h),

    P(wrong) <= rho·((k - h)·M(h) + M(0) + ... + M(h - 1)) + k·h·c(last).

For the top 10 of 1,000 that is 2,329·rho by permute and flip; ten times the worst of one pick is 4,973·rho.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pbdp.choosing.permute_and_flip import Coins

# Beyond so many picks (2) is not used, as it takes their square and hardly matters.
_MOST_PICKS = 1 << 11
# Rounding of sums and quotients, relative.
ROUNDING = 1e-12


@lru_cache(maxsize=64)
def passings(options: int, picks: int, flips: bool) -> float:
    """The factor of rho above: by permute and flip, or by the exponential mechanism."""
    left = np.arange(1.0, picks + 1)
    most = np.cumsum(1 / left)
    if flips and picks <= _MOST_PICKS:
        found = np.zeros(picks)
        for _ in range(picks):
            fewer = np.concatenate([[0.0], found[:-1]])
            stays = (left * fewer + found) / (left + 1) + 1 / (left + 1)
            found = np.maximum(found, np.maximum(stays, fewer + 1 / (left + 1)))
        most = np.maximum.accumulate(found)
    return float((options - picks) * most[-1] + np.sum(most[:-1])) * (1 + ROUNDING)


def all_right(coins: Coins, options: int, gap: int, picks: int, flips: bool) -> float:
    """How often all of so many picks are right, at least; losers are `gap` below. It may be below zero."""
    if gap > coins.last:
        return -math.inf
    wrong = coins.steepest(gap) * passings(options, picks, flips) + options * picks * coins.coin(coins.last)
    return 1 - wrong * (1 + ROUNDING) - ROUNDING
