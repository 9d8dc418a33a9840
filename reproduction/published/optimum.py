"""The kernel with the least published epsilon: Algorithm 2, and a scan that does not rely on its premise.

The wider the kernel, the less it loses (epsilon_0) and the more it must be boosted to keep the confidence.
Algorithm 2 looks for the best split by ternary search over epsilon_0, on the premise of a single valley.
That premise fails: for a kernel so wide that W1 <= delta, Proposition 1 no longer sees L2 and its epsilon
falls to about L1. The scan therefore walks from the plain kernel upwards and stops in the first valley. On a
fixed range epsilon falls for ever as the kernel widens; `at_edge` says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from pbdp.noise.gaussian import Gaussian
from pbdp.parameters import positive, probability
from reproduction.published.kernel_loss import LABEL, profile_of
from reproduction.published.measure import Measure
from reproduction.published.special_cases import Case, Reading, plain_sigma

GOLDEN = (math.sqrt(5) - 1) / 2
WIDEST = 1024.0
POINTS_PER_DOUBLING = 24
RISES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedOptimum:
    """The Gaussian and boost that the published formulas take for the best."""

    epsilon: float
    kernel_epsilon: float
    sigma: float
    boost: float
    measure: Measure
    reading: Reading
    at_edge: bool
    label: str = field(default=LABEL, init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A requirement, and the epsilon that the paper gives each Gaussian that meets it."""

    case: Case
    confidence: float
    sensitivity: float
    measure: Measure
    reading: Reading = Reading.PRINTED

    def __post_init__(self) -> None:
        probability("confidence", self.confidence)
        positive("sensitivity", self.sensitivity)

    def epsilon_of(self, sigma: float) -> float:
        """Published epsilon of a Gaussian boosted to the confidence; infinite where there is none."""
        kernel = Gaussian(sigma=sigma)
        loss = self.case.loss_or_none(
            kernel,
            boost=self.case.boost(kernel, self.confidence),
            sensitivity=self.sensitivity,
            reading=self.reading,
        )
        return math.inf if loss is None else self.measure.epsilon_of(loss)

    def kernel_epsilon_of(self, sigma: float) -> float:
        """epsilon_0: what the plain Gaussian loses in the same measure."""
        return self.measure.epsilon_of(profile_of(Gaussian(sigma=sigma), self.sensitivity))

    def narrowest(self) -> float:
        """Where the search begins: the plain sigma, or 1/100 of a range that no plain Gaussian keeps."""
        sigma = plain_sigma(self.case, self.confidence)
        if sigma > 0:
            return sigma
        pair = self.case.pair(self.sensitivity)
        return (pair.high - pair.low) / 100

    def by_ternary_search(self, *, budget: float | None = None, tolerance: float = 1e-7) -> PublishedOptimum:
        """Algorithm 2 (literal): ternary search for epsilon_0 in [0, budget].

        epsilon_max is not specified; the default is the epsilon_0 of the narrowest kernel, above which
        there is nothing to boost.
        """
        positive("tolerance", tolerance)
        most = self.kernel_epsilon_of(self.narrowest()) if budget is None else budget
        low, high = 0.0, positive("budget", most)

        def value(kernel_epsilon: float) -> float:
            return self.epsilon_of(self.measure.sigma_of(kernel_epsilon, self.sensitivity))

        while high - low > tolerance:
            first, second = low + (high - low) / 3, high - (high - low) / 3
            if value(first) > value(second):
                low = first
            else:
                high = second
        best = (low + high) / 2
        return self._result(self.measure.sigma_of(best, self.sensitivity), at_edge=best <= 2 * tolerance)

    def by_scan(self, *, widest: float = WIDEST) -> PublishedOptimum:
        """The lowest point of the first valley over sigma from the plain one to `widest` times it.

        Walks in steps of a 24th of a doubling, stops six steps after the lowest point, then narrows it down
        by golden section. `at_edge` if epsilon was still falling at the widest kernel.
        """
        start = self.narrowest()
        count = math.ceil(math.log2(max(widest, 2.0)) * POINTS_PER_DOUBLING)
        sigmas = [start * 2 ** (i / POINTS_PER_DOUBLING) for i in range(count + 1)]
        best, least = 0, math.inf
        for i, sigma in enumerate(sigmas):
            epsilon = self.epsilon_of(sigma)
            if epsilon < least:
                best, least = i, epsilon
            elif math.isfinite(least) and i - best >= RISES:
                break
        low, high = sigmas[max(best - 1, 0)], sigmas[min(best + 1, count)]
        sigma = _golden_section(self.epsilon_of, low, high)
        if self.epsilon_of(sigma) > least:
            sigma = sigmas[best]
        return self._result(sigma, at_edge=best == count)

    def _result(self, sigma: float, *, at_edge: bool) -> PublishedOptimum:
        return PublishedOptimum(
            epsilon=self.epsilon_of(sigma),
            kernel_epsilon=self.kernel_epsilon_of(sigma),
            sigma=sigma,
            boost=self.case.boost(Gaussian(sigma=sigma), self.confidence),
            measure=self.measure,
            reading=self.reading,
            at_edge=at_edge,
        )


def _golden_section(function: Callable[[float], float], low: float, high: float) -> float:
    """The lowest point of a valley between two ends, to eight digits."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f_left, f_right = function(left), function(right)
    while high - low > 1e-8 * high:
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - GOLDEN * (high - low)
            f_left = function(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + GOLDEN * (high - low)
            f_right = function(right)
    return (low + high) / 2
