"""The Rényi loss of finitely many losses with masses, from above, and which losses are better left out.

For a measure with mass p_i at loss l_i (so q_i = p_i·e^(-l_i) under the second law) and an order a > 1

    sum of p^a q^(1-a) = sum of p_i e^((a-1)·l_i) = e^((a-1)·r),

and r is the Rényi loss; the masses may add up to less than one.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pbdp.noise.kernel import Array

UNIT = 2.0**-53
# Relative error of an exponent (a-1)·l: a quotient of two rounded numbers, a logarithm and a product.
_EXPONENT = 24 * UNIT
# Above it the sum is taken relative to its largest term, which costs at most this much in the logarithm.
_LARGEST_EXPONENT = 300.0
_RELATIVE_TO_LARGEST = 1e-12


def renyi_upper(losses: Array, masses: Array, surplus: float, order: float) -> float:
    """r, rounded up, and zero at least: a filter never gives anything back.

    `surplus` is the total of the masses less one. With it the sum is 1 + surplus + sum of p·(e^x - 1), whose
    terms are as small as the losses: a tiny loss keeps its digits. Each loss may be off by 8 units in the
    last place and each mass by one; (n + 64) units bound the rounding of n terms and of their sum.
    """
    if not len(losses):
        return 0.0
    rate = order - 1
    exponents = rate * losses
    exponents += _EXPONENT * np.abs(exponents)
    top = float(np.max(exponents))
    error = (len(losses) + 64) * UNIT
    if top < _LARGEST_EXPONENT:
        terms = masses * np.expm1(exponents)
        size = float(np.sum(np.abs(terms)))
        excess = float(np.sum(terms)) + surplus + error * size * 1.01 + 8 * UNIT * (size + abs(surplus))
        logarithm = math.log1p(max(excess, 0.0))
    else:
        scaled = float(np.sum(masses * np.exp(exponents - top)))
        logarithm = top + math.log(scaled) + error + _RELATIVE_TO_LARGEST
    return max(logarithm, 0.0) / rate * (1 + 16 * UNIT)


def worth_keeping(
    losses: Array, masses: Array, outside: float, order: float, exchange: float
) -> npt.NDArray[np.intp]:
    """Indices of the losses to keep, so that  r + exchange·(mass left out)  is least.

    Largest losses go first: each of them takes the most from r for its mass. Any choice is valid; this one
    is made in floating point. `outside` is mass that is left out anyway.
    """
    order_of_losses = np.argsort(losses, kind="stable")
    if math.isinf(exchange) or not len(losses):
        return order_of_losses
    kept = masses[order_of_losses]
    with np.errstate(divide="ignore"):
        terms = np.log(kept) + (order - 1) * losses[order_of_losses]
    moments = np.logaddexp.accumulate(terms)
    left_out = np.zeros(len(kept))
    left_out[:-1] = np.cumsum(kept[:0:-1])[::-1]
    price = np.maximum(moments, 0.0) / (order - 1) + exchange * (outside + left_out)
    last = len(price) - 1 - int(np.argmin(price[::-1]))
    return order_of_losses[: last + 1]
