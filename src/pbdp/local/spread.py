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

from pbdp.local.domain import CategoryDomain, Domain, ScaleDomain
from pbdp.noise.kernel import Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread(ABC):
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
class ValueSpread(Spread):
    """Estimates of values: one person adds `own` if x is that value, `same` if near it, else `other`.

    Each is given for each category; a scale, where `same` equals `other`, has one entry.
    """

    domain: Domain
    own: Array
    same: Array
    other: Array

    def at(self, truth: Array) -> Array:
        if isinstance(self.domain, CategoryDomain):
            at = self.domain.category_of
            inside = self.domain.group_sums(truth)[at]
            near, far = inside - truth, truth.sum() - inside
            return np.asarray(self.own[at] * truth + self.same[at] * near + self.other[at] * far)
        return np.asarray(self.own * truth + self.other * (truth.sum() - truth))

    @property
    def mean(self) -> Array:
        if isinstance(self.domain, CategoryDomain):
            sizes, at = np.array(self.domain.sizes), self.domain.category_of
            from_others = float(sizes @ self.other) - sizes * self.other
            by_category = (self.own + (sizes - 1) * np.where(sizes > 1, self.same, 0.0) + from_others)[at]
        else:
            by_category = np.full(self.domain.count, (self.own + (self.domain.count - 1) * self.other)[0])
        return np.asarray(by_category / self.domain.count)

    @property
    def worst(self) -> Array:
        return self._end(np.maximum)

    @property
    def least(self) -> Array:
        return self._end(np.minimum)

    def _end(self, of_two: np.ufunc) -> Array:
        end = of_two(self.own, self.other)
        if isinstance(self.domain, CategoryDomain):
            several = np.array(self.domain.sizes) > 1
            return np.asarray(np.where(several, of_two(end, self.same), end)[self.domain.category_of])
        return np.full(self.domain.count, end[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupSpread(Spread):
    """Estimates of categories or neighborhoods: one person adds `inside` if x is in it, else `outside`."""

    domain: Domain
    inside: Array
    outside: Array

    def at(self, truth: Array) -> Array:
        within = self.domain.group_sums(truth)
        return np.asarray(self.inside * within + self.outside * (truth.sum() - within))

    @property
    def mean(self) -> Array:
        more = self.inside - self.outside
        if isinstance(self.domain, ScaleDomain):
            added = more @ self.domain.members()
        else:
            assert isinstance(self.domain, CategoryDomain)  # noqa: S101 - there are two kinds of domain
            added = more[self.domain.category_of]
        return np.asarray((self.outside.sum() + added) / len(self.inside))

    @property
    def worst(self) -> Array:
        return np.maximum(self.inside, self.outside)

    @property
    def least(self) -> Array:
        return np.minimum(self.inside, self.outside)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DenseSpread(Spread):
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnknowableSpread(Spread):
    """For what cannot be estimated at all: infinite variances."""

    people: int

    def at(self, truth: Array) -> Array:  # noqa: ARG002 - whatever the truth
        return np.full(len(self.reach), np.inf)

    @property
    def mean(self) -> Array:
        return np.full(self.people, np.inf)

    @property
    def worst(self) -> Array:
        return np.full(len(self.reach), np.inf)

    @property
    def least(self) -> Array:
        return self.worst


def unknowable(groups: int, people: int) -> Spread:
    """The spread of that many groups over that many values, none of which can be estimated."""
    return UnknowableSpread(people=people, reach=np.full(groups, np.inf))
