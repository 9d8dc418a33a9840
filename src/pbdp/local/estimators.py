"""Unbiased estimates of how many people hold each value, from counts of reports.

**Boosted randomized response**: category first, then value; a matrix inverse for scales. From the count C_j
of reports in category j and c_x of reports of value x, with N reports in all,
    F_j = (C_j - N n_j far_j) / D,      f_x = (c_x - F_j (near_j - far_j) - N far_j) / (own_j - near_j),
D = own_j + (n_j - 1) near_j - n_j far_j, the same for all categories (the paper's two estimators, for
categories of any size). Both are linear in the counts. As the matrix is invertible, f is the only unbiased
linear estimator. Variances: see `spread`; the unbiased estimate of Var = sum L(y)^2 E[c_y] - F replaces
E[c_y] by c_y.

**Pure protocols** (Wang et al. 2017): a report supports each value v with chance p if v is true and q if not.
With s_v reports that support v among N, f_v = (s_v - N q)/(p - q) is unbiased, with the variance
    (f_v p (1 - p) + (N - f_v) q (1 - q)) / (p - q)^2,
exact for independent people (theorem 2 there: N q (1 - q)/(p - q)^2 + f_v (1 - p - q)/(p - q)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError
from pbdp.local.domain import CategoryDomain, Codes, Domain, ScaleDomain
from pbdp.local.law import Shares
from pbdp.local.spread import DenseSpread, GroupSpread, Spread, ValueSpread, reach_of, unknowable
from pbdp.noise.kernel import Array

# Below this share of own, own - near is only what rounding left: values cannot be told apart.
LEAST_DIFFERENCE = 2.0**-30
LARGEST_CONDITION = 1e10
# How far the mean of an estimate may be off for a person, by rounding.
LARGEST_REST = 1e-5
LARGEST_SCALE = 4096
NOT_KNOWABLE = "Reports say nothing about values within a neighborhood here. Use a larger epsilon0."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Parts:
    """The shares of each category as arrays."""

    own: Array
    near: Array
    far: Array
    sizes: Array
    boost: float

    @property
    def values_known(self) -> bool:
        """Whether values, and not only categories, can be estimated."""
        several = self.sizes > 1
        return bool(np.all((self.own - self.near > LEAST_DIFFERENCE * self.own) | ~several))

    def group_coefficients(self) -> tuple[Array, Array]:
        """L(y) for y in the category, and for others."""
        outside = -self.sizes * self.far / self.boost
        return outside + 1 / self.boost, outside

    def value_coefficients(self) -> tuple[Array, Array, Array]:
        """L(y) for y the value, for y another of its category, and for others."""
        # a category of one value has no near: its value estimate is its category estimate
        near = np.where(self.sizes > 1, self.near, self.far)
        inside, outside = self.group_coefficients()
        gap = self.own - near
        same = (-(near - self.far) * inside - self.far) / gap
        other = (-(near - self.far) * outside - self.far) / gap
        return same + 1 / gap, same, other


def _parts(domain: CategoryDomain, shares: Shares) -> _Parts:
    return _Parts(
        own=np.array(shares.own),
        near=np.array(shares.near),
        far=np.array(shares.far),
        sizes=np.array(domain.sizes, dtype=np.float64),
        boost=shares.boost,
    )


def response_spread(domain: Domain, shares: Shares, *, values: bool) -> Spread:
    """Exact variances of the estimates of values, or of categories."""
    if isinstance(domain, ScaleDomain):
        return _scale_spread(domain, shares, values=values)
    if not isinstance(domain, CategoryDomain):
        raise AssertionError("there are two kinds of domain")
    parts = _parts(domain, shares)
    own, near, far, sizes = parts.own, parts.near, parts.far, parts.sizes
    if not values:
        never, always = sizes * far, sizes * far + parts.boost
        inside, outside = (p * (1 - p) / parts.boost**2 for p in (always, never))
        high, low = parts.group_coefficients()
        return GroupSpread(domain=domain, inside=inside, outside=outside, reach=reach_of(low, high))
    if not parts.values_known:
        return unknowable(domain.count, domain.count)
    mine, same, other = parts.value_coefficients()
    in_category = own + (sizes - 1) * near

    def squared(value: Array, rest: Array, category: Array | float) -> Array:
        """E[L^2], by the probabilities of the value, of the rest of its category, and of the category."""
        return mine**2 * value + same**2 * rest + other**2 * (1 - category)

    return ValueSpread(
        domain=domain,
        own=squared(own, (sizes - 1) * near, in_category) - 1,
        same=squared(near, in_category - near, in_category),
        other=squared(far, (sizes - 1) * far, sizes * far),
        reach=reach_of(np.minimum(same, other), mine)[domain.category_of],
    )


def response_weighted(domain: Domain, shares: Shares, weights: Array) -> Spread:
    """Exact variances of sums over people, weights[group, value] for one who holds the value."""
    if isinstance(domain, ScaleDomain):
        coefficients = _coefficients(domain, shares, values=True)
        if coefficients is None:
            return unknowable(len(weights), domain.count)
        by_report = weights @ coefficients
        squared = by_report**2 @ _matrix(domain, shares).T
        return _weighted(weights, squared, by_report)
    if not isinstance(domain, CategoryDomain):
        raise AssertionError("there are two kinds of domain")
    parts = _parts(domain, shares)
    if not parts.values_known:
        return unknowable(len(weights), domain.count)
    at = domain.category_of
    mine, same, other = parts.value_coefficients()
    # what a report y adds: all weights by `other`, those of y's category by `same` instead, y's own by `mine`
    by_category = _category_sums(domain, weights)
    by_report = (
        (by_category @ other)[:, None] + (by_category * (same - other))[:, at] + weights * (mine - same)[at]
    )
    squares = by_report**2
    in_category = _category_sums(domain, squares)
    squared = (
        (in_category @ parts.far)[:, None]
        + (in_category * (parts.near - parts.far))[:, at]
        + squares * (parts.own - parts.near)[at]
    )
    return _weighted(weights, squared, by_report)


def _category_sums(domain: CategoryDomain, rows: Array) -> Array:
    return np.add.reduceat(rows, np.cumsum((0, *domain.sizes[:-1])), axis=1)


def _weighted(weights: Array, squared: Array, by_report: Array) -> Spread:
    """From E[L^2 | x], and L for each report."""
    ends = weights.min(axis=1), weights.max(axis=1)
    reach = reach_of(by_report.min(axis=1), by_report.max(axis=1), *ends)
    return DenseSpread(matrix=np.maximum(squared - weights**2, 0.0), reach=reach)


def response_estimates(
    domain: Domain, shares: Shares, counts: Codes, users: int, *, values: bool
) -> tuple[Array, Array]:
    """Unbiased estimates of the people in each group, and unbiased estimates of their variances."""
    if isinstance(domain, ScaleDomain):
        coefficients = _checked_coefficients(domain, shares, values=values)
        found = coefficients @ counts
        return found, np.maximum(coefficients**2 @ counts - found, 0.0)
    if not isinstance(domain, CategoryDomain):
        raise AssertionError("there are two kinds of domain")
    parts = _parts(domain, shares)
    in_category = domain.group_sums(counts.astype(np.float64))
    inside, outside = parts.group_coefficients()
    by_category = inside * in_category + outside * (users - in_category)
    if not values:
        return by_category, inside**2 * in_category + outside**2 * (users - in_category) - by_category
    if not parts.values_known:
        raise CannotCertifyError(NOT_KNOWABLE)
    at = domain.category_of
    mine, same, other = (coefficient[at] for coefficient in parts.value_coefficients())
    rest, others = in_category[at] - counts, users - in_category[at]
    found = mine * counts + same * rest + other * others
    return found, mine**2 * counts + same**2 * rest + other**2 * others - found


def _matrix(domain: ScaleDomain, shares: Shares) -> Array:
    """P(report y | value x) in row x."""
    (own,), (near,), (far,) = shares.own, shares.near, shares.far
    matrix = np.where(domain.members(), near, far)
    np.fill_diagonal(matrix, own)
    return matrix


def _coefficients(domain: ScaleDomain, shares: Shares, *, values: bool) -> Array | None:
    """L[group, report] with sum over y of P(y|x) L[g, y] = (1 if x is in g, else 0), or None if there is
    none.

    Where the matrix is singular some groups may still be estimable: on a ring with epsilon0 = 0 the count of
    a report tells its neighborhood, though not the values in it. The least such L is taken; as a solver
    always finds one, it is put in to see that it is a solution.
    """
    if domain.count > LARGEST_SCALE:
        raise CannotCertifyError(f"Scales have at most {LARGEST_SCALE:,} values. Use categories.")
    if not domain.ring and shares.own[0] - shares.near[0] <= LEAST_DIFFERENCE * shares.own[0]:
        # the first two values have the same neighborhood, and others tell them apart
        return None
    transposed = _matrix(domain, shares).T
    members = np.eye(domain.count) if values else domain.members().astype(np.float64)
    try:
        inverse: Array = np.asarray(np.linalg.inv(transposed), dtype=np.float64)
    except np.linalg.LinAlgError:
        inverse = np.full_like(transposed, np.inf)
    # that of a nearly singular matrix has huge entries: rare enough for the slow way
    if not np.abs(inverse).max() * float(transposed.max()) < LARGEST_CONDITION / domain.count:
        inverse = np.asarray(np.linalg.pinv(transposed, rcond=1 / LARGEST_CONDITION))
    found = inverse if values else np.asarray(members @ inverse)
    off = np.abs(found @ transposed - members).max()
    return found if off < LARGEST_REST else None


def _checked_coefficients(domain: ScaleDomain, shares: Shares, *, values: bool) -> Array:
    found = _coefficients(domain, shares, values=values)
    if found is None:
        raise CannotCertifyError(NOT_KNOWABLE)
    return found


def _scale_spread(domain: ScaleDomain, shares: Shares, *, values: bool) -> Spread:
    found = _coefficients(domain, shares, values=values)
    if found is None:
        return unknowable(domain.count, domain.count)
    members = np.eye(domain.count) if values else domain.members().astype(np.float64)
    variances = found**2 @ _matrix(domain, shares).T - members
    reach = reach_of(found.min(axis=1), found.max(axis=1))
    return DenseSpread(matrix=np.maximum(variances, 0.0), reach=reach)


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


def support_reach(weights: Array, p: float, q: float) -> Array:
    """The reach of weighted sums where a report may support any values."""
    up, down = np.maximum(weights, 0.0).sum(axis=1), np.minimum(weights, 0.0).sum(axis=1)
    center = q * weights.sum(axis=1)
    low, high = (down - center) / (p - q), (up - center) / (p - q)
    return reach_of(low, high, weights.min(axis=1), weights.max(axis=1))


def grouped_estimates(
    domain: Domain, chances: tuple[float, float], supports: Codes, squares: Codes, users: int
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


def group_rows(domain: Domain, rows: Codes) -> Codes:
    """Sums of whole numbers over the values of each group, for each row."""
    if isinstance(domain, CategoryDomain):
        return np.add.reduceat(rows, np.cumsum((0, *domain.sizes[:-1])), axis=1)
    assert isinstance(domain, ScaleDomain)  # noqa: S101 - there are two kinds of domain
    return np.asarray(rows @ domain.members().T.astype(np.int64))


def group_weights(domain: Domain) -> Array:
    """Row for each group: 1 for its values."""
    if isinstance(domain, ScaleDomain):
        return domain.members().astype(np.float64)
    assert isinstance(domain, CategoryDomain)  # noqa: S101 - there are two kinds of domain
    return np.asarray(domain.category_of == np.arange(len(domain.sizes))[:, None], dtype=np.float64)


def pure_value_spread(domain: Domain, p: float, q: float) -> ValueSpread:
    """Exact variances of the values' estimates."""
    parts = len(domain.sizes) if isinstance(domain, CategoryDomain) else 1
    right, wrong = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
    return ValueSpread(
        domain=domain,
        own=np.full(parts, right),
        same=np.full(parts, wrong),
        other=np.full(parts, wrong),
        reach=np.full(domain.count, max(1 - q, p) / (p - q)),
    )
