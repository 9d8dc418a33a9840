"""Noise that meets a requirement, under exact accounting: the boosted Gaussian, and plain noise.

Kernels are continuous, as in the paper, and figures cover all neighbors. A relative region is smallest at an
answer of zero, where it reaches τ either way, so the same plain noise serves absolute and relative error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq

from pbdp.accounting.exact.accountant import ExactAccountant, plain_accountant, smallest_epsilon
from pbdp.accounting.exact.all_neighbors import listed_neighbors, some_neighbors, worst_neighbors
from pbdp.accounting.exact.divergences import HockeyStick, Renyi, largest_deltas
from pbdp.accounting.exact.pairs import Pairs, neighbors
from pbdp.accounting.exact.tables import Bounds
from pbdp.mechanism.design import Boosted, boost_for
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Array, Kernel
from pbdp.noise.laplace import Laplace
from reproduction.figures_2_and_3_accuracy.requirements import Aligned
from reproduction.published.measure import AtDelta, Measure

# Multiples of the plain σ that are looked at first, and how close the search then goes (relative).
SCAN = np.concatenate([[1.0], np.geomspace(1.01, 64.0, 24)])
CLOSE = 1e-3
# Answers that a search looks at for relative error.
SAMPLE, FINE_SAMPLE = 64, 3000
# Boxes of neighbors that a search in Rényi measure looks at before it settles for the bounds it has.
MOST_BOXES = 1 << 17
# How close the epsilon of one kernel is found while looking.
LOOKING = 1e-6
# How far apart (relative) the two bounds of a searched Rényi figure may stay.
RENYI_TOLERANCE = 1e-4
GOLDEN = (math.sqrt(5) - 1) / 2
# Scales are this much smaller than the root, so that rounding never takes from the confidence.
SAFE = 1 - 1e-12
# A remainder this small (relative) is a whole number of steps.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedGaussian:
    """A continuous Gaussian, boosted in the region of the requirement until every answer is confident."""

    aligned: Aligned
    sigma: float
    boost: float

    @property
    def mechanism(self) -> Boosted:
        """The law of the output for every answer."""
        return Boosted(
            kernel=Gaussian(sigma=self.sigma), region=self.aligned.preferred, boost=float(self.boost)
        )

    @property
    def accountant(self) -> ExactAccountant:
        """The exact accountant, over all neighbors."""
        return ExactAccountant(mechanism=self.mechanism, sensitivity=self.aligned.sensitivity)

    def epsilon(self) -> Bounds:
        """Exact epsilon in the requirement's measure: the upper value is certified over all neighbors."""
        measure = self.aligned.measure
        if isinstance(measure, AtDelta):
            return self.accountant.epsilon_at(measure.delta)
        found = worst_neighbors(
            self.mechanism, self.aligned.sensitivity, QuickRenyi(measure.order), RENYI_TOLERANCE
        )
        seen = float(np.max(Renyi(measure.order).of(self.mechanism, self._sampled())[0]))
        return Bounds(lower=max(found.lower, min(seen, found.upper), 0.0), upper=max(found.upper, 0.0))

    def looked_at(self) -> float:
        """Epsilon over a sample of neighbors, for searches; exact for absolute error, never too large."""
        mechanism, measure = self.mechanism, self.aligned.measure
        pairs = self._sampled()
        if isinstance(measure, AtDelta):
            return smallest_epsilon(partial(largest_deltas, mechanism, pairs), measure.delta, LOOKING).upper
        return float(np.max(Renyi(measure.order).of(mechanism, pairs)[1]))

    def bad_pair(self, epsilon: float) -> tuple[float, float]:
        """Neighbors with a large delta at `epsilon`, or a large Rényi figure: the worst of a fine sample."""
        measure = self.aligned.measure
        divergence = HockeyStick(epsilon) if isinstance(measure, AtDelta) else Renyi(measure.order)
        answers, others = self._sample(FINE_SAMPLE)
        lower, _ = divergence.of(self.mechanism, neighbors(self.mechanism, answers, others))
        at = int(np.argmax(lower))
        return float(answers[at]), float(others[at])

    def _sampled(self) -> Pairs:
        return neighbors(self.mechanism, *self._sample(SAMPLE))

    def _sample(self, count: int) -> tuple[Array, Array]:
        """Neighbors that are likely to hold the worst pair: all that matter for absolute error.

        For relative error the worst answer is where the edge of its region lies among the outputs that decide
        the figure: within a few σ of the truth at a delta, around α sensitivities away at a Rényi order.
        """
        mechanism, (measure, shift) = self.mechanism, (self.aligned.measure, self.aligned.sensitivity)
        listed = listed_neighbors(mechanism, shift)
        if listed is not None:
            return listed
        if self.aligned.region == "fixed":
            return some_neighbors(mechanism, shift)
        reach = 9 * self.sigma + (0.0 if isinstance(measure, AtDelta) else measure.order * shift)
        furthest = reach / self.aligned.theta
        answers = np.concatenate([[0.0, shift], np.geomspace(furthest / 1e4, furthest, count)])
        return np.tile(answers, 2), np.concatenate([answers + shift, answers - shift])


@dataclass(frozen=True, slots=True)
class QuickRenyi(Renyi):
    """The Rényi divergence, for a search that settles sooner; its bounds hold whenever it stops."""

    most_boxes: ClassVar[int] = MOST_BOXES


def plain_epsilon(kernel: Kernel, aligned: Aligned) -> Bounds:
    """Exact epsilon of a kernel without a boost, in the requirement's measure."""
    accountant = plain_accountant(kernel, aligned.sensitivity)
    if isinstance(aligned.measure, AtDelta):
        return accountant.epsilon_at(aligned.measure.delta)
    return accountant.renyi_at(aligned.measure.order)


def boosted_gaussian(aligned: Aligned, sigma: float) -> BoostedGaussian:
    """The Gaussian of this σ with the least boost that keeps the confidence for every answer."""
    boost = boost_for(Gaussian(sigma=sigma), aligned.preferred, aligned.confidence)
    return BoostedGaussian(aligned=aligned, sigma=sigma, boost=boost)


def best_boosted_gaussian(aligned: Aligned) -> BoostedGaussian:
    """The boosted Gaussian with the least exact epsilon over σ, from the plain one upwards.

    Its σ is found by a scan and a golden section on `looked_at`; whoever promises its epsilon asks for
    `epsilon()`, which covers all neighbors.
    """

    def loss(multiple: float) -> float:
        return boosted_gaussian(aligned, multiple * aligned.plain_sigma).looked_at()

    return boosted_gaussian(aligned, least_multiple(loss) * aligned.plain_sigma)


def least_multiple(loss: Callable[[float], float]) -> float:
    """The multiple of the plain scale with the least loss: the best of `SCAN`, then a golden section."""
    values = [loss(float(multiple)) for multiple in SCAN]
    at = int(np.argmin(values))
    low, high = float(SCAN[max(at - 1, 0)]), float(SCAN[min(at + 1, len(SCAN) - 1)])
    best, least = float(SCAN[at]), values[at]
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f_left, f_right = loss(left), loss(right)
    while high - low > CLOSE * low:
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - GOLDEN * (high - low)
            f_left = loss(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + GOLDEN * (high - low)
            f_right = loss(right)
    found, value = (left, f_left) if f_left <= f_right else (right, f_right)
    return found if value < least else best


def plain_kernels(aligned: Aligned) -> dict[str, Kernel]:
    """The widest plain Gaussian and Laplace noise that is within τ with the confidence."""
    tau, rho = aligned.half_width, aligned.confidence
    return {
        "plain gaussian": Gaussian(sigma=aligned.plain_sigma * SAFE),
        "plain laplace": Laplace(scale=tau / math.log(1 / (1 - rho)) * SAFE),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase:
    """Density ∝ exp(-loss k(x)), k(x) = max(0, ceil((|x| - center)/width)), with 0 < center <= width.

    The optimal noise of Geng and Viswanath (2014). The privacy loss at y of a shift by the width is loss
    times k(y - width) - k(y). That is 1 up to m = min(center, width - center), -1 from width - m on and 0
    between: left of 0 it is 1, and from 0 to the width it is [y < width - center] - [y > center]. A smaller
    shift loses no more, as the density never rises away from zero.
    """

    loss: float
    width: float
    center: float

    @property
    def _beyond(self) -> float:
        """All steps below one, as a length of its height."""
        return self.width / math.expm1(self.loss)

    @property
    def _total(self) -> float:
        return 2 * (self.center + self._beyond)

    def kept(self, half_width: float) -> float:
        """P(|noise| <= half_width)."""
        level = max(math.ceil((half_width - self.center) / self.width), 0)
        left = self.center + self.width * level - half_width
        return 1 - 2 * math.exp(-self.loss * level) * (left + self._beyond) / self._total

    def epsilon(self, measure: Measure) -> float:
        """At a delta, that of what is lost with probability `lost`; at an order, from the three losses."""
        lost = 0.5 + min(self.center, self.width - self.center) / self._total
        if isinstance(measure, AtDelta):
            return max(self.loss + math.log1p(-measure.delta / lost), 0.0) if measure.delta < lost else 0.0
        power, gained = measure.order - 1, lost * math.exp(-self.loss)
        log_moment = power * self.loss + math.log(
            lost
            + (1 - lost - gained) * math.exp(-power * self.loss)
            + gained * math.exp(-2 * power * self.loss)
        )
        return log_moment / power


def staircase(half_width: float, confidence: float, sensitivity: float) -> Staircase:
    """Steps as wide as the sensitivity, one of their edges on the edge of the region (Geng, Viswanath 2014).

    Its loss is the one that just keeps the confidence: the tail mass beyond an edge falls as the loss grows.
    """
    rest = math.fmod(half_width, sensitivity)
    steps = round(half_width / sensitivity)
    if abs(half_width - steps * sensitivity) <= ROUNDING * sensitivity:
        # a plateau of one whole step is the law whose plateau has no length, one level higher
        rest = sensitivity

    def excess(loss: float) -> float:
        law = Staircase(loss=loss, width=sensitivity, center=rest)
        return law.kept(half_width) - confidence

    loss = float(brentq(excess, 1e-9, 200.0, xtol=1e-14))
    return Staircase(loss=loss / SAFE, width=sensitivity, center=rest)
