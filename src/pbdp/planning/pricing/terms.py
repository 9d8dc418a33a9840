"""The terms of a budget: (epsilon, delta), what is reserved, the blocks of people, and what a step costs.

A ledger keeps named whole numbers. Every block of people has three of them, in the units of
`accounting.filters.rule`: `variance` and `reserve`, of which so much may be spent, and `reach`, which only
grows. Reach has a limit as well, so far away that no spending gets there: a recovery that counts everything
as spent sets it there, and then nothing fits.

**Blocks.** A dataset may consist of disjoint blocks, each person in one of them only. A release that reads
some blocks is paid from these, and leaves the others as they are.

    Under add/remove one person's presence changes one block. What was released from other blocks has the
    same law with and without that person, so its loss is zero on every path, and the theorem of
    `accounting.filters` holds with the steps of that block alone. Its other steps may be chosen
    because of what other blocks gave: such choices are part of the past that the theorem allows.

Under replace a person may move from one block to another and change two, so blocks are refused there.

A `Price` is that of plans in a budget: what they cost of it, what is left, and how many more of the same fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from pbdp.accounting import RESERVE
from pbdp.accounting.composition.truncation import infinite_mass
from pbdp.accounting.filters.rule import NATS, PROBABILITIES, Filter, Left, not_above, written
from pbdp.accounting.risk import guarantee_curve, guessed_right, risk_words
from pbdp.digits import delta_text, epsilon_text, percent_up, rounded_down, rounded_up
from pbdp.errors import ContradictionError, InputError, shown
from pbdp.json_records import digest
from pbdp.kinds import NAMES
from pbdp.mechanism.neighbors import RELATION, Neighbors
from pbdp.planning.pricing.priced import Claim, Priced, compose_plans, fingerprint, losses_of, name_of

Amounts = dict[str, int]
Record = dict[str, Any]
Plans = tuple[tuple[Priced, int], ...]
NO_END = 10**24
MOST_BLOCKS = 256
LONGEST_BLOCK = 80
WHOLE = ""
KINDS = ("variance", "reach", "reserve")
# A composition may set aside so much of the reserve that is left, in powers of two to meet the same again.
_ASIDE = 2.0**-14
# How many fit is counted in leaps of a sixth of them; at once where there are more losses than so many.
LEAPS, LONG = 6, 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What was promised when the budget was made."""

    epsilon: float
    delta: float
    reserve: float = RESERVE
    neighbors: str = Neighbors.ADD_REMOVE
    blocks: tuple[str, ...] = ()
    filter: Filter = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbors", RELATION.check("neighbors", self.neighbors))
        object.__setattr__(
            self, "filter", Filter(epsilon=self.epsilon, delta=self.delta, reserve=self.reserve)
        )
        object.__setattr__(self, "blocks", tuple(self.blocks))
        _check_blocks(self.blocks, self.neighbors)

    def record(self) -> Record:
        """All there is to know, for JSON; numbers are written as text, so that no reader can round them."""
        numbers = {name: repr(float(getattr(self, name))) for name in ("epsilon", "delta", "reserve")}
        return {"rule": "potential", **numbers, "neighbors": self.neighbors, "blocks": list(self.blocks)}

    @classmethod
    def from_record(cls, record: Mapping[str, object]) -> Terms:
        """The terms of `record`."""
        try:
            numbers = {name: float(_text(record[name])) for name in ("epsilon", "delta", "reserve")}
            blocks = record["blocks"]
            if record["rule"] != "potential" or not isinstance(blocks, list):
                raise ValueError("another rule")
            return cls(**numbers, neighbors=_text(record["neighbors"]), blocks=tuple(map(_text, blocks)))
        except (LookupError, TypeError, ValueError):
            raise InputError("budget", "one that this pbdp knows", "another", "Upgrade pbdp.") from None

    def limits(self) -> Amounts:
        """What may be spent in all."""
        start = _start(self.filter)
        each = {"variance": start.variance, "reach": NO_END, "reserve": start.reserve}
        return {amount_name(kind, block): each[kind] for block in self.every_block for kind in KINDS}

    @property
    def every_block(self) -> tuple[str, ...]:
        """The blocks, or the whole dataset."""
        return self.blocks or (WHOLE,)

    def chosen_blocks(self, blocks: Iterable[str] | None) -> tuple[str, ...]:
        """The blocks that a release reads: all of them, unless some are named."""
        if blocks is None:
            return self.every_block
        none = isinstance(blocks, list | tuple | str) and not blocks
        chosen: tuple[str, ...] = () if none else NAMES.check("blocks", blocks)
        if not self.blocks:
            remedy = "Blocks are declared when the budget is made: --blocks north,south."
            raise ContradictionError("blocks", "left out for a dataset without blocks", "some", remedy)
        unknown = [block for block in chosen if block not in self.blocks]
        if unknown or not chosen:
            raise InputError(
                "blocks", f"among {', '.join(self.blocks)}", ", ".join(map(repr, unknown)) or "none"
            )
        return tuple(block for block in self.blocks if block in chosen)

    def plan_id(self, plan: Priced, blocks: tuple[str, ...]) -> str:
        """The plan's fingerprint; with the chosen blocks it is for, where those are not all."""
        own = fingerprint(plan)
        return own if blocks == self.every_block else digest([own, sorted(blocks)])

    def left(self, spent: Mapping[str, int], block: str = WHOLE) -> Left:
        """What is left of a block."""
        start, of = _start(self.filter), {kind: spent[amount_name(kind, block)] for kind in KINDS}
        return Left(
            variance=max(start.variance - of["variance"], 0),
            reach=of["reach"],
            reserve=max(start.reserve - of["reserve"], 0),
        )

    @property
    def noise_delta(self) -> float:
        """What the reserve leaves of delta, rounded down: plans at it need nothing of the reserve."""
        left = written(self.delta) - Fraction(_start(self.filter).reserve, PROBABILITIES)
        return not_above(left)

    def reserve_left(self, spent: Mapping[str, int]) -> float:
        """What is left of the reserve, rounded down, in the block that has the least."""
        least = min(self.left(spent, block).reserve for block in self.every_block)
        return not_above(Fraction(least, PROBABILITIES))

    def cost(
        self, plans: Plans, spent: Mapping[str, int], blocks: Sequence[str] | None = None
    ) -> Amounts | None:
        """What packages of these plans cost together after `spent`, in every block or in the chosen ones.

        None if they do not fit.
        """
        self.check_relation(plans)
        cost = dict.fromkeys(self.limits(), 0)
        for block in blocks or self.every_block:
            before = self.left(spent, block)
            after = self.after(plans, before)
            if after is None:
                return None
            cost[amount_name("variance", block)] = before.variance - after.variance
            cost[amount_name("reach", block)] = after.reach - before.reach
            cost[amount_name("reserve", block)] = before.reserve - after.reserve
        return cost

    def after(self, plans: Plans, left: Left) -> Left | None:
        """What is left after one step of these plans."""
        return _after(self.filter, plans, left)

    def times(self, plans: Plans, left: Left) -> tuple[int | None, bool]:
        """About how many such steps fit, one after the other, and whether that was counted one by one.

        None if there is no end to it. While many fit, several at a time are taken to cost what one does; more
        of them where the noise is spread over so many values that each step takes long.
        """
        count, exact = 0, True
        values = max((len(law.losses) for law in losses_of(plans, _aside(left)).laws), default=0)
        leaps = LEAPS if values <= LONG else 1
        while (after := self.after(plans, left)) is not None:
            used = left.variance - after.variance, after.reach - left.reach, left.reserve - after.reserve
            if used == (0, 0, 0):
                return None, True
            ahead = [left.variance // used[0]] if used[0] else []
            if used[2]:
                ahead.append(left.reserve // used[2])
            if left.variance == 0 and used[1]:
                ahead.append(int(self.epsilon * NATS - left.reach) // used[1])
            leap = max(min(ahead, default=0) // leaps, 1)
            exact = exact and leap == 1
            left = Left(
                variance=max(left.variance - leap * used[0], 0),
                reach=left.reach + leap * used[1],
                reserve=max(left.reserve - leap * used[2], 0),
            )
            count += leap
        return count, exact

    def more_at(self, spent: Mapping[str, int], cost: Mapping[str, int]) -> int | None:
        """About how many more would fit if each cost this; None if it costs nothing."""
        counts = (self._more_at(self.left(spent, block), cost, block) for block in self.every_block)
        return min((count for count in counts if count is not None), default=None)

    def _more_at(self, left: Left, cost: Mapping[str, int], block: str) -> int | None:
        of = {kind: cost[amount_name(kind, block)] for kind in KINDS}
        counts = [left.variance // of["variance"]] if of["variance"] else []
        if of["reach"]:
            # while epsilons add up, no variance is needed
            counts.append(max(int(self.epsilon * NATS) - left.reach, 0) // of["reach"])
        ends = [left.reserve // of["reserve"]] if of["reserve"] else []
        return min([max(counts), *ends]) if counts else None

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker with this prior guesses right, at most, when all of it is spent."""
        return guessed_right(guarantee_curve(self.epsilon, self.delta), prior)

    def risk_words(self) -> str:
        """The same in a sentence."""
        return risk_words(self.risk(), Neighbors(self.neighbors).question, "when all of it is spent, ")

    def theory(self) -> str:
        """Which guarantee applies, and why."""
        return (
            "However releases are chosen, even after seeing answers, all of them together are "
            f"({epsilon_text(self.epsilon)}, {delta_text(self.delta)})-DP. A potential that starts at "
            "delta and bounds what may "
            "still happen never grows on average: each release pays for the most that it can add, "
            "whatever the answers were. Sums of epsilons and exact compositions of packages are contained in "
            f"this. {self.reserve:.3g} of delta is reserved for outputs that a neighbor cannot have."
        )

    def share(self, spent: Mapping[str, int], blocks: Sequence[str] | None = None) -> float:
        """The share of the budget that is spent, from 0 to 1, of the block (of these) with the least left.

        It is that of the variance, or of epsilon where delta is zero. When all variance is spent, releases
        still fit as long as their epsilons add up (`adds_up`).
        """
        return max(self.share_of(self.left(spent, block)) for block in blocks or self.every_block)

    def share_of(self, left: Left) -> float:
        """The same of one block."""
        start = _start(self.filter).variance
        return 1 - left.variance / start if start else min(left.reach / (self.epsilon * NATS), 1.0)

    def share_of_cost(self, cost: Mapping[str, int], spent: Mapping[str, int]) -> float:
        """The share of the whole budget that was paid, in the block that paid most; `spent` is after it."""
        before = {name: amount - cost[name] for name, amount in spent.items()}
        return max(
            self.share_of(self.left(spent, block)) - self.share_of(self.left(before, block))
            for block in self.every_block
        )

    def adds_up(self, spent: Mapping[str, int]) -> float:
        """How much epsilon is left for releases whose epsilons simply add up."""
        reach = max(self.left(spent, block).reach for block in self.every_block)
        return max(self.epsilon - reach / NATS, 0.0)

    def check_relation(self, plans: Plans) -> None:
        """Refuse a plan whose guarantee is for another relation than the budget's."""
        for plan, _ in plans:
            if plan.neighbors != self.neighbors:
                raise InputError(
                    "neighbors",
                    f"{self.neighbors!r}, as for everything in this budget",
                    shown(plan.neighbors),
                    "Guarantees for different neighboring relations do not add up; plan with the same one.",
                )
            if self.delta == 0 and not (isinstance(plan, Claim) and plan.delta == 0):
                raise InputError(
                    "plan",
                    "free of any delta in a budget without one",
                    "noise from a finite table",
                    "Give the budget a delta when it is made, 1e-9, say.",
                )

    def lacks_reserve(self, plans: Plans, left: Left) -> float | None:
        """The probability that a step sets aside, if the reserve cannot pay for it."""
        found = losses_of(plans, _aside(left))
        missing = max((law.infinite_above for law in found.laws), default=0.0)
        return missing if missing * PROBABILITIES > left.reserve else None


def amount_name(kind: str, block: str) -> str:
    """The ledger's name for an amount of a block."""
    return f"{kind} of {block}" if block else kind


def _check_blocks(blocks: tuple[object, ...], neighbors: str) -> None:
    if not blocks:
        return
    if neighbors != Neighbors.ADD_REMOVE:
        raise ContradictionError(
            "blocks",
            "used with the neighbors add/remove",
            neighbors,
            "Replacing one person by another may change two blocks.",
        )
    if not all(
        isinstance(block, str) and 0 < len(block) <= LONGEST_BLOCK and block.isprintable() for block in blocks
    ):
        raise InputError("blocks", f"names of 1 to {LONGEST_BLOCK} printable characters", "others")
    if repeated := [block for block in dict.fromkeys(blocks) if blocks.count(block) > 1]:
        raise InputError("blocks", "different names", f"{repeated[0]!r} twice")
    if len(blocks) > MOST_BLOCKS:
        raise InputError("blocks", f"at most {MOST_BLOCKS}", f"{len(blocks):,}")


@lru_cache
def _start(filter_: Filter) -> Left:
    return filter_.start()


def _aside(left: Left) -> float:
    share = left.reserve / PROBABILITIES * _ASIDE
    return 2.0 ** math.floor(math.log2(share)) if share > 0 else 0.0


@lru_cache(maxsize=4096)
def _after(filter_: Filter, plans: Plans, left: Left) -> Left | None:
    if left.reach >= NO_END:
        return None
    losses = losses_of(plans, _aside(left))
    if all(law.is_nil for law in losses.laws):
        return left
    after = filter_.after(left, losses.laws, losses.reach)
    if after is None and left == _start(filter_) and _composition_fits(filter_, plans, left):
        return filter_.after(left, losses.laws, losses.reach, known=True)
    return after


def _composition_fits(filter_: Filter, plans: Plans, left: Left) -> bool:
    """Whether finite losses alone take no more of delta than the reserve leaves.

    Before anything is spent this is all that (1) of `accounting.filters` asks of c = v, and an exact
    composition knows it better than the grid of the filter does.
    """
    composed = compose_plans(plans)
    delta = composed.delta_at(filter_.epsilon_below).upper
    finite = Fraction(delta) - Fraction(infinite_mass(composed.parts).lower)
    return finite <= written(filter_.delta) - Fraction(left.reserve, PROBABILITIES)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


@dataclass(frozen=True, kw_only=True, repr=False)  # no slots: what is asked for is found once
class Price:
    """What one package of each plan costs after `spent`, all of them as one step; None if it does not fit."""

    terms: Terms
    plans: Plans
    blocks: tuple[str, ...]
    spent: Amounts

    def __repr__(self) -> str:
        cost = "does not fit" if self.share is None else f"{percent_up(self.share)} of the budget"
        return f"<Price of {self.label}: {cost}>"

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
            remedy = f" (--reserve {rounded_up(missing / delta)})" if missing < 0.99 * delta else ""
            left = rounded_down(self.terms.reserve_left(self.spent))
            return (
                f"It puts {rounded_up(missing)} of delta on outputs that a neighbor cannot have, more than "
                f"the {left} that the budget has in reserve. Plan with a smaller delta or with the budget "
                f"itself (budget=), or make the budget with a larger reserve{remedy}."
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
