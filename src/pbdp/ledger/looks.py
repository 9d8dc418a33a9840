"""`Budget.ask(within="5%", floor=50)`: looks until one says how precise the last must be.

Every look is a release of its own: paid before it is drawn, and stored under the request key, the first under
the key itself. What comes next is a function of what was published (`pbdp.looks.procedure`), so a process
that stops anywhere is taken up with the same key: stored looks are read, the next one is paid and drawn. As
the budget lets every release be chosen after seeing the ones before, nothing more is to be proved of privacy.

The most that it can cost, all scouts and the most precise last look, is priced before the first look; what
does not fit is refused then. If others spend the budget in between, the looks so far are returned, marked
incomplete. What the last of them showed decides how much the next would cost, and so whether it is the last.
So its interval has a level at which all scouts together miss no more often than the confidence allows.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from pbdp.digits import percent_down, percent_up, plain
from pbdp.errors import InputError, shown
from pbdp.ledger.ask import Drawn, number_of, requirement_of
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.question import Question
from pbdp.ledger.request import LONGEST_KEY, about
from pbdp.looks.procedure import Asked, Procedure, Width
from pbdp.looks.tuning import procedure_for
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.relative import WidthText
from pbdp.paying import Blocks, PayingFor
from pbdp.planning.pricing import Amounts
from pbdp.planning.pricing.choice import Affordable

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget

# Room for what is added to a key for the looks after the first.
_ROOM = 20
# Looking first is said to bring little where it saves less than this share of the price fixed in advance.
LITTLE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look: a published number, within `within` of the truth with the confidence, and what it cost."""

    value: float
    within: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The answer, which is the last look; the interval it stands for, all looks, and what they cost.

    `low <= true answer <= high` holds with `confidence`, whatever the looks before showed. If not `complete`,
    the budget was spent by others before the answer was as precise as was asked; the interval is then wider
    than the look's own, and holds for all looks but the last of the procedure together.
    `share` is what this call paid of the whole budget, `spent` what is spent now; `most` is what it could
    have cost, unless it was taken up from stored looks.
    """

    value: float
    low: float
    high: float
    confidence: float
    looks: tuple[Look, ...]
    complete: bool
    key: str
    share: float
    spent: float
    repeated: bool
    procedure: Procedure
    most: float | None = None

    @property
    def answer(self) -> float:
        """The published number."""
        return self.value

    @property
    def cost(self) -> float:
        """What all looks cost of the whole budget, when they were paid."""
        return sum(look.share for look in self.looks)

    def describe(self) -> str:
        """In words, one line a fact."""
        return "\n".join([str(self.value), *self.lines()])

    def lines(self) -> list[str]:
        """What there is to say of the answer."""
        widths = ", ".join(plain(look.within) for look in self.looks)
        count = f"{len(self.looks)} look{'s' if len(self.looks) > 1 else ''} (within {widths})"
        paid = "paid for before" if self.repeated else f"{percent_up(self.cost)} of the budget"
        paid += "" if self.most is None else f" (it could have been {percent_up(self.most)})"
        ends = f"between {plain(self.low)} and {plain(self.high)}"
        lines = [
            f"The true answer is {ends}, with confidence {percent_down(self.confidence)}.",
            f"{count}: {paid}; {percent_up(self.spent)} is spent now. Request key: {self.key}",
        ]
        return lines if self.complete else [*lines, INCOMPLETE]


INCOMPLETE = (
    "Incomplete: the budget was spent by others before the answer was as precise as was asked. The interval "
    "holds; the same key goes on when there is budget again."
)


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class LookPrice:
    """What looking costs, before anything is spent."""

    budget: Budget
    question: Question
    procedure: Procedure
    blocks: tuple[str, ...]
    spent: Amounts

    @classmethod
    def of(cls, budget: Budget, question: Question, blocks: Blocks = None) -> LookPrice:
        """The price of a question as of now."""
        return cls(
            budget=budget,
            question=question,
            procedure=procedure_of(budget, question),
            blocks=budget.terms.chosen_blocks(blocks),
            spent=budget.state.spent,
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
        step, precision = self.procedure.asked.grid.step, sum(s**-2 for s in self.procedure.longest())
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
        width = self.procedure.asked.width
        for answer in (width.floor / width.theta * 1.02 ** np.arange(300)).tolist():
            found = self.about(answer)
            if found is not None and found < self.fixed[1]:
                return float(f"{answer:.2g}")
        return None

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
        width = self.procedure.asked.width
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
        floor = f"{self.procedure.asked.width.floor:g}"
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
        width = self.procedure.asked.width
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
    asked = Asked(
        width=width,
        sensitivity=question.sensitivity,
        delta=budget.terms.delta,
        integer=question.integer,
        step=question.step,
        neighbors=budget.terms.neighbors,
    )
    return procedure_for(asked, question.expect)


def _paying_for(asked: PayingFor, key: str, number: int) -> PayingFor:
    """How one of the looks is paid."""
    query = asked["query"] if number == 1 else f"{asked['query']}; look {number}"
    return {**asked, "key": look_key(key, number), "query": query}


def look_key(key: str, number: int) -> str:
    """The request key of a look; the first has the request's own."""
    return key if number == 1 else f"{key} (look {number})"


def look(
    budget: Budget,
    question: Question,
    answer: object,
    **paying: Unpack[PayingFor],
) -> Looked:
    """Look, pay and draw until the procedure ends."""
    given = paying.get("key")
    key = secrets.token_hex(16) if given is None else given
    if len(key) > LONGEST_KEY - _ROOM:
        raise InputError("key", f"at most {LONGEST_KEY - _ROOM} characters here", f"{len(key)}")
    procedure, most = _begun(budget, question, key, paying.get("blocks"))
    asked = about(paying, question.words())
    drawn: list[Drawn] = []
    sigmas: list[float] = []
    steps: list[int] = []
    complete = True
    while (sigma := procedure.next_look(steps)) is not None:
        plan, number = procedure.plan(sigma), len(drawn) + 1
        try:
            beside = {"looks": procedure.record()} if number == 1 else {"look": number}
            found = Drawn.of(budget, plan, answer, beside, _paying_for(asked, key, number))
        except BudgetExceededError:
            if not drawn:
                raise
            complete = False
            break
        if number == 1:
            # a process that came first may have begun with another one
            procedure = Procedure.from_record(found.content["looks"])
        drawn.append(found)
        sigmas.append(sigma)
        steps.append(in_steps(found.content["values"][0], procedure.asked.grid))
    return replace(_looked(budget, question, procedure, drawn, sigmas, complete=complete), most=most)


def _begun(budget: Budget, question: Question, key: str, blocks: Blocks) -> tuple[Procedure, float | None]:
    """The procedure that was begun under this key, or a new one whose looks fit, and what they can cost."""
    before = budget.ledger.spend_of(key)
    if before is not None and before.answer is not None:
        content = json.loads(before.answer)
        if not isinstance(content, dict) or "looks" not in content:
            raise KeyReusedError(key)
        return Procedure.from_record(content["looks"]), None
    price = LookPrice.of(budget, question, blocks)
    if before is None and price.most is None:
        spent = percent_up(budget.terms.share(price.spent, price.blocks))
        reason = f"{spent} of it is spent, and all looks together could cost more than is left"
        raise BudgetExceededError(budget.dataset, reason, price.advice())
    return price.procedure, price.most


def in_steps(value: float, grid: LinearGrid) -> int:
    """A published number in steps of its grid."""
    return round(Fraction(value) / Fraction(grid.step))


def _looked(
    budget: Budget,
    question: Question,
    procedure: Procedure,
    drawn: Sequence[Drawn],
    sigmas: Sequence[float],
    *,
    complete: bool,
) -> Looked:
    looks = []
    low, high = -math.inf, math.inf
    for found, sigma in zip(drawn, sigmas, strict=True):
        plan = procedure.plan(sigma)
        value = number_of(plan, np.array(found.content["values"]))
        low, high = plan.interval(value)
        looks.append(Look(value=value, within=float(high - value), share=found.share(budget)))
    value = looks[-1].value
    if not complete:
        # of one of the scouts, and its own value may have decided of which
        missed = (1 - procedure.asked.width.confidence) / len(procedure.scouts)
        low, high = procedure.plan(sigmas[-1]).interval(value, 1 - missed)
    if question.nonnegative:
        # never further from an answer that is not negative
        value = max(value, type(value)(0))
        low, high = max(low, 0.0), max(high, 0.0)
    return Looked(
        value=value,
        low=low,
        high=high,
        confidence=procedure.asked.width.confidence,
        looks=tuple(looks),
        complete=complete,
        key=drawn[0].paid.key,
        share=sum(found.share(budget) for found in drawn if not found.repeated),
        spent=budget.spent,
        repeated=all(found.repeated for found in drawn),
        procedure=procedure,
    )
