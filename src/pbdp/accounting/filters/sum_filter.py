"""The sum filter: epsilons and deltas add up, also when every step depends on the answers so far.

**Theorem** (Rogers, Roth, Ullman and Vadhan 2016, section 3). If every round is (e_i, d_i)-DP given its past,
and on every path the sums of e_i and of d_i are at most epsilon and delta, the transcript is
(epsilon, delta)-DP.

    Proof. Seen from the last round back: for every function f of the transcript with values in [0, 1] and any
    past with budgets E and D left, E_P f <= e^E·E_Q f + D. At the end E, D >= 0. For a round with (e, d) let
    g_P(y), g_Q(y) be the two means of f after the outcome y. By induction g_P <= e^(E-e)·g_Q + D - d, and
    g_P <= 1, so g_P <= h + D - d with h = min(1, e^(E-e)·g_Q). As h has values in [0, 1], its mean under
    P_i is at most e^e times that under Q_i, plus d. Together E_P f <= e^e·e^(E-e)·E_Q f + d + D - d.

With delta = 0 only rounds with d_i = 0 fit: pure DP. A finite table that moves with the answer has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pbdp.accounting.filters.amounts import NATS, PROBABILITIES, allowed, charged, written
from pbdp.digits import rounded_up
from pbdp.domains import fraction, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class SumFilter:
    """Limits and costs in whole numbers for (epsilon, delta), as written in decimals."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        fraction("delta", self.delta)

    def limits(self) -> dict[str, int]:
        """What may be spent in all."""
        return {
            "epsilon": allowed(written(self.epsilon), NATS),
            "delta": allowed(written(self.delta), PROBABILITIES),
        }

    def cost(self, epsilon: Fraction | float, delta: Fraction | float) -> dict[str, int]:
        """What a mechanism that is (epsilon, delta)-DP costs."""
        return {"epsilon": charged(epsilon, NATS), "delta": charged(delta, PROBABILITIES)}

    def describe(self) -> str:
        """Which guarantee applies, and why."""
        adaptive = (
            "Epsilons and deltas add up, also when each release is chosen because of earlier answers "
            "(Rogers, Roth, Ullman and Vadhan 2016)."
        )
        if self.delta == 0:
            return (
                f"Pure sum filter: all releases together are {rounded_up(self.epsilon)}-DP, with delta 0. "
                f"{adaptive} Only mechanisms with delta 0 fit, such as local randomizers; noise that is "
                "added from a finite table never has one."
            )
        return (
            "Sum filter: however you choose releases, even after seeing answers, all of them together are "
            f"({rounded_up(self.epsilon)}, {self.delta:g})-DP. {adaptive} For many releases a Rényi filter "
            "leaves more room."
        )
