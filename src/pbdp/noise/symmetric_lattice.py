"""A symmetric law on the whole numbers, told by its masses and its upper tail.

A family gives P(noise = n), P(noise >= n) and P(a <= noise <= b) for whole n, a, b to the right of zero; all
that a kernel must say follows from these by symmetry, without a difference of nearly equal numbers.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from pbdp.domains import positive
from pbdp.errors import InputError
from pbdp.noise.kernel import Array, ArrayLike, LatticeKernel

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

    def upper_quantile(self, u: ArrayLike) -> Array:
        """Smallest whole n with survival(n) <= u; -inf at u = 1."""
        u = unit_interval(u)
        right = u < 0.5
        # Left of zero survival(-n) = 1 - tail(n) is at most u as long as tail(n) is at least 1 - u.
        first = self._first_tail(np.minimum(u, 1 - u), strict=~right)
        return np.where(right, first - 1, 1 - first)

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
        """Smallest n >= 0 with 2 P(noise >= n + 1) <= tail."""
        return int(self._first_tail(np.asarray(tail / 2), strict=np.asarray(False))) - 1

    def _first_tail(self, u: Array, *, strict: npt.NDArray[np.bool_]) -> Array:
        """Smallest n >= 1 with P(noise >= n) <= u, or < u where `strict`; inf where u is zero.

        Gallops away from a guess and then halves, so a good guess takes two looks.
        """

        def holds(n: Array) -> npt.NDArray[np.bool_]:
            tail = self._tail(n)
            return np.where(strict, tail < u, tail <= u)

        wanted = u > 0
        with np.errstate(all="ignore"):
            guess = self._tail_guess(np.where(wanted, u, 0.5))
        high = np.clip(np.where(np.isfinite(guess), guess, 1.0), 1.0, FARTHEST)
        # Once bracketed, `holds` is true at `high` and false at `low`, or `low` is 0.
        low, step = high - 1, 1.0
        while np.any(short := wanted & (high < FARTHEST) & ~holds(high)):
            low = np.where(short, high, low)
            high = np.where(short, np.minimum(high + step, FARTHEST), high)
            step *= 2
        step = 1.0
        while np.any(long := wanted & (low >= 1) & holds(np.maximum(low, 1.0))):
            high = np.where(long, low, high)
            low = np.where(long, np.maximum(low - step, 0.0), low)
            step *= 2
        while np.any(wanted & (high - low > 1)):
            middle = np.maximum(np.floor((low + high) / 2), 1.0)
            there = holds(middle)
            low, high = np.where(there, low, middle), np.where(there, middle, high)
        return np.where(wanted, high, np.inf)


def without_nan(x: ArrayLike) -> Array:
    """`x` as an array of doubles without nan, which has no place on a lattice."""
    x = np.asarray(x, dtype=np.float64)
    if np.isnan(x).any():
        raise InputError("x", "a number", "nan")
    return x


def unit_interval(u: ArrayLike) -> Array:
    """`u` as an array of numbers from zero to one."""
    u = np.asarray(u, dtype=np.float64)
    if not ((u >= 0) & (u <= 1)).all():
        raise InputError("u", "between 0 and 1", "a number outside, or nan")
    return u


def _clip(n: Array) -> Array:
    """Whole numbers within ±FARTHEST, beyond which every tail is zero as a double."""
    return np.clip(n, -FARTHEST, FARTHEST)
