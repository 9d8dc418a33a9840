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
from typing import Any

from pbdp.errors import InputError, shown
from pbdp.json_records import digest, quoted
from pbdp.ledger.record import Amounts, Payload, checked_amounts, checked_name
from pbdp.mechanism.neighbors import Neighbors
from pbdp.parameters import flag
from pbdp.paying import PayingFor, PayingOnce

LONGEST_KEY = 200
LONGEST_QUERY = 100_000
_PLAN = re.compile(r"[0-9a-f]{16,128}")
# What a record says of a request under the same names.
_TOLD = ("dataset", "plan", "plan_label", "query", "neighbors", "values", "disjoint", "package")
# What one package costs after what was spent; raises if it does not fit.
Pricing = Callable[[Amounts], Amounts]


def _check_plan(plan: object) -> None:
    if not isinstance(plan, str) or not _PLAN.fullmatch(plan):
        raise InputError("plan", "a fingerprint of 16 to 128 hexadecimal digits", shown(plan))


def check_key(key: object) -> None:
    """Refuse what is no request key."""
    if not (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY and key.isprintable()):
        raise InputError("key", f"1 to {LONGEST_KEY} printable characters", shown(key))


def check_plans(plans: Sequence[Sequence[Any]]) -> None:
    """Refuse what no purchase buys: fingerprint, label and releases of each plan."""
    if not plans or len({plan for plan, _, _ in plans}) < len(plans):
        raise InputError("plans", "at least one, each named once", "none" if not plans else "one twice")
    for plan, label, releases in plans:
        _check_plan(plan)
        checked_name("plan_label", label)
        _count("releases", releases)


def _count(name: str, value: object) -> None:
    if type(value) is not int or not 1 <= value < 2**63:
        raise InputError(name, "a whole number of at least 1", shown(value))


def check_asked(told: Payload) -> None:
    """Refuse what no request asks; a ledger's records are checked by this, too."""
    _check_plan(told["plan"])
    checked_name("plan_label", told["plan_label"])
    _count("package", told["package"])
    _count("values", told["values"])
    _check_query(told["query"])


def _check_query(query: object) -> None:
    if query is None:
        return
    if not isinstance(query, str) or len(query) > LONGEST_QUERY:
        raise InputError("query", f"a text of at most {LONGEST_QUERY} characters", type(query).__name__)
    try:
        query.encode()
    except UnicodeEncodeError:
        raise InputError("query", "a text that UTF-8 can hold", "lone surrogates") from None


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


def purchase_fingerprint(dataset: str, plans: Sequence[Sequence[Any]], key: str) -> str:
    """The same of a purchase."""
    return digest(["purchase", dataset, [[plan, releases] for plan, _, releases in plans], key])


def recorded(paying: PayingOnce) -> dict[str, str | None]:
    """The words that a record keeps."""
    return {name: word for name, word in paying.items() if name != "blocks"}  # type: ignore[misc]


def about(paying: PayingFor, words: str) -> PayingFor:
    """The same payment for what these words say, before those of the user."""
    query = paying.get("query")
    return {**paying, "query": f"{words}; {query}" if query else words}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A release of `values` numbers under a plan that is paid in packages of `package` releases.

    `plan` is the plan's fingerprint, `cost` the price of one package in the amounts that the dataset is
    limited in, or what finds it from the dataset's state. The numbers use one release each, or one together
    if they are `disjoint` across people. `again` allows paying for another package. `key` makes a retry safe;
    without one a random key is made.
    """

    dataset: str
    plan: str
    plan_label: str
    cost: Amounts | Pricing
    package: int
    values: int
    neighbors: str
    query: str | None = None
    key: str | None = None
    again: bool = False
    disjoint: bool = False

    def __post_init__(self) -> None:
        checked_name("dataset", self.dataset)
        if not callable(self.cost):
            object.__setattr__(self, "cost", checked_amounts("cost", self.cost))
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        object.__setattr__(self, "again", flag("again", self.again))
        object.__setattr__(self, "disjoint", flag("disjoint", self.disjoint))
        if self.key is not None:
            check_key(self.key)
        check_asked(self.told())
        check_units(self.units, self.package)

    @property
    def units(self) -> int:
        """How many of the plan's releases this uses."""
        return 1 if self.disjoint else self.values

    def priced(self, spent: Amounts) -> Amounts:
        """What one package costs after what was spent."""
        return checked_amounts("cost", self.cost(spent)) if callable(self.cost) else self.cost

    def fingerprint(self, key: str) -> str:
        """SHA-256 of what makes this request itself. No answer is in it, so it tells nothing of one."""
        return fingerprint_of(self.told(), key)

    def told(self) -> Payload:
        """What its record says of it, before it has a key and a price."""
        return {name: getattr(self, name) for name in _TOLD}


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """Packages that are paid for together, to be used later: fingerprint, label and releases of each plan."""

    dataset: str
    plans: tuple[tuple[str, str, int], ...]
    cost: Amounts | Pricing
    neighbors: str
    key: str | None = None

    def __post_init__(self) -> None:
        checked_name("dataset", self.dataset)
        check_plans(self.plans)
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        if self.key is not None:
            check_key(self.key)

    def priced(self, spent: Amounts) -> Amounts:
        """What all of it costs after what was spent."""
        return checked_amounts("cost", self.cost(spent) if callable(self.cost) else self.cost)

    def fingerprint(self, key: str) -> str:
        """SHA-256 of what makes this purchase itself."""
        return purchase_fingerprint(self.dataset, self.plans, key)


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
    record, `units_left` how many releases of the plan were left after it. `sequence` and `hash` are the
    record's.
    """

    ledger: str
    key: str
    sequence: int
    hash: str
    dataset: str
    charged: Amounts
    spent: Amounts
    units_left: int
    fresh: bool
    stored_answer: bytes | None
