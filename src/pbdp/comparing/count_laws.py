"""Laws of noisy counts: people say yes independently with some probability, and noise is added.

Binomial law and table of noise, convolved. The binomial law is cut where less than 2^-60 is left on either
side; what is cut off counts as failure wherever a probability is claimed.

**Bounds for many rates.** `bounds` has the laws at a whole range of rates, in multiples of a step. Where the
step is 1 they are those of the counts. Where it is larger, people and noise are rounded up to multiples, each
by itself, before they are added, and the law at a rate p is made of the one at the least rate p0 by weights
e^(t·b), t being the difference of the log-odds and b the multiple. It is stochastically *at least* the law of
the noisy count. *Proof.* The true mass of b is that weight times c(b), the mean of e^(-t·j) of how far j
people were rounded up. The binomial law is log-concave, so that j gets likelier to be large from one
multiple to the next, and c falls, as t >= 0: the likelihood ratio to the true law rises. Rounding up and
adding noise keep the order. [] Rounded down, from the largest rate, it is at most the law of the count, by
the mirror image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array, Index

_CUT = 2.0**-60
# Longer laws are convolved by way of Fourier, whose error is some 1e-16 in all.
_SHORT = 512
# Noise that is less likely on either side is left out of bounds, whose masses then lack it.
_RARE = 1e-10
# Log-odds of 2^-200: nobody, or everybody, to any digit.
_FURTHEST_ODDS = 138.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountLaw:
    """P(start), P(start + 1), ... of a noisy count."""

    start: int
    masses: Array

    @property
    def values(self) -> Array:
        """The counts."""
        return self.start + np.arange(len(self.masses), dtype=np.float64)

    def trimmed(self, cut: float) -> CountLaw:
        """Without ends that have less than `cut` each."""
        low = int(np.searchsorted(np.cumsum(self.masses), cut))
        high = len(self.masses) - int(np.searchsorted(np.cumsum(self.masses[::-1]), cut))
        return CountLaw(start=self.start + low, masses=self.masses[low:high])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bounds:
    """Counts, which are multiples of a step, and their masses, a row for each rate; and sums of the first."""

    values: Array
    masses: Array
    up_to: Array

    def some(self, every: int) -> Bounds:
        """Those of some of the rates."""
        return Bounds(values=self.values, masses=self.masses[::every], up_to=self.up_to[::every])


def count_law(users: int, rate: float, noise: WeightTable | None) -> CountLaw:
    """The law of the number of people who say yes, with noise if there is any."""
    if rate in (0.0, 1.0):
        start, masses = round(users * rate), np.ones(1)
    else:
        start, logs = _binomial(users, rate, rate)
        masses = np.exp(logs)
        masses /= masses.sum()
    if noise is not None:
        start, masses = start + noise.start, convolved(masses, noise.probabilities())
    return CountLaw(start=start, masses=masses)


def bounds(users: int, rates: Array, noise: WeightTable | None, step: int, *, up: bool) -> Bounds:
    """Laws that are stochastically at least those at these rising rates (`up`), or at most."""
    start, logs = _binomial(users, float(rates[0]), float(rates[-1]), up=up)
    people, starts = _multiples(start + np.arange(len(logs)), step, up)
    logs = np.logaddexp.reduceat(logs, starts)
    odds = log_odds(rates)
    tilt = odds - (odds[0] if up else odds[-1])
    rows = logs + np.multiply.outer(tilt, (people - people[0]) * float(step))
    rows = np.exp(rows - rows.max(axis=1, keepdims=True))
    rows /= rows.sum(axis=1, keepdims=True)
    first = int(people[0])
    if noise is not None:
        likely = CountLaw(start=noise.start, masses=noise.probabilities()).trimmed(_RARE)
        table, starts = _multiples(likely.values.astype(np.int64), step, up)
        first += int(table[0])
        rows = convolved(rows, np.add.reduceat(likely.masses, starts))
    up_to = np.zeros((len(rows), rows.shape[1] + 1))
    np.cumsum(rows, axis=1, out=up_to[:, 1:])
    return Bounds(values=(first + np.arange(rows.shape[1])) * float(step), masses=rows, up_to=up_to)


def log_odds(rates: Array) -> Array:
    """ln p/(1 - p), held to where it is finite."""
    with np.errstate(divide="ignore"):
        found: Array = np.log(rates) - np.log1p(-rates)
    return np.clip(found, -_FURTHEST_ODDS, _FURTHEST_ODDS)


def _multiples(counts: Index, step: int, up: bool) -> tuple[Index, Index]:
    """Successive counts, rounded to multiples; and where each multiple begins."""
    rounded = -(-counts // step) if up else counts // step
    return np.unique(rounded, return_index=True)


def _binomial(users: int, low: float, high: float, *, up: bool = True) -> tuple[int, Array]:
    """Where the laws at these rates and those between begin, and the log masses of one, up to a constant."""
    first, last = _reach(users, low)[0], _reach(users, high)[1]
    rate = low if up else high
    # from the likeliest count on both sides, by what each is likelier than the next
    k = np.arange(first, last, dtype=np.float64)
    steps = np.log((users - k) / (k + 1)) + float(log_odds(np.array([rate]))[0])
    middle = min(max(int(users * rate) - first, 0), last - first)
    return first, np.concatenate([-np.cumsum(steps[:middle][::-1])[::-1], [0.0], np.cumsum(steps[middle:])])


def _reach(users: int, rate: float) -> tuple[int, int]:
    """The counts beyond which less than 2^-60 is left: exp(-n·KL), Chernoff."""
    # the sum of both terms is a wide enough distance
    deviation = np.log(1 / _CUT)
    spread = np.sqrt(2 * deviation * users * rate * (1 - rate)) + deviation
    return max(int(np.floor(users * rate - spread)), 0), min(int(np.ceil(users * rate + spread)), users)


def convolved(one: Array, two: Array) -> Array:
    """The law of a sum, or of each of many sums, a row for each."""
    if one.ndim == 1 and min(len(one), len(two)) <= _SHORT:
        return np.convolve(one, two)
    from scipy.fft import next_fast_len

    size = one.shape[-1] + len(two) - 1
    fast = next_fast_len(size, real=True)
    transformed = np.fft.rfft(one, fast) * np.fft.rfft(two, fast)
    return np.maximum(np.fft.irfft(transformed, fast)[..., :size], 0.0)


def variance_of(noise: WeightTable | None) -> float:
    """The mean square of the noise."""
    if noise is None:
        return 0.0
    return float(np.sum(noise.probabilities() * noise.values().astype(np.float64) ** 2))
