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
from pbdp.local.spread import DenseSpread, GroupSpread, Spread, ValueSpread, unknowable
from pbdp.noise.kernel import Array

# Below this share of own, own - near is only what rounding left: values cannot be told apart.
LEAST_DIFFERENCE = 2.0**-30
LARGEST_CONDITION = 1e10
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
        most = np.abs(parts.group_coefficients()).max(axis=0) + 1
        return GroupSpread(domain=domain, inside=inside, outside=outside, reach=most)
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
        reach=(np.abs((mine, same, other)).max(axis=0) + 1)[domain.category_of],
    )


def response_estimates(
    domain: Domain, shares: Shares, counts: Codes, users: int, *, values: bool
) -> tuple[Array, Array]:
    """Unbiased estimates of the people in each group, and unbiased estimates of their variances."""
    if isinstance(domain, ScaleDomain):
        inverse = _checked_inverse(domain, shares, values=values)
        found = inverse @ counts
        return found, np.maximum(inverse**2 @ counts - found, 0.0)
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


def _inverse(domain: ScaleDomain, shares: Shares, *, values: bool) -> Array | None:
    """Coefficients L[group, report], or None where the matrix has no usable inverse."""
    if domain.count > LARGEST_SCALE:
        raise CannotCertifyError(f"Scales have at most {LARGEST_SCALE:,} values. Use categories.")
    transposed = _matrix(domain, shares).T
    if np.linalg.cond(transposed) > LARGEST_CONDITION:
        return None
    inverse: Array = np.asarray(np.linalg.inv(transposed), dtype=np.float64)
    return inverse if values else np.asarray(domain.members() @ inverse)


def _checked_inverse(domain: ScaleDomain, shares: Shares, *, values: bool) -> Array:
    inverse = _inverse(domain, shares, values=values)
    if inverse is None:
        raise CannotCertifyError(NOT_KNOWABLE)
    return inverse


def _scale_spread(domain: ScaleDomain, shares: Shares, *, values: bool) -> Spread:
    inverse = _inverse(domain, shares, values=values)
    if inverse is None:
        return unknowable(domain.count, domain.count)
    members = np.eye(domain.count) if values else domain.members().astype(np.float64)
    variances = inverse**2 @ _matrix(domain, shares).T - members
    return DenseSpread(matrix=np.maximum(variances, 0.0), reach=np.abs(inverse).max(axis=1) + 1)


def pure_estimates(p: float, q: float, supports: npt.NDArray[np.int64], users: int) -> tuple[Array, Array]:
    """Unbiased estimates of how many hold each value, and of their variances."""
    found: Array = np.asarray((supports - users * q) / (p - q), dtype=np.float64)
    variances = (found * (p * (1 - p) - q * (1 - q)) + users * (q * (1 - q))) / (p - q) ** 2
    return found, np.asarray(variances, dtype=np.float64)


def pure_value_spread(domain: Domain, p: float, q: float) -> ValueSpread:
    """Exact variances of the values' estimates."""
    parts = len(domain.sizes) if isinstance(domain, CategoryDomain) else 1
    right, wrong = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2
    return ValueSpread(
        domain=domain,
        own=np.full(parts, right),
        same=np.full(parts, wrong),
        other=np.full(parts, wrong),
        reach=np.full(domain.count, max(1 - q, q) / (p - q) + 1),
    )
