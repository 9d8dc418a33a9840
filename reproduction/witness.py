"""The pair of answers and the set of outputs that break a published bound, in numbers to check by hand.

**One release.** At an answer Q with region S(Q) the boosted Gaussian gives an interval [a, b] that lies
inside S(Q), or outside, the probability

    w (Φ((b - Q)/σ) - Φ((a - Q)/σ)) / C(Q),    w = 1 inside and 1 - q outside,    C(Q) = 1 - q p̄(Q).       (1)

(ε, δ)-DP asks P(A|Q) <= e^ε P(A|Q') + δ of every set A; the best one is where the loss exceeds ε. Rényi DP
asks that no function of the output has a larger divergence than ε, so that of "in A or not" neither:

    log( p^α p'^(1-α) + (1-p)^α (1-p')^(1-α) ) / (α - 1) <= ε,    p = P(A|Q), p' = P(A|Q').                (2)

All outputs together can be told by hand too. The product of two normal densities to the powers α and 1-α is
e^(α(α-1)(Q-Q')²/2σ²) times a third one around M = αQ + (1-α)Q', so the divergence of the pair is

    (log of the sum over pieces of (w/C)^α (w'/C')^(1-α) (Φ((b-M)/σ) - Φ((a-M)/σ)))/(α-1) + α(Q-Q')²/2σ²,  (3)

where the ends of the two regions cut the outputs into pieces [a, b].

**Many releases.** The ends of the two regions cut the outputs into at most five pieces. Suppose that only
the piece is published: piece i has probability p_i at Q and p'_i at Q', its loss is log(p_i/p'_i), and the
losses of T releases have mean T m and variance T v, with m and v those of one. For every ε

    δ(ε) >= P(loss > ε + 1) (1 - 1/e) >= (1 - 1/e) (1 - T v / (T m - ε - 1)²)    if T m > ε + 1,           (4)

the first because outputs with a loss above ε + 1 have P - e^ε P' > (1 - 1/e) P, the second by Chebyshev's
inequality. Publishing less never loses more, so (4) holds for the mechanism itself.

Everything here is (1) with normal CDFs and shares no code with the accountants.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import ndtr

from pbdp.errors import InputError
from pbdp.mechanism.region import Region
from pbdp.parameters import positive, whole
from reproduction.published.measure import AtDelta, Measure

Interval = tuple[float, float]
# Levels of the loss that are tried for a Rényi witness.
LEVELS = 400
# Ends of a set are rounded to so many decimals first: any set is a witness, and short numbers are checked.
DECIMALS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPair:
    """A boosted Gaussian at an answer and at a neighboring one, with the regions of both."""

    sigma: float
    boost: float
    answer: float
    other: float
    region: Interval
    other_region: Interval

    def __post_init__(self) -> None:
        positive("sigma", self.sigma)
        if not 0 <= self.boost < 1:
            raise InputError("boost", "at least 0 and below 1", self.boost)

    def constant(self, answer: float, region: Interval) -> float:
        """C = 1 - q p̄, as p + (1 - q) p̄."""
        inside = _mass(region, answer, self.sigma)
        below, above = (-math.inf, region[0]), (region[1], math.inf)
        outside = _mass(below, answer, self.sigma) + _mass(above, answer, self.sigma)
        return inside + (1 - self.boost) * outside

    def probabilities(self, intervals: tuple[Interval, ...]) -> tuple[float, float]:
        """P(A|Q) and P(A|Q') of a union of disjoint intervals, by (1)."""
        return (
            self._probability(intervals, self.answer, self.region),
            self._probability(intervals, self.other, self.other_region),
        )

    def _probability(self, intervals: tuple[Interval, ...], answer: float, region: Interval) -> float:
        inside = sum(_mass(_common(part, region), answer, self.sigma) for part in intervals)
        outside = sum(
            _mass(_common(part, beyond), answer, self.sigma)
            for part in intervals
            for beyond in ((-math.inf, region[0]), (region[1], math.inf))
        )
        return (inside + (1 - self.boost) * outside) / self.constant(answer, region)

    def pieces(self) -> tuple[Interval, ...]:
        """What the ends of the two regions cut the outputs into."""
        return tuple(pairwise(sorted({-math.inf, *self.region, *self.other_region, math.inf})))

    def renyi_parts(self, order: float) -> list[tuple[Interval, float, float, float]]:
        """The pieces that count in (3): each with w, w' and the mass around M."""
        middle = order * self.answer + (1 - order) * self.other
        parts = []
        for piece in self.pieces():
            mass, at = _mass(piece, middle, self.sigma), _between(*piece)
            if mass > 0:
                first, second = (
                    1.0 if _holds(r, at) else 1 - self.boost for r in (self.region, self.other_region)
                )
                parts.append((piece, first, second, mass))
        return parts

    def renyi_at(self, order: float) -> float:
        """The Rényi divergence of all outputs, by (3)."""
        here, there = (
            math.log(self.constant(*side))
            for side in ((self.answer, self.region), (self.other, self.other_region))
        )
        logs = [
            order * (math.log(w) - here) + (1 - order) * (math.log(v) - there) + math.log(mass)
            for _, w, v, mass in self.renyi_parts(order)
        ]
        apart = order * (self.answer - self.other) ** 2 / (2 * self.sigma**2)
        return float(np.logaddexp.reduce(logs)) / (order - 1) + apart

    def renyi_lines(self, order: float) -> tuple[str, ...]:
        """The arithmetic of (3), a line each."""
        parts = "; ".join(
            f"[{low:g}, {high:g}] {w:.6g}, {v:.6g}, {mass:.6g}"
            for (low, high), w, v, mass in self.renyi_parts(order)
        )
        apart = order * (self.answer - self.other) ** 2 / (2 * self.sigma**2)
        return (
            "Pieces [a, b] between the ends of the regions, each with w, w' (1 inside the region of Q or Q', "
            f"1 - q outside) and Φ((b-M)/σ) - Φ((a-M)/σ) around M = αQ + (1-α)Q' = "
            f"{order * self.answer + (1 - order) * self.other:.6g}: {parts}.",
            f"The Rényi divergence at α = {order:g} is log(sum of (w/C)^α (w'/C')^(1-α) times the last) / "
            f"(α-1) + α(Q-Q')²/2σ² = {self.renyi_at(order) - apart:.6g} + {apart:.6g} = "
            f"{self.renyi_at(order):.6g}.",
        )

    def lines(self) -> tuple[str, ...]:
        """The mechanism, the two answers and their regions."""
        return (
            f"Boosted Gaussian with σ = {self.sigma:.10g} and q = {rate_text(self.boost)}.",
            f"Q = {self.answer:.10g} prefers [{self.region[0]:.10g}, {self.region[1]:.10g}], "
            f"C(Q) = {self.constant(self.answer, self.region):.8g}; Q' = {self.other:.10g} prefers "
            f"[{self.other_region[0]:.10g}, {self.other_region[1]:.10g}], "
            f"C(Q') = {self.constant(self.other, self.other_region):.8g}.",
        )

    def outputs_above(self, level: float) -> tuple[Interval, ...]:
        """The outputs whose loss log(density at Q / density at Q') exceeds a level, ends rounded.

        Between two ends of regions the loss is a constant plus (2y (Q - Q') + Q'² - Q²) / 2σ².
        """
        shift = math.log(
            self.constant(self.other, self.other_region) / self.constant(self.answer, self.region)
        )
        step = -math.log1p(-self.boost)
        kept: list[Interval] = []
        for low, high in self.pieces():
            middle = _between(low, high)
            only_first = _holds(self.region, middle) - _holds(self.other_region, middle)
            needed = 2 * self.sigma**2 * (level - shift - step * only_first)
            edge = (needed + self.answer**2 - self.other**2) / (2 * (self.answer - self.other))
            part = (low, min(high, edge)) if self.other > self.answer else (max(low, edge), high)
            part = (round(part[0], DECIMALS), round(part[1], DECIMALS))
            if part[0] < part[1]:
                kept.append(part)
        return _merged(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """A set of outputs with its probability at either answer."""

    pair: AnswerPair
    intervals: tuple[Interval, ...]

    @property
    def probabilities(self) -> tuple[float, float]:
        """P(A|Q) and P(A|Q')."""
        return self.pair.probabilities(self.intervals)

    def delta_at(self, epsilon: float) -> float:
        """P(A|Q) - e^ε P(A|Q'): a δ that (ε, δ)-DP cannot go below."""
        first, second = self.probabilities
        return first - math.exp(epsilon) * second

    def renyi_at(self, order: float) -> float:
        """The Rényi divergence (2) of "in A or not": an ε that Rényi DP cannot go below."""
        return two_point_renyi(*self.probabilities, order)

    def value(self, measure: Measure, epsilon: float) -> float:
        """The δ at `epsilon` that the set proves, or the Rényi ε that the pair does."""
        return self.delta_at(epsilon) if isinstance(measure, AtDelta) else self.pair.renyi_at(measure.order)

    def text(self) -> str:
        """The set as text, which `intervals_of` reads."""
        return " ".join(f"[{low!r}, {high!r}]" for low, high in self.intervals)

    def check(self, measure: Measure, claimed: float, whose: str = "As published") -> tuple[str, ...]:
        """The arithmetic, a line each, that shows a claimed ε too small."""
        pair, (first, second) = self.pair, self.probabilities
        if not isinstance(measure, AtDelta) and self.renyi_at(measure.order) <= claimed:
            # one event does not show it, so all outputs are added up
            return (
                *pair.lines(),
                *pair.renyi_lines(measure.order),
                f"{whose}, ε = {claimed:.6g} at α = {measure.order:g}.",
            )
        sets = " and ".join(f"[{low:g}, {high:g}]" for low, high in self.intervals)
        lines = (
            *pair.lines(),
            f"A = {sets}: P(A|Q) = {first:.6g}, P(A|Q') = {second:.6g}, each a sum of w (Φ((b-Q)/σ) - "
            "Φ((a-Q)/σ)) / C(Q) with w = 1 inside the region and 1 - q outside.",
        )
        if isinstance(measure, AtDelta):
            last = (
                f"{whose}, ε = {claimed:.6g} at δ = {measure.delta:g}. But P(A|Q) - e^ε P(A|Q') = "
                f"{self.delta_at(claimed):.4g}, which is {self.delta_at(claimed) / measure.delta:.3g} "
                "times δ."
            )
        else:
            last = (
                f"{whose}, ε = {claimed:.6g} at α = {measure.order:g}. But the Rényi divergence of "
                f"\"in A or not\" alone, log(p^α p'^(1-α) + (1-p)^α (1-p')^(1-α)) / (α-1), is "
                f"{self.renyi_at(measure.order):.6g}."
            )
        return (*lines, last)


def two_point_renyi(first: float, second: float, order: float) -> float:
    """Rényi divergence of (p, 1-p) from (p', 1-p'), by logarithms."""
    if not (0 < first < 1 and 0 < second < 1):
        return 0.0
    inside = order * math.log(first) + (1 - order) * math.log(second)
    outside = order * math.log1p(-first) + (1 - order) * math.log1p(-second)
    return float(np.logaddexp(inside, outside)) / (order - 1)


def pair_at(region: Region, *, sigma: float, boost: float, answer: float, other: float) -> AnswerPair:
    """The pair with the regions that a requirement gives the two answers."""

    def around(middle: float) -> Interval:
        below, above = region.offsets(middle)
        return middle - float(below), middle + float(above)

    return AnswerPair(
        sigma=sigma,
        boost=boost,
        answer=answer,
        other=other,
        region=around(answer),
        other_region=around(other),
    )


def best_witness(pair: AnswerPair, measure: Measure, published: float) -> Witness:
    """The set that breaks a published ε the most, among those where the loss exceeds a level."""
    if isinstance(measure, AtDelta):
        return Witness(pair=pair, intervals=pair.outputs_above(published))
    # losses beyond 12σ from both answers are too rare to matter
    largest = abs(pair.answer - pair.other) * 12 / pair.sigma - 2 * math.log1p(-pair.boost)
    tried = (
        Witness(pair=pair, intervals=pair.outputs_above(float(level)))
        for level in np.linspace(-largest, largest, LEVELS)
    )
    return max(tried, key=lambda witness: witness.renyi_at(measure.order))


def intervals_of(text: str) -> tuple[Interval, ...]:
    """The intervals that `Witness.text` wrote."""
    found = re.findall(r"\[([^,\]]+), ([^,\]]+)\]", text)
    if not found:
        raise InputError("set", "intervals such as [-inf, 1.5]", repr(text))
    return tuple((float(low), float(high)) for low, high in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceLoss:
    """The pieces of a pair of answers, with their probabilities at either."""

    pair: AnswerPair
    pieces: tuple[Interval, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def mean(self) -> float:
        """m: the mean loss of a release."""
        return math.fsum(p * math.log(p / q) for p, q in zip(self.first, self.second, strict=True))

    @property
    def variance(self) -> float:
        """v: the variance of the loss of a release."""
        squares = (p * math.log(p / q) ** 2 for p, q in zip(self.first, self.second, strict=True))
        return math.fsum(squares) - self.mean**2

    def delta_at(self, epsilon: float, releases: int) -> float:
        """A δ that T releases cannot go below at ε, by (4); zero where (4) says nothing."""
        ahead = releases * self.mean - epsilon - 1
        if ahead <= 0:
            return 0.0
        return max(0.0, (1 - 1 / math.e) * (1 - releases * self.variance / ahead**2))

    def check(
        self, epsilon: float, delta: float, releases: int, whose: str = "As published"
    ) -> tuple[str, ...]:
        """The arithmetic, a line each; none where (4) does not exceed `delta`."""
        positive("delta", delta)
        T = whole("releases", releases)
        if self.delta_at(epsilon, T) <= delta:
            return ()
        parts = "; ".join(
            f"[{low:g}, {high:g}] {p:.6g} and {q:.6g}"
            for (low, high), p, q in zip(self.pieces, self.first, self.second, strict=True)
        )
        return (
            *self.pair.lines(),
            f"Probabilities at Q and at Q' of the pieces between the ends of the regions: {parts}.",
            f"If only the piece were published, the loss log(p/p') of a release would have mean m = "
            f"{self.mean:.6g} and variance v = {self.variance:.6g}; over T = {T} releases T m = "
            f"{T * self.mean:.6g} and T v = {T * self.variance:.6g}.",
            f"{whose}, ε = {epsilon:.6g} at δ = {delta:g}. By Chebyshev's inequality the loss exceeds "
            f"ε + 1 with probability 1 - T v/(T m - ε - 1)² at least, and so δ at ε is at least 1 - 1/e "
            f"times that: {self.delta_at(epsilon, T):.4g}.",
        )


def piece_loss(pair: AnswerPair) -> PieceLoss:
    """The pieces of a pair, those without mass left out."""
    pieces = tuple(piece for piece in pair.pieces() if min(pair.probabilities((piece,))) > 0)
    masses = [pair.probabilities((piece,)) for piece in pieces]
    return PieceLoss(
        pair=pair,
        pieces=pieces,
        first=tuple(first for first, _ in masses),
        second=tuple(second for _, second in masses),
    )


def rate_text(boost: float, digits: int = 8) -> str:
    """q with enough digits of 1 - q, on which everything outside the region depends."""
    return f"{boost:.{digits}g}" if boost < 0.99 or boost == 1 else f"1 - {1 - boost:.{digits}g}"


def _mass(interval: Interval, answer: float, sigma: float) -> float:
    """Φ((b - Q)/σ) - Φ((a - Q)/σ), taken on the side where both are small."""
    low, high = (interval[0] - answer) / sigma, (interval[1] - answer) / sigma
    if low >= high:
        return 0.0
    if low > 0:
        low, high = -high, -low
    return float(ndtr(high) - ndtr(low))


def _common(one: Interval, two: Interval) -> Interval:
    return max(one[0], two[0]), min(one[1], two[1])


def _between(low: float, high: float) -> float:
    if math.isinf(low):
        return high - 1 if math.isfinite(high) else 0.0
    return low + 1 if math.isinf(high) else (low + high) / 2


def _holds(interval: Interval, y: float) -> int:
    return int(interval[0] <= y <= interval[1])


def _merged(parts: list[Interval]) -> tuple[Interval, ...]:
    """Neighboring intervals joined."""
    merged: list[Interval] = []
    for low, high in parts:
        if merged and merged[-1][1] >= low:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)
