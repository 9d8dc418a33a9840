"""What every rule of a dataset can say of itself; rules by name, and from what a ledger stored of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.pricing.priced import Priced

Amounts = dict[str, int]
Record = dict[str, Any]
KINDS = ("renyi", "sum", "batch")


class Rule(Protocol):
    """Limits in whole numbers, and the cost of every plan in the same names.

    As long as the costs add up to at most the limit of every name, all releases together are
    (epsilon, delta)-DP for the rule's neighboring relation.
    """

    @property
    def kind(self) -> str:
        """`renyi`, `sum` or `batch`."""

    @property
    def epsilon(self) -> float:
        """The epsilon that is promised."""

    @property
    def delta(self) -> float:
        """The delta that is promised."""

    @property
    def neighbors(self) -> str:
        """The neighboring relation that the promise is for."""

    def limits(self) -> Amounts:
        """What may be spent in all."""

    def cost(self, plan: Priced) -> Amounts:
        """What the whole package of a plan costs, rounded up; the names are those of the limits."""

    def record(self) -> Record:
        """All there is to know of the rule, for JSON; numbers that are not whole are written as text."""

    def describe(self) -> str:
        """Which guarantee applies, and why."""

    def in_words(self, name: str, amount: int) -> str:
        """An amount of one of the names, for people."""

    def advice(self) -> str:
        """How to make plans that cost less under this rule."""


def same_relation(neighbors: str, plan: Priced) -> None:
    """Refuse a plan whose guarantee is for another relation than the budget's."""
    if plan.neighbors != neighbors:
        raise InputError(
            "neighbors",
            f"{neighbors!r}, as for everything in this budget",
            repr(plan.neighbors),
            "Guarantees for different neighboring relations do not add up; plan with the same one.",
        )


def make_rule(
    kind: str = "renyi",
    *,
    epsilon: float,
    delta: float,
    order: float | None = None,
    plans: Iterable[tuple[Priced, int]] | None = None,
    neighbors: str = Neighbors.ADD_REMOVE,
) -> Rule:
    """A new rule: `order` is for `renyi` alone, `plans` (with how often each) for `batch` alone."""
    if kind not in KINDS:
        raise InputError("rule", " or ".join(KINDS), repr(kind))
    if order is not None and kind != "renyi":
        raise ContradictionError("order", "left out unless the rule is `renyi`", order)
    if (plans is not None) != (kind == "batch"):
        given = "none" if plans is None else "some"
        remedy = "Name the plans and how often." if plans is None else "Spend them one by one."
        raise ContradictionError("plans", "given with the rule `batch`, and only then", given, remedy)
    if plans is not None:
        from pbdp.planning.pricing.batch_rule import batch_rule

        return batch_rule(plans, epsilon=epsilon, delta=delta, neighbors=neighbors)
    return _adaptive(kind, epsilon, delta, neighbors, order)


def rule_from_record(record: Mapping[str, object]) -> Rule:
    """The rule of `Rule.record()`; its limits follow from it again, digit for digit on the same machine.

    A batch comes back with the bounds that were found when it was made: its plans are not in the record.
    """
    try:
        epsilon, delta = _number(record, "epsilon"), _number(record, "delta")
        neighbors = str(record["neighbours"])
        match record["rule"]:
            case "renyi":
                return _adaptive("renyi", epsilon, delta, neighbors, _number(record, "order"))
            case "sum":
                return _adaptive("sum", epsilon, delta, neighbors)
            case "batch":
                return _batch(record, epsilon, delta, neighbors)
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError):
        raise InputError("record", "one of a rule", "one with missing or broken fields") from None
    raise InputError("rule", " or ".join(KINDS), repr(record["rule"]), "It may be of a later pbdp; upgrade.")


def _adaptive(kind: str, epsilon: float, delta: float, neighbors: str, order: float | None = None) -> Rule:
    """A rule for spending chosen as one goes, imported where it is made: rules build on this file."""
    if kind == "sum":
        from pbdp.planning.pricing.sum_rule import SumRule

        return SumRule(epsilon=epsilon, delta=delta, neighbors=neighbors)
    from pbdp.planning.pricing.renyi_rule import RenyiRule

    return RenyiRule(epsilon=epsilon, delta=delta, order=order, neighbors=neighbors)


def _batch(record: Mapping[str, object], epsilon: float, delta: float, neighbors: str) -> Rule:
    from pbdp.accounting import Bounds
    from pbdp.planning.pricing.batch_rule import BatchRule

    plans = record["plans"]
    if not isinstance(plans, Mapping):
        raise TypeError("not a list of plans")
    found = Bounds(lower=_number(record, "epsilon_lower"), upper=_number(record, "epsilon_upper"))
    return BatchRule(
        epsilon=epsilon, delta=delta, times=tuple(sorted(plans.items())), found=found, neighbors=neighbors
    )


def _number(record: Mapping[str, object], name: str) -> float:
    """A number that is written as text, so that no reader of JSON can round it."""
    value = record[name]
    if not isinstance(value, str):
        raise TypeError("not a text")
    return float(value)
