"""The Rényi filter: spending chosen as one goes, at one order that is fixed before the first answer.

**Setting.** Round after round a mechanism is chosen from the answers so far. For a pair of neighboring
datasets let P and Q be the laws of the whole transcript, P_i and Q_i those of round i given its past. Every
round has a loss (r_i, m_i) of order a (see `design_loss`) that depends on the past only; some rounds
are accounted for by a law Q'_i other than the one that is drawn from, within a distance v_i of it (and
the same for P_i). Round i costs r_i and c_i = m_i + e^eps·v_i, and on every path

    sum of r_i <= R,      sum of c_i <= M.

**Theorem** (after Feldman and Zrnic 2021, who have m = v = 0). With R = r(a) of (2) at epsilon and
delta - 2M, the transcript is (epsilon, delta)-DP.

    Proof. Where the drawn law is the accounted one take the P~_i of the loss; elsewhere the smaller of the
    P~_i of the accounted law and the drawn density, which lacks at most m_i + v_i <= c_i. Let P~ be the
    product of the P~_i along the path; P~ <= P. Let Q' be the law of transcripts with Q'_i for Q_i.
    (a) Moment. Seen from the last round back, the integral of p~^a q'^(1-a) over what follows a given past is
        at most e^((a-1)·R'), R' the budget left there: it is 1 at the end, where R' >= 0, and a round
        multiplies the bound e^((a-1)·(R' - r_i)) for every outcome by at most e^((a-1)·r_i).
    (b) Missing. In the same way 1 - P~(all) is at most the M' left: a round adds at most c_i to the largest
        of the values M' - c_i that follow.
    (c) Distance. The distance of Q' from Q is at most the largest sum of v_i on a path, so e^eps times it is
        at most the largest sum of c_i: M again. (Not the same M as in (b): the two sums may be largest on
        different paths, one of them likely under P, the other under Q.)
    By (a) and the conversion, P~(A) <= e^eps Q'(A) + delta - 2M for all A; by (b) P(A) <= P~(A) + M; by (c)
    e^eps Q'(A) <= e^eps Q(A) + M. Hence P(A) <= e^eps Q(A) + delta.

The order must not be picked after the fact: in (a) the budget left is that of one and the same order
in all rounds. A filter made of privacy loss distributions would need more than that, so there is none here.

**Conversion** (Canonne, Kamath and Steinke 2020, proposition 12), for measures of any total. Let p~ be the
density of P~, q that of Q, l = log(p~/q), and the integral of p~^a q^(1-a) at most e^((a-1)·r). Then

    P~(A) - e^eps Q(A) <= integral of (p~ - e^eps q)+ = integral over P~ of (1 - e^(eps - l))+
                       <= e^((a-1)·(r - eps)) · (1/a)·(1 - 1/a)^(a-1),                                   (1)

because (1 - e^-x)+ <= c·e^((a-1)·x) for every real x, with c = (1/a)·(1 - 1/a)^(a-1), the largest value of
(1 - e^-x)·e^(-(a-1)·x) (at e^-x = 1 - 1/a). Nowhere does the total of P~ enter. Setting the right side of
(1) to delta gives the largest budget

    r(a) = epsilon + log(a/(a-1)) + (log delta + log a)/(a-1).                                           (2)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.accounting.filters.amounts import NATS, PROBABILITIES, allowed, charged, written
from pbdp.accounting.filters.design_loss import RenyiLoss
from pbdp.digits import rounded_up
from pbdp.domains import above_one, positive, probability
from pbdp.errors import InputError

# The share of delta kept for missing mass (M over delta). The theorem takes it twice.
MISSING_SHARE = Fraction(1, 100)
# Beyond it e^epsilon is no number, and an epsilon promises nothing long before.
LARGEST_EPSILON = 700.0
UNIT = 2.0**-53
# Rounding of (2): every term is within a few units of its size, the logarithm of delta within one of one.
_ROUNDING = 16 * UNIT
# Orders among which the best is looked for: the step is 0.5 % of a - 1.
SMALLEST_EXCESS, LARGEST_EXCESS = 1e-3, 1e9
_POINTS = 5600


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiFilter:
    """Limits and costs in whole numbers for (epsilon, delta), as written in decimals, at a fixed order."""

    epsilon: float
    delta: float
    order: float

    def __post_init__(self) -> None:
        _check(self.epsilon, self.delta)
        above_one("order", self.order)
        if self.order > LARGEST_EXCESS + 1:
            raise InputError("order", f"at most {LARGEST_EXCESS:g}", f"{self.order:g}", self._remedy())
        if self.renyi_limit <= 0:
            value = f"{self.order:g}, at which nothing can be spent"
            raise InputError(
                "order", f"one that leaves room in epsilon {self.epsilon:g}", value, self._remedy()
            )

    @classmethod
    def with_best_order(cls, epsilon: float, delta: float) -> RenyiFilter:
        """The filter whose order leaves the most room for Gaussian noise, and for noise that is nearly so."""
        _check(epsilon, delta)
        return cls(epsilon=epsilon, delta=delta, order=best_order(written(epsilon), _for_losses(delta)))

    @property
    def renyi_limit(self) -> int:
        """R in units of 1e-12, rounded down."""
        return allowed(renyi_budget(written(self.epsilon), _for_losses(self.delta), self.order), NATS)

    @property
    def missing_limit(self) -> int:
        """M in units of 1e-30, rounded down."""
        return allowed(written(self.delta) * MISSING_SHARE, PROBABILITIES)

    @property
    def exchange(self) -> float:
        """What a probability is worth in nats, so that both limits run out together."""
        return (self.renyi_limit / NATS) / max(self.missing_limit / PROBABILITIES, 1e-300)

    def limits(self) -> dict[str, int]:
        """What may be spent in all."""
        return {"renyi": self.renyi_limit, "missing": self.missing_limit}

    def cost(self, loss: RenyiLoss, releases: int = 1) -> dict[str, int]:
        """What `releases` numbers with this loss each cost together, rounded up once."""
        # e^epsilon, a little more than the truth
        growth = math.exp(self.epsilon) * (1 + 2.0**-40)
        missing = loss.missing_upper + Fraction(growth) * Fraction(loss.distance)
        return {
            "renyi": charged(releases * Fraction(loss.renyi_upper), NATS),
            "missing": charged(releases * missing, PROBABILITIES),
        }

    def describe(self) -> str:
        """Which guarantee applies, and why."""
        return (
            f"Rényi filter at order {self.order:g}: however you choose releases, even after seeing answers, "
            f"all of them together are ({rounded_up(self.epsilon)}, {self.delta:g})-DP. The Rényi losses of "
            "adaptively chosen releases add up as long as the order was fixed before the first answer "
            "(Feldman and Zrnic 2021); picking the best order afterwards, or composing privacy loss "
            "distributions, would be tighter but proves nothing here. A small part of delta "
            f"({float(MISSING_SHARE):.0%}) is reserved for near-impossible outputs."
        )

    def _remedy(self) -> str:
        order = best_order(written(self.epsilon), _for_losses(self.delta))
        return f"Leave it out, or use {order:g}, which leaves Gaussian noise the most room."


def _check(epsilon: float, delta: float) -> None:
    positive("epsilon", epsilon)
    if epsilon > LARGEST_EPSILON:
        raise InputError("epsilon", f"at most {LARGEST_EPSILON:g}", f"{epsilon:g}", "3 is a common limit.")
    probability("delta", delta, "It should be far below one over the number of people; 1e-6, say.")


def _for_losses(delta: float) -> Fraction:
    """What is left of delta for the conversion."""
    return written(delta) * (1 - 2 * MISSING_SHARE)


def renyi_budget(epsilon: Fraction, delta: Fraction, order: float) -> float:
    """r(a) of (2), rounded down; it may be negative, which leaves nothing to spend."""
    excess = order - 1
    terms = (
        float(epsilon),
        math.log1p(1 / excess),
        math.log(float(delta)) / excess,
        math.log(order) / excess,
    )
    size = sum(abs(term) for term in terms) + 1 / excess
    return math.fsum(terms) - _ROUNDING * size


def best_order(epsilon: Fraction, delta: Fraction) -> float:
    """The order that leaves the most room for Gaussian noise, to four digits.

    A Gaussian release costs a·rho at order a, so r(a)/a is the rho that fits; its largest value on a grid.
    """
    excess = np.geomspace(SMALLEST_EXCESS, LARGEST_EXCESS, _POINTS)
    log_delta = math.log(float(delta))
    budget = float(epsilon) + np.log1p(1 / excess) + (log_delta + np.log1p(excess)) / excess
    best = float(excess[int(np.argmax(budget / (1 + excess)))])
    return 1 + float(f"{best:.3e}")
