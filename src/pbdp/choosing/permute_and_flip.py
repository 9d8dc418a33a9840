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
from functools import cached_property
from typing import Any

import numpy as np

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.filters.steps import claimed_release
from pbdp.choosing import peeling
from pbdp.choosing.draw import chosen
from pbdp.choosing.law import COINS, HOLDS, TOGETHER, Chances, CheckingCode, Law, gaps_shown
from pbdp.choosing.request import Asked
from pbdp.choosing.scores import MOST_GAPS, Scale, scale_for
from pbdp.errors import CannotCertifyError, InputError, PlanFileError
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Index
from pbdp.parameters import non_negative, whole
from pbdp.planning.pricing.priced import Claim
from pbdp.release.keystream import Keystream

# Coins stop falling at this one, or at this share of the coin that loses, whichever is less, so that far
# options are as good as never taken.
_FAR, _FAR_SHARE = 2.0**-30, 2.0**-10
# No coin has a smaller weight: below it, whole numbers would be too coarse.
_LEAST_WEIGHT = 1 << 18
# Rounding of a handful of products, exponentials and logarithms, relative.
_ROUNDING = 1e-13
# Of one probability of being right: a logarithm, an exponential and a quotient.
_ULPS = 2.0**-48
# Rounds in which coins for several picks are brought to their bound.
_ROUNDS = 6
# Steps so short that there are more up to the gap of a loser are as good as those of 1.
_MOST_STAIRS = 1 << 12


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: the table is made once
class Coins:
    """Coins with ln 1/c(g) = fall·ceil(g/stride) up to a gap of `last` steps, and the same one beyond."""

    fall: float
    stride: int
    last: int

    @cached_property
    def weights(self) -> Index:
        """c(0), ..., c(last) in multiples of 2^-62: what is drawn from, and what is certified."""
        stairs = -(-np.arange(self.last + 1) // self.stride)
        weights = np.ceil(np.exp(-self.fall * stairs) * TOTAL)
        limited: Index = np.minimum(weights, float(TOTAL)).astype(np.int64)
        return limited

    def epsilon(self, moved: int) -> float:
        """An upper bound where gaps grow and shrink by `moved` steps together (D above)."""
        if not self.fall:
            return 0.0
        stairs = -(-np.arange(self.last + 1) // self.stride)
        ratios = self.weights / (np.exp(-self.fall * stairs) * TOTAL)
        spread = math.log(float(ratios.max()) / float(ratios.min())) + _ROUNDING
        return (self.fall * stairs_of(moved, self.stride) + 2 * spread) * (1 + _ROUNDING) + _ROUNDING

    def coin(self, gap: int) -> float:
        """c(gap), not rounded down."""
        return min(float(self.weights[min(gap, self.last)]) / TOTAL * (1 + 2.0**-50), 1.0)

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


def largest_coin(options: int, confidence: float, picks: int = 1) -> float:
    """The largest coin of losers, up to a hair, with which all picks are good often enough."""

    def enough(coin: float) -> bool:
        return right_often(options, coin, picks) >= wanted

    wanted = confidence + 2 * picks * _ULPS
    if enough(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = math.sqrt(low * high) if low else high / 2**20
        low, high = (middle, high) if enough(middle) else (low, middle)
        if high - low <= 1e-15 * high:
            break
    return low * (1 - 1e-9)


def best_stride(moved: int, gap: int) -> int:
    """The length of steps with the least epsilon for a given coin at `gap`; 1 if the gap is not small."""
    if gap >= moved:
        return 1
    # of those with the same number of stairs up to the gap the longest has the fewest in all
    strides = {1, moved, *((gap - 1) // stairs for stairs in range(1, min(gap, _MOST_STAIRS)))}
    return min(sorted(strides), key=lambda stride: stairs_of(moved, stride) / -(-gap // stride))


def coins_for(coin: float, gap: int, moved: int, stride: int | None = None, picks: int = 1) -> Coins:
    """Coins that are at most `coin` at this gap, with the least epsilon, or with steps of this length.

    The more picks there are, the further coins fall.
    """
    if coin >= 1:
        return Coins(fall=0.0, stride=1, last=0)
    if coin <= 0:  # below all floats
        raise CannotCertifyError("So high a confidence needs coins finer than can be drawn. Ask for less.")
    stride = stride or best_stride(moved, gap)
    stairs = -(-gap // stride)
    # a hair more, as weights are rounded up
    fall = (math.log(1 / coin) + 2.0 / (coin * TOTAL) + 4 * _ROUNDING) / stairs
    floor = max(min(coin * _FAR_SHARE / picks, _FAR), 2.0 * _LEAST_WEIGHT / TOTAL)
    return coins_falling(fall, stride, floor, gap)


def coins_falling(fall: float, stride: int, floor: float, gap: int) -> Coins:
    """Coins that fall by `fall` a stride, down to about `floor`, and at least as far as `gap`."""
    if gap > MOST_GAPS:
        raise InputError("within", f"at most {MOST_GAPS:,} steps", f"{gap:,}", "Take a larger step.")
    if fall == 0:
        return Coins(fall=0.0, stride=1, last=0)
    # whole strides, as far as a table goes: where they are longer than it, one stair is all there is
    strides = min(math.floor(math.log(1 / floor) / fall), 2 * MOST_GAPS // stride)
    return Coins(fall=fall, stride=stride, last=max(strides * stride, gap))


def coins_for_all(
    options: int, confidence: float, picks: int, *, flips: bool, gap: int, moved: int
) -> Coins | None:
    """Coins with which all picks are right so often by the bound of `peeling`; None if none are."""
    wrong = (1 - confidence) * (1 - 4 * peeling.ROUNDING) - 4 * peeling.ROUNDING
    if picks < 2 or wrong <= 0:
        return None
    each, far = peeling.passings(options, picks, flips), options * picks
    coin = wrong / each
    for _ in range(_ROUNDS):
        if coin >= 1:
            return None
        coins = coins_for(coin, gap, moved, picks=picks)
        # about what the table will have
        last = math.exp(-coins.fall * -(-coins.last // coins.stride))
        steepest = math.exp(-coins.fall * (gap // coins.stride))
        excess = (steepest * each + last * far) / wrong
        if abs(excess - 1) < 1e-10:
            break
        coin /= excess
    for _ in range(_ROUNDS):
        coins = coins_for(coin, gap, moved, picks=picks)
        right = peeling.all_right(coins, options, gap, picks, flips)
        if right >= confidence:
            return coins
        # what whole numbers, and the end of the table, add
        coin *= (1 - 1e-11) * wrong / (1 - right)
    return None


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
class PermuteAndFlip(Law):
    """Permute and flip with these coins, once, or several times one after the other."""

    name = "permute and flip"
    proof = "permute-and-flip, for every coin"

    coins: Coins

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

    def chances(self, scale: Scale) -> Chances:
        gaps = gaps_shown(min(2 * scale.gap, self.coins.last))
        title = "How likely an option's coin shows heads"
        return Chances(title, "distance from the best score", gaps, self.coins.weights[gaps] / TOTAL)

    def checking_code(self, asked: Asked, scale: Scale) -> CheckingCode:
        coins = self.coins.weights
        return CheckingCode(
            text=_LINES,
            data={"coins": coins.tolist(), "each": self.each(asked, scale)},
            weights=len(coins),
            work=len(coins) * (scale.moved + 1) * 2 + 2 * asked.picks**2,
        )

    def record(self) -> dict[str, Any]:
        return {
            "kind": self.name,
            "formula": "2^62 c(g) = ceil(2^62 exp(-fall * ceil(g / stride))), g = min(gap / step, last)",
            "fall": self.coins.fall,
            "stride": self.coins.stride,
            "last": self.coins.last,
        }


BLIND = PermuteAndFlip(coins=Coins(fall=0.0, stride=1, last=0))


def coins_from(record: Any, name: str) -> Coins:
    """The coins of a record."""
    coins = Coins(
        fall=non_negative("fall", record["fall"]),
        stride=whole("stride", record["stride"]),
        last=whole("last", record["last"], least=0),
    )
    if coins.last > 2 * MOST_GAPS:
        raise PlanFileError(f"last of {name}", f"at most {2 * MOST_GAPS:,}", coins.last, "Make it again.")
    return coins


def picks_for(asked: Asked, within: float, confidence: float) -> PermuteAndFlip:
    """Picks that are right so often, as far as coins can be drawn."""
    scale = scale_for(within, asked)
    coins = coins_for(largest_coin(asked.options, confidence, asked.picks), scale.gap, scale.moved)
    jointly = coins_for_all(
        asked.options, confidence, asked.picks, flips=True, gap=scale.gap, moved=scale.moved
    )
    if jointly is not None and jointly.epsilon(scale.moved) < coins.epsilon(scale.moved):
        coins = jointly
    return PermuteAndFlip(coins=coins)


def together(each: float, picks: int, delta: float) -> float:
    """Picks that may depend on those before: randomized response stands for each of them."""
    total = each * picks * (1 + 2.0**-50)
    if picks < 2 or not delta or not each:
        return total
    return min(total, compose([(claimed_release(each, 0.0), picks)]).upper_epsilon_at(delta))
