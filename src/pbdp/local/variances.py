"""Exact variances of frequency estimates, as sums over people of what a person holding x adds.

An estimate is a sum of one coefficient L(report) for each person, whose mean is 1 if that person is in the
group and 0 otherwise. People's reports are independent, so with f_x people holding x
    Var = sum over x of f_x Var_x,      Var_x = E[L(report)^2 | x] - (1 if x is in the group, else 0).
These are variances for given people, over the randomizers only; nothing is approximated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from pbdp.local.domain import Codes
from pbdp.noise.kernel import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variances(ABC):
    """Variances of the estimates of all groups (values or categories) by what people hold.

    `reach` is how far one report, honest or not, can move an estimate from what its sender adds to the truth.
    """

    reach: Array

    @abstractmethod
    def at(self, truth: Array) -> Array:
        """The variance of each group's estimate when truth[x] people hold value x."""

    @property
    @abstractmethod
    def mean(self) -> Array:
        """For each value x, what one person holding it adds to the mean variance over the groups."""

    @property
    @abstractmethod
    def worst(self) -> Array:
        """For each group, the most that one person can add to its variance."""

    @property
    @abstractmethod
    def least(self) -> Array:
        """For each group, the least that one person can add to its variance."""


def reach_of(low: Array, high: Array, least: Array | float = 0.0, most: Array | float = 1.0) -> Array:
    """The reach of coefficients from `low` to `high` whose mean is from `least` to `most`, by group."""
    return np.maximum(high - least, most - low)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValueVariances(Variances):
    """Estimates of values: one person adds `own` if x is that value, `same` if in its block, else `other`.

    Each is given for each block, and `block` says the one of each value; there may be one of all values.
    """

    block: Codes
    own: Array
    same: Array
    other: Array

    @property
    def _sizes(self) -> Array:
        return np.bincount(self.block, minlength=len(self.own)).astype(np.float64)

    def at(self, truth: Array) -> Array:
        at = self.block
        inside = np.bincount(at, truth, len(self.own))[at]
        near, far = inside - truth, truth.sum() - inside
        return np.asarray(self.own[at] * truth + self.same[at] * near + self.other[at] * far)

    @property
    def mean(self) -> Array:
        sizes = self._sizes
        from_others = float(sizes @ self.other) - sizes * self.other
        added = self.own + (sizes - 1) * np.where(sizes > 1, self.same, 0.0) + from_others
        return np.asarray(added[self.block] / len(self.block))

    @property
    def worst(self) -> Array:
        return self._end(np.maximum)

    @property
    def least(self) -> Array:
        return self._end(np.minimum)

    def _end(self, of_two: np.ufunc) -> Array:
        """The end of what there is: one block has no others, and a block of one value no other of its own."""
        end = self.own if len(self.own) == 1 else of_two(self.own, self.other)
        return np.asarray(np.where(self._sizes > 1, of_two(end, self.same), end)[self.block])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupVariances(Variances):
    """Estimates of categories: one person adds `inside` if x is in it, else `outside`.

    `group` says the category of each value.
    """

    group: Codes
    inside: Array
    outside: Array

    def at(self, truth: Array) -> Array:
        within = np.bincount(self.group, truth, len(self.inside))
        return np.asarray(self.inside * within + self.outside * (truth.sum() - within))

    @property
    def mean(self) -> Array:
        more = self.inside - self.outside
        return np.asarray((self.outside.sum() + more[self.group]) / len(self.inside))

    @property
    def worst(self) -> Array:
        return np.maximum(self.inside, self.outside)

    @property
    def least(self) -> Array:
        return np.minimum(self.inside, self.outside)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DenseVariances(Variances):
    """Estimates by a general matrix: a person holding x adds matrix[group, x]."""

    matrix: Array

    def at(self, truth: Array) -> Array:
        return np.asarray(self.matrix @ truth)

    @property
    def mean(self) -> Array:
        return np.asarray(self.matrix.mean(axis=0))

    @property
    def worst(self) -> Array:
        return np.asarray(self.matrix.max(axis=1))

    @property
    def least(self) -> Array:
        return np.asarray(self.matrix.min(axis=1))


def dense(weights: Array, squared: Array, low: Array, high: Array) -> DenseVariances:
    """Of sums of weights[group, value], from E[L^2 | x] and the ends of L."""
    reach = reach_of(low, high, weights.min(axis=1), weights.max(axis=1))
    return DenseVariances(matrix=np.maximum(squared - weights**2, 0.0), reach=reach)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnknowableVariances(Variances):
    """For what cannot be estimated at all: infinite variances."""

    people: int

    def at(self, truth: Array) -> Array:  # noqa: ARG002 - whatever the truth
        return self.worst

    @property
    def mean(self) -> Array:
        return np.full(self.people, np.inf)

    @property
    def worst(self) -> Array:
        return np.full(len(self.reach), np.inf)

    @property
    def least(self) -> Array:
        return self.worst


def unknowable(groups: int, people: int) -> Variances:
    """Those of that many groups over that many values, none of which can be estimated."""
    return UnknowableVariances(people=people, reach=np.full(groups, np.inf))
