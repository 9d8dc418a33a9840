"""Privacy figures on the whole numbers by plain enumeration: the judge that shares no code with the accused.

A law is a row of log-masses at the noise values of `noise_values(reach)`; rows are designs, or answers of one
design. Masses come from the textbook formulas, are boosted by definition (1 inside the region, 1 - q outside,
divided by their sum) and compared output by output for every shift and both directions.

Everything is in `np.longdouble`. Where that has 64 bits a figure is off by less than 1e-17: a mass by
|log mass| roundings, and sums by a few more. `ROUNDING` bounds it with room to spare, and is the only
allowance in any comparison. Noise values beyond the reach are left out; callers choose it such that their
mass is below 1e-20, and leaving outputs out can only lower a hockey-stick or a Rényi sum.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Real = npt.NDArray[np.longdouble]
Figure = Callable[[Real, Real], Real]

# Room on either side of the window, so that a shifted law is known at every output counted.
PAD = 8
ROUNDING = 256 * float(np.finfo(np.longdouble).eps)


def real(value: npt.ArrayLike) -> Real:
    """`value` in extended precision, without a change."""
    return np.asarray(value, dtype=np.longdouble)


def noise_values(reach: int) -> Real:
    """The whole numbers within `reach`, and `PAD` more on either side."""
    return real(np.arange(-reach - PAD, reach + PAD + 1))


# ------------------------------------------------------------------------------------------ kernels
# Logs of weights, up to a constant. Parameters may be columns, one row a design.


def gaussian(n: Real, sigma: npt.ArrayLike) -> Real:
    return real(-((n / real(sigma)) ** 2) / 2)


def laplace(n: Real, scale: npt.ArrayLike) -> Real:
    return -np.abs(n) / real(scale)


def huber(n: Real, sigma: npt.ArrayLike, knee: npt.ArrayLike) -> Real:
    x, c, variance = np.abs(n), real(knee), real(sigma) ** 2
    return np.where(x <= c, -(x**2) / (2 * variance), -(c * x - c**2 / 2) / variance)


def staircase(n: Real, loss: npt.ArrayLike, width: npt.ArrayLike, center: npt.ArrayLike) -> Real:
    steps = np.ceil((np.abs(n) - real(center)) / real(width))
    return real(-real(loss) * np.maximum(steps, 0))


def binomial(n: Real, trials: int) -> Real:
    """log C(trials, trials/2 + n), as the product of the ratios of neighboring coefficients."""
    half = trials // 2
    k = np.arange(half).astype(np.longdouble)
    falls = np.concatenate([real([0.0]), np.cumsum(np.log((half - k) / (half + k + 1)))])
    x = np.abs(n).astype(int)
    return np.where(x <= half, falls[np.minimum(x, half)], real(-np.inf))


def table(n: Real, probabilities: npt.ArrayLike, start: int) -> Real:
    weights = real(probabilities)
    index = n.astype(int) - start
    inside = (index >= 0) & (index < len(weights))
    with np.errstate(divide="ignore"):
        return np.log(np.where(inside, weights[np.clip(index, 0, len(weights) - 1)], real(0)))


# --------------------------------------------------------------------------------------------- laws


def log_sum(terms: Real) -> Real:
    """log of the sum of exp along the last axis."""
    top = np.max(terms, axis=-1, keepdims=True)
    return np.asarray(np.log(np.sum(np.exp(terms - top), axis=-1)) + top[..., 0])


def normalized(log_weights: Real) -> Real:
    """Weights divided by their sum."""
    return log_weights - log_sum(log_weights)[..., None]


def inside(n: Real, below: npt.ArrayLike, above: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Which noise values meet the requirement -below <= n <= above; one row an entry of the offsets."""
    low, high = np.atleast_1d(np.asarray(below, float)), np.atleast_1d(np.asarray(above, float))
    return np.asarray((n >= -low[:, None]) & (n <= high[:, None]))


def boosted(log_mass: Real, n: Real, below: npt.ArrayLike, above: npt.ArrayLike, boost: float) -> Real:
    """Log-masses of the boosted law: one row an entry of the offsets."""
    with np.errstate(divide="ignore"):
        log_rest = np.log(1 - np.longdouble(boost))
    return normalized(log_mass + np.where(inside(n, below, above), real(0), log_rest))


def boost_of(log_mass: Real, n: Real, below: float, above: float, confidence: float) -> float:
    """q = max(0, (rho - p) / (rho (1 - p))), p the kernel's mass in the region."""
    p = float(np.sum(np.exp(log_mass), where=inside(n, below, above)[0]))
    return max(0.0, (confidence - p) / (confidence * (1 - p))) if p < confidence else 0.0


# ------------------------------------------------------------------------------------------ figures


def hockey_stick(epsilon: float) -> Figure:
    """Sum over outputs of max(0, first - e^epsilon second), from masses."""
    growth = np.exp(np.longdouble(epsilon))

    def of(first: Real, second: Real) -> Real:
        gain = first - growth * second
        return np.asarray(np.sum(np.maximum(gain, 0, out=gain), axis=-1))

    return of


def renyi(order: float) -> Figure:
    """log of the sum of first^order second^(1-order), over order - 1, from log-masses."""
    alpha = np.longdouble(order)

    def of(first: Real, second: Real) -> Real:
        return log_sum(alpha * first + (1 - alpha) * second) / (alpha - 1)

    return of


def largest_loss(first: Real, second: Real) -> Real:
    """The largest log-ratio over the outputs that the first law has, from log-masses."""
    with np.errstate(invalid="ignore"):
        loss = np.where(np.isneginf(first), -np.inf, first - second)
    return np.asarray(np.max(loss, axis=-1))


def counted(laws: Real, shift: int) -> Real:
    """The laws at noise n - shift, for the n within reach."""
    stop = laws.shape[-1] - PAD
    return laws[..., PAD - shift : stop - shift]


def worst_shift(laws: Real, sensitivity: npt.NDArray[np.int_], figure: Figure) -> Real:
    """Largest figure of every row (a law that moves with the answer) over all whole shifts, both ways."""
    worst = np.full(len(laws), -np.inf, dtype=np.longdouble)
    for size in range(1, int(sensitivity.max()) + 1):
        rows = np.flatnonzero(sensitivity >= size)
        kept = laws if len(rows) == len(laws) else laws[rows]
        here = counted(kept, 0)
        for shift in (size, -size):
            worst[rows] = np.maximum(worst[rows], figure(here, counted(kept, shift)))
    return worst


def worst_pair(laws: Real, sensitivity: int, figure: Figure) -> float:
    """Largest figure over all pairs of answers at most `sensitivity` apart; rows are their laws."""
    worst = -np.inf
    for shift in range(1, min(sensitivity, len(laws) - 1) + 1):
        lower, upper = laws[:-shift], laws[shift:]
        worst = max(
            worst,
            float(np.max(figure(counted(lower, 0), counted(upper, shift)))),
            float(np.max(figure(counted(upper, 0), counted(lower, -shift)))),
        )
    return worst
