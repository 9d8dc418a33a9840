"""A symmetric law on the whole numbers, told by its masses and its upper tail.

A family gives P(noise = n), P(noise >= n) and P(a <= noise <= b) for whole n, a, b to the right of zero; all
that a kernel must say follows from these by symmetry, without a difference of nearly equal numbers.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from pbdp.errors import InputError
from pbdp.noise.kernel import Array, ArrayLike, LatticeKernel
from pbdp.parameters import positive

# Doubles hold every whole number up to here; no law below has mass above 1e-300 beyond it.
FARTHEST = 2.0**52
_LARGEST_SCALE = 2.0**40


def scale_in_steps(name: str, value: object) -> float:
    """A scale of at most 2**40 steps, so that every whole number with noticeable mass is exact as a double.

    Scales below 2**-40 steps are refused too: all the mass would sit at zero.
    """
    scale = positive(name, value)
    if not 1 / _LARGEST_SCALE <= scale <= _LARGEST_SCALE:
        raise InputError(name, "between 2**-40 and 2**40 steps", f"{scale:g}", "Use another step.")
    return scale


class SymmetricLattice(LatticeKernel):
    """A law on the whole numbers with mass(-n) = mass(n), falling away from zero."""

    __slots__ = ()

    @abstractmethod
    def _log_mass(self, n: Array) -> Array:
        """Log of P(noise = n) for whole 0 <= n <= FARTHEST."""

    @abstractmethod
    def _tail(self, n: Array) -> Array:
        """P(noise >= n) for whole 1 <= n <= FARTHEST."""

    @abstractmethod
    def _run(self, first: Array, last: Array) -> Array:
        """P(first <= noise <= last) for whole 1 <= first <= last <= FARTHEST."""

    @abstractmethod
    def _tail_guess(self, u: Array) -> Array:
        """About the smallest n >= 1 with P(noise >= n) <= u: where the search starts."""

    @abstractmethod
    def _pure_loss(self, shift: int) -> float:
        """`largest_loss` for a whole shift of at least one."""

    @property
    def support(self) -> tuple[float, float]:
        """The whole line."""
        return (-math.inf, math.inf)

    def largest_loss(self, shift: float) -> float:
        """sup over whole y of log p(y) - log p(y - shift): infinite for a shift that leaves the lattice."""
        if shift == 0:
            return 0.0
        return self._pure_loss(abs(int(shift))) if float(shift).is_integer() else math.inf

    def log_density(self, x: ArrayLike) -> Array:
        """Log of P(noise = x), -inf where x is not a whole number of at most 2**52."""
        x = without_nan(x)
        whole = (x == np.floor(x)) & (np.abs(x) <= FARTHEST)
        return np.where(whole, self._log_mass(np.where(whole, np.abs(x), 0.0)), -np.inf)

    def masses(self, reach: int) -> Array:
        """Masses at -reach..reach; the right half is computed and mirrored."""
        half = np.exp(self._log_mass(np.arange(reach + 1, dtype=np.float64)))
        return np.concatenate((half[:0:-1], half))

    def cdf(self, x: ArrayLike) -> Array:
        """P(noise <= x) = P(noise >= -floor(x)) left of zero, 1 - P(noise >= floor(x) + 1) from zero on."""
        n = _clip(np.floor(without_nan(x)))
        tail = self._tail(np.where(n < 0, -n, n + 1))
        return np.where(n < 0, tail, 1 - tail)

    def survival(self, x: ArrayLike) -> Array:
        """P(noise > x) = P(noise >= floor(x) + 1) from zero on, 1 - P(noise >= -floor(x)) left of it."""
        n = _clip(np.floor(without_nan(x)))
        tail = self._tail(np.where(n < 0, -n, n + 1))
        return np.where(n < 0, 1 - tail, tail)

    def mass(self, low: ArrayLike, high: ArrayLike) -> Array:
        """P(low <= noise <= high): the run right of zero, the run left of it and zero itself, added."""
        first, last = np.broadcast_arrays(np.ceil(without_nan(low)), np.floor(without_nan(high)))
        first, last = _clip(first), _clip(last)
        total = np.where((first <= 0) & (last >= 0), np.exp(self._log_mass(np.zeros(()))), 0.0)
        for near, far in ((np.maximum(first, 1.0), last), (np.maximum(-last, 1.0), -first)):
            some = near <= far
            if np.any(some):
                total = total + np.where(some, self._run(near, np.where(some, far, near)), 0.0)
        return np.minimum(total, 1.0)

    def reach(self, tail: float) -> int:
        """Smallest n >= 0 with 2 P(noise >= n + 1) <= tail.

        Gallops away from a guess and then halves, so a good guess takes two looks.
        """

        def holds(n: float) -> bool:
            return bool(self._tail(np.asarray(n)) <= tail / 2)

        with np.errstate(all="ignore"):
            guess = float(self._tail_guess(np.asarray(tail / 2)))
        high = min(max(guess, 1.0), FARTHEST) if math.isfinite(guess) else 1.0
        # Once bracketed, `holds` is true at `high` and false at `low`, or `low` is 0.
        low, step = high - 1, 1.0
        while high < FARTHEST and not holds(high):
            low, high, step = high, min(high + step, FARTHEST), 2 * step
        step = 1.0
        while low >= 1 and holds(low):
            low, high, step = max(low - step, 0.0), low, 2 * step
        while high - low > 1:
            middle = math.floor((low + high) / 2)
            low, high = (low, middle) if holds(middle) else (middle, high)
        return int(high) - 1


def without_nan(x: ArrayLike) -> Array:
    """`x` as an array of doubles without nan, which has no place on a lattice."""
    x = np.asarray(x, dtype=np.float64)
    if np.isnan(x).any():
        raise InputError("x", "a number", "nan")
    return x


def _clip(n: Array) -> Array:
    """Whole numbers within ±FARTHEST, beyond which every tail is zero as a double."""
    return np.clip(n, -FARTHEST, FARTHEST)
