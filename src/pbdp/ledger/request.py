"""What a caller asks of the ledger, the record that pays for it in a given state, and what comes back.

A price may depend on what is spent already. Then it is a function of the dataset's state, and a price that
was found for one state is never paid in another.

The arithmetic: a package of T releases is bought at the plan's cost. Each release uses one unit of it; a
request that finds enough units left costs nothing more. One that does not is refused, unless it may pay for
another package: then its units come from what was left and from the new one. Every unit belongs to exactly
one paid package and is used once, so k packages never serve more than kT releases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pbdp.errors import InputError, shown
from pbdp.ledger.errors import BudgetExceededError, PackageUsedUpError
from pbdp.ledger.fold import DatasetState, Fold
from pbdp.ledger.record import (
    Amounts,
    Package,
    Payload,
    check_asked,
    check_key,
    checked_amounts,
    checked_name,
    none_of,
    total,
)
from pbdp.mechanism.neighbors import Neighbors
from pbdp.parameters import flag
from pbdp.paying import PayingFor, PayingOnce

# What packages cost after what was spent; raises if they do not fit.
Pricing = Callable[[Amounts], Amounts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A release of `values` numbers under a plan that is paid in packages; of none, packages in advance.

    `plans` are fingerprint, label and releases of each package; one, where numbers are released. `cost` is
    the price of one package of each in the amounts that the dataset is limited in, or what finds it from
    what is spent. The numbers use one release each, or one together if they are `disjoint` across people.
    `again` allows paying for another package. `key` makes a retry safe; without one a random key is made.
    """

    dataset: str
    plans: tuple[Package, ...]
    cost: Amounts | Pricing
    neighbors: str
    values: int = 0
    query: str | None = None
    key: str | None = None
    again: bool = False
    disjoint: bool = False

    def __post_init__(self) -> None:
        checked_name("dataset", self.dataset)
        if not callable(self.cost):
            object.__setattr__(self, "cost", checked_amounts("cost", self.cost))
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors).value)
        object.__setattr__(self, "again", flag("again", self.again))
        object.__setattr__(self, "disjoint", flag("disjoint", self.disjoint))
        if self.key is not None:
            check_key(self.key)
        check_asked(self.told())
        if self.values and self.units > self.plans[0][2]:
            rule = f"at most the {self.plans[0][2]} that the plan is for"
            remedy = "Make a plan for more releases, or release fewer numbers."
            raise InputError("releases", rule, f"{self.units} in one request", remedy)

    @property
    def units(self) -> int:
        """How many of the plan's releases this uses."""
        return min(self.values, 1) if self.disjoint else self.values

    def told(self) -> Payload:
        """What its record says of it: what makes it the same request. No answer is in it."""
        names = ("dataset", "query", "neighbors", "values", "disjoint")
        return {name: getattr(self, name) for name in names} | {"plans": [[*plan] for plan in self.plans]}

    def payment(self, fold: Fold, key: str, machine: str) -> Payload | None:
        """The record that pays for it, priced for what is spent now, if it fits; None if the key was paid.

        It is made before the answer is known, so it holds nothing of it.
        """
        state = fold.dataset(self.dataset)
        if fold.known(key) is not None:
            return None
        if self.neighbors != state.neighbors:
            raise InputError(
                "neighbors",
                f"{state.neighbors!r}, as everything on {state.name}",
                shown(self.neighbors),
                "Guarantees for different neighboring relations do not add up; plan with the same one.",
            )
        cost, spent, units_left = none_of(state.limits), state.spent, 0
        if self.values:
            plan, _, package = self.plans[0]
            bought, used = fold.package(self.dataset, plan)
            units_left = bought - used - self.units
            if units_left < 0 and bought and not self.again:
                raise PackageUsedUpError(
                    dataset=state.name, bought=bought, used=used, asked=self.units, package=package
                )
        if not self.values or units_left < 0:
            cost = checked_amounts("cost", self.cost(state.spent) if callable(self.cost) else self.cost)
            spent = spent_after(state, cost)
            units_left += self.plans[0][2] if self.values else 0
        paid = {"units_left": units_left, "cost": cost, "spent": spent}
        return self.told() | {"key": key, "machine": machine} | paid


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reservation:
    """What is paid for under a key: noise may be drawn for it, unless the ledger has its answer already.

    `charged` is what its record cost (zero if the package was open), `spent` what was spent after it, and
    `units_left` how many releases of the plan were left. `fresh` says whether this call made the record, of
    which `sequence` and `hash` are number and hash. `plan` is empty, and `values` zero, where packages were
    paid for in advance.
    """

    ledger: str
    key: str
    sequence: int
    hash: str
    dataset: str
    plan: str
    query: str | None
    values: int
    charged: Amounts
    spent: Amounts
    units_left: int
    answer: bytes | None
    disjoint: bool = False
    fresh: bool = False

    def __repr__(self) -> str:
        state = "in advance" if not self.values else "waiting" if self.answer is None else "answered"
        return f"<Reservation of record {self.sequence} on {self.dataset}: {state}, key {self.key!r}>"

    @property
    def spent_before(self) -> Amounts:
        """What was spent when it was priced."""
        return total(self.spent, self.charged, -1)


def spent_after(dataset: DatasetState, cost: Amounts) -> Amounts:
    """What is spent after this cost: `spent + cost <= limit` for every name, exactly, or it is refused."""
    if cost.keys() != dataset.limits.keys():
        rule = f"in the amounts that {dataset.name} is limited in ({', '.join(dataset.limits)})"
        raise InputError("cost", rule, ", ".join(cost))
    spent = total(dataset.spent, cost)
    for name, limit in sorted(dataset.limits.items()):
        if spent[name] > limit and cost[name]:
            left = max(0, limit - dataset.spent[name])
            words = f"it costs {cost[name]} of {name}, but {left} is left of {limit}"
            raise BudgetExceededError(dataset.name, words)
    return spent


def recorded(paying: PayingOnce) -> dict[str, str | None]:
    """The words that a record keeps."""
    return {name: word for name, word in paying.items() if name != "blocks"}  # type: ignore[misc]


def about(paying: PayingFor, words: str) -> PayingFor:
    """The same payment for what these words say, behind those of the user."""
    query = paying.get("query")
    return {**paying, "query": f"{query}; {words}" if query else words}
