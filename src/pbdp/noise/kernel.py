"""What every noise kernel can say about itself.

A kernel is a law of additive noise with its mode at zero. It knows its density (or mass), its tails and
how fast its log-density can change; it knows nothing of regions, boosting or privacy parameters.

Two kinds exist, and the exact accountant treats each by its own method:

- continuous and log-concave: the privacy loss of a shift is monotone in the output (`LogConcaveKernel`);
- lattice: a law on the whole numbers, possibly of finite support (`LatticeKernel`).

A lattice kernel may follow a density that is log-concave (`LogConcave`), whose loss is then its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError

# What passes between modules: numbers, places on a grid, and random words.
Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
ArrayLike = npt.ArrayLike


class LogConcave(ABC):
    """A continuous density, symmetric about zero and log-concave: what its privacy loss is, and no tails."""

    __slots__ = ()

    @property
    @abstractmethod
    def family(self) -> str:
        """The name of the family, as users write it."""

    @abstractmethod
    def log_density(self, x: ArrayLike) -> Array:
        """Log of the density."""

    @abstractmethod
    def largest_loss(self, shift: float) -> float:
        """sup over y of log f(y) - log f(y - shift): the pure epsilon, inf if there is none."""

    @abstractmethod
    def score(self, x: ArrayLike) -> Array:
        """-(log f)'(x): odd, non-decreasing, concave right of zero; the rate at which the density falls."""

    @abstractmethod
    def loss_crossing(self, level: ArrayLike, shift: ArrayLike) -> Array:
        """sup{y : log f(y) - log f(y - shift) > level}, for shift > 0.

        The loss falls as y grows, so the outputs whose loss exceeds `level` are those below the crossing:
        -inf if there are none, +inf if all have it. Where the loss is flat at `level` either end is exact.
        """

    def on_grid(self) -> LatticeKernel:
        """The law on the whole numbers whose masses are proportional to this density."""
        from pbdp.noise.grid_kernel import GridKernel

        return GridKernel(continuous=self)


class Kernel(ABC):
    """A law of additive noise whose mode is zero.

    All methods are vectorized. Tails keep a relative error of at most 1e-12 wherever the value is above
    1e-250, so `survival` and not `1 - cdf` is to be used on the right and `cdf` on the left.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def family(self) -> str:
        """The name of the family, as users write it."""

    @property
    def is_symmetric(self) -> bool:
        """Whether the law of -noise is the law of noise."""
        return True

    @property
    def is_unimodal(self) -> bool:
        """Whether density never rises away from zero; the worst shift is then the largest (see privacy)."""
        return True

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The smallest closed interval that holds all the mass; infinite ends for unbounded laws."""

    @property
    def loss_law(self) -> LogConcave | None:
        """The density whose log-ratios are this kernel's, if it is log-concave and its loss so monotone."""
        return None

    @abstractmethod
    def log_density(self, x: ArrayLike) -> Array:
        """Log of the density (continuous) or of the mass at whole numbers (lattice); -inf off the support."""

    def density(self, x: ArrayLike) -> Array:
        """Density or mass."""
        return np.exp(self.log_density(x))

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Array:
        """P(noise <= x)."""

    @abstractmethod
    def survival(self, x: ArrayLike) -> Array:
        """P(noise > x)."""

    @abstractmethod
    def reach(self, tail: float) -> float:
        """Smallest x >= 0 with P(|noise| > x) <= tail: enumeration up to it misses at most `tail`.

        Whole on a lattice. A tail of 0 is the whole support, where that has an end.
        """

    @abstractmethod
    def mass(self, low: ArrayLike, high: ArrayLike) -> Array:
        """P(low <= noise <= high), zero where low > high, without cancellation in the tails."""

    @abstractmethod
    def largest_loss(self, shift: float) -> float:
        """sup over y of log f(y) - log f(y - shift): the kernel's own pure epsilon, inf if it has none."""

    def moment_tail(self, shift: Array, order: float, reach: float) -> Array:
        """Bound for the log of the sum of f(n)^order f(n-s)^(1-order) over |n| > reach (inf: too small).

        Beyond the reach the log-term falls at least at some rate a unit, so the sum (or integral) of either
        side is at most the bound at its edge over the rate. On the side of the shift it falls at least at the
        score; on the other side at order·score(m) - (order-1)·score(m+s), which does not fall as m grows: the
        score is concave, so its slope at m is at least that at m+s.
        """
        law = self.loss_law
        if law is None:
            raise CannotCertifyError(f"Rényi figures are not available for {self.family} noise.")
        near = law.score(reach - shift)
        far = order * law.score(reach) - (order - 1) * law.score(reach + shift)
        slowest = np.minimum(near, far)
        ready = (reach > shift) & (slowest > 0)
        edges = [
            order * self.log_density(edge) + (1 - order) * self.log_density(edge - shift)
            for edge in (reach, -reach)
        ]
        return np.where(ready, np.logaddexp(*edges) - np.log(np.where(ready, slowest, 1.0)), np.inf)


class LogConcaveKernel(LogConcave, Kernel):
    """A continuous kernel with a log-concave density."""

    __slots__ = ()

    @property
    def support(self) -> tuple[float, float]:
        """The whole line."""
        return (-math.inf, math.inf)

    @property
    def loss_law(self) -> LogConcave:
        """The kernel itself."""
        return self

    @abstractmethod
    def log_moment(self, low: ArrayLike, high: ArrayLike, shift: ArrayLike, order: float) -> Array:
        """Log of the integral over [low, high] of f(y)^order f(y - shift)^(1-order), up to rounding.

        -inf where low >= high.
        """


class LatticeKernel(Kernel):
    """A kernel on the whole numbers.

    A table of whole weights gives `center_share` to noise zero up front, so that rounding cannot leave it
    below a neighbor; `mass_error` bounds that and how far all masses together are off. Numbers with noise of
    a `joint` kernel are accounted together, by the length of what one person moves them by.
    """

    __slots__ = ()

    center_share: ClassVar[float] = 2.0**-42
    mass_error: ClassVar[float] = 2e-12
    joint: ClassVar[bool] = False

    def reach(self, tail: float) -> int:
        def misses(n: int) -> bool:
            return float(self.cdf(-n - 1)) + float(self.survival(n)) > tail

        short, far = -1, 0  # `misses` holds at `short` and not at `far`, once bracketed
        while misses(far):
            short, far = far, 2 * far + 1
        while far - short > 1:
            middle = (short + far) // 2
            short, far = (middle, far) if misses(middle) else (short, middle)
        return far

    def masses(self, reach: int) -> Array:
        """Masses at -reach..reach."""
        return self.density(np.arange(-reach, reach + 1, dtype=np.float64))
