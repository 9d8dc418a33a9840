"""The price of a plan under a rule: what it costs, what remains, and how many more of the same fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pbdp.errors import InputError
from pbdp.planning.pricing.priced import Priced, name_of
from pbdp.planning.pricing.rule import Amounts, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The cost of one package of a plan, and what was spent before it; all in the rule's whole numbers."""

    rule: Rule
    plan: str
    cost: Amounts
    spent: Amounts
    limits: Amounts

    @property
    def fits(self) -> bool:
        """Whether one package may be spent now."""
        return self.times is None or self.times > 0

    @property
    def times(self) -> int | None:
        """How many packages may be spent from now on, one after the other; None if there is no end to it."""
        counts = [
            max(self.limits[name] - self.spent[name], 0) // cost for name, cost in self.cost.items() if cost
        ]
        overspent = any(self.spent[name] > self.limits[name] for name in self.limits)
        return 0 if overspent else min(counts, default=None)

    @property
    def remaining(self) -> Amounts:
        """What may be spent before it."""
        return {name: max(limit - self.spent[name], 0) for name, limit in self.limits.items()}

    @property
    def remaining_after(self) -> Amounts | None:
        """What may be spent after it; None if it does not fit."""
        if not self.fits:
            return None
        return {name: left - self.cost[name] for name, left in self.remaining.items()}

    def describe(self) -> str:
        """The price in words, one line a fact."""
        lines = [f"{self.plan} costs {self._listed(self.cost)}."]
        after = self.remaining_after
        if after is None:
            short = [name for name, left in self.remaining.items() if self.cost[name] > left]
            left = {name: self.remaining[name] for name in short}
            lines.append(f"It does not fit: there is {self._listed(left)} left. {self.rule.advice()}")
        else:
            lines.append(f"After it {self._listed(after)} would be left.")
            lines.append(self._more())
        return "\n".join(lines)

    def record(self) -> dict[str, Any]:
        """The same for a program to read."""
        return {
            "rule": self.rule.kind,
            "plan": self.plan,
            "fits": self.fits,
            "cost": self.cost,
            "spent": self.spent,
            "limits": self.limits,
            "remaining": self.remaining,
            "remaining_after": self.remaining_after,
            "times": self.times,
        }

    def _more(self) -> str:
        if self.times is None:
            return "Any number of the same fit."
        more = self.times - 1
        return f"{more:,} more of the same would fit then." if more else "No more of the same would fit then."

    def _listed(self, amounts: Amounts) -> str:
        # a batch has a name for every plan: those that are not touched say nothing
        told = {name: amount for name, amount in amounts.items() if self.cost[name]} or amounts
        return " and ".join(self.rule.in_words(name, amount) for name, amount in told.items())


def price(rule: Rule, plan: Priced, spent: Mapping[str, int] | None = None) -> Price:
    """The price of one package of a plan after `spent` (nothing, if left out)."""
    limits = rule.limits()
    before = dict.fromkeys(limits, 0) if spent is None else dict(spent)
    if before.keys() != limits.keys():
        raise InputError("spent", f"in the amounts of the rule ({', '.join(limits)})", ", ".join(before))
    return Price(rule=rule, plan=name_of(plan), cost=rule.cost(plan), spent=before, limits=limits)
