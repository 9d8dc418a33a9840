"""The boosted mechanism (paper, Eq. 2 and 3).

Given the true answer Q, the output has density

    w(y) f(y - Q) / C(Q),    w = 1 inside the region of Q and 1 - q outside,    C(Q) = 1 - q·pbar(Q),

where f is the kernel's density, q the boost and pbar(Q) the kernel's mass outside the region. q = 0 is the
plain kernel; q = 1 cuts everything outside the region off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.domains import probability
from pbdp.errors import InputError
from pbdp.mechanism.region import Region
from pbdp.noise.kernel import Array, Kernel, LatticeKernel

# What the kernel's own rounding (1e-12 relative, see pbdp.noise.kernel) can take off a confidence.
KERNEL_ERROR = 4e-12


def region_masses(kernel: Kernel, below: npt.ArrayLike, above: npt.ArrayLike) -> tuple[Array, Array]:
    """The kernel's mass (inside, outside) of [-below, above], each without cancellation."""
    outside = kernel.survival(above) + _mass_below(kernel, -np.asarray(below))
    inside = kernel.mass(-np.asarray(below), above)
    return inside, outside


def _mass_below(kernel: Kernel, low: npt.ArrayLike) -> Array:
    """P(noise < low): the cdf, less the mass at `low` itself on a lattice."""
    return kernel.cdf(np.ceil(np.asarray(low)) - 1) if isinstance(kernel, LatticeKernel) else kernel.cdf(low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boosted:
    """A kernel, a region and a boost: one output law for every answer."""

    kernel: Kernel
    region: Region
    boost: float

    def __post_init__(self) -> None:
        if not 0 <= self.boost <= 1:
            raise InputError("boost", "between 0 and 1", self.boost)

    @property
    def boost_loss(self) -> float:
        """The paper's L2 = -log(1 - q): the loss at an output that only one of two answers prefers."""
        return -math.log1p(-self.boost) if self.boost < 1 else math.inf

    @property
    def follows_answer(self) -> bool:
        """Whether the law of (output - answer) is the same for all answers."""
        return self.boost == 0 or self.region.follows_answer

    def normalizer(self, below: npt.ArrayLike, above: npt.ArrayLike) -> Array:
        """C = 1 - q·pbar for a region that reaches `below` and `above` its answer."""
        inside, outside = region_masses(self.kernel, below, above)
        return inside + (1 - self.boost) * outside

    def confidence_at(self, answer: npt.ArrayLike) -> Array:
        """Probability that the output meets the requirement when this is the true answer."""
        inside, outside = region_masses(self.kernel, *self.region.offsets(answer))
        return inside / (inside + (1 - self.boost) * outside)

    def law_at(self, answer: float) -> BoostedLaw:
        """The law of the output when this is the true answer, clamped into those that may occur."""
        low, high = self.region.answers
        answer = min(max(answer, low), high)
        below, above = self.region.offsets(answer)
        return BoostedLaw(mechanism=self, answer=answer, below=float(below), above=float(above))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedLaw:
    """The law of the output for one true answer; outputs are absolute, not relative to the answer."""

    mechanism: Boosted
    answer: float
    below: float
    above: float

    @property
    def _constant(self) -> float:
        return float(self.mechanism.normalizer(self.below, self.above))

    def log_density(self, y: npt.ArrayLike) -> Array:
        """Log density (continuous) or log mass (lattice) at outputs y."""
        noise = np.asarray(y, dtype=np.float64) - self.answer
        inside = (noise >= -self.below) & (noise <= self.above)
        outside_weight = -self.mechanism.boost_loss
        weight = np.where(inside, 0.0, outside_weight)
        return self.mechanism.kernel.log_density(noise) + weight - math.log(self._constant)

    def density(self, y: npt.ArrayLike) -> Array:
        """Density or mass at outputs y."""
        return np.exp(self.log_density(y))


def boost_for(kernel: Kernel, region: Region, confidence: float) -> float:
    """Smallest boost with which every answer keeps the confidence, rounded up (paper, Eq. 3).

    q = max(0, (rho - p) / (rho (1 - p))) with p the least kernel mass of a region; 1 - p is computed as the
    mass outside, so that it keeps its digits when p is near 1.
    """
    rho = probability("confidence", confidence) * (1 + KERNEL_ERROR)
    if rho >= 1:
        rho = math.nextafter(1.0, 0.0)
    inside, outside = region_masses(kernel, *region.offsets(region.hardest_answers(kernel)))
    worst = int(np.argmin(inside - outside))
    p, pbar = float(inside[worst]), float(outside[worst])
    if p >= rho:
        return 0.0
    # rho - p = pbar - (1 - rho), without subtracting two numbers near one
    return min(1.0, math.nextafter((pbar - (1 - rho)) / (rho * pbar), 2.0))
