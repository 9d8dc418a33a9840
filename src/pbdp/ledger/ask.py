"""`Budget.ask`: an accuracy, a budget and an answer; the budget chooses the noise, pays, draws and stores.

Width and confidence are given, or one of them and a share of what is left: then the narrowest width, or the
largest confidence, that this share buys is found. A retry with the same key comes back with the stored
answer, whatever the budget would choose by now. A percentage with a floor is looked for: see `ledger.looks`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from pbdp.digits import percent_up, plain
from pbdp.errors import ContradictionError, InputError
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.request import Reservation, about
from pbdp.ledger.snapshot import Spend
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.relative import WidthText
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import Within, region_within
from pbdp.noise.kernel import Array, Index
from pbdp.parameters import positive, probability
from pbdp.paying import Blocks, PayingFor
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Amounts
from pbdp.planning.pricing.choice import QUICK, Affordable, laws_for, what_fits
from pbdp.planning.records import plan_record
from pbdp.planning.store import plan_from_record
from pbdp.release.keystream import SecureKeystream

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.looks import Looked

# A confidence that stands for the one to be found: any will do.
PLACEHOLDER = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An accuracy in words that a budget can answer: two of width, confidence and share of what is left.

    `floor` makes a width of "5%" the larger of 5 % of the truth and the floor; `expect` is a range in which
    answers are expected, which changes what that costs and nothing else. `sharpenable` asks for Gaussian-type
    noise, which can be sharpened for the difference in cost.
    """

    sensitivity: float
    within: Within | None = None
    confidence: float | None = None
    share: float | None = None
    integer: bool = False
    nonnegative: bool = False
    step: float | None = None
    floor: float | None = None
    expect: tuple[float, float] | None = None
    sharpenable: bool = False

    def __post_init__(self) -> None:
        self._check_floor()
        if self.sharpenable and (self.share is not None or self.within is None or self.confidence is None):
            remedy = "Leave out the share of what is left."
            raise ContradictionError("sharpenable", "used with a width and a confidence", "a share", remedy)
        given = [name for name in ("within", "confidence", "share") if getattr(self, name) is not None]
        if self.share is not None:
            probability("share", self.share, "0.1 spends a tenth of what is left.")
        if len(given) < 2:
            raise ContradictionError(
                "within, confidence and share",
                "given two at a time",
                " and ".join(given) or "none of them",
                "within=50, confidence=0.95 asks for an accuracy; share=0.1 spends a tenth of what is left.",
            )
        positive("sensitivity", self.sensitivity)

    def _check_floor(self) -> None:
        written = WidthText.read(self.within)
        alone = written is not None and not written.plus
        if self.floor is None and not alone:
            if self.expect is not None:
                raise ContradictionError("expect", "used with a floor", "none")
            return
        if not alone:
            remedy = 'within="5%", floor=50 is 5 % of the truth, or 50 where that is more.'
            got = "no width" if self.within is None else f"within {_said(self.within)}"
            raise ContradictionError("floor", "used with a percentage", got, remedy)
        if self.floor is None:
            remedy = "Small answers need a width of their own; floor=50, say."
            raise ContradictionError("floor", "given with a percentage", "none", remedy)
        if self.share is not None or self.confidence is None:
            raise ContradictionError(
                "confidence", "given with a percentage and a floor", "a share of what is left"
            )

    def words(self) -> str:
        """The question as the history shows it; it is public."""
        expected = None if self.expect is None else f"expected from {self.expect[0]:g} to {self.expect[1]:g}"
        parts = [
            None if self.within is None else f"within {_said(self.within)}",
            None if self.floor is None else f"floor {_said(self.floor)}",
            expected,
            "to be sharpened" if self.sharpenable and self.floor is None else None,
            None if self.confidence is None else f"confidence {self.confidence:g}",
            None if self.share is None else f"{self.share:g} of what is left",
            f"sensitivity {self.sensitivity:g}",
            "whole" if self.integer else None,
            "not negative" if self.nonnegative else None,
            None if self.step is None else f"step {self.step:g}",
        ]
        return ", ".join(part for part in parts if part is not None)

    def requirement(self, budget: Budget) -> Requirement:
        """What is asked, with place holders for what is to be found."""
        if budget.terms.delta == 0:
            raise InputError("delta", "above zero in a budget that chooses noise", "0", "Make one with 1e-9.")
        region = (
            AbsoluteRegion.even(1.0) if self.within is None else region_within(self.within, self.nonnegative)
        )
        return Requirement(
            region=region,
            confidence=PLACEHOLDER if self.confidence is None else self.confidence,
            sensitivity=self.sensitivity,
            delta=budget.terms.delta,
            integer=self.integer,
            step=self.step,
            neighbors=budget.terms.neighbors,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A published number, the interval it stands for, the plan that was chosen, and what it cost.

    The number is an int where whole ones are published, else a float, whatever type the answer had.
    `low <= true answer <= high` holds with `confidence`. `share` is what it cost of the whole budget, and
    `spent` what is spent now; `repeated` says that it is the stored answer to an earlier request.
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
        return (
            f"{self.value}, with {self.plan.describe()}.\n{cost}; {percent_up(self.spent)} is spent now. "
            f"Request key: {self.key}"
        )


def choose(budget: Budget, question: Question, blocks: Blocks = None, spent: Amounts | None = None) -> Plan:
    """The certified law that answers the question at the least cost of what is left; nothing is spent.

    `spent` is what was spent when the question came; what is spent now, if left out.
    """
    spent = budget.state.spent if spent is None else spent
    requirement = question.requirement(budget)
    if question.sharpenable:
        from pbdp.ledger.sharpen import sharpenable_plan

        return sharpenable_plan(requirement)
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


def ask(
    budget: Budget,
    question: Question,
    answer: object,
    **paying: Unpack[PayingFor],
) -> Asked | Looked:
    """Choose, pay, draw, store; look several times where a percentage has a floor."""
    if question.floor is not None:
        from pbdp.ledger.looks import look

        return look(budget, question, answer, **paying)
    key, blocks = paying.get("key"), paying.get("blocks")
    before = None if key is None else budget.ledger.spend_of(key)
    if key is None or before is None:
        plan = choose(budget, question, blocks)
    else:
        plan = _paid_before(budget, question, before, blocks)
    alone = replace(plan, compared=tuple, proved=lambda _: None)
    beside = {"asked": plan_record(alone)}
    drawn = Drawn.of(budget, plan, answer, beside, about(paying, question.words()))
    # what was drawn just now has the plan that it was drawn with, and its tables
    then, values = _unpacked(drawn.content, drawn.paid.key) if drawn.repeated else (plan, drawn.values)
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
    return int(values[0]) if plan.mechanism.output_grid.whole_outputs else float(values[0])


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
        plan = _unpacked(json.loads(spend.answer), spend.key)[0]
        if budget.terms.plan_id(plan, chosen) == spend.plan:
            return plan
        raise KeyReusedError(spend.key)
    open_ended = question.within is None or question.confidence is None
    chosen_then = open_ended or question.sharpenable
    laws = (choose(budget, question, blocks, spend.spent_before),) if chosen_then else ()
    for plan in laws or laws_for(question.requirement(budget)):
        if budget.terms.plan_id(plan, chosen) == spend.plan:
            return plan
    raise KeyReusedError(spend.key)


def _said(within: Within | float) -> str:
    """A width as it is written; 20 and 20.0 are the same question."""
    return plain(within) if isinstance(within, int | float) else str(within)


def _unpacked(content: object, key: str) -> tuple[Plan, Array | Index]:
    if not isinstance(content, dict) or "asked" not in content:
        raise KeyReusedError(key)
    return plan_from_record(content["asked"]), np.array(content["values"])
