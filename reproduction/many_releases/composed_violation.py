"""Why a published total of many releases is too small, with five probabilities and Chebyshev's inequality.

The ends of the two regions cut the outputs into at most five pieces. Suppose that only the piece is
published: piece i has probability p_i at Q and p'_i at Q', its loss is log(p_i/p'_i), and the losses of T
releases have mean T m and variance T v, with m and v those of one. For every ε

    δ(ε) >= P(loss > ε + 1) (1 - 1/e) >= (1 - 1/e) (1 - T v / (T m - ε - 1)²)    if T m > ε + 1,           (1)

because outputs with a loss above ε + 1 have P - e^ε P' > (1 - 1/e) P. Publishing less never loses more, so
(1) holds for the mechanism itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from pbdp.domains import positive, whole
from reproduction.accuracy.violation import AnswerPair


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceLoss:
    """The pieces of a pair of answers, with their probabilities at either."""

    pair: AnswerPair
    pieces: tuple[tuple[float, float], ...]
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
        """A δ that T releases cannot go below at ε, by (1); zero where (1) says nothing."""
        ahead = releases * self.mean - epsilon - 1
        if ahead <= 0:
            return 0.0
        return max(0.0, (1 - 1 / math.e) * (1 - releases * self.variance / ahead**2))

    def check(self, epsilon: float, delta: float, releases: int) -> tuple[str, ...]:
        """The arithmetic, a line each; none where (1) does not exceed `delta`."""
        positive("delta", delta)
        T = whole("releases", releases)
        if self.delta_at(epsilon, T) <= delta:
            return ()
        parts = "; ".join(
            f"[{low:g}, {high:g}] {p:.6g} and {q:.6g}"
            for (low, high), p, q in zip(self.pieces, self.first, self.second, strict=True)
        )
        pair = self.pair
        return (
            f"Boosted Gaussian with σ = {pair.sigma:.10g} and q = {pair.boost:.10g}; Q = {pair.answer:g} "
            f"prefers [{pair.region[0]:g}, {pair.region[1]:g}], Q' = {pair.other:g} prefers "
            f"[{pair.other_region[0]:g}, {pair.other_region[1]:g}].",
            f"Probabilities at Q and at Q' of the pieces between the ends of the regions: {parts}.",
            f"If only the piece were published, the loss log(p/p') of a release would have mean m = "
            f"{self.mean:.6g} and variance v = {self.variance:.6g}; over T = {T} releases T m = "
            f"{T * self.mean:.6g} and T v = {T * self.variance:.6g}.",
            f"As published, ε = {epsilon:.6g} at δ = {delta:g}. By Chebyshev's inequality the loss exceeds "
            f"ε + 1 with probability 1 - T v/(T m - ε - 1)² at least, and so δ at ε is at least 1 - 1/e "
            f"times that: {self.delta_at(epsilon, T):.4g}.",
        )


def piece_loss(pair: AnswerPair) -> PieceLoss:
    """The pieces of a pair, those without mass left out."""
    cuts = sorted({-math.inf, *pair.region, *pair.other_region, math.inf})
    pieces = tuple(piece for piece in pairwise(cuts) if min(pair.probabilities((piece,))) > 0)
    masses = [pair.probabilities((piece,)) for piece in pieces]
    return PieceLoss(
        pair=pair,
        pieces=pieces,
        first=tuple(first for first, _ in masses),
        second=tuple(second for _, second in masses),
    )
