"""What a plan claims of the privacy loss of one number, and what two probabilities prove against it.

Let P and P' be the laws of the output at two neighboring answers, and A a set of outputs.

**At a delta.** (epsilon, delta)-DP says P(A) <= e^epsilon P'(A) + delta, so epsilon is at least
log((P(A) - delta)/P'(A)), which falls when P(A) is replaced by something smaller, P'(A) by something larger.

**Rényi.** Divergences do not grow when the output is reduced to "in A or not" (data processing, van Erven and
Harremoës 2014, theorem 9). With p = P(A) > q = P'(A) and order a > 1 the loss is therefore at least

    log(h)/(a - 1),    h = p^a q^(1-a) + (1-p)^a (1-q)^(1-a),

and dh/dp = a((p/q)^(a-1) - ((1-p)/(1-q))^(a-1)) > 0, dh/dq = (1-a)((p/q)^a - ((1-p)/(1-q))^a) < 0, so it too
falls when p becomes smaller and q larger while p > q. The figure of a Rényi plan is for the law before it is
rounded to a table; probabilities of the two differ by at most the table's error, which is taken off p and
added to q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.accounting.exact.tables import table_epsilon
from pbdp.digits import delta_text, order_text
from pbdp.noise.kernel import Array
from pbdp.planning.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One number loses at most `epsilon`, at `delta` or at the Rényi `order`.

    `releases` numbers lose `total` together; the audit looks at one of them.
    """

    epsilon: float
    total: float
    delta: float | None
    order: float | None
    table_error: float
    releases: int

    def loss_at_least(self, p: npt.ArrayLike, q: npt.ArrayLike) -> Array:
        """The least epsilon with which P(A) >= p and P'(A) <= q can both be; nil where they prove nothing."""
        likely, unlikely = np.broadcast_arrays(
            np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
        )
        if self.order is None:
            return _approximate(likely - (self.delta or 0.0), unlikely)
        return _renyi(likely - self.table_error, unlikely + self.table_error, self.order)

    def describe(self) -> str:
        """What is measured."""
        return (
            f"loss at delta {delta_text(self.delta)}"
            if self.order is None
            else f"Rényi loss at order {order_text(self.order)}"
        )


def claim_of(plan: Plan, together: int | None = None) -> Claim:
    """The claim for one number, or for one coordinate of a vector.

    It is one of `together` numbers, those of the plan if left out: the coordinates that one person changes
    are so many releases, each of which may move by all of the sensitivity. At a delta one alone loses what
    its table says at the same delta (the others cannot lower the loss, so that is at most the total); Rényi
    losses add up, so one has its equal share.
    """
    design, epsilon = plan.mechanism, plan.epsilon
    releases = plan.releases if together is None else together
    if releases > 1 and plan.delta is not None:
        if design.follows_answer:
            steps = plan.grid.sensitivity_in_steps(plan.requirement.sensitivity)
            epsilon = min(epsilon, table_epsilon(design.table_at(0.0), steps, plan.delta).upper)
    elif releases > 1:
        epsilon /= releases
    return Claim(
        epsilon=epsilon,
        total=plan.epsilon,
        delta=plan.delta,
        order=plan.rdp_order,
        table_error=0.0 if plan.rdp_order is None else plan.certificate.table_error,
        releases=releases,
    )


def _approximate(p: Array, q: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > q, np.log(p / q), 0.0)


def _renyi(p: Array, q: Array, order: float) -> Array:
    proves = (p > q) & (p <= 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = order * np.log(p) + (1 - order) * np.log(q)
        # nobody outside A under the first law adds nothing
        outside = np.where(p < 1, order * np.log1p(-p) + (1 - order) * np.log1p(-q), -np.inf)
        return np.where(proves, np.logaddexp(inside, outside) / (order - 1), 0.0)
