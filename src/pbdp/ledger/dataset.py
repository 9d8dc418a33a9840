"""What a dataset may spend and has spent, in named whole-number amounts, and what plans have bought from it.

Limits, costs and totals are exact integers: no floats, no tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pbdp.errors import InputError

# Far above any use, and small enough for every JSON reader that takes whole numbers of any length.
LARGEST = 2**4096
LONGEST_NAME = 100

Amounts = dict[str, int]
Sign = Literal[1, -1]


def checked_name(what: str, name: object) -> str:
    """A name for people: printable, not empty, no spaces at its ends."""
    rule = f"1 to {LONGEST_NAME} printable characters without spaces at the ends"
    if not isinstance(name, str):
        raise InputError(what, rule, type(name).__name__)
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()):
        raise InputError(what, rule, ascii(name[: LONGEST_NAME + 1]))
    return name


def checked_amounts(what: str, amounts: object) -> Amounts:
    """A copy, if every amount is a whole number from 0 to `LARGEST` and has a proper name."""
    rule = "whole numbers of at least 0, by name"
    if not isinstance(amounts, Mapping) or not amounts:
        raise InputError(what, rule, "nothing" if amounts == {} else type(amounts).__name__)
    for name, amount in amounts.items():
        checked_name(f"a name in {what}", name)
        if type(amount) is not int:
            remedy = "Round up to a whole number of the unit first."
            raise InputError(f"{what}[{name!r}]", "a whole number (int)", type(amount).__name__, remedy)
        if not 0 <= amount <= LARGEST:
            value = amount if amount < 0 and amount >= -LARGEST else "a larger one"
            raise InputError(f"{what}[{name!r}]", "a whole number from 0 to 2^4096", value)
    return {str(name): int(amounts[name]) for name in sorted(amounts)}


def total(first: Amounts, second: Amounts, sign: Sign = 1) -> Amounts:
    """`first + sign * second` for every name; both have the same names."""
    return {name: amount + sign * second[name] for name, amount in first.items()}


def first_above(amounts: Amounts, limits: Amounts) -> str | None:
    """The first name (in order of the alphabet) whose amount is above its limit."""
    return next((name for name in sorted(amounts) if amounts[name] > limits[name]), None)


def share_spent(spent: Mapping[str, int], limits: Mapping[str, int]) -> float:
    """The share of a budget that is spent, to the digits of a float: of the amount nearest its limit."""
    return max((spent[name] / limit if limit else 1.0 for name, limit in limits.items()), default=0.0)


def none_of(amounts: Amounts) -> Amounts:
    """Zero for every name."""
    return dict.fromkeys(amounts, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetState:
    """A budget as of one record.

    `rule` is the accounting rule, as it was given with the budget; the ledger does not interpret it.
    `releases` counts the requests that were paid for or drawn from a package. `sequence` is the record that
    this state was read from.
    """

    name: str
    limits: Amounts
    spent: Amounts
    rule: dict[str, Any]
    neighbors: str
    note: str | None
    releases: int
    created: str
    sequence: int

    @property
    def remaining(self) -> Amounts:
        """What may still be spent; zero where a recovery counted more than the limit."""
        return {name: max(0, limit - self.spent[name]) for name, limit in self.limits.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The releases of one plan on one dataset: how many were paid for, and how many are used."""

    bought: int = 0
    used: int = 0

    @property
    def left(self) -> int:
        """Releases that are paid for and not used."""
        return self.bought - self.used
