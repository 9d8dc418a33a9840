"""What every rule of a dataset can say of itself."""

from __future__ import annotations

from typing import Any, Protocol

from pbdp.errors import InputError
from pbdp.planning.pricing.priced import Priced

Amounts = dict[str, int]
Record = dict[str, Any]


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
