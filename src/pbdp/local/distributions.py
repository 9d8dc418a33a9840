"""The distribution of ordered values from reports: shares, cumulative curve and quantiles.

Shares are a valid distribution, smoothed or cut at zero, and so biased. Intervals are of unbiased
estimates of the cumulative curve, hence honest and wider than the shares suggest: each holds the truth with
its confidence, also where smoothing is wrong. A quantile's interval is what the curve's leaves possible:
with q = the least v at which the curve F is at least the level, it misses below only if the curve's interval
at q lies below the level, and above only if that at the value before q lies above it, each half of what may
be missed.

No formula gives the error of a distribution that was smoothed, or cut at zero, so plans for one compare
mechanisms by simulated surveys, always the same ones: of the distribution that is expected, or else of four
shapes (even, one hill, two hills, falling). They choose; they prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pbdp.errors import InputError
from pbdp.kinds import FLAG, one_of
from pbdp.local.counts import COUNTS, Counts
from pbdp.local.domain import Codes, Domain
from pbdp.local.estimates import GUARANTEED, METHOD, SCORE, projected
from pbdp.local.estimators import VALUE
from pbdp.local.goal import Goal
from pbdp.local.intervals import guaranteed_half_width, normal_quantile
from pbdp.local.mechanism import MECHANISM, LocalMechanism
from pbdp.local.square_wave import SquareWave
from pbdp.local.variances import UnknowableVariances, Variances
from pbdp.noise.kernel import Array
from pbdp.parameters import confidence_level, iterated, plain, probability, whole
from pbdp.settings import repeating
from pbdp.signatures import checked

# Beyond it the cumulative curve has no intervals.
LARGEST_CURVE = 1024
DISTRIBUTION, QUANTILE = "distribution", "quantile"
SHAPE = one_of((DISTRIBUTION, QUANTILE))
LEVELS = np.arange(1, 10) / 10
# Surveys that are simulated for each shape, and for domains of more values than MANY.
SURVEYS, FEW_SURVEYS, MANY = 8, 2, 512
# The same surveys in every plan; they decide which mechanism is taken, not what it draws.
SEED = 20_220


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distribution:
    """Shares of the values, which are biased; `low` and `high` hold the cumulative curve at each value."""

    names: tuple[object, ...]
    numbers: Array
    share: Array
    low: Array
    high: Array
    confidence: float
    method: str
    users: int
    smoothed: bool
    insecure_test: bool = False

    @property
    def cumulative(self) -> Array:
        """Shares of people up to each value."""
        return np.minimum(np.cumsum(self.share), 1.0)

    @property
    def mean(self) -> float:
        """The mean of the estimated distribution."""
        return float(self.numbers @ self.share)

    def quantile(self, level: float) -> tuple[object, object, object]:
        """The value up to which that share of people are, and the ends of its interval."""
        probability("level", level)
        at = int(np.searchsorted(self.numbers, quantiles(self.numbers, self.share, np.array([level]))[0]))
        reached = np.flatnonzero(self.high >= level)
        first = int(reached[0]) if len(reached) else len(self.names) - 1
        not_yet = np.flatnonzero(self.low < level)
        last = min(int(not_yet[-1]) + 1, len(self.names) - 1) if len(not_yet) else 0
        return self.names[at], self.names[min(first, last)], self.names[max(first, last)]

    def quantiles(
        self, levels: Sequence[float] = tuple(LEVELS)
    ) -> list[tuple[float, object, object, object]]:
        """Levels with their values and intervals; the nine deciles if none are given."""
        listed = map(plain, iterated("levels", levels, "a list of levels, such as [0.25, 0.5]"))
        with repeating(False):
            return [(level, *self.quantile(level)) for level in listed]


@checked(mechanism=MECHANISM, counts=COUNTS, joint=FLAG, method=METHOD)
def distribution(
    mechanism: LocalMechanism,
    counts: Counts,
    *,
    confidence: float = 0.95,
    joint: bool = False,
    method: str = SCORE,
) -> Distribution:
    """The distribution that reports show, with intervals for its cumulative curve.

    `joint` is for the whole curve (Bonferroni); `method` as for other estimates.
    """
    if counts.fingerprint != mechanism.fingerprint or counts.users == 0:
        raise InputError("counts", f"of good reports of configuration {mechanism.fingerprint}", "others")
    level = confidence_level("confidence", confidence)
    numbers, users = numbers_of(mechanism.domain), counts.users
    share = shape_of(mechanism, counts.tally, users)
    miss = (1 - level) / (len(numbers) if joint else 1)
    low, high = _curve(mechanism, counts, share, method, miss)
    return Distribution(
        names=mechanism.domain.values,
        numbers=numbers,
        share=share,
        low=low,
        high=high,
        confidence=level,
        method=method,
        users=users,
        smoothed=mechanism.kind == "square wave",
        insecure_test=counts.insecure_test,
    )


def curve_variances(mechanism: LocalMechanism) -> Variances | None:
    """What one person adds to unbiased estimates of the cumulative curve; None where there are none."""
    size = mechanism.domain.count
    variances = mechanism.weighted(np.tri(size)) if size <= LARGEST_CURVE else None
    return None if isinstance(variances, UnknowableVariances) else variances


def _curve(
    mechanism: LocalMechanism, counts: Counts, share: Array, method: str, miss: float
) -> tuple[Array, Array]:
    """Ends of the intervals of the cumulative curve; from 0 to 1 where no estimate is unbiased."""
    size, users = len(share), counts.users
    variances = curve_variances(mechanism)
    if variances is None:
        return np.append(np.zeros(size - 1), 1.0), np.ones(size)
    found = np.cumsum(mechanism.estimates(VALUE, counts.tally, users)[0])
    if method == GUARANTEED:
        half = guaranteed_half_width(users * variances.worst, None, variances.reach, miss)
    else:
        half = normal_quantile(miss) * np.sqrt(
            np.maximum(variances.at(share * users), users * variances.least)
        )
    low, high = np.clip((found - half) / users, 0.0, 1.0), np.clip((found + half) / users, 0.0, 1.0)
    # up to the last value there is everyone
    low[-1] = high[-1] = 1.0
    return low, high


def numbers_of(domain: Domain) -> Array:
    """The values as numbers, in rising order; texts by their places."""
    if not isinstance(domain.values[0], int):
        return np.arange(domain.count, dtype=np.float64)
    numbers = np.array(domain.values, dtype=np.float64)
    if np.any(np.diff(numbers) <= 0):
        raise InputError("values", "in rising order for a distribution", "others", "Sort them.")
    return numbers


def distance(numbers: Array, one: Array, other: Array) -> float:
    """Wasserstein's distance between two distributions."""
    apart = np.abs(np.cumsum(one - other))[:-1]
    return float(apart @ np.diff(numbers))


def quantiles(numbers: Array, shares: Array, levels: Array) -> Array:
    """The least number up to which at least the level of all people are."""
    places = np.searchsorted(np.cumsum(shares), levels * shares.sum() * (1 - 1e-12))
    return np.asarray(numbers[np.minimum(places, len(numbers) - 1)])


def shape_of(mechanism: LocalMechanism, tally: Codes, users: int) -> Array:
    """The shares of the values that reports show: smoothed, or cut at zero; biased either way."""
    if isinstance(mechanism, SquareWave):
        return mechanism.distribution(tally)
    return projected(mechanism.estimates(VALUE, tally, users)[0], users) / users


# ------------------------------------------------------------------------------------- plans


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastShapeError(Goal):
    """Least distance between the estimated and the true distribution, or least error of the nine deciles.

    The distance is Wasserstein's, the area between the two cumulative curves. Both are in the unit of the
    numbers (places, for texts), for `users` people.
    """

    kind: str
    users: int

    def __post_init__(self) -> None:
        whole("users", self.users)
        SHAPE.check("kind", self.kind)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.kind,)

    def cost(self, mechanism: LocalMechanism) -> float:
        numbers = numbers_of(mechanism.domain)
        generator = np.random.default_rng(SEED)
        surveys = SURVEYS if len(numbers) <= MANY else FEW_SURVEYS
        errors = [
            self._error(numbers, truth, _simulated(mechanism, truth, self.users, generator))
            for truth in self._truths(len(numbers))
            for _ in range(surveys)
        ]
        return float(np.mean(errors))

    def _error(self, numbers: Array, truth: Array, found: Array) -> float:
        if self.kind == DISTRIBUTION:
            return distance(numbers, truth, found)
        return float(np.abs(quantiles(numbers, truth, LEVELS) - quantiles(numbers, found, LEVELS)).mean())

    def _truths(self, count: int) -> Iterator[Array]:
        expected = self.shares()
        if expected is not None:
            yield expected
            return
        at = (np.arange(count) + 0.5) / count
        hills = [(0.4, 0.15)], [(0.3, 0.1), (0.75, 0.08)]
        yield np.full(count, 1 / count)
        for hill in hills:
            made = sum((np.exp(-(((at - middle) / wide) ** 2) / 2) for middle, wide in hill), np.zeros(count))
            yield np.asarray(made / made.sum())
        falling = np.exp(-4 * at)
        yield falling / falling.sum()


def _simulated(mechanism: LocalMechanism, truth: Array, users: int, generator: np.random.Generator) -> Array:
    """The distribution that one survey of that many people would show."""
    if isinstance(mechanism, SquareWave):
        chances = mechanism.window.mixed(truth)
        return mechanism.distribution(generator.multinomial(users, chances / chances.sum()))
    variance = mechanism.variances(VALUE).at(truth * users)
    return projected(truth * users + np.sqrt(variance) * generator.standard_normal(len(truth)), users) / users
