"""Cosine noise: a squared cosine in the center, exponential tails; the law of least Fisher information."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.errors import InputError
from pbdp.noise.family import Family, Problem, Shape, Shapes
from pbdp.noise.kernel import Array, ArrayLike, LogConcave
from pbdp.noise.laplace import LAPLACE
from pbdp.parameters import positive
from pbdp.root_finding import bracketed_root

# Halvings of a bracket of doubles until its ends meet.
HALVINGS = 64
# Below this confidence the center has next to nothing, and angles are tried that other widths have.
FLAT = 0.01
ANGLES = (math.pi / 8, math.pi / 4, 0.3 * math.pi)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosine(LogConcave):
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
        center = _log_cosines(self._omega, near, self.knee)
        return np.asarray(2 * center - self.slope * (distance - near) - math.log(self._total))

    def largest_loss(self, shift: float) -> float:
        return self.slope * abs(shift)

    def score(self, x: ArrayLike) -> Array:
        near = np.clip(np.asarray(x, dtype=np.float64), -self.knee, self.knee)
        return np.asarray(2 * self._omega * np.tan(self._omega * near))

    @property
    def steady_from(self) -> float:
        """The knee: up to it the score is a tangent, which is convex; beyond it is constant."""
        return self.knee

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


def _log_cosines(frequency: float, near: Array, knee: float) -> Array:
    """ln cos of these distances, most of which are at the knee in a long table."""
    found = np.full(near.shape, np.log(np.cos(frequency * np.array([knee])))[0])
    inside = near < knee
    found[inside] = np.log(np.cos(frequency * near[inside]))
    return found


def _shapes(problem: Problem) -> Shapes:
    """The angle at the knee; with the knee on the edge of the region it is the law of least information."""

    def shape(angle: float) -> Shape:
        slope = 2 * angle * math.tan(angle)

        def log_density(x: Array, scale: Array) -> Array:
            size = np.abs(x) / scale
            near = np.minimum(size, 1.0)
            return np.asarray(2 * _log_cosines(angle, near, 1.0) - slope * (size - near))

        return Shape(
            start=problem.reach + 1.0,
            log_density=log_density,
            kernel=lambda scale: Cosine(knee=scale, angle=angle).on_grid(),
        )

    if problem.goal.confidence < FLAT:
        # the law of least information is all tails: Laplace noise
        same = LAPLACE.name if problem.goal.releases == 1 else None
        return Shapes(shape=shape, parameters=ANGLES, few=ANGLES[:1], same_as=same)
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
    lengths=("knee",),
    character="has the least Fisher information, which counts when many losses add up",
    shapes=_shapes,
    concave=True,
    formula=lambda knee, angle: (
        f"where(abs(k) <= {knee!r}, cos({angle!r}/{knee!r}*k)**2, cos({angle!r})**2"
        f"*exp(-2*({angle!r}/{knee!r})*tan({angle!r})*(abs(k)-{knee!r})))"
    ),
)
