"""Permute and flip: the options in random order, each with a coin that is the likelier the nearer the best.

The scores are whole numbers of steps. An option whose score is g steps below the best has the coin c(g), with
c(0) = 1 and c never rising. Go through the options in random order and take the first whose coin shows heads;
the best one's always does. (McKenna and Sheldon 2020; with c exponential it is the same as the largest score
after exponential noise, Ding et al. 2021.)

**The law.** Give every option a uniform time. When option i comes at time t, another one l came before and
showed tails, or comes later, with probability 1 - t·c_l. Hence

    P(i) = c_i · integral over t from 0 to 1 of the product over l ≠ i of (1 - t·c_l).

**Privacy, for any c.** Let neighbors move every score by at most s steps, and let R(h) be the largest
c(x)/c(x + h) over x >= 0. Let m be by how much the best score moves, so -s <= m <= s. The gap of an option
then grows by at most m + s and shrinks by at most s - m, both 0 or more. So c'_l >= b·c_l with
b = 1/R(m + s) <= 1 for every l, and c'_i <= R(s - m)·c_i. With u = b·t

    P'(i) <= c'_i · integral over t of the product of (1 - t·b·c_l)
           = c'_i/b · integral over u from 0 to b of the product of (1 - u·c_l) <= R(m + s)·R(s - m)·P(i),

so that with D = 2s epsilon is at most the largest ln R(h) + ln R(D - h) over 0 <= h <= D. Nothing was assumed
of which neighbors are the worst. If all scores move the same way (`rising`), by 0 to s, then m is from 0 to s
where they rise, gaps grow by at most m and shrink by at most s - m, and D = s; where they fall, the same with
m from -s to 0.

**Accuracy, for any scores.** Call an option good if its gap is below n, and run two sets of scores with the
same order and the same luck of the coins. Raising the coin of an option that is not good can only turn the
outcome into that option; lowering the coin of a good one can only pass it over. So no scores are worse than
one option that is best and k - 1 that are n steps below:

    P(good) = integral of (1 - t·c(n))^(k - 1) = (1 - (1 - c(n))^k)/(k·c(n)).

**Which c.** ln R is subadditive and never falls, and ln 1/c(n) <= ln R(n). With ln 1/c(g) = z·ceil(g/a),
epsilon is z times the largest ceil(h/a) + ceil((D - h)/a). Steps of a = 1 (an exponential coin) are the best
that subadditivity allows where D divides n; below D longer steps can be better, and the best length is taken.

The coins are whole multiples of 2^-62. They are compared with the ideal ones: if all lie between `low` and
`high` times these, R(h) is at most high/low times the ideal R(h).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.filters.steps import claimed_release
from pbdp.choosing import peeling
from pbdp.choosing.draw import chosen
from pbdp.choosing.law import COINS, HOLDS, TOGETHER, Chances, CheckingCode, Law, gaps_shown
from pbdp.choosing.request import Asked
from pbdp.choosing.scores import MOST_GAPS, Scale
from pbdp.errors import CannotCertifyError, InputError, PlanFileError
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Index
from pbdp.parameters import non_negative, whole
from pbdp.planning.pricing.priced import Claim
from pbdp.release.keystream import Keystream

# Coins stop falling at this one, or at this share of the coin that loses, whichever is less, so that far
# options are as good as never taken.
_FAR, _FAR_SHARE = 2.0**-30, 2.0**-10
# No coin has a smaller weight unless it loses: below it, whole numbers would be too coarse.
_LEAST_WEIGHT = 1 << 19
# Rounding of a handful of products, exponentials and logarithms, relative.
_ROUNDING = 1e-13
# Of one probability, or one coin: a logarithm, an exponential and a quotient.
_ULPS = 2.0**-48
# Strides so short that there are more up to the gap of a loser are as good as those of 1.
_MOST_STAIRS = 1 << 12


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: the table is made once
class Coins:
    """Coins with ln 1/c(g) = fall·ceil(g/stride) up to a gap of `last` steps, and the same one beyond."""

    fall: float
    stride: int
    last: int

    def __post_init__(self) -> None:
        if self._ideal(self.last) * TOTAL < 1:
            raise CannotCertifyError("These coins are finer than can be drawn.")

    @cached_property
    def weights(self) -> Index:
        """c(0), ..., c(last) in multiples of 2^-62: what is drawn from, and what is certified."""
        stairs = -(-np.arange(self.last + 1) // self.stride)
        weights = np.ceil(np.exp(-self.fall * stairs) * TOTAL)
        limited: Index = np.minimum(weights, float(TOTAL)).astype(np.int64)
        return limited

    def _ideal(self, gap: int) -> float:
        """The coin before it is rounded up to a multiple of 2^-62."""
        return math.exp(-self.fall * -(-min(gap, self.last) // self.stride))

    def epsilon(self, moved: int) -> float:
        """An upper bound where gaps grow and shrink by `moved` steps together (D above)."""
        if not self.fall:
            return 0.0
        # rounding up makes a coin larger by this share at most
        spread = 1 / (TOTAL * self._ideal(self.last)) + _ROUNDING
        return (self.fall * stairs_of(moved, self.stride) + 2 * spread) * (1 + _ROUNDING)

    def coin(self, gap: int) -> float:
        """c(gap), not rounded down."""
        return min((self._ideal(gap) + 1 / TOTAL) * (1 + _ULPS), 1.0)

    def steepest(self, gap: int) -> float:
        """The largest c(x + gap)/c(x) over x <= last - gap, not rounded down."""
        rounded = 1 / (TOTAL * self._ideal(self.last - gap))
        return (math.exp(-self.fall * (gap // self.stride)) + rounded) * (1 + _ULPS)

    def right(self, options: int, gap: int, picks: int = 1) -> float:
        """How often all of so many picks are good, at least, whatever the scores; losers are `gap` below.

        The better of two bounds: each pick has the worst scores, or all of them together (`peeling`).
        """
        each = max(right_often(options, self.coin(gap), picks) * (1 - picks * _ULPS), 0.0)
        return each if picks < 2 else max(each, peeling.all_right(self, options, gap, picks, flips=True))


def stairs_of(moved: int, stride: int) -> int:
    """The largest ceil(h/stride) + ceil((moved - h)/stride) for 0 <= h <= moved."""
    whole, rest = divmod(moved, stride)
    if stride == 1:
        return moved
    # h = 1 takes a stair for itself, and what is left of a rest of two or more takes another
    return whole + (2 if rest >= 2 else 1)


def right_often(options: int, coin: float, picks: int = 1) -> float:
    """The product of (1 - (1 - c)^k)/(k·c) over the numbers k of options that the picks are from."""
    left = options - np.arange(picks, dtype=np.float64)
    if coin == 0:
        return 1.0
    each = 1 / left if coin >= 1 else -np.expm1(left * math.log1p(-coin)) / (left * coin)
    return float(np.prod(np.minimum(each, 1.0)))


@lru_cache(maxsize=64)
def best_stride(moved: int, gap: int) -> int:
    """The length of steps with the least epsilon for a given coin at `gap`; 1 if the gap is not small."""
    if gap >= moved:
        return 1
    # of those with the same number of stairs up to the gap the longest has the fewest in all
    strides = {1, moved, *((gap - 1) // stairs for stairs in range(1, min(gap, _MOST_STAIRS)))}
    return min(sorted(strides), key=lambda stride: stairs_of(moved, stride) / -(-gap // stride))


def coins_for(coin: float, gap: int, moved: int, picks: int = 1) -> Coins:
    """Coins that are about `coin` at this gap, with the least epsilon.

    The more picks there are, the further coins fall.
    """
    if gap > MOST_GAPS:
        raise InputError("within", f"at most {MOST_GAPS:,} steps", f"{gap:,}", "Take a larger step.")
    if coin >= 1:
        return BLIND_COINS
    stride = best_stride(moved, gap)
    fall = -math.log(max(coin, 2 / TOTAL)) / -(-gap // stride)
    floor = max(min(coin * _FAR_SHARE / picks, _FAR), _LEAST_WEIGHT / TOTAL)
    # whole strides, as far as a table goes: where they are longer than it, one stair is all there is
    strides = min(math.floor(-math.log(floor) / fall), 2 * MOST_GAPS // stride)
    return Coins(fall=fall, stride=stride, last=max(strides * stride, gap))


BLIND_COINS = Coins(fall=0.0, stride=1, last=0)


# ------------------------------------------------------------------------------------------ the law

_FLIPS = "max(W[a], 1 / (a + 1) + W[a - 1], (1 + a * W[a - 1] + W[a]) / (a + 1))"
_LINES = f"""{COINS.format(what="the chances of heads", one="a coin")}\
coin, right = w[min(claim["gap"], last)] / 2**62, 1.0
for left in range(claim["options"], claim["options"] - claim["picks"], -1):
    # at worst one option is the best and all others lose
    right *= -math.expm1(left * math.log1p(-coin)) / (left * coin) if coin < 1 else 1 / left
{TOGETHER.format(most=_FLIPS)}\
print(f"epsilon of a pick is {{loss:.8g}}; claimed: {{claim['each']:.8g}}")
{HOLDS.replace("{each}", "each")}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByCoins(Law):
    """A law that knows options by their gap alone, through the coins of these."""

    title: ClassVar[str]
    formula: ClassVar[str]

    coins: Coins

    @classmethod
    def falling(cls, depth: float, asked: Asked, scale: Scale) -> Self:
        return cls(coins=coins_for(math.exp(-depth), scale.gap, scale.moved, asked.picks))

    @classmethod
    def start(cls, asked: Asked, confidence: float) -> float:
        return math.log(asked.options / (1 - confidence))

    def chances(self, scale: Scale) -> Chances:
        gaps = gaps_shown(min(2 * scale.gap, self.coins.last))
        return Chances(self.title, "distance from the best score", gaps, self.coins.weights[gaps] / TOTAL)

    def work(self, asked: Asked, scale: Scale) -> float:
        """About how many steps it takes to check it."""
        return len(self.coins.weights) * (scale.moved + 1) * 2 + 2 * asked.picks**2

    def record(self) -> dict[str, Any]:
        coins = self.coins
        known = {"fall": coins.fall, "stride": coins.stride, "last": coins.last}
        return {"kind": self.name, "formula": self.formula} | known

    @classmethod
    def read(cls, record: Any, asked: Asked) -> Self:  # noqa: ARG003 - a table is all
        last = whole("last", record["last"], least=0)
        if last > 2 * MOST_GAPS:
            raise PlanFileError("last", f"at most {2 * MOST_GAPS:,}", last, "Make it again.")
        fall, stride = non_negative("fall", record["fall"]), whole("stride", record["stride"])
        return cls(coins=Coins(fall=fall, stride=stride, last=last))


class PermuteAndFlip(ByCoins):
    """Permute and flip with these coins, once, or several times one after the other."""

    name = "permute and flip"
    proof = "permute-and-flip, for every coin"
    title = "How likely an option's coin shows heads"
    formula = "2^62 c(g) = ceil(2^62 exp(-fall * ceil(g / stride))), g = min(gap / step, last)"

    def each(self, asked: Asked, scale: Scale) -> float:
        """The loss of one pick, at delta 0."""
        return 0.0 if not asked.picks else self.coins.epsilon(scale.moved)

    def epsilon(self, asked: Asked, scale: Scale) -> float:
        return together(self.each(asked, scale), asked.picks, asked.delta)

    def right(self, asked: Asked, scale: Scale) -> float:
        return self.coins.right(asked.options, scale.gap, asked.picks)

    def paid(self, asked: Asked, scale: Scale) -> tuple[Claim, int]:
        epsilon = self.each(asked, scale)
        return Claim(epsilon=epsilon, neighbors=asked.neighbors, label=asked.words), asked.picks

    def places(self, steps: Index, asked: Asked, scale: Scale, keystream: Keystream) -> Index:  # noqa: ARG002 - steps are enough
        return chosen(steps, asked.top, self.coins, keystream)

    def checking_code(self, asked: Asked, scale: Scale) -> CheckingCode:
        coins = self.coins.weights
        return CheckingCode(
            text=_LINES,
            data={"coins": coins.tolist(), "each": self.each(asked, scale)},
            weights=len(coins),
            work=self.work(asked, scale),
        )


BLIND = PermuteAndFlip(coins=BLIND_COINS)


def together(each: float, picks: int, delta: float) -> float:
    """Picks that may depend on those before: randomized response stands for each of them."""
    total = each * picks * (1 + 2.0**-50)
    if picks < 2 or not delta or not each:
        return total
    return min(total, compose([(claimed_release(each, 0.0), picks)]).upper_epsilon_at(delta))
