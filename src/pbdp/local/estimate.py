"""Estimates with intervals: how many people hold each value, or are in each category."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pbdp.digits import percent_down
from pbdp.domains import confidence_level
from pbdp.errors import InputError
from pbdp.local.counts import Counts
from pbdp.local.domain import ScaleDomain
from pbdp.local.mechanism import CATEGORY, VALUE, LocalMechanism
from pbdp.local.spread import Spread
from pbdp.noise.kernel import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NORMAL, GUARANTEED = "normal", "guaranteed"
METHODS = (NORMAL, GUARANTEED)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Estimate:
    """Estimated numbers of people by value or category, with low <= truth <= high at `confidence`, each.

    `kind` is "value" or "category". `biased` is False for the unbiased estimates, which may be negative;
    those of `projected` are a valid histogram, hence biased, and keep the intervals of the unbiased ones.
    """

    kind: str
    names: tuple[object, ...]
    people: Array
    variance: Array
    low: Array
    high: Array
    confidence: float
    method: str
    users: int
    refused: Mapping[str, int]
    overlapping: bool = False
    biased: bool = False
    insecure_test: bool = False

    def __repr__(self) -> str:
        sure = f"{percent_down(self.confidence)} intervals ({self.method})"
        return f"<Estimate: {self._counted()}; {sure}{self._mark}>"

    def _repr_html_(self) -> str:
        from pbdp.figures.cards import estimate_card

        return estimate_card(self)

    def _counted(self) -> str:
        kinds = {"value": "values", "category": "categories"}[self.kind]
        return f"{len(self.names):,} {kinds} of {self.users:,} people"

    @property
    def _mark(self) -> str:
        biased = "; biased" if self.biased else ""
        return f"{biased}; FROM A TEST SEED, NOT PRIVATE" if self.insecure_test else biased

    def describe(self) -> str:
        """How many reports were counted, and how sure the intervals are, in a sentence."""
        refused = sum(self.refused.values())
        left_out = f", {refused:,} reports refused" if refused else ""
        sure = (
            f"each interval holds the truth with confidence {percent_down(self.confidence)} ({self.method})"
        )
        return f"{self._counted()}{left_out}; {sure}{self._mark}."

    def plot(self, path: str | Path | None = None) -> Figure:
        """Shares with their intervals; written to `path`, if one is given. Needs matplotlib."""
        from pbdp.figures.canvas import saved
        from pbdp.figures.local_figure import draw_estimates

        return saved(draw_estimates(self), path)

    @property
    def share(self) -> Array:
        """The estimates as shares of all who reported."""
        return self.people / self.users

    @property
    def standard_error(self) -> Array:
        """Square roots of the estimated variances."""
        return np.sqrt(self.variance)

    def projected(self) -> Estimate:
        """The nearest histogram with no negative entry that adds up to all users (least squares); biased.

        Water-filling (Duchi et al. 2008): subtract the same number from all, cut at zero.
        """
        if self.overlapping:
            raise InputError("estimate", "over groups that do not overlap", "neighborhoods of a scale")
        falling = np.sort(self.people)[::-1]
        excess = (np.cumsum(falling) - self.users) / np.arange(1, len(falling) + 1)
        # rounding must not leave none, so the first always counts
        last = max(int(np.count_nonzero(falling > excess)), 1)
        return replace(self, people=np.maximum(self.people - excess[last - 1], 0.0), biased=True)


def estimate(
    mechanism: LocalMechanism,
    counts: Counts,
    kind: str = VALUE,
    *,
    confidence: float = 0.95,
    joint: bool = False,
    method: str = NORMAL,
) -> Estimate:
    """Unbiased estimates from counts.

    `method="normal"`: estimate -+ z standard errors, from the unbiased estimate of the exact variance; right
    for large counts (the central limit theorem), not proved for small ones. `method="guaranteed"`:
    Bernstein's inequality with the worst variance over all truths; holds for any number of users, and is
    wider. `joint` makes the confidence that of all intervals together (Bonferroni).
    """
    checked_kind(kind)
    if method not in METHODS:
        raise InputError("method", f"one of {', '.join(METHODS)}", method)
    if counts.fingerprint != mechanism.fingerprint:
        raise InputError("counts", f"of configuration {mechanism.fingerprint}", counts.fingerprint)
    if counts.users == 0:
        raise InputError("counts", "of at least one good report", "none", _refusals(counts))
    people, variance = mechanism.estimates(kind, counts.tally, counts.users)
    domain = mechanism.domain
    names: tuple[object, ...] = domain.values if kind == VALUE else domain.groups
    level = confidence_level("confidence", confidence)
    miss = (1 - level) / (len(names) if joint else 1)
    if method == NORMAL:
        half = normal_quantile(miss) * np.sqrt(variance)
    else:
        half = bernstein_half_width(mechanism.spread(kind), counts.users, miss)
    return Estimate(
        kind=kind,
        names=names,
        people=people,
        variance=variance,
        low=people - half,
        high=people + half,
        confidence=level,
        method=method,
        users=counts.users,
        refused=dict(counts.refused),
        overlapping=kind == CATEGORY and isinstance(domain, ScaleDomain),
        insecure_test=counts.insecure_test,
    )


def checked_kind(kind: str) -> str:
    """The kind, if it is "value" or "category"."""
    if kind not in (VALUE, CATEGORY):
        raise InputError("kind", f"{VALUE} or {CATEGORY}", kind)
    return kind


def normal_quantile(miss: float) -> float:
    """z with two normal tails of `miss` together."""
    from scipy.special import ndtri

    return float(-ndtri(miss / 2))


def bernstein_half_width(spread: Spread, users: int, miss: float) -> Array:
    """t with P(|estimate - truth| >= t) <= miss for every truth and any number of users, by group.

    Bernstein (1927): 2 exp(-t^2/2 / (V + M t/3)) for a sum of independent centered parts of size at most M
    and variance V together; V is at most users times the worst one, and t solves equality.
    """
    odds = math.log(2 / miss)
    slope = spread.reach * odds / 3
    return np.asarray(slope + np.sqrt(slope**2 + 2 * odds * users * spread.worst))


def _refusals(counts: Counts) -> str:
    if not counts.refused:
        return ""
    listed = ", ".join(f"{count} {why}" for why, count in counts.refused.items())
    return f"Refused: {listed}."
