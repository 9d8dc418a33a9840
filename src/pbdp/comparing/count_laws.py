"""The law of a noisy count: people say yes independently with some probability, and noise is added.

Binomial law and table of noise, convolved. The binomial law is cut where less than 2^-60 is left on either
side; what is cut off counts as failure wherever a probability is claimed.

**Rounded counts.** Where counts have a standard deviation of hundreds, the analysis looks at them rounded to
multiples of a step. A published count may be rounded by anyone, and the law of a rounded count is that of
the count, added up over each multiple: nothing is approximated, and a billion people take no longer than a
million. A step of a 256th of the standard deviation widens intervals by less than a millionth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array

_CUT = 2.0**-60
# Longer laws are convolved by way of Fourier, whose error is some 1e-16 in all.
_SHORT = 512


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountLaw:
    """P(start), P(start + 1), ... of a noisy count, in multiples of `step`."""

    start: int
    masses: Array
    step: int = 1

    @property
    def values(self) -> Array:
        """The counts."""
        return (self.start + np.arange(len(self.masses), dtype=np.float64)) * self.step

    def below(self) -> Array:
        """P(count < start), P(count < start + 1), ..., up to one past the last."""
        return np.concatenate([[0.0], np.cumsum(self.masses)])

    def rounded(self, step: int) -> CountLaw:
        """The law of the count rounded to multiples of a step, which is odd."""
        if step == 1:
            return self
        first = (self.start + step // 2) // step
        # the first multiple has fewer counts, unless the law begins with one
        fill = self.start + step // 2 - first * step
        size = -(-(fill + len(self.masses)) // step)
        padded = np.zeros(size * step)
        padded[fill : fill + len(self.masses)] = self.masses
        return CountLaw(start=first, masses=padded.reshape(size, step).sum(axis=1), step=step)

    def trimmed(self, cut: float) -> CountLaw:
        """Without ends that have less than `cut` each."""
        low = int(np.searchsorted(np.cumsum(self.masses), cut))
        high = len(self.masses) - int(np.searchsorted(np.cumsum(self.masses[::-1]), cut))
        return CountLaw(start=self.start + low, masses=self.masses[low:high], step=self.step)

    def added(self, other: CountLaw) -> CountLaw:
        """The law of the sum of two that are independent."""
        return CountLaw(
            start=self.start + other.start, masses=convolved(self.masses, other.masses), step=self.step
        )


def rounded_count(count: float, step: int) -> int:
    """The nearest multiple of an odd step, in multiples; halves cannot be for whole counts."""
    return math.floor((count + step // 2) / step)


def fine_step(sampling: float, noise: float, fineness: int) -> int:
    """An odd step of about a `fineness`-th of the standard deviation, from the variances of both.

    A little more or less noise does not change it, so that what is compared is rounded alike.
    """
    halves = math.floor(2 * math.log2((sampling + noise) / sampling))
    return int(math.sqrt(sampling * 2 ** (halves / 2)) / fineness) // 2 * 2 + 1


def count_law(users: int, rate: float, noise: WeightTable | None) -> CountLaw:
    """The law of the number of people who say yes, with noise if there is any."""
    start, masses = _binomial(users, rate)
    if noise is not None:
        start, masses = start + noise.start, convolved(masses, noise.probabilities())
    return CountLaw(start=start, masses=masses)


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


def convolved(one: Array, two: Array) -> Array:
    """The law of a sum."""
    if min(len(one), len(two)) <= _SHORT:
        return np.convolve(one, two)
    from scipy.fft import next_fast_len

    size = len(one) + len(two) - 1
    fast = next_fast_len(size, real=True)
    transformed = np.fft.rfft(one, fast) * np.fft.rfft(two, fast)
    return np.maximum(np.fft.irfft(transformed, fast)[:size], 0.0)
