"""Events for dp-accounting: a plan, and any privacy loss distribution that was made elsewhere."""

from __future__ import annotations

from typing import Any

import attr
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.privacy_accountant import NeighboringRelation

from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.plan import Plan
from pbdp.planning.pricing.priced import Claim, Priced, name_of

# "replace special" is for mechanisms that know a zero record; plans do not say what theirs is.
RELATIONS = {
    Neighbors.ADD_REMOVE: NeighboringRelation.ADD_OR_REMOVE_ONE,
    Neighbors.REPLACE: NeighboringRelation.REPLACE_ONE,
}


def _shown(plan: Priced) -> str:
    return f"<{name_of(plan)}, epsilon {plan.epsilon:g}>"


@attr.s(frozen=True, slots=True, auto_attribs=True)
class PlanEvent(dp_event.DpEvent):  # type: ignore[misc]  # dp-accounting ships no annotations
    """One package of a plan: all the numbers of its `releases`, each moved by one person's sensitivity.

    `plan` may be for numbers, for a vector or for several requirements, or a `Claim` of (epsilon, delta) for
    a mechanism of which nothing else is known. Its own neighboring relation must be that of the accountant.
    """

    plan: Priced = attr.ib(repr=_shown)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.plan, Plan | Claim):
            raise InputError("plan", "a plan or a claim", f"a {type(self.plan).__name__}")

    @property
    def relation(self) -> NeighboringRelation:
        """The neighboring relation that the plan is for, in dp-accounting's words."""
        return RELATIONS[Neighbors(self.plan.neighbors)]


@attr.s(frozen=True, slots=True, auto_attribs=True, eq=False)
class PldEvent(dp_event.DpEvent):  # type: ignore[misc]  # dp-accounting ships no annotations
    """A mechanism given by its pessimistic `PrivacyLossDistribution`, for one neighboring relation.

    For mechanisms that dp-accounting has a distribution for, but no event, such as
    `from_discrete_gaussian_mechanism` and `from_privacy_parameters`, or for one composed by hand. The
    distribution does not carry its relation, so it is said here. Two such events are the same only if they
    are one object.
    """

    distribution: Any = attr.ib(repr=False)
    relation: NeighboringRelation

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.distribution, privacy_loss_distribution.PrivacyLossDistribution):
            rule = "a PrivacyLossDistribution of dp-accounting"
            raise InputError("distribution", rule, f"a {type(self.distribution).__name__}")
        if not isinstance(self.relation, NeighboringRelation):
            raise InputError("relation", "a NeighboringRelation of dp-accounting", repr(self.relation))
