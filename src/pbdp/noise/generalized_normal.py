"""Generalized normal noise: between Laplace and Gaussian, and beyond."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp import special
from pbdp.errors import InputError
from pbdp.noise.family import Family, Problem, Shape, Shapes
from pbdp.noise.kernel import Array, ArrayLike, LogConcave
from pbdp.noise.laplace import Laplace
from pbdp.parameters import positive

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizedNormal(LogConcave):
    """Noise with density exp(-|x/a|^β) β / (2aΓ(1/β)), a its scale and β its shape (Subbotin 1923).

    β = 1 is Laplace and β = 2 is Gaussian with σ = a/√2. For β > 1 the loss is unbounded.

    On the grid the relative error of tails grows as β times 1e-16 times the log of the tail: it is below
    1e-12 down to 1e-250 for shapes up to 10.
    """

    scale: float
    shape: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        shape = positive("shape", self.shape)
        if shape < 1:
            raise InputError(
                "shape",
                "at least 1",
                f"{shape:g}",
                "Below 1 the tails are heavier than exponential and the privacy loss is no longer monotone; "
                "use shape=1 (Laplace) or more.",
            )
        object.__setattr__(self, "shape", shape)

    @property
    def family(self) -> str:
        """`generalized normal`."""
        return "generalized normal"

    @property
    def _log_height(self) -> float:
        """Log of the density at zero in units of the scale: β / (2Γ(1/β)), as 1/(2Γ(1 + 1/β))."""
        return -math.log(2) - special.log_gamma(1 + 1 / self.shape)

    def _power(self, x: ArrayLike) -> Array:
        """|x/a|^β."""
        return np.asarray((np.abs(np.asarray(x, dtype=np.float64)) / self.scale) ** self.shape)

    def log_density(self, x: ArrayLike) -> Array:
        """-|x/a|^β - log(2aΓ(1 + 1/β))."""
        return np.asarray(self._log_height - math.log(self.scale) - self._power(x))

    def largest_loss(self, shift: float) -> float:
        """shift/a for β = 1, else unbounded."""
        return shift / self.scale if self.shape == 1 else math.inf

    def score(self, x: ArrayLike) -> Array:
        """sign(x) β|x/a|^(β-1)/a, and zero at zero."""
        return _slope(np.asarray(x, dtype=np.float64) / self.scale, self.shape) / self.scale

    def loss_crossing(self, level: ArrayLike, shift: ArrayLike) -> Array:
        """The root y of |(y-s)/a|^β - |y/a|^β = level, accurate to the rounding of the loss."""
        if self.shape == 1:
            return Laplace(scale=self.scale).loss_crossing(level, shift)
        level, shift = np.broadcast_arrays(
            np.asarray(level, dtype=np.float64), np.asarray(shift, dtype=np.float64)
        )
        return _crossing(level, shift / self.scale, self.shape) * self.scale


def _slope(x: Array, shape: float) -> Array:
    """The derivative of |x|^β: sign(x) β|x|^(β-1), and zero at zero."""
    return np.asarray(shape * np.sign(x) * np.abs(x) ** (shape - 1))


def _loss(y: Array, shift: Array, shape: float) -> Array:
    """|y-s|^β - |y|^β, with a relative error of about β 1e-16 also where the two are close."""
    near, far = np.abs(y), np.abs(y - shift)
    # far - near, which a subtraction would spoil for |y| much larger than s.
    gap = np.clip(shift - 2 * y, -shift, shift)
    close = np.abs(gap) <= near / 2
    ratio = np.where(close, gap, 0.0) / np.where(close, near, 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        tight = near**shape * np.expm1(shape * np.log1p(ratio))
        return np.asarray(np.where(close, tight, far**shape - near**shape))


def _crossing(level: Array, shift: Array, shape: float) -> Array:
    """The root y of |y-s|^β - |y|^β = level.

    The loss is odd about s/2, so only levels >= 0 are solved for. Left of zero, with m = -y, it lies between
    βs m^(β-1) and βs(m+s)^(β-1) (mean value theorem), which brackets m to within s. The result is accurate
    to the rounding of the loss; ±inf if it is beyond the range of floats.
    """
    height = np.abs(level)
    power = 1 / (shape - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        beyond_zero = height > shift**shape
        reach = (height / (shape * shift)) ** power
        # The power magnifies rounding, so the bracket is a little wider than the theorem's.
        spread = 1 + 8 * _EPS * (2 + power)
        low = np.where(beyond_zero, -reach * spread, 0.0)
        high = np.where(beyond_zero, np.minimum(shift - reach / spread, 0.0), shift / 2)
    infinite = ~np.isfinite(low)
    root = _root(height, shift, shape, np.where(infinite, 0.0, low), np.where(infinite, 0.0, high))
    root = np.where(infinite, -np.inf, root)
    return np.asarray(np.where(level < 0, shift - root, root))


def _root(height: Array, shift: Array, shape: float, low: Array, high: Array) -> Array:
    """The y in [low, high] at which the loss is `height`, by Newton steps kept inside a shrinking bracket."""
    root = (low + high) / 2
    for turn in range(200):
        error = _loss(root, shift, shape) - height
        low, high = np.where(error > 0, root, low), np.where(error > 0, high, root)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = root + error / (_slope(root, shape) - _slope(root - shift, shape))
        # Every fourth turn halves the bracket, so that the end is reached whatever Newton does.
        usable = (newton >= low) & (newton <= high) & (turn % 4 != 3)
        following = np.where(error == 0, root, np.where(usable, newton, (low + high) / 2))
        still = np.abs(following - root) <= 2 * _EPS * np.abs(root)
        root = following
        if still.all():
            break
    return root


def _shapes(problem: Problem) -> Shapes:
    """Shapes between Laplace and beyond Gaussian."""

    def shape(power: float) -> Shape:
        return Shape(
            start=problem.reach + 1.0,
            log_density=lambda x, scale: -((np.abs(x) / scale) ** power),
            kernel=lambda scale: GeneralizedNormal(scale=scale, shape=power).on_grid(),
        )

    return Shapes(shape=shape, parameters=(1.2, 1.5, 1.8, 2.5), few=(1.2, 2.5))


GENERALIZED_NORMAL = Family(
    name="generalized normal",
    rank=5,
    law=GeneralizedNormal,
    lengths=("scale",),
    character="lies between Laplace and Gaussian noise, or beyond",
    shapes=_shapes,
    concave=True,
    formula=lambda scale, shape: f"exp(-(abs(k)/{scale!r})**{shape!r})",
)
