"""The sum rule: plans chosen as one goes, each charged an epsilon and a delta that are certified for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from pbdp.accounting.filters.amounts import NATS, PROBABILITIES, shown, written
from pbdp.accounting.filters.sum_filter import SumFilter
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.design import Design
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.certificate import noise_delta
from pbdp.planning.plan import Plan
from pbdp.planning.pricing.priced import Claim, Priced
from pbdp.planning.pricing.rule import Amounts, Record, same_relation
from pbdp.planning.together.joint import noise_epsilon_at

# A delta this much smaller is below the number it is written as: n plans with an nth of the delta fit.
_BELOW_WRITTEN = 1 - 2.0**-50
# Shares of the budget's delta that a table is priced at besides its own delta; the cheapest one counts.
_SHARES = (1e-1, 1e-2, 1e-4)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumRule:
    """Limits `epsilon` (units of 1e-12) and `delta` (units of 1e-30); proved in `sum_filter`."""

    epsilon: float
    delta: float
    neighbors: str = Neighbors.ADD_REMOVE
    _filter: SumFilter = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        object.__setattr__(self, "_filter", SumFilter(epsilon=self.epsilon, delta=self.delta))

    @property
    def kind(self) -> str:
        return "sum"

    def limits(self) -> Amounts:
        return self._filter.limits()

    def cost(self, plan: Priced) -> Amounts:
        """One point (epsilon, delta) of the plan's certified curve: the one that takes least of both limits.

        That is not always the plan's own delta: a smaller one may cost hardly any epsilon. Points beyond a
        limit are taken only where there is no other, so that a plan made for the whole budget fits it.
        """
        same_relation(self.neighbors, plan)
        if isinstance(plan, Claim):
            return self._filter.cost(written(plan.epsilon), written(plan.delta))
        if self.delta == 0:
            raise InputError(
                "plan",
                "free of any delta in a budget without one",
                "noise from a finite table",
                "Give the budget a delta when it is made, 1e-9, say.",
            )
        return dict(_cheapest(plan, self._filter))

    def record(self) -> Record:
        return {
            "rule": self.kind,
            "epsilon": repr(float(self.epsilon)),
            "delta": repr(float(self.delta)),
            "neighbours": self.neighbors,
        }

    def describe(self) -> str:
        return self._filter.describe()

    def in_words(self, name: str, amount: int) -> str:
        units = NATS if name == "epsilon" else PROBABILITIES
        return f"{name} {shown(amount, units)}"

    def advice(self) -> str:
        if self.delta == 0:
            return "Only mechanisms with delta 0 fit."
        return "Plans for a larger width or a smaller confidence cost less, and so does a smaller delta."


@lru_cache(maxsize=1024)
def _cheapest(plan: Plan, limits_of: SumFilter) -> Amounts:
    """The cost of the certified (epsilon, delta) with the least  epsilon/epsilon_limit + delta/delta_limit.

    What a joint plan sets aside is added to the delta of its noise: proved in `together.joint`.
    """
    costs: list[tuple[bool, Fraction, Amounts]] = []
    limits = limits_of.limits()
    aside = Fraction(plan.missing)
    for delta in _deltas(plan, limits_of.delta):
        try:
            epsilon = noise_epsilon_at(plan, delta)
        except CannotCertifyError:
            continue
        cost = limits_of.cost(epsilon, Fraction(delta) + aside)
        # a limit of no unit at all is passed by every cost
        shares = [Fraction(cost[name], max(limit, 1)) for name, limit in limits.items()]
        beyond = any(cost[name] > limit for name, limit in limits.items())
        costs.append((beyond, sum(shares, Fraction(0)), cost))
    if not costs:
        raise CannotCertifyError(
            "The plan has no finite epsilon at a delta as small as this budget needs: outputs that only one "
            "of two neighbors can produce are too likely. Make the plan with a smaller delta."
        )
    return min(costs, key=lambda entry: entry[:2])[2]


def _deltas(plan: Plan, delta_limit: float) -> list[float]:
    """Deltas of the noise to look at, the largest first.

    One only where a certificate is a search over all answers, or an integral over all vectors.
    """
    shares = {share * delta_limit for share in _SHARES}
    below = None if plan.delta is None else plan.delta * _BELOW_WRITTEN
    own = [noise_delta(below, plan.missing)] if below is not None and plan.missing < below else []
    if not plan.is_joint and not (isinstance(plan.mechanism, Design) and plan.mechanism.follows_answer):
        return own or [delta_limit * 1e-2]
    return sorted({*own, *shares}, reverse=True)
