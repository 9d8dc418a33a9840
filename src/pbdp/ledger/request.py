"""What a caller asks of the ledger, what it costs in a given state, and what comes back.

A price may depend on what is spent already. Then it is a function of the dataset's state, and a price that
was found for one state is never paid in another.

The arithmetic: a package of T releases is bought at the plan's cost. Each release uses one unit of it; a
request that finds enough units left costs nothing more. One that does not is refused, unless it may pay for
another package: then its units come from what was left and from the new one. Every unit belongs to exactly
one paid package and is used once, so k packages never serve more than kT releases.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pbdp.errors import InputError
from pbdp.json_records import digest, quoted
from pbdp.ledger.errors import BudgetExceededError, PackageUsedUpError
from pbdp.ledger.record import (
    LATER,
    Amounts,
    Payload,
    checked_amounts,
    checked_name,
    first_above,
    none_of,
    total,
)
from pbdp.ledger.snapshot import DatasetState, Package
from pbdp.mechanism.neighbors import Neighbors
from pbdp.paying import LONGEST, Paying, PayingFor, Said

LONGEST_KEY = 200
_PLAN = re.compile(r"[0-9a-f]{16,128}")
# What a record says of a request under the same names.
_TOLD = (
    "dataset",
    "plan",
    "plan_label",
    "query",
    "neighbors",
    "values",
    "disjoint",
    "units",
    "package",
)
# What one package costs in a state; raises if it does not fit.
Pricing = Callable[[DatasetState], Amounts]


def _checked_plan(plan: object) -> None:
    if not isinstance(plan, str) or not _PLAN.fullmatch(plan):
        raise InputError("plan", "a fingerprint of 16 to 128 hexadecimal digits", ascii(plan))


def _checked_key(key: object) -> None:
    if not (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY and key.isprintable()):
        raise InputError("key", f"1 to {LONGEST_KEY} printable characters", ascii(key)[:LONGEST_KEY])


def _count(name: str, value: object) -> None:
    if type(value) is not int or not 1 <= value < 2**63:
        raise InputError(name, "a whole number of at least 1", ascii(value))


def check_asked(told: Payload) -> None:
    """Refuse what no request asks; a ledger's records are checked by this, too."""
    _checked_plan(told["plan"])
    checked_name("plan_label", told["plan_label"])
    _count("package", told["package"])
    _count("values", told["values"])
    check_texts(told)


def check_texts(told: Payload) -> None:
    """Refuse words that no payment has; the same for records."""
    for name, longest in LONGEST.items():
        text = told.get(name)
        if text is None:
            continue
        if not isinstance(text, str) or len(text) > longest:
            raise InputError(name, f"a text of at most {longest} characters", type(text).__name__)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(name, "a text that UTF-8 can hold", "lone surrogates") from None


def check_units(units: int, package: int) -> None:
    """Refuse more releases than the plan is for."""
    if units > package:
        remedy = "Make a plan for more releases, or release fewer numbers."
        rule = f"at most the {package} that the plan is for"
        raise InputError("releases", rule, f"{units} in one request", remedy)


def fingerprint_of(told: Payload, key: str) -> str:
    """`digest([plan, dataset, query, values, disjoint, key])`, in a third of the time."""
    plan, dataset, query = told["plan"], told["dataset"], told["query"]
    asked = "null" if query is None else quoted(query)
    joined = "true" if told["disjoint"] else "false"
    content = f"[{quoted(plan)},{quoted(dataset)},{asked},{told['values']:d},{joined},{quoted(key)}]"
    return hashlib.sha256(content.encode("ascii")).hexdigest()


def recorded(paying: Paying) -> dict[str, str | None]:
    """The words that a record keeps."""
    return {name: word for name, word in paying.items() if name != "blocks"}  # type: ignore[misc]


def about(paying: PayingFor, words: str) -> PayingFor:
    """The same payment for what these words say, before those of the user."""
    query = paying.get("query")
    return {**paying, "query": f"{words}; {query}" if query else words}


def _later(kind: str, asked: Said) -> Payload:
    """What is said in fields that were added later; nothing said there leaves a record as it was before."""
    return {name: word for name in LATER[kind] if (word := getattr(asked, name)) is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Said):
    """A release of `values` numbers under a plan that is paid in packages of `package` releases.

    `plan` is the plan's fingerprint, `cost` the price of one package in the amounts that the dataset is
    limited in, or what finds it from the dataset's state. The numbers use one release each, or one together
    if they are `disjoint` across people. `again` allows paying for another package.
    """

    dataset: str
    plan: str
    plan_label: str
    cost: Amounts | Pricing
    package: int
    values: int
    neighbors: str
    query: str | None = None
    again: bool = False
    disjoint: bool = False

    def __post_init__(self) -> None:
        checked_name("dataset", self.dataset)
        if not callable(self.cost):
            object.__setattr__(self, "cost", checked_amounts("cost", self.cost))
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        if self.key is not None:
            _checked_key(self.key)
        check_asked(self.told())
        check_units(self.units, self.package)

    @property
    def units(self) -> int:
        """How many of the plan's releases this uses."""
        return 1 if self.disjoint else self.values

    def priced(self, dataset: DatasetState) -> Amounts:
        """What one package costs in this state."""
        return checked_amounts("cost", self.cost(dataset)) if callable(self.cost) else self.cost

    def fingerprint(self, key: str) -> str:
        """SHA-256 of what makes this request itself. No answer is in it, so it tells nothing of one."""
        return fingerprint_of(self.told(), key)

    def told(self) -> Payload:
        """What its record says of it, before it has a key and a price."""
        return {name: getattr(self, name) for name in _TOLD} | _later("spend", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase(Said):
    """Packages that are paid for together, to be used later: fingerprint, label and releases of each plan."""

    dataset: str
    plans: tuple[tuple[str, str, int], ...]
    cost: Amounts | Pricing
    neighbors: str

    def __post_init__(self) -> None:
        checked_name("dataset", self.dataset)
        if not self.plans or len({plan for plan, _, _ in self.plans}) < len(self.plans):
            raise InputError(
                "plans", "at least one, each named once", "none" if not self.plans else "one twice"
            )
        for plan, label, releases in self.plans:
            _checked_plan(plan)
            checked_name("plan_label", label)
            _count("releases", releases)
        if self.key is not None:
            _checked_key(self.key)
        check_texts(_later("purchase", self))

    def priced(self, dataset: DatasetState) -> Amounts:
        """What all of it costs in this state."""
        return checked_amounts("cost", self.cost(dataset) if callable(self.cost) else self.cost)

    def fingerprint(self, key: str) -> str:
        """SHA-256 of what makes this purchase itself."""
        plans = [[plan, releases] for plan, _, releases in self.plans]
        return digest(["purchase", self.dataset, plans, key])


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A purchase that is paid for; `fresh` says whether this call made its records."""

    key: str
    charged: Amounts
    spent: Amounts
    fresh: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A release that is paid for. Noise may be drawn for it, unless `stored_answer` holds the answer already.

    `charged` is what its record cost (zero if the package was open), `fresh` whether this call made the
    record, `units_left` how many releases of the plan were left after it.
    """

    ledger: str
    key: str
    sequence: int
    dataset: str
    charged: Amounts
    spent: Amounts
    units_left: int
    fresh: bool
    stored_answer: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """The cost of a request, and the state after it."""

    cost: Amounts
    spent: Amounts
    package: Package


def is_paid(request: Request, package: Package) -> bool:
    """Whether enough of the plan's releases are paid for."""
    return package.used + request.units <= package.bought


def charge(request: Request, dataset: DatasetState, package: Package, price: Pricing) -> Charge:
    """The charge for `request`, if it fits: `spent + cost <= limit` for every name, exactly."""
    check_relation(request.neighbors, dataset)
    used = package.used + request.units
    if is_paid(request, package):
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
    cost = price(dataset)
    after = Package(bought=package.bought + request.package, used=used)
    return Charge(cost=dict(cost), spent=spent_after(dataset, cost), package=after)


def spent_after(dataset: DatasetState, cost: Amounts) -> Amounts:
    """What is spent after this cost; refused above a limit."""
    if cost.keys() != dataset.limits.keys():
        rule = f"in the amounts that {dataset.name} is limited in ({', '.join(dataset.limits)})"
        raise InputError("cost", rule, ", ".join(cost))
    spent = total(dataset.spent, cost)
    name = first_above(spent, dataset.limits)
    if name is not None:
        left = max(0, dataset.limits[name] - dataset.spent[name])
        words = f"it costs {cost[name]} of {name}, but {left} is left of {dataset.limits[name]}"
        raise BudgetExceededError(dataset.name, words)
    return spent


def spend_content(request: Request, key: str, dataset: DatasetState, charged: Charge) -> Payload:
    """The payload of the spend's record. It is made before the answer is known, so it holds nothing of it."""
    return request.told() | {
        "key": key,
        "fingerprint": request.fingerprint(key),
        "bought": charged.package.bought,
        "used": charged.package.used,
        "cost": charged.cost,
        "spent": charged.spent,
        "releases": dataset.releases + 1,
    }


def purchase_contents(
    purchase: Purchase,
    key: str,
    dataset: DatasetState,
    packages: Sequence[Package],
    paid: tuple[Amounts, Amounts],
) -> list[Payload]:
    """The payloads of a purchase, one for each plan; the first carries the key and the whole cost."""
    cost, spent = paid
    return [
        {
            "dataset": purchase.dataset,
            "plan": plan,
            "plan_label": label,
            "key": None if index else key,
            "fingerprint": purchase.fingerprint(key),
            "neighbors": purchase.neighbors,
            "package": releases,
            "bought": package.bought + releases,
            "used": package.used,
            "cost": none_of(cost) if index else cost,
            "spent": spent,
            "releases": dataset.releases,
        }
        | _later("purchase", purchase)
        for index, ((plan, label, releases), package) in enumerate(zip(purchase.plans, packages, strict=True))
    ]


def check_relation(neighbors: str, dataset: DatasetState) -> None:
    """What is asked must hold for the dataset's neighboring relation."""
    if neighbors != dataset.neighbors:
        raise InputError(
            "neighbors",
            f"{dataset.neighbors!r}, as everything on {dataset.name}",
            repr(neighbors),
            "Guarantees for different neighboring relations do not add up; plan with the same one.",
        )
