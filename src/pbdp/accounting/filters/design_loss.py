"""The loss of any design, which a Rényi filter charges for it.

- Noise that only moves with the answer: that of the table of integer weights itself.
- Noise that changes with the answer: that of the exact law over all neighboring answers, with the distance of
  the tables from it, or of one dominating pair for all of them (`changing`).

**The table.** A finite table that moves with the answer has outputs that its neighbor cannot produce, so its
Rényi divergence is infinite, though the mass of those outputs is some 1e-19. It has an *approximate* one,
apart from the outputs that are counted as missing:

    **Definition.** P has the loss (r, m) of order a > 1 against Q if there is a measure P~ <= P with
    P~(all) >= 1 - m and the integral of p~^a q^(1-a) at most e^((a-1)·r).                               (1)

P~ is P without the outputs that Q lacks, and without others whose loss is so large that they are cheaper
as missing mass: at the ends of a table weights are 1, 2, 3, ... units of 2^-62, where the loss is that of
rounding, not of the law. Both figures come from the integer weights: m is exact, r is rounded up.

**Over all neighbors.** A table that never rises away from its mode needs the largest shift t only:

    Let P_s be the table and Q_s the table moved by s, 0 < s < t. By (1) of `exact.all_neighbors`
    delta_eps(P_s, Q_s) <= delta_eps(P_t, Q_t) for eps >= 0, and the same with the laws exchanged (a negative
    shift). Since delta_-eps(P, Q) = 1 - e^-eps + e^-eps·delta_eps(Q, P), it holds for every real eps. By
    Blackwell (1953) there is a Markov kernel K with K P_t = P_s and K Q_t = Q_s. Take the P~ of (1) for
    shift t. Then K P~ <= K P_t = P_s, with the same total. The function u^a v^(1-a) is convex and
    homogeneous, hence phi(sum of u_i, sum of v_i) <= sum of phi(u_i, v_i); with u_i = K(z|y_i) p~(y_i) and
    v_i = K(z|y_i) q_t(y_i), summed over z, the integral of (1) does not grow. So (r, m) serves shift s.  (2)

The last lines show that *any* processing of the output keeps (r, m): rounding, clamping, publishing on
another scale. Other tables are looked at for every shift, and the larger r and the larger m are taken.

**Sums.** For a measure with mass p_i at loss l_i (so q_i = p_i·e^(-l_i) under the second law) and a > 1

    sum of p^a q^(1-a) = sum of p_i e^((a-1)·l_i) = e^((a-1)·r),

and r is the Rényi loss; the masses may add up to less than one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pbdp.accounting.exact.tables import table_shifts
from pbdp.domains import above_one, whole
from pbdp.errors import InputError
from pbdp.mechanism.design import Design
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Array

Weights = npt.NDArray[np.int64]
UNIT = 2.0**-53
# Relative error of an exponent (a-1)·l: a quotient of two rounded numbers, a logarithm and a product.
_EXPONENT = 24 * UNIT
# Above it the sum is taken relative to its largest term, which costs at most this much in the logarithm.
_LARGEST_EXPONENT = 300.0
_RELATIVE_TO_LARGEST = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiLoss:
    """The loss (r, m) of one release at one order, over all neighbors in both directions.

    `distance` bounds the total-variation distance, for either neighbor, between the law that (r, m) was
    found for and the one that is drawn from; zero if they are the same.
    """

    renyi_upper: float
    missing_upper: Fraction
    distance: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.renyi_upper < math.inf and self.missing_upper >= 0 and self.distance >= 0):
            raise InputError("loss", "finite and not negative", self)


def approximate_renyi(
    table: WeightTable, sensitivity: int, order: float, exchange: float = math.inf
) -> RenyiLoss:
    """The loss of a table that moves with the answer, by at most `sensitivity` steps between neighbors.

    Outputs are given up as missing as long as that lowers  r + exchange·m ; by default only those that the
    neighbor cannot produce.
    """
    whole("sensitivity", sensitivity)
    above_one("order", order)
    found = [
        _of_shift(table.weights, shift, order, exchange)
        for shift in table_shifts(table, sensitivity, table.is_symmetric)
    ]
    return RenyiLoss(
        renyi_upper=max(renyi for renyi, _ in found),
        missing_upper=Fraction(max(missing for _, missing in found), TOTAL),
    )


def _of_shift(weights: Weights, shift: int, order: float, exchange: float) -> tuple[float, int]:
    """r and the missing weight of a table against its copy moved by `shift`."""
    first, second = _overlap(weights, shift)
    outside = TOTAL - int(np.sum(first))
    losses, masses = _losses(first, second), first / float(TOTAL)
    kept = worth_keeping(losses, masses, outside / TOTAL, order, exchange)
    missing = TOTAL - int(np.sum(first[kept]))
    return renyi_upper(losses[kept], masses[kept], -(missing / TOTAL), order), missing


def _overlap(weights: Weights, shift: int) -> tuple[Weights, Weights]:
    """The weights of the table and of its moved copy where both have some."""
    if abs(shift) >= len(weights):
        return weights[:0], weights[:0]
    first, second = (weights[shift:], weights[:-shift]) if shift > 0 else (weights[:shift], weights[-shift:])
    both = (first > 0) & (second > 0)
    return first[both], second[both]


def _losses(first: Weights, second: Weights) -> Array:
    """log(first / second) to 8 units in the last place, small losses too: differences are whole numbers."""
    change = (first - second) / np.minimum(first, second).astype(np.float64)
    return np.asarray(np.copysign(np.log1p(np.abs(change)), change))


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


@lru_cache(maxsize=1024)
def design_loss(design: Design, sensitivity: int, order: float, exchange: float) -> RenyiLoss:
    """The loss of one number at one order; `exchange` as in `approximate_renyi`."""
    if design.mechanism.follows_answer:
        return approximate_renyi(design.table_at(0.0), sensitivity, order, exchange)
    # loaded for such noise only: exact accounting over all answers is large
    from pbdp.accounting.filters.changing import changing_loss

    return changing_loss(design, sensitivity, order, exchange)
