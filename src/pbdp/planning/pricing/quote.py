"""The price of plans in a budget: what they cost of it, what is left, and how many more of the same fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pbdp.digits import percent_up, rounded_up
from pbdp.planning.pricing.priced import name_of
from pbdp.planning.pricing.terms import Amounts, Plans, Terms


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class Price:
    """What one package of each plan costs after `spent`, all of them as one step; None if it does not fit."""

    terms: Terms
    plans: Plans
    blocks: tuple[str, ...]
    spent: Amounts

    @cached_property
    def cost(self) -> Amounts | None:
        """In the ledger's whole numbers."""
        return self.terms.cost(self.plans, self.spent, self.blocks)

    @property
    def fits(self) -> bool:
        """Whether it may be spent now."""
        return self.cost is not None

    @property
    def spent_before(self) -> float:
        """The share of the budget that is spent, of the blocks that pay."""
        return self.terms.share(self.spent, self.blocks)

    @property
    def spent_after(self) -> float | None:
        """The share that would be spent after it."""
        cost = self.cost
        if cost is None:
            return None
        after = {name: amount + cost[name] for name, amount in self.spent.items()}
        return self.terms.share(after, self.blocks)

    @property
    def share(self) -> float | None:
        """The share of the whole budget that it costs."""
        after = self.spent_after
        return None if after is None else max(after - self.spent_before, 0.0)

    @cached_property
    def times(self) -> tuple[int | None, bool]:
        """How many fit one after the other, and whether this was counted; None if there is no end to it."""
        found = [self.terms.times(self.plans, self.terms.left(self.spent, block)) for block in self.blocks]
        counts = [count for count, _ in found if count is not None]
        return (min(counts) if counts else None), all(exact for _, exact in found)

    @property
    def label(self) -> str:
        """The noise in a word or two."""
        each = [f"{name_of(plan)}{f' x {count}' if count > 1 else ''}" for plan, count in self.plans]
        return " with ".join(each)

    def describe(self) -> str:
        """The price in words, one line a fact."""
        if self.share is None or self.spent_after is None:
            spent = percent_up(self.spent_before)
            return f"{self.label} does not fit: {spent} of the budget is spent. {self.advice()}"
        share = f"{percent_up(self.share)} of the budget" if self.share > 0 else "next to nothing"
        lines = [f"{self.label} costs {share}; afterwards {percent_up(self.spent_after)} is spent."]
        return "\n".join([*lines, self._more()])

    def advice(self) -> str:
        """What would help where it does not fit."""
        missing = self.lacks_reserve
        if missing is not None:
            delta = self.terms.delta
            remedy = f" (--reserve {rounded_up(missing / delta)})" if missing < delta else ""
            return (
                f"It puts {rounded_up(missing)} of delta on outputs that a neighbor cannot have, more than "
                "the budget has in reserve. Plan with a smaller delta, or make the budget with a larger "
                f"reserve{remedy}."
            )
        return "A larger width or a smaller confidence costs less."

    @property
    def lacks_reserve(self) -> float | None:
        """The probability that it sets aside, if the reserve cannot pay for that."""
        for block in self.blocks:
            missing = self.terms.lacks_reserve(self.plans, self.terms.left(self.spent, block))
            if missing is not None:
                return missing
        return None

    def record(self) -> dict[str, Any]:
        """The same for a program to read."""
        times, counted = self.times if self.fits else (0, True)
        return {
            "plan": self.label,
            "fits": self.fits,
            "share": self.share,
            "spent_before": self.spent_before,
            "spent_after": self.spent_after,
            "times": times,
            "times_counted": counted,
            "cost": self.cost,
            "advice": None if self.fits else self.advice(),
        }

    def _more(self) -> str:
        times, counted = self.times
        if times is None:
            return "Any number of the same would fit."
        more = times - 1
        if not more:
            return "After that, no more like it would fit."
        return f"After that, {'' if counted else 'about '}{more:,} more like it would fit."


def price(terms: Terms, plans: Plans, spent: Amounts | None = None, blocks: object = None) -> Price:
    """The price of plans, each so many times, after `spent` (nothing, if left out)."""
    terms.check_relation(plans)
    before = dict.fromkeys(terms.limits(), 0) if spent is None else dict(spent)
    chosen = terms.chosen_blocks(blocks)  # type: ignore[arg-type]  # checked there
    return Price(terms=terms, plans=plans, blocks=chosen, spent=before)
