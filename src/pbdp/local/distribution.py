"""The distribution of ordered values from reports: shares, cumulative curve and quantiles.

Shares are a valid distribution, smoothed or cut at zero, and so biased (`shape`). Intervals are of unbiased
estimates of the cumulative curve, hence honest and wider than the shares suggest: each holds the truth with
its confidence, also where smoothing is wrong. A quantile's interval is what the curve's leaves possible:
with q = the least v at which the curve F is at least the level, it misses below only if the curve's interval
at q lies below the level, and above only if that at the value before q lies above it, each half of what may
be missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pbdp.errors import InputError
from pbdp.local.counts import Counts
from pbdp.local.estimate import GUARANTEED, METHODS, SCORE
from pbdp.local.intervals import guaranteed_half_width, normal_quantile
from pbdp.local.mechanism import VALUE, LocalMechanism
from pbdp.local.shape import LEVELS, numbers_of, quantiles, shape_of
from pbdp.local.spread import Spread, UnknowableSpread
from pbdp.noise.kernel import Array
from pbdp.parameters import confidence_level

# Beyond it the cumulative curve has no intervals.
LARGEST_CURVE = 1024


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
        if not 0 < level < 1:
            raise InputError("level", "above 0 and below 1", f"{level:g}")
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
        return [(float(level), *self.quantile(float(level))) for level in levels]


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
    if method not in METHODS:
        raise InputError("method", f"one of {', '.join(METHODS)}", method)
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


def curve_spread(mechanism: LocalMechanism) -> Spread | None:
    """What one person adds to unbiased estimates of the cumulative curve; None where there are none."""
    size = mechanism.domain.count
    spread = mechanism.weighted(np.tri(size)) if size <= LARGEST_CURVE else None
    return None if isinstance(spread, UnknowableSpread) else spread


def _curve(
    mechanism: LocalMechanism, counts: Counts, share: Array, method: str, miss: float
) -> tuple[Array, Array]:
    """Ends of the intervals of the cumulative curve; from 0 to 1 where no estimate is unbiased."""
    size, users = len(share), counts.users
    spread = curve_spread(mechanism)
    if spread is None:
        return np.append(np.zeros(size - 1), 1.0), np.ones(size)
    found = np.cumsum(mechanism.estimates(VALUE, counts.tally, users)[0])
    if method == GUARANTEED:
        half = guaranteed_half_width(users * spread.worst, None, spread.reach, miss)
    else:
        half = normal_quantile(miss) * np.sqrt(np.maximum(spread.at(share * users), users * spread.least))
    low, high = np.clip((found - half) / users, 0.0, 1.0), np.clip((found + half) / users, 0.0, 1.0)
    # up to the last value there is everyone
    low[-1] = high[-1] = 1.0
    return low, high
