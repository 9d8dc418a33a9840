"""A quantile is a choice: a value of a grid whose rank is near the right one, by permute and flip.

Rows are counted on a grid of k candidates, F(i) of them at candidates 1 to i, N = F(k) in all. For the
quantile tau = p/q (in lowest terms) let a(i) = q·F(i) - p·N, from a(0) = -p·N to a(k) = (q - p)·N; it never
falls. The score of candidate i is

    S(i) = min(-a(i - 1), a(i)) = q · min(tau·N - F(i - 1), F(i) - tau·N),

a whole number. S(i) >= -q·w says that at most tau·N + w rows are below i and at least tau·N - w are not above
it: **i's rank is within w of the true one**. Let W = floor(q·w), so that losers have S <= -(W + 1) =: -L.

**What a person moves.** A row at candidate j raises N by 1, so a(i) falls by p for i < j and rises by q - p
for i >= j. Both parts of S(i), and so their minimum, move by at most s = max(p, q - p) for one row that
comes or goes, by r·s for r rows. Permute and flip with these scores costs what `permute_and_flip` proves
for gaps that move by D = 2·r·s. Scores may rise and fall, so there is no discount. A person who is replaced
may leave one group and join another, or stay with other rows: that is one who goes and one who comes, and a
pick that moves twice loses at most twice as much (`tables.quantiles`).

**The scores near the best.** Let i be the least candidate with a(i) >= 0, which there is. Let x = -a(i - 1)
>= 0 and y = a(i) >= 0. Candidates below i have S <= a(i - 1) <= 0, those above S <= -a(i) <= 0, so i is the
best, with b = S(i) = min(x, y) >= 0. Its neighbors have S(i - 1) = min(-a(i - 2), -x) = -x and S(i + 1) =
-y exactly, as a never falls.

- *One beside it.* If y <= x and i < k (or, the other way round, x <= y and i > 1), then b is y (or x), the
  candidate beside it is at -b, at a gap of 2b, and losers are at a gap of L + b at least.
- *None beside it.* Else i = k and b = y = (q - p)·N, or i = 1 and b = x = p·N. In the first case a loser is
  below, S = a(j) = q·F(j) - p·N <= -L, and its gap is b - a(j) = q·(N - F(j)). As p·N - q·F(j) >= L, N -
  F(j) >= N - (p·N - L)/q, which grows with N, and N >= L/p: so the gap is q·ceil(L/p) at least. In the
  second case it is q·ceil(L/(q - p)) in the same way. Small groups do this: all of their rows are at one
  end.

**How often it is right.** Raising the coin of a loser never helps (`permute_and_flip`, "Accuracy"), nor
does lowering the coin of a good option to that of losers and then calling it one. So with n options beside
the best that all lose with a coin c, and with one more that is good and has the coin v, it is right with
probability at least

    one(n, c) = integral of (1 - t·c)^n          two(n, c, v) = integral of (1 + v - 2·v·t)·(1 - t·c)^n,

t from 0 to 1, where the second adds up (1 - v·t)·(1 - t·c)^n of the best and v·(1 - t)·(1 - t·c)^n of the
other. Hence over all data, with n = k - 2,

    P(right) >= min of one(n + 1, c(E)), one(n + 1, c(2·L)), and of two(n, c(L + b), c(2·b)) over b = 0 ... W,

with E = q·ceil(L/max(p, q - p)); for b > W the one beside it loses as well, at 2·L or more.

**The worst b is 0** where coins are exponential: c(L + b) = c·u and c(2·b) = u^2 with u = e^-(fall·b) <= 1.

    two = integral over t of (1 + u^2 - 2·u^2·t)·h(t·u)
        = integral over s from 0 to u of ((1 + u^2)/u - 2·s)·h(s)

with h(s) = (1 - c·s)^n, which falls. Its derivative by u is (1 - u^2)/u times h(u) - (the mean of h from 0
to u), which is not above 0: it is least at u = 1. Coins that are drawn are these, rounded up by 2^-62 at
most, which makes up n·2^-62 of a probability and is taken off. Where the table has ended, v is larger than
u^2, and losers that have the last coin have less than c(E): one winner is a bound for them. Coins that fall
in longer strides (where the width is below what a person moves) are looked at for every b.   []

So a median of 1,000 candidates, within 50 ranks at 95 %, loses 0.1736; with one winner it would be 0.1818.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from pbdp.choosing.draw import chosen_by_row
from pbdp.choosing.permute_and_flip import Coins, best_stride, coins_for
from pbdp.errors import CannotCertifyError
from pbdp.noise.kernel import Array, Index
from pbdp.release.keystream import Keystream

# A wider width is met by the coins of this one, whose loss is next to nothing: tables would get long.
_WIDEST = 1 << 20
# Where n·c is below it, powers up to the fifth are enough; rounding of sums, quotients and weights, absolute.
_SMALL, _ROUNDING = 0.05, 2.0**-46
# Halvings of a search for a coin, on a logarithm.
_HALVINGS = 100


@dataclass(frozen=True, kw_only=True)  # no slots: figures are found once
class QuantileChoice:
    """A choice of one of `candidates` values for the quantile `level`; a person has at most `rows` rows.

    The rank is within `within` rows of the true one.
    """

    candidates: int
    level: Fraction
    rows: int
    within: Fraction
    coins: Coins

    @property
    def moved(self) -> int:
        """By how much the gap of two scores moves at most, for a person who comes or goes (D above)."""
        return moved_by(self.level, self.rows)

    @cached_property
    def epsilon(self) -> float:
        """The loss of the choice for a person who comes or goes, at delta 0, at most."""
        return self.coins.epsilon(self.moved) if self.candidates > 1 else 0.0

    @cached_property
    def confidence(self) -> float:
        """How often the rank is within `within` of the true one, at least, whatever the data are."""
        if self.candidates < 2:
            return 1.0
        losing = losing_score(self.level, self.within)
        weights, last = self.coins.weights, self.coins.last

        def upper(gaps: Index) -> Array:
            # weights have 62 bits, doubles 53
            coins = weights[np.minimum(gaps, last)] / 2.0**62 * (1 + 2.0**-50)
            return np.asarray(np.minimum(coins, 1.0))

        stride = self.coins.stride
        return max(right_often(self.candidates, self.level, losing, upper, stride) - _ROUNDING, 0.0)

    def scores(self, counts: Index) -> Index:
        """The scores of all candidates, from the number of rows at each; one group per row of `counts`."""
        p, q = self.level.numerator, self.level.denominator
        up_to = np.cumsum(counts, axis=1)
        right = p * up_to[:, -1:]
        return np.asarray(np.minimum(right - q * (up_to - counts), q * up_to - right))

    def places(self, counts: Index, keystream: Keystream) -> Index:
        """The candidate that is chosen for each group.

        `counts` has a row for each group and a column for each candidate.
        """
        if counts.shape[1] != self.candidates:
            raise AssertionError("there is a count for every candidate")
        return chosen_by_row(self.scores(counts), self.coins, keystream)


def moved_by(level: Fraction, rows: int) -> int:
    """D = 2·r·max(p, q - p): by how much the gap of two scores moves at most."""
    p, q = level.numerator, level.denominator
    return 2 * rows * max(p, q - p)


def losing_score(level: Fraction, within: Fraction) -> int:
    """L = floor(q·w) + 1: so far below 0 is the score of a candidate whose rank is not within w."""
    return min(math.floor(level.denominator * within), _WIDEST) + 1


@lru_cache(maxsize=256)
def quantile_choice(
    candidates: int, level: Fraction, within: Fraction, confidence: float, rows: int = 1
) -> QuantileChoice:
    """The choice with the least epsilon that is right so often."""
    losing, moved = losing_score(level, within), moved_by(level, rows)
    stride = best_stride(moved, losing)

    def enough(coin: float) -> bool:
        fall = math.log(1 / coin) / -(-losing // stride)

        def ideal(gaps: Index) -> Array:
            return np.asarray(np.exp(-fall * -(-gaps // stride)))

        return right_often(candidates, level, losing, ideal, stride) >= confidence + 2 * _ROUNDING

    coin = 1.0 if candidates < 2 or enough(1.0) else _largest(enough)
    for _ in range(8):
        coins = coins_for(coin, losing, moved, stride)
        made = QuantileChoice(candidates=candidates, level=level, rows=rows, within=within, coins=coins)
        if made.confidence >= confidence:
            return made
        # a hair less, as weights are rounded up
        coin *= 1 - 1e-9
    raise CannotCertifyError(
        "So many candidates and so high a confidence need coins finer than can be drawn. Ask for a lower "
        "confidence, or for a longer step."
    )


def _largest(enough: Callable[[float], bool]) -> float:
    """The largest coin that is enough, up to a hair."""
    low, high = -64 * math.log(2), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(math.exp(middle)) else (low, middle)
        if high - low < 1e-12:
            break
    return math.exp(low)


def right_often(
    candidates: int, level: Fraction, losing: int, coin: Callable[[Index], Array], stride: int
) -> float:
    """How often the choice is right at least, for coins by gap, which are exact or a hair too large."""
    p, q = level.numerator, level.denominator
    edge = q * -(-losing // max(p, q - p))
    alone = one_winner(candidates - 1, coin(np.array([min(edge, 2 * losing)])))
    # with a stride of 1 the worst is at 0
    best = np.arange(1 if stride == 1 else losing)
    # of the one beside, no more than its coin: that of a stair further is less than a hair too large
    beside = coin(2 * best) * (1 - 2.0**-49)
    both = two_winners(candidates - 2, coin(losing + best), np.where(best == 0, 1.0, beside))
    return float(min(np.min(alone), np.min(both)))


def one_winner(losers: int, coin: Array) -> Array:
    """The integral of (1 - t·c)^n over t from 0 to 1: how often the best one wins against n losers."""
    count = losers + 1
    small = losers * coin < _SMALL
    safe = np.where(small, 0.5, np.minimum(coin, 1 - 2.0**-53))
    far = -np.expm1(count * np.log1p(-safe)) / (count * safe)
    return np.asarray(np.where(small, _powers(losers, coin, 0), far))


def two_winners(losers: int, coin: Array, beside: Array) -> Array:
    """The integral of (1 + v - 2·v·t)·(1 - t·c)^n: how often it or the one beside it, with coin v, wins."""
    # by parts, the integral of (1 - t)·(1 - tc)^n is (1 - the integral of (1 - tc)^(n + 1)) / ((n + 1)·c)
    small = losers * coin < _SMALL
    safe = np.where(small, 0.5, coin)
    far = 2 * (1 - one_winner(losers + 1, safe)) / ((losers + 1) * safe)
    equal = np.where(small, _powers(losers, coin, 1), far)
    return np.asarray((1 - beside) * one_winner(losers, coin) + beside * equal)


def _powers(losers: int, coin: Array, one_more: int) -> Array:
    """The same integrals from below, by the first powers of (1 - t·c)^n: alternating, the last one negative.

    t^j is j-th on average 1/(j + 1), and with the weight 2·(1 - t) it is 2/((j + 1)·(j + 2)).
    """
    terms = [
        (-coin) ** j * (math.comb(losers, j) * (2 / (j + 2) if one_more else 1.0) / (j + 1)) for j in range(6)
    ]
    return np.asarray(sum(terms[::-1]))
