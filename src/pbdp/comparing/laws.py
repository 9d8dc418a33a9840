"""The law of a noisy count: people say yes independently with some probability, and noise is added.

Binomial law and table of noise, convolved. The binomial law is cut where less than 2^-60 is left on either
side; what is cut off counts as failure wherever a probability is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array

_CUT = 2.0**-60
# Longer laws are convolved by way of Fourier, whose error is some 1e-16 in all.
_SHORT = 512


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountLaw:
    """P(start), P(start + 1), ... of a noisy count."""

    start: int
    masses: Array

    @property
    def values(self) -> Array:
        """The counts."""
        return self.start + np.arange(len(self.masses), dtype=np.float64)

    def below(self) -> Array:
        """P(count < start), P(count < start + 1), ..., up to one past the last."""
        return np.concatenate([[0.0], np.cumsum(self.masses)])


def count_law(users: int, rate: float, noise: WeightTable | None) -> CountLaw:
    """The law of the number of people who say yes, with noise if there is any."""
    start, masses = _binomial(users, rate)
    if noise is None:
        return CountLaw(start=start, masses=masses)
    both = _convolved(masses, noise.probabilities())
    return CountLaw(start=start + noise.start, masses=both)


def _binomial(users: int, rate: float) -> tuple[int, Array]:
    if rate in (0.0, 1.0):
        return round(users * rate), np.ones(1)
    # Chernoff: exp(-n·KL) beyond; the sum of both terms is a wide enough distance
    deviation = np.log(1 / _CUT)
    spread = np.sqrt(2 * deviation * users * rate * (1 - rate)) + deviation
    low = max(int(np.floor(users * rate - spread)), 0)
    high = min(int(np.ceil(users * rate + spread)), users)
    # from the likeliest count on both sides, by what each is likelier than the next
    k = np.arange(low, high, dtype=np.float64)
    steps = np.log((users - k) / (k + 1)) + np.log(rate / (1 - rate))
    middle = min(max(int(users * rate) - low, 0), high - low)
    logs = np.concatenate([-np.cumsum(steps[:middle][::-1])[::-1], [0.0], np.cumsum(steps[middle:])])
    masses = np.exp(logs)
    return low, masses / masses.sum()


def _convolved(one: Array, two: Array) -> Array:
    if min(len(one), len(two)) <= _SHORT:
        return np.convolve(one, two)
    size = len(one) + len(two) - 1
    transformed = np.fft.rfft(one, size) * np.fft.rfft(two, size)
    return np.maximum(np.fft.irfft(transformed, size), 0.0)
