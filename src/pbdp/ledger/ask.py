"""`Budget.ask`: an accuracy, a budget and an answer; looks at it, one after the other, until they answer.

A *look* is a number with noise of its own, under a request key that follows from the question's key. Each one
is a release like any other:

1. *Price.* The looks that are stored, and what is left, say which noise the next look has; or that none is
   needed.
2. *Commit.* It is paid for, under its key.
3. *Draw, store.* It is drawn and stored with its plan, and belongs to the looks from then on.

Two rules say what comes next. `averaging`: a width and a confidence take one look, with the law that costs
least of what is left; asked again under the same key for less, another one, and they are averaged, so that
the difference is paid. `scouting`: for a percentage with a floor, cheap looks say how precise the last one
must be.

What comes next is a function of what was published, so a process that stops anywhere is taken up by the next
call with the same key, from any process. As the budget lets every release be chosen after seeing the ones
before, nothing more is to be proved of privacy.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from pbdp.digits import percent_down, percent_up, plain
from pbdp.errors import InputError
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.keys import random_bytes
from pbdp.ledger.question import AskRequest, Question
from pbdp.ledger.record import LONGEST_KEY
from pbdp.ledger.request import about
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.within import region_within
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_record
from pbdp.planning.pricing import Amounts
from pbdp.release.keystream import SecureKeystream

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.request import Reservation

# Room for what is added to a key for the looks after the first.
_ROOM = 20
# A width and a confidence that stand for what is to be found: any will do.
_ANY_WIDTH, _ANY_CONFIDENCE = 1.0, 0.5
INCOMPLETE = (
    "Incomplete: the budget was spent by others before the answer was as precise as was asked. The interval "
    "holds; the same key goes on when there is budget again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One published number, how near the truth it is with the confidence, and its share of the budget.

    `repeated` says that it was stored before this call.
    """

    value: float
    within: float
    share: float
    plan: Plan = field(repr=False, compare=False)
    repeated: bool = field(default=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Asked:
    """A published number, the interval it stands for, the looks behind it, and what they cost.

    The number is an int where whole ones are published, else a float, whatever type the answer had.
    `low <= true answer <= high` holds with `confidence`. `share` is what this call paid of the whole budget,
    `cost` what all looks did, and `spent` what is spent now; `repeated` says that nothing was drawn now.

    The number is the average of the last `averaged` looks. Its interval holds by itself: if the widths were
    not chosen because of what earlier answers showed. `joint` are the ends that hold for all answers under
    the key together, however they were chosen. If not `complete`, the budget was spent by others before the
    answer was as precise as was asked.
    """

    value: float
    low: float
    high: float
    confidence: float
    looks: tuple[Look, ...]
    key: str
    spent: float
    averaged: int = 1
    joint: tuple[float, float] | None = None
    complete: bool = True
    # what it could have cost, where looks decide that
    most: float | None = None

    def __repr__(self) -> str:
        ends = f"{plain(self.low)} to {plain(self.high)} with confidence {percent_down(self.confidence)}"
        return f"<Asked: {plain(self.value)}, {ends}, for {percent_up(self.cost)} of the budget>"

    @property
    def answer(self) -> float:
        """The published number."""
        return self.value

    @property
    def plan(self) -> Plan:
        """The plan of the last look."""
        return self.looks[-1].plan

    @property
    def share(self) -> float:
        """What this call paid of the whole budget."""
        return sum(look.share for look in self.looks if not look.repeated)

    @property
    def cost(self) -> float:
        """What all looks cost of the whole budget, when they were paid."""
        return sum(look.share for look in self.looks)

    @property
    def repeated(self) -> bool:
        """Whether it is the stored answer to an earlier request."""
        return all(look.repeated for look in self.looks)

    def describe(self) -> str:
        """In words, one line a fact."""
        return "\n".join([plain(self.value), *self.lines()])

    def lines(self) -> list[str]:
        """What there is to say of the number."""
        ends = f"between {plain(self.low)} and {plain(self.high)}"
        lines = [f"The true answer is {ends}, with confidence {percent_down(self.confidence)}."]
        if self.averaged > 1:
            lines[0] += f" It is the average of {self.averaged} answers."
        if self.joint is not None:
            joint = f"{plain(self.joint[0])} to {plain(self.joint[1])}"
            lines.append(f"If you asked again because of what an earlier answer showed, go by {joint}.")
        if len(self.looks) > 1:
            widths = ", ".join(plain(look.within) for look in self.looks)
            lines.append(f"{len(self.looks)} looks, within {widths}: {percent_up(self.cost)} in all.")
        if self.repeated:
            paid = "It was paid for before"
        else:
            paid = f"It cost {percent_up(self.share)} of the budget"
            paid += "" if self.most is None else f" (it could have been {percent_up(self.most)})"
        lines.append(f"{paid}; {percent_up(self.spent)} is spent now. Request key: {self.key}")
        return lines if self.complete else [*lines, INCOMPLETE]


@dataclass(frozen=True, kw_only=True)  # no slots: what follows from the looks is found once
class Asking(ABC):
    """A question to a budget, and the looks that are stored under its key."""

    budget: Budget
    question: AskRequest
    key: str
    looks: tuple[Look, ...] = ()

    @abstractmethod
    def next_plan(self) -> Plan | None:
        """1. Price: the plan of the next look, as of what is left; None if the looks answer the question."""

    @abstractmethod
    def stored_plan(self, content: Mapping[str, Any], spend: Reservation) -> Plan:
        """The plan of a stored look; refused where it answers another question."""

    @abstractmethod
    def outcome(self, *, complete: bool = True) -> Asked:
        """What the looks say together."""

    @property
    def beside(self) -> dict[str, Any]:
        """What is stored with the next look, beside its number and plan."""
        return {}

    @property
    def words(self) -> str:
        """The question as the history shows it."""
        return str(about(self.question.payment, self.question.words())["query"])

    @property
    def blocks(self) -> tuple[str, ...]:
        """The blocks of people that pay."""
        return self.budget.terms.chosen_blocks(self.question.blocks)

    @property
    def look_key(self) -> str:
        """The request key of the next look; the first has the question's own."""
        return self.key if not self.looks else f"{self.key} (look {len(self.looks) + 1})"

    @property
    def paid(self) -> Reservation | None:
        """What was paid for the next look, if it was."""
        return self.budget.ledger.spend_of(self.look_key)

    def read(self) -> Self:
        """The same with all looks that are stored by now."""
        asking = self
        while (spend := asking.paid) is not None and spend.answer is not None:
            if spend.dataset != self.budget.dataset:
                raise KeyReusedError(self.key)
            content = _content_of(spend.answer, self.key)
            plan = asking.stored_plan(content, spend)
            if self.budget.terms.plan_id(plan, self.blocks) != spend.plan:
                raise KeyReusedError(self.key)
            asking = asking.taking(plan, content, spend.charged, spend.spent, repeated=True)
        return asking

    def with_look(self, plan: Plan, answer: object) -> Self:
        """2. Commit; 3. draw and store: the same with a look more."""
        ready = plan.prepared(answer)
        if ready.count != 1:
            rule = "one number for one question"
            raise InputError("answer", rule, f"{ready.count}", "Plan for several, or ask one by one.")
        several = self.looks or self.question.floor is not None
        if several and len(self.key) > LONGEST_KEY - _ROOM:
            rule = f"at most {LONGEST_KEY - _ROOM} characters where there are several looks"
            raise InputError("key", rule, f"{len(self.key)}")
        beside = {"look": len(self.looks) + 1, "plan": plan_record(plan), **self.beside}

        def draw() -> bytes:
            content = {**beside, "values": ready.draw(SecureKeystream()).tolist()}
            return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()

        words = self.words if not self.looks else f"{self.words}; look {len(self.looks) + 1}"
        stored, paid = self.budget.answered(
            plan, 1, draw, again=True, blocks=self.question.blocks, key=self.look_key, query=words
        )
        content, repeated = _content_of(stored, self.key), paid.answer is not None
        return self.taking(plan, content, paid.charged, paid.spent, repeated=repeated)

    def taking(
        self, plan: Plan, content: Mapping[str, Any], cost: Amounts, spent: Amounts, *, repeated: bool
    ) -> Self:
        """The same with this look."""
        (number,) = content["values"]
        value = int(number) if plan.mechanism.grid.whole_outputs else float(number)
        look = Look(
            value=value,
            within=float(plan.interval(value)[1] - value),
            share=self.budget.terms.share_of_cost(cost, spent),
            plan=plan,
            repeated=repeated,
        )
        return replace(self, looks=(*self.looks, look))


def ask(budget: Budget, asked: AskRequest) -> Asked:
    """Look until the looks answer the question: price, commit, draw and store."""
    asking = asking_of(budget, asked)
    while True:
        asking = asking.read()
        try:
            plan = asking.next_plan()
            if plan is None:
                return asking.outcome()
            asking = asking.with_look(plan, asked.answer)
        except BudgetExceededError:
            if asked.floor is None or not asking.looks:
                raise
            return asking.outcome(complete=False)
        except KeyReusedError:
            # another process may have paid for this look, with the law that cost least then
            if asking.read() is asking:
                raise


def asking_of(budget: Budget, asked: AskRequest) -> Asking:
    """The question, before its stored looks are read."""
    from pbdp.ledger.averaging import Averaging
    from pbdp.ledger.scouting import Scouting

    rule = Averaging if asked.floor is None else Scouting
    key = random_bytes(16).hex() if asked.key is None else asked.key
    return rule(budget=budget, question=asked, key=key)


def requirement_of(question: Question, budget: Budget) -> Requirement:
    """What is asked, with place holders for what is to be found."""
    if budget.terms.delta == 0:
        raise InputError("delta", "above zero in a budget that chooses noise", "0", "Make one with 1e-9.")
    within, confidence = question.within, question.confidence
    even = AbsoluteRegion.even(_ANY_WIDTH)
    return Requirement(
        region=even if within is None else region_within(within, question.nonnegative),
        confidence=_ANY_CONFIDENCE if confidence is None else confidence,
        sensitivity=question.sensitivity,
        delta=budget.terms.delta,
        integer=question.integer,
        step=question.step,
        neighbors=budget.terms.neighbors,
    )


def _content_of(stored: bytes, key: str) -> dict[str, Any]:
    """What is stored of a look; refused where the key was used for something else."""
    content = json.loads(stored)
    values = content.get("values") if isinstance(content, dict) and "look" in content else None
    if not isinstance(values, Sequence) or len(values) != 1:
        raise KeyReusedError(key)
    return dict(content)
