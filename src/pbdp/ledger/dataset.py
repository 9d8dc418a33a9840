"""The state of one dataset's budget, and of the packages that plans have bought from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pbdp.ledger.amounts import Amounts


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
