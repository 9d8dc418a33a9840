"""What the plain kernel loses: its privacy profile, its loss distribution and its Rényi divergence.

Z is the privacy loss log f(y - Q) / f(y - Q') with y drawn around Q, for two answers that differ by the
sensitivity, and delta_Z(epsilon) = E[max(0, 1 - exp(epsilon - Z))] for any real epsilon (Definition 4). Both
families are symmetric, so a negative epsilon follows from the positive one:

    delta_Z(epsilon) = 1 - e^epsilon + e^epsilon delta_Z(-epsilon).

These closed forms are exact for the plain kernel. The slips come in where the paper mixes them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy.optimize import brentq

from pbdp import special
from pbdp.errors import InputError
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Array, Kernel
from pbdp.noise.laplace import Laplace
from pbdp.parameters import above_one, positive, probability, whole

# On every result of this package.
LABEL: Final = "as published"
SQRT_HALF = math.sqrt(0.5)


def epsilon_reaching(delta_at: Callable[[float], float], delta: float, ceiling: float) -> float:
    """The epsilon >= 0 at which a falling profile comes down to `delta`; zero if it starts there.

    `ceiling` is an epsilon at which the profile is known to be no higher than `delta`. The search runs on
    log(delta_at / delta), which is close to a parabola where delta_at itself is flat.
    """
    if delta_at(0.0) <= delta:
        return 0.0
    target, tiniest = math.log(delta), 5e-324

    def excess(epsilon: float) -> float:
        return math.log(max(delta_at(epsilon), tiniest)) - target

    while excess(ceiling) > 0:  # only rounding can bring us here
        ceiling = math.nextafter(ceiling, math.inf) * (1 + 1e-12)
    return float(brentq(excess, 0.0, ceiling, xtol=1e-14))


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProfile(ABC):
    """The loss of a plain kernel at a shift of `ratio` scales (sensitivity / sigma, or / Laplace scale)."""

    ratio: float
    label: str = field(default=LABEL, init=False)

    def __post_init__(self) -> None:
        positive("ratio", self.ratio)

    @abstractmethod
    def delta_at(self, epsilon: float) -> float:
        """delta_Z(epsilon) for any epsilon, negative and infinite ones included."""

    @abstractmethod
    def deltas_at(self, epsilons: Array) -> Array:
        """delta_Z at many epsilons."""

    @abstractmethod
    def loss_cdf(self, loss: float) -> float:
        """P(Z <= loss)."""

    @abstractmethod
    def renyi_at(self, order: float) -> float:
        """The kernel's Rényi epsilon_0 at an order above one."""

    @abstractmethod
    def composed(self, releases: int) -> KernelProfile:
        """The profile of `releases` independent uses of the kernel."""

    @abstractmethod
    def ceiling(self, delta: float) -> float:
        """An epsilon with delta_Z(epsilon) <= delta, to start a search from."""

    def epsilon_at(self, delta: float) -> float:
        """The kernel's own epsilon_0 at this delta: the root of delta_Z(epsilon) = delta, or zero."""
        probability("delta", delta)
        return epsilon_reaching(self.delta_at, delta, self.ceiling(delta))


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianProfile(KernelProfile):
    """Z is normal with mean m²/2 and deviation m, where m = sensitivity / sigma."""

    def delta_at(self, epsilon: float) -> float:
        """Phi(m/2 - epsilon/m) - e^epsilon Phi(-m/2 - epsilon/m) (Balle and Wang 2018, theorem 5).

        e^epsilon phi(b) = phi(a) for the two arguments a and b, so the second term is written with the scaled
        erfc and neither overflows nor loses the digits of a small difference.
        """
        size, m = abs(epsilon), self.ratio
        a, b = m / 2 - size / m, -m / 2 - size / m
        height, second = math.exp(-a * a / 2) / 2, float(special.erfcx(-b * SQRT_HALF))
        if a > 0:
            delta = math.erfc(-a * SQRT_HALF) / 2 - height * second
        else:
            delta = height * (float(special.erfcx(-a * SQRT_HALF)) - second)
        return delta if epsilon >= 0 else -math.expm1(-size) + math.exp(-size) * delta

    def deltas_at(self, epsilons: Array) -> Array:
        size, m = np.abs(epsilons), self.ratio
        a, b = m / 2 - size / m, -m / 2 - size / m
        height, second = np.exp(-a * a / 2) / 2, special.erfcx(-b * SQRT_HALF)
        near = special.ndtr(a) - height * second
        far = height * (special.erfcx(-np.minimum(a, 0.0) * SQRT_HALF) - second)
        delta: Array = np.where(a > 0, near, far)
        return np.where(epsilons >= 0, delta, -np.expm1(-size) + np.exp(-size) * delta)

    def loss_cdf(self, loss: float) -> float:
        return math.erfc(-(loss / self.ratio - self.ratio / 2) * SQRT_HALF) / 2

    def renyi_at(self, order: float) -> float:
        """alpha m² / 2 (Mironov 2017, corollary 3)."""
        return above_one("order", order) * self.ratio**2 / 2

    def composed(self, releases: int) -> GaussianProfile:
        """T Gaussians are one Gaussian of sigma / sqrt(T)."""
        return GaussianProfile(ratio=self.ratio * math.sqrt(whole("releases", releases)))

    def ceiling(self, delta: float) -> float:
        return self.ratio**2 / 2 + self.ratio * math.sqrt(-2 * math.log(delta))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceProfile(KernelProfile):
    """Z lies in [-a, a] with a = sensitivity / scale, half of its mass at a and e^-a / 2 at -a."""

    def delta_at(self, epsilon: float) -> float:
        """1 - e^((epsilon - a)/2) for abs(epsilon) <= a (Balle, Barthe and Gaboardi 2018), zero above.

        Below -a every output counts and delta_Z = 1 - e^epsilon.
        """
        exponent = epsilon if epsilon <= -self.ratio else (epsilon - self.ratio) / 2
        return -math.expm1(min(exponent, 0.0))

    def deltas_at(self, epsilons: Array) -> Array:
        exponent = np.where(epsilons <= -self.ratio, epsilons, (epsilons - self.ratio) / 2)
        deltas: Array = -np.expm1(np.minimum(exponent, 0.0))
        return deltas

    def loss_cdf(self, loss: float) -> float:
        if loss < -self.ratio:
            return 0.0
        return 1.0 if loss >= self.ratio else math.exp((loss - self.ratio) / 2) / 2

    def renyi_at(self, order: float) -> float:
        """log(alpha/(2 alpha - 1) e^((alpha-1)a) + (alpha-1)/(2 alpha - 1) e^(-alpha a)) / (alpha - 1).

        Mironov 2017, proposition 6.
        """
        alpha, a = above_one("order", order), self.ratio
        if (alpha - 1) * a < 1:
            rise = (alpha * math.expm1((alpha - 1) * a) + (alpha - 1) * math.expm1(-alpha * a)) / (
                2 * alpha - 1
            )
            return math.log1p(rise) / (alpha - 1)
        inner = (alpha + (alpha - 1) * math.exp(-(2 * alpha - 1) * a)) / (2 * alpha - 1)
        return a + math.log(inner) / (alpha - 1)

    def composed(self, releases: int) -> LaplaceProfile:
        """One release only: the sum of several Laplace losses has no closed form."""
        if whole("releases", releases) > 1:
            raise InputError(
                "releases", "1 for a Laplace kernel", releases, "Only a Gaussian composes in closed form."
            )
        return self

    def ceiling(self, delta: float) -> float:
        del delta
        return self.ratio


def has_profile(kernel: Kernel) -> bool:
    """Whether the formulas of this folder can be filled in for the kernel."""
    return isinstance(kernel, Gaussian | Laplace)


def profile_of(kernel: Kernel, sensitivity: float) -> KernelProfile:
    """The loss of the plain kernel for two answers that differ by the sensitivity."""
    shift = positive("sensitivity", sensitivity)
    match kernel:
        case Gaussian():
            return GaussianProfile(ratio=shift / kernel.sigma)
        case Laplace():
            return LaplaceProfile(ratio=shift / kernel.scale)
    raise InputError(
        "kernel", "a continuous Gaussian or Laplace", kernel.family, "Others have no closed form here."
    )
