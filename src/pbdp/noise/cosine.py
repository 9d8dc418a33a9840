"""Cosine noise: a squared cosine in the center, exponential tails; the law of least Fisher information."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.domains import positive
from pbdp.errors import CannotCertifyError, InputError
from pbdp.noise.family import Family, Problem, Shape, Shapes
from pbdp.noise.grid import GridKernel
from pbdp.noise.kernel import Array, ArrayLike, LatticeKernel, LogConcaveKernel
from pbdp.root import bracketed_root

# Halvings of a bracket of doubles until its ends meet.
HALVINGS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosine(LogConcaveKernel):
    """Noise with density ∝ cos²(ωx) up to |x| = c, the knee, and ∝ exp(-2ω tan(ωc)·|x|) beyond; ω = angle/c.

    Value and slope agree at the knee. Among the laws that put a given share within c of zero this is the one
    of least Fisher information (Huber 1981, section 4.5), which governs the privacy loss of many releases.
    The loss of a shift s never exceeds 2ω tan(angle)·s.
    """

    knee: float
    angle: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "knee", positive("knee", self.knee))
        object.__setattr__(self, "angle", positive("angle", self.angle))
        if not self.angle < math.pi / 2:
            raise InputError("angle", "above 0 and below π/2", self.angle)

    @property
    def family(self) -> str:
        """`cosine`."""
        return "cosine"

    @property
    def support(self) -> tuple[float, float]:
        """The whole line."""
        return (-math.inf, math.inf)

    @property
    def _omega(self) -> float:
        return self.angle / self.knee

    @property
    def slope(self) -> float:
        """Rate at which the tails fall."""
        return 2 * self._omega * math.tan(self.angle)

    @property
    def _total(self) -> float:
        """Integral of the unnormalized density: c + sin(2·angle)/(2ω) + 2cos²(angle)/slope."""
        return (
            self.knee
            + math.sin(2 * self.angle) / (2 * self._omega)
            + 2 * math.cos(self.angle) ** 2 / self.slope
        )

    def log_density(self, x: ArrayLike) -> Array:
        distance = np.abs(np.asarray(x, dtype=np.float64))
        near = np.minimum(distance, self.knee)
        return np.asarray(
            2 * np.log(np.cos(self._omega * near)) - self.slope * (distance - near) - math.log(self._total)
        )

    def _left_tail(self, distance: Array) -> Array:
        """P(noise <= -distance) for distance >= 0: the rest of the center and the tail, both positive."""
        near = np.minimum(distance, self.knee)
        center = self._center(near, np.full_like(near, self.knee))
        beyond = math.cos(self.angle) ** 2 / self.slope * np.exp(-self.slope * (distance - near))
        return np.asarray((center + beyond) / self._total)

    def _center(self, low: Array, high: Array) -> Array:
        """Integral of cos²(ωx) over [low, high]: half the length l plus sin(ωl)·cos(2ω·middle)/(2ω)."""
        length, omega = high - low, self._omega
        return np.asarray(length / 2 + np.sin(omega * length) * np.cos(omega * (low + high)) / (2 * omega))

    def cdf(self, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=np.float64)
        tail = self._left_tail(np.abs(x))
        return np.where(x <= 0, tail, 1 - tail)

    def survival(self, x: ArrayLike) -> Array:
        return self.cdf(-np.asarray(x, dtype=np.float64))

    def quantile(self, u: ArrayLike) -> Array:
        """Closed form in the tails, by halving in the center."""
        level = np.asarray(u, dtype=np.float64)
        small = np.minimum(level, 1 - level)
        at_knee = float(self._left_tail(np.asarray(self.knee)))
        with np.errstate(divide="ignore"):
            far = self.knee + np.log(at_knee / small) / self.slope
        low, high = np.zeros_like(small), np.full_like(small, self.knee)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            above = self._left_tail(middle) > small
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        distance = np.where(small <= at_knee, far, high)
        return np.where(level <= 0.5, -distance, distance)

    def upper_quantile(self, u: ArrayLike) -> Array:
        return -self.quantile(u)

    def mass(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The part in the center and the two parts in the tails, added."""
        low, high = np.broadcast_arrays(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
        c = self.knee
        left, right = np.clip(low, -c, c), np.clip(high, -c, c)
        center = np.where(right > left, self._center(left, np.maximum(left, right)), 0.0)
        height = math.cos(self.angle) ** 2 / self.slope
        tails = np.zeros_like(center)
        for near, far in ((low, high), (-high, -low)):
            start = np.maximum(near, c)
            with np.errstate(invalid="ignore"):
                length = np.maximum(far - start, 0.0)
                part = np.exp(-self.slope * (start - c)) * -np.expm1(-self.slope * length)
            tails = tails + np.where(far > start, part, 0.0)
        return np.asarray((center + height * tails) / self._total)

    def largest_loss(self, shift: float) -> float:
        return self.slope * abs(shift)

    def score(self, x: ArrayLike) -> Array:
        near = np.clip(np.asarray(x, dtype=np.float64), -self.knee, self.knee)
        return np.asarray(2 * self._omega * np.tan(self._omega * near))

    def loss_crossing(self, level: ArrayLike, shift: ArrayLike) -> Array:
        """By halving between the last output of full loss and the first of none: -c and c + shift."""
        level, shift = np.broadcast_arrays(
            np.asarray(level, dtype=np.float64), np.asarray(shift, dtype=np.float64)
        )
        low, high = np.full(level.shape, -self.knee), self.knee + shift
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            above = self.log_density(middle) - self.log_density(middle - shift) > level
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        most = self.slope * shift
        return np.where(level >= most, -np.inf, np.where(level < -most, np.inf, high))

    def log_moment(
        self,
        low: ArrayLike,  # noqa: ARG002 - refused whatever they are
        high: ArrayLike,  # noqa: ARG002
        shift: ArrayLike,  # noqa: ARG002
        order: float,  # noqa: ARG002
    ) -> tuple[Array, Array]:
        raise CannotCertifyError("Rényi figures of cosine noise are computed on a grid; use on_grid().")

    def on_grid(self) -> LatticeKernel:
        return GridKernel(continuous=self)


def _shapes(problem: Problem) -> Shapes:
    """The angle at the knee; with the knee on the edge of the region it is the law of least information."""

    def shape(angle: float) -> Shape:
        slope = 2 * angle * math.tan(angle)

        def log_density(x: Array, scale: Array) -> Array:
            size = np.abs(x) / scale
            near = np.minimum(size, 1.0)
            return np.asarray(2 * np.log(np.cos(angle * near)) - slope * (size - near))

        return Shape(
            start=problem.reach + 1.0,
            log_density=log_density,
            kernel=lambda scale: Cosine(knee=scale, angle=angle).on_grid(),
        )

    least = _least_information_angle(problem.goal.confidence)
    around = (0.8 * least, 0.92 * least, least, 0.4 * least + 0.6 * math.pi / 2)
    return Shapes(shape=shape, parameters=around, few=(least,))


def _least_information_angle(confidence: float) -> float:
    """The angle a at which the center holds the confidence p: (a + sin a cos a)(1 - p) = p cos²a / tan a."""

    def short(angle: float) -> float:
        center = angle + math.sin(angle) * math.cos(angle)
        tails = math.cos(angle) ** 2 / math.tan(angle)
        return confidence - center / (center + tails)

    return bracketed_root(short, 1e-6, math.pi / 2 - 1e-6)


COSINE = Family(
    name="cosine",
    rank=7,
    law=Cosine,
    character="has the least Fisher information, which counts when many losses add up",
    shapes=_shapes,
)
