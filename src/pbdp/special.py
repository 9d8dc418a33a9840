"""Special functions: SciPy's, loaded when the first of them is called, and one that is worth having without.

Importing SciPy takes longer than making a simple plan, and a simple plan needs none of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.special import *  # noqa: F403 - whatever is asked for, see __getattr__

# Coefficients of log Γ(2 + x) / x for 0 <= x < 1: numerator, and denominator without its leading 1.
_ABOVE = (
    -1.37825152569120859100e3,
    -3.88016315134637840924e4,
    -3.31612992738871184744e5,
    -1.16237097492762307383e6,
    -1.72173700820839662146e6,
    -8.53555664245765465627e5,
)
_BELOW = (
    -3.51815701436523470549e2,
    -1.70642106651881159223e4,
    -2.20528590553854454839e5,
    -1.13933444367982507207e6,
    -2.53252307177582951285e6,
    -2.01889141433532773231e6,
)


def __getattr__(name: str) -> Any:
    """SciPy's function of this name."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scipy import special

    globals()[name] = getattr(special, name)
    return globals()[name]


def log_gamma(x: float) -> float:
    """log Γ(x) for 1 <= x <= 2, with an absolute error below 4e-16.

    log Γ(1 + x) - log x, the first by the rational function of Cephes (Moshier 1989): see SciPy's `gammaln`.
    """
    rest = x - 1.0
    if rest == 1.0:
        return 0.0
    above = _ABOVE[0]
    for coefficient in _ABOVE[1:]:
        above = above * rest + coefficient
    below = rest + _BELOW[0]
    for coefficient in _BELOW[1:]:
        below = below * rest + coefficient
    return math.log(1.0 / x) + rest * above / below
