"""Unbiased estimates of how many people hold each value or are in each category, with exact variances.

An estimator is linear: every report y adds L(y) to each group, the mean of L over a person's reports being 1
if that person is in the group and 0 if not. Variances: see `variances`; the unbiased estimate of Var = sum
over reports L(y)^2 E[c_y] - F replaces the expected count of y by the count c_y.

**Sets.** Where a report is a set of d_j out of the n_j values of a block j (a block is a category, or all
values), all that is used of it is its block and which values it holds: see `SetReports`. Sets of one value
are boosted response (the estimator is the paper's, for categories of any sizes), whole categories are
response on centers.

**Matrices.** Otherwise, P(report y | value x) is a matrix, and L solves linear equations: scales, windows.

**Pure protocols** (Wang et al. 2017): a report supports each value v with chance p if v is true and q if not.
With s_v reports that support v among N, f_v = (s_v - N q)/(p - q) is unbiased, with the variance
    (f_v p (1 - p) + (N - f_v) q (1 - q)) / (p - q)^2,
exact for independent people (theorem 2 there: N q (1 - q)/(p - q)^2 + f_v (1 - p - q)/(p - q)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError
from pbdp.local.domain import CategoryDomain, Codes, Domain
from pbdp.local.intervals import PureCounts, pure_counts
from pbdp.local.variances import (
    GroupVariances,
    ValueVariances,
    Variances,
    dense,
    reach_of,
    unknowable,
)
from pbdp.noise.kernel import Array

VALUE, CATEGORY, MEAN = "value", "category", "mean"
# Below this share of `own`, `held` is only what rounding left: values cannot be told apart.
LEAST_DIFFERENCE = 2.0**-30
# How far the mean of an estimate may be off for a person, by rounding.
LARGEST_REST = 1e-5
NOT_KNOWABLE = "Reports do not tell these apart here. Use a larger epsilon0, or plan for both (--goal 0.5)."


class Estimator(ABC):
    """What reports tell, from their tally."""

    @abstractmethod
    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        """Unbiased estimates of how many people hold each value (or category), and of their variances."""

    def pure(self, kind: str, tally: Codes) -> PureCounts | None:  # noqa: ARG002 - most have none
        """Counts whose law depends on one number of people each, where that is so."""
        return None

    @abstractmethod
    def share_variances(self, kind: str) -> Variances:
        """Exact variances of the estimates of values or categories."""

    @abstractmethod
    def weighted(self, weights: Array) -> Variances:
        """The same for sums over people, weights[group, value] for one who holds the value."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SetReports(Estimator):
    """Reports that are sets of d of the n values of a block; there is one block, or one for each category.

    Whatever the answer, a report is of block j with chance n_j other_j. If the true value is in block j, one
    that holds it comes on top with chance held_j, and any set of the block with chance spread_j; their sum,
    the boost, is the same for all blocks (and `spread` is 0 for blocks of one value). All sets of a block
    that hold the true value, or do not, are alike. The tally counts the reports that hold each value and,
    where there is one block, then the sum of squares of how many values of each group a report holds.
    """

    domain: Domain
    n: Array
    d: Array
    other: Array
    held: Array
    spread: Array

    @property
    def boost(self) -> float:
        """How much likelier a report of a block is if the true value is in it."""
        return float(self.held[0] + self.spread[0])

    @property
    def own(self) -> Array:
        """How likely a report holds the true value."""
        return self.far + self.spread * self.d / self.n + self.held

    @property
    def same(self) -> Array:
        """Another value of the true one's block; in a block of one value there is none."""
        others = (self.d - 1) / np.maximum(self.n - 1, 1)
        return self.far + self.spread * self.d / self.n + self.held * others

    @property
    def far(self) -> Array:
        """A value of another block."""
        return self.d * self.other

    @property
    def never(self) -> Array:
        """How likely a report is of a block that the true value is not in."""
        return self.n * self.other

    @property
    def several(self) -> bool:
        """Whether blocks are categories."""
        return len(self.n) > 1

    @cached_property
    def at(self) -> Codes:
        """The block of each value."""
        return np.repeat(np.arange(len(self.n)), self.n.astype(np.int64))

    @property
    def values_known(self) -> bool:
        """Whether values, and not only blocks, can be estimated."""
        held = (self.d < self.n) & (self.held > LEAST_DIFFERENCE * self.own)
        return bool(np.all(held | (self.n == 1)))

    def _sums(self, by_value: Array) -> Array:
        starts = np.cumsum(self.n) - self.n
        return np.asarray(np.add.reduceat(by_value, starts.astype(np.int64), axis=-1))

    def _group_coefficients(self) -> tuple[Array, Array]:
        """What a report of the block, and any other, adds to the people of the block."""
        return (1 - self.never) / self.boost, -self.never / self.boost

    def _value_coefficients(self) -> tuple[Array, Array, Array]:
        """What is added to a value for a report that holds it, for one of its block, and for any."""
        gap = self.own - self.same
        slope = (self.same - self.far) / (self.boost * gap)
        return 1 / gap, -slope, slope * self.never - self.far / gap

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:
        supports = tally[: self.domain.count].astype(np.float64)
        if kind == CATEGORY and not self.several:
            chances = float(self.own[0]), float(self.same[0])
            return grouped_estimates(self.domain, chances, supports, tally[self.domain.count :], users)
        reports = self._sums(supports) / self.d if self.several else np.array([float(users)])
        if kind == CATEGORY:
            high, low = self._group_coefficients()
            found = high * reports + low * (users - reports)
            return found, high**2 * reports + low**2 * (users - reports) - found
        if not self.values_known:
            raise CannotCertifyError(NOT_KNOWABLE)
        reports = reports[self.at]
        held, inside, anyone = (part[self.at] for part in self._value_coefficients())
        found = held * supports + inside * reports + anyone * users
        return found, np.maximum(self._squares(supports, reports, users) - found, 0.0)

    def _squares(self, holding: Array, of_block: Array, all_reports: float) -> Array:
        """The sum of L^2 over reports, as many of which hold a value, are of its block, and are there."""
        held, inside, anyone = (part[self.at] for part in self._value_coefficients())
        return np.asarray(
            (held**2 + 2 * held * (inside + anyone)) * holding
            + (inside**2 + 2 * inside * anyone) * of_block
            + anyone**2 * all_reports
        )

    def pure(self, kind: str, tally: Codes) -> PureCounts | None:
        """Of categories that are blocks; and of values where all others are equally likely."""
        supports = tally[: self.domain.count].astype(np.float64)
        if kind == CATEGORY and self.several:
            return pure_counts(self._sums(supports) / self.d, self.never + self.boost, self.never)
        if kind == VALUE and (not self.several or np.array_equal(self.same, self.far)):
            return pure_counts(supports, self.own[self.at], self.same[self.at])
        return None

    def share_variances(self, kind: str) -> Variances:
        if kind == CATEGORY and not self.several:
            return self._grouped()
        always = self.never + self.boost
        if kind == CATEGORY:
            high, low = self._group_coefficients()
            inside, outside = (p * (1 - p) / self.boost**2 for p in (always, self.never))
            return GroupVariances(group=self.at, inside=inside, outside=outside, reach=reach_of(low, high))
        if not self.values_known:
            return unknowable(self.domain.count, self.domain.count)
        first = np.unique(self.at, return_index=True)[1]

        def squared(value: Array, block: Array) -> Array:
            return self._squares(value[self.at], block[self.at], 1.0)[first]

        same = squared(self.same, always)
        held, inside, anyone = self._value_coefficients()
        ends = np.stack(
            [held + inside + anyone, inside + anyone, anyone if self.several else inside + anyone]
        )
        return ValueVariances(
            block=self.at,
            own=squared(self.own, always) - 1,
            same=same,
            other=squared(self.far, self.never) if self.several else same,
            reach=reach_of(ends.min(axis=0), ends.max(axis=0))[self.at],
        )

    def _grouped(self) -> Variances:
        """Of groups of values where sets are of all values: as a group sees them, people are in it or not."""
        if not isinstance(self.domain, CategoryDomain):
            return self.weighted(self.domain.members().astype(np.float64))
        sizes = np.array(self.domain.sizes, dtype=np.float64)
        (p,), (q,), (n,), (d,) = self.own, self.same, self.n, self.d
        # the true value and another, or two others, are in a set together
        with_own = p * (d - 1) / (n - 1)
        others = (p * (d - 1) * (d - 2) + (1 - p) * d * (d - 1)) / max((n - 1) * (n - 2), 1.0)

        def variance(rest: Array) -> Array:
            """Of how many of so many values, none of them the true one, a set holds."""
            return np.asarray(rest * q * (1 - q) + rest * (rest - 1) * (others - q * q))

        rest = sizes - 1
        inside = p * (1 - p) + variance(rest) + 2 * rest * (with_own - p * q)
        scale = (p - q) ** 2
        low, high = -sizes * q / (p - q), (np.minimum(sizes, d) - sizes * q) / (p - q)
        return GroupVariances(
            group=self.domain.category_of,
            inside=inside / scale,
            outside=variance(sizes) / scale,
            reach=reach_of(low, high),
        )

    def weighted(self, weights: Array) -> Variances:
        """A report adds held (weights in the set) + inside (weights of its block) + a constant."""
        if not self.values_known:
            return unknowable(len(weights), self.domain.count)
        n, d, at = self.n, self.d, self.at
        held, inside, anyone = self._value_coefficients()
        total, squares = self._sums(weights), self._sums(weights**2)
        level = inside * total + (total @ anyone)[:, None]

        def second(known: Array, part: Array, some: tuple[Array, Array, Array, Array]) -> Array:
            """E[T^2] of `known` and `part` times the sum of a random set out of numbers."""
            mean, square = _subset_moments(*some)
            return np.asarray(known**2 + 2 * known * part * mean + part**2 * square)

        anywhere = second(level, held, (d, n, total, squares))
        rest = (d - 1)[at], (n - 1)[at], total[:, at] - weights, squares[:, at] - weights**2
        chosen = second(held[at] * weights + level[:, at], held[at], rest)
        # the few that are left over of 2^62 are far below the rounding of floats
        squared = (anywhere @ self.never)[:, None] + (self.spread * anywhere)[:, at] + self.held[at] * chosen
        starts = (np.cumsum(n) - n).astype(np.int64)
        up = np.minimum(
            self._sums(np.maximum(weights, 0.0)), d * np.maximum.reduceat(weights, starts, axis=1)
        )
        down = np.maximum(
            self._sums(np.minimum(weights, 0.0)), d * np.minimum.reduceat(weights, starts, axis=1)
        )
        return dense(weights, squared, (held * down + level).min(axis=1), (held * up + level).max(axis=1))


def _subset_moments(picked: Array, out_of: Array, total: Array, squares: Array) -> tuple[Array, Array]:
    """Mean and mean square of the sum of a random set of numbers, from those of all of them."""
    one = picked / np.maximum(out_of, 1)
    two = one * (picked - 1) / np.maximum(out_of - 1, 1)
    return one * total, one * squares + two * (total**2 - squares)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MatrixReports(Estimator):
    """Reports with P(report y | value x) in row x of `chances`, and coefficients L[group, y].

    Where they are None, there are none, and `refusal` says why.
    """

    domain: Domain
    chances: Array
    by_value: Array | None
    by_group: Array | None
    refusal: str

    def _coefficients(self, kind: str) -> Array | None:
        return self.by_value if kind == VALUE else self.by_group

    def estimates(self, kind: str, tally: Codes, users: int) -> tuple[Array, Array]:  # noqa: ARG002
        coefficients = self._coefficients(kind)
        if coefficients is None:
            raise CannotCertifyError(self.refusal)
        found = coefficients @ tally
        return found, np.maximum(coefficients**2 @ tally - found, 0.0)

    def share_variances(self, kind: str) -> Variances:
        coefficients = self._coefficients(kind)
        if coefficients is None:
            groups = self.domain.count if kind == VALUE else len(self.domain.groups)
            return unknowable(groups, self.domain.count)
        members = np.eye(self.domain.count) if kind == VALUE else self.domain.members().astype(np.float64)
        return self._dense(members, coefficients)

    def weighted(self, weights: Array) -> Variances:
        if self.by_value is None:
            return unknowable(len(weights), self.domain.count)
        return self._dense(weights, weights @ self.by_value)

    def _dense(self, weights: Array, by_report: Array) -> Variances:
        squared = by_report**2 @ self.chances.T
        return dense(weights, squared, by_report.min(axis=1), by_report.max(axis=1))


def exact_bincount(codes: Codes, times: Codes | None, cells: int) -> Codes:
    """How often each code occurs, in whole numbers (numpy's own weights are floats)."""
    if times is None:
        return np.bincount(codes, minlength=cells)
    counts = np.zeros(cells, dtype=np.int64)
    np.add.at(counts, codes, times)
    return counts


def pure_estimates(p: float, q: float, supports: npt.NDArray[np.int64], users: int) -> tuple[Array, Array]:
    """Unbiased estimates of how many hold each value, and of their variances."""
    found: Array = np.asarray((supports - users * q) / (p - q), dtype=np.float64)
    variances = (found * (p * (1 - p) - q * (1 - q)) + users * (q * (1 - q))) / (p - q) ** 2
    return found, np.asarray(variances, dtype=np.float64)


def pure_value_variances(count: int, p: float, q: float) -> ValueVariances:
    """Exact variances of the estimates of so many values."""
    right, wrong = (np.array([chance * (1 - chance) / (p - q) ** 2]) for chance in (p, q))
    return ValueVariances(
        block=np.zeros(count, dtype=np.int64),
        own=right,
        same=wrong,
        other=wrong,
        reach=np.full(count, max(1 - q, p) / (p - q)),
    )


def grouped_estimates(
    domain: Domain, chances: tuple[float, float], supports: Codes | Array, squares: Codes, users: int
) -> tuple[Array, Array]:
    """The same for groups, from the sum of squares of each group's values that a report supports.

    L = (Z - n q)/(p - q), Z the values of a group of n that a report supports, and sum L^2 - F is unbiased.
    """
    p, q = chances
    sizes = domain.group_sums(np.ones(domain.count))
    totals = domain.group_sums(supports.astype(np.float64))
    by_group = (totals - users * sizes * q) / (p - q)
    spread = squares - 2 * sizes * q * totals + users * (sizes * q) ** 2
    return by_group, np.maximum(spread / (p - q) ** 2 - by_group, 0.0)
