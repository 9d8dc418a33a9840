"""Picks by the exponential mechanism, composed by how little their losses spread: for many picks at a delta.

A pick takes option i with probability w(gap of i)/(sum of all w), for a table w of falling weights; those of
`permute_and_flip` do. Picked options are taken away, and the next is picked among those that are left.

**Loss, for any w.** With R and m as in `permute_and_flip`, the weight of every option changes between
neighbors by a factor from 1/R(m + s) to R(s - m), and what all probabilities are divided by is the same for
all. So the privacy losses ln P(i)/P'(i) of a pick all lie in an interval of length e, the largest
ln R(h) + ln R(D - h). That is the *range* of the mechanism (Durfee and Rogers 2019). One pick costs e;
several cost less than by permute and flip, whose losses lie between -e and e.

**Picks one after the other** (Dong, Durfee and Rogers 2020). Let d_n(x) bound delta at epsilon = x of n picks
each of which may depend on those before: d_0(x) = max(1 - e^x, 0). If the first of n + 1 picks has the losses
L with probabilities P, delta is at most the sum of P·d_n(x - L). Its mean of e^-L is 1, so that 0 is in the
interval; and as a function of e^-L, d_n(x - L) is convex, for a largest delta is convex in e^epsilon. So the
sum is largest if all losses are at the ends of their interval. Let these be jh and jh - e', on a grid of
h = e/J, where e' = e + h: every interval of length e that contains 0 is within one of them, 0 <= j <= J + 1.
The mean of e^-L tells how likely each end is, and

    d_(n+1)(x) = max over j of p·d_n(x - jh) + (1 - p)·d_n(x - jh + e'),   p = (e^e' - e^jh)/(e^e' - 1).

All of this stays on the grid: nothing is interpolated. Where the grid ends below, d is taken to be 1, and
where it ends above, what it is there. Reverse losses, -L, have the same range: both directions are bounded.

**Accuracy.** At worst one option is best and all others lose: raising a loser's score, or lowering that of a
good one, never makes a good one likelier. So a pick among l options is right with probability
1/(1 + (l - 1)·w(n)), whatever was picked before. Not all picks can have such scores: `peeling` has a better
bound.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pbdp.choosing.draw import weighed
from pbdp.choosing.law import COINS, HOLDS, TOGETHER, CheckingCode
from pbdp.choosing.peeling import all_right
from pbdp.choosing.permute_and_flip import ByCoins
from pbdp.choosing.request import Asked
from pbdp.choosing.scores import Scale
from pbdp.errors import CannotCertifyError
from pbdp.noise.kernel import Array, Index
from pbdp.planning.pricing.priced import Measured
from pbdp.release.keystream import Keystream

# The range is cut into so many parts, or as many as so much work allows.
_PARTS, _FEWEST, _WORK = 400, 8, 2e8
# Picks whose losses spread further are of no use.
_WIDEST = 100.0
# The grid ends so many standard deviations out.
_FAR = 16.0
# Of a budget's curve.
_POINTS = 400
# Rounding of a pick's probabilities and of a sum of two products, relative.
_ROUNDING = 2.0**-48

_LINES = f"""{COINS.format(what="the weights of options by their gap", one="a weight")}\
step, points = loss / claim["parts"], claim["points"]  # losses of a pick are in an interval of this length
wide = claim["parts"] + 1
j, x = np.arange(wide + 1) * step, step * np.arange(-points, points + 1)
high, low = np.expm1(-j[::-1]) / np.expm1(-j[-1]), np.expm1(j) / np.expm1(j[-1])
delta = np.maximum(-np.expm1(x), 0)
for pick in range(claim["picks"]):  # at worst the losses are at the ends of the interval, wherever it is
    ends = np.concatenate([np.ones(wide), delta, np.full(wide, delta[-1])])
    rows = [(ends[wide - i :][: len(x)], ends[2 * wide - i :][: len(x)]) for i in range(wide + 1)]
    delta = np.max([high[i] * one + low[i] * two for i, (one, two) in enumerate(rows)], axis=0)
loss = min(claim["picks"] * loss, x[points:][np.argmax(delta[points:] <= claim["delta"])])
coin, right = w[min(claim["gap"], last)] / 2**62, 1.0
for left in range(claim["options"], claim["options"] - claim["picks"], -1):
    right /= 1 + (left - 1) * coin  # at worst one option is the best and all others lose
{TOGETHER.format(most="max(W[a], 1 / a + W[a - 1])")}\
print(f"epsilon of all picks is {{loss:.8g}}; claimed: {{claim['epsilon']:.8g}}")
{HOLDS.replace("{each}", "epsilon")}"""


class Curve(NamedTuple):
    """Bounds for delta at 0, step, 2·step, ..."""

    step: float
    deltas: Array
    parts: int = 1

    @property
    def points(self) -> int:
        """The number of the last point."""
        return len(self.deltas) - 1

    def epsilon_at(self, delta: float) -> float:
        """The first point of the grid whose bound is at most delta; infinite if there is none."""
        enough = np.flatnonzero(self.deltas <= delta)
        return float(enough[0]) * self.step * (1 + 2.0**-50) if len(enough) else math.inf


class ExponentialMechanism(ByCoins):
    """The exponential mechanism with the weights of these coins, pick by pick."""

    is_pure = False
    name = "exponential mechanism, pick by pick"
    proof = "the exponential mechanism, by the range of its losses, pick by pick"
    title = "How likely an option is, against the best"
    formula = "2^62 w(g) = ceil(2^62 exp(-fall * ceil(g / stride))), g = min(gap / step, last)"

    def curve(self, asked: Asked, scale: Scale) -> Curve:
        """What all picks together cost."""
        return composed(self.coins.epsilon(scale.moved), asked.picks)

    def epsilon(self, asked: Asked, scale: Scale) -> float:
        total = asked.picks * self.coins.epsilon(scale.moved) * (1 + 2.0**-50)
        return min(total, self.curve(asked, scale).epsilon_at(asked.delta)) if asked.delta else total

    def right(self, asked: Asked, scale: Scale) -> float:
        found = right_often(asked.options, self.coins.coin(scale.gap), asked.picks)
        found *= 1 - asked.picks * _ROUNDING
        return max(found, all_right(self.coins, asked.options, scale.gap, asked.picks, flips=False))

    def paid(self, asked: Asked, scale: Scale) -> tuple[Measured, int]:
        curve = self.curve(asked, scale)
        every = max(math.ceil(len(curve.deltas) / _POINTS), 1)
        # whole ones up to the end, beyond which delta is what it is there
        deltas = np.append(curve.deltas[:-1:every], curve.deltas[-1])
        claim = Measured(
            step=curve.step * every * (1 + 2.0**-50),
            deltas=tuple(deltas.tolist()),
            neighbors=asked.neighbors,
            label=asked.words,
        )
        return claim, 1

    def places(self, steps: Index, asked: Asked, scale: Scale, keystream: Keystream) -> Index:  # noqa: ARG002 - steps are enough
        return weighed(steps, asked.top, self.coins, keystream)

    def checking_code(self, asked: Asked, scale: Scale) -> CheckingCode:
        coins, grid = self.coins.weights, self.curve(asked, scale)
        return CheckingCode(
            text=_LINES,
            data={"coins": coins.tolist(), "parts": grid.parts, "points": grid.points},
            imports="import numpy as np\n",
            weights=len(coins),
            work=self.work(asked, scale),
        )


def right_often(options: int, weight: float, picks: int) -> float:
    """How often all picks are right if every loser has this weight, and the best one 1."""
    others = options - 1 - np.arange(picks, dtype=np.float64)
    return float(np.exp(-np.sum(np.log1p(others * weight))))


@lru_cache(maxsize=64)
def composed(spread: float, picks: int) -> Curve:
    """Bounds for delta of so many picks, one after the other, each with losses of this range."""
    if not spread:
        return Curve(step=1.0, deltas=np.zeros(2))
    # all of them, or as far as losses are likely to get
    ranges = min(float(picks), picks * spread / 2 + _FAR * math.sqrt(picks) / 2 + 2)
    parts = min(_PARTS, math.floor(math.sqrt(_WORK / (2 * ranges * picks))))
    if parts < _FEWEST or spread > _WIDEST:
        raise CannotCertifyError("So many picks, or such dear ones, are not composed. Ask for less.")
    step, wide = spread / parts * (1 + 2.0**-50), parts + 1
    points = math.ceil(ranges * wide)
    x = step * np.arange(-points, points + 1)
    deltas = np.maximum(-np.expm1(x), 0.0)
    ends = step * np.arange(wide + 1)
    upper = np.expm1(-ends[::-1]) / math.expm1(-ends[-1])
    lower = np.expm1(ends) / math.expm1(ends[-1])
    room = len(x)
    for _ in range(picks):
        around = np.concatenate([np.ones(wide), deltas, np.full(wide, deltas[-1])])
        found = np.zeros(room)
        for j in range(wide + 1):
            # x - jh and x - jh + e', as places
            one, two = around[wide - j : wide - j + room], around[2 * wide - j : 2 * wide - j + room]
            np.maximum(found, upper[j] * one + lower[j] * two, out=found)
        deltas = np.minimum(found * (1 + _ROUNDING), 1.0)
    return Curve(step=step, deltas=np.minimum.accumulate(deltas[points:]), parts=parts)
