"""A `PrivacyAccountant` for dp-accounting that knows plans, and composes with pbdp's own bounds.

**What is promised.** Let every event be dominated, in each of two directions ("remove": from the larger
dataset to the smaller, "add": back), by a pair of laws. For one pair of neighbors all events go in the same
direction, so their adaptive composition is dominated by the product of the pairs of that direction (Zhu, Dong
and Wang 2022), and delta is at most the larger of the two products' deltas. Plans enter with a pair that
covers a change of the answer either way, so they serve both directions. Replacing a record has no direction
that all events share: there every event enters with a pair that covers both of its own.

The products are composed by `accounting.composition`, whose upper bounds hold with all rounding included. The
pairs of plans come from their tables of integer weights; those of dp-accounting's events from dp-accounting
itself, whose rounding of one event, before any composition, is trusted.

What is asked of an event may follow earlier answers; which events there are, and their noise, may not. For
spending chosen as you go pbdp has a ledger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import attr
from dp_accounting import dp_event, privacy_accountant
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation

from pbdp.accounting.composition.composed import PRECISION, Composed, compose
from pbdp.accounting.composition.loss_distribution import distribution_release
from pbdp.accounting.composition.loss_law import Release
from pbdp.bridges.dp_accounting.distributions import STEP, from_dp_accounting
from pbdp.digits import rounded_up
from pbdp.errors import InputError, PbdpError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.parameters import positive
from pbdp.planning.plan import Plan
from pbdp.planning.pricing.priced import Claim, Measured, Priced, compose_plans, name_of

Parts = tuple[tuple[Release, int], ...]
# A budget sees an event by its delta at so many epsilons, up to where it is this small.
_POINTS = 128
_SMALL = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-3)


def relation_of(neighbors: str) -> NeighboringRelation:
    """dp-accounting's relation of this name; refused where it has none.

    Its "replace special" is for mechanisms that know a zero record; plans do not say what theirs is.
    """
    relation = Neighbors(neighbors)
    if relation.dp_accounting is None:
        known = " or ".join(each for each in Neighbors if each.dp_accounting is not None)
        raise InputError("neighbors", f"{known} for dp-accounting", relation)
    return NeighboringRelation[relation.dp_accounting]


def _shown(plan: Priced) -> str:
    return f"<{name_of(plan)}, epsilon {rounded_up(plan.epsilon)}>"


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
        return relation_of(self.plan.neighbors)


@attr.s(frozen=True, slots=True, auto_attribs=True, eq=False)
class PldEvent(dp_event.DpEvent):  # type: ignore[misc]  # dp-accounting ships no annotations
    """A mechanism given by its pessimistic `PrivacyLossDistribution`, for one neighboring relation.

    For mechanisms that dp-accounting has a distribution for, but no event, such as
    `from_discrete_gaussian_mechanism` and `from_privacy_parameters`, or for one composed by hand. The
    distribution does not carry its relation, so it is said here. Two such events are the same only if they
    are one object.
    """

    distribution: privacy_loss_distribution.PrivacyLossDistribution = attr.ib(repr=False)
    relation: NeighboringRelation

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.distribution, privacy_loss_distribution.PrivacyLossDistribution):
            rule = "a PrivacyLossDistribution of dp-accounting"
            raise InputError("distribution", rule, f"a {type(self.distribution).__name__}")
        if not isinstance(self.relation, NeighboringRelation):
            raise InputError("relation", "a NeighboringRelation of dp-accounting", repr(self.relation))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sides:
    """What one event reveals in either direction; `private` is False for an event without any guarantee."""

    remove: Parts
    add: Parts
    private: bool = True


class PlanAccountant(privacy_accountant.PrivacyAccountant):  # type: ignore[misc]  # it ships no annotations
    """epsilon and delta of plans and dp-accounting's own events together, as upper bounds.

    Supported are `PlanEvent`, `PldEvent`, what dp-accounting's `PLDAccountant` supports, and compositions of
    all these. dp-accounting makes the distributions of its own events on multiples of
    `value_discretization_interval`; `precision` is the relative error of epsilon that is aimed at.
    """

    def __init__(
        self,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
        value_discretization_interval: float = STEP,
        precision: float = PRECISION,
    ) -> None:
        super().__init__(neighboring_relation)
        self._interval = positive("value_discretization_interval", value_discretization_interval)
        self._precision = positive("precision", precision)
        # events seen before, with their sides or the reason why they are refused; sides spent, with counts
        self._known: dict[Any, Any] = {}
        self._spent: dict[_Sides, int] = {}

    def get_epsilon(self, target_delta: float) -> float:
        """The least epsilon that is proved at `target_delta`; infinite if there is none."""
        if not self._is_private:
            return math.inf
        return max(side.epsilon_at(target_delta).upper for side in self._composed())

    def get_delta(self, target_epsilon: float) -> float:
        """The least delta that is proved at `target_epsilon`."""
        if not self._is_private:
            return 1.0
        return max(side.delta_at(target_epsilon).upper for side in self._composed())

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        match event:
            case dp_event.SelfComposedDpEvent():
                times = event.count
                if isinstance(times, bool) or not isinstance(times, int) or times < 0:
                    return _refusal(event, f"`count` must be a whole number, 0 or more. Found {times!r}.")
                return self._maybe_compose(event.event, times * count, do_compose)
            case dp_event.ComposedDpEvent():
                found = (self._maybe_compose(part, count, do_compose) for part in event.events)
                return next((refusal for refusal in found if refusal is not None), None)
        sides = self._sides(event)
        if not isinstance(sides, _Sides):
            return sides
        if do_compose and count:
            self._spent[sides] = self._spent.get(sides, 0) + count
        return None

    def _sides(self, event: Any) -> Any:
        """The sides of an event, or the refusal of it.

        They are found when an event is checked, so that nothing can fail once it is in the ledger of events.
        """
        key = _key(event)
        try:
            known = self._known.get(key)
        except TypeError:  # an event that holds arrays has no key
            return self._found(event)
        if known is None:
            known = self._known[key] = self._found(event)
        return known

    def _found(self, event: Any) -> Any:
        ours = isinstance(event, PlanEvent | PldEvent)
        if ours and event.relation is not self.neighboring_relation:
            return _refusal(
                event,
                f"neighboring_relation must be `{event.relation.name}`, which the event is for. Found "
                f"`{self.neighboring_relation.name}`. Guarantees for different relations do not add up.",
            )
        try:
            match event:
                case PlanEvent():
                    parts = compose_plans([(event.plan, 1)]).parts
                    return _Sides(remove=parts, add=parts)
                case PldEvent():
                    return self._sides_of(event.distribution)
            return self._theirs(event)
        except (PbdpError, ValueError) as error:
            return _refusal(event, str(error))

    def _theirs(self, event: Any) -> Any:
        """What dp-accounting's accountant makes of one such event, and of one only.

        Several are composed here, which keeps all rounding bounded; and in dp-accounting 0.6 the count of a
        `RandomizedResponseDpEvent` is ignored, as if it had happened once.
        """
        accountant = PLDAccountant(self.neighboring_relation, self._interval)
        refusal = accountant._maybe_compose(event, 1, False)
        if refusal is not None:
            return refusal
        accountant._maybe_compose(event, 1, True)
        if accountant._contains_non_dp_event:
            return _Sides(remove=(), add=(), private=False)
        return self._sides_of(accountant._pld)

    def _sides_of(self, distribution: Any) -> _Sides:
        sides = from_dp_accounting(distribution)
        if len(sides) == 1 or self.neighboring_relation is NeighboringRelation.REPLACE_ONE:
            both = ((distribution_release(*sides), 1),)
            return _Sides(remove=both, add=both)
        remove, add = (((distribution_release(side), 1),) for side in sides)
        return _Sides(remove=remove, add=add)

    @property
    def _is_private(self) -> bool:
        return all(sides.private for sides in self._spent)

    def _composed(self) -> list[Composed]:
        """The composition in one direction, or in both where they differ."""
        directions = [[(sides.remove, count) for sides, count in self._spent.items()]]
        if any(sides.add is not sides.remove for sides in self._spent):
            directions.append([(sides.add, count) for sides, count in self._spent.items()])
        return [
            compose(
                ((release, each * count) for parts, count in spent for release, each in parts),
                self._precision,
            )
            for spent in directions
        ]


def _key(event: Any) -> Any:
    """The event by its values; a list among them, which may still change, is copied."""
    values = attr.astuple(event, recurse=False)
    return type(event), tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _refusal(event: Any, message: str) -> Any:
    return privacy_accountant.PrivacyAccountant.CompositionErrorDetails(
        invalid_event=event, error_message=message
    )


def priced_event(
    event: dp_event.DpEvent, *, neighbors: str = Neighbors.ADD_REMOVE, label: str = "event"
) -> Measured:
    """An event of dp-accounting as something a budget can pay for: `budget.reserve(priced_event(event))`.

    Its parts, if it has several, are fixed in advance and composed here.
    """
    accountant = PlanAccountant(relation_of(neighbors))
    accountant.compose(event)
    furthest = next(
        (epsilon for delta in _SMALL if math.isfinite(epsilon := accountant.get_epsilon(delta))), math.inf
    )
    if math.isinf(furthest):
        raise InputError("event", "private at some epsilon", "one without any guarantee")
    step = max(furthest, 1e-9) / _POINTS
    deltas = tuple(accountant.get_delta(step * index) for index in range(_POINTS + 1))
    return Measured(step=step, deltas=deltas, neighbors=neighbors, label=label)
