"""What is minimized over one release's law: a divergence, the sum of q f(p/q) over outputs, with f convex.

`Power` is the moment of one Rényi order. `Others` is exact: with the law of the other T - 1 releases fixed,

    delta of all T = sum over outputs of q f(p/q),      f(u) = E[(u - e^(epsilon - loss of the others))+],

so a law that is best against copies of itself is a stationary point of the composed delta. Where the others'
loss is spread smoothly, f is close to a power; that is why the moment of the right order is so near the best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pbdp.accounting.composition.window import cumulants, tilt_for_delta
from pbdp.noise.kernel import Array

# Points of the grid of losses to one standard deviation of one release, and the most in all.
FINENESS = 64
LARGEST_GRID = 1 << 17
# The grid covers this many standard deviations of the composed loss.
SPREADS = 24.0
# Exponents larger than this are not taken.
LARGEST_EXPONENT = 300.0


class Divergence(Protocol):
    """f(u), u f'(u) and u² f''(u) at u = e^loss, up to one common factor."""

    @property
    def steepness(self) -> float:
        """About how fast ln f rises in the loss, beyond the loss itself."""

    def __call__(self, losses: Array) -> tuple[Array, Array, Array]:
        """The three values at each loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """f(u) = u^order without its tangent at 1, which only adds a constant to the sum."""

    order: float

    @property
    def steepness(self) -> float:
        """The order less one."""
        return self.order - 1

    def __call__(self, losses: Array) -> tuple[Array, Array, Array]:
        value = np.expm1(self.order * losses) - self.order * np.expm1(losses)
        slope = self.order * np.exp(losses) * np.expm1((self.order - 1) * losses)
        return value, slope, self.order * (self.order - 1) * np.exp(self.order * losses)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Others:
    """f of the other releases, as logs of f, f' and u f'' on a grid of losses."""

    losses: Array
    log_value: Array
    log_slope: Array
    log_bend: Array
    steepness: float

    @classmethod
    def of(
        cls, first: Array, second: Array, *, releases: int, delta: float, epsilon: float, blur: float
    ) -> Others:
        """From the masses of one release under both neighbors, all `releases` being alike.

        The others' loss is blurred by a normal error of standard deviation `blur`, or f would have a kink
        wherever a few atoms carry it.
        """
        loss = np.log(first / second)
        widest = 2 * float(np.max(np.abs(loss)))
        parts = [(loss, first, releases - 1)]
        tilt = min(tilt_for_delta(parts, delta), LARGEST_EXPONENT / (widest * releases))
        at = cumulants(parts, tilt)
        mean, spread = at.mean / (releases - 1), math.sqrt(at.variance + blur**2)
        span = min(SPREADS * spread, (releases - 1) * widest + 12 * blur) + 4 * widest
        step = max(math.sqrt(at.variance / (releases - 1)) / FINENESS, span / LARGEST_GRID)
        size = 1 << math.ceil(math.log2(span / step + 8))
        tilted = first * np.exp(tilt * loss)
        place = (loss - mean) / step
        left = np.floor(place).astype(np.intp)
        share = (place - left) * tilted / np.sum(tilted)
        row = np.bincount(left % size, weights=tilted / np.sum(tilted) - share, minlength=size)
        row += np.bincount((left + 1) % size, weights=share, minlength=size)
        frequency = 2 * math.pi / (size * step) * np.arange(size // 2 + 1)
        spectrum = np.fft.rfft(row) ** (releases - 1) * np.exp(-((frequency * blur) ** 2) / 2)
        density = np.maximum(np.fft.fftshift(np.fft.irfft(spectrum, size)), 1e-30)
        # from here on in falling order of the others' loss, relative to epsilon, as far as any own loss asks
        excess = (at.mean - epsilon + step * (np.arange(size) - size // 2))[::-1]
        asked = excess >= -2 * widest
        excess = excess[asked]
        density = density[::-1][asked] * np.exp(-tilt * excess)
        slope = np.cumsum(density)
        own = step / 2 - excess
        value = np.exp(own) * slope - np.cumsum(density * np.exp(-excess))
        bend = (density + np.append(density[1:], density[-1])) / (2 * step)
        kept = (own >= -2 * widest) & (value > 0)
        return cls(
            losses=own[kept],
            log_value=np.log(value[kept]),
            log_slope=np.log(slope[kept]),
            log_bend=np.log(bend[kept]),
            steepness=max(tilt, 1.0),
        )

    def __call__(self, losses: Array) -> tuple[Array, Array, Array]:
        value = np.exp(np.interp(losses, self.losses, self.log_value))
        slope = np.exp(losses + np.interp(losses, self.losses, self.log_slope))
        return value, slope, np.exp(losses + np.interp(losses, self.losses, self.log_bend))
