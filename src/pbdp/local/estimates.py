"""Estimates with intervals: how many people hold each value, or are in each category, and their mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from pbdp.digits import percent_down
from pbdp.errors import InputError
from pbdp.kinds import FLAG, one_of
from pbdp.local.counts import COUNTS, Counts
from pbdp.local.domain import Codes, ScaleDomain
from pbdp.local.estimators import CATEGORY, MEAN, VALUE
from pbdp.local.intervals import exact_interval, guaranteed_half_width, normal_quantile, score_interval
from pbdp.local.mechanism import MECHANISM, LocalMechanism
from pbdp.noise.kernel import Array
from pbdp.parameters import confidence_level
from pbdp.reported import Reported
from pbdp.signatures import checked

# Numbers of people that a prior has weights for: 0, and from this part of the mean to all, evenly in the
# logarithm.
ATOMS, LEAST_ATOM = 63, 1 / 16
# Values that are looked at together, and the part of all people below which noise is none.
FITTED, NOISELESS = 1 << 14, 1e-9
SCORE, GUARANTEED = "score", "guaranteed"
METHODS = (SCORE, GUARANTEED)
METHOD, KIND = one_of(METHODS), one_of((VALUE, CATEGORY, MEAN))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Estimate(Reported):
    """Estimated numbers of people by value or category, with low <= truth <= high at `confidence`, each.

    `kind` is "value" or "category"; for "mean" there is one entry, whose `people` is the sum of all numbers
    and whose `share` is their mean. `biased` is False for the unbiased estimates, which may be negative;
    those of `projected` are a valid histogram, hence biased; `variance`, `low` and `high` stay those of the
    unbiased ones, so that the intervals hold.
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

    def _counted(self) -> str:
        kinds = {"value": "values", "category": "categories", "mean": "mean"}[self.kind]
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

    @property
    def share(self) -> Array:
        """The estimates as shares of all who reported."""
        return self.people / self.users

    def projected(self) -> Estimate:
        """The same as a valid histogram, with nothing negative and the sum of all users; biased."""
        if self.overlapping:
            raise InputError("estimate", "over groups that do not overlap", "neighborhoods of a scale")
        return replace(self, people=histogram(self.people, self.variance, self.users), biased=True)


def projected(people: Array, users: float) -> Array:
    """The nearest histogram with no negative entry that adds up to all users (least squares); biased.

    Water-filling (Duchi et al. 2008): subtract the same number from all, cut at zero.
    """
    falling = np.sort(people)[::-1]
    excess = (np.cumsum(falling) - users) / np.arange(1, len(falling) + 1)
    # rounding must not leave none, so the first always counts
    last = max(int(np.count_nonzero(falling > excess)), 1)
    return np.asarray(np.maximum(people - excess[last - 1], 0.0))


def histogram(people: Array, variance: Array, users: float) -> Array:
    """A valid histogram with little squared error from unbiased estimates with these variances; biased.

    Empirical Bayes (Robbins 1956): the estimates together show how numbers of people are distributed over
    the values, and each becomes its posterior mean under that prior, for normal errors. The prior is the mean
    of the posteriors under one that is scale-free: one step of expectation maximization, as the prior of
    greatest likelihood would follow the noise. Where many values are empty they come near 0, where all are
    alike they come near their mean, and a few large ones stay as they are; cutting at zero, and rescaling or
    subtracting what is too much, does one of these only. Sums over many values inherit the bias: the curve of
    a distribution is for them.
    """
    count = len(people)
    mean = users / count
    atoms = mean * np.append(0.0, np.geomspace(LEAST_ATOM, count, ATOMS))
    noise = np.maximum(np.sqrt(np.maximum(variance, 0.0)), NOISELESS * users)
    parts = np.array_split(np.arange(count), -(-count // FITTED))

    def posterior(part: Codes, prior: Array) -> Array:
        score = (people[part, None] - atoms) / noise[part, None]
        weights = prior * np.exp(((score**2).min(axis=1, keepdims=True) - score**2) / 2)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    prior = sum((posterior(part, 1 / (mean + atoms)).sum(axis=0) for part in parts), np.zeros(len(atoms)))
    found = np.concatenate([posterior(part, prior) @ atoms for part in parts])
    # where atoms are further apart than the noise, others have nothing to say
    above = np.clip(np.searchsorted(atoms, people), 1, ATOMS)
    return projected(np.where(noise < atoms[above] - atoms[above - 1], people, found), users)


@checked(mechanism=MECHANISM, counts=COUNTS, kind=KIND, joint=FLAG, method=METHOD)
def estimate(
    mechanism: LocalMechanism,
    counts: Counts,
    kind: str = VALUE,
    *,
    confidence: float = 0.95,
    joint: bool = False,
    method: str = SCORE,
) -> Estimate:
    """Unbiased estimates from counts, of values, categories or the mean.

    `method="score"`: right for all but the smallest surveys, also where few people hold a value (see
    `intervals`). `method="guaranteed"`: proved for any number of users; exact where the law of a count is
    known. `joint` makes the confidence that of all intervals together (Bonferroni).
    """
    if counts.fingerprint != mechanism.fingerprint:
        raise InputError("counts", f"of configuration {mechanism.fingerprint}", counts.fingerprint)
    if counts.users == 0:
        raise InputError("counts", "of at least one good report", "none", _refusals(counts))
    domain = mechanism.domain
    names: tuple[object, ...] = {VALUE: domain.values, CATEGORY: domain.groups, MEAN: (MEAN,)}[kind]
    level = confidence_level("confidence", confidence)
    miss = (1 - level) / (len(names) if joint else 1)
    people, variance = estimated(mechanism, kind, counts)
    low, high = _ends(mechanism, counts, (people, variance), kind, (method, miss))
    return Estimate(
        kind=kind,
        names=names,
        people=people,
        variance=variance,
        low=low,
        high=high,
        confidence=level,
        method=method,
        users=counts.users,
        refused=dict(counts.refused),
        overlapping=kind == CATEGORY and isinstance(domain, ScaleDomain),
        insecure_test=counts.insecure_test,
    )


def estimated(mechanism: LocalMechanism, kind: str, counts: Counts) -> tuple[Array, Array]:
    """Estimates and their variances; a mean that is summed up from values has that of the people found."""
    if kind != MEAN or mechanism.estimates_means:
        return mechanism.estimates(kind, counts.tally, counts.users)
    variances = mechanism.variances(MEAN)
    by_value, _ = mechanism.estimates(VALUE, counts.tally, counts.users)
    numbers = np.array(mechanism.domain.values, dtype=np.float64)
    return np.array([float(numbers @ by_value)]), variances.at(projected(by_value, counts.users))


def _ends(
    mechanism: LocalMechanism,
    counts: Counts,
    found: tuple[Array, Array],
    kind: str,
    rule: tuple[str, float],
) -> tuple[Array, Array]:
    """Ends of the intervals of the estimates."""
    (people, variance), (method, miss), users = found, rule, counts.users
    pure = mechanism.pure(kind, counts.tally)
    if pure is not None:
        return (score_interval if method == SCORE else exact_interval)(pure, users, miss)
    variances = mechanism.variances(kind)
    if method == SCORE:
        half = normal_quantile(miss) * np.sqrt(np.maximum(variance, users * variances.least))
    else:
        squares = variance + people if mechanism.linear_variances and kind != MEAN else None
        half = guaranteed_half_width(users * variances.worst, squares, variances.reach, miss)
    if kind == MEAN:
        numbers = np.array(mechanism.domain.values, dtype=np.float64)
        ends = users * float(numbers.min()), users * float(numbers.max())
    else:
        ends = 0.0, float(users)
    return np.clip(people - half, *ends), np.clip(people + half, *ends)


def _refusals(counts: Counts) -> str:
    if not counts.refused:
        return ""
    listed = ", ".join(f"{count} {why}" for why, count in counts.refused.items())
    return f"Refused: {listed}."
