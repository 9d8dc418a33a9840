"""The proof that an epsilon is impossible: dual weights, and the arithmetic that turns them into a bound.

Statement. Let noise p on the whole numbers be (eps, delta)-DP at sensitivity D. For weights w[s, n] >= 0 on
shifts 0 < s <= D put mu[s] = max over n of w[s, n] and

    c(n) = 1[0 <= n < points] - sum over s of (w[s, n] - e^eps w[s, n + s]),
    lambda = max over all whole n of (c(n) + c(points - 1 - n)) / 2.

Then P(0 <= noise < points) <= lambda + delta · sum of mu[s].

Proof. w[s, n] / mu[s] lies in [0, 1], so sum over n of w[s, n] (p(n) - e^eps p(n - s)) <= mu[s] · delta; the
mirrored weights with shift -s give the same. Add halves of both over all s and collect the terms of each
p(n): they are 1[n in region] - (c(n) + c(points - 1 - n)) / 2, so P(region) - lambda <= delta · sum of mu[s].

Weights are bounded, so the sums converge and may be reordered even where a strip of weights is endless.

Every mechanism. The same bound holds for any mechanism K(y | x), additive or not, whose answers x may be any
of arbitrarily many consecutive whole numbers, where any two that differ by one of the shifts can be those of
neighbors: write p_x(n) = K(x + n | x) and average the inequality of the pair (x, x + s) over x = 1..N. Only
the s answers at one end lack a partner; each adds at most mu[s] / N, so

    least confidence over x <= lambda + delta · sum of mu[s] + (sum of mu[s] · s) / N,

where the last term vanishes as N grows. Outputs that are not whole numbers may be rounded down first, which
keeps them in the region. For answers in a range of N values the term is there: `confidence_bound(answers=N)`.

A smaller epsilon only lowers c, so a certificate that excludes epsilon excludes everything below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pbdp.errors import InputError
from pbdp.noise.kernel import Array, Index
from pbdp.planning.limit.question import Question

ULP = 2.0**-52
LARGEST_EPSILON = 700.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strip:
    """Weights of one shift at n = first, first + 1, ...; zero elsewhere.

    An endless strip goes on to the left with period `shift`: w[n - shift] = w[n] for n < first + shift.
    With `copies` the shifts shift - apart, shift - 2·apart, ... have the same weights, so many in all.
    """

    shift: int
    first: int
    weights: Array
    endless: bool = False
    copies: int = 1
    apart: int = 0

    def __post_init__(self) -> None:
        if self.shift < 1:
            raise InputError("shift", "at least 1", self.shift)
        if self.copies < 1 or (self.copies > 1 and (self.endless or self.apart < 1 or self.least_shift < 1)):
            raise InputError("copies", "of a strip that ends, for other shifts of 1 or more", self.copies)
        if self.weights.ndim != 1 or len(self.weights) < (self.shift if self.endless else 1):
            raise InputError("weights", "a row that holds a whole period", self.weights.shape)
        if not np.all(np.isfinite(self.weights)) or self.weights.min() < 0:
            raise InputError("weights", "finite and not negative", "others")

    @property
    def least_shift(self) -> int:
        """The smallest of its shifts."""
        return self.shift - (self.copies - 1) * self.apart

    @property
    def shifts(self) -> Index:
        """Every shift that has these weights."""
        return self.shift - self.apart * np.arange(self.copies)

    @property
    def largest(self) -> float:
        """mu: the largest weight, summed over the shifts."""
        return float(self.weights.max()) * self.copies

    @property
    def endless_part(self) -> float:
        """The largest weight that recurs without end."""
        return float(self.weights[: self.shift].max()) if self.endless else 0.0

    def from_point(self, start: int) -> tuple[int, Array]:
        """The strip with an endless part written out down to `start` at least."""
        if not self.endless or start >= self.first:
            return self.first, self.weights
        periods = -(-(self.first - start) // self.shift)
        head = np.tile(self.weights[: self.shift], periods)
        return self.first - periods * self.shift, np.concatenate([head, self.weights])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DualCertificate:
    """Weights that exclude `epsilon`; with block > 1 they stand on the lattice of multiples of `block`."""

    question: Question
    epsilon: float
    strips: tuple[Strip, ...]
    block: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.block <= self.question.sensitivity:
            raise InputError("block", f"between 1 and {self.question.sensitivity}", self.block)
        if not 0 <= self.epsilon <= LARGEST_EPSILON:
            raise InputError("epsilon", f"between 0 and {LARGEST_EPSILON:g}", self.epsilon)
        largest = self.question.coarsened(self.block).sensitivity
        if any(strip.shift > largest for strip in self.strips):
            raise InputError("shifts", f"at most {largest}", [strip.shift for strip in self.strips])

    @property
    def shifts(self) -> tuple[int, ...]:
        """The distances between neighboring answers that the proof uses."""
        every = [strip.shifts * self.block for strip in self.strips]
        return tuple(np.unique(np.concatenate(every)).tolist()) if every else ()

    def confidence_bound(self, epsilon: float | None = None, answers: int | None = None) -> float:
        """No (epsilon, delta)-DP mechanism has a larger confidence; rounded up.

        `answers` is the number of consecutive answers that can occur, without end by default.
        """
        question = self.question.coarsened(self.block)
        loss = self.epsilon if epsilon is None else epsilon
        largest = _largest_gain(self.strips, question.points, loss)
        price = math.fsum(strip.largest for strip in self.strips) * question.delta
        if answers is not None:
            if answers < self.block:
                raise InputError("answers", f"at least {self.block}", answers)
            ends = math.fsum(strip.largest * (strip.shift + strip.least_shift) / 2 for strip in self.strips)
            price += ends / (answers // self.block)
        return (largest + price) * (1 + 16 * ULP)

    def proves(self, epsilon: float) -> bool:
        """Whether no mechanism with this epsilon, or a smaller one, meets the confidence."""
        return 0 <= epsilon <= LARGEST_EPSILON and self.confidence_bound(epsilon) < self.question.confidence


def _largest_gain(strips: Sequence[Strip], points: int, epsilon: float) -> float:
    """lambda, rounded up: the gains of a window that holds every finite part, and of all beyond it."""
    growth = math.exp(epsilon) * (1 + 2 * ULP)
    reach = max(
        [0, *(strip.shift - strip.first for strip in strips)]
        + [strip.first + len(strip.weights) - points for strip in strips]
    )
    margin = 2 * max([1, *(strip.shift for strip in strips)])
    pad = reach + margin
    gain = np.zeros(points + 2 * pad)
    gain[pad : pad + points] = 1.0
    size, taken = np.ones_like(gain), np.full_like(gain, 8.0)
    for strip in strips:
        first, weights = strip.from_point(-reach)
        here = first + pad
        gain[here : here + len(weights)] -= weights * strip.copies
        size[here : here + len(weights)] += weights * strip.copies
        taken[here : here + len(weights)] += 2
        there = (here - strip.shifts)[:, None] + np.arange(len(weights))
        # points that lie apart from one another are added to all at once
        apart = strip.apart >= len(weights) or strip.copies == 1
        for places in [there] if apart else there:
            gain[places] += growth * weights
            size[places] += growth * weights
            taken[places] += 2
    # beyond the window an endless strip leaves (e^eps - 1) w on one side, nothing on the other
    beyond = sum(strip.endless_part for strip in strips) * math.expm1(epsilon) / 2
    inner = gain[margin : len(gain) - margin]
    # a point takes two operations for each weight, each rounded by half a unit of the sum of sizes at most
    rounding = (size * taken)[margin : len(gain) - margin] * ULP
    folded = (inner + inner[::-1]) / 2 + (rounding + rounding[::-1])
    return max(0.0, float(folded.max()), beyond * (1 + (len(strips) + 8) * ULP))
