"""A dataset's budget: what plans cost of what is left, and releases that are paid for before they are drawn.

with Ledger.create("budget.db") as ledger:
    budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
    budget.price(plan).describe()
    budget.release(plan, 1234, key="report of March")
    budget.ask(within=50, confidence=0.95, sensitivity=1, answer=1234)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Required, Unpack, overload

import numpy as np

from pbdp.accounting import RESERVE
from pbdp.digits import delta_text, epsilon_text, percent_up, rounded_down
from pbdp.errors import InputError, PbdpError
from pbdp.json_records import digest
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.ledger import Ledger
from pbdp.ledger.request import Pricing, Purchase, Request, Reservation, recorded
from pbdp.ledger.snapshot import DatasetState
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.within import Within
from pbdp.noise.kernel import Array, Index
from pbdp.parameters import neighbours_too, with_words
from pbdp.paying import MEANING, Blocks, Paying, PayingFor, PayingOnce
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Claim, Measured, Plans, Price, Priced, Terms, fingerprint, price
from pbdp.planning.pricing.priced import name_of
from pbdp.release.keystream import SecureKeystream
from pbdp.release.releaser import Form

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pbdp.choosing.paid import Chosen
    from pbdp.ledger.ask import Asked
    from pbdp.ledger.looks import Looked
    from pbdp.ledger.sharpen import Sharpened, Sharpening

Numbers = Array | Index
# Limits that agree to one part in this many are the same.
SAME = 10**9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paid:
    """Published numbers, as the ledger stored them, and the reservation they were paid with."""

    values: Numbers
    reservation: Reservation

    @property
    def repeated(self) -> bool:
        """Whether they are the stored answer to an earlier request with the same key."""
        return self.reservation.stored_answer is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """Plans that are paid for: what they cost of the whole budget, and what was spent of it after them.

    `repeated` says that they were paid for before, with the same key.
    """

    label: str
    key: str
    share: float
    spent: float
    repeated: bool


class _Asking(PayingFor, total=False):
    """What `Budget.ask` takes with a floor and without, for type checkers: `ask` itself says the defaults."""

    answer: Required[object]
    sensitivity: Required[float]
    within: Within | None
    confidence: float | None
    share: float | None
    integer: bool
    nonnegative: bool
    step: float | None
    expect: tuple[float, float] | None
    sharpenable: bool


class _Releasing(PayingFor, total=False):
    """The same of `Budget.release`."""

    disjoint: bool
    again: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Budget:
    """The budget of one dataset in a ledger. Get one with `create` or `of`."""

    ledger: Ledger
    dataset: str
    terms: Terms

    @classmethod
    @neighbours_too
    def create(
        cls,
        ledger: Ledger,
        dataset: str,
        *,
        epsilon: float,
        delta: float,
        reserve: float = RESERVE,
        blocks: Sequence[str] = (),
        neighbors: str = Neighbors.ADD_REMOVE,
        note: str | None = None,
    ) -> Budget:
        """Give a dataset (epsilon, delta) to spend, once.

        `reserve` is the share of delta that is kept for outputs that a neighbor cannot have; mechanisms known
        only by their (epsilon, delta) take their delta from it. `blocks` name disjoint blocks of people, each
        of which has the whole (epsilon, delta); every release then says which of them it reads.

        `ledger` is an open one, `dataset` a new name in it, `neighbors` "add/remove" or "replace", and
        `note` a public remark.
        """
        terms = Terms(
            epsilon=epsilon, delta=delta, reserve=reserve, blocks=tuple(blocks), neighbors=neighbors
        )
        ledger.create_dataset(dataset, terms.limits(), terms.record(), terms.neighbors, note)
        return cls(ledger=ledger, dataset=dataset, terms=terms)

    @classmethod
    def of(cls, ledger: Ledger, dataset: str) -> Budget:
        """The budget that the dataset was given.

        `ledger` is an open one.
        """
        state = ledger.dataset(dataset)
        terms = Terms.from_record(state.rule)
        limits = terms.limits()
        # the stored limits were proved when they were made; another machine may round them a unit lower
        if limits.keys() != state.limits.keys() or any(
            state.limits[name] * SAME > limit * (SAME + 1) for name, limit in limits.items()
        ):
            raise PbdpError(
                f"The limits of {dataset} in the ledger are above those that its terms prove. Spend nothing "
                "from it; it was made by another version of pbdp, or by hand."
            )
        return cls(ledger=ledger, dataset=dataset, terms=terms)

    def __repr__(self) -> str:
        try:
            spent = f"{percent_up(self.spent)} spent"
        except PbdpError:  # its ledger is closed, or cannot be read now
            spent = "its ledger cannot be read"
        given = f"epsilon {epsilon_text(self.terms.epsilon)} at delta {delta_text(self.terms.delta)}"
        return f"<Budget of {self.dataset}: {spent} of {given}>"

    def _repr_html_(self) -> str:
        from pbdp.figures.cards import budget_card

        return budget_card(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """What was spent, release by release; written to `path`, if one is given. Needs matplotlib."""
        from pbdp.figures.budget_figure import draw_budget
        from pbdp.figures.canvas import saved

        return saved(draw_budget([(self.state, list(self.ledger.history(self.dataset)))]), path)

    @property
    def state(self) -> DatasetState:
        """What is spent now."""
        return self.ledger.dataset(self.dataset)

    @property
    def spent(self) -> float:
        """The share of the budget that is spent, from 0 to 1; of the block with the least left."""
        return self.terms.share(self.state.spent)

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker with this prior guesses right, at most, when all of it is spent."""
        return self.terms.risk(prior)

    def describe(self, *, explain: bool = False) -> str:
        """What is promised, what is spent and what is left, in words.

        `explain` adds why the guarantee holds.
        """
        state, terms = self.state, self.terms
        share = terms.share(state.spent)
        lines = [
            f"{self.dataset}: {percent_up(share)} of epsilon {epsilon_text(terms.epsilon)} at delta "
            f"{delta_text(terms.delta)} is "
            f"spent, in {state.releases:,} release{'' if state.releases == 1 else 's'}."
        ]
        more = None if state.last_cost is None else terms.more_at(state.spent, state.last_cost)
        if more is not None:
            told = f"About {more:,}" if more else "No"
            lines.append(f"{told} more like the last one would fit.")
        if share == 1 and terms.adds_up(state.spent) > 0:
            left = rounded_down(terms.adds_up(state.spent))
            lines.append(f"Releases still fit whose epsilons add up to no more than {left}.")
        if terms.blocks:
            each = (f"{block} {percent_up(terms.share(state.spent, (block,)))}" for block in terms.blocks)
            lines.append(f"By block: {', '.join(each)}.")
        lines.append(terms.risk_words())
        return "\n".join([*lines, terms.theory()] if explain else lines)

    def price(self, *plans: Priced | tuple[Priced, int], blocks: Blocks = None) -> Price:
        """What plans cost together as one step, each (plan, times) or once; nothing is spent.

        `blocks` are the blocks of people that would be read; all of them, if left out.
        """
        return price(self.terms, _counted(plans), self.state.spent, blocks)

    @with_words(PayingOnce, MEANING)
    def reserve(self, *plans: Priced | tuple[Priced, int], **paying: Unpack[PayingOnce]) -> Reserved:
        """Pay for plans, each (plan, times) or once, together and in advance: composed exactly, as one step.

        Their releases can be used one by one later. A `Claim` can be paid for too: a mechanism that is run
        elsewhere.
        """
        counted = _counted(plans)
        chosen = self.terms.chosen_blocks(paying.get("blocks"))
        label = price(self.terms, counted, self.state.spent, paying.get("blocks")).label
        purchase = Purchase(
            dataset=self.dataset,
            plans=tuple(
                (self.terms.plan_id(plan, chosen), name_of(plan), times * _package(plan))
                for plan, times in counted
            ),
            cost=self._pricing(counted, chosen),
            neighbors=self.terms.neighbors,
            **recorded(paying),
        )
        try:
            paid = self.ledger.buy(purchase)
        except BudgetExceededError as refusal:
            raise self._with_remedy(refusal, counted, chosen) from None
        return Reserved(
            label=label,
            key=paid.key,
            share=self.terms.share_of_cost(paid.charged, paid.spent),
            spent=self.terms.share(paid.spent),
            repeated=not paid.fresh,
        )

    @overload
    def release(self, plan: Plan, answers: float, **asked: Unpack[_Releasing]) -> float: ...

    @overload
    def release(self, plan: Plan, answers: Form, **asked: Unpack[_Releasing]) -> Form: ...

    @with_words(PayingFor, MEANING)
    def release(
        self,
        plan: Plan,
        answers: object,
        *,
        disjoint: bool = False,
        again: bool = False,
        **paying: Unpack[PayingFor],
    ) -> object:
        """`plan.release` of any plan, paid first.

        Of the answers only types and number are looked at before they are paid for. `disjoint` says that no
        person affects more than one of them. `again` pays for another package of the plan's releases.
        """
        ready = plan.prepared(answers, disjoint=disjoint)
        if not ready.count:
            raise InputError("answers", "at least one number", "none")
        paid = self.paid(
            plan,
            ready.count,
            lambda: ready.draw(SecureKeystream()),
            disjoint=disjoint,
            again=again,
            shape=ready.shape,
            **paying,
        )
        return ready.restored(paid.values)

    @with_words(PayingFor, MEANING)
    def paid(
        self,
        plan: Plan,
        count: int,
        draw: Callable[[], Numbers],
        *,
        disjoint: bool = False,
        again: bool = False,
        shape: Sequence[int] | None = None,
        parts: int = 1,
        whole: str = "",
        **paying: Unpack[PayingFor],
    ) -> Paid:
        """Pay for `count` numbers, have them drawn unless they were, and store them.

        `draw` is called once the price is paid, and should not fail for any answer. `shape` is how many
        numbers each part of a plan has, if it has several; they are stored apart, never to be taken for each
        other's. `disjoint` and `again` are as in `release`, `parts` and `whole` as in `answered`.
        """
        stored, reservation = self.answered(
            plan,
            count,
            lambda: _packed(draw(), shape),
            disjoint=disjoint,
            again=again,
            parts=parts,
            whole=whole,
            **paying,
        )
        values = _unpacked(stored, shape)
        if values is None:
            raise KeyReusedError(reservation.key)
        return Paid(values=values, reservation=reservation)

    @with_words(PayingFor, MEANING)
    def answered(
        self,
        plan: Priced,
        count: int,
        draw: Callable[[], bytes],
        *,
        disjoint: bool = False,
        again: bool = False,
        times: int = 1,
        parts: int = 1,
        whole: str = "",
        **paying: Unpack[PayingFor],
    ) -> tuple[bytes, Reservation]:
        """Pay for `count` numbers of a plan, have their answer drawn unless it was, and store it as it is.

        `times` is how often what is paid for is made for one answer. `parts` is in how many requests numbers
        come that no person affects more than one of, so that the first pays for all; they belong to `whole`,
        and to no other release of the plan. Refusals say what would fit instead.

        `draw` makes the answer once it is paid for. `disjoint` and `again` are as in `release`.
        """
        chosen = self.terms.chosen_blocks(paying.get("blocks"))
        request = Request(
            dataset=self.dataset,
            plan=part_id(self.terms.plan_id(plan, chosen), parts, whole),
            plan_label=name_of(plan),
            cost=self._pricing(((plan, times),), chosen),
            package=_package(plan) if parts == 1 else parts,
            values=count,
            neighbors=plan.neighbors,
            again=again,
            disjoint=disjoint,
            **recorded(paying),
        )
        try:
            reservation = self.ledger.reserve(request)
        except BudgetExceededError as refusal:
            raise self._with_remedy(refusal, ((plan, times),), chosen) from None
        stored = reservation.stored_answer
        if stored is None:
            stored = self.ledger.settle(reservation, draw())
        return stored, reservation

    def _pricing(self, plans: Plans, blocks: tuple[str, ...]) -> Pricing:
        """What finds the price in a state; it raises if the plans do not fit."""

        def found(state: DatasetState) -> dict[str, int]:
            cost = self.terms.cost(plans, state.spent, blocks)
            if cost is None:
                share = percent_up(self.terms.share(state.spent, blocks))
                raise BudgetExceededError(self.dataset, f"{share} of it is spent, and too little is left")
            return cost

        return found

    def _with_remedy(
        self, refusal: BudgetExceededError, plans: Plans, blocks: tuple[str, ...]
    ) -> BudgetExceededError:
        """The refusal with what would fit instead, found outside the ledger's lock."""
        # the planner is needed for this alone
        from pbdp.planning.pricing.choice import Affordable, what_fits

        spent = self.state.spent
        asked = Price(terms=self.terms, plans=plans, blocks=blocks, spent=spent)
        remedy = asked.advice() if asked.lacks_reserve is not None else ""
        if not remedy and len(plans) == 1:
            remedy = what_fits(Affordable(terms=self.terms, spent=spent, blocks=blocks), *plans[0])
        return BudgetExceededError(refusal.dataset, refusal.reason, remedy or asked.advice())

    @overload
    def ask(self, *, floor: None = None, **asked: Unpack[_Asking]) -> Asked: ...

    @overload
    def ask(self, *, floor: float, **asked: Unpack[_Asking]) -> Looked: ...

    @with_words(PayingFor, MEANING)
    def ask(
        self,
        *,
        answer: object,
        sensitivity: float,
        within: Within | None = None,
        confidence: float | None = None,
        share: float | None = None,
        integer: bool = False,
        nonnegative: bool = False,
        step: float | None = None,
        floor: float | None = None,
        expect: tuple[float, float] | None = None,
        sharpenable: bool = False,
        **paying: Unpack[PayingFor],
    ) -> Asked | Looked:
        """Publish a number with the certified law that costs least of what is left; see `ledger.ask`.

        `within="5%", floor=50` looks cheaply first and then as precisely as the answer needs; only the looks
        that are taken are paid (`ledger.looks`). `expect` is where answers are expected, (100, 1e6): it
        changes the cost, never the promise. `sharpenable` takes noise that `sharpen` can refine for the
        difference.

        `answer` is the true number and `sensitivity` the most by which one person changes it. Give two of
        `within`, `confidence` and `share`, the part of what is left to spend. `integer`, `nonnegative` and
        `step` are as in `pbdp.plan`.
        """
        from pbdp.ledger.ask import Question, ask

        question = Question(
            sensitivity=sensitivity,
            within=within,
            confidence=confidence,
            share=share,
            integer=integer,
            nonnegative=nonnegative,
            step=step,
            floor=floor,
            expect=expect,
            sharpenable=sharpenable,
        )
        found: Asked | Looked = ask(self, question, answer, **paying)
        return found

    @with_words(PayingFor, MEANING)
    def choose(
        self,
        scores: object,
        *,
        sensitivity: float,
        within: float | None = None,
        confidence: float | None = None,
        epsilon: float | None = None,
        integer: bool = False,
        rising: bool = False,
        top: int = 1,
        column: str | None = None,
        names: str | None = None,
        **paying: Unpack[PayingFor],
    ) -> Chosen:
        """Choose an option near the best, or the `top` ones, and pay for it; see `pbdp.plan_choice`.

        `scores`, `column`, `names`, `sensitivity`, `within`, `confidence`, `epsilon`, `integer` and `rising`
        are as in `pbdp.choose`.
        """
        from pbdp.choosing.law import Asked as Options
        from pbdp.choosing.paid import choose_paid, plan_within
        from pbdp.choosing.scores import read_scores

        given = read_scores(scores, column=column, names=names)
        asked = Options(
            options=len(given.options),
            sensitivity=sensitivity,
            integer=integer,
            rising=rising,
            top=top,
            neighbors=self.terms.neighbors,
        )
        plan = plan_within(self, asked, paying, within=within, confidence=confidence, epsilon=epsilon)
        return choose_paid(self, plan, given, **paying)

    def sharpening(
        self, key: str, *, within: float, confidence: float | None = None, blocks: Blocks = None
    ) -> Sharpening:
        """What it takes to make the answer under this key this precise, and its price; nothing is spent.

        `key` is that of the answer, `within` and `confidence` are what it is to have then. `blocks` are the
        blocks of people that were read; all of them, if left out.
        """
        from pbdp.ledger.sharpen import sharpening

        return sharpening(self, key, within, confidence=confidence, blocks=blocks)

    @with_words(Paying, MEANING)
    def sharpen(
        self,
        key: str,
        *,
        within: float,
        answer: object,
        confidence: float | None = None,
        **paying: Unpack[Paying],
    ) -> Sharpened:
        """Make a published answer more precise for the difference in cost; see `ledger.sharpen`.

        `answer` is the true one, which no ledger keeps. Without one, `sharpening` says the price.

        `key` is that of the answer, `within` and `confidence` are what it is to have then.
        """
        from pbdp.ledger.sharpen import sharpen

        return sharpen(self, key, answer, within, confidence=confidence, **paying)


def _counted(plans: Iterable[Priced | tuple[Priced, int]]) -> Plans:
    """Every plan with how often it is meant."""
    counted: dict[str, tuple[Priced, int]] = {}
    for plan in plans:
        entry, times = plan if isinstance(plan, tuple) else (plan, 1)
        if not isinstance(entry, Plan | Claim | Measured):
            raise InputError("plan", "a plan or a claim", type(entry).__name__)
        if type(times) is not int or times < 1:
            raise InputError("times", "a whole number of at least 1", repr(times))
        # one that is named twice is meant more often
        name = fingerprint(entry)
        _, before = counted.get(name, (entry, 0))
        counted[name] = entry, before + times
    if not counted:
        raise InputError("plans", "at least one", "none")
    return tuple(counted.values())


def part_id(plan: str, parts: int, whole: str) -> str:
    """How a ledger knows releases of a plan that are disjoint parts of one whole, apart from all others."""
    return plan if parts == 1 else digest([plan, "disjoint parts", parts, whole])


def _package(plan: Priced) -> int:
    return plan.package if isinstance(plan, Plan) else 1


def _packed(values: Numbers, shape: Sequence[int] | None) -> bytes:
    """Published numbers as text, a list for each part; floats come back digit for digit."""
    if shape is None:
        listed = values.tolist()
    else:
        listed = [part.tolist() for part in np.split(values, np.cumsum(shape)[:-1])]
    return json.dumps(listed, separators=(",", ":"), allow_nan=False).encode()


def _unpacked(stored: bytes, shape: Sequence[int] | None) -> Numbers | None:
    """The numbers again; None if they are of another shape."""
    listed = json.loads(stored)
    if shape is None:
        return np.array(listed)
    if [len(part) for part in listed] != list(shape):
        return None
    return np.concatenate([np.array(part) for part in listed])
