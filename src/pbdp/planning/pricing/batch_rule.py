"""The batch rule: plans fixed before the first answer, composed exactly, each to be used so many times."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from pbdp.accounting import Bounds
from pbdp.accounting.composition.composed import PRECISION, Composed, compose
from pbdp.accounting.composition.release import Release
from pbdp.accounting.filters.amounts import not_below_written, written
from pbdp.accounting.filters.changing import design_release
from pbdp.accounting.filters.claimed import claimed_release
from pbdp.digits import rounded_down, rounded_up
from pbdp.domains import fraction, positive, whole
from pbdp.errors import InputError
from pbdp.mechanism.design import Design
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.plan import Plan
from pbdp.planning.pricing.priced import Priced, fingerprint, name_of, noises_of
from pbdp.planning.pricing.rule import Amounts, Record, same_relation


def compose_plans(plans: Iterable[tuple[Priced, int]], precision: float = PRECISION) -> Composed:
    """The packages of all plans together, each made so many times: bounds for epsilon at any delta.

    The plans are fixed in advance. What they are asked, and in which order, may follow earlier answers: each
    number is a function of a draw from one of two laws that were fixed beforehand (see `accounting.filters`).
    Mechanisms known by their claim enter as randomized response; the lower bound is then zero. So does the
    probability that a joint plan sets aside, as (0, missing): proved in `together.joint`.
    """
    known: dict[tuple[Design, int], Release] = {}
    parts: list[tuple[Release, int]] = []
    for plan, times in plans:
        count = whole("times", times, least=0)
        noises = noises_of(plan)
        if not noises:
            # vectors without a table of their own have a delta, as claims have
            claim = not_below_written(plan.epsilon), not_below_written(plan.delta or 0.0)
            parts.append((claimed_release(*claim), count))
        for noise in noises:
            key = (noise.design, noise.steps)
            if key not in known:
                known[key] = design_release(*key)
            parts.append((known[key], count * noise.releases))
        if isinstance(plan, Plan) and plan.missing > 0:
            parts.append((claimed_release(0.0, plan.missing), count))
    return compose(parts, precision)


_DIGITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRule:
    """One limit for every plan, by its fingerprint: how often its package may be used.

    `found` bounds the epsilon of the whole batch at delta; made by `batch_rule`, which refuses too much.
    """

    epsilon: float
    delta: float
    times: tuple[tuple[str, int], ...]
    found: Bounds
    neighbors: str = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        fraction("delta", self.delta)
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        if not self.times:
            raise InputError("plans", "at least one in a batch", "none", "Name the plans and how often.")
        for digest, count in self.times:
            if len(digest) != _DIGITS:
                raise InputError("plans", "known by their fingerprint", repr(digest))
            whole("times", count)
        upper = self.found.upper
        if math.isinf(upper):
            raise InputError(
                "delta",
                "one at which the batch has a finite epsilon",
                f"{self.delta:g}",
                "Raise it, or make the plans with a smaller one.",
            )
        if Fraction(upper) > written(self.epsilon):
            raise InputError(
                "epsilon",
                f"at least {upper:.9g}, which the batch takes at delta {self.delta:g}",
                f"{self.epsilon:g}",
                "Raise the limit, or plan fewer or less exact releases.",
            )

    @property
    def kind(self) -> str:
        return "batch"

    def limits(self) -> Amounts:
        return dict(self.times)

    def cost(self, plan: Priced) -> Amounts:
        """One package of the plan, and none of the others; plans outside the batch are refused."""
        same_relation(self.neighbors, plan)
        digest, none = fingerprint(plan), dict.fromkeys(self.limits(), 0)
        if digest not in none:
            raise InputError(
                "plan",
                "one of the batch that this budget was made for",
                f"another ({name_of(plan)})",
                "Plans were fixed before the first answer; spending chosen as one goes needs the rule "
                "`renyi` or `sum`.",
            )
        return none | {digest: 1}

    def record(self) -> Record:
        return {
            "rule": self.kind,
            "epsilon": repr(float(self.epsilon)),
            "delta": repr(float(self.delta)),
            "neighbours": self.neighbors,
            "epsilon_lower": repr(self.found.lower),
            "epsilon_upper": repr(self.found.upper),
            "plans": self.limits(),
        }

    def describe(self) -> str:
        packages = sum(count for _, count in self.times)
        reached = f" and no less than {rounded_down(self.found.lower)}" if self.found.lower > 0 else ""
        return (
            f"Batch: {packages} package{'s' if packages > 1 else ''} of {len(self.times)} "
            f"plan{'s' if len(self.times) > 1 else ''}, fixed before the first answer. Their privacy losses "
            f"are composed exactly: at delta {self.delta:g} they take epsilon "
            f"{rounded_up(self.found.upper)} at most{reached}, within the limit {self.epsilon:g}. What is "
            "asked, and in which order, may follow earlier answers; the plans may not, because a privacy "
            "loss distribution proves nothing for noise that is chosen as one goes."
        )

    def in_words(self, name: str, amount: int) -> str:
        return f"{amount} package{'' if amount == 1 else 's'} of plan {name[:8]}"

    def advice(self) -> str:
        return "The batch is fixed; make a new budget for more."


def batch_rule(
    plans: Iterable[tuple[Priced, int]],
    *,
    epsilon: float,
    delta: float,
    neighbors: str = Neighbors.ADD_REMOVE,
) -> BatchRule:
    """The rule for these plans, each made so many times; refused if together they exceed (epsilon, delta)."""
    batch = list(plans)
    times: dict[str, int] = {}
    for plan, count in batch:
        same_relation(neighbors, plan)
        digest = fingerprint(plan)
        times[digest] = times.get(digest, 0) + whole("times", count)
    # a float just below delta is below the number that delta is written as
    found = compose_plans(batch).epsilon_at(delta * (1 - 2.0**-50))
    return BatchRule(
        epsilon=epsilon,
        delta=delta,
        times=tuple(sorted(times.items())),
        found=found,
        neighbors=neighbors,
    )
