"""What one request costs in a given state: the whole of the ledger's arithmetic.

A package of T releases is bought at the plan's cost. Each release uses one unit of it; a request that finds
enough units left costs nothing more. One that does not is refused, unless it may pay for another package:
then its units come from what was left and from the new one. Every unit belongs to exactly one paid package
and is used once, so k packages never serve more than kT releases.
"""

from __future__ import annotations

from dataclasses import dataclass

from pbdp.errors import InputError
from pbdp.ledger.amounts import Amounts, first_above, none_of, total
from pbdp.ledger.dataset import DatasetState, Package
from pbdp.ledger.errors import BudgetExceededError, PackageUsedUpError
from pbdp.ledger.record import Payload
from pbdp.ledger.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """The cost of a request, and the state after it."""

    cost: Amounts
    spent: Amounts
    package: Package


def charge(request: Request, dataset: DatasetState, package: Package) -> Charge:
    """The charge for `request`, if it fits: `spent + cost <= limit` for every name, exactly."""
    _check_terms(request, dataset)
    used = package.used + request.units
    if used <= package.bought:
        after = Package(bought=package.bought, used=used)
        return Charge(cost=none_of(dataset.limits), spent=dataset.spent, package=after)
    if package.bought and not request.again:
        raise PackageUsedUpError(
            dataset=dataset.name,
            bought=package.bought,
            used=package.used,
            asked=request.units,
            package=request.package,
        )
    spent = total(dataset.spent, request.cost)
    name = first_above(spent, dataset.limits)
    if name is not None:
        raise BudgetExceededError(
            dataset=dataset.name,
            name=name,
            limit=dataset.limits[name],
            spent=dataset.spent[name],
            cost=request.cost[name],
        )
    after = Package(bought=package.bought + request.package, used=used)
    return Charge(cost=dict(request.cost), spent=spent, package=after)


def spend_content(request: Request, key: str, dataset: DatasetState, charged: Charge) -> Payload:
    """The payload of the spend's record. It is made before the answer is known, so it holds nothing of it."""
    return {
        "dataset": request.dataset,
        "plan": request.plan,
        "plan_label": request.plan_label,
        "query": request.query,
        "key": key,
        "fingerprint": request.fingerprint(key),
        "neighbours": request.neighbors,
        "values": request.values,
        "disjoint": request.disjoint,
        "units": request.units,
        "package": request.package,
        "bought": charged.package.bought,
        "used": charged.package.used,
        "cost": charged.cost,
        "spent": charged.spent,
        "releases": dataset.releases + 1,
    }


def _check_terms(request: Request, dataset: DatasetState) -> None:
    """The request must be priced in the dataset's amounts and hold for its neighboring relation."""
    if request.neighbors != dataset.neighbors:
        raise InputError(
            "neighbors",
            f"{dataset.neighbors!r}, as everything on {dataset.name}",
            repr(request.neighbors),
            "Guarantees for different neighboring relations do not add up; plan with the same one.",
        )
    if request.cost.keys() != dataset.limits.keys():
        rule = f"in the amounts that {dataset.name} is limited in ({', '.join(dataset.limits)})"
        raise InputError("cost", rule, ", ".join(request.cost))
