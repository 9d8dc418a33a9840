"""A percentage with a floor: cheap looks say how precise the last one must be, and the last is the answer.

What comes next is a function of what was published (`looks.procedure`), which the first look stores.

The most that it can cost, all scouts and the most precise last look, is priced before the first look; what
does not fit is refused then. If others spend the budget in between, the looks so far are returned, marked
incomplete. What the last of them showed decides how much the next would cost, and so whether it is the last.
So its interval has a level at which all scouts together miss no more often than the confidence allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pbdp.digits import percent_up
from pbdp.errors import InputError, shown
from pbdp.ledger.ask import Asked, Asking, requirement_of
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.looks.procedure import Procedure, Target, Width
from pbdp.ledger.looks.tuning import procedure_for
from pbdp.ledger.question import Question
from pbdp.mechanism.relative import WidthText
from pbdp.paying import Blocks
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Amounts
from pbdp.planning.pricing.choice import Affordable
from pbdp.root_finding import least_enough

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.request import Reservation

# Looking first is said to bring little where it saves less than this share of the price fixed in advance.
LITTLE = 0.1


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class Scouting(Asking):
    """A question to a percentage with a floor, the looks so far, and the procedure that they follow."""

    # with the first look: the procedure that was begun, and what all looks could cost then
    begun: Procedure | None = None
    most: float | None = None

    @cached_property
    def procedure(self) -> Procedure:
        """The one that was begun, or a new one."""
        return self.price.procedure if self.begun is None else self.begun

    @cached_property
    def price(self) -> LookPrice:
        """What all looks cost, as of when the first one was paid for, or of now."""
        paid = self.paid
        spent = self.budget.state.spent if paid is None else paid.spent_before
        return LookPrice.of(self.budget, self.question, self.question.blocks, spent)

    def next_plan(self) -> Plan | None:
        """The look that the procedure has after these; before the first one all that may come must fit."""
        if not self.looks and self.paid is None and self.price.most is None:
            spent = percent_up(self.budget.terms.share(self.price.spent, self.blocks))
            reason = f"{spent} of it is spent, and all looks together could cost more than is left"
            raise BudgetExceededError(self.budget.dataset, reason, self.price.advice())
        return self._plan_in(self.procedure)

    def stored_plan(self, content: Mapping[str, Any], spend: Reservation) -> Plan:
        """The look of this number in the procedure that was begun, for the same question."""
        if not self.looks and ("procedure" not in content or spend.query != self.words):
            raise KeyReusedError(self.key)
        plan = self._plan_in(self._begun_in(content))
        if plan is None:
            raise KeyReusedError(self.key)
        return plan

    @property
    def beside(self) -> dict[str, Any]:
        """The procedure, and what it may cost, with the first look."""
        return {} if self.looks else {"procedure": self.procedure.record(), "most": self.price.most}

    def taking(
        self, plan: Plan, content: Mapping[str, Any], cost: Amounts, spent: Amounts, *, repeated: bool
    ) -> Self:
        """The same with this look; the first one says which procedure was begun."""
        taken = super().taking(plan, content, cost, spent, repeated=repeated)
        if self.looks:
            return taken
        return replace(taken, begun=self._begun_in(content), most=content["most"])

    def _begun_in(self, content: Mapping[str, Any]) -> Procedure:
        return self.procedure if self.looks else Procedure.from_record(content["procedure"])

    def outcome(self, *, complete: bool = True) -> Asked:
        """The last look: its noise is independent of all that decided how precise it is."""
        last, confidence = self.looks[-1], self.procedure.target.width.confidence
        value, (low, high) = last.value, last.plan.interval(last.value)
        if not complete:
            # of one of the scouts, and its own value may have decided of which
            missed = (1 - confidence) / len(self.procedure.scouts)
            low, high = last.plan.interval(value, 1 - missed)
        if self.question.nonnegative:
            # never further from an answer that is not negative
            value = max(value, type(value)(0))
            low, high = max(low, 0.0), max(high, 0.0)
        return Asked(
            value=value,
            low=low,
            high=high,
            confidence=confidence,
            looks=self.looks,
            key=self.key,
            spent=self.budget.spent,
            complete=complete,
            most=self.most,
        )

    def _plan_in(self, procedure: Procedure) -> Plan | None:
        grid = procedure.target.grid
        steps = [round(Fraction(look.value) / Fraction(grid.step)) for look in self.looks]
        sigma = procedure.next_look(steps)
        return None if sigma is None else procedure.plan(sigma)


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class LookPrice:
    """What looking costs, before anything is spent."""

    budget: Budget
    question: Question
    procedure: Procedure
    blocks: tuple[str, ...]
    spent: Amounts

    @classmethod
    def of(
        cls, budget: Budget, question: Question, blocks: Blocks = None, spent: Amounts | None = None
    ) -> LookPrice:
        """The price of a question after what was `spent`; as of now, if left out."""
        return cls(
            budget=budget,
            question=question,
            procedure=procedure_of(budget, question),
            blocks=budget.terms.chosen_blocks(blocks),
            spent=budget.state.spent if spent is None else spent,
        )

    @cached_property
    def most(self) -> float | None:
        """The share of the whole budget that all looks cost, one after the other; None if they do not fit."""
        terms, spent = self.budget.terms, dict(self.spent)
        for sigma in self.procedure.longest():
            cost = terms.cost(((self.procedure.plan(sigma), 1),), spent, self.blocks)
            if cost is None:
                return None
            spent = {name: amount + cost[name] for name, amount in spent.items()}
        return terms.share(spent, self.blocks) - terms.share(self.spent, self.blocks)

    def about(self, answer: float) -> float | None:
        """About the mean share at an answer: in proportion to the precision that is bought."""
        if self.most is None:
            return None
        step, precision = self.procedure.target.grid.step, sum(s**-2 for s in self.procedure.longest())
        return self.most * self.procedure.precision_at(answer / step) / precision

    @cached_property
    def fixed(self) -> tuple[str, float] | None:
        """The law that costs least for the floor, fixed in advance, and its share; None if none fits."""
        floor = replace(self.question, within=self.question.floor, floor=None, expect=None)
        payer = Affordable(terms=self.budget.terms, spent=self.spent, blocks=self.blocks)
        found = payer.choice(requirement_of(floor, self.budget))
        return None if found is None else (found.plan.mechanism.name, found.price.share or 0.0)

    @property
    def saves_from(self) -> float | None:
        """About the answer from which on looking costs less than the floor fixed in advance."""
        if self.fixed is None or self.most is None or not self.procedure.scouts:
            return None
        (_, fixed), width = self.fixed, self.procedure.target.width
        found = least_enough(
            lambda answer: (self.about(answer) or 0.0) - fixed, width.floor / width.theta, close=0.01
        )
        return float(f"{found:.2g}") if math.isfinite(found) else None

    @property
    def gain(self) -> float | None:
        """How much of the price fixed in advance is saved in the mean, at the answers that were expected."""
        if self.fixed is None or self.most is None or self.question.expect is None:
            return None
        low, high = self.question.expect
        shares = [self.about(answer) or 0.0 for answer in np.geomspace(low, high, 24).tolist()]
        return 1 - float(np.mean(shares)) / self.fixed[1] if self.fixed[1] else None

    def describe(self) -> str:
        """In words."""
        width = self.procedure.target.width
        if self.most is None:
            spent = percent_up(self.budget.terms.share(self.spent, self.blocks))
            return f"All looks together do not fit: {spent} of the budget is spent. {self.advice()}".strip()
        if not self.procedure.scouts:
            return (
                f"One look, {percent_up(self.most)} of the budget: at the answers that are expected nothing "
                f"would be saved by looking first. Ask for --within {width.floor:g} to let the budget choose "
                "the noise."
            )
        large = float(f"{10 * width.floor / width.theta:.2g}")
        about = percent_up(self.about(large) or 0.0)
        most = f"At most {percent_up(self.most)} of the budget"
        text = f"{most}; about {about} if the answer is above {large:,.12g}."
        return f"{text}\n{self.advice()}".strip()

    def advice(self) -> str:
        """What it would cost fixed in advance, and where looking gains little."""
        if self.fixed is None:
            return ""
        floor = f"{self.procedure.target.width.floor:g}"
        name, share = self.fixed
        text = f"Fixed in advance, within {floor} ({name} noise) costs {percent_up(share)}"
        if self.most is None:
            return f"{text} and fits: ask for --within {floor}."
        if self.gain is not None and self.gain < LITTLE:
            saved = f"only about {percent_up(self.gain)}" if self.gain > 0 else "nothing"
            return f"{text}: looking first saves {saved} at the answers you expect. Ask for --within {floor}."
        if self.saves_from is None:
            return f"{text}."
        return f"{text}; looking first is cheaper for answers above about {self.saves_from:,.12g}."

    def record(self) -> dict[str, Any]:
        """For a program to read."""
        fixed = None if self.fixed is None else {"noise": self.fixed[0], "share": self.fixed[1]}
        width = self.procedure.target.width
        answers = [width.floor / width.theta * factor for factor in (0.1, 1, 10, 100)]
        return {
            "fits": self.most is not None,
            "most": self.most,
            "about": [{"answer": answer, "share": self.about(answer)} for answer in answers],
            "fixed": fixed,
            "saves_from": self.saves_from,
            "looks_at_most": len(self.procedure.longest()),
        }


def procedure_of(budget: Budget, question: Question) -> Procedure:
    """The procedure for a question with a floor, proved for every answer."""
    if budget.terms.delta == 0:
        raise InputError("delta", "above zero in a budget that chooses noise", "0", "Make one with 1e-9.")
    written = WidthText.read(question.within)
    try:
        theta = float(Fraction(written.percent) / 100) if written and not written.plus else 0.0
    except (ValueError, ZeroDivisionError):
        theta = 0.0
    if not 0 < theta < 1:
        raise InputError("within", "a percentage above 0 and below 100", shown(question.within), "Write 5%.")
    width = Width(theta=theta, floor=question.floor or 0.0, confidence=question.confidence or 0.0)
    target = Target(
        width=width,
        sensitivity=question.sensitivity,
        delta=budget.terms.delta,
        integer=question.integer,
        step=question.step,
        neighbors=budget.terms.neighbors,
    )
    return procedure_for(target, question.expect)
