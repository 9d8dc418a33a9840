"""Huber noise: a Gaussian center with Laplace tails."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.noise.family import Family, Problem, Shape, Shapes
from pbdp.noise.kernel import Array, ArrayLike, LogConcave
from pbdp.parameters import positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Huber(LogConcave):
    """Noise whose log-density is -x²/2σ² up to |x| = c, the knee, and goes on with slope c/σ² beyond.

    The least informative law of Huber (1964). A knee at 0 with c/σ² fixed is Laplace, a knee at infinity is
    Gaussian; the loss of a shift s never exceeds sc/σ².
    """

    sigma: float
    knee: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        object.__setattr__(self, "knee", positive("knee", self.knee))

    @property
    def family(self) -> str:
        """`huber`."""
        return "huber"

    @property
    def _curvature(self) -> float:
        return 1.0 / self.sigma**2

    @property
    def _log_total(self) -> float:
        """Log of the integral of exp(-h(x)): σ√(2π) erf(c/σ√2) + 2(σ²/c) exp(-c²/2σ²)."""
        ratio = self.knee / self.sigma
        center = math.sqrt(2 * math.pi) * math.erf(ratio / math.sqrt(2))
        return math.log(self.sigma) + math.log(center + 2 * math.exp(-ratio * ratio / 2) / ratio)

    def log_density(self, x: ArrayLike) -> Array:
        """-min(|x|, c)(|x| - min(|x|, c)/2)/σ² less the log of the integral of its exponential."""
        far = np.abs(np.asarray(x, dtype=np.float64)) / self.sigma
        near = np.minimum(far, self.knee / self.sigma)
        return np.asarray(-near * (far - near / 2) - self._log_total)

    def largest_loss(self, shift: float) -> float:
        """shift c/σ²."""
        return shift * self.knee * self._curvature

    def score(self, x: ArrayLike) -> Array:
        """x/σ², held at ±c/σ²."""
        return np.asarray(np.clip(np.asarray(x, dtype=np.float64), -self.knee, self.knee) * self._curvature)

    def loss_crossing(self, level: ArrayLike, shift: ArrayLike) -> Array:
        """Where the loss passes `level`, in closed form.

        With m = min(2c, s) and left of s/2, σ² times the loss is cs up to -c, cs - (y+c)²/2 up to m - c, and
        m(s - 2y)/2 from there to s/2; the right half is its mirror image.
        """
        level, shift = np.broadcast_arrays(
            np.asarray(level, dtype=np.float64), np.asarray(shift, dtype=np.float64)
        )
        c = self.knee
        height = np.abs(level) * self.sigma**2
        least = np.minimum(2 * c, shift)
        spare = c * shift - height
        with np.errstate(invalid="ignore"):
            curved = np.sqrt(2 * np.maximum(spare, 0.0)) - c
            crossing = np.where(spare < least * (least / 2), curved, shift / 2 - height / least)
            # The loss stays within ±cs/σ²: no output exceeds a level above, and all exceed one below.
            crossing = np.where(spare <= 0, -np.inf, crossing)
        return np.where(level < 0, shift - crossing, crossing)


def _shapes(problem: Problem) -> Shapes:
    """The knee as a multiple of the half-width; the scale is the Gaussian's."""

    def shape(ratio: float) -> Shape:
        knee = ratio * (problem.reach + 0.5)

        def log_density(x: Array, scale: Array) -> Array:
            size = np.abs(x)
            near = np.minimum(size, knee)
            return np.asarray(-near * (size - near / 2) / scale**2)

        return Shape(
            start=problem.reach + 1.0,
            log_density=log_density,
            kernel=lambda scale: Huber(sigma=scale, knee=knee).on_grid(),
        )

    return Shapes(shape=shape, parameters=(0.25, 0.5, 0.8, 1.0, 1.2, 1.5))


HUBER = Family(
    name="huber",
    rank=6,
    law=Huber,
    lengths=("sigma", "knee"),
    character="has a Gaussian center and Laplace tails, so its loss is bounded",
    shapes=_shapes,
    concave=True,
    formula=lambda sigma, knee: (
        f"exp(-minimum(abs(k), {knee!r})*(abs(k)-minimum(abs(k), {knee!r})/2)/{sigma!r}**2)"
    ),
)
