"""Uniform noise of one random width on every score, sorted: the way to a whole ordering at delta 0.

Draw one width R, then give every one of the k scores noise of its own that is 0, 1, ..., R steps, each with
the same chance, and sort. R follows a table of whole-number weights q, made after

    q(r) = (r + 1)^k·e^(-r·fall),  up to a constant.

**Privacy, for any q.** Only the order is published, and it does not change if all scores move alike. So let
vectors of noise that differ by the same number of steps everywhere be one, and call the largest minus the
smallest noise its range, x. Of the (r + 1)^k vectors that R = r allows, r - x + 1 are the same as one of
range x <= r. So the probability of noise is a function of its range alone,

    G(x) = sum over r >= x of (r - x + 1)·h(r),    h(r) = q(r)/(r + 1)^k,

which never rises. Let neighbors move scores by whole numbers of steps of which the largest is at most D above
the smallest: 2s if every score moves by s or less, s if all rise (`moved`). What gives an order to one of
them gives it to the other with the same vector less these moves. This changes its range by D at most, hence

    epsilon = max over x of ln G(x) - ln G(x + D).

The ideal law has G(x) = e^(-x·fall) up to a constant, and epsilon = D·fall. It is the K-norm mechanism (Hardt
and Talwar 2010) for what an order depends on.

**No end.** A table ends, and then no range beyond its end would be possible. So R is L + 1 + J with the last
weight b, where J is the number of heads before the first tail of a coin a: q(L + 1 + j) = b·(1 - a)·a^j. From
L + 1 on h(r + 1)/h(r) = a·((r + 1)/(r + 2))^k, which grows, so that for x > L

    ln G(x) - ln G(x + D) <= -D·ln(a·((L + 2)/(L + 3))^k).

Below, G is summed as far as it matters; what is left out is bounded by a geometric sum.

**Accuracy.** The options are listed from the highest to the lowest noisy score; of two that are equal the one
that stands first comes first. `top` of them are published, in this order. An option that is more than the
width below another is at least g below it (`gap`, see `scores`). What is promised: every option that is
listed is within the width of the best of those that come after it or are left out. It fails only if for some
pair (i, j), where j is g or more below i,

    j is listed, before i,    hence    N_j - N_i >= (score of i) - (score of j) >= g.              (1)

**Which pairs.** Let T be `top` options with the highest scores. If (1) holds for a pair, it holds for one
with i in T. *Proof.* If i is not in T, all of T is g or more above j, so j is not in T. At most top - 1
options are listed before j; so one of T comes after j, and takes the place of i. With t = top and k options
there are t(k - t) + t(t - 1)/2 pairs with the higher one in T.

**Few of them are near.** Call a pair near if it is g or more apart, but less than 2g. If (i, j) and (j, l)
are near, with j between i and l, then (i, l) is 2g or more apart: near pairs are the edges of a graph without
triangles. Let a be the size of the largest part of T without an edge inside it. Options with an edge to the
same one have none to each other, so no option has more than a edges into T. Every edge within T ends at one
of the t - a others: at most (t - a)·a of these, and at most (k - t)·a that leave T. Together they are at most
a(k - a) with a <= t, hence at most

    near = m(k - m),    m = min(t, floor(k/2)).

So with q(x) = P(N_j - N_i >= x)

    P(wrong) <= near·q(g) + (pairs - near)·q(2g),                                                   (2)

as q falls, and however few pairs are near. And whatever the pairs are, all is right if the largest noise is
less than g above the smallest one:

    P(wrong) <= P(largest noise - smallest noise >= g).                                             (3)

Given R all noise is independent and uniform, and it is right for sure if R is below g. Else (2) and (3) hold
for every R, with

    q(x) = n(n + 1)/(2(R + 1)^2),   n = R + 1 - x,
    P(range < g) = (R + 2 - g)·(g^k - (g - 1)^k)/(R + 1)^k + ((g - 1)/(R + 1))^k,

and their smaller one is averaged over R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from pbdp.choosing.draw import evenly_below
from pbdp.choosing.law import HOLDS, Chances, CheckingCode, Law, gaps_shown
from pbdp.choosing.request import Asked
from pbdp.choosing.scores import Scale, score_scale
from pbdp.errors import CannotCertifyError, PlanFileError
from pbdp.mechanism.weights import BITS, TOTAL, WeightTable
from pbdp.noise.kernel import Array, Index
from pbdp.parameters import positive, whole
from pbdp.planning.pricing.priced import Claim
from pbdp.release.keystream import Keystream
from pbdp.release.sampler import alias_table

# The table ends where the ideal law has this share of its largest weight: weights are whole numbers.
_END = 2.0**-36
# Sums go on until what follows is so small a share of them.
_REST = 2.0**-60
# Rounding of the coin that goes on, relative, and of a sum of products of powers, absolute.
_ROUNDING, _SUMMED = 2.0**-40, 1e-12
_LEAST_WEIGHT = 2.0**26
MOST_WIDTHS = 1 << 20
# Noise so narrow would only be for more options than anybody would order within so few steps.
_STEEPEST = 30.0

_LINES = f"""getcontext().prec = 40
w, k, moved, gap = (claim[name] for name in ("widths", "options", "moved", "gap"))
near, far = claim["pairs"]
last, coin = len(w) - 2, claim["coin"] / Decimal(2**62)  # the last weight is that of all wider ones
assert sum(w) == 2**62 and min(w) >= 0 and 0 < coin < 1
h, right = [Decimal(p) / (r + 1) ** k for r, p in enumerate(w[:-1])], 0.0  # each vector of noise
wider = (last + moved) + int(Decimal(50).ln() * 40 / -coin.ln())
h += [w[-1] * (1 - coin) * coin**j / (last + 2 + j) ** k for j in range(wider - last)]
for sums in range(2):  # of a vector, whatever is added to all of it: a function of its range
    for r in range(len(h) - 2, -1, -1):
        h[r] += h[r + 1]
loss = float(max((h[x] / h[x + moved]).ln() for x in range(last + 1)))
loss = max(loss, float(-moved * (coin * (Decimal(last + 2) / (last + 3)) ** k).ln()))  # of wider ones
for r, p in enumerate(w[:-1]):
    n, m = max(r + 1 - gap, 0), max(r + 1 - 2 * gap, 0)  # of a near pair, of one twice as far apart
    pairs = (near * n * (n + 1) + far * m * (m + 1)) / (2 * (r + 1) ** 2)
    inside = (n * (gap**k - (gap - 1) ** k) + gap**k) / (r + 1) ** k if n else 1.0
    right += p / 2**62 * max(1 - pairs, inside)
print(f"epsilon is {{loss:.8g}}; claimed: {{claim['epsilon']:.8g}}")
{HOLDS.replace("{each}", "epsilon")}"""


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: the table is made once
class UniformNoise(Law):
    """Noise for so many options, of a width whose law falls by `fall` a step, in a table up to `last`."""

    name = "uniform noise of a random width"
    proof = "the probability of noise is a function of its range, which neighbors change little"

    options: int
    fall: float
    last: int

    @classmethod
    def scale(cls, within: float, asked: Asked) -> Scale:
        return score_scale(within, asked)

    @classmethod
    def falling(cls, depth: float, asked: Asked, scale: Scale) -> Self | None:
        if asked.options > _STEEPEST * scale.gap or scale.moved > MOST_WIDTHS:
            return None
        last = _last(asked.options, depth / scale.gap)
        return None if last is None else cls(options=asked.options, fall=depth / scale.gap, last=last)

    @classmethod
    def start(cls, asked: Asked, confidence: float) -> float:  # noqa: ARG003 - about one e-fold per option
        return float(asked.options)

    @cached_property
    def coin(self) -> int:
        """The coin of widths beyond the table: heads in so many of 2^62 cases."""
        ideal = math.exp(self.options * math.log1p(1 / (self.last + 2)) - self.fall)
        heads = math.ceil(ideal * (1 + _ROUNDING) * TOTAL)
        if heads >= TOTAL:
            raise CannotCertifyError("The table of widths ends too early.")
        return heads

    @cached_property
    def weights(self) -> Index:
        """Of the widths 0 to last, then of all beyond."""
        ideal = np.exp(_logs(self.options, self.fall, self.last + 1))
        ideal[-1] /= 1 - self.coin / TOTAL
        ideal = ideal * (TOTAL * (1 - 2.0**-40) / float(ideal.sum()))
        # narrow widths of a few units, whose ratios are those of rounding: none is as good, as G is a sum
        narrow = np.arange(len(ideal)) < int(np.argmax(ideal))
        ideal[narrow & (ideal < _LEAST_WEIGHT)] = 0.0
        weights: Index = np.floor(ideal).astype(np.int64)
        # a hair of it, to the widths that are likely
        weights[int(np.argmax(weights))] += TOTAL - int(weights.sum())
        return weights

    def epsilon(self, asked: Asked, scale: Scale) -> float:  # noqa: ARG002 - none of it depends on delta
        return self.loss(scale.moved)

    def loss(self, moved: int) -> float:
        """The largest ln G(x) - ln G(x + moved), rounded up."""
        k, last, heads = self.options, self.last, self.coin / TOTAL
        slope = -math.log(heads)
        beyond = slope - k * math.log((last + 2) / (last + 3))
        more = moved + math.ceil((math.log(1 / _REST) + 4 * math.log(last + 4)) / slope) + 2
        tail = np.arange(more)
        with np.errstate(divide="ignore"):
            shares = np.log(self.weights / TOTAL)
        masses = np.concatenate([shares[:-1], shares[-1] + math.log1p(-heads) - slope * tail])
        logs = masses - k * np.log(np.arange(1.0, last + 2 + more))
        # G is a sum of sums, from the end
        sums = np.logaddexp.accumulate(np.logaddexp.accumulate(logs[::-1]))[::-1]
        loss = float(np.max(sums[: last + 1] - sums[moved : last + 1 + moved]))
        # the widths left out have h(r) <= h(end)·a^j, each counted at most r + 1 times
        rest = math.exp(float(logs[-1] - sums[last])) * (last + 2 + more) / (1 - heads) ** 2
        size = float(np.max(np.abs(logs[np.isfinite(logs)]))) + float(np.max(np.abs(sums))) + 8
        rounding = 8 * (len(logs) + k) * size * 2.0**-53
        return max(loss + rest, moved * beyond) + rounding

    def right(self, asked: Asked, scale: Scale) -> float:
        gap = scale.gap
        if asked.options == 1 or gap > self.last:
            return 1.0 if asked.options == 1 else _down(int(self.weights[:gap].sum()))
        sure = int(self.weights[:gap].sum())
        widths = np.arange(gap, self.last + 1, dtype=np.float64)
        right = 1 - wrong(widths, asked.options, asked.top, gap)
        return max(_down(sure) + float(self.weights[gap:-1] / TOTAL @ right) - _SUMMED, 0.0)

    def paid(self, asked: Asked, scale: Scale) -> tuple[Claim, int]:
        return Claim(epsilon=self.loss(scale.moved), neighbors=asked.neighbors, label=asked.words), 1

    def places(self, steps: Index, asked: Asked, scale: Scale, keystream: Keystream) -> Index:  # noqa: ARG002 - steps are enough
        width = self.width(keystream)
        noisy = steps + evenly_below(np.full(len(steps), width + 1, dtype=np.uint64), keystream.stream())
        # sorting takes a time that the order tells, which is paid for
        return np.argsort(-noisy, kind="stable")[: asked.top]

    def width(self, keystream: Keystream) -> int:
        """One width."""
        table = alias_table(WeightTable(start=0, weights=self.weights))
        width = table.value_of(keystream.word())
        if width > self.last:
            while keystream.word() >> (64 - BITS) < self.coin:
                width += 1
        return width

    def exchanged(self, gaps: Index) -> Array:
        """About how likely two options so far apart are listed in the wrong order."""
        values = np.arange(1.0, self.last + 2)
        likely = self.weights[:-1] / TOTAL / (2 * values**2)
        beyond = (np.maximum(values - gap, 0.0) for gap in gaps.tolist())
        return np.array([float(np.sum(likely * n * (n + 1))) for n in beyond])

    def chances(self, scale: Scale) -> Chances:
        gaps = gaps_shown(2 * scale.gap)
        return Chances(
            "How likely two options are exchanged", "distance between them", gaps, self.exchanged(gaps)
        )

    def checking_code(self, asked: Asked, scale: Scale) -> CheckingCode:
        pairs = list(pairs_of(asked.options, asked.top))
        return CheckingCode(
            text=_LINES,
            data={"widths": self.weights.tolist(), "coin": self.coin, "pairs": pairs},
            imports="from decimal import Decimal, getcontext\n",
            weights=(self.last + scale.moved) * (1 + asked.options / 100),
        )

    def record(self) -> dict[str, Any]:
        return {
            "kind": self.name,
            "formula": "scores plus one of 0..R steps, R with weights (R + 1)^options exp(-fall R), sorted",
            "fall": self.fall,
            "last": self.last,
        }

    @classmethod
    def read(cls, record: Any, asked: Asked) -> Self:
        last = whole("last", record["last"])
        if last > MOST_WIDTHS:
            raise PlanFileError("last", f"at most {MOST_WIDTHS:,}", last, "Make it again.")
        return cls(options=asked.options, fall=positive("fall", record["fall"]), last=last)


class Pairs(NamedTuple):
    """How many pairs can be in the wrong order: those that may be near, and the others, far apart."""

    near: int
    far: int


def pairs_of(options: int, top: int) -> Pairs:
    """The pairs of (2)."""
    half = min(top, options // 2)
    near = half * (options - half)
    return Pairs(near=near, far=top * (options - top) + top * (top - 1) // 2 - near)


def wrong(widths: Array, options: int, top: int, gap: int) -> Array:
    """P(some pair is in the wrong order) for widths of at least the gap, at most."""
    values = widths + 1
    pairs = pairs_of(options, top)
    near, far = (np.maximum(values - apart, 0.0) for apart in (gap, 2 * gap))
    by_pairs = (pairs.near * near * (near + 1) + pairs.far * far * (far + 1)) / (2 * values**2)
    # of all numbers of noise in a window of `gap` values those that leave out its first one
    ends = -math.expm1(options * math.log1p(-1 / gap)) if gap > 1 else 1.0
    inside = np.exp(options * np.log(gap / values)) * ((values - gap) * ends + 1)
    found: Array = np.clip(np.minimum(by_pairs * (1 + 1e-14), 1 - inside * (1 - 1e-12)), 0.0, 1.0)
    return found


def _logs(options: int, fall: float, last: int) -> Array:
    """The logarithms of the ideal weights, the largest of which is about 1."""
    widths = np.arange(last + 1.0)
    mode = max(options / fall - 1, 0.0)
    logs: Array = options * np.log((widths + 1) / (mode + 1)) - fall * (widths - mode)
    return logs


def _last(options: int, fall: float) -> int | None:
    """The first width beyond the likely ones whose ideal weight is small; None if that is too far."""
    mode = max(options / fall - 1, 0.0)
    low, high = mode, mode + 1

    def weight(width: float) -> float:
        return options * math.log((width + 1) / (mode + 1)) - fall * (width - mode)

    while weight(high) > math.log(_END):
        low, high = high, high + 2 * (high - mode)
        if high > 4 * MOST_WIDTHS:
            return None
    while high - low > 0.5:
        middle = (low + high) / 2
        low, high = (middle, high) if weight(middle) > math.log(_END) else (low, middle)
    last = math.ceil(high)
    return last if last <= MOST_WIDTHS else None


def _down(weight: int) -> float:
    return weight / TOTAL * (1 - 2.0**-52)
