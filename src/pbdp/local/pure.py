"""Pure protocols (Wang et al. 2017): a report supports each value v with chance p if v is true and q if not.

With s_v reports that support v among N, f_v = (s_v - N q)/(p - q) is unbiased, with the variance
    (f_v p (1 - p) + (N - f_v) q (1 - q)) / (p - q)^2,
exact for independent people (theorem 2 there: N q (1 - q)/(p - q)^2 + f_v (1 - p - q)/(p - q)).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pbdp.local.domain import CategoryDomain, Domain
from pbdp.local.spread import ValueSpread
from pbdp.noise.kernel import Array


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
