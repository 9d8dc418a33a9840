"""`Budget.ask`: an accuracy, a budget and an answer; the budget chooses the noise, pays, draws and stores.

Width and confidence are given, or one of them and a share of what is left: then the narrowest width, or the
largest confidence, that this share buys is found. A retry with the same key comes back with the stored
answer, whatever the budget would choose by now.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.digits import percent_up, plain
from pbdp.domains import positive, probability
from pbdp.errors import ContradictionError, InputError
from pbdp.ledger.book import Spend
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_within
from pbdp.noise.kernel import Array, Index
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Amounts
from pbdp.planning.pricing.choice import QUICK, Affordable, laws_for, what_fits
from pbdp.planning.store import plan_from_record, plan_record
from pbdp.release.keystream import SecureKeystream

if TYPE_CHECKING:
    from pbdp.ledger.budget import Blocks, Budget

# A confidence that stands for the one to be found: any will do.
PLACEHOLDER = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An accuracy in words that a budget can answer: two of width, confidence and share of what is left."""

    sensitivity: float
    within: Any = None
    confidence: float | None = None
    share: float | None = None
    integer: bool = False
    nonnegative: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
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

    def words(self) -> str:
        """The question as the history shows it; it is public."""
        parts = [
            None if self.within is None else f"within {_said(self.within)}",
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

    `low <= true answer <= high` holds with `confidence`. `share` is what it cost of the whole budget, and
    `spent` what is spent now; `repeated` says that it is the stored answer to an earlier request.
    """

    value: Any
    low: Any
    high: Any
    confidence: float
    plan: Plan
    key: str
    share: float
    spent: float
    repeated: bool

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
    *,
    key: str | None = None,
    query: str | None = None,
    blocks: Blocks = None,
) -> Asked:
    """Choose, pay, draw, store."""
    before = None if key is None else budget.ledger.spend_of(key)
    if key is None or before is None:
        plan = choose(budget, question, blocks)
    else:
        plan = _paid_before(budget, question, before, blocks)
    ready = plan.prepared(answer)
    if ready.count != 1:
        rule = "one number for one question"
        raise InputError("answer", rule, f"{ready.count}", "Plan for several, or ask one by one.")
    stored, paid = budget.answered(
        plan,
        1,
        lambda: _packed(plan, ready.draw(SecureKeystream())),
        key=key,
        query=f"{question.words()}; {query}" if query else question.words(),
        again=True,
        blocks=blocks,
    )
    plan, values = _unpacked(stored, paid.key)
    value = ready.restored(values)
    low, high = plan.interval(value)
    repeated = paid.stored_answer is not None
    return Asked(
        value=value,
        low=low,
        high=high,
        confidence=plan.confidence,
        plan=plan,
        key=paid.key,
        share=0.0 if repeated else budget.terms.share_of_cost(paid.charged, paid.spent),
        spent=budget.spent,
        repeated=repeated,
    )


def _paid_before(budget: Budget, question: Question, spend: Spend, blocks: Blocks) -> Plan:
    """The plan that was paid for under this key: that of the stored answer, or the one chosen then.

    A process that died between paying and drawing left no answer. Its plan is found again, as it was chosen
    from what was left when it was paid.
    """
    chosen = budget.terms.chosen_blocks(blocks)
    if spend.answer is not None:
        plan = _unpacked(spend.answer, spend.key)[0]
        if budget.terms.plan_id(plan, chosen) == spend.plan:
            return plan
        raise KeyReusedError(spend.key)
    open_ended = question.within is None or question.confidence is None
    laws = (choose(budget, question, blocks, spend.spent_before),) if open_ended else ()
    for plan in laws or laws_for(question.requirement(budget)):
        if budget.terms.plan_id(plan, chosen) == spend.plan:
            return plan
    raise KeyReusedError(spend.key)


def _said(within: Any) -> str:
    """A width as it is written; 20 and 20.0 are the same question."""
    return plain(within) if isinstance(within, int | float) else str(within)


def _packed(plan: Plan, values: Array | Index) -> bytes:
    """The number and the plan it was drawn with."""
    alone = replace(plan, compared=tuple, proved=lambda _: None)
    content = {"asked": plan_record(alone), "values": values.tolist()}
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def _unpacked(stored: bytes, key: str) -> tuple[Plan, Array | Index]:
    content = json.loads(stored)
    if not isinstance(content, dict) or "asked" not in content:
        raise KeyReusedError(key)
    return plan_from_record(content["asked"]), np.array(content["values"])
