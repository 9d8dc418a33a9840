"""Picks, one after the other, by permute and flip (`coins`): the way for one pick, and for few of many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.filters.steps import claimed_release
from pbdp.choosing.checking_code import COINS, HOLDS, TOGETHER, CheckingCode
from pbdp.choosing.coins import MOST_GAPS, Coins, coins_for, largest_coin
from pbdp.choosing.draw import chosen
from pbdp.choosing.law import Asked, Chances, Law, gaps_shown
from pbdp.choosing.scores import Scale, scale_for
from pbdp.choosing.several import all_right, coins_for_all
from pbdp.errors import PlanFileError
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Index
from pbdp.parameters import non_negative, whole
from pbdp.planning.pricing.priced import Claim
from pbdp.release.keystream import Keystream

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
class Picks(Law):
    """Permute and flip with these coins.

    `jointly` says that several picks are proved to be right together (`several`), which earlier versions did
    not: their plans claim less.
    """

    proof = "permute-and-flip, for every coin"

    coins: Coins
    jointly: bool = True

    @property
    def name(self) -> str:
        return "permute and flip"

    def each(self, asked: Asked, scale: Scale) -> float:
        """The loss of one pick, at delta 0."""
        return 0.0 if not asked.picks else self.coins.epsilon(scale.moved)

    def epsilon(self, asked: Asked, scale: Scale) -> float:
        return together(self.each(asked, scale), asked.picks, asked.delta)

    def right(self, asked: Asked, scale: Scale) -> float:
        found = self.coins.right(asked.options, scale.gap, asked.picks)
        if not self.jointly or asked.picks < 2:
            return found
        return max(found, all_right(self.coins, asked.options, scale.gap, asked.picks, flips=True))

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
            **({"kind": "permute and flip"} if self.jointly else {}),
            "law": "2^62 c(g) = ceil(2^62 exp(-fall * ceil(g / stride))), g = min(gap / step, last)",
            "fall": self.coins.fall,
            "stride": self.coins.stride,
            "last": self.coins.last,
        }


BLIND = Picks(coins=Coins(fall=0.0, stride=1, last=0), jointly=False)


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


def picks_for(asked: Asked, within: float, confidence: float, jointly: bool = True) -> Picks:
    """Picks that are right so often, as far as coins can be drawn."""
    scale = scale_for(within, asked)
    coin = largest_coin(asked.options, confidence, asked.picks)
    each = Picks(coins=coins_for(coin, scale.gap, scale.moved), jointly=False)
    if not jointly or asked.picks < 2:
        return each
    coins = coins_for_all(
        asked.options, confidence, asked.picks, flips=True, gap=scale.gap, moved=scale.moved
    )
    if coins is None or coins.epsilon(scale.moved) >= each.each(asked, scale):
        return each
    return Picks(coins=coins)


def together(each: float, picks: int, delta: float) -> float:
    """Picks that may depend on those before: randomized response stands for each of them."""
    total = each * picks * (1 + 2.0**-50)
    if picks < 2 or not delta or not each:
        return total
    return min(total, compose([(claimed_release(each, 0.0), picks)]).upper_epsilon_at(delta))
