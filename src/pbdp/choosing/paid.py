"""Choices that a budget pays for: paid before they are drawn, stored, and the same again for the same key."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from pbdp.choosing.law import Asked
from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.scores import Given, read_scores
from pbdp.choosing.search import plan_choice, plans_before, plans_for, plans_of_epsilon
from pbdp.digits import percent_up
from pbdp.json_records import digest
from pbdp.ledger.errors import KeyReusedError
from pbdp.ledger.request import about
from pbdp.paying import PayingFor
from pbdp.planning.plan import Plan
from pbdp.release.keystream import SECURE

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What was chosen (an option, or the list of the `top` ones), the plan, and what it cost.

    `share` is the cost as a share of the whole budget and `spent` what is spent now; `repeated` says that it
    is the stored answer to an earlier request.
    """

    option: object
    plan: ChoicePlan
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
            f"{self.option}: {self.plan.describe()}.\n{cost}; {percent_up(self.spent)} is spent now. "
            f"Request key: {self.key}"
        )


def plan_within(
    budget: Budget,
    asked: Asked,
    paying: PayingFor,
    *,
    within: float | None = None,
    confidence: float | None = None,
    epsilon: float | None = None,
) -> ChoicePlan:
    """The plan that costs least of a budget, or the one that was paid for under this key.

    With an accuracy every law is priced, at the budget's own delta. If none of them fits, it is the one with
    the least epsilon, so that the refusal says what would.
    """
    key, blocks = paying.get("key"), paying.get("blocks")
    before = None if key is None else budget.ledger.spend_of(key)
    if within is None or confidence is None or epsilon is not None or asked.picks < 2:
        first = plan_choice(**asdict(asked), within=within, confidence=confidence, epsilon=epsilon)
        if before is None or epsilon is None or asked.picks < 2:
            return first
        plans = [
            plan
            for jointly in (True, False)
            for plan in plans_of_epsilon(asked, within, confidence, epsilon, jointly)
        ]
    else:
        here = replace(asked, delta=budget.terms.delta)
        found = plans_for(here, within, confidence)
        if before is not None:
            found += plans_before(here, within, confidence)
        # what needs no delta is known, and paid for, without one
        plans = [replace(plan, asked=asked) if plan.way.is_pure else plan for plan in found]
        first = min(plans, key=lambda plan: plan.epsilon)
    if before is not None:
        chosen = budget.terms.chosen_blocks(blocks)
        known = [plan for plan in plans if budget.terms.plan_id(plan.claim, chosen) == before.plan]
        return known[0] if known else first
    shares = [budget.price((plan.claim, plan.times), blocks=blocks).share for plan in plans]
    fitting = [(share, place) for place, share in enumerate(shares) if share is not None]
    return plans[min(fitting)[1]] if fitting else first


def choose_paid(
    budget: Budget,
    plan: ChoicePlan,
    scores: object,
    **paying: Unpack[PayingFor],
) -> Chosen:
    """Pay, draw, store. Of the scores only types and number are looked at before they are paid for."""
    given = read_scores(scores, plan.asked.options)
    options = _identity(given)
    claim = plan.claim
    stored, paid = budget.answered(
        claim,
        # all numbers of a package are used up: another choice pays again
        claim.package if isinstance(claim, Plan) else 1,
        lambda: _packed(options, plan.drawn(given, SECURE).tolist()),
        again=True,
        times=plan.times,
        **about(paying, plan.describe()),
    )
    repeated = paid.stored_answer is not None
    return Chosen(
        option=plan.named(given, np.array(_unpacked(options, stored, paid.key))),
        plan=plan,
        key=paid.key,
        share=0.0 if repeated else budget.terms.share_of_cost(paid.charged, paid.spent),
        spent=budget.spent,
        repeated=repeated,
    )


def _identity(given: Given) -> str:
    """What tells one list of options from another; their names are public."""
    return digest([str(option) for option in given.options])


def _packed(options: str, places: list[int]) -> bytes:
    return json.dumps({"options": options, "chosen": places}, separators=(",", ":")).encode()


def _unpacked(options: str, stored: bytes, key: str) -> list[int]:
    """The places again; refused if they are those of other options."""
    content = json.loads(stored)
    if not isinstance(content, dict) or content.get("options") != options:
        raise KeyReusedError(key)
    places: list[int] = content["chosen"]
    return places
