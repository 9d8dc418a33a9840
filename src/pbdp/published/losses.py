"""The losses L1, L2 and the weights W1, W2, W3 of one pair of answers (Equations 4, 5 and 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from pbdp.domains import finite
from pbdp.errors import InputError
from pbdp.noise.kernel import Kernel
from pbdp.published.label import LABEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """What boosting adds to the kernel's loss: `shift` (L1) always, plus or minus `step` (L2) at times."""

    shift: float
    step: float
    label: str = field(default=LABEL, init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How often the loss moves: `plus` (W1) by +L2, `minus` (W2) by -L2, `neither` (W3 = 1 - W1 - W2) not."""

    plus: float
    minus: float
    label: str = field(default=LABEL, init=False)

    @property
    def neither(self) -> float:
        """W3 (Equation 6)."""
        return 1 - self.plus - self.minus

    @property
    def is_law(self) -> bool:
        """Whether all are probabilities. Proposition 6 makes W3 negative for some wide sensitivities."""
        return self.plus >= 0 and self.minus >= 0 and self.neither >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPair:
    """Two neighboring answers Q(X), Q(X') and the ends tau_l, tau_u of their regions (Equation 5)."""

    answer: float
    low: float
    high: float
    neighbor: float
    neighbor_low: float
    neighbor_high: float

    def __post_init__(self) -> None:
        for name in ("answer", "low", "high", "neighbor", "neighbor_low", "neighbor_high"):
            finite(name, getattr(self, name))
        if self.low > self.high or self.neighbor_low > self.neighbor_high:
            raise InputError("region", "low end first, then a higher one", "the reverse")


def mass_around(kernel: Kernel, answer: float, low: float, high: float) -> float:
    """The kernel's probability of [low, high] when its noise is added to `answer`."""
    return float(kernel.mass(low - answer, high - answer))


def normalizer(kernel: Kernel, answer: float, low: float, high: float, boost: float) -> float:
    """1 - pbar q with pbar the kernel's mass outside [low, high], as p + (1-q) pbar: nothing cancels."""
    outside = float(kernel.cdf(low - answer)) + float(kernel.survival(high - answer))
    return mass_around(kernel, answer, low, high) + (1 - boost) * outside


def rate_of(boost: float) -> float:
    """The boosting rate q, checked: from 0 (plain kernel) to 1 (nothing outside the region)."""
    if not 0 <= boost <= 1:
        raise InputError("boost", "between 0 and 1", boost)
    return float(boost)


def step_of(boost: float) -> float:
    """L2 = -log(1-q) (Equation 4, literal); infinite at q = 1."""
    return -math.log1p(-boost) if rate_of(boost) < 1 else math.inf


def losses_of(kernel: Kernel, pair: AnswerPair, boost: float) -> Losses:
    """L1 = log((1 - pbar(X') q) / (1 - pbar(X) q)) and L2 = -log(1-q) (Equation 4, literal)."""
    q = rate_of(boost)
    here = normalizer(kernel, pair.answer, pair.low, pair.high, q)
    there = normalizer(kernel, pair.neighbor, pair.neighbor_low, pair.neighbor_high, q)
    if not (here > 0 and there > 0):
        raise InputError("boost", "below 1 where the kernel hardly reaches the region", boost)
    return Losses(shift=math.log(there / here), step=step_of(q))


def weights_of(kernel: Kernel, pair: AnswerPair) -> Weights:
    """W1 between the two upper ends, W2 between the two lower ends (Equation 6, literal).

    The mass is the kernel's around Q(X), though y is drawn from the boosted law. For Q(X') above Q(X) the
    outputs between the lower ends are those that only X prefers, so the labels are the wrong way round;
    `weights_by_event` has them right. Where the regions do not meet, what lies between is counted twice.
    """
    upper = sorted((pair.high, pair.neighbor_high))
    lower = sorted((pair.low, pair.neighbor_low))
    return Weights(
        plus=mass_around(kernel, pair.answer, upper[0], upper[1]),
        minus=mass_around(kernel, pair.answer, lower[0], lower[1]),
    )


def weights_by_event(kernel: Kernel, pair: AnswerPair) -> Weights:
    """W1 of the outputs that only X prefers, W2 of those that only X' prefers (Equation 6, mended).

    These are the events that the text below Theorem 1 and cases 2 and 3 of Appendix B name. The mass is still
    the kernel's around Q(X).
    """

    def only(low: float, high: float, other_low: float, other_high: float) -> float:
        before = mass_around(kernel, pair.answer, low, max(low, min(high, other_low)))
        after = mass_around(kernel, pair.answer, min(high, max(low, other_high)), high)
        apart = other_high < low or high < other_low
        return mass_around(kernel, pair.answer, low, high) if apart else before + after

    ends, other_ends = (pair.low, pair.high), (pair.neighbor_low, pair.neighbor_high)
    return Weights(plus=only(*ends, *other_ends), minus=only(*other_ends, *ends))
