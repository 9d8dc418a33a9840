"""Staircase noise, on the line and on the whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.domains import finite, positive, whole
from pbdp.errors import InputError
from pbdp.noise.family import Family, Problem, Shape, Shapes
from pbdp.noise.kernel import Array, ArrayLike, StepKernel
from pbdp.noise.symmetric_lattice import FARTHEST, SymmetricLattice

_MOST_BREAKS = 2**23
# exp(-loss k) is zero as a double from loss k = 746 on.
_NIL = 750.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Staircase(StepKernel):
    """Noise with density ∝ exp(-loss k(x)), k(x) = max(0, ceil((|x| - center)/width)).

    A plateau from -center to center, then steps `width` wide, each exp(-loss) times as high as the last: the
    optimal noise of Geng and Viswanath (2014), with a plateau of any length. All figures are geometric sums
    of positive terms, within 1e-12 relatively down to 1e-250, up to the rounding of the ends given.
    """

    loss: float
    width: float
    center: float

    def __post_init__(self) -> None:
        for name in ("loss", "width", "center"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        if not self._far < 1e300:
            parts = f"width {self.width:g}, center {self.center:g} and loss {self.loss:g}"
            raise InputError("center + 750 width/loss", "below 1e300", parts, "Use a larger loss.")

    @property
    def family(self) -> str:
        """`staircase`."""
        return "staircase"

    @property
    def support(self) -> tuple[float, float]:
        """The whole line."""
        return (-math.inf, math.inf)

    @property
    def _far(self) -> float:
        """A point beyond which the density is zero as a double."""
        return self.center + self.width * (1 + _NIL / self.loss)

    @property
    def _beyond(self) -> float:
        """Σ_{j >= 1} width exp(-loss j): what lies below a step, as a length of the step's height."""
        return self.width * math.exp(-self.loss) / -math.expm1(-self.loss)

    @property
    def _total(self) -> float:
        """The integral of exp(-loss k(x)) over the line."""
        return 2 * (self.center + self._beyond)

    def _level(self, x: Array) -> Array:
        """k(x) for 0 <= x."""
        return np.maximum(np.ceil((x - self.center) / self.width), 0.0)

    def log_density(self, x: ArrayLike) -> Array:
        """-loss k(x), less the log of the normalizer 2 (center + width/(exp(loss) - 1))."""
        x = np.abs(np.asarray(x, dtype=np.float64))
        return np.asarray(-self.loss * self._level(x) - math.log(self._total))

    def _tail(self, x: Array) -> Array:
        """P(noise > x) for x >= 0: what is left of x's own step, and all the steps below it."""
        x = np.minimum(x, self._far)
        level = self._level(x)
        # At the end of a step a rounding may put x on either side; the tail is the same there.
        left = np.maximum(self.center + self.width * level - x, 0.0)
        return np.asarray(np.exp(-self.loss * level) * ((left + self._beyond) / self._total))

    def cdf(self, x: ArrayLike) -> Array:
        """The tail left of zero, one minus it right of zero."""
        x = np.asarray(x, dtype=np.float64)
        tail = self._tail(np.abs(x))
        return np.where(x < 0, tail, 1 - tail)

    def survival(self, x: ArrayLike) -> Array:
        """cdf(-x)."""
        return self.cdf(-np.asarray(x, dtype=np.float64))

    def upper_quantile(self, u: ArrayLike) -> Array:
        """The x at which P(noise > x) is u: its step, by the tails at the ends of steps, then x along it."""
        u = np.asarray(u, dtype=np.float64)
        length = np.minimum(u, 1 - u) * self._total
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            level = np.maximum(np.ceil(np.log(self._beyond / length) / self.loss), 0.0)
            longest = np.where(level == 0, self.center, self.width)
            left = np.clip(length * np.exp(self.loss * level) - self._beyond, 0.0, longest)
            x = np.where(length > 0, self.center + self.width * level - left, np.inf)
        return np.where(u < 0.5, x, -x)

    def mass(self, low: ArrayLike, high: ArrayLike) -> Array:
        """P(low <= noise <= high): each side of zero step by step, so that nothing cancels."""
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        right = self._run(np.maximum(low, 0.0), high)
        left = self._run(np.maximum(-high, 0.0), -low)
        return np.asarray(np.where(low < high, right + left, 0.0))

    def _run(self, near: Array, far: Array) -> Array:
        """P(near <= noise <= far) for 0 <= near: part of a step, the whole steps between, part of a step."""
        near = np.minimum(near, self._far)
        far = np.clip(far, near, self._far)
        top, bottom = self._level(near), self._level(far)
        left = np.maximum(self.center + self.width * top - near, 0.0)
        right = np.maximum(far - (self.center + self.width * (bottom - 1)), 0.0)
        between = self.width * np.expm1(-self.loss * np.maximum(bottom - top - 1, 0)) / math.expm1(-self.loss)
        several = (
            np.exp(-self.loss * top) * left
            + np.exp(-self.loss * (top + 1)) * between
            + np.exp(-self.loss * bottom) * right
        )
        one = np.exp(-self.loss * top) * (far - near)
        return np.asarray(np.where(top == bottom, one, several) / self._total)

    def breaks(self, reach: float) -> Array:
        """±(center + j width) within [-reach, reach], sorted; nothing is left out.

        Between two neighboring breaks, and beyond the last two up to ±reach, the density is constant.
        """
        if reach < self.center:
            return np.empty(0)
        count = math.floor((finite("reach", reach) - self.center) / self.width) + 1
        if count > _MOST_BREAKS:
            raise InputError("reach", f"at most {_MOST_BREAKS} steps of width {self.width:g}", f"{reach:g}")
        right = self.center + self.width * np.arange(count + 1)
        right = right[right <= reach]
        return np.concatenate((-right[::-1], right))

    def largest_loss(self, shift: float) -> float:
        """loss ceil(shift/width), exactly for the doubles given.

        Proof. The loss at y is loss (k(y - s) - k(y)). As |y - s| <= |y| + s, with equality for y <= 0, and k
        never falls away from 0, the supremum is that of k(v + s) - k(v) over v >= 0. For v = center + t with
        t >= 0 it is ceil((t + s)/width) - ceil(t/width), at most ceil(s/width) as ceil(a + b) <= ceil(a) +
        ceil(b). For v < center it is k(v + s) <= k(center + s) = ceil(s/width). It is attained at v = center,
        and just below as well since ceil is continuous from the left: null sets do not matter.
        """
        steps = math.ceil(abs(Fraction(finite("shift", shift))) / Fraction(self.width))
        return self.loss * steps

    def moment_tail(self, shift: Array, order: float, reach: float) -> Array:
        return _moment_tail(self, shift, order, reach)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridStaircase(SymmetricLattice):
    """Noise on the whole numbers with P(noise = n) ∝ exp(-loss max(0, ceil((|n| - center)/width))).

    A plateau of 2 center + 1 points, then steps of `width` points, each exp(-loss) times as high as the one
    before (Geng and Viswanath 2014, with a plateau of any length). Width and center are in steps of the grid.
    Every figure is a finite geometric sum of positive terms, within 1e-12 relatively down to 1e-250.
    """

    loss: float
    width: int
    center: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", positive("loss", self.loss))
        object.__setattr__(self, "width", whole("width", self.width))
        object.__setattr__(self, "center", whole("center", self.center, least=0))
        if not self.center + self.width * (1 + 750 / self.loss) <= FARTHEST:
            reach = f"width {self.width}, center {self.center} and loss {self.loss:g}"
            raise InputError("center + 750 width/loss", "at most 2**52", reach, "Use a coarser step.")

    @property
    def family(self) -> str:
        """`staircase`."""
        return "staircase"

    def _pure_loss(self, shift: int) -> float:
        """loss ceil(shift/width): the proof for `Staircase.largest_loss` holds on the whole numbers too."""
        return self.loss * -(-shift // self.width)

    @property
    def _beyond(self) -> float:
        """Σ_{j >= 1} width exp(-loss j): what lies below a step, counted in points of the step's height."""
        return self.width * math.exp(-self.loss) / -math.expm1(-self.loss)

    @property
    def _total(self) -> float:
        """The sum of exp(-loss k(n)) over all n."""
        return 2 * (self.center + self._beyond) + 1

    def _level(self, n: Array) -> Array:
        return np.maximum(np.ceil((n - self.center) / self.width), 0.0)

    def _log_mass(self, n: Array) -> Array:
        return -self.loss * self._level(n) - math.log(self._total)

    def _tail(self, n: Array) -> Array:
        """What is left of n's own step from n on, and all the steps below it."""
        level = self._level(n)
        left = self.center + self.width * level - n + 1
        return np.asarray(np.exp(-self.loss * level) * ((left + self._beyond) / self._total))

    def _run(self, first: Array, last: Array) -> Array:
        """Part of the step of `first`, the whole steps between, and part of the step of `last`."""
        top, bottom = self._level(first), self._level(last)
        left = self.center + self.width * top - first + 1
        right = last - (self.center + self.width * (bottom - 1))
        between = self.width * np.expm1(-self.loss * np.maximum(bottom - top - 1, 0)) / math.expm1(-self.loss)
        several = (
            np.exp(-self.loss * top) * left
            + np.exp(-self.loss * (top + 1)) * between
            + np.exp(-self.loss * bottom) * right
        )
        one = np.exp(-self.loss * top) * (last - first + 1)
        return np.asarray(np.where(top == bottom, one, several) / self._total)

    def _tail_guess(self, u: Array) -> Array:
        """Inverse of the tail at the ends of the steps, then along the step."""
        points = u * self._total
        level = np.maximum(np.ceil(np.log(self._beyond / points) / self.loss), 0.0)
        left = points * np.exp(self.loss * level) - self._beyond
        return np.asarray(np.ceil(self.center + self.width * level + 1 - left))

    def moment_tail(self, shift: Array, order: float, reach: float) -> Array:
        return _moment_tail(self, shift, order, reach)


def _moment_tail(law: Staircase | GridStaircase, shift: Array, order: float, reach: float) -> Array:
    """k(n) lies between (|n| - center)/width and that plus one, so the log-term lies below a line."""
    rate = law.loss / law.width
    peak = float(law.log_density(0.0)) + law.loss * (order - 1)
    edges = [peak - rate * (reach - law.center + sign * (order - 1) * shift) for sign in (1, -1)]
    return np.asarray(np.logaddexp(*edges) - math.log(rate))


def _shapes(problem: Problem) -> Shapes:
    """Steps as wide as the sensitivity, one of their edges on the edge of the region.

    With steps of one point it is the Laplace law.
    """
    width = problem.goal.sensitivity
    center = problem.reach % width
    return Shapes(
        shape=lambda _: Shape(
            start=1.0,
            log_density=lambda x, scale: -np.maximum(np.ceil((np.abs(x) - center) / width), 0.0) / scale,
            kernel=lambda scale: GridStaircase(loss=1 / scale, width=width, center=center),
        ),
        same_as="laplace" if width == 1 else None,
    )


STAIRCASE = Family(
    name="staircase",
    rank=3,
    law=GridStaircase,
    lengths=("width", "center"),
    character="is flat over stretches as wide as the sensitivity, with an edge on the edge of the region",
    shapes=_shapes,
    at_any_size=True,
)
