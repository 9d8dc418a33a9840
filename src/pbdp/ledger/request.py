"""What a caller asks of the ledger, and what it gets back."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pbdp.canonical import digest
from pbdp.errors import InputError
from pbdp.ledger.amounts import Amounts, checked_amounts, checked_name
from pbdp.mechanism.neighbors import Neighbors

LONGEST_KEY = 200
LONGEST_QUERY = 100_000
_PLAN = re.compile(r"[0-9a-f]{16,128}")


def _checked_plan(plan: object) -> None:
    if not isinstance(plan, str) or not _PLAN.fullmatch(plan):
        raise InputError("plan", "a fingerprint of 16 to 128 hexadecimal digits", ascii(plan))


def _checked_key(key: object) -> None:
    if not (isinstance(key, str) and 0 < len(key) <= LONGEST_KEY and key.isprintable()):
        raise InputError("key", f"1 to {LONGEST_KEY} printable characters", ascii(key)[:LONGEST_KEY])


def _checked_query(query: object) -> None:
    if not isinstance(query, str) or len(query) > LONGEST_QUERY:
        raise InputError("query", f"a text of at most {LONGEST_QUERY} characters", type(query).__name__)
    try:
        query.encode()
    except UnicodeEncodeError:
        raise InputError("query", "a text that UTF-8 can hold", "lone surrogates") from None


def _count(name: str, value: object) -> None:
    if type(value) is not int or not 1 <= value < 2**63:
        raise InputError(name, "a whole number of at least 1", ascii(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A release of `values` numbers under a plan that is paid in packages of `package` releases.

    `plan` is the plan's fingerprint, `cost` the price of one package in the amounts that the dataset is
    limited in. The numbers use one release each, or one together if they are `disjoint` across people.
    `key` makes a retry safe; without one a random key is made. `again` allows paying for another package.
    """

    dataset: str
    plan: str
    plan_label: str
    cost: Amounts
    package: int
    values: int
    neighbors: str
    query: str | None = None
    key: str | None = None
    again: bool = False
    disjoint: bool = False

    def __post_init__(self) -> None:
        checked_name("dataset", self.dataset)
        _checked_plan(self.plan)
        checked_name("plan_label", self.plan_label)
        object.__setattr__(self, "cost", checked_amounts("cost", self.cost))
        _count("package", self.package)
        _count("values", self.values)
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        if self.key is not None:
            _checked_key(self.key)
        if self.query is not None:
            _checked_query(self.query)
        if self.units > self.package:
            remedy = "Make a plan for more releases, or release fewer numbers."
            rule = f"at most the {self.package} that the plan is for"
            raise InputError("releases", rule, f"{self.units} in one request", remedy)

    @property
    def units(self) -> int:
        """How many of the plan's releases this uses."""
        return 1 if self.disjoint else self.values

    def fingerprint(self, key: str) -> str:
        """SHA-256 of what makes this request itself. No answer is in it, so it tells nothing of one."""
        return digest([self.plan, self.dataset, self.query, self.values, self.disjoint, key])


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
class Quote:
    """What a request would cost now, without spending it. `refusal` says why it would be refused, if so."""

    cost: Amounts
    remaining: Amounts
    units_left: int
    refusal: str | None
