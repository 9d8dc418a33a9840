"""The Rényi rule: plans chosen as one goes, each charged its Rényi loss at one fixed order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from pbdp.accounting.filters.amounts import NATS, PROBABILITIES, not_below_written, shown
from pbdp.accounting.filters.claimed import claimed_loss
from pbdp.accounting.filters.design_loss import RenyiLoss, design_loss
from pbdp.accounting.filters.renyi_filter import RenyiFilter
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.plan import Plan
from pbdp.planning.pricing.priced import Priced, noises_of
from pbdp.planning.pricing.rule import Amounts, Record, same_relation


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiRule:
    """Limits `renyi` (units of 1e-12 nats) and `missing` (units of 1e-30); proved in `renyi_filter`.

    The order is the one that leaves Gaussian noise the most room, unless it is given.
    """

    epsilon: float
    delta: float
    order: float | None = None
    neighbors: str = Neighbors.ADD_REMOVE
    _filter: RenyiFilter = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        if self.order is None:
            made = RenyiFilter.with_best_order(self.epsilon, self.delta)
            object.__setattr__(self, "order", made.order)
        else:
            made = RenyiFilter(epsilon=self.epsilon, delta=self.delta, order=self.order)
        object.__setattr__(self, "_filter", made)

    @property
    def kind(self) -> str:
        return "renyi"

    def limits(self) -> Amounts:
        return self._filter.limits()

    def cost(self, plan: Priced) -> Amounts:
        """The losses of all numbers of the package; of a mechanism known by its claim, those of the claim.

        Rényi plans are priced like all others, at this rule's order, from the table that is drawn from. The
        probability that a joint plan sets aside has the loss (0, missing): proved in `together.joint`.
        """
        same_relation(self.neighbors, plan)
        noises, order = noises_of(plan), self._filter.order
        if not noises:
            # vectors without a table of their own have a delta, as claims have
            claim = not_below_written(plan.epsilon), not_below_written(plan.delta or 0.0)
            return self._filter.cost(claimed_loss(*claim, order))
        amounts: Counter[str] = Counter()
        for noise in noises:
            loss = design_loss(noise.design, noise.steps, order, self._filter.exchange)
            amounts.update(self._filter.cost(loss, noise.releases))
        if isinstance(plan, Plan) and plan.is_joint:
            aside = RenyiLoss(renyi_upper=0.0, missing_upper=Fraction(plan.missing))
            amounts.update(self._filter.cost(aside))
        return dict(amounts)

    def record(self) -> Record:
        return {
            "rule": self.kind,
            "epsilon": repr(float(self.epsilon)),
            "delta": repr(float(self.delta)),
            "order": repr(float(self._filter.order)),
            "neighbours": self.neighbors,
        }

    def describe(self) -> str:
        return self._filter.describe()

    def in_words(self, name: str, amount: int) -> str:
        if name == "renyi":
            return f"{shown(amount, NATS)} of Rényi loss at order {self._filter.order:g}"
        return f"{shown(amount, PROBABILITIES)} of missing probability"

    def advice(self) -> str:
        return (
            f"Noise planned with rdp_order={self._filter.order:g} costs the least under this rule. Plans "
            "with a delta fit if it is a small fraction of the budget's: some of them put all of it on "
            "outputs that a neighbor cannot produce."
        )
