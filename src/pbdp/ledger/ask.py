"""`Budget.ask`: an accuracy, a budget and an answer; the budget chooses the noise, pays, draws and stores.

Width and confidence are given, or one of them and a share of what is left: then the narrowest width, or the
largest confidence, that this share buys is found. A retry with the same key comes back with the stored
answer, whatever the budget would choose by now. A percentage with a floor is looked for: see `ledger.looks`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.digits import percent_down, percent_up, plain
from pbdp.errors import InputError
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.ledger import Spend
from pbdp.ledger.question import AskRequest, Question
from pbdp.ledger.request import Reservation, about
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_within
from pbdp.noise.kernel import Array, Index
from pbdp.paying import Blocks, PayingFor
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.planning.pricing import Amounts
from pbdp.planning.pricing.choice import QUICK, Affordable, laws_for, what_fits
from pbdp.release.keystream import SecureKeystream

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.looks import Looked

# A confidence that stands for the one to be found: any will do.
PLACEHOLDER = 0.5


def requirement_of(question: Question, budget: Budget) -> Requirement:
    """What is asked, with place holders for what is to be found."""
    if budget.terms.delta == 0:
        raise InputError("delta", "above zero in a budget that chooses noise", "0", "Make one with 1e-9.")
    region = (
        AbsoluteRegion.even(1.0)
        if question.within is None
        else region_within(question.within, question.nonnegative)
    )
    return Requirement(
        region=region,
        confidence=PLACEHOLDER if question.confidence is None else question.confidence,
        sensitivity=question.sensitivity,
        delta=budget.terms.delta,
        integer=question.integer,
        step=question.step,
        neighbors=budget.terms.neighbors,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A published number, the interval it stands for, the plan that was chosen, and what it cost.

    The number is an int where whole ones are published, else a float, whatever type the answer had.
    `low <= true answer <= high` holds with `confidence`. `share` is what it cost of the whole budget, and
    `spent` what is spent now; `repeated` says that it is the stored answer to an earlier request.

    A sharpened answer is the average of `averaged` numbers, `plan` is that of the last of them. Its interval
    holds by itself: if the widths were not chosen because of what earlier answers showed. `joint` are the
    ends that hold for all answers under the key together, however they were chosen.
    """

    value: float
    low: float
    high: float
    confidence: float
    plan: Plan
    key: str
    share: float
    spent: float
    repeated: bool
    averaged: int = 1
    joint: tuple[float, float] | None = None

    @property
    def answer(self) -> float:
        """The published number."""
        return self.value

    @property
    def cost(self) -> float:
        """What it cost of the whole budget; the same as `share`."""
        return self.share

    def describe(self) -> str:
        """In words, one line a fact."""
        cost = (
            "It was paid for before" if self.repeated else f"It cost {percent_up(self.share)} of the budget"
        )
        spent = f"{cost}; {percent_up(self.spent)} is spent now. Request key: {self.key}"
        if self.joint is None:
            return f"{self.value}, with {self.plan.describe()}.\n{spent}"
        return "\n".join([str(self.value), *self.interval_lines(), spent])

    def interval_lines(self) -> list[str]:
        """Where the true answer is, in sentences."""
        ends = f"The true answer is between {plain(self.low)} and {plain(self.high)}"
        lines = [f"{ends}, with confidence {percent_down(self.confidence)}."]
        if self.joint is not None:
            joint = f"{plain(self.joint[0])} to {plain(self.joint[1])}"
            lines[0] += f" It is the average of {self.averaged} answers."
            lines.append(f"If you asked again because of what an earlier answer showed, go by {joint}.")
        return lines


def choose(budget: Budget, question: Question, blocks: Blocks = None, spent: Amounts | None = None) -> Plan:
    """The certified law that answers the question at the least cost of what is left; nothing is spent.

    `spent` is what was spent when the question came; what is spent now, if left out.
    """
    spent = budget.state.spent if spent is None else spent
    requirement = requirement_of(question, budget)
    payer = Affordable(
        terms=budget.terms,
        spent=spent,
        blocks=budget.terms.chosen_blocks(blocks),
        share=1.0 if question.share is None else question.share,
    )
    quick = replace(payer, families=QUICK)
    if question.within is None:
        requirement = quick.narrowest(requirement).requirement
    elif question.confidence is None:
        requirement = quick.largest_confidence(requirement).requirement
    plan = payer.plan(requirement)
    if plan is not None:
        return plan
    share = percent_up(budget.terms.share(spent, payer.blocks))
    cheapest = laws_for(requirement)[0]
    raise BudgetExceededError(
        budget.dataset,
        f"{share} of it is spent, and too little is left",
        what_fits(payer, cheapest, any_law=True),
    )


def ask(budget: Budget, asked: AskRequest) -> Asked | Looked:
    """Choose, pay, draw, store; look several times where a percentage has a floor."""
    question, answer, paying = asked, asked.answer, asked.payment
    if asked.floor is not None:
        from pbdp.ledger.looks import look

        return look(budget, question, answer, **paying)
    if asked.sharpenable:
        from pbdp.ledger.sharpening import ask_again

        return ask_again(budget, question, answer, **paying)
    key, blocks = paying.get("key"), paying.get("blocks")
    before = None if key is None else budget.ledger.spend_of(key)
    if key is None or before is None:
        plan = choose(budget, question, blocks)
    else:
        plan = _paid_before(budget, question, before, blocks)
    beside = {"asked": plan_record(plan)}
    drawn = Drawn.of(budget, plan, answer, beside, about(paying, question.words()))
    # what was drawn just now has the plan that it was drawn with, and its tables
    then, values = unpacked(drawn.content, drawn.paid.key) if drawn.repeated else (plan, drawn.values)
    plan, value = then, number_of(then, values)
    low, high = plan.interval(value)
    return Asked(
        value=value,
        low=low,
        high=high,
        confidence=plan.confidence,
        plan=plan,
        key=drawn.paid.key,
        share=0.0 if drawn.repeated else drawn.share(budget),
        spent=budget.spent,
        repeated=drawn.repeated,
    )


def number_of(plan: Plan, values: Array | Index) -> float:
    """The one published number, which a double holds exactly; whole where the plan publishes such."""
    return int(values[0]) if plan.mechanism.grid.whole_outputs else float(values[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """A number that was paid for, drawn and stored: what is stored with it, and what was paid."""

    content: dict[str, Any]
    paid: Reservation

    @classmethod
    def of(
        cls,
        budget: Budget,
        plan: Plan,
        answer: object,
        beside: dict[str, Any],
        paying: PayingFor,
    ) -> Drawn:
        """Pay for one number, draw it unless it was, and store it beside what is to be known of it later."""
        ready = plan.prepared(answer)
        if ready.count != 1:
            rule = "one number for one question"
            raise InputError("answer", rule, f"{ready.count}", "Plan for several, or ask one by one.")

        def draw() -> bytes:
            content = {**beside, "values": ready.draw(SecureKeystream()).tolist()}
            return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()

        stored, paid = budget.answered(plan, 1, draw, again=True, **paying)
        content = json.loads(stored)
        if not isinstance(content, dict) or not content.keys() >= beside.keys():
            raise KeyReusedError(paid.key)
        return cls(content=content, paid=paid)

    @property
    def repeated(self) -> bool:
        """Whether it was drawn before."""
        return self.paid.stored_answer is not None

    @property
    def values(self) -> Array | Index:
        """The numbers that were published."""
        return np.array(self.content["values"])

    def share(self, budget: Budget) -> float:
        """What it cost of the whole budget, when it was paid."""
        return budget.terms.share_of_cost(self.paid.charged, self.paid.spent)


def _paid_before(budget: Budget, question: Question, spend: Spend, blocks: Blocks) -> Plan:
    """The plan that was paid for under this key: that of the stored answer, or the one chosen then.

    A process that died between paying and drawing left no answer. Its plan is found again, as it was chosen
    from what was left when it was paid.
    """
    chosen = budget.terms.chosen_blocks(blocks)
    if spend.answer is not None:
        plan = unpacked(json.loads(spend.answer), spend.key)[0]
        if budget.terms.plan_id(plan, chosen) == spend.plan:
            return plan
        raise KeyReusedError(spend.key)
    open_ended = question.within is None or question.confidence is None
    laws = (choose(budget, question, blocks, spend.spent_before),) if open_ended else ()
    for plan in laws or laws_for(requirement_of(question, budget)):
        if budget.terms.plan_id(plan, chosen) == spend.plan:
            return plan
    raise KeyReusedError(spend.key)


def unpacked(content: object, key: str) -> tuple[Plan, Array | Index]:
    """The plan of a stored answer, and its numbers."""
    if not isinstance(content, dict) or "asked" not in content:
        raise KeyReusedError(key)
    return plan_from_record(content["asked"]), np.array(content["values"])
