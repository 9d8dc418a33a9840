"""What boosting adds to the kernel's loss: L1, L2 and the weights W1, W2, W3, for one release and for T.

**One release.** Theorem 1 says that the loss of the boosted mechanism is the kernel's loss Z plus L1, plus an
independent step of +L2, -L2 or 0 with weights W1, W2, W3. It is not so: which step is taken and how large Z
is are both decided by where y falls, and y follows the boosted law, not the kernel's.

**T releases.** The loss is that of T kernels, plus T·L1, plus (e1 - e2)·L2 where e1 and e2 count the steps up
and down (Theorem 2): 2T+1 offsets, whose probabilities are those of a trinomial summed over e1 - e2.
Algorithm 1 is mended: as printed its index e1 - e2 - 1 + T starts at -1, its last loop runs to one entry too
many, and it evaluates the profile at epsilon minus a *probability* and forgets to weigh the result. What is
meant is sum over k of V[k + T] · delta_Z^T(epsilon - T·L1 - k·L2), and that is what is computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from pbdp.errors import InputError
from pbdp.noise.kernel import Array, Kernel
from pbdp.parameters import above_one, finite, probability, whole
from reproduction.published.kernel_loss import LABEL, KernelProfile, epsilon_reaching

LARGEST_EXPONENT = 30.0


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedLoss:
    """The published loss of one release, for one pair of answers."""

    profile: KernelProfile
    losses: Losses
    weights: Weights
    label: str = field(default=LABEL, init=False)

    def __post_init__(self) -> None:
        if not self.weights.is_law:
            raise InputError(
                "weights", "three probabilities", f"W3 = {self.weights.neither:g}",
                "Proposition 6 gives none for so wide a sensitivity; use another reading.",
            )  # fmt: skip

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Theorem 1 (literal) as (weight, offset): f_Gamma(z) is the sum of weight · f_Z(z - offset)."""
        shift, step = self.losses.shift, self.losses.step
        weights = self.weights
        offsets = ((weights.plus, shift + step), (weights.minus, shift - step), (weights.neither, shift))
        return tuple((weight, offset) for weight, offset in offsets if weight > 0)

    def loss_cdf(self, loss: float) -> float:
        """P(Gamma <= loss) under Theorem 1 (literal)."""
        return math.fsum(weight * self.profile.loss_cdf(loss - offset) for weight, offset in self.atoms)

    def delta_at(self, epsilon: float) -> float:
        """W1 delta_Z(e - L1 - L2) + W2 delta_Z(e - L1 + L2) + W3 delta_Z(e - L1) (Proposition 1, literal)."""
        return sum(weight * self.profile.delta_at(epsilon - offset) for weight, offset in self.atoms)

    def epsilon_at(self, delta: float) -> float:
        """The epsilon >= 0 at which Proposition 1 gives this delta; infinite if it never does (q = 1)."""
        probability("delta", delta)
        shift, step, left = self.losses.shift, self.losses.step, delta
        if self.weights.plus == 0:
            step = 0.0
        elif math.isinf(step):
            step, left = 0.0, delta - self.weights.plus
            if left <= 0:
                return math.inf
        atoms, delta_z = self.atoms, self.profile.delta_at

        def delta_of(epsilon: float) -> float:
            return sum(weight * delta_z(epsilon - offset) for weight, offset in atoms)

        return epsilon_reaching(delta_of, delta, max(0.0, shift + step + self.profile.ceiling(left)))

    def renyi_at(self, order: float) -> float:
        """epsilon_0 + L1 + log(W1 e^((alpha-1) L2) + W2 e^(-(alpha-1) L2) + W3) / (alpha-1).

        Proposition 2, literal; Definition 2 has a wrong sign and lacks the logarithm (see SLIPS.md).
        """
        alpha = above_one("order", order)
        return self.profile.renyi_at(alpha) + self.losses.shift + _log_mean(self, alpha - 1) / (alpha - 1)


def _log_mean(loss: BoostedLoss, scale: float) -> float:
    """log E e^(scale · R) of the step R, which is +L2, -L2 or 0."""
    plus, minus = loss.weights.plus, loss.weights.minus
    x = scale * loss.losses.step
    if x < LARGEST_EXPONENT:
        return math.log1p(plus * math.expm1(x) + minus * math.expm1(-x))
    rest = minus * math.exp(-x) + loss.weights.neither
    if plus == 0:
        return math.log(rest) if rest > 0 else -math.inf
    return x + math.log(plus + rest * math.exp(-x))


def step_probabilities(weights: Weights, releases: int) -> Array:
    """P(e1 - e2 = k) for k = -T..T: the vector V of Algorithm 1, with its index mended.

    The coefficients of (W2 + W3 x + W1 x²)^T, by repeated squaring. All terms are non-negative, so nothing
    cancels and no binomial is ever large; the work is of order T², as Remark 1 says, in a few array passes.
    """
    T = whole("releases", releases)
    if not weights.is_law:
        raise InputError("weights", "three probabilities", f"W3 = {weights.neither:g}")
    power, square = np.ones(1), np.array([weights.minus, weights.neither, weights.plus])
    while True:
        if T & 1:
            power = np.convolve(power, square)
        T >>= 1
        if not T:
            return power
        square = np.convolve(square, square)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedLoss:
    """The published loss of `releases` equal releases, for one pair of answers."""

    single: BoostedLoss
    releases: int
    label: str = field(default=LABEL, init=False)
    _kernel: KernelProfile = field(init=False, repr=False, compare=False)
    _weight: Array = field(init=False, repr=False, compare=False)
    _offset: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        T, losses = whole("releases", self.releases), self.single.losses
        moves = self.single.weights.plus > 0 or self.single.weights.minus > 0
        if moves and math.isinf(losses.step):
            raise InputError("boost", "below 1", 1, "Infinite losses of both signs have no sum.")
        weight = step_probabilities(self.single.weights, T)
        steps = np.arange(-T, T + 1) * (losses.step if moves else 0.0)
        occurs = weight > 0
        object.__setattr__(self, "_kernel", self.single.profile.composed(T))
        object.__setattr__(self, "_weight", weight[occurs])
        object.__setattr__(self, "_offset", T * losses.shift + steps[occurs])

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Theorem 2 as (weight, offset): the sum of weight · f_Z^T(z - offset).

        Literal but for the argument, which is printed as epsilon and must be gamma.
        """
        return tuple(zip(self._weight.tolist(), self._offset.tolist(), strict=True))

    def delta_at(self, epsilon: float) -> float:
        """Sum of weight · delta_Z^T(epsilon - offset) (Proposition 3 literal, Algorithm 1 mended)."""
        return float(self._weight @ self._kernel.deltas_at(epsilon - self._offset))

    def epsilon_at(self, delta: float) -> float:
        """The epsilon >= 0 at which Proposition 3 gives this delta."""
        probability("delta", delta)
        ceiling = float(self._offset.max()) + self._kernel.ceiling(delta)
        return epsilon_reaching(self.delta_at, delta, max(0.0, ceiling))

    def renyi_at(self, order: float) -> float:
        """T times the Rényi epsilon of one release (Remark 2, literal)."""
        return self.releases * self.single.renyi_at(above_one("order", order))
