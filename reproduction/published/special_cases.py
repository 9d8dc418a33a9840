"""The paper's three preferred regions: absolute error, relative error, fixed range.

Propositions 4, 5 and 6, and Remarks 3 and 4. Each case names its own worst pair of answers, fills L1, L2, W1,
W2 in, and hands them to Theorem 1. With `Reading.PRINTED` the proposition is kept letter by letter. Only one
direction of each pair is evaluated, X at the first answer, as the paper does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum

from pbdp import special
from pbdp.errors import InputError
from pbdp.noise.kernel import Kernel
from pbdp.parameters import above_one, finite, positive, probability
from reproduction.published.boosted_loss import (
    AnswerPair,
    BoostedLoss,
    Losses,
    Weights,
    losses_of,
    mass_around,
    normalizer,
    rate_of,
    step_of,
    weights_by_event,
    weights_of,
)
from reproduction.published.kernel_loss import LABEL, profile_of


class Reading(Enum):
    """How a special case fills in the general formulas.

    The three agree on L2 and, but for a wide sensitivity on a fixed range, on L1. They differ in the weights.
    None of them makes the result an upper bound: that slip is in Theorem 1 itself.
    """

    PRINTED = "printed"
    """Propositions 4, 5 and 6, letter by letter."""

    EQUATION_6 = "equation 6"
    """Equation 6 at the proposition's own pair of answers: W1 goes with the upper ends, W2 with the lower."""

    MENDED = "mended"
    """Weights of the events that cause the losses: W1 of outputs that only the answer prefers, W2 of outputs
    that only its neighbor prefers, for regions that both moved to where they belong."""


def boosting_rate(confidence: float, inside: float, outside: float) -> float:
    """q = 1/rho + 1/pbar - 1/(rho pbar), zero where the kernel alone meets rho (Equation 3, mended).

    Printed without the floor at zero, which only the text below it mentions. Written as
    (pbar - (1-rho)) / (rho pbar); `inside` and `outside` are p and pbar at the answer with the least p.
    """
    rho = probability("confidence", confidence)
    return 0.0 if inside >= rho else max(0.0, outside - (1 - rho)) / (rho * outside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(ABC):
    """A preferred region for which the paper gives the losses and weights."""

    label: str = field(default=LABEL, init=False)

    @abstractmethod
    def pair(self, sensitivity: float, reading: Reading = Reading.PRINTED) -> AnswerPair:
        """The answers that the proposition takes for the worst; the first has the least p."""

    @abstractmethod
    def printed_weights(self, kernel: Kernel, sensitivity: float) -> Weights:
        """W1 and W2 letter by letter."""

    def boost(self, kernel: Kernel, confidence: float) -> float:
        """The q that the paper sets for this confidence (Equation 3 at the answer with the least p)."""
        pair = self.pair(1.0)
        low, high = pair.low - pair.answer, pair.high - pair.answer
        outside = float(kernel.cdf(low)) + float(kernel.survival(high))
        return boosting_rate(confidence, mass_around(kernel, 0.0, low, high), outside)

    def losses(
        self, kernel: Kernel, boost: float, sensitivity: float, reading: Reading = Reading.PRINTED
    ) -> Losses:
        """L1 and L2 (Equation 4 at the case's pair)."""
        return losses_of(kernel, self.pair(sensitivity, reading), boost)

    def weights(self, kernel: Kernel, sensitivity: float, reading: Reading = Reading.PRINTED) -> Weights:
        """W1 and W2 under the reading."""
        match reading:
            case Reading.PRINTED:
                return self.printed_weights(kernel, sensitivity)
            case Reading.EQUATION_6:
                return weights_of(kernel, self.pair(sensitivity, reading))
            case Reading.MENDED:
                return weights_by_event(kernel, self.pair(sensitivity, reading))

    def loss(
        self, kernel: Kernel, *, boost: float, sensitivity: float, reading: Reading = Reading.PRINTED
    ) -> BoostedLoss:
        """Theorem 1 filled in for this case; an error where its weights are no probabilities."""
        return BoostedLoss(
            profile=profile_of(kernel, sensitivity),
            losses=self.losses(kernel, boost, sensitivity, reading),
            weights=self.weights(kernel, sensitivity, reading),
        )

    def loss_or_none(
        self, kernel: Kernel, *, boost: float, sensitivity: float, reading: Reading = Reading.PRINTED
    ) -> BoostedLoss | None:
        """Theorem 1 filled in for this case; None where its weights are no probabilities."""
        weights = self.weights(kernel, sensitivity, reading)
        if not weights.is_law:
            return None
        losses = self.losses(kernel, boost, sensitivity, reading)
        return BoostedLoss(profile=profile_of(kernel, sensitivity), losses=losses, weights=weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsoluteError(Case):
    """abs(y - Q) <= half_width (tau), the same for every answer."""

    half_width: float

    def __post_init__(self) -> None:
        positive("half_width", self.half_width)

    def pair(self, sensitivity: float, reading: Reading = Reading.PRINTED) -> AnswerPair:
        """Answers 0 and sensitivity; any two that far apart are alike."""
        del reading
        shift, tau = positive("sensitivity", sensitivity), self.half_width
        return AnswerPair(
            answer=0.0,
            low=-tau,
            high=tau,
            neighbor=shift,
            neighbor_low=shift - tau,
            neighbor_high=shift + tau,
        )

    def losses(
        self, kernel: Kernel, boost: float, sensitivity: float, reading: Reading = Reading.PRINTED
    ) -> Losses:
        """L1 = 0, L2 = -log(1-q) (Proposition 6, literal)."""
        del kernel, sensitivity, reading
        return Losses(shift=0.0, step=step_of(boost))

    def printed_weights(self, kernel: Kernel, sensitivity: float) -> Weights:
        """W1 = W2 = Phi(Delta - tau) - Phi(-tau) (Proposition 6, Equation 9, literal).

        By Equation 6 the other weight is Phi(Delta + tau) - Phi(tau), which is smaller; with Delta > 2 tau
        and a narrow kernel the printed pair sums to more than one.
        """
        weight = float(kernel.mass(-self.half_width, positive("sensitivity", sensitivity) - self.half_width))
        return Weights(plus=weight, minus=weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelativeError(Case):
    """abs(y - Q) <= theta·abs(Q) + tau."""

    tau: float
    theta: float

    def __post_init__(self) -> None:
        positive("tau", self.tau)
        if not 0 <= self.theta <= 1:
            raise InputError("theta", "between 0 and 1", self.theta)

    def pair(self, sensitivity: float, reading: Reading = Reading.PRINTED) -> AnswerPair:
        """Answers 0 and sensitivity, where p differs most.

        L1 of this pair is Proposition 4's, with its undefined tau_u and tau_l read as tau and -tau.
        """
        del reading
        shift = positive("sensitivity", sensitivity)
        reach = self.theta * shift + self.tau
        return AnswerPair(
            answer=0.0,
            low=-self.tau,
            high=self.tau,
            neighbor=shift,
            neighbor_low=shift - reach,
            neighbor_high=shift + reach,
        )

    def printed_weights(self, kernel: Kernel, sensitivity: float) -> Weights:
        """W1 = Phi(theta Delta + tau) - Phi(tau), W2 = Phi(theta Delta - tau) - Phi(-tau).

        Proposition 4, literal. The neighbor's region is widened but not moved by Delta; at theta = 0 both
        weights are zero and do not agree with Proposition 6.
        """
        grown = self.theta * positive("sensitivity", sensitivity)
        return Weights(
            plus=float(kernel.mass(self.tau, grown + self.tau)),
            minus=float(kernel.mass(-self.tau, grown - self.tau)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRange(Case):
    """low <= y <= high, whatever the answer."""

    low: float
    high: float

    def __post_init__(self) -> None:
        finite("low", self.low)
        finite("high", self.high)
        if self.low >= self.high:
            raise InputError("range", "low end first, then a higher one", f"{self.low:g} {self.high:g}")

    def pair(self, sensitivity: float, reading: Reading = Reading.PRINTED) -> AnswerPair:
        """The low end and the low end plus sensitivity (Proposition 5, literal).

        p is largest in the middle of the range, so beyond half the width the printed L1 shrinks, and beyond
        the width it is negative and the neighbor no valid answer. `MENDED` stops it in the middle.
        """
        shift = positive("sensitivity", sensitivity)
        if reading is Reading.MENDED:
            shift = min(shift, (self.high - self.low) / 2)
        return AnswerPair(
            answer=self.low,
            low=self.low,
            high=self.high,
            neighbor=self.low + shift,
            neighbor_low=self.low,
            neighbor_high=self.high,
        )

    def losses(
        self, kernel: Kernel, boost: float, sensitivity: float, reading: Reading = Reading.PRINTED
    ) -> Losses:
        """L1 (Proposition 5, literal); the region never moves, so there is no L2 and zero stands for it."""
        pair = self.pair(sensitivity, reading)
        return Losses(shift=losses_of(kernel, pair, rate_of(boost)).shift, step=0.0)

    def printed_weights(self, kernel: Kernel, sensitivity: float) -> Weights:
        """W1 = W2 = 0 (Proposition 5, literal)."""
        del kernel, sensitivity
        return Weights(plus=0.0, minus=0.0)


def plain_sigma(case: Case, confidence: float) -> float:
    """The largest sigma at which a Gaussian meets the confidence without a boost; zero if none does.

    Phi(tau/sigma) - Phi(-tau/sigma) = rho for the regions that move with the answer. On a fixed range the
    answer at the end has Phi(width/sigma) - 1/2 = rho, which no sigma meets for rho >= 1/2.
    """
    rho, pair = probability("confidence", confidence), case.pair(1.0)
    reach = pair.high - pair.answer
    if pair.low < pair.answer:
        return float(-reach / special.ndtri((1 - rho) / 2))
    return float(reach / special.ndtri(rho + 0.5)) if rho < 0.5 else 0.0


def fixed_delta(
    case: FixedRange,
    kernel: Kernel,
    *,
    epsilon: float,
    boost: float,
    sensitivity: float,
    reading: Reading = Reading.PRINTED,
) -> float:
    """delta_Z(epsilon - L1) (Remark 3, literal); the mended reading divides by 1 - pbar q.

    The boosted density is at most the kernel's over 1 - pbar q, and the proof leaves that factor out. It is
    always below one, so the mended delta is the larger.
    """
    loss = case.loss(kernel, boost=boost, sensitivity=sensitivity, reading=reading)
    delta = loss.delta_at(epsilon)
    return min(1.0, delta / _edge_normalizer(case, kernel, boost)) if reading is Reading.MENDED else delta


def fixed_renyi(
    case: FixedRange,
    kernel: Kernel,
    *,
    order: float,
    boost: float,
    sensitivity: float,
    reading: Reading = Reading.PRINTED,
) -> float:
    """epsilon_0 + L1 (Remark 3, literal); the mended reading adds -log(1 - pbar q) / (alpha - 1)."""
    epsilon = case.loss(kernel, boost=boost, sensitivity=sensitivity, reading=reading).renyi_at(order)
    if reading is not Reading.MENDED:
        return epsilon
    return epsilon - math.log(_edge_normalizer(case, kernel, boost)) / (order - 1)


def _edge_normalizer(case: FixedRange, kernel: Kernel, boost: float) -> float:
    """1 - pbar q at the low end of the range, where p is least."""
    return normalizer(kernel, case.low, case.low, case.high, boost)


def absolute_delta(
    case: AbsoluteError, kernel: Kernel, *, epsilon: float, boost: float, sensitivity: float
) -> float:
    """W1 (delta_Z(e - L2) + delta_Z(e + L2)) + (1 - 2 W1) delta_Z(e) (Remark 4, literal).

    Unlike the general formulas it is evaluated as printed even where 1 - 2 W1 is negative.
    """
    weight = case.printed_weights(kernel, sensitivity).plus
    step = case.losses(kernel, boost, sensitivity).step
    delta_z = profile_of(kernel, sensitivity).delta_at
    outer = delta_z(epsilon - step) + delta_z(epsilon + step)
    return weight * outer + (1 - 2 * weight) * delta_z(epsilon)


def absolute_renyi(
    case: AbsoluteError,
    kernel: Kernel,
    *,
    order: float,
    boost: float,
    sensitivity: float,
    reading: Reading = Reading.MENDED,
) -> float:
    """epsilon_0 + log(1 - 2 W2 + W2 (e^((alpha-1) L2) + e^(-(alpha-1) L2))) / (alpha-1) (Remark 4, mended).

    `Reading.PRINTED` gives the letter: e^(alpha-1) (e^L2 + e^-L2) in place of the two exponentials, which
    does not follow from Proposition 2 and adds a loss even for a boost of zero. Both use the weights of
    Proposition 6.
    """
    alpha = above_one("order", order)
    if reading is Reading.EQUATION_6:
        raise InputError("reading", "printed or mended", reading.value, "Remark 4 is written with W1 = W2.")
    if reading is Reading.MENDED:
        return case.loss(kernel, boost=boost, sensitivity=sensitivity).renyi_at(alpha)
    weight = case.printed_weights(kernel, sensitivity).plus
    step = case.losses(kernel, boost, sensitivity).step
    mean = 1 - 2 * weight + weight * math.exp(alpha - 1) * (math.exp(step) + math.exp(-step))
    return profile_of(kernel, sensitivity).renyi_at(alpha) + math.log(mean) / (alpha - 1)
