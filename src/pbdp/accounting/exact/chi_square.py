"""Chi-square laws, of the squared length of a Gaussian vector: CDF, survival, density and their errors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pbdp import special
from pbdp.noise.kernel import Array


def cdf_error(value: npt.ArrayLike) -> Array:
    """Relative error of SciPy's incomplete gamma functions where they have this value.

    It grows with the logarithm: the largest seen were 2e-15 above 0.1, 2e-13 at 1e-10 and 1e-11 at 1e-240.
    """
    return 1e-13 - 5e-14 * np.log(np.maximum(np.asarray(value, dtype=np.float64), 1e-300))


def cdf(nu: int, t: Array) -> Array:
    """F_ν(t), zero below zero."""
    if nu == 0:
        return np.where(t >= 0, 1.0, 0.0)
    return np.asarray(special.gammainc(nu / 2, np.maximum(t, 0.0) / 2))


def survival(nu: int, t: Array) -> Array:
    """1 - F_ν(t), with its own digits."""
    return 1 - cdf(0, t) if nu == 0 else np.asarray(special.gammaincc(nu / 2, np.maximum(t, 0.0) / 2))


def density(nu: int, t: Array) -> Array:
    """F_ν'(t) for t > 0."""
    if nu == 0:
        return np.zeros_like(t)
    return np.asarray(np.exp(special.xlogy(nu / 2 - 1, t / 2) - t / 2 - special.gammaln(nu / 2)) / 2)


def orders(nu: int, t: Array) -> tuple[Array, Array, Array, Array]:
    """F_ν, F_(ν-2), F_(ν-4) for t > 0, each monotone in t, and the size of what they were added up from.

    F_(ν-2) = F_ν + 2 F_ν', and F_(ν-2)' = F_ν' (ν-2)/t, of one sign.
    """
    rate = density(nu, t)
    lower_rate = rate * (nu - 2) / t
    zeroth = cdf(nu, t)
    second = zeroth + 2 * rate
    return zeroth, second, second + 2 * lower_rate, second + 2 * np.abs(lower_rate)
