"""`pbdp.choose`: plan a choice and draw it.

A budget pays before the choice is drawn, and stores it: the same key brings back the same choice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.request import ChoiceRequest, ChooseRequest
from pbdp.choosing.scores import Given, read_scores
from pbdp.choosing.search import choice_of, plans_for, plans_of_epsilon
from pbdp.digits import percent_up
from pbdp.errors import ContradictionError
from pbdp.json_records import digest
from pbdp.kinds import ANYTHING
from pbdp.ledger.errors import KeyReusedError
from pbdp.ledger.request import about
from pbdp.mechanism.neighbors import Neighbors
from pbdp.paying import PayingFor
from pbdp.release.keystream import SECURE
from pbdp.settings import request, setting
from pbdp.signatures import Either, takes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec

    from pbdp.ledger.budget import Budget

    P = ParamSpec("P")
    P2 = ParamSpec("P2")


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


def chosen_of(asked: ChooseRequest) -> object:
    """The option whose score is near the best, or the list of the `top` ones; see `plan_choice`.

    With a `budget` the choice is paid for before it is drawn, and a `Chosen` comes back: the `option`, its
    plan and what it cost. Without one, nothing counts what is spent.
    """
    given, budget = read_scores(asked.scores, column=asked.column, names=asked.names), asked.budget
    relation = Neighbors.ADD_REMOVE if budget is None else budget.terms.neighbors
    request = asked.choice(len(given.options), asked.neighbors or relation)
    if budget is None:
        if said := [name for name in asked.payment if getattr(asked, name) is not None]:
            raise ContradictionError(said[0], "left out without a budget", "one", "Say which: budget=...")
        return choice_of(request).choose(given)
    if asked.delta:
        raise ContradictionError("delta", "left out with a budget", asked.delta, "The budget has its own.")
    return choose_paid(budget, plan_within(budget, request, asked.payment), given, **asked.payment)


if TYPE_CHECKING:
    # with a budget a `Chosen` comes back

    @request("choose")
    class _Free(ChooseRequest):
        budget: None = setting(ANYTHING, "none", default=None)

    @request("choose")
    class _Paid(ChooseRequest):
        budget: Budget = setting(ANYTHING, "what pays")

    def _either(_free: Callable[P, _Free], _paid: Callable[P2, _Paid]) -> Either[P, object, P2, Chosen]: ...

    choose = _either(_Free, _Paid)
else:
    choose = takes(ChooseRequest)(chosen_of)


def plan_within(budget: Budget, request: ChoiceRequest, paying: PayingFor) -> ChoicePlan:
    """The plan that costs least of a budget, or the one that was paid for under this key.

    With an accuracy every law is priced, at the budget's own delta. If none of them fits, it is the one with
    the least epsilon, so that the refusal says what would.
    """
    asked, within, confidence = request.asked, request.within, request.confidence
    key, blocks = paying.get("key"), paying.get("blocks")
    before = None if key is None else budget.ledger.spend_of(key)
    if within is None or confidence is None or asked.picks < 2:
        first = choice_of(request)
        if before is None or request.epsilon is None or asked.picks < 2:
            return first
        plans = plans_of_epsilon(request)
    else:
        found = plans_for(replace(asked, delta=budget.terms.delta), within, confidence)
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
    stored, paid = budget.answered(
        plan.claim,
        1,
        lambda: _packed(options, plan.drawn(given, SECURE).tolist()),
        again=True,
        times=plan.times,
        **about(paying, plan.describe()),
    )
    repeated = paid.answer is not None
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
