"""Rules by name, and back from what a ledger stored of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pbdp.accounting.bounds import Bounds
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.pricing.batch_rule import BatchRule, batch_rule
from pbdp.planning.pricing.priced import Priced
from pbdp.planning.pricing.renyi_rule import RenyiRule
from pbdp.planning.pricing.rule import Rule
from pbdp.planning.pricing.sum_rule import SumRule

KINDS = ("renyi", "sum", "batch")


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
    if kind == "renyi":
        return RenyiRule(epsilon=epsilon, delta=delta, order=order, neighbors=neighbors)
    if plans is None:
        return SumRule(epsilon=epsilon, delta=delta, neighbors=neighbors)
    return batch_rule(plans, epsilon=epsilon, delta=delta, neighbors=neighbors)


def rule_from_record(record: Mapping[str, object]) -> Rule:
    """The rule of `Rule.record()`; its limits follow from it again, digit for digit on the same machine.

    A batch comes back with the bounds that were found when it was made: its plans are not in the record.
    """
    try:
        epsilon, delta = _number(record, "epsilon"), _number(record, "delta")
        neighbors = str(record["neighbours"])
        match record["rule"]:
            case "renyi":
                order = _number(record, "order")
                return RenyiRule(epsilon=epsilon, delta=delta, order=order, neighbors=neighbors)
            case "sum":
                return SumRule(epsilon=epsilon, delta=delta, neighbors=neighbors)
            case "batch":
                return _batch(record, epsilon, delta, neighbors)
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError):
        raise InputError("record", "one of a rule", "one with missing or broken fields") from None
    raise InputError("rule", " or ".join(KINDS), repr(record["rule"]), "It may be of a later pbdp; upgrade.")


def _batch(record: Mapping[str, object], epsilon: float, delta: float, neighbors: str) -> BatchRule:
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
