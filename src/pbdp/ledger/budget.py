"""A dataset's budget: what plans cost of what is left, and releases that are paid for before they are drawn.

budget = pbdp.budget("visits", epsilon=3, delta=1e-6)  # opens it, or makes it
budget.price(plan).describe()
budget.release(plan, 1234, key="report of March")
budget.ask(1234, within=50, confidence=0.95, sensitivity=1, integer=True)
budget.left, budget.spent, budget.history()
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from pbdp.accounting import RESERVE
from pbdp.digits import delta_text, epsilon_text, percent_up, rounded_down
from pbdp.errors import ContradictionError, InputError, PbdpError, shown
from pbdp.json_records import digest
from pbdp.kinds import FLAG, FUNCTION, TEXT, WHOLE, instance_of
from pbdp.ledger.errors import (
    BudgetExceededError,
    KeyReusedError,
    LedgerExistsError,
    NotALedgerError,
    UnknownDatasetError,
)
from pbdp.ledger.fold import DatasetState
from pbdp.ledger.ledger import Ledger
from pbdp.ledger.question import AskRequest
from pbdp.ledger.record import Amounts, Entry, Package, check_text, checked_name
from pbdp.ledger.request import Request, Reservation, recorded
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.kernel import Array, Index
from pbdp.paying import DEFAULT_LEDGER, LEDGER_VARIABLE, PAYING, PAYING_ONCE, Blocks, PayingFor, PayingOnce
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Claim, Measured, Plans, Price, Priced, Terms, fingerprint, price
from pbdp.planning.pricing.priced import name_of
from pbdp.release.keystream import SecureKeystream
from pbdp.release.releaser import Form
from pbdp.reported import Reported
from pbdp.signatures import checked, takes_on

if TYPE_CHECKING:
    from pbdp.ledger.ask import Asked

Numbers = Array | Index
# Limits that agree to one part in this many are the same.
SAME = 10**9
LEDGER = instance_of(
    Ledger, "an open one, as Ledger.open(place) gives; pbdp.budget(dataset, ledger=place) opens both"
)
PLAN = instance_of(Plan, "a plan, such as pbdp.plan makes")
BLOCKS = instance_of(list | tuple, "a list of names")
SHAPE = instance_of(list | tuple, "how many numbers each part has")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paid:
    """Published numbers, as the ledger stored them, and the reservation they were paid with."""

    values: Numbers
    reservation: Reservation


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reserved:
    """Plans that are paid for: what they cost of the whole budget, and what was spent of it after them.

    `repeated` says that they were paid for before, with the same key.
    """

    label: str
    key: str
    share: float
    spent: float
    repeated: bool

    def __repr__(self) -> str:
        return f"<Reserved {self.label}: {percent_up(self.share)} of the budget, key {self.key!r}>"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Event:
    """One change of a budget: when, under which key, what was asked, what it cost, what was spent then."""

    time: str
    key: str | None
    asked: str
    share: float
    spent: float

    def __repr__(self) -> str:
        key = "" if self.key is None else f", key {self.key!r}"
        return f"<{self.time[:19].replace('T', ' ')}: {self.asked}{key}, {percent_up(self.share)}>"


class _Releasing(PayingFor, total=False):
    """What `Budget.release` takes of numbers and of arrays, for type checkers."""

    disjoint: bool
    again: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Budget(Reported):
    """The budget of one dataset in a ledger. Get one with `create` or `of`."""

    ledger: Ledger
    dataset: str
    terms: Terms

    @classmethod
    @checked(ledger=LEDGER, blocks=BLOCKS)
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
    @checked(ledger=LEDGER)
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
        except PbdpError:
            spent = "what is spent cannot be read"
        given = f"epsilon {epsilon_text(self.terms.epsilon)} at delta {delta_text(self.terms.delta)}"
        return f"<Budget of {self.dataset}: {given}, {spent}>"

    @property
    def state(self) -> DatasetState:
        """What is spent now."""
        return self.ledger.dataset(self.dataset)

    @property
    def spent(self) -> float:
        """The share of the budget that is spent, from 0 to 1; of the block with the least left."""
        return self.terms.share(self.state.spent)

    @property
    def left(self) -> float:
        """The share that is left, from 0 to 1."""
        return max(1 - self.spent, 0.0)

    @property
    def epsilon(self) -> float:
        """What all releases together may lose, with `delta`."""
        return self.terms.epsilon

    @property
    def delta(self) -> float:
        """What that epsilon need not cover."""
        return self.terms.delta

    def history(self) -> tuple[Event, ...]:
        """Every change of the budget, in order: dates, keys, what was asked, and what it cost."""
        return tuple(
            Event(
                time=entry.time,
                key=entry.key,
                asked=_asked(entry),
                share=self.terms.share_of_cost(entry.cost, entry.spent),
                spent=self.terms.share(entry.spent),
            )
            for entry in self.ledger.history(self.dataset)
        )

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker with this prior guesses right, at most, when all of it is spent."""
        return self.terms.risk(prior)

    @checked(explain=FLAG)
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

    def price(self, *plans: object, blocks: Blocks = None) -> Price:
        """What plans cost together as one step, each (plan, times) or once; nothing is spent.

        A table's plan or query stands for the noise of its table.

        `blocks` are the blocks of people that would be read; all of them, if left out.
        """
        return price(self.terms, _counted(plans), self.state.spent, blocks)

    @checked(**PAYING_ONCE)
    def reserve(self, *plans: Priced | tuple[Priced, int], **paying: Unpack[PayingOnce]) -> Reserved:
        """Pay for plans, each (plan, times) or once, together and in advance: composed exactly, as one step.

        Their releases can be used one by one later. A `Claim` can be paid for too: a mechanism that is run
        elsewhere.
        """
        counted = _counted(plans)
        chosen = self.terms.chosen_blocks(paying.get("blocks"))
        packages = tuple(
            (self.terms.plan_id(plan, chosen), name_of(plan), times * _package(plan))
            for plan, times in counted
        )
        paid = self._committed(counted, chosen, packages, **recorded(paying))
        return Reserved(
            label=Price(terms=self.terms, plans=counted, blocks=chosen, spent=paid.spent).label,
            key=paid.key,
            share=self.terms.share_of_cost(paid.charged, paid.spent),
            spent=self.terms.share(paid.spent),
            repeated=not paid.fresh,
        )

    @overload
    def release(self, plan: Plan, answers: float, **asked: Unpack[_Releasing]) -> float: ...

    @overload
    def release(self, plan: Plan, answers: Form, **asked: Unpack[_Releasing]) -> Form: ...

    @checked(plan=PLAN, disjoint=FLAG, again=FLAG, **PAYING)
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

    @checked(draw=FUNCTION, disjoint=FLAG, again=FLAG, shape=SHAPE, **PAYING)
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
        for size in shape or ():
            _count("shape", size, least=0)
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

    @checked(draw=FUNCTION, count=WHOLE, disjoint=FLAG, again=FLAG, parts=WHOLE, whole=TEXT, **PAYING)
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
        counted = _counted([(plan, times)])
        chosen = self.terms.chosen_blocks(paying.get("blocks"))
        package = _package(plan) if parts == 1 else parts
        bought = (part_id(self.terms.plan_id(plan, chosen), parts, whole), name_of(plan), package)
        reservation = self._committed(
            counted, chosen, (bought,), values=count, again=again, disjoint=disjoint, **recorded(paying)
        )
        return self.ledger.settle(reservation, draw), reservation

    def _committed(
        self, plans: Plans, blocks: tuple[str, ...], packages: tuple[Package, ...], **asked: Any
    ) -> Reservation:
        """Price and commit, as one; a refusal says what would fit instead."""

        def priced(spent: Amounts) -> Amounts:
            cost = self.terms.cost(plans, spent, blocks)
            if cost is None:
                share = percent_up(self.terms.share(spent, blocks))
                raise BudgetExceededError(self.dataset, f"{share} of it is spent, and too little is left")
            return cost

        self.terms.check_relation(plans)
        own = {"neighbors": self.terms.neighbors, **asked}
        request = Request(dataset=self.dataset, plans=packages, cost=priced, **own)
        try:
            return self.ledger.reserve(request)
        except BudgetExceededError as refusal:
            raise self._with_remedy(refusal, plans, blocks) from None

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

    @takes_on(AskRequest)
    def ask(self, asked: AskRequest) -> Asked:
        """Publish a number with the certified law that costs least of what is left; see `ledger.ask`.

        Give two of `within`, `confidence` and `share`. The same question under the same `key` for less width
        pays the difference.
        """
        from pbdp.ledger.ask import ask

        return ask(self, asked)


def _counted(plans: Iterable[object]) -> Plans:
    """Every plan with how often it is meant."""
    counted: dict[str, tuple[Priced, int]] = {}
    for plan in plans:
        given, times = plan if isinstance(plan, tuple) and len(plan) == 2 else (plan, 1)
        entry = _noise(given)
        if not isinstance(entry, Plan | Claim | Measured):
            raise InputError("plan", "a plan or a claim", type(entry).__name__)
        _count("times", times)
        # one that is named twice is meant more often
        name = fingerprint(entry)
        _, before = counted.get(name, (entry, 0))
        counted[name] = entry, before + times
    if not counted:
        raise InputError("plans", "at least one", "none")
    return tuple(counted.values())


def _noise(asked: object) -> object:
    """What is paid for: of a table's query the plan, of its plan the noise."""
    if isinstance(asked, Plan | Claim | Measured):
        return asked
    planned = asked.plan() if callable(getattr(asked, "plan", None)) else asked  # type: ignore[attr-defined]
    return getattr(planned, "noise", planned)


def _asked(entry: Entry) -> str:
    if entry.kind == "dataset":
        return "the budget was made"
    return entry.query or ": ".join(filter(None, (entry.plan_label, entry.note))) or entry.kind


def _count(name: str, value: object, least: int = 1) -> None:
    if type(value) is not int or value < least:
        raise InputError(name, f"a whole number of at least {least}", shown(value))


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


@checked(blocks=BLOCKS, trust=FLAG)
def budget(
    dataset: str,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    reserve: float = RESERVE,
    blocks: Sequence[str] = (),
    neighbors: str = Neighbors.ADD_REMOVE,
    note: str | None = None,
    ledger: Ledger | str | Path | None = None,
    trust: bool = False,
) -> Budget:
    """The budget of a dataset: opened, or made if there is none; the same call again opens it.

    `ledger` is an open one, a file or a postgresql:// URL; if left out, what PBDP_LEDGER names, else
    pbdp-ledger.db in this folder. It is made if there is nothing. Without `epsilon` and `delta` nothing is
    made. Other terms than those that the budget was given are refused: it never changes. The others are as
    in `Budget.create`, `trust` as in `Ledger.open`.
    """
    checked_name("dataset", dataset)
    check_text("note", note)
    if (epsilon is None) != (delta is None):
        raise ContradictionError("epsilon and delta", "given together, or both left out", "one of them")
    terms = None
    if epsilon is not None and delta is not None:
        terms = Terms(
            epsilon=epsilon, delta=delta, reserve=reserve, blocks=tuple(blocks), neighbors=neighbors
        )
    place = os.environ.get(LEDGER_VARIABLE, DEFAULT_LEDGER) if ledger is None else ledger
    if isinstance(place, Ledger):
        return _budget_in(place, dataset, terms, note)
    opened = _opened(place, make=terms is not None, trust=trust)
    try:
        return _budget_in(opened, dataset, terms, note)
    except BaseException:
        opened.close()
        raise


def _budget_in(ledger: Ledger, dataset: str, terms: Terms | None, note: str | None) -> Budget:
    """The dataset's budget; made with these terms if there is none, refused if it has others."""
    try:
        found = Budget.of(ledger, dataset)
    except UnknownDatasetError:
        if terms is None:
            raise
        ledger.create_dataset(dataset, terms.limits(), terms.record(), terms.neighbors, note)
        return Budget(ledger=ledger, dataset=dataset, terms=terms)
    before = found.state.note
    if terms is not None and (found.terms != terms or note not in (None, before)):
        raise InputError(
            f"the budget of {dataset}",
            f"as it was made ({_told(found.terms, before)})",
            _told(terms, note),
            "A budget never changes: leave out its terms to open it. A second name for the same people would "
            "be a second budget, and what they may lose would add up.",
        )
    return found


def _opened(place: str | Path, *, make: bool, trust: bool) -> Ledger:
    """The ledger there; made, if there is nothing."""
    try:
        return Ledger.open(place, trust=trust)
    except NotALedgerError as missing:
        if not (make and missing.empty):
            raise
    try:
        return Ledger.create(place, trust=trust)
    except LedgerExistsError:  # another process was first
        return Ledger.open(place, trust=trust)


def _told(terms: Terms, note: str | None) -> str:
    """Terms in a few words."""
    words = [f"epsilon {epsilon_text(terms.epsilon)} at delta {delta_text(terms.delta)}", terms.neighbors]
    words += [f"reserve {terms.reserve:g}"] if terms.reserve != RESERVE else []
    words += [f"blocks {', '.join(terms.blocks)}"] if terms.blocks else []
    words += [f"note {note!r}"] if note is not None else []
    return ", ".join(words)
